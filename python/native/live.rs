//! A workload on this machine's own kernel, and comparisons of its measurements with simulations.

use crate::errors;
use crate::interrupt::interruptible;
use crate::threads;
use pyo3::prelude::*;
use schedlab_compare::page::ComparePage;
use schedlab_compare::text::{self, Form};
use schedlab_compare::{self, Comparison, Document, Noise, Options, RUNS, Thresholds};
use schedlab_lab::{compressed, machines};
use schedlab_report::Style;
use serde::Deserialize;
use std::path::Path;

/// The request for a comparison, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    scheduler: Option<String>,
    machine: Option<String>,
    costs: Vec<(String, f64)>,
    no_costs: bool,
    hz: Option<u32>,
    set: Vec<(String, i64)>,
    runs: Option<u32>,
    noise: String,
    thresholds: serde_json::Value,
    placements: Vec<String>,
}

impl Request {
    fn options(self, threads: Option<usize>) -> Result<Options, String> {
        let machine = self.machine.map(|name| machines::find(&name)).transpose();
        let noise = match &*self.noise {
            "auto" => Noise::Auto,
            "replay" => Noise::Replay,
            "model" => Noise::Model,
            "none" => Noise::None,
            other => {
                return Err(format!(
                    "noise is {other:?}; it must be \"auto\", \"replay\", \"model\" or \"none\""
                ));
            }
        };
        Ok(Options {
            scheduler: self.scheduler,
            machine: machine.map_err(|error| error.to_string())?,
            costs: self.costs,
            no_costs: self.no_costs,
            hz: self.hz,
            set: self.set,
            runs: self.runs.unwrap_or(RUNS),
            noise,
            thresholds: Thresholds::parse("thresholds", &self.thresholds.to_string())?,
            placements: self.placements,
            threads: threads::threads(threads),
        })
    }
}

/// Measurements compared with their simulation.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Witness {
    answer: Comparison,
}

#[pymethods]
impl Witness {
    /// Compares `documents`, each a name and a text; `None`: the file of that name.
    #[new]
    #[pyo3(signature = (documents, asked, threads=None))]
    fn new(
        py: Python<'_>,
        documents: Vec<(String, Option<String>)>,
        asked: &str,
        threads: Option<usize>,
    ) -> PyResult<Witness> {
        let asked: Request =
            serde_json::from_str(asked).map_err(|error| errors::input(py, error.to_string()))?;
        let options = asked.options(threads).map_err(|wrong| errors::input(py, wrong))?;
        let answer = interruptible(py, false, |stop| {
            let mut read = vec![];
            for (name, text) in &documents {
                let document = match text {
                    Some(text) => Document::parse(name, text)?,
                    None => read_document(name)?,
                };
                read.push(document.ok_or_else(|| {
                    format!(
                        "{name}: it contains results of benchmarks, and no workload that could be simulated"
                    )
                })?);
            }
            schedlab_compare::compare_observed(&read, &options, || stop.observer())
                .map_err(|error| error.to_string())
        })?;
        Ok(Witness { answer: answer.map_err(|wrong| errors::input(py, wrong))? })
    }

    /// Returns the document `schedlab-compare/1`.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let json = serde_json::to_string_pretty(&self.answer);
        Ok(json.map_err(|error| errors::run(py, error.to_string()))? + "\n")
    }

    /// Returns all figures of all tasks as CSV, a line each.
    fn to_csv(&self) -> String {
        text::csv(&self.answer)
    }

    /// Returns the tables as text; `tasks`: including the tables of single placements.
    fn text(&self, width: usize, tasks: bool) -> String {
        text::text(&self.answer, Form::Plain(Style::plain(width)), tasks)
    }

    /// Returns the page for a browser; `None` if there are several placements.
    fn page(&self) -> Option<String> {
        ComparePage::new(&self.answer).map(|page| page.html())
    }
}

fn read_document(name: &str) -> Result<Option<Document>, String> {
    let path = Path::new(name);
    let bytes = compressed::read(path, compressed::LIMIT)
        .map_err(|error| format!("{name}: cannot be read: {error}"))?;
    let text = compressed::as_text(&bytes).map_err(|error| format!("{name}: {error}"))?;
    Document::parse(name, text)
}

/// Measures a workload on this machine's own kernel: the document `live-schedule/1`, whether enough
/// runs were quiet, and the messages of the measurement. `program`: this interpreter.
#[pyfunction]
pub fn host(
    py: Python<'_>,
    file: &str,
    text: &str,
    asked: &str,
    program: &str,
) -> PyResult<(String, bool, Vec<String>)> {
    here::host(py, file, text, asked, program)
}

