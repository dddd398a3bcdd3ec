//! `sched_yield(2)`: a yield ends the burst, so that a task that yields often always has short
//! ones.

use crate::classes::weights::{PRIO_TO_WEIGHT, PRIO_TO_WMULT};
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::eevdf::EarliestDeadline;
use schedlab_core::Platform;

impl Fair<EarliestDeadline> {
    /// The first part of a yield of the running `task`. A task that becomes heavier by the end of
    /// its burst gets a nearer deadline. Returns whether the rest of a yield is due: not if the
    /// task is alone on its CPU.
    pub(in crate::fair_6::eevdf) fn yield_burst(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
    ) -> bool {
        let e = self.se_of(task);
        let q = self.cfs_rq_of(e);
        self.update_curr(rqs, platform, q);
        let ahead = self.se[e].deadline.since(self.se[e].vruntime);
        let before = self.effective_prio(rqs, task);
        self.end_burst(rqs, platform, task);
        let after = self.effective_prio(rqs, task);
        if before > after {
            let real = ahead.unsigned_abs().wrapping_mul(u64::from(PRIO_TO_WEIGHT[before])) >> 10;
            let scaled = real.wrapping_mul(u64::from(PRIO_TO_WMULT[after])) >> 22;
            let ahead = if ahead < 0 { (scaled as i64).wrapping_neg() } else { scaled as i64 };
            let entity = &mut self.se[e];
            entity.deadline = entity.vruntime.shifted(ahead);
        }
        rqs.nr_running[rqs.cpu_of(task).index()] > 1
    }
}
