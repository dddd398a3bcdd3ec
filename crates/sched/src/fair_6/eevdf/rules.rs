//! The rules by which EEVDF picks and preempts, and the grounds of its decisions.
//!
//! The account of a pick examines every entity of a queue individually, and not through the search
//! in the tree that the pick uses: first eligibility, then the deadline. Only what the keys leave
//! open, the order of equals, is taken from the tree.

use super::EarliestDeadline;
use super::releases::Version;
use crate::classes::Rqs;
use crate::fair_6::cfs_rq::Sums;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::timeline;
use alloc::vec::Vec;
use schedlab_core::{Candidate, Evidence, Rule, Who};

schedlab_core::define_rules! {
    /// The rules of picking: 121 to 137.
    pub static RULES {
        121 NEXT_BUDDY Pick "next_buddy":
            "The next buddy runs, as it is eligible.";
        122 PROTECTED Pick "protected":
            "The current entity is eligible and protected (RUN_TO_PARITY): it runs until its \
             request is served; from 6.18 on, until the shortest request of the others would be \
             served.";
        123 EARLIEST_ELIGIBLE Pick "earliest_eligible_deadline":
            "Of the eligible entities the one with the earliest virtual deadline runs.";
        124 LEFTMOST Pick "leftmost":
            "No entity seems eligible: the leftmost entity of the tree runs.";
        125 HRTICK_OVER Preempt "hrtick_over":
            "The hrtick fired: the request of the current task has been served.";
        128 NO_SHORTER Preempt "no_shorter_slice":
            "The task is new, or continues before its dequeue is finished, and its slice is not \
             shorter than that of the current one: it preempts no task (6.19 on).";
        129 SMALLER_PENALTY Preempt "smaller_penalty":
            "BORE 6.7.3: the woken task has a smaller penalty for its bursts than the current one \
             (PREEMPT_SHORT_BORE): it preempts.";
        130 IDLE_GIVES_WAY Preempt "idle_policy_gives_way":
            "The current entity is SCHED_IDLE and the woken one is not: it preempts.";
        131 CURR_NOT_ELIGIBLE Preempt "current_not_eligible":
            "The current entity has received too much and is no longer eligible. The woken one \
             has the earliest virtual deadline of the eligible entities, and preempts.";
        132 PREEMPT_SHORT Preempt "preempt_short":
            "The slice of the woken entity is shorter, which ends the protection of the current \
             one: it preempts.";
        133 EARLIER_DEADLINE Preempt "earlier_deadline":
            "The woken entity is eligible and the current one is not protected. Of all eligible \
             entities the woken one has the earliest virtual deadline: it preempts.";
        134 CURR_PROTECTED Preempt "current_protected":
            "The current entity is eligible and protected: the woken one waits.";
        135 NOT_ELIGIBLE Preempt "not_eligible":
            "The woken entity is not eligible: it waits.";
        136 NOT_EARLIEST Preempt "not_earliest":
            "The woken entity is eligible, but another has an earlier virtual deadline: it waits.";
        137 NEVER_PREEMPTS Preempt "never_preempts":
            "The woken task is SCHED_BATCH or SCHED_IDLE, or the feature WAKEUP_PREEMPTION is \
             off: it never preempts.";
    }
}

/// Tier of a candidate in a pick, the best first: the first number of its rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tier {
    NextBuddy,
    ProtectedCurr,
    Eligible,
    NotEligible,
}

impl Fair<EarliestDeadline> {
    /// The members of queue `q` as candidates.
    #[cold]
    #[inline(never)]
    pub(super) fn candidates_on(&self, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>) {
        let sums = self.cfs_rqs[q].sums(&self.se);
        let members = self.queued_on(q);
        let first_of_equals = self.first_of_equals(q, &sums);
        for (place, &e) in members.iter().enumerate() {
            let tier = self.tier(q, e, &sums);
            let deadline = match tier {
                Tier::NotEligible => 0,
                // Virtual times wrap, so deadlines are compared by their distance from V.
                _ => self.se[e].deadline.since(sums.avg_vruntime()),
            };
            let in_order = if first_of_equals == Some(e) { -1 } else { place as i64 };
            out.push(self.candidate(rqs, e, &sums, [tier as i64, deadline, in_order, 0]));
        }
    }

    fn tier(&self, q: CfsRqId, e: EntityId, sums: &Sums) -> Tier {
        let queue = &self.cfs_rqs[q];
        if !sums.eligible(self.se[e].vruntime) {
            Tier::NotEligible
        } else if queue.next == Some(e) && self.next_buddy_counts() {
            Tier::NextBuddy
        } else if queue.tree_curr() == Some(e)
            && self.protection_counts()
            && self.is_protected(e)
            && !self.leaves_for_futex(e)
        {
            Tier::ProtectedCurr
        } else {
            Tier::Eligible
        }
    }

