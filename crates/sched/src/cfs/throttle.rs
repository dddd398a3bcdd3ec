//! Throttling: a group that has used up its quota is taken off its CPU, and put back later (3.2).
//! [`bandwidth`](crate::classes::bandwidth) keeps the accounts.
//!
//! A **throttled** queue is no longer represented in its parent's queue. Its entities stay in it,
//! and may sleep, wake and be moved as in other queues, but none of them counts further up, and
//! none can be picked.

use super::Cfs;
use super::ids::CfsRqId;
use crate::classes::Rqs;
use crate::classes::bandwidth::Expiry;
use schedlab_core::{CpuId, Platform, TimerKey};

impl Cfs {
    /// `check_enqueue_throttle`: handles a queue `q` that has received its first entity and may
    /// have no runtime for it. (A queue whose entity runs is checked when that entity is put away.)
    #[inline]
    pub(super) fn check_enqueue_throttle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
    ) {
        if !self.limits.is_used() {
            return;
        }
        let queue = &self.queues[q];
        if queue.nr_running != 1 || queue.curr.is_some() || self.limits.is_throttled(q) {
            return;
        }
        let clock = rqs.clock(queue.cpu);
        self.limits.account(platform, q, clock, 0);
        self.check_cfs_rq_runtime(rqs, platform, q);
    }

    /// `check_cfs_rq_runtime`: throttles queue `q` if it has no runtime left.
    #[inline]
    pub(super) fn check_cfs_rq_runtime(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
    ) {
        if self.limits.has_run_out(q) {
            self.throttle_cfs_rq(rqs, platform, q);
        }
    }

    /// Implements `throttle_cfs_rq`.
    fn throttle_cfs_rq(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let queue = &self.queues[q];
        let (cpu, count) = (queue.cpu, queue.h_nr_running);
        if let Some(e) = queue.entity {
            self.dequeue_hierarchy(rqs, platform, cpu, e, count);
        }
        self.limits.set_throttled(platform, q, rqs.clock(cpu));
    }

    /// Implements `unthrottle_cfs_rq`. The group's entity is placed like a waking sleeper.
    pub(super) fn unthrottle_cfs_rq(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let queue = &self.queues[q];
        let (e, cpu, count) = (queue.entity, queue.cpu, queue.h_nr_running);
        rqs.update_rq_clock(platform, cpu);
        self.limits.clear_throttled(platform, q, rqs.clock(cpu));
        if self.queues[q].load == 0 {
            return;
        }
        if let Some(e) = e {
            self.enqueue_hierarchy(rqs, platform, cpu, e, count, true);
        }
        // A busy CPU is not asked to reschedule: its tick does that.
        if rqs.is_idle_thread(rqs.curr(cpu)) && self.queues[CfsRqId::root(cpu)].nr_running > 0 {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// Handles the end of a period, or hands out returned runtime.
    pub(super) fn bandwidth_timer(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        key: TimerKey,
    ) {
        if let Expiry::Distribute(group) = self.limits.timer(platform, key) {
            while let Some(q) = self.limits.next_to_release(group) {
                self.unthrottle_cfs_rq(rqs, platform, q);
            }
        }
    }

    /// `throttled_hierarchy`: whether queue `q` or one above it is throttled.
    #[inline]
    pub(super) fn throttled_hierarchy_of(&self, q: CfsRqId) -> bool {
        self.limits.is_used() && {
            let mut level = Some(q);
            while let Some(q) = level {
                if self.limits.is_throttled(q) {
                    return true;
                }
                level = self.queues[q].entity.map(|e| self.entities[e].cfs_rq);
            }
            false
        }
    }

    /// `throttled_lb_pair`: whether the group of queue `q` is throttled there or on `other`, so
    /// that its tasks are not balanced.
    pub(super) fn throttled_lb_pair(&self, q: CfsRqId, other: CpuId) -> bool {
        if self.throttled_hierarchy_of(q) {
            return true;
        }
        let mut level = Some(self.queues[q].group);
        while let Some(group) = level {
            if let Some(there) = self.queue_if_any(group, other) {
                return self.throttled_hierarchy_of(there);
            }
            level = self.groups[group].parent;
        }
        false
    }
}
