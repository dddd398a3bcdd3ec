//! The state of a task, and the effect of a nice level.

use super::{Edition, ISO_PRIO, MAX_PRIO};
use schedlab_core::{CpuId, CpuSet, Policy, TaskId, define_index};

define_index! {
    /// A task of the kernel: first the migration thread of each CPU, in order, then the workload's
    /// tasks.
    pub(super) struct Pid;
}

/// One of a CPU's two array objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArrayRef {
    pub(super) cpu: CpuId,
    /// 0 or 1. Which of them is active changes with each major rotation.
    pub(super) object: u8,
}

/// A task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// The rest of the current slot, µs. Negative if the task ran on until the tick.
    pub(super) time_slice: i32,
    /// Length of a slot, µs.
    pub(super) quota: i32,
    /// The slots that it has taken in its `rotation`: bit i for the level 100 + i.
    pub(super) bitmap: u64,
    /// Its CPU's `prio_rotation` when it last got a place or was last picked.
    pub(super) rotation: u64,
    /// Time at which it was last charged, ns. Before it has run, its start time.
    pub(super) last_ran: u64,
    /// Its weight in balancing.
    pub(super) load_weight: u32,
    pub(super) cpu: CpuId,
    /// The array in which it is queued, or was last: a sleeper's array is remembered.
    pub(super) array: ArrayRef,
    /// Its level: real time 0 to 98, 100 to 139, 140 = `SCHED_IDLEPRIO`.
    pub(super) prio: u8,
    /// 120 + nice.
    pub(super) static_prio: u8,
    pub(super) rt_priority: u8,
    pub(super) policy: Policy,
    /// `TASK_RUNNING`.
    pub(super) runnable: bool,
    /// Whether it is in `array`. So is the running task, and one that has just blocked, until its
    /// CPU reschedules.
    pub(super) queued: bool,
    /// Asleep in `TASK_UNINTERRUPTIBLE`.
    pub(super) uninterruptible: bool,
    /// Whether its slice is still the one that it got at fork.
    pub(super) first_time_slice: bool,
    /// Its parent, to which the rest of its first slice is returned.
    pub(super) parent: Option<TaskId>,
    pub(super) address_space: u32,
    pub(super) allowed: CpuSet,
}

impl Task {
    /// `user prio` of its nice level: nice + 20, 0 to 39.
    #[inline]
    pub(super) fn user_prio(&self) -> usize {
        usize::from(self.static_prio - 100)
    }

    #[inline]
    pub(super) fn is_realtime(&self) -> bool {
        self.prio < ISO_PRIO
    }

    /// Returns the level that follows from its policy. A task that was ordinary before keeps its
    /// level.
    pub(super) fn normal_prio(&self) -> u8 {
        if self.policy.is_realtime() {
            99 - self.rt_priority
        } else if (100..MAX_PRIO).contains(&self.prio) {
            self.prio
        } else {
            self.static_prio
        }
    }
}

/// `rr_quota`: returns the length of one slot at a nice level, µs. SD halves it above nice 0.
pub(super) fn quota_us(edition: Edition, nice: i32, rr_interval_ms: i64) -> i32 {
    let ms = match nice {
        ..-6 => rr_interval_ms * i64::from(nice * nice) / 40,
        1.. if edition == Edition::Sd => (rr_interval_ms / 2).max(1),
        _ => rr_interval_ms,
    };
    (ms * 1000) as i32
}

/// `task_timeslice`: returns the time that a task can run in one rotation, ms: a quota for each
/// level from its own down.
pub(super) fn task_timeslice_ms(quota_us: i32, user_prio: usize) -> i32 {
    (i64::from(quota_us) * (40 - user_prio as i64) / 1000) as i32
}

/// Returns the weight of a task whose quota is known.
pub(super) fn load_weight(task: &Task, rr_interval_ms: i64) -> u32 {
    let timeslice_ms = task_timeslice_ms(task.quota, task.user_prio()) as u32;
    match task.policy {
        Policy::Fifo | Policy::RoundRobin => {
            40 * rr_interval_ms as u32 * 20 * (40 + u32::from(task.rt_priority))
        }
        Policy::Idle => timeslice_ms,
        _ => 40 * timeslice_ms,
    }
}

impl Default for Task {
    fn default() -> Self {
        Task {
            time_slice: 0,
            quota: 0,
            bitmap: 0,
            rotation: u64::MAX,
            last_ran: 0,
            load_weight: 0,
            cpu: CpuId(0),
            array: ArrayRef { cpu: CpuId(0), object: 0 },
            prio: 120,
            static_prio: 120,
            rt_priority: 0,
            policy: Policy::Other,
            runnable: false,
            queued: false,
            uninterruptible: false,
            first_time_slice: false,
            parent: None,
            address_space: 0,
            allowed: CpuSet::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn quotas_by_nice() {
        let ms = |edition, nices: &[i32], rr| -> Vec<i32> {
            nices.iter().map(|&nice| quota_us(edition, nice, rr) / 1000).collect()
        };
        assert_eq!(ms(Edition::Sd, &[-20, -10, -7, -6, 0, 1, 19], 6), [60, 15, 7, 6, 6, 3, 3]);
        assert_eq!(ms(Edition::Sd, &[-10, -7, 1, 19], 18), [45, 22, 9, 9]);
        assert_eq!(ms(Edition::Sd, &[1], 1), [1], "at least 1 ms");
        assert_eq!(ms(Edition::Rsdl, &[-20, 0, 1, 19], 6), [60, 6, 6, 6]);
    }

    #[test]
    fn weights_by_nice_and_policy() {
        let weight = |nice: i32, policy, rt_priority| {
            let task = Task {
                quota: quota_us(Edition::Sd, nice, 6),
                static_prio: (120 + nice) as u8,
                policy,
                rt_priority,
                ..Task::default()
            };
            load_weight(&task, 6)
        };
        assert_eq!([0, 19, -20].map(|nice| weight(nice, Policy::Other, 0)), [4800, 120, 96_000]);
        assert_eq!(weight(0, Policy::Batch, 0), 4800);
        assert_eq!(weight(0, Policy::Idle, 0), 120);
        assert_eq!(weight(0, Policy::RoundRobin, 50), 40 * 6 * 20 * 90);
    }
}
