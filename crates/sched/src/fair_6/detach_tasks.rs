//! Load balancing: which tasks are moved.

use super::class::Fair;
use super::flags::{Attach, DequeueFlags, EnqueueFlags};
use super::lb_env::{CpuIdleType, LbEnv, MigrationType};
use super::pick_rule::PickRule;
use super::rule_state::{FairTunables as _, FairVersion as _};
use super::rules;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Policy, Question};

/// `SCHED_NR_MIGRATE_BREAK`: looks after which the kernel's search pauses.
const LOOKS_TO_A_PAUSE: u32 = 32;
/// The load below which tasks are not moved, if there is a limit (`LB_MIN`).
const LEAST_LOAD: u64 = 16;

impl<R: PickRule> Fair<R> {
    /// `detach_tasks`, `attach_tasks`: moves what may be moved from `source`, starting with the
    /// tasks that have been on its list for longest. Returns whether any task moved.
    pub(super) fn move_tasks(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        source: CpuId,
        env: &mut LbEnv,
    ) -> bool {
        let mut taken = core::mem::take(&mut self.balance.taken);
        taken.clear();
        if env.imbalance <= 0 {
            // A negative number of tasks (between nodes, up to 6.1), or nothing (up to 4.18).
            env.all_pinned = self.version.searches_without_amount();
            return false;
        }
        let tasks = rqs.nr_running[source.index()];
        let most = self.tunables.balancing().nr_migrate.min(tasks);
        let mut looks = 0;
        while looks < most || (env.all_pinned && self.looks_further(looks, tasks)) {
            looks += 1;
            if env.why != CpuIdleType::NotIdle && rqs.nr_running[source.index()] <= 1 {
                break;
            }
            let from_head = self.version.moves_from_the_head();
            let next = match from_head {
                true => self.cfs_tasks.newest(source),
                false => self.cfs_tasks.oldest(source),
            };
            let Some(e) = next else {
                break;
            };
            let Some(task) = self.info[e].task else {
                break;
            };
            let amount = self.can_migrate(rqs, platform, task, source, env);
            let Some(amount) = amount.and_then(|()| self.amount(platform, task, env)) else {
                match from_head {
                    true => self.cfs_tasks.to_tail(source, e),
                    false => self.cfs_tasks.to_head(source, e),
                }
                continue;
            };
            self.pulls(platform, rqs, source, env);
            env.imbalance -= amount;
            self.detach(rqs, platform, task, env.dst);
            taken.push(task);
            let stops = env.why == CpuIdleType::NewlyIdle && self.preemption.preempts_kernel();
            if stops || env.imbalance <= 0 {
                break;
            }
        }
        let moved = !taken.is_empty();
        while let Some(task) = taken.pop() {
            self.attach(rqs, platform, task, env.dst);
        }
        self.balance.taken = taken;
        moved
    }

    /// Whether a search that has found no movable task yet goes on after `looks` looks at a CPU
    /// with this number of `tasks`. The kernel pauses after every 32 looks, and gives up then if
    /// there are no more tasks than that.
    #[cold]
    fn looks_further(&self, looks: u32, tasks: u32) -> bool {
        self.version.looks_until_movable()
            && (!looks.is_multiple_of(LOOKS_TO_A_PAUSE) || looks < tasks)
    }

    /// The amount by which moving `task` reduces the imbalance. `None`: it would overshoot. The
    /// more attempts have failed, the larger an overshoot is accepted.
    fn amount(&mut self, platform: &Platform, task: Pid, env: &LbEnv) -> Option<i64> {
        let amount = match env.kind {
            MigrationType::Task => return Some(1),
            MigrationType::Load => {
                let least = u64::from(!self.version.moves_weightless_tasks());
                self.task_h_load(platform.jiffies(), task).max(least)
            }
            MigrationType::Util => self.task_util(task),
        };
        if self.version.balances_by_load() {
            if self.tunables.lb_min()
                && amount < LEAST_LOAD
                && self.balance.failures(env.here, env.level) == 0
            {
                return None;
            }
            let amount = amount as i64;
            return (amount / 2 <= env.imbalance).then_some(amount);
        }
        if env.kind == MigrationType::Util && self.version.never_moves_too_much_util() {
            return (amount as i64 <= env.imbalance).then_some(amount as i64);
        }
        let failures = self.balance.failures(env.here, env.level).min(63);
        ((amount >> failures) as i64 <= env.imbalance).then_some(amount as i64)
    }

