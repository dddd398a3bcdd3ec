//! Taking and releasing mutexes, and priority inheritance.

use super::blocked::Blocked;
use super::kernel::Kernel;
use super::mutex::{Heir, MutexId, MutexKind, NONE, ORDINARY, Urgency, Waiter, urgency};
use super::task::Order;
use schedlab_core::SchedAttr;
use std::cmp::Reverse;

impl Kernel {
    /// Returns the attributes that the scheduler has for a task while priorities are inherited.
    pub(super) fn effective(&self, task: u32) -> SchedAttr {
        self.heirs[task as usize].effective
    }

    /// Makes `task` the owner of a free mutex.
    fn take(&mut self, mutex: u32, task: u32) {
        let state = &mut self.objects.mutexes[mutex as usize];
        state.owner = task;
        if state.kind == MutexKind::Inherit {
            self.know_heirs();
            let heir = &mut self.heirs[task as usize];
            let state = &mut self.objects.mutexes[mutex as usize];
            state.next_held = heir.held;
            heir.held = mutex;
        }
    }

    /// Creates an [`Heir`] for each task, from the first mutex with inheritance on.
    fn know_heirs(&mut self) {
        let new = self.tasks.iter().skip(self.heirs.len()).map(|task| Heir::new(task.attr.sched));
        self.heirs.extend(new);
    }

    fn give_up(&mut self, mutex: u32) {
        let state = &mut self.objects.mutexes[mutex as usize];
        let owner = std::mem::replace(&mut state.owner, NONE);
        if state.kind != MutexKind::Inherit || owner == NONE {
            return;
        }
        let next = state.next_held;
        let first = &mut self.heirs[owner as usize].held;
        if *first == mutex {
            *first = next;
            return;
        }
        let mut before = *first;
        while self.objects.mutexes[before as usize].next_held != mutex {
            before = self.objects.mutexes[before as usize].next_held;
        }
        self.objects.mutexes[before as usize].next_held = next;
    }

    fn queue(&mut self, mutex: u32, waiter: Waiter) {
        let state = &mut self.objects.mutexes[mutex as usize];
        if state.kind == MutexKind::Inherit {
            self.heirs[waiter.task as usize].queued = waiter.urgency;
        }
        state.waiters.push(Reverse(waiter));
    }

    /// Takes the mutex for `task` if possible, and returns whether `task` has it.
    pub(super) fn try_lock(&mut self, task: u32, MutexId(mutex): MutexId) -> bool {
        let state = &self.objects.mutexes[mutex as usize];
        match state.owner() {
            None => {
                self.take(mutex, task);
                true
            }
            // It was handed over.
            Some(owner) => owner == task && state.kind != MutexKind::Barging,
        }
    }

    /// Makes `task` wait for a mutex that it could not take. A task that has waited before
    /// (`again`) and was too late keeps its place, if the mutex works that way.
    pub(super) fn wait_for_mutex(
        &mut self,
        now_ns: u64,
        task: u32,
        MutexId(mutex): MutexId,
        again: bool,
    ) {
        if self.objects.inherits {
            self.know_heirs();
        }
        let kind = self.objects.mutexes[mutex as usize].kind;
        if !(again && kind.is_futex()) {
            self.tickets += 1;
            self.tasks[task as usize].ticket = self.tickets;
        }
        let ticket = self.tasks[task as usize].ticket;
        self.tasks[task as usize].block(now_ns, Blocked::Mutex(mutex));
        let urgency = self.urgency(task, kind);
        self.queue(mutex, Waiter { urgency, ticket, task });
        if let Some(owner) = self.objects.mutexes[mutex as usize].owner() {
            self.priority_changed(task, owner);
        }
    }

    /// Whether a task waits for a mutex.
    pub(super) fn is_wanted(&mut self, MutexId(mutex): MutexId) -> bool {
        self.first_waiter(mutex).is_some()
    }

    /// Frees or hands over the mutex, and wakes the first waiter, on behalf of `actor`.
    pub(super) fn release(&mut self, actor: u32, MutexId(mutex): MutexId) {
        self.give_up(mutex);
        let first = self.first_waiter(mutex);
        if let Some(first) = first {
            let state = &mut self.objects.mutexes[mutex as usize];
            state.waiters.pop();
            if state.kind.is_handed_over() {
                self.take(mutex, first);
            }
        }
        self.priority_changed(actor, actor);
        if let Some(first) = first {
            self.unblock(actor, first, false);
            self.priority_changed(actor, first);
        }
    }

    /// Returns the urgency of a task among the waiters for a mutex of this kind.
    fn urgency(&self, task: u32, kind: MutexKind) -> Urgency {
        match kind {
            MutexKind::Barging | MutexKind::HandedOver => ORDINARY,
            _ if self.objects.inherits => urgency(&self.effective(task)),
            _ => urgency(&self.tasks[task as usize].attr.sched),
        }
    }

