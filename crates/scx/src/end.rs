//! Why and where a policy ended.

use crate::ops::{ARGS_MAX, Callback};

/// Why and where a policy ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// `SCX_EXIT_*`.
    pub kind: u64,
    /// The code of `scx_bpf_exit`.
    pub code: i64,
    /// In a few words, as the kernel puts it.
    pub reason: &'static str,
    /// In full.
    pub message: String,
    /// In which callback.
    pub callback: &'static str,
    /// When, ns.
    pub at_ns: u64,
    /// The registers, if the program did something wrong.
    pub registers: Option<[u64; 11]>,
    /// The dump of CPUs and tasks that the kernel writes; empty if it writes none.
    pub dump: String,
}

/// A call of a callback, for the message of an ended policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecentCall {
    /// Which.
    pub callback: Callback,
    /// When, ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Its arguments.
    pub args: [u64; ARGS_MAX],
    /// How many of them there are.
    pub len: usize,
}
