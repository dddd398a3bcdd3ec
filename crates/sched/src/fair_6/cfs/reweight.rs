//! Changes of weight. The vruntime stays the same.

use super::LeastVruntime;
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::EntityId;
use schedlab_core::Platform;

impl Fair<LeastVruntime> {
    /// `reweight_entity`: gives `e` the stored weight `weight`.
    pub(super) fn exchange_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        weight: u64,
        inverse: Option<u32>,
    ) {
        let q = self.cfs_rq_of(e);
        let on_rq = self.se[e].on_rq;
        if on_rq {
            if self.cfs_rqs[q].curr == Some(e) {
                self.charge_curr(rqs, platform, q);
            }
            let old = self.info[e].load;
            self.cfs_rqs[q].load -= old;
        }
        self.take_weight(e, weight, inverse);
        if on_rq {
            self.cfs_rqs[q].load += weight;
        }
    }
}