    /// 6.6: the entity that the shape of the tree puts first among equal deadlines. (From 6.12 on
    /// that is the order of the tree, with the current entity last.)
    fn first_of_equals(&self, q: CfsRqId, sums: &Sums) -> Option<EntityId> {
        if self.version.tree_by_deadline() {
            return None;
        }
        let queue = &self.cfs_rqs[q];
        let curr = queue.competing_curr(&self.se);
        let curr = curr.filter(|&curr| sums.eligible(self.se[curr].vruntime));
        let eligible = |vruntime| sums.eligible(vruntime);
        timeline::earliest_eligible_by_vruntime(&queue.tree, &self.se, curr, eligible)
    }

    fn candidate(&self, rqs: &Rqs, e: EntityId, sums: &Sums, rank: [i64; 4]) -> Candidate {
        let (entity, info) = (&self.se[e], &self.info[e]);
        let q = self.tree_of(e);
        let within = self.cfs_rqs[q].group;
        let who = match (info.task, info.my_q) {
            (Some(task), _) => rqs.who(task),
            (None, Some(q)) => Who::Group(self.cfs_rqs[q].group),
            (None, None) => Who::Kernel("entity"),
        };
        let runs = self.cfs_rqs[q].tree_curr() == Some(e);
        let mut candidate = Candidate { who, within, rank, terms: Vec::new() }
            .with("eligible", i64::from(sums.eligible(entity.vruntime)))
            .with("deadline_ns", entity.deadline.0 as i64)
            .with("vruntime_ns", entity.vruntime.0 as i64)
            .with("lag_ns", sums.avg_vruntime().since(entity.vruntime))
            .with("slice_ns", i64::from(entity.slice))
            .with("weight", entity.weight());
        if runs && self.version.protects_until() {
            candidate = candidate.with("vprot_ns", entity.vprot().0 as i64);
        }
        if entity.sched_delayed {
            candidate = candidate.with("sched_delayed", 1);
        }
        if let (Some(bore), Some(task)) = (&self.tunables.bore, info.task) {
            let score = bore.score(self.rule.bursts.of(task).penalty);
            candidate = candidate.with("burst_score", i64::from(score));
        }
        candidate
    }

    /// The rule by which `p` preempts `c`, the current entity, or does not, in a wakeup check that
    /// examined the queue. `picked` would be picked, by `rule`.
    #[inline]
    pub(super) fn rule_of_preemption(
        &self,
        q: CfsRqId,
        [c, p]: [EntityId; 2],
        short: bool,
        picked_by: Rule,
        wins: bool,
    ) -> Rule {
        if !wins && picked_by == PROTECTED {
            return CURR_PROTECTED;
        }
        if picked_by == SMALLER_PENALTY {
            return SMALLER_PENALTY;
        }
        if wins && short {
            return PREEMPT_SHORT;
        }
        let asked = if wins { c } else { p };
        match (wins, self.cfs_rqs[q].eligible(&self.se, self.se[asked].vruntime)) {
            (true, true) => EARLIER_DEADLINE,
            (true, false) => CURR_NOT_ELIGIBLE,
            (false, true) => NOT_EARLIEST,
            (false, false) => NOT_ELIGIBLE,
        }
    }

    /// The grounds of a wakeup check of `p` against the current `c`.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_preemption(
        &self,
        q: CfsRqId,
        [c, p]: [EntityId; 2],
        evidence: &mut Evidence,
    ) {
        let sums = self.cfs_rqs[q].sums(&self.se);
        let [curr, woken] = [c, p].map(|e| &self.se[e]);
        evidence
            .term("avg_vruntime_ns", sums.avg_vruntime().0 as i64)
            .term("eligible", i64::from(sums.eligible(woken.vruntime)))
            .term("deadline_ns", woken.deadline.0 as i64)
            .term("vruntime_ns", woken.vruntime.0 as i64)
            .term("slice_ns", i64::from(woken.slice))
            .term("curr_eligible", i64::from(sums.eligible(curr.vruntime)))
            .term("curr_protected", i64::from(self.is_protected(c)))
            .term("curr_deadline_ns", curr.deadline.0 as i64)
            .term("curr_vruntime_ns", curr.vruntime.0 as i64)
            .term("curr_slice_ns", i64::from(curr.slice));
    }

    /// Whether a next buddy is considered.
    #[inline]
    pub(super) fn next_buddy_counts(&self) -> bool {
        let features = self.features();
        features.pick_buddy
            || (!self.version.release.is_since(Version::V6_12) && features.next_buddy)
    }
}
