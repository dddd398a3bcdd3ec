//! Latency of timers: tables of quantiles from which a latency is drawn for each wakeup.
//!
//! A wakeup by a timer does not come at its nominal time: the interrupt is late and takes time
//! itself. The amount varies, and a single number would hide that. A periodic task would then
//! always meet the tick at the same place.

use crate::order::SplitMix64;

/// A table of quantiles: pairs of a share (0 to 1) and a time, ns, with linear interpolation.
#[derive(Clone, PartialEq, Debug)]
pub struct LatencyTable {
    points: Vec<(f64, f64)>,
}

/// Maximum latency of a timer, ns.
pub const LATENCY_MAX_NS: f64 = 1e9;

impl LatencyTable {
    /// Checks a table: the first share is 0, the last is 1, shares rise, times do not fall.
    ///
    /// # Errors
    /// A description of the error and of a correct table.
    pub fn new(points: Vec<(f64, f64)>) -> Result<LatencyTable, String> {
        const FORM: &str = "give [share, ns] from [0, ...] to [1, ...], shares rising";
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(format!("the table is empty; {FORM}"));
        };
        if first.0 != 0.0 || last.0 != 1.0 || points.len() < 2 {
            return Err(format!("the table does not reach from share 0 to share 1; {FORM}"));
        }
        for &(share, ns) in &points {
            if !(0.0..=LATENCY_MAX_NS).contains(&ns) {
                return Err(format!("{ns} ns at {share} is out of range; give 0 to 1e9 ns"));
            }
        }
        for pair in points.windows(2) {
            let ((before, earlier), (share, later)) = (pair[0], pair[1]);
            if share.partial_cmp(&before) != Some(std::cmp::Ordering::Greater) {
                return Err(format!("share {share} follows {before}; {FORM}"));
            }
            if later < earlier {
                return Err(format!("{later} ns at {share} is less than {earlier} ns before it"));
            }
        }
        Ok(LatencyTable { points })
    }

    /// Returns the pairs of share and time, ns.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Multiplies all times by `times`, up to [`LATENCY_MAX_NS`].
    pub fn scale(&mut self, times: f64) {
        for (_, ns) in &mut self.points {
            *ns = (*ns * times).clamp(0.0, LATENCY_MAX_NS);
        }
    }

    /// Returns the latency at `share`, ns.
    pub fn at(&self, share: f64) -> f64 {
        let next = self.points.partition_point(|&(point, _)| point <= share);
        if next == 0 {
            return self.points[0].1;
        }
        let (from, low) = self.points[next - 1];
        match self.points.get(next) {
            Some(&(to, high)) => low + (high - low) * (share - from) / (to - from),
            None => low,
        }
    }

    /// Draws a latency, ps.
    pub fn draw_ps(&self, random: &mut SplitMix64) -> u64 {
        (self.at(random.unit()) * 1000.0).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> LatencyTable {
        LatencyTable::new(vec![(0.0, 2500.0), (0.5, 5000.0), (0.95, 11_000.0), (1.0, 60_000.0)])
            .expect("the table is well formed")
    }

    #[test]
    fn between_two_quantiles_it_is_linear() {
        let table = table();
        assert_eq!(table.at(0.0), 2500.0);
        assert_eq!(table.at(0.25), 3750.0);
        assert_eq!(table.at(0.5), 5000.0);
        assert_eq!(table.at(1.0), 60_000.0);
    }

    #[test]
    fn what_is_drawn_has_these_quantiles() {
        let (table, mut random) = (table(), SplitMix64::new(1));
        let mut drawn: Vec<u64> = (0..10_000).map(|_| table.draw_ps(&mut random) / 1000).collect();
        drawn.sort_unstable();
        assert!((4_900..5_100).contains(&drawn[5_000]), "{}", drawn[5_000]);
        assert!((10_700..11_300).contains(&drawn[9_500]), "{}", drawn[9_500]);
        assert!(drawn[0] >= 2_500 && drawn[9_999] <= 60_000);
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        for (points, what) in [
            (vec![], "empty"),
            (vec![(0.0, 5.0)], "share 1"),
            (vec![(0.1, 5.0), (1.0, 6.0)], "share 0"),
            (vec![(0.0, 5.0), (0.5, 4.0), (1.0, 6.0)], "less than"),
            (vec![(0.0, 5.0), (0.0, 6.0), (1.0, 6.0)], "rising"),
            (vec![(0.0, -5.0), (1.0, 6.0)], "out of range"),
            (vec![(0.0, 5.0), (1.0, f64::NAN)], "out of range"),
            (vec![(0.0, 5.0), (f64::NAN, 5.0), (1.0, 6.0)], "rising"),
        ] {
            let error = LatencyTable::new(points).expect_err("the table is invalid");
            assert!(error.contains(what), "{error}");
        }
    }
}
