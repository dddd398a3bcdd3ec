//! Why and where a policy ended.

use crate::ops::{ARGS_MAX, Callback};

/// The end of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// `SCX_EXIT_*`.
    pub kind: u64,
    /// The code of `scx_bpf_exit`.
    pub code: i64,
    /// Short reason, in the kernel's words.
    pub reason: &'static str,
    /// Full message.
    pub message: String,
    /// Callback in which it ended.
    pub callback: &'static str,
    /// Time, ns.
    pub at_ns: u64,
    /// The registers, if the program did something wrong.
    pub registers: Option<[u64; 11]>,
    /// The dump of CPUs and tasks that the kernel writes. Empty if it writes none.
    pub dump: String,
}

/// A recent call of a callback, for the message of an ended policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecentCall {
    /// The callback.
    pub callback: Callback,
    /// Time, ns.
    pub at_ns: u64,
    /// The acting CPU.
    pub cpu: u32,
    /// Its arguments.
    pub args: [u64; ARGS_MAX],
    /// Number of arguments.
    pub len: usize,
}
