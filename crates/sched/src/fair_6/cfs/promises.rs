//! Guarantees of the algorithm, and consistency checks.

use super::LeastVruntime;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use alloc::string::String;
use schedlab_core::{Load, Promises};

impl Fair<LeastVruntime> {
    /// Guarantees for tasks of the fair class: on one CPU without limits, no task waits while the
    /// CPU is idle. No bound on waiting is claimed, because sleepers return with credit any number
    /// of times.
    pub(super) fn fair_promises(&self, _: &Load) -> Promises {
        if self.cpus > 1 || self.limits.was_ever_used() {
            return Promises::default();
        }
        Promises { idle_beside_waiting_ns: Some(0), ..Promises::default() }
    }

    /// Checks that buddies are queued and that idle entities are counted.
    pub(super) fn audit_state(&self, q: CfsRqId) -> Result<(), String> {
        let (queue, state) = (&self.cfs_rqs[q], &self.rule.queues[q]);
        if [queue.next, state.last].iter().flatten().any(|&buddy| !self.se[buddy].on_rq) {
            return Err("a buddy is not queued".into());
        }
        let idle = self.queued_on(q).into_iter().filter(|&e| self.info[e].idle).count();
        if idle != state.idle_nr as usize {
            return Err(alloc::format!("{} idle entities, found {idle}", state.idle_nr));
        }
        Ok(())
    }
}
