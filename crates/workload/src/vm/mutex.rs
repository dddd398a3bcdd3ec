//! Mutexes, with and without priority inheritance.
//!
//! **Without**: a release makes the mutex free and wakes the first waiter. That one tries again
//! when it runs; if another was quicker, it goes back to its old place. **With**: a release hands
//! the mutex to the first waiter, and while threads wait, the most urgent of them lends its policy
//! and priority to the owner, and so on to whoever that one waits for.
//!
//! First is the most urgent waiter: deadline tasks (the shorter relative deadline first), then
//! real-time ones by priority, then all others; among equals the one that came first. Only deadline
//! and real-time waiters lend.

use super::{Blocked, Order, Stage, Vm};
use crate::program::NONE;
use schedlab_core::{Policy, SchedAttr};
use schedlab_machine::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How urgent a thread is: less is more.
type Urgency = u64;

/// Of all that are neither deadline nor real-time tasks.
const ORDINARY: Urgency = u64::MAX;
/// Of the most urgent real-time tasks; those of deadline tasks are below.
const REALTIME: Urgency = 1 << 63;

fn urgency(attr: &SchedAttr) -> Urgency {
    match attr.policy {
        Policy::Deadline => attr.deadline_ns.min(REALTIME - 1),
        Policy::Fifo | Policy::RoundRobin => REALTIME + 99 - u64::from(attr.rt_priority.min(99)),
        Policy::Other | Policy::Batch | Policy::Idle => ORDINARY,
    }
}

/// All mutexes.
#[derive(Clone, Debug)]
pub(super) struct Mutexes {
    inherit: bool,
    mutexes: Vec<Mutex>,
    /// Counts those that came to wait.
    tickets: u64,
    /// For each thread, if priorities are inherited.
    heirs: Vec<Heir>,
}

#[derive(Clone, Debug)]
struct Mutex {
    owner: u32,
    /// Who waits, the first on top. With inheritance also entries that are no longer true; see
    /// [`Mutexes::is_true`].
    waiters: BinaryHeap<Reverse<Waiter>>,
    /// The next of the mutexes that its owner holds (with inheritance).
    next_held: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Waiter {
    urgency: Urgency,
    ticket: u64,
    thread: u32,
}

/// What inheritance knows of a thread.
#[derive(Clone, Copy, Debug)]
struct Heir {
    /// Its own attributes or borrowed ones.
    effective: SchedAttr,
    /// The first of the mutexes that it holds.
    held: u32,
    /// While it waits for a mutex: with what urgency it was queued last.
    queued: Urgency,
}

impl Mutexes {
    pub fn new(mutexes: usize, inherit: bool) -> Mutexes {
        let mutex = || Mutex { owner: NONE, waiters: BinaryHeap::new(), next_held: NONE };
        Mutexes {
            inherit,
            mutexes: std::iter::repeat_with(mutex).take(mutexes).collect(),
            tickets: 0,
            heirs: Vec::new(),
        }
    }

    pub fn new_thread(&mut self, attr: SchedAttr) {
        if self.inherit {
            self.heirs.push(Heir { effective: attr, held: NONE, queued: ORDINARY });
        }
    }

    /// Whether priorities are inherited.
    pub fn inherit(&self) -> bool {
        self.inherit
    }

    /// What the scheduler is told of a thread while priorities are inherited.
    pub fn effective(&self, thread: u32) -> SchedAttr {
        self.heirs[thread as usize].effective
    }

    /// Who holds a mutex.
    pub fn owner(&self, mutex: u32) -> Option<u32> {
        Some(self.mutexes[mutex as usize].owner).filter(|&owner| owner != NONE)
    }

    fn take(&mut self, mutex: u32, thread: u32) {
        let state = &mut self.mutexes[mutex as usize];
        state.owner = thread;
        if self.inherit {
            let heir = &mut self.heirs[thread as usize];
            state.next_held = heir.held;
            heir.held = mutex;
        }
    }

    fn give_up(&mut self, mutex: u32) {
        let owner = std::mem::replace(&mut self.mutexes[mutex as usize].owner, NONE);
        if !self.inherit {
            return;
        }
        let next = self.mutexes[mutex as usize].next_held;
        let first = &mut self.heirs[owner as usize].held;
        if *first == mutex {
            *first = next;
            return;
        }
        let mut before = *first;
        while self.mutexes[before as usize].next_held != mutex {
            before = self.mutexes[before as usize].next_held;
        }
        self.mutexes[before as usize].next_held = next;
    }