    /// `can_migrate_task`: `Some` if `task` may be moved.
    fn can_migrate(
        &mut self,
        rqs: &Rqs,
        platform: &Platform,
        task: Pid,
        source: CpuId,
        env: &mut LbEnv,
    ) -> Option<()> {
        let here = env.dst;
        let failures = self.balance.failures(env.here, env.level);
        if self.is_throttled_pair(task, here)
            || (env.kind != MigrationType::Load
                && self.is_delayed_task(task)
                && !self.version.moves_delayed_tasks())
            || (failures == 0 && R::is_ineligible_beside_others(self, task, here))
        {
            return None;
        }
        if !rqs.is_allowed(task, here) {
            env.some_pinned = true;
            if env.why != CpuIdleType::NewlyIdle && env.new_dst.is_none() {
                env.new_dst = self.other_destination(rqs, task, env);
            }
            return None;
        }
        env.all_pinned = false;
        let params = &rqs.domains.level(env.level).params;
        // The threads of a core share their caches.
        let may_be_hot = failures <= params.cache_nice_tries
            && !(params.share_cpupower && self.version.cools_between_threads());
        let stays = rqs.curr(source) == task
            || (may_be_hot && self.is_cache_hot(rqs, platform, task, here));
        (!stays).then_some(())
    }

    /// The first CPU of the destination's group that is still part of the pass and allowed to
    /// `task`.
    #[cold]
    fn other_destination(&self, rqs: &Rqs, task: Pid, env: &LbEnv) -> Option<CpuId> {
        let level = rqs.domains.level(env.level);
        let mut group = level.span(env.here).balancers(level.group_of(env.here)).iter().copied();
        group.find(|&cpu| !self.balance.dropped[cpu.index()] && rqs.is_allowed(task, cpu))
    }

    /// `task_hot`.
    fn is_cache_hot(&self, rqs: &Rqs, platform: &Platform, task: Pid, target: CpuId) -> bool {
        if rqs.thread(task).policy == Policy::Idle {
            return false;
        }
        let e = self.se_of(task);
        if rqs.nr_running[target.index()] > 0 && R::is_buddy(self, e) {
            return true;
        }
        let ago = platform.now_ns() + self.clock_ns - self.info[e].exec_start;
        ago < self.tunables.balancing().migration_cost_ns
    }

    /// Takes `task` off its CPU. It belongs to `to` from now on.
    pub(super) fn detach(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid, to: CpuId) {
        platform.work.moves += 1;
        self.dequeue(rqs, platform, task, DequeueFlags::MIGRATE);
        if self.version.movers_leave_like_sleepers() {
            let e = self.se_of(task);
            self.remove_load_avg(e);
        } else if self.version.attaches_outside_queueing() && self.tracks_load() {
            // `detach_entity_cfs_rq`
            let (now_ns, e) = (platform.now_ns(), self.se_of(task));
            self.update_load_avg(now_ns, e, Attach::Detach);
            self.propagate_upward(now_ns, e);
        }
        self.move_to_cpu(rqs, platform, task, to, false);
    }

    /// Queues `task`, which has moved to `here`.
    pub(super) fn attach(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        here: CpuId,
    ) {
        self.enqueue(rqs, platform, task, EnqueueFlags::MIGRATE);
        self.check_preempt(rqs, platform, here, task, false);
    }

    /// `active_load_balance_cpu_stop`: the stopper thread of `source` runs and pushes one of its
    /// tasks away.
    pub(super) fn push_running_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        source: CpuId,
    ) {
        let here = rqs.rqs[source.index()].push_cpu;
        if rqs.nr_running[source.index()] <= 1 {
            return;
        }
        // The smallest domain that contains both.
        let Some(level) =
            rqs.domains.of(here).find(|&level| rqs.domains.level(level).share(here, source))
        else {
            return;
        };
        let failures = self.balance.failures(here, level);
        let from_head = self.version.moves_from_the_head();
        let mut next = match from_head {
            true => self.cfs_tasks.newest(source),
            false => self.cfs_tasks.oldest(source),
        };
        while let Some(e) = next
            && let Some(pid) = self.info[e].task
        {
            let may = match self.version.push_respects_heat() {
                true => {
                    let mut env = LbEnv::new(here, level, CpuIdleType::Idle);
                    self.can_migrate(rqs, platform, pid, source, &mut env).is_some()
                }
                false => true,
            };
            if may
                && rqs.is_allowed(pid, here)
                && !self.is_throttled_pair(pid, here)
                && (failures > 0 || !R::is_ineligible_beside_others(self, pid, here))
            {
                platform.by_rule(Question::Migrate, here, rules::ACTIVE_BALANCE);
                self.detach(rqs, platform, pid, here);
                self.push_succeeded(here, level);
                self.attach(rqs, platform, pid, here);
                return;
            }
            next = match from_head {
                true => self.cfs_tasks.older(e),
                false => self.cfs_tasks.newer(e),
            };
        }
    }
}
