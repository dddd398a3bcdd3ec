//! Facts that the engine knows: files as it reads them, machines, schedulers, benchmarks, metrics.

use crate::errors;
use pyo3::prelude::*;
use schedlab_lab::compressed;
use schedlab_lab::plan::{MachineSource, Plan};
use schedlab_lab::select;
use schedlab_measure::catalogue;
use schedlab_trace::read::{Format, Trace};
use std::path::PathBuf;

/// Reads a text file, compressed or not.
#[pyfunction]
pub fn read_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let name = path.display().to_string();
    let failed = |error| errors::input(py, format!("{name}: {error}"));
    let bytes = compressed::read(&path, compressed::LIMIT).map_err(failed)?;
    Ok(compressed::as_text(&bytes).map_err(failed)?.to_string())
}

/// Returns the machine that a user names, as a plan's `description` in JSON; `None`: no particular
/// machine.
#[pyfunction]
pub fn machine_source(py: Python<'_>, name: &str) -> PyResult<Option<String>> {
    let found = MachineSource::find(name);
    let found = found.map_err(|error| errors::engine(py, None, &error.into()))?;
    let json = found.map(|source| serde_json::to_string(&source));
    json.transpose().map_err(|error| errors::run(py, error.to_string()))
}

/// Whether a file is a recorded trace, rather than a workload or a plan.
#[pyfunction]
pub fn is_trace(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    let failed = |error| errors::input(py, format!("{}: {error}", path.display()));
    let begin = Trace::begin(&path).map_err(failed)?;
    if begin.iter().all(u8::is_ascii_whitespace) {
        return Ok(false);
    }
    Ok(match Trace::of_bytes(begin.clone()).map_err(failed)?.format() {
        // Both are text: a workload begins with a bracket or a comment, and names no tracepoint.
        Format::Text => begin.windows(6).any(|word| word == b"sched_") && !is_json(&begin),
        _ => true,
    })
}

fn is_json(begin: &[u8]) -> bool {
    let begin = begin.strip_prefix("\u{feff}".as_bytes()).unwrap_or(begin);
    matches!(begin.trim_ascii_start().first(), Some(b'{' | b'/'))
}

/// Whether a text is intended to be a plan.
#[pyfunction]
pub fn is_plan(text: &str) -> bool {
    Plan::is_plan(text)
}

/// Returns every release of every scheduler: name, release, title, summary.
#[pyfunction]
pub fn schedulers() -> Vec<(String, String, String, String)> {
    let row = |choice: select::Choice| {
        let (entry, release) = (choice.entry, choice.release);
        let (name, title) = (entry.name.to_string(), entry.title.to_string());
        (name, release.version.into(), title, release.summary.into())
    };
    select::all().into_iter().map(row).collect()
}

/// A parameter of a benchmark: name, description.
type Parameter = (String, String);

/// Returns the benchmarks: name, description in a line, parameters.
#[pyfunction]
pub fn benchmarks() -> Vec<(String, String, Vec<Parameter>)> {
    let row = |benchmark: &&'static dyn schedlab_bench::Benchmark| {
        let parameter = |parameter: &schedlab_bench::Parameter| {
            (parameter.name.to_string(), parameter.about.to_string())
        };
        let parameters = benchmark.parameters().iter().map(parameter).collect();
        (benchmark.name().to_string(), benchmark.about().to_string(), parameters)
    };
    schedlab_bench::ALL.iter().map(row).collect()
}

/// Returns the metrics of the catalogue: id, title, unit, better (`less`, `more` or empty).
#[pyfunction]
pub fn metrics() -> Vec<(String, String, String, String)> {
    let row = |metric: catalogue::Named| {
        let unit = format!("{:?}", metric.unit()).to_lowercase();
        let better = format!("{:?}", metric.better()).to_lowercase();
        (metric.id(), metric.title(), unit, better)
    };
    catalogue::every().map(row).collect()
}
