//! The pick: which entity of a queue runs next.

use super::EarliestDeadline;
use super::rules;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::rules::ONLY_ENTITY;
use crate::fair_6::timeline;
use schedlab_core::Rule;

impl Fair<EarliestDeadline> {
    /// The entity to run on queue `q` (without regard to buddies): the running entity while it is
    /// eligible and protected, else the eligible one with the earliest deadline. `protect`: whether
    /// protection counts. Also returns the rule that decided.
    pub(super) fn pick_eevdf(&self, q: CfsRqId, protect: bool) -> Option<(EntityId, Rule)> {
        let queue = &self.cfs_rqs[q];
        let curr = queue.competing_curr(&self.se);
        if queue.nr_queued == 1 {
            return Some((curr.or(queue.tree.leftmost())?, ONLY_ENTITY));
        }
        let sums = queue.sums(&self.se);
        let curr = curr.filter(|&curr| sums.eligible(self.se[curr].vruntime));
        if let Some(curr) = curr
            && protect
            && self.protection_counts()
            && self.is_protected(curr)
            && !self.leaves_for_futex(curr)
        {
            return Some((curr, rules::PROTECTED));
        }
        let eligible = |vruntime| sums.eligible(vruntime);
        let best = if self.version.tree_by_deadline() {
            let best = timeline::earliest_eligible(&queue.tree, &self.se, eligible);
            let deadline = |e: EntityId| self.se[e].deadline;
            match (curr, best) {
                (Some(curr), Some(best)) if deadline(curr).is_before(deadline(best)) => Some(curr),
                (_, Some(best)) => Some(best),
                (curr, None) => curr,
            }
        } else {
            timeline::earliest_eligible_by_vruntime(&queue.tree, &self.se, curr, eligible)
        };
        // The smallest vruntime is never above the average, so an eligible entity exists, unless a
        // product has wrapped.
        match best {
            Some(best) => Some((best, rules::EARLIEST_ELIGIBLE)),
            None => Some((queue.tree.leftmost()?, rules::LEFTMOST)),
        }
    }

    /// Whether the current `e` is about to sleep in a wait for a futex, which ends its protection
    /// (BORE).
    #[inline]
    pub(super) fn leaves_for_futex(&self, e: EntityId) -> bool {
        let waits = |task| self.rule.bursts.of(task).futex_waiting;
        self.tunables.has_bore() && self.info[e].task.is_some_and(waits)
    }

    /// The next buddy if it is eligible, else [`pick_eevdf`](Fair::pick_eevdf).
    #[inline(always)]
    pub(super) fn buddy_or_eevdf(&self, q: CfsRqId, protect: bool) -> Option<(EntityId, Rule)> {
        let queue = &self.cfs_rqs[q];
        if let Some(buddy) = queue.next
            && self.next_buddy_counts()
            && queue.eligible(&self.se, self.se[buddy].vruntime)
        {
            return Some((buddy, rules::NEXT_BUDDY));
        }
        self.pick_eevdf(q, protect)
    }
}
