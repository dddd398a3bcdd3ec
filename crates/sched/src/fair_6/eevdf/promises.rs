//! Guarantees of the algorithm, and consistency checks.

use super::EarliestDeadline;
use crate::classes::weights::{WEIGHT_IDLEPRIO, weight_of_nice};
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use crate::fair_6::rule_state::FairVersion as _;
use alloc::string::String;
use schedlab_core::{Load, Promises};

impl Fair<EarliestDeadline> {
    /// Guarantees for all tasks of the fair class.
    ///
    /// **Waiting.** Lag is bounded: no task is owed more than the longest request (protection, and
    /// a tick by which it may overrun), and no task has received more in excess than its own
    /// request and a tick. So a task of weight w waits at most until the queue has served W / w
    /// times the sum of the two. Other tasks that leave with positive lag, or join with negative
    /// lag, move V by no more than the same amount again.
    ///
    /// **Equal CPU-bound tasks** differ by at most the sum of one's excess and the other's deficit.
    ///
    /// None of this is guaranteed with groups, whose weights may be anything, nor with BORE, which
    /// changes weights all the time. Nothing at all is
    /// guaranteed with limited groups, nor on more than one CPU: a task may wait while another CPU
    /// is idle for as long as it counts as cache hot, as ineligible, or as the only one worth
    /// examining, and balancing examines 32 tasks at a time.
    pub(super) fn fair_promises(&self, load: &Load) -> Promises {
        if self.cpus > 1 || self.limits.was_ever_used() {
            return Promises::default();
        }
        let idle_beside_waiting_ns = Some(0);
        if self.groups.len() > 1 || self.tunables.bore.is_some() {
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

    /// Checks that the sums of queue `q` are right and that some entity is eligible.
    pub(super) fn audit_eligible(&self, q: CfsRqId) -> Result<(), String> {
        let queue = &self.cfs_rqs[q];
        if self.version.has_one_tree() && queue.owner.is_some() {
            // It has no tree.
            return Ok(());
        }
        if !queue.audit_sums(&self.se) {
            return Err("the sums are wrong".into());
        }
        let is_eligible = |e| queue.eligible(&self.se, self.se[e].vruntime);
        if queue.nr_queued > 0 && !self.queued_on(q).into_iter().any(is_eligible) {
            return Err("no entity is eligible".into());
        }
        Ok(())
    }
}
