//! The runqueues: one a CPU, each with two priority arrays.

use super::O1;
use super::prio_array::{MAX_PRIO, PrioArray};
use super::releases::Version;
use super::task::{ArrayId, Pid, State};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform};

/// One CPU's queue. How many tasks it has, and what they weigh, stands in
/// [`Loads`](super::loads::Loads).
#[derive(Clone, Debug)]
pub(super) struct Runqueue {
    /// The running task, which stays queued; [`Pid::NONE`] is the idle task, which never is.
    pub(super) curr: Pid,
    /// Which of the two arrays is the active one.
    active: u8,
    /// 2.6.22: the best static priority that went to expired since the last swap; 140 = none.
    pub(super) best_expired_prio: u8,
    /// When the first task since the last swap used up its slice, jiffies; 0 = none has.
    pub(super) expired_timestamp: u64,
    /// 2.6.22: this queue's clock, ns: its last tick or `schedule()`.
    pub(super) most_recent_timestamp: u64,
    /// Tasks that the migration thread is to move away.
    pub(super) migration_queue: Vec<Pid>,
    pub(super) arrays: [PrioArray; 2],
}

impl Runqueue {
    pub(super) const fn new() -> Runqueue {
        Runqueue {
            curr: Pid::NONE,
            active: 0,
            best_expired_prio: MAX_PRIO,
            expired_timestamp: 0,
            most_recent_timestamp: 0,
            migration_queue: Vec::new(),
            arrays: [PrioArray::new(), PrioArray::new()],
        }
    }

    /// Index of the active array.
    #[inline]
    pub(super) fn active(&self) -> usize {
        usize::from(self.active)
    }

    /// Index of the expired array.
    #[inline]
    pub(super) fn expired(&self) -> usize {
        usize::from(self.active ^ 1)
    }

    /// The round is over: the two arrays change places.
    #[inline]
    pub(super) fn swap_arrays(&mut self) {
        self.active ^= 1;
        self.expired_timestamp = 0;
        self.best_expired_prio = MAX_PRIO;
    }
}

impl O1 {
    /// Appends `p` to its list in array `array` of its CPU.
    #[inline]
    pub(super) fn enqueue_task(&mut self, p: Pid, array: usize) {
        let cpu = self.tasks[p].cpu as usize;
        self.rqs[cpu].arrays[array].enqueue(&mut self.tasks, p);
        self.tasks[p].array = ArrayId::of(array);
    }

    /// Takes `p` out of its list. It counts as running until it is queued again or
    /// [deactivated](O1::deactivate_task).
    #[inline]
    pub(super) fn dequeue_task(&mut self, p: Pid) {
        let task = &self.tasks[p];
        let (cpu, array) = (task.cpu as usize, task.array.index());
        self.rqs[cpu].arrays[array].dequeue(&mut self.tasks, p);
        self.tasks[p].array = ArrayId::None;
    }

    /// `p` becomes one of the runnable tasks of its CPU. Where it goes: to the active array, even
    /// if it stood in expired before it slept; in 2.6.22 `SCHED_BATCH` tasks go to expired.
    pub(super) fn enqueue_runnable(&mut self, p: Pid) {
        let rq = &self.rqs[self.tasks[p].cpu as usize];
        let array = if self.rules.version == Version::V2_6_22 && self.tasks[p].is_batch() {
            rq.expired()
        } else {
            rq.active()
        };
        self.enqueue_task(p, array);
        self.count_in(p);
    }

    /// `p`, which has just been queued, counts from now on as running.
    #[inline]
    pub(super) fn count_in(&mut self, p: Pid) {
        let task = &self.tasks[p];
        self.loads.add(task.cpu as usize);
        if self.rules.version == Version::V2_6_22 {
            self.domains.inc_nr_running(CpuId(task.cpu), u64::from(task.load_weight));
        }
    }

    /// `p` is no longer one of the runnable tasks of its CPU.
    #[inline]
    pub(super) fn deactivate_task(&mut self, p: Pid) {
        let task = &self.tasks[p];
        self.loads.remove(task.cpu as usize);
        if self.rules.version == Version::V2_6_22 {
            self.domains.dec_nr_running(CpuId(task.cpu), u64::from(task.load_weight));
        }
        self.dequeue_task(p);
    }

    /// `p`, which is not queued, belongs to `cpu` from now on.
    pub(super) fn set_task_cpu(&mut self, platform: &mut Platform, p: Pid, cpu: u32) {
        let from = self.tasks[p].cpu;
        if from != cpu {
            self.tasks[p].cpu = cpu;
            platform.migrated(self.tasks.task_id(p), CpuId(from), CpuId(cpu));
        }
    }

    /// Whether `p` is its CPU's current task (even if it has just been marked as sleeping).
    #[inline]
    pub(super) fn is_current(&self, p: Pid) -> bool {
        self.rqs[self.tasks[p].cpu as usize].curr == p
    }

    /// The priority of what `cpu` runs; the idle task is worse than any.
    #[inline]
    pub(super) fn curr_prio(&self, cpu: u32) -> u8 {
        match self.rqs[cpu as usize].curr {
            Pid::NONE => MAX_PRIO,
            curr => self.tasks[curr].prio,
        }
    }

    /// `TASK_PREEMPTS_CURR`: `p`, just queued, gets its CPU if it is better than what runs there;
    /// equal is not enough.
    #[inline]
    pub(super) fn check_preempt(&mut self, platform: &mut Platform, p: Pid) {
        let task = &self.tasks[p];
        if task.prio < self.curr_prio(task.cpu) {
            platform.resched(CpuId(task.cpu));
        }
    }

    /// Checks the books of one queue.
    pub(super) fn audit_queue(&self, cpu: usize) -> Result<(), String> {
        let rq = &self.rqs[cpu];
        let (mut running, mut weight) = (0, 0);
        let mut curr_found = rq.curr == Pid::NONE;
        for (index, array) in rq.arrays.iter().enumerate() {
            array
                .audit(&self.tasks, |p, prio| {
                    let task = &self.tasks[p];
                    let here = task.cpu as usize == cpu && task.array == ArrayId::of(index);
                    if !here || task.prio != prio {
                        return Err(alloc::format!(
                            "list {prio} of array {index} holds {p:?}: {task:?}"
                        ));
                    }
                    if task.state != State::Running && rq.curr != p {
                        return Err(alloc::format!("{p:?} is queued and {:?}", task.state));
                    }
                    curr_found |= rq.curr == p;
                    running += 1;
                    weight += u64::from(task.load_weight);
                    Ok(())
                })
                .map_err(|error| alloc::format!("CPU {cpu}: {error}"))?;
        }
        let counted = self.loads.nr_running(cpu);
        if running != counted {
            return Err(alloc::format!("CPU {cpu}: {running} tasks are queued, counted {counted}"));
        }
        let load = self.domains.load(CpuId(cpu as u32));
        if self.rules.version == Version::V2_6_22
            && (running, weight) != (load.nr_running(), load.raw_weighted_load())
        {
            return Err(alloc::format!(
                "CPU {cpu}: {running} tasks of weight {weight} are queued, counted {load:?}"
            ));
        }
        if !curr_found {
            return Err(alloc::format!("CPU {cpu}: its current task {:?} is not queued", rq.curr));
        }
        Ok(())
    }
}
