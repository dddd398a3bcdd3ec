//! Distributions of durations: [`Histogram`].
//!
//! Each value up to 511 ns has its own bucket. Above, every power of two is divided into 256 equal
//! buckets. A value read back is therefore at most 1/256 (under 0.4 %) above the true one, at any
//! magnitude. Count, sum, smallest and largest value are exact.

/// Number of linear buckets per power of two.
const PER_POWER: u64 = 256;
/// Values below this have a bucket each (the width of a bucket would be 1 or less).
const EXACT_BELOW: u64 = 2 * PER_POWER;
/// Number of buckets for all of `u64`: the exact ones, and 256 for each power of two from 2^9 to
/// 2^63.
pub(crate) const BUCKETS: usize = (EXACT_BELOW + PER_POWER * (64 - 9)) as usize;

/// A histogram of durations in ns.
///
/// All buckets exist from the start (about 115 KB of zeros, of which the operating system allocates
/// only the pages that are written), so recording a value never allocates.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    moments: Moments,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Histogram {
        Histogram { buckets: vec![0; BUCKETS], moments: Moments::default() }
    }

    /// Records a value.
    #[inline]
    pub fn note(&mut self, value: u64) {
        self.buckets[bucket_of(value)] += 1;
        self.moments.note(value);
    }

    /// Returns the number of values, their sum, and the exact extremes.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Returns a percentile by nearest rank: the k-th smallest value with k = ceil(numerator /
    /// denominator x count), at least 1. `percentile(99, 100)` is the 99th percentile. `None`
    /// without values.
    ///
    /// The result is the upper end of the value's bucket, or the exact maximum if that is less. It
    /// is never below the true value, and less than 0.4 % above it.
    pub fn percentile(&self, numerator: u64, denominator: u64) -> Option<u64> {
        let (bucket, _) = self.bucket_of_percentile(numerator, denominator)?;
        Some(upper_end(bucket).min(self.moments.max))
    }

    /// Returns the index of the bucket of a [percentile](Histogram::percentile), and the number of
    /// values in it. `None` without values.
    pub(crate) fn bucket_of_percentile(
        &self,
        numerator: u64,
        denominator: u64,
    ) -> Option<(usize, u64)> {
        let rank = nearest_rank(numerator, denominator, self.moments.count)?;
        let mut seen = 0;
        (bucket_of(self.moments.min)..=bucket_of(self.moments.max)).find_map(|bucket| {
            seen += self.buckets[bucket];
            (seen >= rank).then_some((bucket, self.buckets[bucket]))
        })
    }

    /// Iterates over the non-empty buckets in ascending order: smallest and largest value of the
    /// bucket, and the number of values in it.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0);
        filled.map(|(bucket, &count)| (lower_end(bucket), upper_end(bucket), count))
    }
}

/// Returns the rank of a percentile among `count` values, from 1; `None` if there are none.
pub fn nearest_rank(numerator: u64, denominator: u64, count: u64) -> Option<u64> {
    debug_assert!(denominator > 0 && numerator <= denominator);
    if count == 0 {
        return None;
    }
    let rank = (u128::from(numerator) * u128::from(count)).div_ceil(u128::from(denominator));
    Some((rank as u64).max(1))
}

/// Returns an exact percentile of values sorted in ascending order.
pub fn percentile_of_sorted(sorted: &[u64], numerator: u64, denominator: u64) -> Option<u64> {
    let rank = nearest_rank(numerator, denominator, sorted.len() as u64)?;
    Some(sorted[rank as usize - 1])
}

/// Returns the median of values sorted in ascending order: the middle value, or the mean of the two
/// middle values. `None` without values.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    match sorted.len() % 2 {
        1 => Some(upper),
        _ => Some(f64::midpoint(sorted[middle - 1], upper)),
    }
}

/// Returns the index of the bucket of `value`.
#[inline]
pub(crate) fn bucket_of(value: u64) -> usize {
    if value < EXACT_BELOW {
        return value as usize;
    }
    // The power of two below it, and the 8 bits after the leading one.
    let power = u64::from(value.ilog2());
    let within = (value >> (power - 8)) - PER_POWER;
    (EXACT_BELOW + (power - 9) * PER_POWER + within) as usize
}

fn lower_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT_BELOW {
        return bucket;
    }
    let power = (bucket - EXACT_BELOW) / PER_POWER + 9;
    let within = (bucket - EXACT_BELOW) % PER_POWER;
    (PER_POWER + within) << (power - 8)
}

fn upper_end(bucket: usize) -> u64 {
    match bucket + 1 {
        BUCKETS => u64::MAX,
        next => lower_end(next) - 1,
    }
}

