//! Preemption: when the running entity gives way, at a tick and at a wakeup.

use super::Cfs;
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::calc_delta_fair;
use super::rules::{Buddies, GranRule};
use crate::classes::{Challenge, ClassId, Pid, Rqs};
use schedlab_core::{CpuId, Platform, Policy};

/// What [`wakeup_preempt_entity`](Cfs::wakeup_preempt_entity) finds, by how far the running entity
/// is ahead of the woken one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PreemptVerdict {
    /// Not at all: no preemption.
    Behind,
    /// By no more than the wakeup granularity: no preemption.
    WithinGranularity,
    /// By more: the woken entity preempts.
    Preempt,
}

impl Cfs {
    /// `check_preempt_tick`: is the turn of the running entity over?
    ///
    /// The second test compares a signed difference with an unsigned slice: on 64-bit machines an
    /// entity that is still *behind* the leftmost one passes it, at every tick, as if it were far
    /// ahead. It is then usually picked again, and its turn counts from there.
    #[inline]
    pub(super) fn check_preempt_tick(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        curr: EntityId,
    ) {
        let cpu = self.queues[q].cpu;
        let ideal = self.sched_slice(curr);
        let entity = &self.entities[curr];
        let ran = entity.sum_exec - entity.prev_sum_exec;
        if ran > ideal {
            rqs.resched_curr(platform, cpu);
            if self.rules.tick_clears_buddies {
                self.clear_buddies(curr);
            }
            return;
        }
        if !self.rules.tick_compares_leftmost
            || !self.tunables.has(Feature::WakeupPreempt)
            || ran < self.tunables.min_granularity_ns
        {
            return;
        }
        let queue = &self.queues[q];
        if queue.nr_running > 1
            && let Some(leftmost) = queue.timeline.leftmost_vruntime()
            && entity.vruntime.ahead_of(leftmost) as u64 > ideal
        {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `wakeup_gran`: by how much `curr` must be ahead of `woken` to be preempted, virtual ns.
    #[inline]
    fn wakeup_gran(&self, curr: EntityId, woken: EntityId) -> u64 {
        let limit = self.tunables.wakeup_granularity_ns;
        let [curr, woken] = [curr, woken].map(|e| &self.entities[e]);
        match self.rules.gran {
            GranRule::OfRunning => calc_delta_fair(limit, curr.load),
            GranRule::OfHeavyRunning if curr.load.weight > 1024 => {
                calc_delta_fair(limit, curr.load)
            }
            GranRule::OfHeavyRunning => limit,
            GranRule::Adaptive => {
                let mut gran = limit;
                // (True at wakeups, false inside the pick.)
                if self.queues[curr.cfs_rq].curr.is_some()
                    && self.tunables.has(Feature::AdaptiveGran)
                {
                    gran = self.adaptive_gran(curr.sum_exec - curr.prev_sum_exec, woken);
                }
                let by = if self.tunables.has(Feature::AsymGran) { woken } else { curr };
                calc_delta_fair(gran, by.load)
            }
        }
    }

    /// `adaptive_gran`: the more `ran_ns`, the time that the running entity has had, and the sooner
    /// the woken one usually wakes others, the smaller.
    #[inline]
    fn adaptive_gran(&self, ran_ns: u64, woken: &super::entity::Entity) -> u64 {
        let wanted = 2u64
            .wrapping_mul(woken.averages.avg_wakeup)
            .wrapping_mul(u64::from(self.queues[woken.cfs_rq].nr_running));
        wanted.saturating_sub(ran_ns).min(self.tunables.wakeup_granularity_ns)
    }

    /// `wakeup_preempt_entity`. Both entities are in one queue.
    #[inline]
    pub(super) fn wakeup_preempt_entity(&self, curr: EntityId, woken: EntityId) -> PreemptVerdict {
        let ahead = self.entities[curr].vruntime.ahead_of(self.entities[woken].vruntime);
        if ahead <= 0 {
            return PreemptVerdict::Behind;
        }
        // The granularity is at most some seconds times 1024.
        if ahead > self.wakeup_gran(curr, woken) as i64 {
            PreemptVerdict::Preempt
        } else {
            PreemptVerdict::WithinGranularity
        }
    }

    /// Whether a woken entity preempts the running one of the same queue.
    #[inline]
    fn preempts(&self, curr: EntityId, woken: EntityId) -> bool {
        if self.rules.gran == GranRule::OfRunning {
            // 2.6.24 compares as unsigned, and virtual time begins just below 2^64.
            let limit = self.entities[woken].vruntime + self.wakeup_gran(curr, woken);
            return limit.ns() < self.entities[curr].vruntime.ns();
        }
        self.wakeup_preempt_entity(curr, woken) == PreemptVerdict::Preempt
    }

    /// `find_matching_se`: two entities of one queue that are `a` and `b`, or groups that they are
    /// in.
    #[inline]
    fn find_matching_se(&self, mut a: EntityId, mut b: EntityId) -> (EntityId, EntityId) {
        let parent = |e: EntityId| self.entities[e].parent.expect("the root is common to all");
        while self.entities[a].cfs_rq != self.entities[b].cfs_rq {
            let [depth_a, depth_b] = [a, b].map(|e| self.entities[e].depth);
            if depth_a >= depth_b {
                a = parent(a);
            }
            if depth_b >= depth_a {
                b = parent(b);
            }
        }
        (a, b)
    }

    /// `check_preempt_wakeup`: `pid` is new on a CPU that runs a fair task. Does it preempt?
    #[inline]
    pub(super) fn check_preempt_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        let curr_pid = rqs.curr(cpu);
        let curr = self.entity_of(curr_pid);
        let q = self.entities[curr].cfs_rq;
        let many = u64::from(self.queues[q].nr_running) >= self.tunables.nr_latency;
        self.update_curr(rqs, platform, q);
        match rqs.thread(pid).class {
            ClassId::Rt | ClassId::Deadline => {
                rqs.resched_curr(platform, cpu);
                return;
            }
            ClassId::Idle => return,
            ClassId::Fair => {}
        }
        let woken = self.entity_of(pid);
        if pid == curr_pid || self.throttled_hierarchy_of(self.entities[woken].cfs_rq) {
            return;
        }
        match self.rules.buddies {
            Buddies::EveryWakeup => {
                self.set_last_buddy(curr);
                self.set_next_buddy(woken);
            }
            Buddies::Preempted
                if many
                    && challenge != Challenge::Fork
                    && self.tunables.has(Feature::NextBuddy) =>
            {
                self.set_next_buddy(woken);
            }
            Buddies::Preempted | Buddies::None => {}
        }
        if self.rules.checks_pending && rqs.resched_pending(cpu) {
            return;
        }
        let policies = [curr_pid, pid].map(|pid| rqs.thread(pid).policy);
        let sync = challenge == Challenge::Wakeup { sync: true }
            && self.tunables.has(Feature::SyncWakeups);
        let verdict =
            self.verdict_by_policy(policies).or_else(|| self.verdict_by_feature(curr, woken, sync));
        if verdict.unwrap_or_else(|| self.preempts_at_common_level(curr, woken, many)) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// Whether the policies of the running task and the woken one decide alone.
    #[inline]
    fn verdict_by_policy(&self, [running, woken]: [Policy; 2]) -> Option<bool> {
        match woken {
            Policy::Batch => Some(false),
            Policy::Idle if self.rules.idle_policy_never_preempts => Some(false),
            _ if running == Policy::Idle && self.rules.idle_policy_gives_way => Some(true),
            _ => None,
        }
    }

    /// Whether a feature decides, without a look at virtual times.
    #[inline]
    fn verdict_by_feature(&mut self, curr: EntityId, woken: EntityId, sync: bool) -> Option<bool> {
        let tunables = &self.tunables;
        let [a, b] = [curr, woken].map(|e| &self.entities[e].averages);
        let brief = |ns: u64| (ns as i64) < tunables.migration_cost_ns;
        if (tunables.has(Feature::WakeupSync) && sync)
            || (tunables.has(Feature::WakeupOverlap)
                && brief(a.avg_overlap)
                && brief(b.avg_overlap))
        {
            return Some(true);
        }
        if tunables.has(Feature::WakeupRunning) && b.avg_running < a.avg_running {
            self.set_next_buddy(woken);
            return Some(true);
        }
        (!self.tunables.has(Feature::WakeupPreempt)).then_some(false)
    }

    /// Compares virtual times where the two, or their groups, compete with each other. A task that
    /// is preempted in this way becomes `last` if the queue has many: it may run on before the
    /// leftmost.
    #[inline]
    fn preempts_at_common_level(&mut self, curr: EntityId, woken: EntityId, many: bool) -> bool {
        let (mut running, mut challenger) = self.find_matching_se(curr, woken);
        while !self.preempts(running, challenger) {
            let parents = [running, challenger].map(|e| self.entities[e].parent);
            let [Some(above_running), Some(above_challenger)] = parents else {
                return false;
            };
            if !self.rules.tries_levels_upward {
                return false;
            }
            (running, challenger) = (above_running, above_challenger);
        }
        let entity = &self.entities[running];
        if self.rules.buddies == Buddies::Preempted
            && self.tunables.has(Feature::LastBuddy)
            && many
            && entity.on_rq
            && entity.is_task()
        {
            self.set_last_buddy(running);
        }
        true
    }

    /// `check_preempt_curr` by the class of whatever runs on `cpu`, for a fair task that comes
    /// there.
    pub(super) fn check_preempt_curr_of(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        match rqs.thread(rqs.curr(cpu)).class {
            ClassId::Fair => self.check_preempt_wakeup(rqs, platform, cpu, pid, challenge),
            ClassId::Idle => rqs.resched_curr(platform, cpu),
            // The classes above never give way to a fair task.
            ClassId::Rt | ClassId::Deadline => {}
        }
    }
}
