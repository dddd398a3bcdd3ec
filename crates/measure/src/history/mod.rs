//! A run for the eye: who had which CPU, how each turn came about and how it ended; and what all of
//! it came to in some hundred equal stretches of time. Made by [`Recorder`], in bounded memory.
//!
//! * [`Turn`]: a slice with its wait, its waker and its rules. Of more turns than there is room
//!   for, short neighbours are put together ([`Turns`]).
//! * [`Buckets`]: sums over stretches of time. They are made of all events and stay exact, however
//!   much is put together.
//! * [`Wait`]: the longest waits of all, whatever was put together.

mod buckets;
mod recorder;
pub mod testing;
mod turns;

pub use buckets::{BUCKETS, Buckets, GROUP_ROWS, TASK_ROWS};
pub use recorder::{Recorder, WAITS_KEPT, Wait};
pub use turns::{Left, Turn, Turns};

use schedlab_core::{TaskId, TaskTable};

/// What a task that got a CPU had waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Came {
    /// Nothing in particular: it had lost its CPU, and was runnable ever since.
    #[default]
    Runnable,
    /// It was new.
    Started,
    /// An interrupt (a timer, a device) had woken it.
    Interrupt,
    /// The kernel had, outside of this machine's tasks.
    Process,
    /// This task had.
    Task(TaskId),
}

impl Came {
    /// As a number, for files: 0 it was runnable, 1 new, 2 an interrupt, 3 the kernel, 4 + n
    /// task n.
    pub fn code(self) -> u64 {
        match self {
            Came::Runnable => 0,
            Came::Started => 1,
            Came::Interrupt => 2,
            Came::Process => 3,
            Came::Task(task) => 4 + u64::from(task.0),
        }
    }
}

/// What was recorded of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// CPUs.
    pub cpus: u32,
    /// When the run ended, ns. It began at 0.
    pub end_ns: u64,
    /// Turns by start, then CPU.
    pub turns: Turns,
    /// Sums over stretches of time.
    pub buckets: Buckets,
    /// The longest waits, longest first.
    pub waits: Vec<Wait>,
    /// Whether lags are among the sums.
    pub has_lags: bool,
    /// Who forked each task, if a task did.
    pub parents: TaskTable<Option<TaskId>>,
}