/// Count, sum, sum of squares and extremes of values; all exact integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Sum of the values.
    pub sum: u128,
    /// Sum of their squares (it saturates, far above the sum for 10^9 values of 100 hours).
    pub sum_of_squares: u128,
    /// Smallest value; [`u64::MAX`] without values.
    pub min: u64,
    /// Largest value; `0` without values.
    pub max: u64,
}

impl Default for Moments {
    fn default() -> Self {
        Moments { count: 0, sum: 0, sum_of_squares: 0, min: u64::MAX, max: 0 }
    }
}

impl Moments {
    /// Records a value.
    #[inline]
    pub fn note(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        let square = u128::from(value) * u128::from(value);
        self.sum_of_squares = self.sum_of_squares.saturating_add(square);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Returns the mean, rounded down; `None` without values.
    pub fn mean(&self) -> Option<u64> {
        (self.count > 0).then(|| (self.sum / u128::from(self.count)) as u64)
    }

    /// Returns the population variance (divisor n); `None` without values.
    pub fn population_variance(&self) -> Option<f64> {
        (self.count > 0).then(|| self.squared_deviations() / self.count as f64)
    }

    /// Returns the sample variance (divisor n - 1); `None` for fewer than two values.
    pub fn sample_variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squared_deviations() / (self.count - 1) as f64)
    }

    /// Returns the sum of squared deviations from the mean: sum of squares - sum^2 / n.
    fn squared_deviations(&self) -> f64 {
        let count = u128::from(self.count);
        // With sum = q n + r: sum^2 / n = q sum + r q + r^2 / n. The integer part of the difference
        // is exact.
        let (q, r) = (self.sum / count, self.sum % count);
        let whole =
            self.sum_of_squares.saturating_sub(q.saturating_mul(self.sum).saturating_add(r * q));
        whole as f64 - (r as f64) * (r as f64) / count as f64
    }
}

impl FromIterator<u64> for Moments {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Moments {
        let mut moments = Moments::default();
        values.into_iter().for_each(|value| moments.note(value));
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_lie_side_by_side_from_0_to_the_largest_number() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            assert_eq!(lower_end(bucket), next, "bucket {bucket}");
            assert_eq!(bucket_of(lower_end(bucket)), bucket);
            assert_eq!(bucket_of(upper_end(bucket)), bucket);
            next = upper_end(bucket).wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the largest number");
    }

    #[test]
    fn ranks_are_rounded_up_in_integers() {
        // 0.07 x 100 is 7.000000000000001 in floating point.
        assert_eq!(nearest_rank(7, 100, 100), Some(7));
        assert_eq!(nearest_rank(0, 100, 5), Some(1));
        assert_eq!(nearest_rank(50, 100, 5), Some(3));
        assert_eq!(nearest_rank(99, 100, 5), Some(5));
        assert_eq!(nearest_rank(50, 100, 0), None);
    }

    #[test]
    fn small_values_come_back_exactly() {
        let mut histogram = Histogram::new();
        for value in [15, 20, 35, 40, 50] {
            histogram.note(value);
        }
        let at = |percent| histogram.percentile(percent, 100).unwrap();
        assert_eq!([5, 30, 40, 50, 100].map(at), [15, 20, 20, 35, 50]);
        assert_eq!(histogram.moments().mean(), Some(32));
        assert_eq!(Histogram::new().percentile(50, 100), None);
    }

    #[test]
    fn variances_by_hand() {
        let moments: Moments = [2, 4, 4, 4, 5, 5, 7, 9].into_iter().collect();
        assert_eq!(moments.population_variance(), Some(4.0));
        assert_eq!(moments.sample_variance(), Some(32.0 / 7.0));
        let one: Moments = [5].into_iter().collect();
        assert_eq!((one.population_variance(), one.sample_variance()), (Some(0.0), None));
        assert_eq!(Moments::default().population_variance(), None);
        // Large values with small differences lose no precision.
        let far: Moments = [1 << 40, (1 << 40) + 2].into_iter().collect();
        assert_eq!(far.population_variance(), Some(1.0));
        let odd: Moments = [1 << 40, (1 << 40) + 1].into_iter().collect();
        assert_eq!(odd.population_variance(), Some(0.25));
    }

    proptest! {
        #[test]
        fn percentiles_are_at_most_four_tenths_of_a_percent_above_the_exact_ones(
            mut values in prop::collection::vec(
                (0u32..64, any::<u64>()).prop_map(|(shift, v)| v >> shift),
                1..200,
            ),
            percent in 0u64..=100,
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|&value| histogram.note(value));
            values.sort_unstable();
            let exact = percentile_of_sorted(&values, percent, 100).unwrap();
            let ours = histogram.percentile(percent, 100).unwrap();
            prop_assert!(ours >= exact);
            prop_assert!(ours - exact <= exact / 256);
        }
    }
}
