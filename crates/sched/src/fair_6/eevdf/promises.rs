//! What the algorithm promises, and whether its books add up.

use super::EarliestDeadline;
use crate::classes::weights::{WEIGHT_IDLEPRIO, weight_of_nice};
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use alloc::string::String;
use schedlab_core::{Load, Promises};

impl Fair<EarliestDeadline> {
    /// What holds for tasks of the fair class, whatever they do.
    ///
    /// **Waiting.** Lag is bounded: nobody is owed more than the longest request (protection, and a
    /// tick by which it may overrun), and nobody has had more than its own and a tick. So a task of
    /// weight w waits at most until the queue has served W / w times the two together. Others that
    /// leave with what they are owed, or come with what they owe, move V by no more than the same
    /// again.
    ///
    /// **Equal hogs** are apart by what one may have had too much and the other too little.
    ///
    /// Nothing of the kind is promised with groups, whose weights may be anything, nothing at all
    /// with limited ones, nor beyond one CPU: a task may wait while another CPU idles for as long
    /// as it counts as cache hot, as ineligible, or as the only one worth looking at, and balancing
    /// looks at 32 tasks at a time.
    pub(super) fn fair_promises(&self, load: &Load) -> Promises {
        if self.cpus > 1 || self.limits.was_ever_used() {
            return Promises::default();
        }
        let idle_beside_waiting_ns = Some(0);
        if self.groups.len() > 1 {
            return Promises { idle_beside_waiting_ns, ..Promises::default() };
        }
        let request_ns =
            u64::from(self.rule.longest_slice.max(self.tunables.base_slice)) + self.tick_ns;
        let least = if self.idle_seen { WEIGHT_IDLEPRIO } else { weight_of_nice(load.nice_max) };
        let total = u64::from(load.tasks) * u64::from(weight_of_nice(load.nice_min));
        let turn_ns = (2 * request_ns).saturating_mul(total) / u64::from(least);
        Promises {
            idle_beside_waiting_ns,
            wait_ns: Some(turn_ns.saturating_mul(2).saturating_add(request_ns)),
            hog_spread_ns: Some(4 * request_ns),
            ..Promises::default()
        }
    }

    /// The sums of queue `q` add up, and somebody is eligible.
    pub(super) fn audit_eligible(&self, q: CfsRqId) -> Result<(), String> {
        let queue = &self.cfs_rqs[q];
        if !queue.audit_sums(&self.se) {
            return Err("the sums do not add up".into());
        }
        let is_eligible = |e| queue.eligible(&self.se, self.se[e].vruntime);
        if queue.nr_queued > 0 && !self.queued_on(q).into_iter().any(is_eligible) {
            return Err("nobody is eligible".into());
        }
        Ok(())
    }
}
