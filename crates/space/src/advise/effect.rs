//! Effects of a change on a figure: [`Effect`].

use super::aim::Measure;
use schedlab_replay::score::Band;

/// Predicted effect of a change on a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {
    /// The figure.
    pub measure: Measure,
    /// Its value in the recording.
    pub recorded: Option<f64>,
    /// Values in the replays without the change.
    pub before: Band,
    /// Values in the replays with it.
    pub after: Band,
}

impl Effect {
    /// Returns the predicted change, relative to the value before. `None`: that value is 0.
    pub fn change(&self) -> Option<f64> {
        relative(self.after.median, self.before.median)
    }

    /// Returns the least and the greatest change that is expected between a recording before and a
    /// recording after the change. `None`: a value before is 0.
    ///
    /// A schedule is chaotic, so any run before may be compared with any run after. The replay of
    /// the recording may also miss the recorded value. The band therefore contains the changes from
    /// the replayed to the replayed values, and those from the recorded to the replayed values. It
    /// is wider by the time that wakeups of an idle CPU take on a real machine only.
    pub fn range(&self) -> Option<(f64, f64)> {
        let mut least = relative(self.after.least, self.before.greatest)?;
        let mut greatest = relative(self.after.greatest, self.before.least)?;
        if let Some(recorded) = self.recorded.filter(|recorded| *recorded > 0.0) {
            least = least.min(relative(self.after.least, recorded)?);
            greatest = greatest.max(relative(self.after.greatest, recorded)?);
        }
        let floor = if self.measure.figure.is_time() { FLOOR_NS / self.before.median } else { 0.0 };
        Some(((least - floor).max(-1.0), greatest + floor))
    }

    /// Whether the difference is within chance, as in the table of a replay.
    pub fn is_alike(&self) -> bool {
        self.before.is_alike(&self.after)
    }
}

/// Time below which an idealised machine differs from a real one, ns.
pub(super) const FLOOR_NS: f64 = 50_000.0;

/// Returns the change from `before` to `after`, relative to `before`.
pub(super) fn relative(after: f64, before: f64) -> Option<f64> {
    (before > 0.0).then(|| after / before - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::Figure;

    #[test]
    fn the_band_contains_the_error_of_the_replay() {
        let ms = |ms: f64| ms * 1e6;
        let band = |least, median, greatest| Band {
            least: ms(least),
            median: ms(median),
            greatest: ms(greatest),
        };
        let measure = Measure { figure: Figure::Run, tasks: None };
        let (before, after) = (band(90.0, 100.0, 110.0), band(140.0, 150.0, 160.0));
        let effect = Effect { measure, recorded: None, before, after };
        assert_eq!(effect.change(), Some(0.5));
        assert!(!effect.is_alike());
        let (least, greatest) = effect.range().expect("a band");
        assert!((least - 140.0 / 110.0 + 1.0).abs() < 1e-3, "{least}");
        assert!((greatest - 160.0 / 90.0 + 1.0).abs() < 1e-3, "{greatest}");
        let (least, _) =
            Effect { recorded: Some(ms(140.0)), ..effect.clone() }.range().expect("one");
        assert!(least.abs() < 1e-3, "{least}");
        let nothing = Effect { before: band(0.0, 0.0, 0.0), ..effect };
        assert_eq!((nothing.change(), nothing.range()), (None, None));
    }
}
