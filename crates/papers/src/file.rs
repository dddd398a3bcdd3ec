//! The form of an experiment's file: what stands in `papers/*.toml`.
//!
//! `docs/papers.md` describes it for those who write one.

use crate::axes::{self, For};
use crate::conditions::Conditions;
use crate::error::{At, Error};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What it is called: `HB-1`.
    pub id: String,
    /// In a line.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What was to be found out.
    #[serde(default)]
    pub question: String,
    /// What the authors say they found.
    #[serde(default)]
    pub reported: String,
    /// Remarks that stand with the results.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The contradictions in the documents that it has to do with: `C-3`.
    #[serde(default)]
    pub contradictions: Vec<String>,
    /// What the document leaves open.
    #[serde(default)]
    pub conditions: Conditions,
    /// What is run.
    #[serde(default, rename = "run")]
    pub runs: Vec<Run>,
    /// Numbers that must lie in the ranges of `targets.csv`.
    #[serde(default, rename = "target")]
    pub targets: Vec<Target>,
    /// Other demands.
    #[serde(default, rename = "criterion")]
    pub criteria: Vec<Criterion>,
    /// What was published and is not to be reproduced.
    #[serde(default)]
    pub not_asked: Vec<NotAsked>,
    /// Pictures for the page.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
}

/// More seeds than this are refused.
pub const SEEDS_MAX: u64 = 10_000;

/// Checks a number of seeds.
///
/// # Errors
/// Says what would be right.
pub fn check_seeds(seeds: u64) -> Result<(), Error> {
    match seeds {
        1..=SEEDS_MAX => Ok(()),
        _ => Err(format!("seeds is {seeds}; give 1 to {SEEDS_MAX}").into()),
    }
}

impl File {
    /// Checks what can be known before anything is simulated, beside what the form sees to.
    ///
    /// # Errors
    /// Says where what is wrong.
    pub fn check(&self) -> Result<(), Error> {
        self.conditions.check()?;
        for (number, run) in self.runs.iter().enumerate() {
            run.check().at(format!("run {}", number + 1))?;
        }
        for target in &self.targets {
            axes::check(&target.axes).at(format!("target `{}`", target.case))?;
        }
        for criterion in &self.criteria {
            let place = format!("criterion `{}`", criterion.says);
            axes::check(&criterion.axes).at(&place)?;
            let bound = |bound: &Option<Value>| match bound {
                Some(Value::Integer(bound)) => Some(*bound as f64),
                Some(Value::Float(bound)) => Some(*bound),
                _ => None,
            };
            if let (Some(low), Some(high)) = (bound(&criterion.low), bound(&criterion.high))
                && low > high
            {
                let message = format!("low is {low} and high {high}: nothing lies between them");
                return Err(Error::new(message).at(place));
            }
        }
        Ok(())
    }
}

impl Run {
    fn check(&self) -> Result<(), Error> {
        axes::check(&self.axes)?;
        check_seeds(self.seeds)?;
        let Some(Value::Table(fewer)) = &self.reduced else { return Ok(()) };
        if let Some(name) = fewer.keys().find(|name| !self.axes.contains_key(*name)) {
            let message = format!("there is no for.{name} that it could replace");
            return Err(Error::new(message).at("reduced"));
        }
        let fewer: For =
            fewer.clone().try_into().map_err(|error| Error::new(error).at("reduced"))?;
        axes::check(&fewer).at("reduced")
    }
}

