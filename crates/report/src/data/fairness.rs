//! Fairness of a run: [`FairnessFigures`].

use serde::{Deserialize, Serialize};

/// Fairness of a run (`schedlab_measure::fairness` defines it).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FairnessFigures {
    /// Jain's index over CPU time / ideal fluid share.
    pub jain_by_share: Option<f64>,
    /// Jain's index over CPU time / weight.
    pub jain_by_weight: Option<f64>,
    /// Jain's index over min(1, CPU time / due time) of the tasks that were runnable.
    #[serde(default)]
    pub jain_backlogged: Option<f64>,
    /// Largest |lag| of any task at any time, ns.
    pub lag_max_ns: u64,
    /// Largest amount that a task was owed at any time, ns.
    pub owed_max_ns: u64,
    /// The task.
    pub owed_max_task: Option<u32>,
    /// Largest amount that a task was ahead at any time, ns.
    pub ahead_max_ns: u64,
    /// The task.
    pub ahead_max_task: Option<u32>,
    /// Largest amount that a task was owed at the end, ns.
    pub owed_end_ns: u64,
    /// The task.
    pub owed_end_task: Option<u32>,
}
