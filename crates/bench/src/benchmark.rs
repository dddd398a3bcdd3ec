//! What a benchmark is: [`Benchmark`], and what comes of it: [`Findings`].

use crate::parameter::{BadValue, Parameter, Values};
use schedlab_core::{Policy, TaskId};
use schedlab_machine::costs::CallCosts;
pub use schedlab_measure::Better;
use schedlab_measure::Stats;
use schedlab_workload::programs::{Kernel, PartId, Profile, Random};
use std::ops::Deref;
use std::sync::Arc;

/// What a benchmark is run on, as far as its programs can tell.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// CPUs.
    pub cpus: u32,
    /// How the kernel release runs pipes and sockets.
    pub profile: Profile,
    /// What calls cost.
    pub costs: CallCosts,
    /// Of all random draws.
    pub seed: u64,
}

impl Conditions {
    /// An empty operating system under these conditions.
    pub fn os(&self) -> Kernel {
        Kernel::new(self.profile, self.costs, self.seed)
    }

    /// When a program is started of which nothing else is random, ns: within the first 10 ms, drawn
    /// from the seed. On a real machine it is chance, too, how long after a tick that is; so runs
    /// with different seeds spread as real ones do.
    pub fn start_ns(&self) -> u64 {
        Random::new(self.seed, TaskId(u32::MAX)).below(10_000_000)
    }
}

/// A benchmark whose tasks are there, ready to be run.
pub struct Prepared {
    /// The run is ended then at the latest, ns; none: the benchmark ends by itself.
    pub limit_ns: Option<u64>,
    /// Sums up when the run is over.
    pub finish: Box<dyn FnOnce(&End<'_>) -> Findings>,
}

/// A run that is over.
pub struct End<'a> {
    /// When it ended, ns by the benchmark's clock.
    pub now_ns: u64,
    /// The part that the benchmark is of what ran; the first one, and the only one, unless it ran
    /// beside others.
    pub part: PartId,
    /// The programs and what they shared.
    pub os: &'a Kernel,
    /// What each task got.
    pub stats: &'a Stats,
}

/// What a benchmark found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    /// What the real program prints, line for line.
    pub printed: String,
    /// Figures, the one that curves are drawn of first.
    pub figures: Vec<Figure>,
    /// What does not come down to single numbers: samples over time, values of each task.
    pub tables: Vec<Table>,
}

/// Numbers in rows and columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// What it is of; names differ from each other within a benchmark.
    pub name: String,
    /// What is in its columns, with the unit: one more than a row has values, for the first is of
    /// the rows' labels.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a [`Table`].
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What it is about.
    pub label: String,
    /// Its numbers; not a number: there is none.
    pub values: Vec<f64>,
}

impl Table {
    /// An empty one.
    pub fn new(name: impl Into<String>, columns: &[&str]) -> Table {
        Table {
            name: name.into(),
            columns: columns.iter().map(|column| (*column).into()).collect(),
            rows: vec![],
        }
    }

    /// Puts a row at the end.
    pub fn push(&mut self, label: impl Into<String>, values: Vec<f64>) {
        self.rows.push(Row { label: label.into(), values });
    }

    /// The value in the row `label` and the column `column`.
    pub fn value(&self, label: &str, column: &str) -> Option<f64> {
        let column = self.columns.iter().position(|name| name == column)?.checked_sub(1)?;
        self.rows.iter().find(|row| row.label == label)?.values.get(column).copied()
    }
}

/// A number that a benchmark found.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// What it is; names differ from each other within a benchmark.
    pub name: String,
    /// Its unit, as it is printed; "" for pure numbers.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
    /// Which is better.
    pub better: Better,
}

impl Figure {
    /// A figure of which less is better.
    pub fn lower(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value, better: Better::Lower }
    }

    /// A figure of which more is better.
    pub fn higher(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value, better: Better::Higher }
    }

    /// A figure that is neither good nor bad.
    pub fn plain(name: impl Into<String>, unit: &'static str, value: f64) -> Figure {
        Figure { name: name.into(), unit, value, better: Better::Neither }
    }
}

impl Findings {
    /// Without tables.
    pub fn new(printed: String, figures: Vec<Figure>) -> Findings {
        Findings { printed, figures, tables: vec![] }
    }

    /// The table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The figure called `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

/// A benchmark to run: one of [`ALL`](crate::ALL), or one that was put together.
#[derive(Clone)]
pub enum Chosen {
    /// One of those that are always there.
    Listed(&'static dyn Benchmark),
    /// One that lives as long as somebody has it.
    Owned(Arc<dyn Benchmark>),
}

impl Deref for Chosen {
    type Target = dyn Benchmark;

    fn deref(&self) -> &(dyn Benchmark + 'static) {
        match self {
            Chosen::Listed(benchmark) => *benchmark,
            Chosen::Owned(benchmark) => &**benchmark,
        }
    }
}

impl From<&'static dyn Benchmark> for Chosen {
    fn from(benchmark: &'static dyn Benchmark) -> Chosen {
        Chosen::Listed(benchmark)
    }
}

/// A benchmark.
pub trait Benchmark: Send + Sync {
    /// What it is called, as the real program is.
    fn name(&self) -> &'static str;

    /// What it does and measures, in a line.
    fn about(&self) -> &'static str;

    /// What is run, as exactly as its [`name`](Benchmark::name) and its parameters leave it open:
    /// results of one are none of another.
    fn described(&self) -> String {
        self.name().into()
    }

    /// What can be set, under the names that the real program has.
    fn parameters(&self) -> &[Parameter];

    /// The policies that its tasks have at some time; a scheduler without them cannot run it.
    fn policies(&self, values: &Values) -> Vec<Policy> {
        let _ = values;
        vec![Policy::Other]
    }

    /// Whether it binds tasks to CPUs.
    fn binds(&self, values: &Values) -> bool {
        let _ = values;
        false
    }

    /// The task groups that it wants beside the root, by their weight (`cpu.shares`). They are
    /// numbered from 1 on.
    fn groups(&self, values: &Values) -> Vec<u64> {
        let _ = values;
        vec![]
    }

    /// About how many tasks it has at once, if that may be very many.
    fn tasks(&self, values: &Values) -> u64 {
        let _ = values;
        0
    }

    /// Makes the tasks, in `os`.
    ///
    /// # Errors
    /// Values that do not go together. (That each is in its own range has been seen to.)
    fn prepare(
        &self,
        values: &Values,
        conditions: &Conditions,
        os: &mut Kernel,
    ) -> Result<Prepared, BadValue>;
}
