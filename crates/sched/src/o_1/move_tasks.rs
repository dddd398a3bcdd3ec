//! 2.6.22: which tasks move when CPUs are balanced by weight.
//! ([`crate::classes::load_balance_2_6_22`] decides when, from where and how much.)
//!
//! The differences from 2.6.0: tasks count according to their slices (nice 19 has weight 6, nice 0
//! has 128). A queue's load is an average over some ticks. A task that could not be moved for too
//! long, because it was running or had just run, is pushed by the other CPU's migration thread
//! (*active balancing*).

use super::O1;
use super::task::Pid;
use crate::classes::load_balance_2_6_22::{Balanced, Domains, Moved, rules};
use schedlab_core::{CpuId, Platform, Rule};

impl Balanced for O1 {
    fn domains(&mut self) -> &mut Domains {
        &mut self.domains
    }

    fn move_tasks(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        to: CpuId,
        from: CpuId,
        max_tasks: u32,
        max_load: u64,
    ) -> Moved {
        self.pull_tasks(platform, why, from, to, max_tasks, max_load as i64)
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].curr.is_none()
    }

    fn current_may_run_on(&self, busiest: CpuId, cpu: CpuId) -> bool {
        let curr = self.rqs[busiest.index()].curr;
        // The idle task may run only where it is.
        curr.is_some_and(|curr| self.tasks.may_run_on(curr, cpu))
    }

    fn wake_migration_thread(&mut self, platform: &mut Platform, cpu: CpuId) {
        O1::wake_migration_thread(self, platform, cpu);
    }
}

impl O1 {
    /// Moves at most `max_tasks` tasks with a total weight of about `max_weight` from `busiest` to
    /// `this` CPU. Each goes to the corresponding array.
    fn pull_tasks(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        busiest: CpuId,
        this: CpuId,
        max_tasks: u32,
        max_weight: i64,
    ) -> Moved {
        let mut moved = Moved { tasks: 0, all_pinned: false };
        if max_tasks == 0 || max_weight <= 0 {
            return moved;
        }
        platform.double_lock(this, busiest);
        moved.all_pinned = true;
        let mut weight_left = max_weight;
        let best_of = |sched: &O1, cpu: CpuId| {
            let best_expired = sched.rqs[cpu.index()].best_expired_prio;
            sched.curr_prio(cpu).min(best_expired)
        };
        let mut this_best = best_of(self, this);
        let best = best_of(self, busiest);
        let mut best_seen = best == self.curr_prio(busiest);

        let (rq, own) = (&self.rqs[busiest.index()], &self.rqs[this.index()]);
        let kinds = [(rq.expired(), own.expired()), (rq.active(), own.active())];
        for (source, destination) in kinds {
            let mut from = 0;
            while let Some(prio) = self.rqs[busiest.index()].array(source).next_list(from) {
                let mut at = self.rqs[busiest.index()].array(source).tail(prio);
                while let Some(p) = at {
                    at = self.tasks[p].prev;
                    let weight = i64::from(self.tasks[p].load_weight);
                    // Too heavy, unless it is better than all tasks of this CPU. But then the best
                    // task of the other CPU must stay there if it is the only one that has been
                    // seen so far.
                    let mut skip = weight > weight_left;
                    if skip && prio < this_best {
                        skip = !best_seen && prio == best;
                    }
                    if skip || !self.can_migrate_to(p, busiest, this, &mut moved.all_pinned) {
                        best_seen |= prio == best;
                        continue;
                    }
                    self.shift_timestamp(p, busiest, this);
                    self.pull_task(platform, why, p, this, destination);
                    moved.tasks += 1;
                    weight_left -= weight;
                    if moved.tasks >= max_tasks || weight_left <= 0 {
                        return moved;
                    }
                    this_best = this_best.min(prio);
                }
                from = prio + 1;
            }
        }
        moved
    }

    /// Whether `this` CPU may take `p` from `busiest`. Clears `all_pinned` if affinity allows it.
    fn can_migrate_to(&self, p: Pid, busiest: CpuId, this: CpuId, all_pinned: &mut bool) -> bool {
        if !self.tasks.may_run_on(p, this) {
            return false;
        }
        *all_pinned = false;
        if self.is_current(p) {
            return false;
        }
        if self.domains.takes_cache_hot(this) {
            return true;
        }
        let clock = self.rqs[busiest.index()].most_recent_timestamp;
        clock.wrapping_sub(self.tasks[p].last_ran) as i64 >= self.cache_hot_time_ns as i64
    }

    /// Lets the migration thread of `cpu`, which is current there, push one task to the CPU `to`,
    /// which requested it. Now the task that was running can also be moved.
    pub(super) fn active_load_balance(&mut self, platform: &mut Platform, cpu: CpuId, to: CpuId) {
        if self.loads.nr_running(cpu) <= 1 {
            return;
        }
        // The weight of any task is within this.
        let max_weight = i64::from(self.params.rt_load_weight(100));
        self.pull_tasks(platform, rules::ACTIVE_BALANCE, cpu, to, 1, max_weight);
    }
}
