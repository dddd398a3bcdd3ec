//! Values under all conditions of an experiment: [`Distribution`].

use schedlab_measure::histogram::median_of_sorted;

/// Numbers in ascending order; NaN comes last.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    sorted: Vec<f64>,
}

impl Distribution {
    /// Creates the distribution of these numbers.
    pub fn new(values: &[f64]) -> Distribution {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Distribution { sorted }
    }

    /// Returns the numbers in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Returns the middle number, or the mean of the two middle numbers. NaN if there is none.
    pub fn median(&self) -> f64 {
        median_of_sorted(&self.sorted).unwrap_or(f64::NAN)
    }

    /// Returns the minimum.
    pub fn least(&self) -> f64 {
        self.sorted.first().copied().unwrap_or(f64::NAN)
    }

    /// Returns the maximum.
    pub fn most(&self) -> f64 {
        self.sorted.last().copied().unwrap_or(f64::NAN)
    }

    /// Whether all numbers are equal.
    pub fn is_single(&self) -> bool {
        self.sorted.first() == self.sorted.last()
    }

    /// Returns the percentage of the numbers below `value`; a number equal to it counts as half
    /// below.
    pub fn percentile(&self, value: f64) -> f64 {
        let below = self.sorted.iter().filter(|one| **one < value).count() as f64;
        let equal = self.sorted.iter().filter(|one| **one == value).count() as f64;
        100.0 * (below + equal / 2.0) / self.sorted.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_there() {
        assert_eq!(Distribution::new(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Distribution::new(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(Distribution::new(&[7.0]).median(), 7.0);
        assert!(Distribution::new(&[]).median().is_nan());
        assert_eq!(Distribution::new(&[f64::NAN, 1.0, 2.0]).median(), 2.0);
    }

    /// Of ten numbers, four lie below 5 and one is 5: 45 percent.
    #[test]
    fn the_percentile_is_the_part_that_lies_below() {
        let ten = Distribution::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        assert_eq!(ten.percentile(5.0), 45.0);
        assert_eq!(ten.percentile(5.5), 50.0);
        assert_eq!(ten.percentile(0.0), 0.0);
        assert_eq!(ten.percentile(11.0), 100.0);
        assert_eq!((ten.least(), ten.most(), ten.is_single()), (1.0, 10.0, false));
        let same = Distribution::new(&[2.0, 2.0]);
        assert_eq!((same.percentile(2.0), same.is_single()), (50.0, true));
    }
}
