//! Counts of a policy's calls and instructions.

use crate::ops::Callback;
use std::collections::BTreeMap;

/// How often a callback was called and what that took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallCounts {
    /// Calls.
    pub calls: u64,
    /// Instructions, those of callbacks within helpers included.
    pub insns: u64,
    /// The most instructions that a call took.
    pub insns_max: u64,
}

/// What the policy did, counted. Exact, and the same in every run of the same input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// By callback.
    pub callbacks: [CallCounts; Callback::COUNT],
    /// Of timers' functions.
    pub timers: CallCounts,
    /// Calls of helpers, by number.
    pub helpers: BTreeMap<u32, u64>,
    /// Calls of kernel functions, in the order of [`Image::kfuncs`].
    pub kfuncs: Vec<u64>,
    /// Switches of a CPU from one task, or idleness, to another.
    pub switches: u64,
}
