//! The rules by which CFS picks and preempts, and the grounds of its decisions.

use super::LeastVruntime;
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::{CfsRqId, EntityId};
use alloc::vec::Vec;
use schedlab_core::{Candidate, Evidence, Who};

schedlab_core::define_rules! {
    /// The rules of picking: 180 to 199.
    pub static RULES {
        180 LEAST_VRUNTIME Pick "least_vruntime":
            "The entity with the smallest vruntime runs. The current one runs only if its \
             vruntime is strictly smaller than that of all waiting entities.";
        181 NEXT_BUDDY Pick "next_buddy":
            "The next buddy (woken last with a right to preempt, or of a group whose member has \
             gone to sleep) runs, as it is not ahead of the smallest vruntime by more than the \
             wakeup granularity.";
        182 LAST_BUDDY Pick "last_buddy":
            "The last buddy (preempted by a wakeup) runs, as it is not ahead of the smallest \
             vruntime by more than the wakeup granularity.";
        183 SKIP_BUDDY Pick "skip_buddy":
            "The entity with the smallest vruntime has yielded: the second runs, as it is not \
             ahead by more than the wakeup granularity.";
        190 IDLE_GIVES_WAY Preempt "idle_policy_gives_way":
            "The current entity is SCHED_IDLE and the woken one is not: it preempts.";
        191 FAR_BEHIND Preempt "far_behind":
            "The woken entity is behind the current one by more than the wakeup granularity: it \
             preempts.";
        192 NOT_FAR_BEHIND Preempt "not_far_behind":
            "The woken entity is not behind the current one by more than the wakeup granularity: \
             it waits.";
        193 NEVER_PREEMPTS Preempt "never_preempts":
            "The woken task is SCHED_BATCH or SCHED_IDLE, or the feature WAKEUP_PREEMPTION is \
             off: it never preempts.";
    }
}

/// Tier of a candidate in a pick, best first. It is the first number of the candidate's rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tier {
    NextBuddy,
    LastBuddy,
    /// The second entity, if the one before it is skipped.
    Second,
    Ordinary,
}

impl Fair<LeastVruntime> {
    /// Adds the members of queue `q` to `out` as candidates.
    #[cold]
    #[inline(never)]
    pub(super) fn candidates_on(&self, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>) {
        let members = self.queued_on(q);
        let Some(&least) = members.iter().reduce(|least, e| {
            let is_less = self.se[*e].vruntime.is_before(self.se[*least].vruntime);
            if is_less { e } else { least }
        }) else {
            return;
        };
        let curr = self.cfs_rqs[q].curr;
        for (place, &e) in members.iter().enumerate() {
            let tier = self.tier(q, e, least);
            // Among equals, waiting entities come first.
            let in_order = if curr == Some(e) { i64::MAX } else { place as i64 };
            let behind = self.se[e].vruntime.since(self.se[least].vruntime);
            out.push(self.candidate(rqs, e, [tier as i64, behind, in_order, 0]));
        }
    }

    fn tier(&self, q: CfsRqId, e: EntityId, least: EntityId) -> Tier {
        let state = &self.rule.queues[q];
        let is_fair = self.is_fair_enough(e, least);
        if self.cfs_rqs[q].next == Some(e) && is_fair {
            Tier::NextBuddy
        } else if state.last == Some(e) && is_fair {
            Tier::LastBuddy
        } else if state.skip == Some(least) && self.second(q, least) == Some(e) && is_fair {
            Tier::Second
        } else {
            Tier::Ordinary
        }
    }

    fn candidate(&self, rqs: &Rqs, e: EntityId, rank: [i64; 4]) -> Candidate {
        let (entity, info) = (&self.se[e], &self.info[e]);
        let within = self.cfs_rqs[info.cfs_rq].group;
        let who = match (info.task, info.my_q) {
            (Some(task), _) => rqs.who(task),
            (None, Some(q)) => Who::Group(self.cfs_rqs[q].group),
            (None, None) => Who::Kernel("entity"),
        };
        Candidate { who, within, rank, terms: Vec::new() }
            .with("vruntime_ns", entity.vruntime.0 as i64)
            .with("weight", entity.weight())
            .with("slice_ns", self.sched_slice(info.cfs_rq, e) as i64)
            .with("ran_ns", self.rule.entities[e].ran_ns as i64)
    }

    /// The grounds of a wakeup check of `p` against the current `c`.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_preemption(&self, [c, p]: [EntityId; 2], evidence: &mut Evidence) {
        let [curr, woken] = [c, p].map(|e| &self.se[e]);
        let granularity = self.tunables.wakeup_granularity_ns;
        evidence
            .term("vruntime_ns", woken.vruntime.0 as i64)
            .term("curr_vruntime_ns", curr.vruntime.0 as i64)
            .term("behind_ns", curr.vruntime.since(woken.vruntime))
            .term("granularity_ns", woken.vt(granularity) as i64);
    }
}
