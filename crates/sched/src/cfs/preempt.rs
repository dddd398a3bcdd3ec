//! Preemption: when the running entity gives way, at a tick and at a wakeup.

use super::entity::Entity;
use super::features::Feature;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::calc_delta_fair;
use super::releases::{Buddies, GranRule};
use super::{Cfs, rules};
use crate::classes::{Challenge, ClassId, Pid, Rqs, core_2_6};
use schedlab_core::{CpuId, Platform, Policy, Question, Rule};

/// The features that can make a wakeup preempt without comparing virtual times.
const DECIDE_ALONE: u32 =
    Feature::WakeupSync.bit() | Feature::WakeupOverlap.bit() | Feature::WakeupRunning.bit();

/// Result of [`wakeup_preempt_entity`](Cfs::wakeup_preempt_entity): the distance by which the
/// running entity is ahead of the woken one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PreemptVerdict {
    /// It is not ahead: no preemption.
    Behind,
    /// By at most the wakeup granularity: no preemption.
    WithinGranularity,
    /// By more: the woken entity preempts.
    Preempt,
}

/// Whether a rule makes the CPU of a fork reschedule.
#[inline]
fn is_of_fork(rule: Rule) -> bool {
    rule == rules::CHILD_RUNS_FIRST || rule == rules::FORK_RESCHEDULES
}

