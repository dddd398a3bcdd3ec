//! Weights, and the arithmetic that scales time by them.

use super::releases::InverseRule;
use crate::classes::weights::{
    NICE_0_LOAD, WEIGHT_IDLEPRIO, WMULT_IDLEPRIO, weight_of_nice, wmult_of_nice,
};
use schedlab_core::{Policy, SchedAttr};

/// `load_weight`: a weight and its inverse (about 2^32 / weight), which saves the kernel a
/// division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadWeight {
    /// The weight.
    pub weight: u64,
    /// 2^32 / weight: from the table for a task, computed for all other weights.
    pub inverse: u64,
}

/// The weight of a real-time task. Only the balancer uses it.
const RT_LOAD: LoadWeight = LoadWeight { weight: 2 * 88761, inverse: 24194 };

impl LoadWeight {
    /// Returns the weight of a task.
    pub fn of_task(attr: &SchedAttr, old_idle_weight: bool) -> LoadWeight {
        match attr.policy {
            Policy::Fifo | Policy::RoundRobin | Policy::Deadline => RT_LOAD,
            // Before 2.6.29 the inverse of the idle weight was written as 1 << 31 in a signed int,
            // which 64-bit machines sign-extend. Products with it wrap, and the result is
            // meaningless. But it is what those kernels computed.
            Policy::Idle if old_idle_weight => {
                LoadWeight { weight: 2, inverse: 0xFFFF_FFFF_8000_0000 }
            }
            Policy::Idle => LoadWeight {
                weight: u64::from(WEIGHT_IDLEPRIO),
                inverse: u64::from(WMULT_IDLEPRIO),
            },
            Policy::Other | Policy::Batch | Policy::Iso => LoadWeight {
                weight: u64::from(weight_of_nice(attr.nice)),
                inverse: u64::from(wmult_of_nice(attr.nice)),
            },
        }
    }

    /// Returns a weight that does not belong to a task: the total of a queue, or that of a group.
    #[inline]
    pub fn computed(weight: u64, rule: InverseRule) -> LoadWeight {
        LoadWeight { weight, inverse: inverse(weight, rule) }
    }
}

/// Returns the kernel's inverse of a weight that is not in the table.
#[inline]
pub fn inverse(weight: u64, rule: InverseRule) -> u64 {
    const ONE: u64 = 1 << 32;
    match rule {
        _ if weight >= ONE => 1,
        // The inverse of weight + 1, slightly below 2^32 / weight.
        InverseRule::OfNext => 1 + (ONE - weight / 2) / (weight + 1),
        InverseRule::OfSame => 1 + (ONE - weight / 2) / weight,
        // (A group that has never had a task has weight 0.)
        InverseRule::Floor => ONE.checked_div(weight).unwrap_or(ONE),
    }
}

/// `calc_delta_mine`: `delta * weight / (the weight whose inverse is given)`, without a division.
/// Every product is taken modulo 2^64.
#[inline]
pub fn calc_delta_mine(delta: u64, weight: u64, inverse: u64) -> u64 {
    let product = delta.wrapping_mul(weight);
    let scaled = if product > 1 << 32 {
        (product.wrapping_add(1 << 15) >> 16).wrapping_mul(inverse).wrapping_add(1 << 15) >> 16
    } else {
        product.wrapping_mul(inverse).wrapping_add(1 << 31) >> 32
    };
    scaled.min(i64::MAX as u64)
}

/// `calc_delta_fair`: real time as virtual time, for an entity of this weight, ns.
#[inline]
pub fn calc_delta_fair(delta: u64, load: LoadWeight) -> u64 {
    if load.weight == u64::from(NICE_0_LOAD) {
        delta
    } else {
        calc_delta_mine(delta, u64::from(NICE_0_LOAD), load.inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: InverseRule = InverseRule::OfNext;

    #[test]
    fn inverses_and_products_are_the_kernels() {
        assert_eq!(
            [1024, 2048, 2383, 3072].map(|weight| inverse(weight, NEXT)),
            [4190212, 2096129, 1801580, 1397646]
        );
        let over = |delta, weight, total| calc_delta_mine(delta, weight, inverse(total, NEXT));
        assert_eq!(over(5_000_000, 1024, 1024), 4_995_122);
        assert_eq!(over(15_000_000, 1024, 1024), 14_985_366);
        assert_eq!(over(5_000_000, 1024, 2048), 2_498_780);
        assert_eq!(over(5_000_000, 335, 2383), 702_601);
        let nice = |nice| LoadWeight::of_task(&SchedAttr::nice(nice), false);
        assert_eq!(calc_delta_fair(702_601, nice(5)), 2_147_652);
        assert_eq!(calc_delta_fair(1_000_000, nice(5)), 3_056_716);
        assert_eq!(calc_delta_fair(1_000_000, nice(-5)), 328_100);
        assert_eq!(calc_delta_fair(1_000_000, nice(0)), 1_000_000);
        assert_eq!(calc_delta_fair(1_000_000, LoadWeight::computed(2048, NEXT)), 499_756);
    }

    #[test]
    fn the_inverses_of_3_2_are_rounded_down() {
        let weights = [1024, 2048, 3072, 2383, 0];
        let inverses = weights.map(|weight| inverse(weight, InverseRule::Floor));
        assert_eq!(inverses, [4194304, 2097152, 1398101, 1802336, 1 << 32]);
        // The slice of a lone task is the whole period.
        assert_eq!(calc_delta_mine(6_000_000, 1024, inverses[0]), 6_000_000);
    }
}
