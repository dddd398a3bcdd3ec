//! State that the machine keeps of each task.

use super::config::TaskState;
use super::signals::{Restart, Signals};
use schedlab_core::{CpuSet, GroupId, SchedAttr, TaskAttr, TaskId};

/// State that is read whenever a task gets or leaves a CPU. It is small, so that it stays in the
/// cache.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// CPU time left of the current piece of work. While the task has a CPU, this is the value from
    /// when it got the CPU. For work that lasts until a given time: that time.
    pub remaining_ns: u64,
    /// Whether the current piece of work lasts until a given time.
    pub by_clock: bool,
    pub state: TaskState,
    /// Signals to handle before the task runs user code again.
    pub signals: Signals,
    /// Attributes at birth. Taken when the task is born.
    pub unborn: Option<Box<TaskAttr>>,
    /// Sleep that a signal interrupted, while [`Signals::RESTART`] is set.
    pub restart: Restart,
}

/// Further state of a task.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Its attributes. With them a call that changes nothing is recognised.
    pub attr: SchedAttr,
    /// Task that forked it.
    pub parent: Option<TaskId>,
    /// CPUs on which its owner lets it run, online or not.
    pub allowed: CpuSet,
    /// Affinity that the scheduler was last given.
    pub reported: CpuSet,
    pub group: GroupId,
}

/// Effect of a change on a task.
pub(super) enum Lifecycle<'a> {
    /// It changes the attributes at birth.
    Unborn(&'a mut TaskAttr),
    /// It goes to the scheduler.
    Alive,
    /// It has no effect.
    Dead,
}

impl Task {
    /// Returns the time at which its work is done if it runs user code from `from_ns` on without
    /// interruption.
    #[inline]
    pub fn done_ns(&self, from_ns: u64) -> u64 {
        if self.by_clock {
            self.remaining_ns.max(from_ns)
        } else {
            from_ns.saturating_add(self.remaining_ns)
        }
    }

    /// Returns the CPU time that its work needs if it has a CPU from now on.
    pub fn left_ns(&self, now_ns: u64) -> u64 {
        if self.by_clock { self.remaining_ns.saturating_sub(now_ns) } else { self.remaining_ns }
    }

    pub fn unborn(attr: TaskAttr) -> Task {
        Task {
            remaining_ns: 0,
            by_clock: false,
            state: TaskState::New,
            signals: Signals::default(),
            restart: Restart::default(),
            unborn: Some(Box::new(attr)),
        }
    }
}

impl Settings {
    pub fn of(attr: &TaskAttr, parent: Option<TaskId>) -> Settings {
        let (allowed, reported) = (attr.allowed.clone(), attr.allowed.clone());
        Settings { attr: attr.sched, parent, allowed, reported, group: attr.group }
    }
}
