//! A task's bursts of computation and the sleeps between them: [`Burst`], [`Sleep`].

use schedlab_trace::tracepoint::{Context, State};
use std::ops::Range;

/// Burst: a period in which a task is runnable or running, between two sleeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Time at which the task becomes runnable, ns.
    pub wake_ns: u64,
    /// Whether the wakeup is in the trace. `false`: the task is runnable since the beginning of the
    /// trace or since a gap.
    pub is_woken: bool,
    /// Time at which the task first gets a CPU, ns.
    pub first_ns: Option<u64>,
    /// Slices of the burst, for [`Task::slices`](crate::trace::Task::slices).
    pub slices: Range<u32>,
    /// Actions in the burst, for [`Task::acts`](crate::trace::Task::acts).
    pub acts: Range<u32>,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Time at which the task leaves the CPU or the trace ends, ns.
    pub end_ns: u64,
    /// State in which the task leaves the CPU. `None`: the trace ends first.
    pub state: Option<State>,
}

/// Slice: a period on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The CPU.
    pub cpu: u32,
    /// Beginning, ns.
    pub from_ns: u64,
    /// End, ns.
    pub to_ns: u64,
}

/// Action of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Act {
    /// CPU time of the burst before the action, ns.
    pub offset_ns: u64,
    /// The action.
    pub what: ActKind,
}

/// Kind of an action of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActKind {
    /// Wakes a task from a sleep.
    Wake {
        /// The task that is woken.
        task: u32,
        /// Number of the sleep that ends. [`BEFORE`]: the sleep before the trace.
        sleep: u32,
    },
    /// Forks a task.
    Fork {
        /// The child.
        task: u32,
    },
    /// Wakes a task that does not sleep yet.
    Post {
        /// Index in [`Trace::tokens`](crate::Trace::tokens).
        token: u32,
    },
    /// Is about to wait, but was woken before.
    Wait {
        /// Index in [`Trace::tokens`](crate::Trace::tokens).
        token: u32,
    },
    /// Changes the priority of the task from here on.
    Prio {
        /// Priority on the kernel's scale.
        prio: i32,
    },
    /// Executes another program. The kernel may choose another CPU at this point.
    Exec,
}

/// Number that stands for [`Task::before`](crate::trace::Task::before) among the sleeps of a task.
pub const BEFORE: u32 = u32::MAX;

/// Sleep of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sleep {
    /// Beginning, ns.
    pub at_ns: u64,
    /// End, ns. `None`: after the end of the trace.
    pub wake_ns: Option<u64>,
    /// Task that was current where the wakeup happened.
    pub waker: Option<u32>,
    /// Context of the wakeup.
    pub context: Context,
    /// CPU on which the wakeup happened.
    pub cpu: u32,
    /// CPU on which the sleeping task last ran.
    pub last_cpu: Option<u32>,
    /// State in which the task sleeps.
    pub state: State,
    /// Cause of the wakeup, to the extent that it could be inferred.
    pub kind: SleepKind,
}

/// Cause that ends a sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SleepKind {
    /// Progress of another task, the waker.
    Edge,
    /// Time since the beginning of the sleep: a device or a timer.
    Relative,
    /// A point in time: a clock, or an event from outside.
    Absolute,
    /// No known cause: the trace ends before the sleep does.
    #[default]
    End,
}
