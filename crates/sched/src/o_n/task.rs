//! The state of a task.

use super::Version;
use schedlab_core::{CpuId, CpuSet, Policy};

/// Goodness of real-time tasks, without their priority.
pub(super) const REALTIME_BASE: i32 = 1000;

/// State of a task: the fields that are read often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Ticks left in this epoch, at least 0.
    pub(super) counter: i32,
    /// The CPU on which it runs, or ran last.
    pub(super) processor: CpuId,
    /// Its address space.
    pub(super) mm: u32,
    /// -20..19.
    pub(super) nice: i8,
    /// 1..99 for FIFO and RR, else 0.
    pub(super) rt_priority: u8,
    pub(super) policy: Policy,
    pub(super) state: State,
    /// It has yielded (the bit `SCHED_YIELD`), and its CPU has not switched away from it since.
    pub(super) yielded: bool,
    /// Some CPUs are forbidden to it.
    pub(super) bound: bool,
    /// It is the current task of its `processor` (the kernel's `cpus_runnable`).
    pub(super) on_cpu: bool,
    /// It has been on a CPU.
    pub(super) has_run: bool,
    /// Its `processor` is known to the kernel. 2.2's forked children have none until they run.
    pub(super) placed: bool,
}

/// State of a task: the other fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// `cpus_allowed`.
    pub(super) allowed: CpuSet,
    /// Its index in the task list.
    pub(super) list_index: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Runnable or running.
    Running,
    Asleep,
    /// Dead, but in the task list until its parent reaps it.
    Zombie,
    /// Not yet born, or reaped.
    Gone,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            counter: 0,
            processor: CpuId(0),
            mm: 0,
            nice: 0,
            rt_priority: 0,
            policy: Policy::Other,
            state: State::Gone,
            yielded: false,
            bound: false,
            on_cpu: false,
            has_run: false,
            placed: true,
        }
    }
}

impl Task {
    /// Returns the part of its goodness that is the same on all CPUs.
    #[inline]
    pub(super) fn weight(&self, version: &Version) -> i32 {
        if self.yielded {
            version.yielded_goodness
        } else if self.policy.is_realtime() {
            REALTIME_BASE + i32::from(self.rt_priority)
        } else if self.counter == 0 {
            0
        } else {
            self.counter + 20 - i32::from(self.nice)
        }
    }
}
