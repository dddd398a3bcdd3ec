//! Distribution of durations: [`Spread`], and in full as rows of a histogram: [`BucketRow`];
//! distribution of ratios: [`RatioSpread`].

use super::ratio;
use schedlab_measure::histogram::percentile_of_sorted;
use schedlab_measure::stats::SLOWDOWN_PARTS;
use schedlab_measure::{Histogram, Moments};
use serde::{Deserialize, Serialize};

/// Distribution of durations. Without any durations, everything except the count and the sum is
/// `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Number of durations.
    pub count: u64,
    /// Sum, ns.
    pub sum_ns: u64,
    /// Minimum, ns.
    pub min_ns: Option<u64>,
    /// Mean, ns, rounded down.
    pub mean_ns: Option<u64>,
    /// Median, ns. Percentiles are nearest-rank.
    pub p50_ns: Option<u64>,
    /// 90th percentile, ns.
    pub p90_ns: Option<u64>,
    /// 95th percentile, ns.
    pub p95_ns: Option<u64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile, ns.
    pub p999_ns: Option<u64>,
    /// Maximum, ns.
    pub max_ns: Option<u64>,
    /// Standard deviation of the whole population (divisor n), ns, rounded.
    pub sd_population_ns: Option<u64>,
    /// Standard deviation of a sample (divisor n - 1), ns, rounded. `None`: fewer than two
    /// durations.
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

/// Distribution of ratios of at least 1, each rounded down to a thousandth. Without any ratios,
/// everything except the count and the sum is `None`.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RatioSpread {
    /// Number of ratios.
    pub count: u64,
    /// Sum.
    pub sum: f64,
    /// Minimum.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Median. Percentiles are nearest-rank.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
    /// Standard deviation of the whole population (divisor n).
    pub sd_population: Option<f64>,
    /// Standard deviation of a sample (divisor n - 1). `None`: fewer than two ratios.
    pub sd_sample: Option<f64>,
}

impl RatioSpread {
    /// Returns the distribution of ratios given their excess over 1, in thousandths.
    pub fn of_excess(excess: &Histogram) -> RatioSpread {
        let moments = excess.moments();
        let parts = SLOWDOWN_PARTS as f64;
        let some = |parts_beyond: u64| 1.0 + parts_beyond as f64 / parts;
        let at = |numerator, denominator| {
            excess.percentile(numerator, denominator).map(|beyond| ratio(some(beyond)))
        };
        let sum = moments.count as f64 + moments.sum as f64 / parts;
        let sd = |variance: Option<f64>| variance.map(|variance| ratio(variance.sqrt() / parts));
        let any = moments.count > 0;
        RatioSpread {
            count: moments.count,
            sum: ratio(sum),
            min: any.then(|| ratio(some(moments.min))),
            mean: any.then(|| ratio(sum / moments.count as f64)),
            p50: at(50, 100),
            p90: at(90, 100),
            p95: at(95, 100),
            p99: at(99, 100),
            p999: at(999, 1000),
            max: any.then(|| ratio(some(moments.max))),
            sd_population: sd(moments.population_variance()),
            sd_sample: sd(moments.sample_variance()),
        }
    }
}

/// Bucket of a histogram: smallest and largest value that belong to it (ns), and number of values
/// in it. An array of three in JSON.
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
    fn a_spread_of_ratios_by_hand() {
        let mut excess = Histogram::new();
        [0, 500, 100, 0, 250].into_iter().for_each(|parts| excess.note(parts));
        let spread = RatioSpread::of_excess(&excess);
        assert_eq!((spread.count, spread.sum, spread.mean), (5, 5.85, Some(1.17)));
        assert_eq!((spread.min, spread.p50), (Some(1.0), Some(1.1)));
        assert_eq!((spread.p90, spread.max), (Some(1.5), Some(1.5)));
        assert_eq!(RatioSpread::of_excess(&Histogram::new()), RatioSpread::default());
    }

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
