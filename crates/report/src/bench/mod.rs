//! What benchmarks found, as data: the document `schedlab-bench/1`, and everything that is made of
//! it.
//!
//! A *point* is one choice of values for what is swept, under one scheduler; it has a run a seed.
//!
//! * [`table`]: what people read.
//! * [`csv`](mod@csv): a row a figure.
//! * [`curve`]: one figure over what was swept.

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

/// The name of the form and its version.
pub const SCHEMA: &str = "schedlab-bench/1";

/// A benchmark, run under one or more schedulers with one or more values of its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which benchmark.
    pub benchmark: String,
    /// CPUs.
    pub cpus: u32,
    /// What model of a machine, e.g. `idealised`.
    pub model: String,
    /// Ends each run at the latest, ns; none if nothing was set.
    pub limit_ns: Option<u64>,
    /// One entry a run of a point.
    pub seeds: Vec<u64>,
    /// All parameters, with all their values.
    pub parameters: Vec<Axis>,
    /// The parameters with more than one value, in the order in which they were given: places in
    /// `parameters`.
    pub swept: Vec<usize>,
    /// Under what.
    pub schedulers: Vec<BenchScheduler>,
    /// By the values of what is swept (the first changes last), then by scheduler.
    pub points: Vec<BenchPoint>,
}

/// A parameter and its values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// What it means, with its unit.
    pub about: String,
    /// Numbers, words or true and false.
    pub values: Vec<Value>,
}

/// A scheduler that a benchmark was run under.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchScheduler {
    /// Name in the registry.
    pub name: String,
    /// Release.
    pub release: String,
    /// What it is called in full.
    pub title: String,
    /// Ticks a second.
    pub hz: u32,
    /// The tunables that were set.
    pub tunables: Vec<TunableValue>,
}

impl BenchScheduler {
    /// As users write it: `cfs@2.6.32`.
    pub fn spec(&self) -> String {
        format!("{}@{}", self.name, self.release)
    }
}

/// One choice of values under one scheduler.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchPoint {
    /// The values of what is swept, in the order of `swept`.
    pub values: Vec<Value>,
    /// The scheduler: a place in `schedulers`.
    pub scheduler: usize,
    /// All figures, over all runs: the benchmark's own first.
    pub figures: Vec<Summary>,
    /// One a seed.
    pub runs: Vec<BenchRow>,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchRow {
    /// The seed of all that was random.
    pub seed: u64,
    /// How it ended.
    pub end: EndState,
    /// How long it took in simulated time, ns.
    pub end_ns: u64,
    /// What the user should know about it.
    pub warning: Option<String>,
    /// What the real program prints.
    pub printed: String,
    /// What the benchmark found.
    pub figures: Vec<Figure>,
    /// What the laboratory measured besides.
    pub metrics: Vec<Figure>,
}

/// A number with a name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which is better.
    pub better: Better,
    /// Its value, finite.
    pub value: f64,
}

/// A figure over the runs that have it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which is better.
    pub better: Better,
    /// How many runs have it.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// The standard deviation of a sample (divisor n - 1); none for fewer than two.
    pub sd: Option<f64>,
}

impl BenchRow {
    /// The benchmark's figures and the laboratory's.
    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().chain(&self.metrics)
    }

    /// The value of the figure called `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.all().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

/// What of [`COMPARED`] is left out for benchmarks, which have results of their own.
const LEFT_OUT: [&str; 1] = ["throughput"];

/// What the laboratory measured of a run, in ns, parts and counts.
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
    /// A point with its `runs`, at least one.
    pub fn new(values: Vec<Value>, scheduler: usize, runs: Vec<BenchRow>) -> BenchPoint {
        let mut firsts: Vec<&Figure> = vec![];
        // The benchmark's own come first even if only a later run has them.
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

    /// The figure called `name`.
    pub fn figure(&self, name: &str) -> Option<&Summary> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

impl BenchReport {
    /// The parameters with more than one value.
    pub fn swept(&self) -> impl Iterator<Item = &Axis> {
        self.swept.iter().map(|&place| &self.parameters[place])
    }

    /// The names of all figures that any point has, the benchmark's own first.
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

    /// The figure that is meant by `name`: one of that name, or the metric of the catalogue with
    /// that id.
    pub fn figure_called(&self, name: &str) -> Option<String> {
        let names = self.figure_names();
        let title = || catalogue::find(name).map(|metric| metric.title());
        let is_there = |name: &String| names.contains(&name.as_str());
        Some(name.to_string()).filter(is_there).or_else(|| title().filter(is_there))
    }

    /// Any point's figure called `name`, to know its unit.
    pub(crate) fn any(&self, name: &str) -> Option<&Summary> {
        self.points.iter().find_map(|point| point.figure(name))
    }

    /// The value of parameter `place` at `point`.
    pub(crate) fn value<'a>(&'a self, point: &'a BenchPoint, place: usize) -> Option<&'a Value> {
        match self.swept.iter().position(|&swept| swept == place) {
            Some(swept) => point.values.get(swept),
            None => self.parameters[place].values.first(),
        }
    }

    /// The document, ending in a newline. The same report gives the same bytes, anywhere.
    pub fn to_json(&self) -> String {
        json::document(self)
    }

    /// Reads a document back.
    ///
    /// # Errors
    /// If it is not one.
    pub fn from_json(text: &str) -> Result<BenchReport, ReadError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head = serde_json::from_str(text).map_err(ReadError::Form)?;
        if head.schema != SCHEMA {
            return Err(ReadError::Schema(head.schema));
        }
        let report: BenchReport = serde_json::from_str(text).map_err(ReadError::Form)?;
        let lost = |point: &BenchPoint| {
            point.scheduler >= report.schedulers.len()
                || point.values.len() != report.swept.len()
                || point.runs.is_empty()
        };
        if report.swept.iter().any(|&place| place >= report.parameters.len()) {
            return Err(ReadError::Content("it sweeps a parameter that is not there".into()));
        }
        if report.points.iter().any(lost) {
            return Err(ReadError::Content("a point of no such scheduler or values".into()));
        }
        Ok(report)
    }
}

/// A value of a parameter as people write it.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        // A nice value is 10, not 10.0.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}