/// Operations that this user may perform on this kernel, as JSON.
#[pyfunction]
pub fn host_probe(py: Python<'_>) -> PyResult<String> {
    here::probe(py)
}

#[cfg(not(target_os = "linux"))]
mod here {
    use crate::errors;
    use pyo3::prelude::*;

    const LINUX_ONLY: &str = "host() needs Linux";

    pub fn host(
        py: Python<'_>,
        _: &str,
        _: &str,
        _: &str,
        _: &str,
    ) -> PyResult<(String, bool, Vec<String>)> {
        Err(errors::input(py, LINUX_ONLY))
    }

    pub fn probe(py: Python<'_>) -> PyResult<String> {
        Err(errors::input(py, LINUX_ONLY))
    }
}

#[cfg(target_os = "linux")]
mod here {
    use crate::errors;
    use crate::interrupt::interruptible;
    use pyo3::prelude::*;
    use schedlab_host::facts::cpu_list;
    use schedlab_host::{Error, GroupChoice, Options, Prepared, Runner, prepared, result};
    use schedlab_workload::{GroupSettings, Start, groups};
    use serde::Deserialize;
    use std::ffi::OsString;

    /// The request for a measurement, as JSON.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Request {
        cpus: Option<String>,
        runs: u32,
        duration_ns: Option<u64>,
        start: String,
        noise_limit: f64,
        tries: Option<u32>,
        group: String,
        trace: String,
        leave_out: bool,
        /// Files: name and text.
        groups: Vec<(String, String)>,
    }

    impl Request {
        fn choice(&self) -> GroupChoice {
            match &*self.group {
                "auto" => GroupChoice::Auto,
                "none" => GroupChoice::None,
                path => GroupChoice::At(path.into()),
            }
        }

        fn options(&self) -> Result<Options, String> {
            let cpus = match &self.cpus {
                None => None,
                Some(text) => match cpu_list(text) {
                    Some(cpus) if !cpus.is_empty() => Some(cpus),
                    _ => {
                        return Err(format!(
                            "cpus is {text:?}; it must be a list of CPUs, such as \"0\" or \"0-3,8\""
                        ));
                    }
                },
            };
            let mut settings = GroupSettings::default();
            for (file, text) in &self.groups {
                settings.add(groups::parse(file, text).map_err(|error| error.to_string())?);
            }
            Ok(Options {
                cpus,
                runs: self.runs,
                duration_ns: self.duration_ns,
                start: Start::parse(&self.start)?,
                noise_limit: self.noise_limit,
                tries: self.tries,
                group: self.choice(),
                records: self.trace != "none",
                records_all: self.trace == "all",
                leave_out: self.leave_out,
                settings,
            })
        }
    }

    pub fn host(
        py: Python<'_>,
        file: &str,
        text: &str,
        asked: &str,
        program: &str,
    ) -> PyResult<(String, bool, Vec<String>)> {
        let asked: Request =
            serde_json::from_str(asked).map_err(|error| errors::input(py, error.to_string()))?;
        let module = ["-m", "schedlab", "host", "--as-runner"];
        let runner = Runner {
            program: program.into(),
            arguments: module.into_iter().map(OsString::from).collect(),
        };
        let measured = interruptible(py, false, |stop| {
            let options = asked.options()?;
            let probe = prepared::probe(&asked.choice())?;
            if asked.trace == "own" && !probe.switches.yes {
                return Err(Error::Refused(format!(
                    "trace=\"own\": switches cannot be recorded: {}",
                    probe.switches.how
                )));
            }
            let prepared = Prepared::new(file, text, probe, options)?;
            let mut messages: Vec<String> =
                prepared.left_out.iter().map(|refusal| format!("left out: {refusal}")).collect();
            messages.extend(prepared.notes.iter().cloned());
            let say = &mut |message: &str| messages.push(message.to_string());
            let outcome = prepared.run(&runner, stop.flag(), say)?;
            let document = result::document(&prepared, &outcome);
            Ok((document.to_string() + "\n", outcome.is_quiet, messages))
        })?;
        measured.map_err(|error: Error| match error {
            Error::Refused(why) => errors::input(py, why),
            Error::Interrupted => errors::run(py, error.to_string()),
        })
    }

    pub fn probe(py: Python<'_>) -> PyResult<String> {
        let probe = prepared::probe(&GroupChoice::Auto);
        let probe = probe.map_err(|wrong| errors::input(py, wrong))?;
        Ok(probe.to_json().to_string())
    }
}
