//! Counts of a policy's calls and instructions.

use crate::ops::Callback;
use std::collections::BTreeMap;

/// Calls and instructions of a callback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallCounts {
    /// Number of calls.
    pub calls: u64,
    /// Number of instructions, including the instructions of nested callbacks.
    pub insns: u64,
    /// Maximum number of instructions of one call.
    pub insns_max: u64,
}

/// Counts of a policy's actions. They are exact, and the same in every run with the same input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Counts by callback.
    pub callbacks: [CallCounts; Callback::COUNT],
    /// Counts of all timer functions together.
    pub timers: CallCounts,
    /// Number of calls of each helper, by the number of the helper.
    pub helpers: BTreeMap<u32, u64>,
    /// Number of calls of each kernel function, in the order of
    /// [`Image::kfuncs`](crate::Image::kfuncs).
    pub kfuncs: Vec<u64>,
    /// Number of times a CPU switched from one task to another, or between a task and idle.
    pub switches: u64,
}

/// Restarts of a policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Restarts {
    /// Total number.
    pub(crate) count: u64,
    /// Current time, ns, and the number of restarts at this time.
    pub(crate) now: (u64, u32),
    /// Time and reason of the first restart.
    pub(crate) first: Option<(u64, String)>,
}
