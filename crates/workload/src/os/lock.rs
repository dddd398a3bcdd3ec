//! Semaphores, mutexes and latches. One waiter is woken at a time, the one that has waited longest;
//! it must then win what it waits for against whoever is quicker, unless the mutex hands itself on.

use schedlab_core::TaskId;
use std::collections::VecDeque;

/// A counting semaphore, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemaphoreId(pub(super) u32);

/// A mutex, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutexId(pub(super) u32);

/// A latch, by number: closed at first, it is opened once and lets everybody through from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatchId(pub(super) u32);

#[derive(Clone, Debug, Default)]
pub(super) struct Semaphore {
    pub(super) count: u64,
    pub(super) waiters: VecDeque<TaskId>,
}

impl Semaphore {
    /// Takes one, if there is one.
    pub(super) fn take(&mut self) -> bool {
        let there = self.count > 0;
        self.count -= u64::from(there);
        there
    }

    /// Adds one; whom to wake.
    pub(super) fn post(&mut self) -> Option<TaskId> {
        self.count += 1;
        self.waiters.pop_front()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Mutex {
    pub(super) owner: Option<TaskId>,
    /// The owner gives it to the one that has waited longest instead of letting whoever comes have
    /// it.
    pub(super) hands_on: bool,
    pub(super) waiters: VecDeque<TaskId>,
}

impl Mutex {
    /// Whether `task` has it now.
    pub(super) fn take(&mut self, task: TaskId) -> bool {
        match self.owner {
            None => {
                self.owner = Some(task);
                true
            }
            // It was handed on.
            Some(owner) => self.hands_on && owner == task,
        }
    }

    /// Lets it go; whom to wake.
    pub(super) fn release(&mut self) -> Option<TaskId> {
        let next = self.waiters.pop_front();
        self.owner = if self.hands_on { next } else { None };
        next
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Latch {
    pub(super) open: bool,
    pub(super) waiters: Vec<TaskId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_wakes_the_one_that_has_waited_longest() {
        let mut semaphore = Semaphore { count: 1, ..Semaphore::default() };
        assert!(semaphore.take() && !semaphore.take());
        semaphore.waiters.extend([TaskId(3), TaskId(1)]);
        assert_eq!(semaphore.post(), Some(TaskId(3)));
        // Whoever comes first has it.
        assert!(semaphore.take() && !semaphore.take());
    }

    #[test]
    fn a_mutex_can_be_handed_on_or_not() {
        for hands_on in [false, true] {
            let mut mutex = Mutex { hands_on, ..Mutex::default() };
            assert!(mutex.take(TaskId(1)) && !mutex.take(TaskId(2)));
            mutex.waiters.push_back(TaskId(2));
            assert_eq!(mutex.release(), Some(TaskId(2)));
            assert_eq!(mutex.take(TaskId(3)), !hands_on, "a third comes in between");
            assert_eq!(mutex.take(TaskId(2)), hands_on);
        }
    }
}
