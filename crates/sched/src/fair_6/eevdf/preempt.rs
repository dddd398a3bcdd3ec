//! Preemption: protection of the running entity, wakeup preemption, yielding.

use super::EarliestDeadline;
use super::rules;
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::flags::DequeueFlags;
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::rule_state::FairVersion as _;
use crate::fair_6::rules as fair_rules;
use schedlab_core::{Platform, Policy, Question, Rule};

impl Fair<EarliestDeadline> {
    // ---- protection ----

    /// Protects `e`, which is about to run, from preemption before its request is served (6.18: or
    /// before the shortest request of the others would be).
    #[inline]
    pub(super) fn set_protection(&mut self, q: CfsRqId, e: EntityId) {
        if !self.version.protects_until() {
            let entity = &mut self.se[e];
            entity.set_vprot(entity.deadline);
            return;
        }
        let others = if self.tunables.runs_to_parity() {
            self.cfs_rqs[q].min_slice_waiting(&self.se)
        } else {
            self.tunables.base_slice_unscaled
        };
        let entity = &self.se[e];
        let mut until = entity.deadline;
        if others < entity.slice {
            let until_ineligible = self.version.has_one_tree() && self.features().preempt_short;
            until = until.earlier(match until_ineligible {
                true => self.cfs_rqs[q].first_ineligible(),
                false => entity.vruntime.plus(entity.vt(u64::from(others))),
            });
        }
        self.se[e].set_vprot(until);
    }

    /// Whether the running `e` is protected.
    #[inline]
    pub(super) fn is_protected(&self, e: EntityId) -> bool {
        let entity = &self.se[e];
        if self.version.protects_until() {
            entity.vruntime.is_before(entity.vprot())
        } else {
            entity.vprot() == entity.deadline
        }
    }

    /// Ends the protection of the running `e`.
    pub(super) fn cancel_protection(&mut self, e: EntityId) {
        if self.is_protected(e) {
            let until_now = self.version.protects_until();
            let entity = &mut self.se[e];
            entity.set_vprot(if until_now { entity.vruntime } else { entity.deadline.plus(1) });
        }
    }

    /// Whether protections count. 6.18 also protects without `RUN_TO_PARITY`, but only for a
    /// shorter time.
    #[inline]
    pub(super) fn protection_counts(&self) -> bool {
        self.features().run_to_parity || self.version.protects_until()
    }

    // ---- wakeup preemption ----

