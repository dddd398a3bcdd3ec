//! Wakeup preemption where all tasks of a CPU are in one tree (7.3).
//!
//! Two tasks are compared themselves, not the groups at which their paths meet. A task with a
//! shorter slice preempts even if another would be picked before it, as long as it is eligible, and
//! becomes the next buddy, so that it is picked in spite of that. A task that does not preempt
//! shortens the protection of the running one.

use super::EarliestDeadline;
use super::preempt::picks;
use super::rules;
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::ids::EntityId;
use crate::fair_6::rules as fair_rules;
use schedlab_core::{Platform, Policy, Question};

impl Fair<EarliestDeadline> {
    /// `check_preempt_wakeup_fair`: `task` has become runnable on a CPU where `curr` runs, both
    /// fair.
    pub(super) fn check_preempt_in_one_tree(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        let cpu = rqs.cpu_of(curr);
        let pending = rqs.resched_pending(cpu) && !self.features().preempt_short;
        let leaves = !self.se[self.se_of(curr)].on_rq;
        if curr == task || leaves || pending {
            return platform.by_rule(Question::Preempt, cpu, fair_rules::RESCHED_PENDING);
        }
        if !self.features().wakeup_preemption {
            return platform.by_rule(Question::Preempt, cpu, rules::NEVER_PREEMPTS);
        }
        if self.is_throttled_task(task) {
            return platform.by_rule(Question::Preempt, cpu, fair_rules::THROTTLED);
        }
        let (c, p) = (self.se_of(curr), self.se_of(task));
        let q = self.tree_of(c);
        if self.info[c].idle && !self.info[p].idle {
            platform.by_rule(Question::Preempt, cpu, rules::IDLE_GIVES_WAY);
            return self.preempts(rqs, platform, [c, p], false);
        }
        self.update_curr(rqs, platform, q);
        let short = self.features().preempt_short && self.se[p].slice < self.se[c].slice;
        let never = rqs.thread(task).policy != Policy::Other;
        let waits = self.se[p].sched_delayed || (fork && !short);
        if never || waits {
            let rule = if never { rules::NEVER_PREEMPTS } else { rules::NO_SHORTER };
            platform.by_rule(Question::Preempt, cpu, rule);
            return self.shorten_protection(q, c);
        }
        let found = self.pick_in_check(rqs, platform, q, short);
        let (picked, picked_by) = picks(found, p);
        let eligible = || self.cfs_rqs[q].eligible(&self.se, self.se[p].vruntime);
        let wins = picked || (short && eligible());
        let rule = self.rule_of_preemption(q, [c, p], short, picked_by, wins);
        platform.because(Question::Preempt, cpu, rule, |evidence| {
            self.account_of_preemption(q, [c, p], evidence);
        });
        if wins {
            self.preempts(rqs, platform, [c, p], short);
        } else {
            self.shorten_protection(q, c);
        }
    }

    /// `p` preempts `c`. With a shorter slice it is picked next as long as it is eligible, unless
    /// the present next buddy has a shorter one.
    fn preempts(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        [c, p]: [EntityId; 2],
        short: bool,
    ) {
        let q = self.tree_of(c);
        self.cancel_protection(c);
        let next = self.cfs_rqs[q].next;
        if short
            && next.is_none_or(|next| self.se[p].slice <= self.se[next].slice)
            && !self.se[p].sched_delayed
        {
            self.set_next_buddy(Some(p));
        }
        let cpu = self.cfs_rqs[q].cpu;
        self.resched_curr_lazy(rqs, platform, cpu);
    }
}
