//! The format of an experiment's file in `papers/*.toml`.
//!
//! `docs/papers.md` describes it for authors.

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
    /// Its id: `HB-1`.
    pub id: String,
    /// Its title in a line.
    pub title: String,
    /// The place where it was published.
    pub source: String,
    /// The question that the experiment answers.
    #[serde(default)]
    pub question: String,
    /// The result that the authors report.
    #[serde(default)]
    pub reported: String,
    /// Remarks that are printed with the results.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Ids of contradictions in the documents that concern it: `C-3`.
    #[serde(default)]
    pub contradictions: Vec<String>,
    /// Details that the document leaves open.
    #[serde(default)]
    pub conditions: Conditions,
    /// The simulations.
    #[serde(default, rename = "run")]
    pub runs: Vec<Run>,
    /// Numbers that must lie in the ranges of `targets.csv`.
    #[serde(default, rename = "target")]
    pub targets: Vec<Target>,
    /// Other demands.
    #[serde(default, rename = "criterion")]
    pub criteria: Vec<Criterion>,
    /// Published results that are not to be reproduced.
    #[serde(default)]
    pub not_asked: Vec<NotAsked>,
    /// Figures for the page.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
}

/// Maximum number of seeds.
pub const SEEDS_MAX: u64 = 10_000;

/// Checks a number of seeds.
///
/// # Errors
/// What would be right.
pub fn check_seeds(seeds: u64) -> Result<(), Error> {
    match seeds {
        1..=SEEDS_MAX => Ok(()),
        _ => Err(format!("seeds is {seeds}; give 1 to {SEEDS_MAX}").into()),
    }
}

impl File {
    /// Checks, before anything is simulated, what the format itself does not check, if possible.
    ///
    /// # Errors
    /// The place and the mistake.
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
                let message = format!("low is {low} and high {high}: low must not exceed high");
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
            let message = format!("there is no for.{name} to replace");
            return Err(Error::new(message).at("reduced"));
        }
        let fewer: For =
            fewer.clone().try_into().map_err(|error| Error::new(error).at("reduced"))?;
        axes::check(&fewer).at("reduced")
    }
}

/// Simulations of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Values of names in the texts; there is one simulation for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// Values for the reduced form; `false`: the run is left out there.
    #[serde(default)]
    pub reduced: Option<Value>,
    /// A benchmark of `schedlab bench`.
    pub bench: Option<String>,
    /// Its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Or a workload in rt-app's language, as text.
    pub workload: Option<String>,
    /// Or a rule that is computed without simulating a machine (`calculators.rs`), with its
    /// arguments.
    pub rule: Option<String>,
    /// The workload's task groups, a line each as in a side file.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Actions on the machine while the workload runs, as `schedlab run --at` takes them.
    #[serde(default)]
    pub at: Vec<String>,
    /// The scheduler: `o_1@2.6.22`. A rule needs none.
    #[serde(default)]
    pub scheduler: String,
    /// Number of equal CPUs, or number of the machine's CPUs that are used; a number, or a text
    /// with names in it.
    pub cpus: Option<Value>,
    /// A machine from `schedlab list --machines`, with its costs.
    pub machine: Option<String>,
    /// The machine's topology without costs.
    #[serde(default)]
    pub idealised: bool,
    /// Costs that differ from the machine's, ns, as `schedlab run --cost` takes them.
    #[serde(default)]
    pub costs: BTreeMap<String, Value>,
    /// Whether idle CPUs go without ticks; the default is that of the release.
    pub nohz: Option<Value>,
    /// Ticks per second; a number, or a text with names in it.
    pub hz: Option<Value>,
    /// The scheduler's tunables.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Time after which the run is ended, s.
    pub duration_s: Option<Value>,
    /// Number of runs with different seeds; the values are the means, and `NAME.sd` and `NAME.cv`
    /// are their spread.
    #[serde(default = "one")]
    pub seeds: u64,
    /// Reason why it is run once, with ticks together, for all conditions.
    pub once: Option<String>,
    /// The values by name, each a figure of the benchmark or a quantity that `measure.rs` knows.
    pub values: BTreeMap<String, String>,
}

fn one() -> u64 {
    1
}

/// A number with a row in `targets.csv`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Values of names in the texts; there is one target for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// The row's case.
    pub case: String,
    /// The row's quantity.
    pub quantity: String,
    /// Its simulated value.
    pub value: String,
    /// Whether the number was fitted to, so that it cannot count as a success.
    #[serde(default)]
    pub fitted: bool,
    /// Whether a formula gives the number, so that no schedule is needed.
    #[serde(default)]
    pub by_rule: bool,
    /// Expression that is true if the number is no evidence because the event in question did not
    /// occur.
    pub empty_if: Option<String>,
    /// Results of other choices than the file's.
    #[serde(default)]
    pub otherwise: Vec<Otherwise>,
    /// The best known explanation if it is missed.
    #[serde(default)]
    pub because: String,
}

/// The result of a choice other than the one that is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Otherwise {
    /// The choice in words: `with START_DEBIT`.
    pub says: String,
    /// An expression for the number that results.
    pub value: String,
}

/// Weight of a demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// It follows from the scheduler's rules, and the published numbers agree.
    Hard,
    /// It should be met with reasonable costs.
    Soft,
}

/// A demand without a row in `targets.csv`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Values of names in the texts; there is one criterion for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// Weight of the demand.
    pub grade: Grade,
    /// The demand in words.
    pub says: String,
    /// The simulated value that is shown.
    pub value: Option<String>,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// Minimum of the value: a number, or an expression.
    pub low: Option<Value>,
    /// Maximum of the value.
    pub high: Option<Value>,
    /// Alternatively, an expression that must be true.
    pub test: Option<String>,
    /// The published result: a number or a text.
    pub published: Option<Value>,
    /// As in a target.
    #[serde(default)]
    pub fitted: bool,
    /// As in a target.
    #[serde(default)]
    pub by_rule: bool,
    /// As in a target.
    pub empty_if: Option<String>,
    /// As in a target.
    #[serde(default)]
    pub otherwise: Vec<Otherwise>,
    /// As in a target.
    #[serde(default)]
    pub because: String,
}

/// A published result that is not to be reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotAsked {
    /// The result.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// A figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// Title of the horizontal axis.
    pub x: String,
    /// Title of the vertical axis.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Name of the curve.
    pub name: String,
    /// Horizontal positions of its points.
    pub x: Vec<f64>,
    /// Vertical positions: an expression for a list.
    pub y: Option<String>,
    /// Or published numbers.
    #[serde(default)]
    pub published: Vec<f64>,
}