    fn queue(&mut self, mutex: u32, waiter: Waiter) {
        if self.inherit {
            self.heirs[waiter.thread as usize].queued = waiter.urgency;
        }
        self.mutexes[mutex as usize].waiters.push(Reverse(waiter));
    }
}

impl Vm {
    /// Takes the mutex of the instruction at the thread's place, and goes on; or waits for it.
    pub(super) fn lock(&mut self, now_ns: u64, number: u32, mutex: u32) -> Option<Op> {
        let thread = &mut self.threads[number as usize];
        match self.mutexes.owner(mutex) {
            None => self.mutexes.take(mutex, number),
            // It was handed over.
            Some(owner) if owner == number => {}
            Some(owner) => {
                // One that was woken and came too late keeps its old place.
                if thread.stage != Stage::Retry {
                    self.mutexes.tickets += 1;
                    thread.ticket = self.mutexes.tickets;
                    thread.stage = Stage::Retry;
                }
                let ticket = thread.ticket;
                let op = self.block(now_ns, number, Blocked::Mutex(mutex));
                let urgency = self.urgency(number);
                self.mutexes.queue(mutex, Waiter { urgency, ticket, thread: number });
                self.priority_changed(owner);
                return Some(op);
            }
        }
        let waited = std::mem::replace(&mut thread.stage, Stage::Fresh) != Stage::Fresh;
        thread.pc += 1;
        self.owe(number, waited);
        None
    }

    /// Whether anybody waits for a mutex.
    pub(super) fn is_wanted(&mut self, mutex: u32) -> bool {
        self.first_waiter(mutex).is_some()
    }

    /// Makes the mutex free, or hands it over, and wakes the first waiter.
    pub(super) fn release(&mut self, number: u32, mutex: u32) {
        self.mutexes.give_up(mutex);
        let first = self.first_waiter(mutex);
        if let Some(first) = first {
            self.mutexes.mutexes[mutex as usize].waiters.pop();
            if self.mutexes.inherit {
                self.mutexes.take(mutex, first);
            }
        }
        self.priority_changed(number);
        if let Some(first) = first {
            self.unblock(first, false);
            self.priority_changed(first);
        }
    }

    fn urgency(&self, number: u32) -> Urgency {
        if self.mutexes.inherit {
            urgency(&self.mutexes.effective(number))
        } else {
            urgency(&self.code.attrs[self.threads[number as usize].attr as usize])
        }
    }

    /// The first of those that wait for a mutex. Removes entries that are no longer true from the
    /// top.
    fn first_waiter(&mut self, mutex: u32) -> Option<u32> {
        loop {
            let &Reverse(waiter) = self.mutexes.mutexes[mutex as usize].waiters.peek()?;
            if self.is_true(mutex, waiter) {
                return Some(waiter.thread);
            }
            self.mutexes.mutexes[mutex as usize].waiters.pop();
        }
    }

    /// Whether the thread still waits, and was not queued again with another urgency.
    fn is_true(&self, mutex: u32, waiter: Waiter) -> bool {
        let thread = &self.threads[waiter.thread as usize];
        thread.blocked == Blocked::Mutex(mutex)
            && thread.ticket == waiter.ticket
            && (!self.mutexes.inherit
                || self.mutexes.heirs[waiter.thread as usize].queued == waiter.urgency)
    }

    /// Something has changed that decides about the effective attributes of `number`: its own, or
    /// who waits for what it holds. Sets them, and those of the threads that it waits for, one
    /// behind the other.
    pub(super) fn priority_changed(&mut self, mut number: u32) {
        if !self.mutexes.inherit {
            return;
        }
        // Where threads wait for each other in a circle, a priority goes round once.
        for _ in 0..=self.threads.len() {
            let effective = self.own_or_lent(number);
            if effective == self.mutexes.effective(number) {
                return;
            }
            self.mutexes.heirs[number as usize].effective = effective;
            self.orders.push_back(Order::Attr { thread: number });
            let Blocked::Mutex(mutex) = self.threads[number as usize].blocked else {
                return;
            };
            self.queue_again(number, mutex);
            let Some(owner) = self.mutexes.owner(mutex) else {
                return;
            };
            number = owner;
        }
    }

    /// The thread's own attributes, or those that the most urgent of the waiters for what it holds
    /// lends it.
    fn own_or_lent(&mut self, number: u32) -> SchedAttr {
        let own = self.code.attrs[self.threads[number as usize].attr as usize];
        let mut best = own;
        let mut mutex = self.mutexes.heirs[number as usize].held;
        while mutex != NONE {
            if let Some(first) = self.first_waiter(mutex) {
                let theirs = self.mutexes.effective(first);
                if urgency(&theirs) < urgency(&best) {
                    best = SchedAttr { nice: own.nice, ..theirs };
                }
            }
            mutex = self.mutexes.mutexes[mutex as usize].next_held;
        }
        best
    }

    /// A waiter has become more or less urgent.
    fn queue_again(&mut self, number: u32, mutex: u32) {
        let waiter = Waiter {
            urgency: self.urgency(number),
            ticket: self.threads[number as usize].ticket,
            thread: number,
        };
        if waiter.urgency == self.mutexes.heirs[number as usize].queued {
            return;
        }
        self.mutexes.queue(mutex, waiter);
        // Entries that are no longer true must not pile up.
        let waiters = &self.mutexes.mutexes[mutex as usize].waiters;
        if waiters.len() > 2 * self.threads.len() + 16 {
            let mut waiters = std::mem::take(&mut self.mutexes.mutexes[mutex as usize].waiters);
            waiters.retain(|&Reverse(waiter)| self.is_true(mutex, waiter));
            self.mutexes.mutexes[mutex as usize].waiters = waiters;
        }
    }
}