/// Simulations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// One simulation for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// In the reduced form these values instead; `false`: none of it.
    #[serde(default)]
    pub reduced: Option<Value>,
    /// A benchmark of `schedlab bench`.
    pub bench: Option<String>,
    /// Its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Or a workload in rt-app's language, as text.
    pub workload: Option<String>,
    /// Or a rule that is computed without a machine (`calculators.rs`), with its arguments.
    pub rule: Option<String>,
    /// The workload's task groups, a line each as in a side file.
    #[serde(default)]
    pub groups: Vec<String>,
    /// What is done to the machine while the workload runs, as `schedlab run --at` takes it.
    #[serde(default)]
    pub at: Vec<String>,
    /// The scheduler: `o_1@2.6.22`. A rule needs none.
    #[serde(default)]
    pub scheduler: String,
    /// The number of equal CPUs, or of the machine's that are used; a number, or a text with names
    /// in it.
    pub cpus: Option<Value>,
    /// A machine of `schedlab list --machines`, with what things cost there.
    pub machine: Option<String>,
    /// The machine's topology, but nothing costs anything.
    #[serde(default)]
    pub idealised: bool,
    /// Single costs that are otherwise than the machine's, ns, as `schedlab run --cost` takes them.
    #[serde(default)]
    pub costs: BTreeMap<String, Value>,
    /// Whether idle CPUs go without ticks; as the release has it if left out.
    pub nohz: Option<Value>,
    /// Ticks a second; a number, or a text with names in it.
    pub hz: Option<Value>,
    /// The scheduler's tunables.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// The run is ended after so many seconds.
    pub duration_s: Option<Value>,
    /// So many runs with different seeds; the values are the means, and `NAME.sd`, `NAME.cv` show
    /// how they spread.
    #[serde(default = "one")]
    pub seeds: u64,
    /// Why it is run once, with ticks together, and stands for all conditions.
    pub once: Option<String>,
    /// The values by name, and what each is: a figure of the benchmark, or one of those that
    /// `measure.rs` knows.
    pub values: BTreeMap<String, String>,
}

fn one() -> u64 {
    1
}

/// A number with a row in `targets.csv`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// One for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// The row's case.
    pub case: String,
    /// The row's quantity.
    pub quantity: String,
    /// Its simulated value.
    pub value: String,
    /// The number was fitted to: it cannot count as a success.
    #[serde(default)]
    pub fitted: bool,
    /// No schedule is needed for it: a formula gives it.
    #[serde(default)]
    pub by_rule: bool,
    /// It is no evidence if this holds: where what is asked about did not happen at all. An
    /// expression.
    pub empty_if: Option<String>,
    /// What another choice than the file's gives.
    #[serde(default)]
    pub otherwise: Vec<Otherwise>,
    /// The best explanation known if it is missed.
    #[serde(default)]
    pub because: String,
}

/// What comes out under another choice than the one that is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// Which choice, in words: `with START_DEBIT`.
    pub says: String,
    /// An expression for the number that it gives.
    pub value: String,
}

/// How much a demand counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// It follows from the scheduler's rules, and the published numbers agree.
    Hard,
    /// It should come out with sensible costs.
    Soft,
}

/// A demand that is not a row of `targets.csv`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// One for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// How much it counts.
    pub grade: Grade,
    /// What must hold, in words.
    pub says: String,
    /// The simulated value that is shown.
    pub value: Option<String>,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The value is at least this: a number, or an expression.
    pub low: Option<Value>,
    /// And at most this.
    pub high: Option<Value>,
    /// Or: this is true.
    pub test: Option<String>,
    /// What was published: a number or a text.
    pub published: Option<Value>,
    /// As for a target.
    #[serde(default)]
    pub fitted: bool,
    /// As for a target.
    #[serde(default)]
    pub by_rule: bool,
    /// As for a target.
    pub empty_if: Option<String>,
    /// As for a target.
    #[serde(default)]
    pub otherwise: Vec<Otherwise>,
    /// As for a target.
    #[serde(default)]
    pub because: String,
}

/// Something published that is not to be reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotAsked {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// A picture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: String,
    /// The vertical axis.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Where its points are.
    pub x: Vec<f64>,
    /// Their heights: an expression for a list.
    pub y: Option<String>,
    /// Or numbers that were published.
    #[serde(default)]
    pub published: Vec<f64>,
}
