//! Preemption: protection of the running entity, wakeup preemption, yielding.

use super::EarliestDeadline;
use super::releases::Version;
use super::rules;
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::flags::DequeueFlags;
use crate::fair_6::ids::{CfsRqId, EntityId};
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
        let others = if self.features().run_to_parity {
            self.cfs_rqs[q].min_slice_waiting(&self.se)
        } else {
            self.tunables.base_slice_unscaled
        };
        let entity = &mut self.se[e];
        let mut until = entity.deadline;
        if others < entity.slice {
            until = until.earlier(entity.vruntime.plus(entity.vt(u64::from(others))));
        }
        entity.set_vprot(until);
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
    fn cancel_protection(&mut self, e: EntityId) {
        if self.is_protected(e) {
            let until_now = self.version.protects_until();
            let entity = &mut self.se[e];
            entity.set_vprot(if until_now { entity.vruntime } else { entity.deadline.plus(1) });
        }
    }

    /// 6.18 also protects without `RUN_TO_PARITY`, but for a shorter time.
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
        if curr == task || rqs.resched_pending(cpu) || !self.features().wakeup_preemption {
            let pending = curr == task || rqs.resched_pending(cpu);
            let rule = if pending { fair_rules::RESCHED_PENDING } else { rules::NEVER_PREEMPTS };
            platform.by_rule(Question::Preempt, cpu, rule);
            return;
        }
        if self.is_throttled_task(task) {
            platform.by_rule(Question::Preempt, cpu, fair_rules::THROTTLED);
            return;
        }
        if self.features().next_buddy && !fork && !self.is_delayed_task(task) {
            self.set_next_buddy(Some(self.se_of(task)));
        }
        let (c, p) = self.find_matching(self.se_of(curr), self.se_of(task));
        let (c_idle, p_idle) = (self.info[c].idle, self.info[p].idle);
        if c_idle && !p_idle {
            if self.version.idle_loses_protection() {
                self.cancel_protection(c);
            }
            platform.by_rule(Question::Preempt, cpu, rules::IDLE_GIVES_WAY);
            rqs.resched_curr(platform, cpu);
            return;
        }
        if c_idle != p_idle || rqs.thread(task).policy != Policy::Other {
            platform.by_rule(Question::Preempt, cpu, rules::NEVER_PREEMPTS);
            return;
        }
        let q = self.cfs_rq_of(c);
        self.update_curr(rqs, platform, q);
        let short = self.features().preempt_short && self.se[p].slice < self.se[c].slice;
        let (wins, picked_by) = match self.version {
            Version::V6_6 | Version::V6_8 | Version::V6_11 => self.would_pick(q, p, true),
            Version::V6_12 | Version::V6_14 => {
                let sums = self.cfs_rqs[q].sums(&self.se);
                let [pe, ce] = [p, c].map(|e| &self.se[e]);
                if short
                    && sums.eligible(pe.vruntime)
                    && (pe.deadline.is_before(ce.deadline) || !sums.eligible(ce.vruntime))
                {
                    self.cancel_protection(c);
                }
                self.would_pick(q, p, true)
            }
            Version::V6_18 => {
                let (wins, picked_by) = self.would_pick(q, p, !short);
                if short && wins {
                    self.cancel_protection(c);
                } else if short {
                    self.shorten_protection(q, c);
                }
                (wins, picked_by)
            }
            _ if fork && !short || self.se[p].sched_delayed && !short => {
                platform.by_rule(Question::Preempt, cpu, rules::CHILD_WAITS);
                return;
            }
            _ => self.check_by_actual_pick(rqs, platform, [c, p], short),
        };
        let rule = self.rule_of_preemption(q, [c, p], short, picked_by, wins);
        platform.because(Question::Preempt, cpu, rule, |evidence| {
            self.account_of_preemption(q, [c, p], evidence);
        });
        if wins {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// 6.19 on: whether `p` would be picked, next buddies included, and the rule by which the actual
    /// choice would be made. `p` that is not picked in any case shortens the protection of the
    /// current entity `c`. `short`: the slice of `p` is shorter, so that protection does not count.
    fn check_by_actual_pick(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        [c, p]: [EntityId; 2],
        short: bool,
    ) -> (bool, Rule) {
        let q = self.cfs_rq_of(c);
        let picked = loop {
            let buddies = !short || !self.version.check_finishes_delayed();
            let picked = match buddies {
                true => self.buddy_or_eevdf(q, !short),
                false => self.pick_eevdf(q, !short),
            };
            match picked {
                Some((e, _)) if self.se[e].sched_delayed && self.version.check_finishes_delayed() => {
                    self.dequeue_entities(rqs, platform, e, DequeueFlags::FINISH);
                }
                _ => break picked,
            }
        };
        let (wins, picked_by) = match picked {
            Some((picked, rule)) => (picked == p, rule),
            None => (false, Rule::NONE),
        };
        if !wins {
            self.shorten_protection(q, c);
        } else if short {
            self.cancel_protection(c);
            if self.version.check_finishes_delayed() {
                self.clear_next_buddy(c);
            }
        }
        (wins, picked_by)
    }

    /// The running `c` remains protected, but no longer than for the shortest request of queue `q`.
    fn shorten_protection(&mut self, q: CfsRqId, c: EntityId) {
        let shortest = self.cfs_rqs[q].min_slice(&self.se);
        let curr = &mut self.se[c];
        let until = curr.vruntime.plus(curr.vt(u64::from(shortest)));
        curr.set_vprot(curr.vprot().earlier(until));
    }

    /// Whether `p` would be picked on queue `q`, and the rule by which the actual choice would be
    /// made.
    #[inline]
    fn would_pick(&self, q: CfsRqId, p: EntityId, protect: bool) -> (bool, Rule) {
        match self.pick_eevdf(q, protect) {
            Some((picked, rule)) => (picked == p, rule),
            None => (false, Rule::NONE),
        }
    }

    // ---- yielding ----

    /// `yield_task_fair`: the running `task` forfeits the rest of its request (6.6: only postpones
    /// its deadline).
    pub(super) fn yield_fair(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let e = self.se_of(task);
        let q = self.cfs_rq_of(e);
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
