//! How durations are spread: [`Spread`], and in full as rows of a histogram: [`BucketRow`].

use schedlab_measure::histogram::percentile_of_sorted;
use schedlab_measure::{Histogram, Moments};
use serde::{Deserialize, Serialize};

/// How some durations are spread. Everything but the count and the sum is none if there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum, ns.
    pub sum_ns: u64,
    /// The smallest, ns.
    pub min_ns: Option<u64>,
    /// The mean, ns, rounded down.
    pub mean_ns: Option<u64>,
    /// Nearest-rank percentiles, ns.
    pub p50_ns: Option<u64>,
    /// 90th.
    pub p90_ns: Option<u64>,
    /// 95th.
    pub p95_ns: Option<u64>,
    /// 99th.
    pub p99_ns: Option<u64>,
    /// 99.9th.
    pub p999_ns: Option<u64>,
    /// The largest, ns.
    pub max_ns: Option<u64>,
    /// Standard deviation as of the whole population (divisor n), ns, rounded.
    pub sd_population_ns: Option<u64>,
    /// Standard deviation as of a sample (divisor n - 1), ns, rounded; none for fewer than two.
    pub sd_sample_ns: Option<u64>,
}

impl From<&Moments> for Spread {
    fn from(moments: &Moments) -> Spread {
        let some = moments.count > 0;
        let sd = |variance: Option<f64>| variance.map(|variance| variance.sqrt().round() as u64);
        Spread {
            count: moments.count,
            sum_ns: moments.sum.min(u128::from(u64::MAX)) as u64,
            min_ns: some.then_some(moments.min),
            mean_ns: moments.mean(),
            max_ns: some.then_some(moments.max),
            sd_population_ns: sd(moments.population_variance()),
            sd_sample_ns: sd(moments.sample_variance()),
            ..Spread::default()
        }
    }
}

impl From<&Histogram> for Spread {
    fn from(histogram: &Histogram) -> Spread {
        Spread::from(histogram.moments())
            .with(|numerator, denominator| histogram.percentile(numerator, denominator))
    }
}

impl FromIterator<u64> for Spread {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Spread {
        let mut sorted: Vec<u64> = values.into_iter().collect();
        sorted.sort_unstable();
        let moments: Moments = sorted.iter().copied().collect();
        Spread::from(&moments)
            .with(|numerator, denominator| percentile_of_sorted(&sorted, numerator, denominator))
    }
}

impl Spread {
    fn with(self, percentile: impl Fn(u64, u64) -> Option<u64>) -> Spread {
        Spread {
            p50_ns: percentile(50, 100),
            p90_ns: percentile(90, 100),
            p95_ns: percentile(95, 100),
            p99_ns: percentile(99, 100),
            p999_ns: percentile(999, 1000),
            ..self
        }
    }
}

/// A bucket of a histogram: smallest and largest value that belong there (ns), and how many were
/// noted. An array of three in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BucketRow(pub u64, pub u64, pub u64);

impl From<(u64, u64, u64)> for BucketRow {
    fn from((least_ns, most_ns, count): (u64, u64, u64)) -> BucketRow {
        BucketRow(least_ns, most_ns, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_by_hand() {
        let spread: Spread = [40, 15, 50, 20, 35].into_iter().collect();
        assert_eq!((spread.count, spread.sum_ns, spread.mean_ns), (5, 160, Some(32)));
        assert_eq!((spread.min_ns, spread.p50_ns, spread.p90_ns), (Some(15), Some(35), Some(50)));
        // Squared deviations: 289 + 144 + 9 + 64 + 324 = 830.
        assert_eq!(spread.sd_population_ns, Some(13)); // sqrt 166 = 12.88
        assert_eq!(spread.sd_sample_ns, Some(14)); // sqrt 207.5 = 14.40
        let none: Spread = [].into_iter().collect();
        assert_eq!(none, Spread::default());
    }
}
