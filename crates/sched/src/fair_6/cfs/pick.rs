//! The pick: which entity of a queue runs next.

use super::{LeastVruntime, rules};
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::rules::ONLY_ENTITY;
use crate::fair_6::timeline;
use schedlab_core::{CpuId, Platform, Rule};

impl Fair<LeastVruntime> {
    /// Whether `e` may run in place of `left`: it is not ahead of `left` by more than the wakeup
    /// granularity.
    #[inline]
    pub(super) fn is_fair_enough(&self, e: EntityId, left: EntityId) -> bool {
        !self.is_far_ahead(e, left)
    }

    /// The entity with the smallest vruntime on `q`: the leftmost of the tree, or the running one
    /// if its vruntime is strictly smaller.
    pub(super) fn least(&self, q: CfsRqId) -> Option<EntityId> {
        let queue = &self.cfs_rqs[q];
        let curr = queue.competing_curr(&self.se);
        match (curr, queue.tree.leftmost()) {
            (Some(curr), Some(left))
                if !self.se[curr].vruntime.is_before(self.se[left].vruntime) =>
            {
                Some(left)
            }
            (Some(curr), _) => Some(curr),
            (None, left) => left,
        }
    }

    /// The entity after `least`, which is to be skipped.
    pub(super) fn second(&self, q: CfsRqId, least: EntityId) -> Option<EntityId> {
        let queue = &self.cfs_rqs[q];
        let curr = queue.competing_curr(&self.se);
        if curr == Some(least) {
            return queue.tree.leftmost();
        }
        match (timeline::next(&self.se, least), curr) {
            (Some(next), Some(curr))
                if self.se[curr].vruntime.is_before(self.se[next].vruntime) =>
            {
                Some(curr)
            }
            (Some(next), _) => Some(next),
            (None, curr) => curr,
        }
    }

    /// `pick_next_entity`: the entity with the smallest vruntime, unless it is to be skipped;
    /// `next`, or else `last`, if that is fair enough. Also returns the rule that decided.
    pub(super) fn pick_entity(&self, q: CfsRqId) -> Option<(EntityId, Rule)> {
        let queue = &self.cfs_rqs[q];
        let left = self.least(q)?;
        if queue.nr_queued == 1 {
            return Some((left, ONLY_ENTITY));
        }
        let state = &self.rule.queues[q];
        if let Some(next) = queue.next
            && self.is_fair_enough(next, left)
        {
            return Some((next, rules::NEXT_BUDDY));
        }
        if let Some(last) = state.last
            && self.is_fair_enough(last, left)
        {
            return Some((last, rules::LAST_BUDDY));
        }
        if state.skip == Some(left)
            && let Some(second) = self.second(q, left)
            && self.is_fair_enough(second, left)
        {
            return Some((second, rules::SKIP_BUDDY));
        }
        Some((left, rules::LEAST_VRUNTIME))
    }

    /// A queue has been throttled during the pick: puts the running task back into the tree, and
    /// the pick starts over without it.
    pub(super) fn put_in_pick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let q = CfsRqId::of_cpu(cpu);
        let Some(mut e) = self.cfs_rqs[q].curr.filter(|_| self.cfs_rqs[q].nr_queued > 0) else {
            return;
        };
        while let Some(curr) = self.info[e].my_q.and_then(|q| self.cfs_rqs[q].curr) {
            e = curr;
        }
        if let Some(task) = self.info[e].task {
            self.put_prev(rqs, platform, task);
            self.rule.queues[q].put_in_pick = true;
        }
    }
}