    /// `check_preempt_wakeup_fair`: `task` has become runnable on a CPU where `curr` runs, both
    /// fair.
    pub(super) fn check_preempt_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        let cpu = rqs.cpu_of(curr);
        let by_rule = |platform: &mut Platform, rule| {
            platform.by_rule(Question::Preempt, cpu, rule);
        };
        if curr == task || rqs.resched_pending(cpu) {
            return by_rule(platform, fair_rules::RESCHED_PENDING);
        }
        if !self.features().wakeup_preemption {
            return by_rule(platform, rules::NEVER_PREEMPTS);
        }
        if self.is_throttled_task(task) {
            return by_rule(platform, fair_rules::THROTTLED);
        }
        if self.features().next_buddy && !fork && !self.is_delayed_task(task) {
            self.set_next_buddy(Some(self.se_of(task)));
        }
        let (c, p) = self.find_matching(self.se_of(curr), self.se_of(task));
        let mut idle = [c, p].map(|e| self.info[e].idle);
        if self.version.idle_tasks_give_way_first() {
            if [curr, task].map(|task| rqs.thread(task).policy == Policy::Idle) == [true, false] {
                by_rule(platform, rules::IDLE_GIVES_WAY);
                return self.resched_curr_lazy(rqs, platform, cpu);
            }
            if rqs.thread(task).policy != Policy::Other {
                return by_rule(platform, rules::NEVER_PREEMPTS);
            }
            idle = [c, p].map(|e| self.info[e].idle && !self.is_task(e));
        }
        if idle == [true, false] {
            if self.version.idle_loses_protection() {
                self.cancel_protection(c);
            }
            by_rule(platform, rules::IDLE_GIVES_WAY);
            return self.resched_curr_lazy(rqs, platform, cpu);
        }
        if idle == [false, true] || rqs.thread(task).policy != Policy::Other {
            return by_rule(platform, rules::NEVER_PREEMPTS);
        }
        let q = self.cfs_rq_of(c);
        self.update_curr(rqs, platform, q);
        let short = self.features().preempt_short && self.se[p].slice < self.se[c].slice;
        let waits = !short && (fork || self.se[p].sched_delayed);
        if waits && self.version.only_short_children_preempt() {
            return by_rule(platform, rules::NO_SHORTER);
        }
        let (wins, picked_by) = if self.version.protects_until() {
            self.ends_protected_time(rqs, platform, [c, p], short)
        } else {
            if short {
                self.may_spoil_mark(q, [c, p]);
            }
            self.would_pick(q, p, true)
        };
        let rule = self.rule_of_preemption(q, [c, p], short, picked_by, wins);
        platform.because(Question::Preempt, cpu, rule, |evidence| {
            self.account_of_preemption(q, [c, p], evidence);
        });
        if wins {
            self.resched_curr_lazy(rqs, platform, cpu);
        }
    }

    /// 6.12, 6.14: the woken `p`, whose slice is shorter, ends the protection of `c` if `p` could
    /// be picked before it.
    fn may_spoil_mark(&mut self, q: CfsRqId, [c, p]: [EntityId; 2]) {
        let sums = self.cfs_rqs[q].sums(&self.se);
        let [curr, woken] = [c, p].map(|e| &self.se[e]);
        if sums.eligible(woken.vruntime)
            && (woken.deadline.is_before(curr.deadline) || !sums.eligible(curr.vruntime))
        {
            self.cancel_protection(c);
        }
    }

    /// From 6.18 on: whether the woken `p` would be picked, in spite of the protection of `c` if
    /// the slice of `p` is shorter (`short`), and the rule by which. If not, `c` is still
    /// protected, but no longer than for the shortest request (6.18: only if that of `p` is
    /// shorter).
    fn ends_protected_time(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        [c, p]: [EntityId; 2],
        short: bool,
    ) -> (bool, Rule) {
        let q = self.cfs_rq_of(c);
        let always = self.version.only_short_children_preempt();
        let finishes = self.version.check_finishes_delayed();
        let found = match always {
            true => self.pick_in_check(rqs, platform, q, short),
            false => self.pick_eevdf(q, !short),
        };
        let (wins, rule) = picks(found, p);
        if !wins && self.has_smaller_penalty(p, c) {
            self.cancel_protection(c);
            return (true, rules::SMALLER_PENALTY);
        }
        if wins {
            if short {
                self.cancel_protection(c);
                if finishes {
                    self.clear_next_buddy(c);
                }
            }
        } else if always || (short && self.shortens_protection()) {
            self.shorten_protection(q, c);
        }
        (wins, rule)
    }

    /// 6.19 on: the pick of a wakeup check. `short`: without regard to protection; from 7.1 on also
    /// without regard to next buddies. A delayed entity that it finds is then dequeued.
    pub(super) fn pick_in_check(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        short: bool,
    ) -> Option<(EntityId, Rule)> {
        let finishes = self.version.check_finishes_delayed();
        loop {
            let found = match short && finishes {
                true => self.pick_eevdf(q, false),
                false => self.buddy_or_eevdf(q, !short),
            };
            match found {
                Some((e, _)) if finishes && self.se[e].sched_delayed => {
                    self.dequeue_entities(rqs, platform, e, DequeueFlags::FINISH);
                }
                _ => return found,
            }
        }
    }

    /// The running `c` remains protected, but no longer than for the shortest request of queue `q`.
    pub(super) fn shorten_protection(&mut self, q: CfsRqId, c: EntityId) {
        let shortest = self.cfs_rqs[q].min_slice(&self.se);
        let v = self.cfs_rqs[q].avg_vruntime(&self.se);
        let curr = &mut self.se[c];
        let from = match self.version.has_one_tree() {
            true => curr.vruntime.earlier(v),
            false => curr.vruntime,
        };
        let until = from.plus(curr.vt(u64::from(shortest)));
        curr.set_vprot(curr.vprot().earlier(until));
    }

    /// Whether `p` would be picked on queue `q`, and the rule by which the actual choice would be
    /// made.
    #[inline]
    fn would_pick(&self, q: CfsRqId, p: EntityId, protect: bool) -> (bool, Rule) {
        picks(self.pick_eevdf(q, protect), p)
    }

    /// Whether a woken task with a shorter slice shortens the protection of the current one, if it
    /// does not preempt. (BORE 6.5.9: only to the extent that protection depends on slices.)
    fn shortens_protection(&self) -> bool {
        match &self.tunables.bore {
            Some(bore) if bore.patch.has_own_parity() => self.tunables.runs_to_parity(),
            _ => true,
        }
    }

    /// BORE 6.7.3: whether the woken task `p` preempts the running task `c` because its bursts are
    /// shorter.
    fn has_smaller_penalty(&self, p: EntityId, c: EntityId) -> bool {
        if !self.tunables.bore.is_some_and(|bore| bore.compares_penalties()) {
            return false;
        }
        let [p, c] = [p, c].map(|e| self.info[e].task.map(|task| self.rule.bursts.of(task)));
        p.zip(c).is_some_and(|(p, c)| p.penalty < c.penalty)
    }

    // ---- yielding ----

    /// `yield_task_fair`: the running `task` forfeits the rest of its request (6.6: only postpones
    /// its deadline).
    pub(super) fn yield_fair(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if self.tunables.bore.is_some() && !self.yield_burst(rqs, platform, task) {
            return;
        }
        let e = self.se_of(task);
        let q = self.tree_of(e);
        self.clear_next_buddy(e);
        self.update_curr(rqs, platform, q);
        let request = self.se[e].vslice();
        if !self.version.yield_forfeits() {
            let entity = &mut self.se[e];
            entity.deadline = entity.deadline.plus(request);
        } else if self.cfs_rqs[q].eligible(&self.se, self.se[e].vruntime) {
            let entity = &mut self.se[e];
            entity.vruntime = entity.deadline;
            entity.deadline = entity.vruntime.plus(request);
            self.cfs_rqs[q].follow_curr(&self.se);
        }
    }
}

/// Whether a pick has found `p`, and the rule by which.
pub(super) fn picks(found: Option<(EntityId, Rule)>, p: EntityId) -> (bool, Rule) {
    found.map_or((false, Rule::NONE), |(picked, rule)| (picked == p, rule))
}
