//! Wait queues: conditions, latches and suspended tasks.

use std::collections::VecDeque;

/// A condition variable, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConditionId(pub u32);

/// A latch, by number: closed at first, it is opened once and lets all tasks through from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatchId(pub u32);

/// A name under which tasks are suspended and resumed, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspensionId(pub u32);

impl SuspensionId {
    /// Stands for no name.
    pub const NONE: SuspensionId = SuspensionId(u32::MAX);
}

/// A condition variable: the waiting tasks, the longest-waiting first.
pub(super) type Condition = VecDeque<u32>;

/// A latch.
#[derive(Clone, Debug, Default)]
pub(super) struct Latch {
    pub open: bool,
    /// Waiting tasks. The last was queued last.
    pub waiters: Vec<u32>,
}

/// A task that was suspended. It is still suspended if its ticket is the same. A task that was
/// resumed under its other name stays in the queue until it reaches the front or the queue is
/// cleaned up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub task: u32,
    pub ticket: u64,
}

/// Tasks that are suspended under a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspended(VecDeque<Sleeper>);

impl Suspended {
    /// Queues `sleeper`, one of `tasks` tasks.
    pub fn queue(&mut self, sleeper: Sleeper, tasks: usize, is_asleep: impl Fn(Sleeper) -> bool) {
        // A full queue that is longer than the number of tasks holds some that have been resumed
        // under their other names.
        if self.0.len() > tasks && self.0.len() == self.0.capacity() {
            self.0.retain(|&sleeper| is_asleep(sleeper));
        }
        self.0.push_back(sleeper);
    }

    /// Removes and returns the task that has been suspended longest.
    pub fn pop(&mut self, is_asleep: impl Fn(Sleeper) -> bool) -> Option<u32> {
        while let Some(sleeper) = self.0.pop_front() {
            if is_asleep(sleeper) {
                return Some(sleeper.task);
            }
        }
        None
    }

    /// Whether any task is suspended.
    pub fn has_sleepers(&self, is_asleep: impl Fn(Sleeper) -> bool) -> bool {
        self.0.iter().any(|&sleeper| is_asleep(sleeper))
    }
}
