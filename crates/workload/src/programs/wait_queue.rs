//! Wait queues: conditions, latches and suspended tasks.

use super::task::{Blocked, Task};
use std::collections::VecDeque;

/// A condition variable, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConditionId(pub u32);

/// A latch, by number: closed at first, it is opened once and lets everybody through from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatchId(pub u32);

/// A name under which tasks are suspended and resumed, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspensionId(pub u32);

impl SuspensionId {
    /// No name.
    pub const NONE: SuspensionId = SuspensionId(u32::MAX);
}

/// A condition variable: who waits, the longest-waiting first.
pub(super) type Condition = VecDeque<u32>;

/// A latch.
#[derive(Clone, Debug, Default)]
pub(super) struct Latch {
    pub open: bool,
    /// Who waits; the last was queued last.
    pub waiters: Vec<u32>,
}

/// A task that was suspended. It is still, if it has the same ticket: one that was resumed under
/// its other name stays in the queue until it comes to the front or the queue is cleared up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub task: u32,
    pub ticket: u64,
}

impl Sleeper {
    /// Whether it is still suspended as it was when it was queued.
    pub fn is_asleep(self, tasks: &[Task]) -> bool {
        let task = &tasks[self.task as usize];
        task.blocked == Blocked::Suspended && task.ticket == self.ticket
    }
}

/// Who is suspended under a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspended(VecDeque<Sleeper>);

impl Suspended {
    pub fn queue(&mut self, tasks: &[Task], sleeper: Sleeper) {
        // More than there are tasks, and the queue is full: so some have been resumed under their
        // other names.
        if self.0.len() > tasks.len() && self.0.len() == self.0.capacity() {
            self.0.retain(|sleeper| sleeper.is_asleep(tasks));
        }
        self.0.push_back(sleeper);
    }

    /// The longest-suspended task, which is taken out.
    pub fn pop(&mut self, tasks: &[Task]) -> Option<u32> {
        while let Some(sleeper) = self.0.pop_front() {
            if sleeper.is_asleep(tasks) {
                return Some(sleeper.task);
            }
        }
        None
    }

    /// Whether anybody is suspended.
    pub fn has_sleepers(&self, tasks: &[Task]) -> bool {
        self.0.iter().any(|sleeper| sleeper.is_asleep(tasks))
    }
}
