//! The runs of one column that was run several times, each with another seed.

use super::{EndState, ratio};
use serde::{Deserialize, Serialize, Serializer};

/// One of several runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RepetitionRow {
    /// Its seed.
    pub seed: u64,
    /// Why it ended.
    pub state: EndState,
    /// When, ns.
    pub at_ns: u64,
}

/// A figure over several runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SummaryRow {
    /// The metric's id.
    pub metric: String,
    /// The unit of all that follows but `count`.
    pub unit: String,
    /// How many runs have it, at least one.
    pub count: u64,
    /// The least.
    pub min: Number,
    /// The one in the middle; of an even number of runs the mean of the two in the middle.
    pub median: Number,
    /// Their mean.
    pub mean: Number,
    /// The most.
    pub max: Number,
    /// The standard deviation of a sample (divisor n - 1); none for fewer than two.
    pub sd: Option<Number>,
    /// One a run, in the order of the repetitions; none: the run has none.
    pub values: Vec<Option<Number>>,
}

/// A number that is written without a decimal point if it is whole, else with six decimals.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Deserialize)]
#[serde(transparent)]
pub struct Number(pub f64);

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number(ratio(value))
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        /// From here on not every whole number is one of these.
        const EXACT: f64 = (1_u64 << 53) as f64;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            to.serialize_i64(self.0 as i64)
        } else {
            to.serialize_f64(self.0)
        }
    }
}
