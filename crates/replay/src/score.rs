//! Reliability of a replay: compares the recording with a replay under the recorded scheduler. The
//! bounds are derived from recordings of the same work under two settings.

use crate::stats::TaskStats;

/// Share of the trace's length: errors of waiting are relative to at least this. On a nearly idle
/// machine, tasks wait for no more than an idle CPU needs to wake, and an error of 100 % of that
/// is nothing.
const IDLE_SHARE: f64 = 0.01;

/// Quality of a replay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// As close to the recording as two recordings of the same work are to each other.
    Close,
    /// Large changes are credible.
    Fair,
    /// The replay is no longer the same work.
    Poor,
}

impl Grade {
    /// Returns the grade as a word.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Close => "close",
            Grade::Fair => "fair",
            Grade::Poor => "poor",
        }
    }

    fn of(value: f64, close: f64, fair: f64) -> Grade {
        match value {
            value if value <= close => Grade::Close,
            value if value <= fair => Grade::Fair,
            _ => Grade::Poor,
        }
    }

    /// Returns the grade for errors of ends and of waiting.
    pub fn of_errors(end: f64, wait: f64) -> Grade {
        Grade::of(end, 0.05, 0.15).max(Grade::of(wait, 0.25, 0.45))
    }

    /// Returns the grade for the share of CPU time in gaps and the share of wakeups missing from
    /// the trace.
    pub fn of_record(gaps: f64, unseen: f64) -> Grade {
        Grade::of(gaps, 0.025, 0.1).max(Grade::of(unseen, 0.01, 0.05))
    }
}

/// Figure of an ensemble.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Band {
    /// Median.
    pub median: f64,
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub greatest: f64,
}

impl Band {
    /// Returns the band of these values, or all 0 if there are none.
    pub fn of(mut values: Vec<f64>) -> Band {
        values.sort_by(f64::total_cmp);
        let (Some(&least), Some(&greatest)) = (values.first(), values.last()) else {
            return Band::default();
        };
        let half = values.len() / 2;
        let median = match values.len() % 2 {
            1 => values[half],
            _ => f64::midpoint(values[half - 1], values[half]),
        };
        Band { median, least, greatest }
    }

    /// Returns the width of the band, relative to the median.
    pub fn width(&self) -> f64 {
        if self.median > 0.0 { (self.greatest - self.least) / self.median } else { 0.0 }
    }

    /// Whether `other` is indistinguishable: the median of one lies within the other.
    pub fn is_alike(&self, other: &Band) -> bool {
        let within = |it: &Band, value: f64| (it.least..=it.greatest).contains(&value);
        within(self, other.median) || within(other, self.median)
    }
}

/// Compared figures of a group.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Pair {
    /// Recorded CPU time, ns.
    pub cpu_ns: f64,
    /// Difference in CPU time between the recording and the replay of the unchanged workload, over
    /// those tasks of the group that end, ns.
    pub lost_cpu_ns: f64,
    /// End in the recording and in the replay, ns.
    pub end_ns: (f64, f64),
    /// Waiting time in the recording and in the replay, ns.
    pub wait_ns: (f64, f64),
    /// Length of the trace, ns.
    pub span_ns: f64,
    /// Number of long waits in the recording and in the replay.
    pub long: (f64, f64),
    /// Widths of the ensemble's bands of end and waiting time.
    pub band: (f64, f64),
}

impl Pair {
    /// Returns the relative difference of the ends.
    pub fn err_end(&self) -> f64 {
        let (recorded, replayed) = self.end_ns;
        (replayed - recorded).abs() / recorded.max(1.0)
    }

    /// Returns the relative difference of the waiting times.
    pub fn err_wait(&self) -> f64 {
        let (recorded, replayed) = self.wait_ns;
        (replayed - recorded).abs() / recorded.max(5e6).max(IDLE_SHARE * self.span_ns)
    }

    /// Returns the relative difference of the long waits.
    pub fn err_long(&self) -> f64 {
        let (recorded, replayed) = self.long;
        (replayed - recorded).abs() / recorded.max(10.0)
    }

    /// Returns the grade of this group.
    pub fn grade(&self) -> Grade {
        Grade::of_errors(self.err_end(), self.err_wait())
    }
}

/// Reliability of a replay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Error of ends, weighted by CPU time.
    pub e_end: f64,
    /// Error of waiting.
    pub e_wait: f64,
    /// Error of CPU time: 0 if all work was done.
    pub e_cpu: f64,
    /// Median widths of the bands of end and waiting time.
    pub band: (f64, f64),
    /// Overall grade.
    pub grade: Grade,
}

impl Score {
    /// Returns the score of these groups. `record` is the grade of the recording itself.
    pub fn of(groups: &[Pair], record: Grade) -> Score {
        let sum = |value: &dyn Fn(&Pair) -> f64| groups.iter().map(value).sum::<f64>();
        let cpu = sum(&|it| it.cpu_ns).max(1.0);
        let e_end = sum(&|it| it.cpu_ns * it.err_end()) / cpu;
        let recorded_wait = sum(&|it| it.wait_ns.0);
        let span = groups.iter().map(|it| it.span_ns).fold(0.0, f64::max);
        let least = (0.05 * cpu).max(5e6).max(IDLE_SHARE * span);
        let e_wait = sum(&|it| (it.wait_ns.1 - it.wait_ns.0).abs()) / recorded_wait.max(least);
        let e_cpu = sum(&|it| it.lost_cpu_ns) / cpu;
        let middle =
            |value: &dyn Fn(&Pair) -> f64| Band::of(groups.iter().map(value).collect()).median;
        let band = (middle(&|it| it.band.0), middle(&|it| it.band.1));
        let grade = Grade::of_errors(e_end, e_wait).max(record);
        Score { e_end, e_wait, e_cpu, band, grade }
    }

    /// Returns the error of predicted ends to expect, from recordings whose replay was off by as
    /// much as this one: the median, and the bound for nine of ten cases. `None`: there were no
    /// such recordings.
    pub fn expected_end(&self) -> Option<(f64, f64)> {
        Some(match self.e_end {
            error if error <= 0.02 => (0.009, 0.125),
            error if error <= 0.05 => (0.054, 0.166),
            error if error <= 0.15 => (0.061, 0.59),
            _ => return None,
        })
    }

    /// Does for waiting what [`Score::expected_end`] does for ends.
    pub fn expected_wait(&self) -> (f64, f64) {
        match self.e_wait {
            error if error <= 0.05 => (0.033, 0.19),
            error if error <= 0.15 => (0.18, 0.60),
            error if error <= 0.50 => (0.29, 0.74),
            _ => (0.26, 1.78),
        }
    }
}

/// Returns which groups of `groups` have at least a hundredth of the CPU time.
pub fn large(groups: &[(String, TaskStats)]) -> Vec<bool> {
    let all: u64 = groups.iter().map(|(_, groups)| groups.cpu_ns).sum();
    groups.iter().map(|(_, groups)| u128::from(groups.cpu_ns) * 100 >= u128::from(all)).collect()
}
