//! Wakeup preemption, and yielding.

use super::{LeastVruntime, rules};
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::ids::EntityId;
use crate::fair_6::rules as fair_rules;
use schedlab_core::{CpuId, Platform, Policy, Question};

impl Fair<LeastVruntime> {
    /// `wakeup_preempt_entity`: whether `a` is ahead of `b` by more than the wakeup granularity, in
    /// the virtual time of `b`.
    #[inline]
    pub(super) fn is_far_ahead(&self, a: EntityId, b: EntityId) -> bool {
        let ahead = self.se[a].vruntime.since(self.se[b].vruntime);
        ahead > 0 && ahead as u64 > self.se[b].vt(self.tunables.wakeup_granularity_ns)
    }

    /// `check_preempt_wakeup`: `task` has become runnable on a CPU where `curr` runs, both fair.
    pub(super) fn preempt_at_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        let cpu = rqs.cpu_of(curr);
        let (se, woken) = (self.se_of(curr), self.se_of(task));
        if curr == task {
            platform.by_rule(Question::Preempt, cpu, fair_rules::RESCHED_PENDING);
            return;
        }
        if self.is_throttled_task(task) {
            platform.by_rule(Question::Preempt, cpu, fair_rules::THROTTLED);
            return;
        }
        let many = self.cfs_rqs[self.cfs_rq_of(se)].nr_queued >= self.tunables.nr_latency;
        let sets_buddy = self.features().next_buddy && many && !fork;
        if sets_buddy {
            self.set_next_buddy(Some(woken));
        }
        if rqs.resched_pending(cpu) {
            platform.by_rule(Question::Preempt, cpu, fair_rules::RESCHED_PENDING);
            return;
        }
        let [curr_policy, policy] = [curr, task].map(|pid| rqs.thread(pid).policy);
        if curr_policy == Policy::Idle && policy != Policy::Idle {
            platform.by_rule(Question::Preempt, cpu, rules::IDLE_GIVES_WAY);
            self.interrupt(rqs, platform, cpu, se, many);
            return;
        }
        if policy != Policy::Other || !self.features().wakeup_preemption {
            platform.by_rule(Question::Preempt, cpu, rules::NEVER_PREEMPTS);
            return;
        }
        let (c, p) = self.find_matching(se, woken);
        if self.version.has_idle_groups() {
            let [c_idle, p_idle] = [c, p].map(|e| self.info[e].idle);
            if c_idle && !p_idle {
                platform.by_rule(Question::Preempt, cpu, rules::IDLE_GIVES_WAY);
                self.interrupt(rqs, platform, cpu, c, many);
                return;
            }
            if c_idle != p_idle {
                platform.by_rule(Question::Preempt, cpu, rules::NEVER_PREEMPTS);
                return;
            }
        }
        self.charge_curr(rqs, platform, self.cfs_rq_of(c));
        let wins = self.is_far_ahead(c, p);
        let rule = if wins { rules::FAR_BEHIND } else { rules::NOT_FAR_BEHIND };
        platform.because(Question::Preempt, cpu, rule, |evidence| {
            self.account_of_preemption([c, p], evidence);
        });
        if wins {
            if !sets_buddy {
                self.set_next_buddy(Some(p));
            }
            self.interrupt(rqs, platform, cpu, c, many);
        }
    }

    /// The running entity `e` is preempted, and should continue soon if there are `many`.
    fn interrupt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        e: EntityId,
        many: bool,
    ) {
        rqs.resched_curr(platform, cpu);
        if self.se[e].on_rq && self.features().last_buddy && many && self.is_task(e) {
            self.set_last_buddy(e);
        }
    }

    /// `yield_task_fair`: the running `task` yields to the next entity, if that is not far ahead of
    /// it. Its vruntime stays the same.
    pub(super) fn let_pass(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let e = self.se_of(task);
        self.clear_all_buddies(e);
        if rqs.thread(task).policy != Policy::Batch {
            self.charge_curr(rqs, platform, self.cfs_rq_of(e));
        }
        self.set_skip_buddy(e);
    }
}
