//! From the length of a burst to a penalty, and from a penalty to a score.

use super::settings::Settings;

/// The largest penalty from which a score is derived: 40 x 256 - 1.
pub const PENALTY_MAX: u32 = 10_239;

/// Logarithm of `burst_ns` to the base 2, plus 1, with 8 fractional bits. The fraction is linear.
#[inline]
pub const fn greed(burst_ns: u64) -> u32 {
    if burst_ns == 0 {
        return 0;
    }
    let zeros = burst_ns.leading_zeros();
    let fraction = (burst_ns << zeros << 1) >> 56;
    256 * (64 - zeros) + fraction as u32
}

impl Settings {
    /// The penalty of a burst.
    #[inline]
    pub fn penalty(&self, burst_ns: u64) -> u16 {
        let scaled = |greed: u32| (greed * u32::from(self.scale)) >> 10;
        if self.patch.penalty_is_whole() {
            scaled(greed(burst_ns)) as u16
        } else {
            let above = greed(burst_ns).saturating_sub(256 * u32::from(self.offset));
            scaled(above).min(PENALTY_MAX) as u16
        }
    }

    /// The part of a penalty that is free.
    #[inline]
    pub fn threshold(&self) -> u32 {
        match self.patch.penalty_is_whole() {
            true => (256 * u32::from(self.offset) * u32::from(self.scale)) >> 10,
            false => 0,
        }
    }

    /// The part of `penalty` that counts.
    #[inline]
    pub fn above(&self, penalty: u16) -> u32 {
        u32::from(penalty).saturating_sub(self.threshold())
    }

    /// The score of a penalty, 0 to 39: the steps by which it raises the nice value. It is 0 while
    /// BORE is off.
    #[inline]
    pub fn score(&self, penalty: u16) -> i32 {
        match self.is_on {
            true => (self.above(penalty).min(PENALTY_MAX) >> 8) as i32,
            false => 0,
        }
    }

    /// The history after a burst whose penalty was `curr`: it falls at once, and rises by a part of
    /// the difference.
    #[inline]
    pub fn history(&self, prev: u16, curr: u16) -> u16 {
        match curr.checked_sub(prev) {
            None => curr,
            Some(growth) => prev + growth.div_ceil(1 << self.smoothness),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::releases::Patch;
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn logarithms_of_the_worked_examples() {
        let examples = [(0, 0), (1, 256), (3, 640), (MS, 5352), (14 * MS, 6315), (50 * MS, 6781)];
        for (burst, expected) in examples {
            assert_eq!(greed(burst), expected, "{burst} ns");
        }
        assert_eq!((greed(1000 * MS), greed(u64::MAX)), (7900, 16_639));
    }

    #[test]
    fn penalties_and_scores_of_6_5_9() {
        let settings = Settings::new(Patch::V6_5_9, 1000);
        for (burst, penalty) in [(MS, 0), (9 * MS, 27), (14 * MS, 256), (50 * MS, 955)] {
            assert_eq!(settings.penalty(burst), penalty, "{burst} ns");
        }
        assert_eq!(settings.penalty(1000 * MS), 2634);
        let firsts = [
            (1, 13_991_936),
            (2, 22_413_312),
            (3, 33_554_432),
            (4, 55_967_744),
            (5, 89_653_248),
            (6, 134_217_728),
            (7, 223_870_976),
            (8, 358_612_992),
            (9, 536_870_912),
            (10, 895_483_904),
            (11, 1_434_451_968),
            (12, 2_147_483_648),
        ];
        for (score, burst) in firsts {
            assert_eq!(settings.score(settings.penalty(burst)), score);
            assert_eq!(settings.score(settings.penalty(burst - 1)), score - 1);
        }
    }

    #[test]
    fn histories_of_6_7_3() {
        let settings = Settings::new(Patch::V6_7_3, 1000);
        assert_eq!(settings.threshold(), 9216);
        let short = settings.penalty(MS);
        assert_eq!(short, 8028);
        let first = settings.history(0, short);
        assert_eq!((first, settings.history(first, short)), (4014, 6021));
        let long = settings.history(8028, settings.penalty(1000 * MS));
        assert_eq!((long, settings.score(long)), (9939, 2));
        assert_eq!(settings.history(9939, 8028), 8028);
        let before = Settings::new(Patch::V6_5_9, 1000);
        assert_eq!(before.score(before.history(0, before.penalty(1000 * MS))), 5);
    }
}
