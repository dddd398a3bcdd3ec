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

/// Counts of a policy's actions. Exact, and the same in every run with the same input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// By callback.
    pub callbacks: [CallCounts; Callback::COUNT],
    /// By the functions of timers.
    pub timers: CallCounts,
    /// Calls of helpers, by number.
    pub helpers: BTreeMap<u32, u64>,
    /// Calls of kernel functions, in the order of [`Image::kfuncs`](crate::Image::kfuncs).
    pub kfuncs: Vec<u64>,
    /// Switches of a CPU from one task to another, or between a task and idleness.
    pub switches: u64,
}

/// Restarts of a policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Restarts {
    /// Total number.
    pub(crate) count: u64,
    /// Current instant, ns, and the number of restarts in it.
    pub(crate) now: (u64, u32),
    /// Time and reason of the first restart.
    pub(crate) first: Option<(u64, String)>,
}
