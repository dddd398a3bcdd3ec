//! Results of benchmarks as data: the document `schedlab-bench/1`, and everything that is derived
//! from it.
//!
//! A *point* is one choice of values for the swept parameters, under one scheduler; it has one run
//! per seed.
//!
//! * [`table`]: tables for people.
//! * [`csv`](mod@csv): a row for each figure.
//! * [`curve`]: one figure over the swept parameters.

pub mod csv;
pub mod curve;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;

use crate::data::{EndState, RunReport, TunableValue};
use crate::json::{self, ReadError};
use crate::metrics::value;
use schedlab_measure::Better;
use schedlab_measure::catalogue::{self, COMPARED, Named};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the schema with its version.
pub const SCHEMA: &str = "schedlab-bench/1";

/// Benchmark, run under one or more schedulers with one or more values of its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Model of the machine, e.g. `idealised`.
    pub model: String,
    /// Time limit of each run, ns. `None`: no limit was set.
    pub limit_ns: Option<u64>,
    /// Seeds: one run of each point per seed.
    pub seeds: Vec<u64>,
    /// All parameters, with all their values.
    pub parameters: Vec<Axis>,
    /// Parameters with more than one value, in the order in which they were given: indices in
    /// `parameters`.
    pub swept: Vec<usize>,
    /// Schedulers.
    pub schedulers: Vec<BenchScheduler>,
    /// Points by the values of the swept parameters (the first changes last), then by scheduler.
    pub points: Vec<BenchPoint>,
}

/// Parameter and its values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// Name.
    pub name: String,
    /// Meaning, with the unit.
    pub about: String,
    /// Values: numbers, words, or true and false.
    pub values: Vec<Value>,
}

/// Scheduler under which the benchmark was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchScheduler {
    /// Name in the registry.
    pub name: String,
    /// Release.
    pub release: String,
    /// Full name.
    pub title: String,
    /// Ticks per second.
    pub hz: u32,
    /// Tunables that were set.
    pub tunables: Vec<TunableValue>,
}

impl BenchScheduler {
    /// Returns the scheduler as users write it: `cfs@2.6.32`.
    pub fn spec(&self) -> String {
        format!("{}@{}", self.name, self.release)
    }
}

/// One choice of values under one scheduler.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchPoint {
    /// Values of the swept parameters, in the order of `swept`.
    pub values: Vec<Value>,
    /// Scheduler: index in `schedulers`.
    pub scheduler: usize,
    /// All figures, over all runs; the benchmark's own first.
    pub figures: Vec<Summary>,
    /// One run per seed.
    pub runs: Vec<BenchRow>,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchRow {
    /// Random seed.
    pub seed: u64,
    /// State at the end.
    pub end: EndState,
    /// Length in simulated time, ns.
    pub end_ns: u64,
    /// Warning to the user.
    pub warning: Option<String>,
    /// Output of the real program.
    pub printed: String,
    /// Figures of the benchmark.
    pub figures: Vec<Figure>,
    /// Metrics of the laboratory.
    pub metrics: Vec<Figure>,
}

/// Number with a name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Value, finite.
    pub value: f64,
}

/// Figure over the runs that have it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Number of runs that have it.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Standard deviation of a sample (divisor n - 1). `None`: fewer than two runs.
    pub sd: Option<f64>,
}

impl BenchRow {
    /// Returns the figures of the benchmark and the metrics of the laboratory.
    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().chain(&self.metrics)
    }

    /// Returns the value of the figure called `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.all().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

/// Metrics of [`COMPARED`] that are left out for benchmarks, which have their own results.
const LEFT_OUT: [&str; 1] = ["throughput"];

