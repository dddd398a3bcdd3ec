//! Differences between a result and an earlier one.

use super::Number;
use serde::{Deserialize, Serialize};

/// Earlier result, and how this one differs from it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// File name of the earlier result.
    pub file: String,
    /// Differences in the conditions, a sentence each: workload, machine, seeds. Empty: the
    /// differences are due to schedulers and settings alone.
    pub mismatches: Vec<String>,
    /// Differences of each run of this result. `None`: the earlier result has no column to compare
    /// with.
    pub columns: Vec<Option<ColumnDifferences>>,
}

/// Differences between a column and one of the earlier result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ColumnDifferences {
    /// Earlier column, as users write it.
    pub scheduler: String,
    /// Every figure that both have.
    pub differences: Vec<DifferenceRow>,
}

/// Difference of a figure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DifferenceRow {
    /// Id of the metric.
    pub metric: String,
    /// Unit of `was`, `is` and `difference`.
    pub unit: String,
    /// Earlier value; for repeated runs the median.
    pub was: Number,
    /// Value; for repeated runs the median.
    pub is: Number,
    /// Value minus earlier value.
    pub difference: Number,
    /// Difference in percent of the earlier value. `None`: that value is 0.
    pub percent: Option<Number>,
}
