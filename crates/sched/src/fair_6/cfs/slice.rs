//! Time for which an entity may run: the period, and the entity's slice of it.

use super::LeastVruntime;
use crate::fair_6::class::Fair;
use crate::fair_6::entity::unscaled;
use crate::fair_6::ids::{CfsRqId, EntityId};

/// 2^32 divided by a load, as kernels store it.
fn inverse(load: u64) -> u64 {
    if load >= 1 << 32 { 1 } else { u64::from(u32::MAX) / load.max(1) }
}

/// `__calc_delta`: `delta_ns` times `weight`, divided by `load`.
pub(super) fn calc_delta(delta_ns: u64, weight: u64, load: u64) -> u64 {
    let mut factor = weight * inverse(load);
    let excess = 64 - (factor >> 32).leading_zeros();
    factor >>= excess;
    ((u128::from(delta_ns) * u128::from(factor)) >> (32 - excess)) as u64
}

impl Fair<LeastVruntime> {
    /// Whether entities are queued on `q` and all of them are idle ones.
    pub(super) fn is_idle_only(&self, q: CfsRqId) -> bool {
        let nr = self.cfs_rqs[q].nr_queued;
        nr > 0 && nr == self.rule.queues[q].idle_nr
    }

    /// `sched_slice`: the part of the period for which `e`, which belongs on `q`, may run, ns.
    pub(super) fn sched_slice(&self, q: CfsRqId, e: EntityId) -> u64 {
        let features = self.features();
        let cpu = self.cfs_rqs[q].cpu;
        let counted = if features.alt_period {
            self.cfs_rqs[CfsRqId::of_cpu(cpu)].h_nr_queued
        } else {
            self.cfs_rqs[q].nr_queued
        };
        let nr = u64::from(counted) + u64::from(!self.se[e].on_rq);
        let tunables = &self.tunables;
        let mut slice = if nr > u64::from(tunables.nr_latency) {
            nr * tunables.min_granularity_ns
        } else {
            tunables.latency_ns
        };
        let mut next = Some(e);
        while let Some(e) = next {
            let entity = &self.se[e];
            let mut load = self.cfs_rqs[self.cfs_rq_of(e)].load;
            if !entity.on_rq {
                load += self.info[e].load;
            }
            slice = calc_delta(slice, u64::from(entity.weight), unscaled(load));
            next = self.parent_of(e);
        }
        if !features.base_slice {
            return slice;
        }
        let idle =
            self.info[e].idle && self.version.has_idle_granularity() && !self.is_idle_only(q);
        slice.max(if idle { tunables.idle_min_granularity_ns } else { tunables.min_granularity_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_values() {
        assert_eq!(calc_delta(6_000_000, 1024, 1024), 5_999_998);
        assert_eq!(calc_delta(6_000_000, 1024, 2048), 2_999_998);
        assert_eq!(calc_delta(6_000_000, 1024, 3072), 1_999_999);
        assert_eq!(calc_delta(6_000_000, 335, 1359), 1_479_028);
        assert_eq!(calc_delta(6_000_000, 1024, 1359), 4_520_971);
        assert_eq!(inverse(1 << 32), 1);
    }
}
