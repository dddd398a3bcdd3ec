//! Delayed dequeue (6.12).
//!
//! A task that goes to sleep after it has received too much is **not** dequeued. It continues to
//! compete as if it were awake, so that time passes for it. When it would be picked (it is eligible
//! again by then) it is removed instead. So no task escapes its debt by a short sleep. If it is
//! woken before that, it simply continues from its present position; lag gained beyond 0 is cut
//! off. For the rest of the kernel it sleeps, but `nr_running` counts it.
//!
//! Groups do the same: a group entity whose queue has become empty may stay for a while, with
//! nothing below it.
//!
//! When a dequeue is delayed, and when a delayed entity is woken, the averages are updated, but the
//! queue does not publish its load to its group ([`Attach::Quiet`]). It does so at the next event
//! that publishes. On several CPUs that affects the group's weights elsewhere, and the millisecond
//! that must pass before the queue publishes again.

use super::EarliestDeadline;
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::flags::{Attach, DequeueFlags};
use crate::fair_6::ids::{CfsRqId, EntityId};
use schedlab_core::Platform;

impl Fair<EarliestDeadline> {
    /// Whether such a dequeue is delayed if the entity has received too much.
    #[inline]
    pub(super) fn may_delay(&self, e: EntityId, how: DequeueFlags) -> bool {
        self.features().delay_dequeue
            && how.sleep
            && !how.special
            && !how.finish
            && !(self.tunables.special_sleeps && self.is_task(e))
    }

    /// Whether the lag of a delayed entity is taken when its dequeue is delayed, and not when it is
    /// woken (BORE).
    fn takes_lag_early(&self) -> bool {
        self.features().delay_zero && self.tunables.has_bore()
    }

    /// `e` goes to sleep, and stays on `q` until it is eligible again.
    pub(super) fn delay_dequeue(&mut self, platform: &Platform, q: CfsRqId, e: EntityId) {
        if self.version.delayed_lag_only_shrinks() || self.takes_lag_early() {
            self.se[e].vlag = self.entity_lag(q, e);
        }
        self.update_load_avg(platform.now_ns(), e, Attach::Quiet);
        self.se[e].sched_delayed = true;
        if self.is_task(e) {
            self.count_runnable(e, false);
        }
    }

    /// `requeue_delayed_entity`: a delayed entity is woken before its dequeue was finished. If it
    /// is owed time by now it is placed again, with zero lag. From 7.1 on it is placed with the
    /// smallest debt that it has had. Up to 7.1 nothing is charged first: V is as of the last
    /// charge.
    pub(super) fn requeue_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: EntityId) {
        let q = self.tree_of(e);
        if self.version.charges_before_requeue() {
            self.update_curr(rqs, platform, q);
        }
        let v = self.cfs_rqs[q].avg_vruntime(&self.se);
        if self.version.delayed_lag_only_shrinks() {
            let lag = self.entity_lag(q, e);
            if v.shifted(lag.wrapping_neg()) != self.se[e].vruntime {
                self.place_again(q, e, lag, false);
            }
        } else if self.features().delay_zero {
            let early = self.takes_lag_early();
            let lag = match early {
                // Only a change of the weight can have made it positive.
                true => self.se[e].vlag,
                false => v.since(self.se[e].vruntime),
            };
            if lag > 0 {
                self.place_again(q, e, 0, early);
            }
        }
        self.update_load_avg(platform.now_ns(), e, Attach::Quiet);
        self.se[e].sched_delayed = false;
        if self.is_task(e) {
            self.count_runnable(e, true);
        }
    }

    /// Takes `e` off queue `q` and places it there again with this lag; `initial`: as a new entity.
    fn place_again(&mut self, q: CfsRqId, e: EntityId, lag: i64, initial: bool) {
        let is_curr = self.cfs_rqs[q].tree_curr() == Some(e);
        self.cfs_rqs[q].nr_queued -= 1;
        if !is_curr {
            self.tree_remove(q, e);
        }
        self.se[e].vlag = lag;
        self.place_entity(q, e, initial);
        if !is_curr {
            self.tree_insert(q, e);
        }
        self.cfs_rqs[q].nr_queued += 1;
    }

    /// Updates the number of runnable tasks of all queues above `e`, up to a throttled one, after a
    /// queued task has become runnable or is no longer runnable.
    fn count_runnable(&mut self, e: EntityId, up: bool) {
        let mut next = Some(e);
        while let Some(e) = next {
            let q = self.cfs_rq_of(e);
            self.invalidate(q);
            let queue = &mut self.cfs_rqs[q];
            queue.h_nr_runnable =
                if up { queue.h_nr_runnable + 1 } else { queue.h_nr_runnable - 1 };
            if self.hides(q) {
                return;
            }
            next = self.parent_of(e);
        }
    }
}
