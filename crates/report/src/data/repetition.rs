//! Runs of one column that was run several times, each time with another seed.

use super::{EndState, ratio};
use serde::{Deserialize, Serialize, Serializer};

/// One of several runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RepetitionRow {
    /// Seed.
    pub seed: u64,
    /// State at the end.
    pub state: EndState,
    /// Length, ns.
    pub at_ns: u64,
}

/// Figure over several runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Id of the metric.
    pub metric: String,
    /// Unit of all values below except `count`.
    pub unit: String,
    /// Number of runs that have it, at least one.
    pub count: u64,
    /// Minimum.
    pub min: Number,
    /// Median; for an even number of runs the mean of the two middle values.
    pub median: Number,
    /// Mean.
    pub mean: Number,
    /// Maximum.
    pub max: Number,
    /// Standard deviation of a sample (divisor n - 1). `None`: fewer than two runs.
    pub sd: Option<Number>,
    /// Value of each run, in the order of the repetitions. `None`: the run has no value.
    pub values: Vec<Option<Number>>,
}

/// Number that is written without a decimal point if it is whole, otherwise with six decimals.
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
        /// Magnitude from which on not every whole number is representable.
        const EXACT: f64 = (1_u64 << 53) as f64;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            to.serialize_i64(self.0 as i64)
        } else {
            to.serialize_f64(self.0)
        }
    }
}
