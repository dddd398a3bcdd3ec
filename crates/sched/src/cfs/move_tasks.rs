//! `move_tasks`: the tasks that a balancing pass takes from the busiest CPU.
//!
//! Waiting tasks move if they may run on the new CPU and are not cache hot. The most recently
//! queued come first.

use super::entity::Entity;
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::lb_env::{CpuIdleType, Pass};
use super::{Cfs, rules};
use crate::classes::{Challenge, Rqs};
use schedlab_core::{CpuId, Platform, Question, Rule};

impl Cfs {
    /// `move_tasks`: pulls up to `imbalance` of weight from `busiest`. Returns whether the balancer
    /// counts anything as moved. `all_pinned` becomes true if no task may run on the CPU that
    /// balances.
    ///
    /// Each group on `busiest` gives its part of the imbalance. **When no group exists**, 2.6.32
    /// skips the computation of a queue's weight as seen by its CPU (`h_load`), which then is 0.
    /// The part becomes hundreds of times too large, so that every movable task is pulled, and the
    /// moved weight counts as nothing, so that the pass counts as failed.
    pub(super) fn move_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pass: Pass,
        busiest: CpuId,
        imbalance: u64,
        all_pinned: &mut bool,
    ) -> bool {
        if imbalance == 0 {
            // The classes are not asked at all.
            return false;
        }
        if !self.groups.only_root() || !self.version.over_pulls {
            self.update_h_load(busiest);
        }
        let mut rest = imbalance as i64;
        for place in 0..=self.queues_on[busiest.index()].len() {
            let q = self.nth_queue_on(busiest, place);
            let queue = &self.queues[q];
            if queue.newest_task.is_none() {
                continue;
            }
            let (load, h_load) = (queue.load, queue.h_load);
            let part = rest as u64 * load / (h_load + 1);
            let moved = self.balance_tasks(rqs, platform, pass, q, part as i64, all_pinned);
            if moved == 0 {
                continue;
            }
            rest -= (moved * h_load / (load + 1)) as i64;
            if rest < 0 {
                break;
            }
        }
        imbalance as i64 != rest
    }

    /// Returns the queues of `cpu` in the balancer's order: the newest group first, the root last.
    fn nth_queue_on(&self, cpu: CpuId, place: usize) -> CfsRqId {
        self.queues_on[cpu.index()].get(place).map_or(CfsRqId::root(cpu), |&(_, q)| q)
    }

    /// `balance_tasks`: pulls tasks of one queue, up to `max` of weight. Returns the weight pulled.
    fn balance_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pass: Pass,
        q: CfsRqId,
        max: i64,
        all_pinned: &mut bool,
    ) -> u64 {
        *all_pinned = max != 0;
        let mut rest = max;
        let mut moved = 0;
        let mut next = self.queues[q].newest_task;
        let mut looks = self.tunables.nr_migrate + 1;
        while let Some(e) = next
            && rest > 0
            && looks > 0
        {
            looks -= 1;
            let entity = &self.entities[e];
            next = entity.older;
            let weight = entity.load.weight;
            if (weight >> 1) as i64 <= rest
                && self.can_migrate_task(rqs, pass.level, pass.this, e, all_pinned)
            {
                let rule = match pass.idle {
                    CpuIdleType::NotIdle => rules::PERIODIC_BUSY,
                    CpuIdleType::Idle => rules::PERIODIC_IDLE,
                    CpuIdleType::NewlyIdle => rules::NEWLY_IDLE,
                };
                self.pull_task(rqs, platform, e, pass.this, rule);
                moved += weight;
                rest -= weight as i64;
            }
        }
        moved
    }

    /// Implements `can_migrate_task`.
    fn can_migrate_task(
        &self,
        rqs: &Rqs,
        level: usize,
        this: CpuId,
        e: EntityId,
        all_pinned: &mut bool,
    ) -> bool {
        let entity = &self.entities[e];
        if self.limits.is_used() && self.throttled_lb_pair(entity.cfs_rq, this) {
            return false;
        }
        let pid = entity.task();
        if !rqs.is_allowed(pid, this) {
            return false;
        }
        *all_pinned = false;
        if rqs.is_running(pid) {
            return false;
        }
        let tries = rqs.domains.level(level).params.cache_nice_tries;
        self.balancing[level][this.index()].nr_failed > tries || !self.task_hot(rqs, e, entity)
    }

    /// `task_hot`: whether the task ran very recently, or is a buddy.
    fn task_hot(&self, rqs: &Rqs, e: EntityId, entity: &Entity) -> bool {
        let queue = &self.queues[entity.cfs_rq];
        if self.tunables.has(Feature::CacheHotBuddy)
            && rqs.nr_running[rqs.this_cpu.index()] > 0
            && (queue.next == Some(e) || queue.last == Some(e))
        {
            return true;
        }
        match self.tunables.migration_cost_ns {
            -1 => true,
            0 => false,
            cost => (rqs.clock(queue.cpu).wrapping_sub(entity.exec_start) as i64) < cost,
        }
    }

    /// `pull_task`: moves a waiting task to `this`, by `rule`.
    pub(super) fn pull_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        this: CpuId,
        rule: Rule,
    ) {
        let pid = self.entities[e].task();
        let from = rqs.cpu_of(pid);
        platform.because(Question::Migrate, this, rule, |out| {
            self.account_of_move(from, this, e, out);
        });
        platform.work.moves += 1;
        self.dequeue_task_fair(rqs, platform, from, pid);
        rqs.set_cpu(platform, pid, this);
        self.set_task_cpu(e, from, this);
        self.enqueue_task_fair(rqs, platform, this, pid, false);
        self.check_preempt_curr_of(rqs, platform, this, pid, Challenge::Other);
    }

    /// `active_load_balance`, by the migration thread of `busiest`: pushes one task to the CPU that
    /// requested it.
    pub(super) fn move_one_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, busiest: CpuId) {
        let target = rqs.rqs[busiest.index()].push_cpu;
        if rqs.nr_running[busiest.index()] <= 1 {
            return;
        }
        rqs.update_rq_clock(platform, busiest);
        rqs.update_rq_clock(platform, target);
        let level =
            rqs.domains.of(target).find(|&level| rqs.domains.level(level).share(target, busiest));
        let Some(level) = level else { return };
        for place in 0..=self.queues_on[busiest.index()].len() {
            let mut next = self.queues[self.nth_queue_on(busiest, place)].newest_task;
            while let Some(e) = next {
                if self.can_migrate_task(rqs, level, target, e, &mut false) {
                    self.pull_task(rqs, platform, e, target, rules::ACTIVE_BALANCE);
                    return;
                }
                next = self.entities[e].older;
            }
        }
    }
}
