//! The runqueues: one for each CPU, each with two priority arrays.

use super::prio::MAX_PRIO;
use super::prio_array::PrioArray;
use super::releases::Balancing;
use super::task::{ArrayId, Pid};
use super::{O1, rules};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform, Question};

/// Reason for which the migration thread is to move a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MoveReason {
    /// It may no longer run there: it moves to the lowest CPU that it may use.
    Forbidden,
    /// It has called `execve(2)`, and sleeps until it has been moved to this CPU.
    Exec(CpuId),
}

/// The queue of one CPU. [`Loads`](super::loads::Loads) and
/// [`Domains`](crate::classes::load_balance_2_6_22::Domains) hold the number and the weight of its
/// tasks.
#[derive(Clone, Debug)]
pub(super) struct Runqueue {
    /// The running task, which stays queued. `None` is the idle task, which is never queued.
    pub(super) curr: Option<Pid>,
    /// Which of the two arrays is the active one.
    active: ArrayId,
    /// 2.6.22: the best static priority that has moved to expired since the last swap. `140`: none.
    pub(super) best_expired_prio: u8,
    /// Time at which the first task since the last swap used up its slice, jiffies. `0`: none has.
    pub(super) expired_timestamp: u64,
    /// 2.6.22: this queue's clock, ns: the time of its last tick or `schedule()`.
    pub(super) most_recent_timestamp: u64,
    /// Tasks that the migration thread is to move away, each with the reason.
    pub(super) migration_queue: Vec<(Pid, MoveReason)>,
    pub(super) arrays: [PrioArray; 2],
}

impl Runqueue {
    pub(super) const fn new() -> Runqueue {
        Runqueue {
            curr: None,
            active: ArrayId::Zero,
            best_expired_prio: MAX_PRIO,
            expired_timestamp: 0,
            most_recent_timestamp: 0,
            migration_queue: Vec::new(),
            arrays: [PrioArray::new(), PrioArray::new()],
        }
    }

    /// Returns the active array.
    #[inline]
    pub(super) fn active(&self) -> ArrayId {
        self.active
    }

    /// Returns the expired array.
    #[inline]
    pub(super) fn expired(&self) -> ArrayId {
        self.active.other()
    }

    #[inline]
    pub(super) fn array(&self, array: ArrayId) -> &PrioArray {
        &self.arrays[array.index()]
    }

    #[inline]
    pub(super) fn array_mut(&mut self, array: ArrayId) -> &mut PrioArray {
        &mut self.arrays[array.index()]
    }

    /// Ends the round: the two arrays swap roles.
    #[inline]
    pub(super) fn swap_arrays(&mut self) {
        self.active = self.active.other();
        self.expired_timestamp = 0;
        self.best_expired_prio = MAX_PRIO;
    }
}

impl O1 {
    /// Appends `p` to its list in array `array` of its CPU.
    #[inline]
    pub(super) fn enqueue_task(&mut self, p: Pid, array: ArrayId) {
        let cpu = self.tasks[p].cpu;
        self.rqs[cpu.index()].array_mut(array).enqueue(&mut self.tasks, p);
        self.tasks[p].array = Some(array);
    }

    /// Removes `p` from its list. It counts as running until it is queued again or
    /// [deactivated](O1::deactivate_task).
    #[inline]
    pub(super) fn dequeue_task(&mut self, p: Pid) {
        let task = &mut self.tasks[p];
        let cpu = task.cpu;
        let Some(array) = task.array.take() else {
            unreachable!("{p:?} is on no queue");
        };
        self.rqs[cpu.index()].array_mut(array).dequeue(&mut self.tasks, p);
    }

    /// Makes `p` one of the runnable tasks of its CPU. It goes to the active array, even if it was
    /// in expired before it slept. In 2.6.22 `SCHED_BATCH` tasks go to expired.
    pub(super) fn enqueue_runnable(&mut self, p: Pid) {
        let rq = &self.rqs[self.tasks[p].cpu.index()];
        let array = if self.params.version.batch && self.tasks[p].is_batch() {
            rq.expired()
        } else {
            rq.active()
        };
        self.enqueue_task(p, array);
        self.count_in(p);
    }

    /// Counts `p`, which has just been queued, as running.
    #[inline]
    pub(super) fn count_in(&mut self, p: Pid) {
        let task = &self.tasks[p];
        self.loads.add(task.cpu);
        if self.params.version.balancing == Balancing::ByWeight {
            self.domains.inc_nr_running(task.cpu, u64::from(task.load_weight));
        }
    }

    /// Removes `p` from the runnable tasks of its CPU.
    #[inline]
    pub(super) fn deactivate_task(&mut self, p: Pid) {
        let task = &self.tasks[p];
        self.loads.remove(task.cpu);
        if self.params.version.balancing == Balancing::ByWeight {
            self.domains.dec_nr_running(task.cpu, u64::from(task.load_weight));
        }
        self.dequeue_task(p);
    }

    /// Assigns `p`, which is not queued, to `cpu`.
    pub(super) fn set_task_cpu(&mut self, platform: &mut Platform, p: Pid, cpu: CpuId) {
        let from = self.tasks[p].cpu;
        if from != cpu {
            self.tasks[p].cpu = cpu;
            platform.migrated(self.tasks.task_id(p), from, cpu);
        }
    }

    /// Whether `p` is its CPU's current task (even if it has just been marked as sleeping).
    #[inline]
    pub(super) fn is_current(&self, p: Pid) -> bool {
        self.rqs[self.tasks[p].cpu.index()].curr == Some(p)
    }

    /// Returns the priority of the task that `cpu` runs. That of the idle task is worse than any.
    #[inline]
    pub(super) fn curr_prio(&self, cpu: CpuId) -> u8 {
        self.rqs[cpu.index()].curr.map_or(MAX_PRIO, |curr| self.tasks[curr].prio)
    }

    /// `TASK_PREEMPTS_CURR`: lets `p`, which has just been queued, preempt the current task if `p`
    /// is better. Equal priority is not enough.
    #[inline]
    pub(super) fn check_preempt(&mut self, platform: &mut Platform, p: Pid) {
        let task = &self.tasks[p];
        let (cpu, curr_prio) = (task.cpu, self.curr_prio(task.cpu));
        let preempts = task.prio < curr_prio;
        let rule = if curr_prio == MAX_PRIO {
            rules::CPU_IDLE
        } else if preempts {
            rules::HIGHER_PRIORITY
        } else {
            rules::NOT_HIGHER
        };
        let this = &*self;
        platform.because(Question::Preempt, cpu, rule, move |evidence| {
            this.preempt_terms(p, evidence);
        });
        if preempts {
            platform.resched(cpu);
        }
    }
}
