//! Counting semaphores. A post wakes the task that has waited longest.

use std::collections::VecDeque;

/// A counting semaphore, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemaphoreId(pub u32);

/// How a post is passed on, and what calls cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SemaphoreKind {
    /// The woken task must compete for the post with other tasks. Every call enters the kernel and
    /// costs a `futex` call.
    #[default]
    Syscall,
    /// The post goes to the task that has waited longest. A call that wakes no task, or does not
    /// have to wait, stays in user space (`try_lock`). Others cost a `futex` call.
    Handed,
}

/// A counting semaphore.
#[derive(Clone, Debug, Default)]
pub(super) struct Semaphore {
    pub kind: SemaphoreKind,
    pub count: u64,
    /// Waiting tasks, the one that has waited longest first.
    pub waiters: VecDeque<u32>,
}

impl Semaphore {
    /// Takes one, if possible.
    pub fn take(&mut self) -> bool {
        let available = self.count > 0;
        self.count -= u64::from(available);
        available
    }

    /// Adds one, or hands it to the task that has waited longest. Returns the task to wake.
    pub fn post(&mut self) -> Option<u32> {
        let first = self.waiters.pop_front();
        if self.kind == SemaphoreKind::Syscall || first.is_none() {
            self.count += 1;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_wakes_the_one_that_has_waited_longest() {
        let mut semaphore = Semaphore { count: 1, ..Semaphore::default() };
        assert!(semaphore.take() && !semaphore.take());
        semaphore.waiters.extend([3, 1]);
        assert_eq!(semaphore.post(), Some(3));
        // The first task to come takes it.
        assert!(semaphore.take() && !semaphore.take());
    }

    #[test]
    fn a_post_can_be_handed_over() {
        let mut semaphore = Semaphore { kind: SemaphoreKind::Handed, ..Semaphore::default() };
        semaphore.waiters.extend([3]);
        assert_eq!((semaphore.post(), semaphore.take()), (Some(3), false));
        assert_eq!((semaphore.post(), semaphore.take()), (None, true));
    }
}
