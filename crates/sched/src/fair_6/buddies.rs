//! Buddies: the entity that a queue picks next if it is eligible (`NEXT_BUDDY`; within a group, the
//! entity that continues when another has left).

use super::class::Fair;
use super::ids::EntityId;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;

impl<R: PickRule> Fair<R> {
    /// Makes `e` and its ancestors next buddies, up to the first that is not queued or idle.
    pub(super) fn set_next_buddy(&mut self, first: Option<EntityId>) {
        let mut next = first;
        while let Some(e) = next {
            if !self.se[e].on_rq || self.info[e].idle {
                return;
            }
            let info = &self.info[e];
            let parent = info.parent;
            let q = self.tree_of(e);
            self.cfs_rqs[q].next = Some(e);
            next = parent.filter(|_| !self.version.has_one_tree());
        }
    }

    /// `e` is no longer a next buddy, and neither are its ancestors that became so with it.
    #[inline]
    pub(super) fn clear_next_buddy(&mut self, e: EntityId) {
        let mut next = Some(e);
        while let Some(e) = next {
            let q = self.tree_of(e);
            let queue = &mut self.cfs_rqs[q];
            if queue.next != Some(e) {
                return;
            }
            queue.next = None;
            next = self.parent_of(e);
        }
    }
}