    /// Returns the first waiter for a mutex. Removes stale entries from the top.
    fn first_waiter(&mut self, mutex: u32) -> Option<u32> {
        loop {
            let &Reverse(waiter) = self.objects.mutexes[mutex as usize].waiters.peek()?;
            if self.is_waiting(mutex, waiter) {
                return Some(waiter.task);
            }
            self.objects.mutexes[mutex as usize].waiters.pop();
        }
    }

    /// Whether the task still waits, and was not queued again with another urgency.
    fn is_waiting(&self, mutex: u32, waiter: Waiter) -> bool {
        let task = &self.tasks[waiter.task as usize];
        task.blocked == Blocked::Mutex(mutex)
            && task.ticket == waiter.ticket
            && (self.objects.mutexes[mutex as usize].kind != MutexKind::Inherit
                || self.heirs[waiter.task as usize].queued == waiter.urgency)
    }

    /// Updates the effective attributes of `task` after a change of its own attributes or of the
    /// waiters for its mutexes. Continues with the tasks that it waits for, one after the other.
    /// `actor` reports the changes to the machine.
    pub(super) fn priority_changed(&mut self, actor: u32, mut task: u32) {
        if !self.objects.inherits {
            return;
        }
        self.know_heirs();
        // Where tasks wait for each other in a circle, a priority passes round once.
        for _ in 0..=self.tasks.len() {
            let effective = self.own_or_lent(task);
            if effective == self.effective(task) {
                return;
            }
            self.heirs[task as usize].effective = effective;
            self.tasks[actor as usize].orders.push_back(Order::Attr { task });
            let Blocked::Mutex(mutex) = self.tasks[task as usize].blocked else {
                return;
            };
            if self.objects.mutexes[mutex as usize].kind != MutexKind::Inherit {
                return;
            }
            self.queue_again(task, mutex);
            let Some(owner) = self.objects.mutexes[mutex as usize].owner() else {
                return;
            };
            task = owner;
        }
    }

    /// Returns the task's own attributes, or those lent by the most urgent waiter for its mutexes.
    fn own_or_lent(&mut self, task: u32) -> SchedAttr {
        let own = self.tasks[task as usize].attr.sched;
        let mut best = own;
        let mut mutex = self.heirs[task as usize].held;
        while mutex != NONE {
            if let Some(first) = self.first_waiter(mutex) {
                let lent = self.effective(first);
                if urgency(&lent) < urgency(&best) {
                    best = SchedAttr { nice: own.nice, ..lent };
                }
            }
            mutex = self.objects.mutexes[mutex as usize].next_held;
        }
        best
    }

    /// Queues a waiter again after its urgency has changed.
    fn queue_again(&mut self, task: u32, mutex: u32) {
        let waiter = Waiter {
            urgency: urgency(&self.effective(task)),
            ticket: self.tasks[task as usize].ticket,
            task,
        };
        if waiter.urgency == self.heirs[task as usize].queued {
            return;
        }
        self.queue(mutex, waiter);
        // Stale entries must not accumulate.
        let waiters = &self.objects.mutexes[mutex as usize].waiters;
        if waiters.len() > 2 * self.tasks.len() + 16 {
            let state = &mut self.objects.mutexes[mutex as usize];
            let mut waiters = std::mem::take(&mut state.waiters);
            waiters.retain(|&Reverse(waiter)| self.is_waiting(mutex, waiter));
            self.objects.mutexes[mutex as usize].waiters = waiters;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{Profile, Spawn, Step};
    use schedlab_machine::costs::CallCosts;

    #[test]
    fn a_mutex_can_be_handed_over_or_not() {
        for kind in [MutexKind::Barging, MutexKind::HandedOver, MutexKind::Urgency] {
            let mut kernel = Kernel::new(Profile::of("2.6.0"), CallCosts::default(), 1);
            for _ in 0..4 {
                kernel.start(0, Spawn::new("task", |_: &mut super::super::Context<'_>| Step::Exit));
            }
            let mutex = kernel.objects().mutex(kind);
            assert!(kernel.try_lock(1, mutex) && !kernel.try_lock(2, mutex));
            kernel.wait_for_mutex(0, 2, mutex, false);
            assert!(kernel.is_wanted(mutex));
            kernel.release(1, mutex);
            let handed_over = kind == MutexKind::HandedOver;
            assert_eq!(
                kernel.try_lock(3, mutex),
                !handed_over,
                "a third task may take a free mutex first"
            );
            assert_eq!(kernel.try_lock(2, mutex), handed_over);
        }
    }
}
