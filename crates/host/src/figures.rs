//! Figures of samples and of repetitions: quantiles by nearest rank, minimum, median and maximum.

use schedlab_measure::histogram::percentile_of_sorted;
use serde_json::{Value, json};

/// Returns the median: the middle value, or the mean of the two middle values. `None`: no values.
pub fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    match sorted.len() % 2 {
        1 => Some(upper),
        _ => Some(sorted[middle - 1].midpoint(upper)),
    }
}

/// Returns the minimum, median and maximum over the repetitions, in the form of result documents.
pub fn spread(values: &[u64]) -> Value {
    json!({
        "min": values.iter().min(),
        "median": median(values),
        "max": values.iter().max(),
    })
}

/// Number, mean and quantiles of latencies, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latencies {
    /// Number of latencies.
    pub count: u64,
    /// Their mean, rounded down.
    pub mean: u64,
    /// Median, by nearest rank as all quantiles.
    pub p50: u64,
    /// 95 %.
    pub p95: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// The longest latency.
    pub max: u64,
}

impl Latencies {
    /// Returns the figures of these latencies; `None`: no latencies.
    pub fn of(values: &[u64]) -> Option<Latencies> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let sum: u128 = sorted.iter().map(|&value| u128::from(value)).sum();
        Some(Latencies {
            count: sorted.len() as u64,
            mean: (sum / sorted.len().max(1) as u128) as u64,
            p50: percentile_of_sorted(&sorted, 50, 100)?,
            p95: percentile_of_sorted(&sorted, 95, 100)?,
            p99: percentile_of_sorted(&sorted, 99, 100)?,
            p999: percentile_of_sorted(&sorted, 999, 1000)?,
            max: *sorted.last()?,
        })
    }

    /// Returns the figures, by their names in result documents.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("count", self.count),
            ("mean", self.mean),
            ("p50", self.p50),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99.9", self.p999),
            ("max", self.max),
        ]
    }
}

/// Encodes a list of whole numbers as the first one, followed by the difference to each
/// predecessor.
pub fn delta_coded(values: &[u64]) -> Vec<i64> {
    let mut before = 0;
    let delta = |&value: &u64| {
        let delta = value as i64 - before;
        before = value as i64;
        delta
    };
    values.iter().map(delta).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_is_their_mean() {
        assert_eq!(median(&[9, 1, 5]), Some(5));
        assert_eq!(median(&[9, 1]), Some(5));
        assert_eq!(median(&[u64::MAX, u64::MAX]), Some(u64::MAX));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn latencies_have_their_figures() {
        let latencies = Latencies::of(&[30, 10, 20]).unwrap();
        assert_eq!(
            (latencies.count, latencies.mean, latencies.p50, latencies.max),
            (3, 20, 20, 30)
        );
        assert_eq!(Latencies::of(&[]), None);
    }

    #[test]
    fn deltas_add_up_to_the_values() {
        let values = [5, 3, 3, 10];
        let mut sum = 0;
        let back: Vec<i64> = delta_coded(&values)
            .into_iter()
            .map(|delta| {
                sum += delta;
                sum
            })
            .collect();
        assert_eq!(back, [5, 3, 3, 10]);
    }
}
