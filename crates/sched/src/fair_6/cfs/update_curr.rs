//! Charging: the running entity's vruntime grows with the time for which it runs. At the tick this
//! is followed by the check whether it has run long enough.

use super::LeastVruntime;
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::pick_rule::PickRule;
use schedlab_core::Platform;

impl Fair<LeastVruntime> {
    /// `update_curr`: charges the running entity of `q` for the time since it was last charged.
    #[inline]
    pub(super) fn charge_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let Some(c) = self.cfs_rqs[q].curr else {
            return;
        };
        let now_ns = platform.now_ns();
        let info = &mut self.info[c];
        let clock_ns = now_ns + self.clock_ns;
        let delta_ns = clock_ns - info.exec_start;
        if delta_ns == 0 {
            return;
        }
        info.exec_start = clock_ns;
        let queue = &mut self.cfs_rqs[q];
        if info.task.is_some() {
            self.exec_clock[queue.cpu.index()] += delta_ns;
        }
        self.rule.entities[c].ran_ns += delta_ns;
        queue.exec_clock += delta_ns;
        let entity = &mut self.se[c];
        entity.vruntime = entity.vruntime.plus(entity.vt(delta_ns));
        self.update_min_vruntime(q);
        let cpu = self.cfs_rqs[q].cpu;
        if self.limits.is_used() && !self.limits.account(platform, q, now_ns, delta_ns) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `update_min_vruntime`: the smallest vruntime of the queued entities, never decreasing. A
    /// running entity that has left the queue does not count.
    #[inline]
    pub(super) fn update_min_vruntime(&mut self, q: CfsRqId) {
        self.rule.follow(q, &self.cfs_rqs[q], &self.se);
    }

    /// `check_preempt_tick`: preempts the running `e` if it has used its slice, or is a slice ahead
    /// of the leftmost entity (in virtual time, though the slice is real time).
    pub(super) fn check_preempt_tick(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
    ) {
        let queue = &self.cfs_rqs[q];
        if queue.nr_queued <= 1 {
            return;
        }
        let cpu = queue.cpu;
        let slice = self.sched_slice(q, e);
        let ran_ns = self.rule.entities[e].ran_ns;
        if ran_ns > slice {
            rqs.resched_curr(platform, cpu);
            // Otherwise its buddy marks would bring it back.
            LeastVruntime::clear_buddies(self, e);
            return;
        }
        if ran_ns < self.tunables.min_granularity_ns {
            return;
        }
        let Some(leftmost) = queue.tree.leftmost() else {
            return;
        };
        let ahead = self.se[e].vruntime.since(self.se[leftmost].vruntime);
        if ahead >= 0 && ahead as u64 > slice {
            rqs.resched_curr(platform, cpu);
        }
    }
}
