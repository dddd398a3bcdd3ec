//! What the algorithm promises, and whether its books add up.

use super::LeastVruntime;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use alloc::string::String;
use schedlab_core::{Load, Promises};

impl Fair<LeastVruntime> {
    /// What holds for tasks of the fair class, whatever they do: on one CPU without limits, nobody
    /// waits while it idles. A bound on waiting is not argued for: sleepers come back with credit
    /// as often as they like.
    pub(super) fn fair_promises(&self, _: &Load) -> Promises {
        if self.cpus > 1 || self.limits.was_ever_used() {
            return Promises::default();
        }
        Promises { idle_beside_waiting_ns: Some(0), ..Promises::default() }
    }

    /// Buddies are queued, and idle entities are counted.
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
