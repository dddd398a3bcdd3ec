//! Load balancing: which tasks are moved.

use super::class::Fair;
use super::enqueue::{Dequeue, Enqueue};
use super::entity::NONE;
use super::load_balance::{Migrate, Occasion, Pass};
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Policy};

impl Fair {
    /// `detach_tasks`, `attach_tasks`: moves what may be moved from `source`, those first that have
    /// been there for longest. Whether anything was.
    pub(super) fn move_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        source: CpuId,
        pass: &mut Pass,
    ) -> bool {
        let mut taken = core::mem::take(&mut self.balance.taken);
        taken.clear();
        let looks = self.balance.nr_migrate.min(rqs.nr_running[source.index()]);
        for _ in 0..looks {
            if pass.why != Occasion::NotIdle && rqs.nr_running[source.index()] <= 1 {
                break;
            }
            let oldest = self.balance.cpus[source.index()].oldest;
            if oldest == NONE {
                break;
            }
            let task = Pid(oldest);
            let amount = self.can_migrate(rqs, platform, task, source, pass);
            let Some(amount) = amount.and_then(|()| self.amount(platform, task, pass)) else {
                self.list_remove(source, task);
                self.list_add(source, task);
                continue;
            };
            pass.imbalance -= amount;
            self.detach_task(rqs, platform, task, pass.here);
            taken.push(task);
            if pass.why == Occasion::NewlyIdle || pass.imbalance <= 0 {
                break;
            }
        }
        let moved = !taken.is_empty();
        while let Some(task) = taken.pop() {
            self.attach_task(rqs, platform, task, pass.here);
        }
        self.balance.taken = taken;
        moved
    }

    /// By how much moving `task` evens things out. None: by too much; the more attempts have failed
    /// the less that counts.
    fn amount(&mut self, platform: &Platform, task: Pid, pass: &Pass) -> Option<i64> {
        let amount = match pass.kind {
            Migrate::Task => return Some(1),
            Migrate::Load => self.task_h_load(platform.jiffies(), task).max(1),
            Migrate::Util => self.task_util(task),
        };
        let failures = self.balance.failures(pass.here, pass.level).min(63);
        ((amount >> failures) as i64 <= pass.imbalance).then_some(amount as i64)
    }

    /// `can_migrate_task`: some if it may be moved.
    fn can_migrate(
        &mut self,
        rqs: &Rqs,
        platform: &Platform,
        task: Pid,
        source: CpuId,
        pass: &mut Pass,
    ) -> Option<()> {
        let here = pass.here;
        let failures = self.balance.failures(here, pass.level);
        if self.is_throttled_pair(task, here)
            || (pass.kind != Migrate::Load && self.is_delayed(task))
            || (failures == 0 && self.is_ineligible_beside_others(task, here))
        {
            return None;
        }
        if !rqs.is_allowed(task, here) {
            pass.some_pinned = true;
            return None;
        }
        pass.all_pinned = false;
        let params = &rqs.domains.level(pass.level).params;
        // Threads of a core have the same caches.
        let may_be_hot = failures <= params.cache_nice_tries && !params.share_cpupower;
        let stays = rqs.curr(source) == task
            || (may_be_hot && self.is_cache_hot(rqs, platform, task, here));
        (!stays).then_some(())
    }

    /// 6.18: one that has had too much where it is would be put behind those that are there
    /// already.
    fn is_ineligible_beside_others(&self, task: Pid, target: CpuId) -> bool {
        if !self.version.balance_asks_eligibility() || !self.features.place_lag {
            return false;
        }
        let others = match self.groups[self.tasks[task.index()].group as usize].queue_on(target) {
            NONE => 0,
            q => self.queues[q as usize].nr_queued,
        };
        let e = self.se_of(task);
        others > 0
            && !self.queues[self.queue_of(e) as usize]
                .eligible(&self.se, self.se[e as usize].vruntime)
    }

    /// `task_hot`.
    fn is_cache_hot(&self, rqs: &Rqs, platform: &Platform, task: Pid, target: CpuId) -> bool {
        if rqs.thread(task).policy == Policy::Idle {
            return false;
        }
        let e = self.se_of(task);
        if rqs.nr_running[target.index()] > 0 && self.queues[self.queue_of(e) as usize].next == e {
            return true;
        }
        let ago = platform.now_ns() - self.info[e as usize].exec_start;
        ago < self.balance.migration_cost_ns
    }

    /// Takes `task` off its CPU; it belongs to `to` from now on.
    pub(super) fn detach_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        to: CpuId,
    ) {
        platform.work.moves += 1;
        self.dequeue_task(rqs, platform, task, Dequeue { migrate: true, ..Dequeue::default() });
        self.set_task_cpu(rqs, platform, task, to, false);
    }

    /// Queues `task`, which has come to `here`.
    pub(super) fn attach_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        here: CpuId,
    ) {
        self.enqueue_task(rqs, platform, task, Enqueue::default());
        self.check_preempt(rqs, platform, here, task, false);
    }

    /// `active_load_balance_cpu_stop`: the stopper of `source` runs, and pushes one of its tasks
    /// away.
    pub(super) fn active_load_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        source: CpuId,
    ) {
        let here = rqs.rqs[source.index()].push_cpu;
        if rqs.nr_running[source.index()] <= 1 {
            return;
        }
        // The smallest domain that has both.
        let Some(level) =
            rqs.domains.of(here).find(|&level| rqs.domains.level(level).share(here, source))
        else {
            return;
        };
        let failures = self.balance.failures(here, level);
        let mut task = self.balance.cpus[source.index()].oldest;
        while task != NONE {
            let pid = Pid(task);
            if rqs.is_allowed(pid, here)
                && !self.is_throttled_pair(pid, here)
                && (failures > 0 || !self.is_ineligible_beside_others(pid, here))
            {
                self.detach_task(rqs, platform, pid, here);
                self.push_succeeded(here, level);
                self.attach_task(rqs, platform, pid, here);
                return;
            }
            task = self.tasks[task as usize].newer;
        }
    }
}
