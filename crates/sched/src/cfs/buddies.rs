//! Buddies: entities that are picked before the leftmost one, if they are not far ahead of it.
//!
//! `next` is an entity that was woken. `last` is one that was preempted by a wakeup and whose data
//! are still in the cache. `skip` (3.2) is one that has yielded and is to be passed over. Each
//! queue has one of each. A task's groups are buddies in the queues above.

use super::Cfs;
use super::ids::EntityId;

impl Cfs {
    /// `set_next_buddy`: `e` and its groups become `next` of their queues. Not for `SCHED_IDLE`
    /// tasks.
    pub(super) fn set_next_buddy(&mut self, e: EntityId) {
        if self.entities[e].is_idle_policy {
            return;
        }
        let mut level = Some(e);
        while let Some(e) = level {
            let entity = &self.entities[e];
            self.queues[entity.cfs_rq].next = Some(e);
            level = entity.parent;
        }
    }

    /// `set_last_buddy`: `e` and its groups become `last` of their queues. Not for `SCHED_IDLE`
    /// tasks.
    pub(super) fn set_last_buddy(&mut self, e: EntityId) {
        if self.entities[e].is_idle_policy {
            return;
        }
        let mut level = Some(e);
        while let Some(e) = level {
            let entity = &self.entities[e];
            self.queues[entity.cfs_rq].last = Some(e);
            level = entity.parent;
        }
    }

    /// `set_skip_buddy`: `e` and its groups become `skip` of their queues.
    pub(super) fn set_skip_buddy(&mut self, e: EntityId) {
        let mut level = Some(e);
        while let Some(e) = level {
            let entity = &self.entities[e];
            self.queues[entity.cfs_rq].skip = Some(e);
            level = entity.parent;
        }
    }

    /// `clear_buddies`: `e` and its groups are no longer buddies.
    #[inline]
    pub(super) fn clear_buddies(&mut self, e: EntityId) {
        let mut level = Some(e);
        while let Some(e) = level {
            let entity = &self.entities[e];
            let queue = &mut self.queues[entity.cfs_rq];
            if queue.last == Some(e) {
                queue.last = None;
            }
            if queue.next == Some(e) {
                queue.next = None;
            }
            if queue.skip == Some(e) {
                queue.skip = None;
            }
            level = entity.parent;
        }
    }
}