/// Returns the metrics of a run, in ns, parts and counts.
pub fn metrics(run: &RunReport) -> Vec<Figure> {
    let figure = |metric: Named| {
        let value = value(run, metric)?;
        let (unit, value) = (value.unit().name().into(), value.as_f64());
        Some(Figure { name: metric.title(), unit, better: metric.better(), value })
    };
    COMPARED
        .iter()
        .filter(|id| !LEFT_OUT.contains(id))
        .filter_map(|id| catalogue::find(id))
        .filter_map(figure)
        .filter(|figure| figure.value.is_finite())
        .collect()
}

impl Summary {
    fn of(first: &Figure, values: &[f64]) -> Summary {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Summary {
            name: first.name.clone(),
            unit: first.unit.clone(),
            better: first.better,
            count,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            sd: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
        }
    }
}

impl BenchPoint {
    /// Returns a point with its `runs`, at least one.
    pub fn new(values: Vec<Value>, scheduler: usize, runs: Vec<BenchRow>) -> BenchPoint {
        let mut firsts: Vec<&Figure> = vec![];
        // The benchmark's own figures come first even if only a later run has them.
        for figure in
            runs.iter().flat_map(|run| &run.figures).chain(runs.iter().flat_map(BenchRow::all))
        {
            if !firsts.iter().any(|first| first.name == figure.name) {
                firsts.push(figure);
            }
        }
        let summary = |first: &&Figure| {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.figure(&first.name)).collect();
            Summary::of(first, &values)
        };
        let figures = firsts.iter().map(summary).collect();
        BenchPoint { values, scheduler, figures, runs }
    }

    /// Returns the figure called `name`.
    pub fn figure(&self, name: &str) -> Option<&Summary> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

impl BenchReport {
    /// Returns the parameters with more than one value.
    pub fn swept(&self) -> impl Iterator<Item = &Axis> {
        self.swept.iter().map(|&place| &self.parameters[place])
    }

    /// Returns the names of all figures that any point has, the benchmark's own first.
    pub fn figure_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        let own = self.points.iter().flat_map(|point| &point.runs).flat_map(|run| &run.figures);
        let all = self.points.iter().flat_map(|point| &point.figures);
        for name in
            own.map(|figure| figure.name.as_str()).chain(all.map(|figure| figure.name.as_str()))
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the name of the figure that `name` refers to: a figure of that name, or the metric
    /// of the catalogue with that id.
    pub fn figure_called(&self, name: &str) -> Option<String> {
        let names = self.figure_names();
        let title = || catalogue::find(name).map(|metric| metric.title());
        let is_there = |name: &String| names.contains(&name.as_str());
        Some(name.to_string()).filter(is_there).or_else(|| title().filter(is_there))
    }

    /// Returns the figure called `name` of any point, which has its unit.
    pub(crate) fn any(&self, name: &str) -> Option<&Summary> {
        self.points.iter().find_map(|point| point.figure(name))
    }

    /// Returns the value of parameter `place` at `point`.
    pub(crate) fn value<'a>(&'a self, point: &'a BenchPoint, place: usize) -> Option<&'a Value> {
        match self.swept.iter().position(|&swept| swept == place) {
            Some(swept) => point.values.get(swept),
            None => self.parameters[place].values.first(),
        }
    }

    /// Returns the document, ending in a newline. The same report yields the same bytes on every
    /// machine.
    pub fn to_json(&self) -> String {
        json::document(self)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// The text is not such a document.
    pub fn from_json(text: &str) -> Result<BenchReport, ReadError> {
        let report: BenchReport = json::read(text, SCHEMA)?;
        let lost = |point: &BenchPoint| {
            point.scheduler >= report.schedulers.len()
                || point.values.len() != report.swept.len()
                || point.runs.is_empty()
        };
        if report.swept.iter().any(|&place| place >= report.parameters.len()) {
            return Err(ReadError::Content("it sweeps a parameter that it does not list".into()));
        }
        if report.points.iter().any(lost) {
            let what = "a point has an unknown scheduler or the wrong number of values";
            return Err(ReadError::Content(what.into()));
        }
        Ok(report)
    }
}

/// Returns a value of a parameter as people write it.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        // A nice value is 10, not 10.0.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}
