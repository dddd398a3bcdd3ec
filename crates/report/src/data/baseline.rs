//! How a result differs from an earlier one.

use super::Number;
use serde::{Deserialize, Serialize};

/// The earlier result, and how this one differs from it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// What the earlier result's file is called.
    pub file: String,
    /// What is not the same in both, a sentence each: workload, machine, seeds. Empty: the
    /// differences come of schedulers and settings alone.
    pub mismatches: Vec<String>,
    /// One entry a run of this result; none: the earlier one has nothing to compare it with.
    pub columns: Vec<Option<ColumnDifferences>>,
}

/// How a column differs from one of the earlier result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ColumnDifferences {
    /// The earlier column, as users write it.
    pub scheduler: String,
    /// Every figure that both have.
    pub differences: Vec<DifferenceRow>,
}

/// How a figure differs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DifferenceRow {
    /// The metric's id.
    pub metric: String,
    /// The unit of `was`, `is` and `difference`.
    pub unit: String,
    /// Its earlier value; of repeated runs the median.
    pub was: Number,
    /// Its value; of repeated runs the median.
    pub is: Number,
    /// The value less the earlier one.
    pub difference: Number,
    /// The same in percent of the earlier one; none if that is 0.
    pub percent: Option<Number>,
}