impl Cfs {
    /// `check_preempt_tick`: checks whether the slice of the running entity is over.
    ///
    /// The second test of 2.6.32 compares a signed difference with an unsigned slice. On 64-bit
    /// machines an entity that is still *behind* the leftmost one therefore passes it, at every
    /// tick, as if it were far ahead. It is then usually picked again, and its slice begins again.
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
            platform.because(Question::Preempt, cpu, rules::SLICE_OVER, |out| {
                self.account_of_tick(curr, ideal, out);
            });
            rqs.resched_curr(platform, cpu);
            if self.version.tick_clears_buddies {
                self.clear_buddies(curr);
            }
            return;
        }
        if !self.version.tick_compares_leftmost
            || !self.tunables.has(Feature::WakeupPreempt)
            || ran < self.tunables.min_granularity_ns
        {
            return;
        }
        let queue = &self.queues[q];
        if queue.nr_running > 1
            && let Some(leftmost) = queue.timeline.leftmost_vruntime()
            && let ahead = entity.vruntime.ahead_of(leftmost)
            && ahead as u64 > ideal
            && !(ahead < 0 && self.version.tick_spares_behind)
        {
            platform.because(Question::Preempt, cpu, rules::FAR_AHEAD, |out| {
                self.account_of_tick(curr, ideal, out);
            });
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `wakeup_gran`: returns the distance by which `curr` must be ahead of `woken` to be
    /// preempted, virtual ns.
    #[inline]
    pub(super) fn wakeup_gran(&self, curr: &Entity, woken: &Entity) -> u64 {
        let limit = self.tunables.wakeup_granularity_ns;
        match self.version.gran {
            GranRule::OfRunning => calc_delta_fair(limit, curr.load),
            GranRule::OfHeavyRunning if curr.load.weight > 1024 => {
                calc_delta_fair(limit, curr.load)
            }
            GranRule::OfHeavyRunning => limit,
            GranRule::OfWoken => calc_delta_fair(limit, woken.load),
            GranRule::Adaptive => {
                let queue = &self.queues[curr.cfs_rq];
                let mut gran = limit;
                // (True at wakeups, false inside the pick.)
                if queue.curr.is_some() && self.tunables.has(Feature::AdaptiveGran) {
                    // `adaptive_gran`: returns a granularity that is smaller the longer the running
                    // entity has run and the sooner the woken one usually wakes others.
                    let ran_ns = curr.sum_exec - curr.prev_sum_exec;
                    let wanted = 2u64
                        .wrapping_mul(woken.averages.avg_wakeup)
                        .wrapping_mul(u64::from(queue.nr_running));
                    gran = wanted.saturating_sub(ran_ns).min(limit);
                }
                let by = if self.tunables.has(Feature::AsymGran) { woken } else { curr };
                calc_delta_fair(gran, by.load)
            }
        }
    }

    /// Implements `wakeup_preempt_entity`. Both entities are in one queue.
    #[inline]
    pub(super) fn wakeup_preempt_entity(&self, curr: &Entity, woken: &Entity) -> PreemptVerdict {
        let ahead = curr.vruntime.ahead_of(woken.vruntime);
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

    /// Decides whether a woken entity preempts the running one of the same queue.
    #[inline]
    pub(super) fn verdict_of(&self, curr: EntityId, woken: EntityId) -> PreemptVerdict {
        let (curr, woken) = (&self.entities[curr], &self.entities[woken]);
        if self.version.gran == GranRule::OfRunning {
            // 2.6.24 compares as unsigned, and virtual time begins just below 2^64.
            let limit = woken.vruntime + self.wakeup_gran(curr, woken);
            return if limit.ns() < curr.vruntime.ns() {
                PreemptVerdict::Preempt
            } else if woken.vruntime.is_before(curr.vruntime) {
                PreemptVerdict::WithinGranularity
            } else {
                PreemptVerdict::Behind
            };
        }
        self.wakeup_preempt_entity(curr, woken)
    }

    /// `find_matching_se`: returns two entities of one queue that are `a` and `b`, or groups that
    /// contain them.
    #[inline]
    pub(super) fn find_matching_se(
        &self,
        mut a: EntityId,
        mut b: EntityId,
    ) -> (EntityId, EntityId) {
        loop {
            let (at_a, at_b) = (&self.entities[a], &self.entities[b]);
            if at_a.cfs_rq == at_b.cfs_rq {
                return (a, b);
            }
            if at_a.depth >= at_b.depth {
                a = at_a.parent.expect("all entities are below the root queue");
            }
            if at_b.depth >= at_a.depth {
                b = at_b.parent.expect("all entities are below the root queue");
            }
        }
    }

    /// `check_preempt_wakeup`: decides whether `pid`, which is new on a CPU that runs a fair task,
    /// preempts.
    #[inline]
    pub(super) fn check_preempt_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        let (preempts, rule) = self.wakeup_verdict(rqs, platform, cpu, pid, challenge);
        if preempts {
            rqs.resched_curr(platform, cpu);
        }
        if challenge == Challenge::Fork && is_of_fork(platform.rule(Question::Preempt)) {
            // The fork itself has made the CPU reschedule, and has named its rule.
            return;
        }
        platform.because(Question::Preempt, cpu, rule, |out| {
            self.account_of_wakeup(rqs, cpu, pid, out);
        });
    }

    /// Whether `pid` preempts the fair task that runs on `cpu`, and the rule of that decision.
    #[inline]
    fn wakeup_verdict(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) -> (bool, Rule) {
        let curr_pid = rqs.curr(cpu);
        let curr = self.entity_of(curr_pid);
        let &Entity { cfs_rq: q, exec_start, .. } = &self.entities[curr];
        // (Usually the enqueue has just charged the running task.)
        if exec_start != rqs.clock(cpu) || self.version.min_vruntime_on_charge_only {
            self.update_curr(rqs, platform, q);
        }
        let thread = rqs.thread(pid);
        match thread.class {
            ClassId::Rt | ClassId::Deadline => return (true, rules::CLASS_ABOVE),
            ClassId::Idle => return (false, Rule::NONE),
            ClassId::Fair => {}
        }
        let woken = self.entity_of(pid);
        if pid == curr_pid {
            return (false, rules::RUNS_ALREADY);
        }
        if self.limits.is_used() && self.throttled_hierarchy_of(self.entities[woken].cfs_rq) {
            return (false, rules::THROTTLED_GROUP);
        }
        match self.version.buddies {
            Buddies::EveryWakeup => {
                self.set_last_buddy(curr);
                self.set_next_buddy(woken);
            }
            Buddies::Preempted | Buddies::Preempting
                if self.tunables.has(Feature::NextBuddy)
                    && challenge != Challenge::Fork
                    && self.has_many(q) =>
            {
                self.set_next_buddy(woken);
            }
            Buddies::Preempted | Buddies::Preempting | Buddies::None => {}
        }
        let running = rqs.thread(curr_pid);
        if self.version.checks_pending && running.need_resched {
            return (false, rules::RESCHED_PENDING);
        }
        let verdict = self.verdict_by_policy(running.policy, thread.policy).or_else(|| {
            let sync = challenge == Challenge::Wakeup { sync: true };
            self.verdict_by_feature(curr, woken, sync)
        });
        verdict.unwrap_or_else(|| self.verdict_at_common_level(curr, woken, q, challenge))
    }

    /// Whether queue `q` has enough entities for buddies to be useful: a latency's worth.
    #[inline]
    fn has_many(&self, q: CfsRqId) -> bool {
        u64::from(self.queues[q].nr_running) >= self.tunables.nr_latency
    }

    /// Returns the decision, if it follows from the policies of the running and the woken task
    /// alone.
    #[inline]
    fn verdict_by_policy(&self, running: Policy, woken: Policy) -> Option<(bool, Rule)> {
        match woken {
            Policy::Batch => Some((false, rules::BATCH_WAITS)),
            Policy::Idle if self.version.idle_policy_never_preempts => {
                Some((false, rules::IDLE_WAITS))
            }
            _ if running == Policy::Idle && self.version.idle_policy_gives_way => {
                Some((true, rules::IDLE_YIELDS))
            }
            _ => None,
        }
    }

    /// Returns the decision, if a feature makes it without comparing virtual times.
    #[inline]
    fn verdict_by_feature(
        &mut self,
        curr: EntityId,
        woken: EntityId,
        sync: bool,
    ) -> Option<(bool, Rule)> {
        let tunables = &self.tunables;
        if tunables.has_any(DECIDE_ALONE) {
            let (a, b) = (&self.entities[curr].averages, &self.entities[woken].averages);
            let brief = |ns: u64| (ns as i64) < tunables.migration_cost_ns;
            let sync = sync && tunables.has(Feature::SyncWakeups);
            if tunables.has(Feature::WakeupSync) && sync {
                return Some((true, rules::WAKEUP_SYNC));
            }
            if tunables.has(Feature::WakeupOverlap) && brief(a.avg_overlap) && brief(b.avg_overlap)
            {
                return Some((true, rules::WAKEUP_OVERLAP));
            }
            if tunables.has(Feature::WakeupRunning) && b.avg_running < a.avg_running {
                self.set_next_buddy(woken);
                return Some((true, rules::WAKEUP_RUNNING));
            }
        }
        let off = !self.tunables.has(Feature::WakeupPreempt);
        off.then_some((false, rules::NO_WAKEUP_PREEMPT))
    }

    /// Compares virtual times where the two tasks, or their groups, compete with each other. If the
    /// queue `q` of the preempted task has many entities, the task becomes `last`, and may run
    /// again before the leftmost.
    #[inline]
    fn verdict_at_common_level(
        &mut self,
        curr: EntityId,
        woken: EntityId,
        q: CfsRqId,
        challenge: Challenge,
    ) -> (bool, Rule) {
        let (mut running, mut challenger) = self.find_matching_se(curr, woken);
        let mut rule = rules::BEYOND_GRANULARITY;
        loop {
            let verdict = self.verdict_of(running, challenger);
            if verdict == PreemptVerdict::Preempt {
                break;
            }
            let parents = (self.entities[running].parent, self.entities[challenger].parent);
            if self.version.tries_levels_upward
                && let (Some(above_running), Some(above_challenger)) = parents
            {
                (running, challenger) = (above_running, above_challenger);
                rule = rules::BEYOND_GRANULARITY_ABOVE;
                continue;
            }
            return (false, self.rule_of_waiting(challenger, verdict, challenge));
        }
        if self.version.buddies == Buddies::Preempting {
            self.set_next_buddy(challenger);
        }
        let entity = &self.entities[running];
        if matches!(self.version.buddies, Buddies::Preempted | Buddies::Preempting)
            && self.tunables.has(Feature::LastBuddy)
            && entity.on_rq
            && entity.is_task()
            && self.has_many(q)
        {
            self.set_last_buddy(running);
            rule = rules::BEYOND_GRANULARITY_LAST;
        }
        (true, rule)
    }

    /// Returns the rule by which `woken` does not preempt the running entity.
    #[inline]
    fn rule_of_waiting(
        &self,
        woken: EntityId,
        verdict: PreemptVerdict,
        challenge: Challenge,
    ) -> Rule {
        if challenge == Challenge::Fork && self.tunables.has(Feature::StartDebit) {
            rules::START_DEBIT
        } else if self.queues[self.entities[woken].cfs_rq].next == Some(woken) {
            rules::WITHIN_GRANULARITY_NEXT
        } else if verdict == PreemptVerdict::Behind {
            rules::NOT_BEHIND
        } else {
            rules::WITHIN_GRANULARITY
        }
    }

    /// Calls `check_preempt_curr` of the class of the thread that runs on `cpu`, for a fair task
    /// that arrives there.
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
            ClassId::Idle => {
                platform.by_rule(Question::Preempt, cpu, core_2_6::IDLE_GIVES_WAY);
                rqs.resched_curr(platform, cpu);
            }
            // The classes above never give way to a fair task.
            ClassId::Rt | ClassId::Deadline => {}
        }
    }
}
