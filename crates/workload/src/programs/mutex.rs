//! Mutexes, with and without priority inheritance: one structure, four [`MutexKind`]s.
//!
//! A release makes the mutex free and wakes the first waiter. That one tries again when it runs; if
//! another was quicker, it waits again. A mutex that is *handed over* belongs to the first waiter
//! from the release on. With *inheritance* it is handed over, and while tasks wait, the most urgent
//! of them lends its policy and priority to the owner, and so on to whoever that one waits for.
//!
//! The first waiter is the one that came first or, where waiters are ordered by urgency, the most
//! urgent: deadline tasks (the shorter relative deadline first), then real-time ones by priority,
//! then all others; among equals the one that came first. Only deadline and real-time waiters lend.

use schedlab_core::{Policy, SchedAttr};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of no task and of no mutex.
pub(super) const NONE: u32 = u32::MAX;

/// A mutex, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexId(pub u32);

/// Who has a mutex next, and what its calls cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MutexKind {
    /// Waiters in the order in which they came; one that was woken and came too late goes to the
    /// end. Lock and unlock cost nothing: a program counts them in what it computes.
    Barging,
    /// Waiters in the order in which they came; handed over. Costs as [`MutexKind::Barging`].
    HandedOver,
    /// A mutex of the C library: waiters by urgency; one that was woken and came too late keeps its
    /// place. A call that need not wait or wake stays in user space (`try_lock`); others cost a
    /// `futex` call.
    Urgency,
    /// As [`MutexKind::Urgency`], with priority inheritance, and handed over.
    Inherit,
}

impl MutexKind {
    pub(super) fn is_handed_over(self) -> bool {
        matches!(self, MutexKind::HandedOver | MutexKind::Inherit)
    }

    /// Ordered by urgency, and every call has its price.
    pub(super) fn is_futex(self) -> bool {
        matches!(self, MutexKind::Urgency | MutexKind::Inherit)
    }
}

/// How urgent a task is: less is more.
pub(super) type Urgency = u64;

/// Of all that are neither deadline nor real-time tasks.
pub(super) const ORDINARY: Urgency = u64::MAX;
/// Of the most urgent real-time tasks; those of deadline tasks are below.
const REALTIME: Urgency = 1 << 63;

pub(super) fn urgency(attr: &SchedAttr) -> Urgency {
    match attr.policy {
        Policy::Deadline => attr.deadline_ns.min(REALTIME - 1),
        Policy::Fifo | Policy::RoundRobin => REALTIME + 99 - u64::from(attr.rt_priority.min(99)),
        Policy::Other | Policy::Batch | Policy::Idle => ORDINARY,
    }
}

/// A mutex.
#[derive(Clone, Debug)]
pub(super) struct Mutex {
    pub kind: MutexKind,
    pub owner: u32,
    /// Waiting tasks, the first on top. Entries can be stale; see `Kernel::is_waiting`.
    pub waiters: BinaryHeap<Reverse<Waiter>>,
    /// The next of the mutexes that its owner holds (with inheritance).
    pub next_held: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Waiter {
    pub urgency: Urgency,
    pub ticket: u64,
    pub task: u32,
}

/// What inheritance knows of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heir {
    /// Its own attributes or borrowed ones.
    pub effective: SchedAttr,
    /// The first of the mutexes that it holds.
    pub held: u32,
    /// While it waits for a mutex: with what urgency it was queued last.
    pub queued: Urgency,
}

impl Heir {
    /// A task that holds nothing.
    pub fn new(attr: SchedAttr) -> Heir {
        Heir { effective: attr, held: NONE, queued: ORDINARY }
    }
}

impl Mutex {
    pub fn new(kind: MutexKind) -> Mutex {
        Mutex { kind, owner: NONE, waiters: BinaryHeap::new(), next_held: NONE }
    }

    /// The task that holds it.
    pub fn owner(&self) -> Option<u32> {
        Some(self.owner).filter(|&owner| owner != NONE)
    }
}
