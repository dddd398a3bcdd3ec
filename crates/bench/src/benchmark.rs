//! Benchmarks: [`Benchmark`], and their results: [`Findings`].

use crate::parameter::{BadValue, Parameter, Values};
use schedlab_core::{Policy, TaskId};
use schedlab_machine::costs::CallCosts;
pub use schedlab_measure::Better;
use schedlab_measure::Stats;
use schedlab_workload::programs::{Kernel, PartId, Profile, Random};
use std::ops::Deref;
use std::sync::Arc;

/// Conditions under which a benchmark runs, to the extent that its programs can observe them.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Number of CPUs.
    pub cpus: u32,
    /// Behaviour of pipes and sockets in the kernel release.
    pub profile: Profile,
    /// Costs of calls.
    pub costs: CallCosts,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Conditions {
    /// Returns an operating system without tasks under these conditions.
    pub fn os(&self) -> Kernel {
        Kernel::new(self.profile, self.costs, self.seed)
    }

    /// Returns the start time of a program that has nothing else random, ns: within the first 10
    /// ms, drawn from the seed. On a real machine the time since the last tick is random as well,
    /// so runs with different seeds vary as real ones do.
    pub fn start_ns(&self) -> u64 {
        Random::new(self.seed, TaskId(u32::MAX)).below(10_000_000)
    }
}

/// Benchmark whose tasks have been created and are ready to run.
pub struct Prepared {
    /// Time at which the run is stopped at the latest, ns. `None`: the benchmark ends by itself.
    pub limit_ns: Option<u64>,
    /// Computes the findings when the run is over.
    pub finish: Box<dyn FnOnce(&End<'_>) -> Findings>,
}

/// Run that is over.
pub struct End<'a> {
    /// Time of its end on the benchmark's clock, ns.
    pub now_ns: u64,
    /// Part of the run that belongs to the benchmark: the first and only one, unless it ran
    /// together with others.
    pub part: PartId,
    /// Programs, and the objects that they shared.
    pub os: &'a Kernel,
    /// Statistics of each task.
    pub stats: &'a Stats,
}

/// Findings of a benchmark.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    /// Output of the real program, line by line.
    pub printed: String,
    /// Figures. The first one is the default of curves.
    pub figures: Vec<Figure>,
    /// Results that are not single numbers: samples over time, values of each task.
    pub tables: Vec<Table>,
}

/// Numbers in rows and columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Subject, unique within a benchmark.
    pub name: String,
    /// Headings of the columns, with units: one more than a row has values, because the first is
    /// that of the labels.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// Row of a [`Table`].
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Subject.
    pub label: String,
    /// Numbers; NaN: no value.
    pub values: Vec<f64>,
}

impl Table {
    /// Returns an empty table.
    pub fn new(name: impl Into<String>, columns: &[&str]) -> Table {
        Table {
            name: name.into(),
            columns: columns.iter().map(|column| (*column).into()).collect(),
            rows: vec![],
        }
    }

    /// Appends a row.
    pub fn push(&mut self, label: impl Into<String>, values: Vec<f64>) {
        self.rows.push(Row { label: label.into(), values });
    }

    /// Returns the value in the row `label` and the column `column`.
    pub fn value(&self, label: &str, column: &str) -> Option<f64> {
        let column = self.columns.iter().position(|name| name == column)?.checked_sub(1)?;
        self.rows.iter().find(|row| row.label == label)?.values.get(column).copied()
    }
}

/// Number that a benchmark found.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Name, unique within a benchmark.
    pub name: String,
    /// Unit, as printed; "" for pure numbers.
    pub unit: &'static str,
    /// Value.
    pub value: f64,
    /// Which direction is better.
    pub better: Better,
}

impl Figure {
    /// Returns a figure of which lower values are better.
    pub fn lower(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value, better: Better::Lower }
    }

    /// Returns a figure of which higher values are better.
    pub fn higher(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value, better: Better::Higher }
    }

    /// Returns a figure that is neither good nor bad.
    pub fn plain(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value, better: Better::Neither }
    }
}

impl Findings {
    /// Returns findings without tables.
    pub fn new(printed: String, figures: Vec<Figure>) -> Findings {
        Findings { printed, figures, tables: vec![] }
    }

    /// Returns the table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Returns the figure called `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

/// Benchmark to run: one of [`ALL`](crate::ALL), or a combined one.
#[derive(Clone)]
pub enum AnyBenchmark {
    /// One of the built-in benchmarks.
    Listed(&'static dyn Benchmark),
    /// One that is reference-counted.
    Owned(Arc<dyn Benchmark>),
}

impl Deref for AnyBenchmark {
    type Target = dyn Benchmark;

    fn deref(&self) -> &(dyn Benchmark + 'static) {
        match self {
            AnyBenchmark::Listed(benchmark) => *benchmark,
            AnyBenchmark::Owned(benchmark) => &**benchmark,
        }
    }
}

impl From<&'static dyn Benchmark> for AnyBenchmark {
    fn from(benchmark: &'static dyn Benchmark) -> AnyBenchmark {
        AnyBenchmark::Listed(benchmark)
    }
}

/// Benchmark.
pub trait Benchmark: Send + Sync {
    /// Returns the name, which is that of the real program.
    fn name(&self) -> &'static str;

    /// Returns a line about what it does and measures.
    fn about(&self) -> &'static str;

    /// Returns an exact description of what is run. It states what the [`name`](Benchmark::name)
    /// and the parameters leave open: results with different descriptions must not be mixed.
    fn described(&self) -> String {
        self.name().into()
    }

    /// Returns the parameters, under the names of the real program.
    fn parameters(&self) -> &[Parameter];

    /// Returns the policies that its tasks use at any time. A scheduler without them cannot run it.
    fn policies(&self, values: &Values) -> Vec<Policy> {
        let _ = values;
        vec![Policy::Other]
    }

    /// Whether it binds tasks to CPUs.
    fn binds(&self, values: &Values) -> bool {
        let _ = values;
        false
    }

    /// Returns the weights (`cpu.shares`) of the task groups that it requires in addition to the
    /// root. They are numbered from 1.
    fn groups(&self, values: &Values) -> Vec<u64> {
        let _ = values;
        vec![]
    }

    /// Returns the approximate number of simultaneous tasks, if that may be very large.
    fn tasks(&self, values: &Values) -> u64 {
        let _ = values;
        0
    }

    /// Creates the tasks in `os`.
    ///
    /// # Errors
    /// Values that contradict each other. (The range of each value has been checked.)
    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue>;
}
