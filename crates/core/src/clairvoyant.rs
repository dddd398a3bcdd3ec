//! Schedulers that are told the future.
//!
//! Some policies of the textbooks (shortest job first, shortest remaining time, highest response
//! ratio) need to know how long a task will run before it blocks. No kernel knows that. They are
//! told through this trait, which no real scheduler implements, and through which alone a machine
//! passes what it knows: the privilege is visible in the types.

use crate::TaskId;

/// A scheduler that is told how long the next burst of a task will be. A machine finds it by
/// [`Scheduler::as_clairvoyant`](crate::Scheduler::as_clairvoyant).
pub trait Clairvoyant {
    /// `task`, which is about to be forked or woken, will use `burst_ns` of CPU time before it
    /// blocks; [`u64::MAX`] if it never does, or if its program itself does not know.
    fn next_burst(&mut self, task: TaskId, burst_ns: u64);
}
