//! Buddies: `last`, an entity that was preempted, and `skip`, an entity that has yielded. (`next`
//! works as in every fair class: [`buddies`](crate::fair_6::buddies).)

use super::LeastVruntime;
use super::state::QueueState;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::EntityId;

impl Fair<LeastVruntime> {
    /// `set_last_buddy`: `e` and its ancestors, up to the first that is not queued or idle, were
    /// preempted.
    pub(super) fn set_last_buddy(&mut self, e: EntityId) {
        let mut next = Some(e);
        while let Some(e) = next {
            if !self.se[e].on_rq || self.info[e].idle && self.version.spares_idle_last_buddies() {
                return;
            }
            let q = self.cfs_rq_of(e);
            self.rule.queues[q].last = Some(e);
            next = self.parent_of(e);
        }
    }

    /// `set_skip_buddy`: `e` and its ancestors yield to others.
    pub(super) fn set_skip_buddy(&mut self, e: EntityId) {
        let mut next = Some(e);
        while let Some(e) = next {
            let q = self.cfs_rq_of(e);
            self.rule.queues[q].skip = Some(e);
            next = self.parent_of(e);
        }
    }

    /// `clear_buddies`: clears all marks of `e`, each kind upward as long as the queues name this
    /// branch.
    #[inline]
    pub(super) fn clear_all_buddies(&mut self, e: EntityId) {
        self.clear_next_buddy(e);
        self.clear_buddy(e, |queue| &mut queue.last);
        self.clear_buddy(e, |queue| &mut queue.skip);
    }

    #[inline]
    fn clear_buddy(&mut self, e: EntityId, kind: fn(&mut QueueState) -> &mut Option<EntityId>) {
        let mut next = Some(e);
        while let Some(e) = next {
            let q = self.cfs_rq_of(e);
            let buddy = kind(&mut self.rule.queues[q]);
            if *buddy != Some(e) {
                return;
            }
            *buddy = None;
            next = self.parent_of(e);
        }
    }
}
