//! `NI_RANDOM`: newly idle CPUs balance less often if that achieves little (6.18's stable series,
//! and back-ports of it).
//!
//! Each CPU counts, for each domain, how often it has gone idle and how often balancing then
//! brought a task. After 1024 calls the share of successes becomes the probability with which the
//! domain is balanced from then on, and both counts are halved. A pass that is made in spite of a
//! low probability counts for all the passes that were omitted.
//!
//! The feature is off unless it is enabled: golden schedules were made without it.

/// The denominator of counts and probabilities.
const WHOLE: u32 = 1024;

/// Success of newly idle balancing of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewidleStats {
    calls: u32,
    success: u32,
    ratio: u32,
}

impl Default for NewidleStats {
    fn default() -> NewidleStats {
        NewidleStats { calls: WHOLE / 2, success: WHOLE / 4, ratio: WHOLE / 2 }
    }
}

impl NewidleStats {
    /// Number of random values out of 1024, minus one, for which the domain is balanced.
    pub fn weight(&self) -> u32 {
        1 + self.ratio
    }

    /// Whether the domain is balanced, given a random `number`.
    pub fn may(&self, number: u64) -> bool {
        number % u64::from(WHOLE) <= u64::from(self.weight())
    }

    /// Counts a call. `brought`: it moved a task. A call that is omitted counts as one that moved
    /// nothing.
    pub fn count(&mut self, brought: bool) {
        self.calls += 1;
        if brought {
            let weight = self.weight();
            self.success += (WHOLE + weight / 2) / weight;
        }
        if self.calls >= WHOLE {
            self.ratio = self.success.min(WHOLE);
            self.calls /= 2;
            self.success /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_that_brings_nothing_is_balanced_ever_more_seldom() {
        let mut stats = NewidleStats::default();
        assert_eq!(stats.weight(), 513);
        assert!(stats.may(513) && !stats.may(514) && stats.may(1024));
        // 512 calls up to 1024: the initial credit is left.
        (0..512).for_each(|_| stats.count(false));
        assert_eq!(stats, NewidleStats { calls: 512, success: 128, ratio: 256 });
        (0..512).for_each(|_| stats.count(false));
        assert_eq!(stats, NewidleStats { calls: 512, success: 64, ratio: 128 });
    }

    #[test]
    fn a_seldom_success_counts_for_the_calls_not_made() {
        let mut stats = NewidleStats { calls: 0, success: 0, ratio: 255 };
        stats.count(true);
        assert_eq!((stats.calls, stats.success), (1, 4));
        let mut stats = NewidleStats::default();
        stats.count(true);
        // round(1024 / 513) = 2
        assert_eq!((stats.calls, stats.success), (513, 258));
    }
}
