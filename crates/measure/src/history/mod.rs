//! A run prepared for display: which task had which CPU, how each interval came about and how it
//! ended, and sums over some hundred equal periods. [`Recorder`] makes it in bounded memory.
//!
//! * [`RunInterval`]: a slice with its wait, its waker and its rules. If there are more intervals
//!   than room, short neighbours are merged ([`RunIntervals`]).
//! * [`Buckets`]: sums over periods. They are computed from all events and stay exact, however much
//!   is merged.
//! * [`Wait`]: the longest waits of the whole run, whatever was merged.

mod buckets;
mod recorder;
pub mod testing;
mod turns;

pub use buckets::{BUCKETS, Buckets, GROUP_ROWS, TASK_ROWS};
pub use recorder::{Recorder, WAITS_KEPT, Wait};
pub use turns::{IntervalEnd, RunInterval, RunIntervals};

use schedlab_core::{TaskId, TaskTable};

/// Reason why a task was runnable before it got a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunnableCause {
    /// It had lost its CPU, and was runnable since then.
    #[default]
    Runnable,
    /// It was new.
    Started,
    /// An interrupt (of a timer or a device) woke it.
    Interrupt,
    /// The kernel woke it, not a task of this machine.
    Process,
    /// This task woke it.
    Task(TaskId),
}

impl RunnableCause {
    /// Returns a number for files: 0 it was runnable, 1 new, 2 an interrupt, 3 the kernel, 4 + n
    /// task n.
    pub fn code(self) -> u64 {
        match self {
            RunnableCause::Runnable => 0,
            RunnableCause::Started => 1,
            RunnableCause::Interrupt => 2,
            RunnableCause::Process => 3,
            RunnableCause::Task(task) => 4 + u64::from(task.0),
        }
    }
}

/// Record of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Number of CPUs.
    pub cpus: u32,
    /// End of the run, ns. It began at 0.
    pub end_ns: u64,
    /// Intervals by start, then CPU.
    pub turns: RunIntervals,
    /// Sums over periods.
    pub buckets: Buckets,
    /// Longest waits, the longest first.
    pub waits: Vec<Wait>,
    /// Whether the sums include lags.
    pub has_lags: bool,
    /// By task: the task that forked it, if any.
    pub parents: TaskTable<Option<TaskId>>,
}
