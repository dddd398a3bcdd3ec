//! The load weights of nice values: the tables of the fair classes since 2.6.23.
//!
//! A task's share of a CPU is its weight divided by the sum of the weights of all tasks runnable
//! there. Each nice step is a factor of about 1.25, so that one step moves some 10 % of a CPU
//! between two CPU hogs.
//!
//! Because division by a weight is too expensive for the kernel, the table includes the rounded
//! inverse, 2^32 / weight, of each.

/// The weight of nice 0.
pub const NICE_0_LOAD: u32 = 1024;

/// `prio_to_weight`: by nice value + 20.
pub const PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// `prio_to_wmult`: the rounded 2^32 / weight, by nice value + 20.
pub const PRIO_TO_WMULT: [u32; 40] = [
    48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644,
    704093, 875809, 1099582, 1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765,
    6557202, 8165337, 10153587, 12820798, 15790321, 19976592, 24970740, 31350126, 39045157,
    49367440, 61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
];

/// The weight of `SCHED_IDLE` from 2.6.29 on.
pub const WEIGHT_IDLEPRIO: u32 = 3;
/// Its inverse.
pub const WMULT_IDLEPRIO: u32 = 1_431_655_765;

/// Returns the weight of a nice value, -20 to 19.
#[inline]
pub const fn weight_of_nice(nice: i32) -> u32 {
    PRIO_TO_WEIGHT[(nice + 20) as usize]
}

/// Returns the table's inverse of the weight of a nice value, -20 to 19.
#[inline]
pub const fn wmult_of_nice(nice: i32) -> u32 {
    PRIO_TO_WMULT[(nice + 20) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_those_of_the_weights() {
        for (weight, wmult) in PRIO_TO_WEIGHT.iter().zip(PRIO_TO_WMULT) {
            let exact = (1u64 << 32) / u64::from(*weight);
            let off = exact.abs_diff(u64::from(wmult));
            assert!(off <= 1 || off * 4000 < exact, "{weight}: {wmult} against {exact}");
        }
    }
}
