//! How far a replay can be trusted: what was recorded beside what was replayed under the recorded
//! scheduler. The bounds come of recordings of the same work under two settings.

use crate::seen::Seen;

/// How good a replay is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// As near as two recordings of the same work are to each other.
    Close,
    /// Large changes can be believed.
    Fair,
    /// It is not the same work any more.
    Poor,
}

impl Grade {
    /// As a word.
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

    /// Of errors of ends and of waiting.
    pub fn of_errors(end: f64, wait: f64) -> Grade {
        Grade::of(end, 0.05, 0.15).max(Grade::of(wait, 0.25, 0.45))
    }

    /// Of the part of the CPUs' time that lies in gaps, and of the wakeups that nobody saw.
    pub fn of_record(gaps: f64, unseen: f64) -> Grade {
        Grade::of(gaps, 0.025, 0.1).max(Grade::of(unseen, 0.01, 0.05))
    }
}

/// A figure of an ensemble.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Band {
    /// The middle one.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub greatest: f64,
}

impl Band {
    /// Of these values; all 0 of none.
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

    /// Its width, as a part of the median.
    pub fn width(&self) -> f64 {
        if self.median > 0.0 { (self.greatest - self.least) / self.median } else { 0.0 }
    }

    /// Whether `other` is no other figure: the middle of one lies within the other.
    pub fn is_alike(&self, other: &Band) -> bool {
        let within = |it: &Band, value: f64| (it.least..=it.greatest).contains(&value);
        within(self, other.median) || within(other, self.median)
    }
}

/// What is compared of a group.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Pair {
    /// CPU time that was recorded, ns.
    pub cpu_ns: f64,
    /// CPU time of those of its tasks that end that is not the same in the replay of the workload
    /// as it is, ns.
    pub lost_cpu_ns: f64,
    /// The recorded end and that of the replay, ns.
    pub end_ns: (f64, f64),
    /// The recorded waiting and that of the replay, ns.
    pub wait_ns: (f64, f64),
    /// Recorded long waits and those of the replay.
    pub long: (f64, f64),
    /// The widths of the ensemble's bands of end and waiting.
    pub band: (f64, f64),
}

impl Pair {
    /// How far the ends are apart.
    pub fn err_end(&self) -> f64 {
        let (recorded, replayed) = self.end_ns;
        (replayed - recorded).abs() / recorded.max(1.0)
    }

    /// How far the waiting is apart.
    pub fn err_wait(&self) -> f64 {
        let (recorded, replayed) = self.wait_ns;
        (replayed - recorded).abs() / recorded.max(5e6)
    }

    /// How far the long waits are apart.
    pub fn err_long(&self) -> f64 {
        let (recorded, replayed) = self.long;
        (replayed - recorded).abs() / recorded.max(10.0)
    }

    /// The group's own grade.
    pub fn grade(&self) -> Grade {
        Grade::of_errors(self.err_end(), self.err_wait())
    }
}

/// How far a replay can be trusted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Of ends, weighed by CPU time.
    pub e_end: f64,
    /// Of waiting.
    pub e_wait: f64,
    /// Of CPU time: 0 if all was done.
    pub e_cpu: f64,
    /// The middle width of the bands of end and waiting.
    pub band: (f64, f64),
    /// In one word.
    pub grade: Grade,
}

impl Score {
    /// Of these groups; `record`: what the recording itself is worth.
    pub fn of(groups: &[Pair], record: Grade) -> Score {
        let sum = |value: &dyn Fn(&Pair) -> f64| groups.iter().map(value).sum::<f64>();
        let cpu = sum(&|it| it.cpu_ns).max(1.0);
        let e_end = sum(&|it| it.cpu_ns * it.err_end()) / cpu;
        let recorded_wait = sum(&|it| it.wait_ns.0);
        let e_wait = sum(&|it| (it.wait_ns.1 - it.wait_ns.0).abs()) / recorded_wait.max(0.05 * cpu);
        let e_cpu = sum(&|it| it.lost_cpu_ns) / cpu;
        let middle =
            |value: &dyn Fn(&Pair) -> f64| Band::of(groups.iter().map(value).collect()).median;
        let band = (middle(&|it| it.band.0), middle(&|it| it.band.1));
        let grade = Grade::of_errors(e_end, e_wait).max(record);
        Score { e_end, e_wait, e_cpu, band, grade }
    }

    /// By how much predictions missed ends, of recordings whose replay missed them by as much as
    /// this: in the middle, and in nine of ten cases. None: there were no such.
    pub fn expected_end(&self) -> Option<(f64, f64)> {
        Some(match self.e_end {
            error if error <= 0.02 => (0.009, 0.125),
            error if error <= 0.05 => (0.054, 0.166),
            error if error <= 0.15 => (0.061, 0.59),
            _ => return None,
        })
    }

    /// The same of waiting.
    pub fn expected_wait(&self) -> (f64, f64) {
        match self.e_wait {
            error if error <= 0.05 => (0.033, 0.19),
            error if error <= 0.15 => (0.18, 0.60),
            error if error <= 0.50 => (0.29, 0.74),
            _ => (0.26, 1.78),
        }
    }
}

/// The names of those groups of `seen` that have at least a hundredth of the CPU time.
pub fn large(seen: &[(String, Seen)]) -> Vec<bool> {
    let all: u64 = seen.iter().map(|(_, seen)| seen.cpu_ns).sum();
    seen.iter().map(|(_, seen)| u128::from(seen.cpu_ns) * 100 >= u128::from(all)).collect()
}
