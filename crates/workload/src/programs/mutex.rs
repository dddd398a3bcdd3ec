//! Mutexes, with and without priority inheritance: one structure, four [`MutexKind`]s.
//!
//! A release frees the mutex and wakes the first waiter. That task tries again when it runs; if
//! another was quicker, it waits again. A mutex that is *handed over* belongs to the first waiter
//! from the release on. With *inheritance* it is handed over, and while tasks wait, the most urgent
//! of them lends its policy and priority to the owner, and on to the task that the owner waits for.
//!
//! The first waiter is the one that came first. Where waiters are ordered by urgency, it is the
//! most urgent one: deadline tasks (the shorter relative deadline first), then real-time tasks by
//! priority, then all others; among equals the one that came first. Only deadline and real-time
//! waiters lend.

use schedlab_core::{Policy, SchedAttr};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number that stands for no task and no mutex.
pub(super) const NONE: u32 = u32::MAX;

/// A mutex, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexId(pub u32);

/// How a mutex passes to its next owner, and what its calls cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MutexKind {
    /// Waiters in order of arrival. A woken waiter that is too late goes to the end. Lock and
    /// unlock are free: a program includes them in its computation.
    Barging,
    /// Waiters in order of arrival; handed over. Costs as [`MutexKind::Barging`].
    HandedOver,
    /// A mutex of the C library: waiters by urgency. A woken waiter that is too late keeps its
    /// place. A call that need not wait or wake stays in user space (`try_lock`). Others cost a
    /// `futex` call.
    Urgency,
    /// Like [`MutexKind::Urgency`], with priority inheritance, and handed over.
    Inherit,
}

impl MutexKind {
    #[inline]
    pub(super) fn is_handed_over(self) -> bool {
        matches!(self, MutexKind::HandedOver | MutexKind::Inherit)
    }

    /// Whether it is ordered by urgency and every call has a cost.
    #[inline]
    pub(super) fn is_futex(self) -> bool {
        matches!(self, MutexKind::Urgency | MutexKind::Inherit)
    }
}

/// Urgency of a task: lower is more urgent.
pub(super) type Urgency = u64;

/// Urgency of all tasks that are neither deadline nor real-time tasks.
pub(super) const ORDINARY: Urgency = u64::MAX;
/// Urgency of the most urgent real-time tasks. Deadline tasks have lower values.
const REALTIME: Urgency = 1 << 63;

#[inline]
pub(super) fn urgency(attr: &SchedAttr) -> Urgency {
    match attr.policy {
        Policy::Deadline => attr.deadline_ns.min(REALTIME - 1),
        Policy::Fifo | Policy::RoundRobin => REALTIME + 99 - u64::from(attr.rt_priority.min(99)),
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => ORDINARY,
    }
}

/// A mutex.
#[derive(Clone, Debug)]
pub(super) struct Mutex {
    pub kind: MutexKind,
    pub owner: u32,
    /// Waiting tasks, the first on top. Entries can be stale; see `Kernel::is_waiting`.
    pub waiters: BinaryHeap<Reverse<Waiter>>,
    /// Next of the mutexes held by its owner (with inheritance).
    pub next_held: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Waiter {
    pub urgency: Urgency,
    pub ticket: u64,
    pub task: u32,
}

/// State of a task for inheritance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heir {
    /// Its own attributes or borrowed ones.
    pub effective: SchedAttr,
    /// First of the mutexes that it holds.
    pub held: u32,
    /// Urgency with which it was last queued while it waits for a mutex.
    pub queued: Urgency,
}

impl Heir {
    /// Creates the state of a task that holds no mutex.
    pub fn new(attr: SchedAttr) -> Heir {
        Heir { effective: attr, held: NONE, queued: ORDINARY }
    }
}

impl Mutex {
    pub fn new(kind: MutexKind) -> Mutex {
        Mutex { kind, owner: NONE, waiters: BinaryHeap::new(), next_held: NONE }
    }

    /// Returns the task that holds it.
    #[inline]
    pub fn owner(&self) -> Option<u32> {
        Some(self.owner).filter(|&owner| owner != NONE)
    }
}
