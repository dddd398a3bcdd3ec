//! Schedulers that know the future.
//!
//! Some textbook policies (shortest job first, shortest remaining time, highest response ratio)
//! need to know how long a task will run before it blocks. No kernel knows that. These policies
//! learn it through this trait. No real scheduler implements the trait, and a machine passes its
//! knowledge through nothing else, so the privilege is visible in the types.

use crate::TaskId;

/// A scheduler that learns the length of a task's next burst in advance. A machine finds it with
/// [`Scheduler::as_clairvoyant`](crate::Scheduler::as_clairvoyant).
pub trait Clairvoyant {
    /// Announces that `task`, which is about to be forked or woken, will use `burst_ns` of CPU time
    /// before it blocks. [`u64::MAX`]: it never blocks, or its program does not know either.
    fn next_burst(&mut self, task: TaskId, burst_ns: u64);
}
