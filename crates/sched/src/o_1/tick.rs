//! The tick (`scheduler_tick`): the slice of the running task shrinks, and at its end the task
//! moves to another array.

use super::O1;
use super::releases::Balancing;
use super::task::{ArrayId, Pid};
use crate::classes::load_balance_2_6_22;
use schedlab_core::{CpuId, Platform, Policy};

impl O1 {
    pub(super) fn scheduler_tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        let curr = self.rqs[cpu.index()].curr;
        let idle = curr.is_none();
        match self.params.version.balancing {
            Balancing::ByNumber => {
                if let Some(curr) = curr {
                    self.charge_tick(platform, cpu, curr);
                }
                self.rebalance_tick(platform, cpu, idle);
            }
            Balancing::ByWeight => {
                let now = platform.now_ns();
                self.rqs[cpu.index()].most_recent_timestamp = now;
                if let Some(curr) = curr {
                    self.tasks[curr].last_ran = now;
                    self.charge_tick(platform, cpu, curr);
                }
                self.domains.update_cpu_load(cpu);
                load_balance_2_6_22::rebalance(self, platform, cpu, idle);
            }
        }
    }

    /// Charges a whole jiffy to the task that runs at the tick, however short it has run.
    #[inline]
    pub(super) fn charge_tick(&mut self, platform: &mut Platform, cpu: CpuId, p: Pid) {
        let active = self.rqs[cpu.index()].active();
        let task = &mut self.tasks[p];
        if task.array != Some(active) {
            // It has expired or yielded, and has not yet been switched away.
            platform.resched(cpu);
            return;
        }
        if task.is_rt() {
            if task.policy == Policy::RoundRobin {
                self.charge_round_robin(platform, cpu, p);
            }
            return;
        }
        task.time_slice = task.time_slice.saturating_sub(1);
        if task.time_slice == 0 {
            self.slice_end(platform, cpu, p);
        } else if task.prio <= self.params.level(task).interactive_prio {
            self.split_slice(platform, cpu, p);
        }
    }

    /// Charges a `SCHED_RR` task: at the end of its slice it moves behind the others of its
    /// priority. (`SCHED_FIFO` has no slices.)
    fn charge_round_robin(&mut self, platform: &mut Platform, cpu: CpuId, p: Pid) {
        let task = &mut self.tasks[p];
        task.time_slice = task.time_slice.saturating_sub(1);
        if task.time_slice == 0 {
            task.time_slice = self.params.task_timeslice(task);
            task.first_time_slice = false;
            platform.resched(cpu);
            platform.work.requeue();
            self.move_to(p, self.rqs[cpu.index()].active());
        }
    }

    /// Handles the end of a slice. The task gets a new slice and a new priority, and goes to
    /// expired, unless it is interactive and the tasks in expired have not been waiting too long.
    ///
    /// The estimate does not yet include the time run since the task was switched in (`schedule()`
    /// charges that), so the priority lags by up to a slice.
    fn slice_end(&mut self, platform: &mut Platform, cpu: CpuId, p: Pid) {
        platform.work.requeue();
        self.dequeue_task(p);
        platform.resched(cpu);
        let task = &mut self.tasks[p];
        task.prio = self.params.effective_prio(task);
        task.time_slice = self.params.task_timeslice(task);
        task.first_time_slice = false;
        let interactive = self.params.is_interactive(task);

        let rq = &mut self.rqs[cpu.index()];
        if rq.expired_timestamp == 0 {
            // Even if it stays active.
            rq.expired_timestamp = platform.jiffies();
        }
        let array = if interactive && !self.expired_starving(platform, cpu) {
            self.rqs[cpu.index()].active()
        } else {
            let static_prio = self.tasks[p].static_prio;
            let rq = &mut self.rqs[cpu.index()];
            rq.best_expired_prio = rq.best_expired_prio.min(static_prio);
            rq.expired()
        };
        self.enqueue_task(p, array);
    }

    /// `EXPIRED_STARVING`: whether interactive tasks must wait for the end of the round like all
    /// others, because the tasks in expired have waited long enough. The more tasks are runnable,
    /// the longer that takes.
    pub(super) fn expired_starving(&self, platform: &Platform, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        if self.params.version.better_expired_starves
            && let Some(curr) = rq.curr
            && self.tasks[curr].static_prio > rq.best_expired_prio
        {
            // A task in expired does not wait for one with a worse nice value.
            return true;
        }
        let limit = self.params.starvation_limit * u64::from(self.loads.nr_running(cpu));
        rq.expired_timestamp != 0 && platform.jiffies().saturating_sub(rq.expired_timestamp) > limit
    }

    /// Splits the slices of interactive tasks, which may follow each other without end. The tasks
    /// take turns within them: at intervals (`TIMESLICE_GRANULARITY`) such a task moves behind the
    /// others of its priority.
    fn split_slice(&mut self, platform: &mut Platform, cpu: CpuId, p: Pid) {
        let task = &mut self.tasks[p];
        let granularity = self.params.timeslice_granularity(task, self.online);
        // Unsigned, as in the kernel: a slice longer than a full one (after a dead child returned
        // its rest) makes it wrap.
        let used = self.params.task_timeslice(task).wrapping_sub(task.time_slice);
        if task.time_slice < granularity || !used.is_multiple_of(granularity) {
            return;
        }
        platform.resched(cpu);
        platform.work.requeue();
        self.dequeue_task(p);
        if self.params.version.split_renews_prio {
            let task = &mut self.tasks[p];
            task.prio = self.params.effective_prio(task);
        }
        self.enqueue_task(p, self.rqs[cpu.index()].active());
    }

    /// Moves `p`, which is queued, to the tail of its list in array `array`.
    pub(super) fn move_to(&mut self, p: Pid, array: ArrayId) {
        self.dequeue_task(p);
        self.enqueue_task(p, array);
    }
}
