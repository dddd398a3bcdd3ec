//! A task's bursts of computation and the sleeps between them: [`Burst`], [`Sleep`].

use schedlab_trace::tracepoint::{Context, State};
use std::ops::Range;

/// A turn at work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Burst {
    /// When it became runnable.
    pub wake_ns: u64,
    /// Whether that was seen: not runnable since the trace's beginning or a gap.
    pub is_woken: bool,
    /// When it was first on a CPU.
    pub first_ns: Option<u64>,
    /// Its pieces, for [`Task::slices`](crate::trace::Task::slices).
    pub slices: Range<u32>,
    /// What it did, for [`Task::acts`](crate::trace::Task::acts).
    pub acts: Range<u32>,
    /// CPU time.
    pub cpu_ns: u64,
    /// When it left the CPU, or the trace ended.
    pub end_ns: u64,
    /// In what state; none: the trace ended.
    pub state: Option<State>,
}

/// Time on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Which.
    pub cpu: u32,
    /// From when ...
    pub from_ns: u64,
    /// ... to when.
    pub to_ns: u64,
}

/// Something that a task did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Act {
    /// At which point of the burst's demand, ns.
    pub offset_ns: u64,
    /// What.
    pub what: What,
}

/// What a task did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// It woke a task out of this sleep ([`BEFORE`]: the one before the trace).
    Wake {
        /// Whom.
        task: u32,
        /// Out of which of its sleeps.
        sleep: u32,
    },
    /// It forked.
    Fork {
        /// Whom.
        task: u32,
    },
    /// It woke one that had not gone to sleep yet.
    Post {
        /// Place in [`Trace::tokens`](crate::Trace::tokens).
        token: u32,
    },
    /// It wanted to wait, and was woken before it did.
    Wait {
        /// Place in [`Trace::tokens`](crate::Trace::tokens).
        token: u32,
    },
    /// It has another priority from here on.
    Prio {
        /// As the kernel counts.
        prio: i32,
    },
    /// Executes another program, whereupon a kernel may choose another CPU.
    Exec,
}

/// The number of [`Task::before`](crate::trace::Task::before) among a task's sleeps.
pub const BEFORE: u32 = u32::MAX;

/// A sleep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sleep {
    /// When it began.
    pub at_ns: u64,
    /// When it ended; none: after the trace.
    pub wake_ns: Option<u64>,
    /// Who ran where it was ended.
    pub waker: Option<u32>,
    /// In what context it was ended.
    pub context: Context,
    /// On which CPU it was ended.
    pub cpu: u32,
    /// The CPU on which the sleeper last ran.
    pub last_cpu: Option<u32>,
    /// In what state it sleeps.
    pub state: State,
    /// What ended it, as far as that was found out.
    pub kind: Kind,
}

/// What ends a sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// The progress of another task: its waker.
    Edge,
    /// Time since its beginning: a device, a timer.
    Relative,
    /// Time: a clock, or somebody outside.
    Absolute,
    /// Nothing; the trace ends before.
    #[default]
    End,
}
