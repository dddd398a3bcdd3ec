//! A weight in three scales.
//!
//! The kernel keeps a group's weight as *shares*: 1024 is the weight of a task at nice 0. Version 1
//! shows them unchanged (`cpu.shares`). Version 2 shows them as a percentage (`cpu.weight`, 100 by
//! default) or as the nice value with about the same weight (`cpu.weight.nice`). Writing in one
//! scale and reading in another rounds as in this file.

/// Weights of nice values, from -20.
const NICE_WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, // -20
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, // -10
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, // 0
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15, // 10
];

/// Returns the shares after writing `weight` to `cpu.weight`: weight x 1024 / 100, to the nearest.
pub const fn shares_of_weight(weight: u64) -> u64 {
    (weight.saturating_mul(1024).saturating_add(50)) / 100
}

/// Returns the value of `cpu.weight` at `shares`: shares x 100 / 1024 to the nearest, 1 to 10000.
pub const fn weight_of_shares(shares: u64) -> u64 {
    match (shares.saturating_mul(100).saturating_add(512)) / 1024 {
        0 => 1,
        weight if weight > 10_000 => 10_000,
        weight => weight,
    }
}

/// Returns the shares after writing `nice` to `cpu.weight.nice`: the weight of a task at that nice
/// value, or `None` outside -20 to 19.
pub fn shares_of_nice(nice: i64) -> Option<u64> {
    let place = usize::try_from(nice.checked_add(20)?).ok()?;
    NICE_WEIGHTS.get(place).copied()
}

/// Returns the value of `cpu.weight.nice` at `shares`: the nice value with the nearest weight, the
/// lower one of two.
pub fn nice_of_shares(shares: u64) -> i64 {
    let (place, _) = NICE_WEIGHTS
        .iter()
        .enumerate()
        .min_by_key(|&(_, &weight)| weight.abs_diff(shares))
        .expect("the table is not empty");
    place as i64 - 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_to_shares() {
        let table = [(1, 10), (33, 338), (100, 1024), (150, 1536), (10_000, 102_400)];
        for (weight, shares) in table {
            assert_eq!(shares_of_weight(weight), shares, "weight {weight}");
            assert_eq!(weight_of_shares(shares), weight, "shares {shares}");
        }
        assert_eq!(weight_of_shares(2), 1);
        assert_eq!(weight_of_shares(262_144), 10_000);
        assert_eq!(weight_of_shares(u64::MAX), 10_000);
    }

    /// The values were written to and read from a running kernel.
    #[test]
    fn nice_to_weight() {
        let read = [
            8668, 7007, 5516, 4519, 3544, 2847, 2271, 1827, 1460, 1164, 932, 744, 596, 479, 381,
            305, 244, 194, 155, 125, 100, 80, 64, 51, 41, 33, 27, 21, 17, 13, 11, 8, 7, 5, 4, 4, 3,
            2, 2, 1,
        ];
        for (nice, expected) in (-20..).zip(read) {
            let shares = shares_of_nice(nice).unwrap();
            assert_eq!(weight_of_shares(shares), expected, "nice {nice}");
            assert_eq!(nice_of_shares(shares), nice);
        }
        assert_eq!(shares_of_nice(-21), None);
        assert_eq!(shares_of_nice(20), None);
        assert_eq!(shares_of_nice(i64::MAX), None);
        assert_eq!(shares_of_nice(i64::MIN), None);
    }

    /// The values were written to and read from a running kernel.
    #[test]
    fn weight_to_nice() {
        let table = [
            (1, 19),
            (2, 18),
            (3, 16),
            (14, 9),
            (15, 9),
            (16, 8),
            (17, 8),
            (18, 8),
            (19, 7),
            (20, 7),
            (25, 6),
            (50, 3),
            (99, 0),
            (101, 0),
            (150, -2),
            (200, -3),
            (1000, -10),
            (5000, -17),
        ];
        for (weight, nice) in table {
            assert_eq!(nice_of_shares(shares_of_weight(weight)), nice, "weight {weight}");
        }
    }
}
