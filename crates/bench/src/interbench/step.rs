//! One periodic step of interbench: lateness, missed deadlines, and the time to sleep.
//! [`Deadlines`] contains the arithmetic and no program. All times are in whole us, as in the real
//! program.

use schedlab_measure::Moments;

/// Counts of the emulation of one task so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Latencies, us.
    pub latency: Moments,
    /// Number of deadlines met and missed.
    pub met: u64,
    pub missed: u64,
    /// Work done, and work not done for lack of time; steps, or us for the game.
    pub done: u64,
    pub missed_work: u64,
}

impl Counts {
    /// Returns the mean latency, us, rounded down as in the program.
    pub(super) fn mean_us(&self) -> u64 {
        self.latency.mean().unwrap_or(0)
    }

    /// Returns what the program prints as the standard deviation. It uses the square of the mean
    /// instead of the square of the sum, and so prints nearly the root mean square.
    pub(super) fn printed_deviation_us(&self) -> f64 {
        let count = self.latency.count as f64;
        if count < 2.0 {
            return 0.0;
        }
        let mean = self.mean_us() as f64;
        ((self.latency.sum_of_squares as f64 - mean * mean / count) / (count - 1.0)).max(0.0).sqrt()
    }

    /// Returns the true standard deviation of the sample.
    pub(super) fn deviation_us(&self) -> f64 {
        self.latency.sample_variance().unwrap_or(0.0).max(0.0).sqrt()
    }

    pub(super) fn max_us(&self) -> u64 {
        if self.latency.count > 0 { self.latency.max } else { 0 }
    }

    /// Returns the percentage of the desired CPU time.
    pub(super) fn desired_percent(&self) -> f64 {
        percent(self.done, self.missed_work)
    }

    /// Returns the percentage of deadlines met.
    pub(super) fn met_percent(&self) -> f64 {
        percent(self.met, self.missed)
    }
}

/// Returns `part` in percent of `part + rest`; 100 if both are 0.
fn percent(part: u64, rest: u64) -> f64 {
    if part + rest == 0 { 100.0 } else { part as f64 * 100.0 / (part + rest) as f64 }
}

/// Action of a task when a step has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepStart {
    /// Works, and then calls [`Deadlines::end`].
    Work,
    /// It is too late to work at all: sleeps for this time, us.
    Sleep(u64),
}

/// Deadlines of a periodic task.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    /// Due time of this step, us.
    deadline_us: u64,
    /// Excess of the timekeeper's last sleep, us.
    pub over_us: u64,
    /// Lateness of this step, us.
    late_us: u64,
    pub counts: Counts,
}

impl Deadlines {
    /// Creates deadlines whose first step is due now.
    pub(super) fn from(now_us: u64) -> Deadlines {
        Deadlines { deadline_us: now_us, ..Deadlines::default() }
    }

    /// Begins a step now.
    pub(super) fn begin(&mut self, now_us: u64, interval_us: u64) -> StepStart {
        self.late_us = now_us.saturating_sub(self.deadline_us).saturating_sub(self.over_us);
        if interval_us == 0 || now_us <= self.deadline_us + interval_us {
            return StepStart::Work;
        }
        self.deadline_us += interval_us;
        let intervals = self.pass(now_us, interval_us);
        self.counts.missed_work += intervals;
        self.record(intervals * interval_us);
        StepStart::Sleep(self.deadline_us - now_us)
    }

    /// Ends the work of the step. Returns the time to sleep, us.
    pub(super) fn end(&mut self, now_us: u64, interval_us: u64) -> u64 {
        self.counts.done += 1;
        self.deadline_us += interval_us;
        if now_us <= self.deadline_us {
            self.counts.met += 1;
            self.record(0);
        } else if interval_us > 0 {
            let intervals = self.pass(now_us, interval_us);
            if intervals > 1 {
                self.counts.missed_work += intervals;
            }
            self.record(intervals * interval_us);
        } else {
            self.deadline_us = now_us;
            self.record(0);
        }
        self.deadline_us - now_us
    }

    /// Allows the next step to start this much later.
    pub(super) fn allow(&mut self, us: u64) {
        self.deadline_us += us;
    }

    /// Moves the deadline on until it is later than now. Returns the number of intervals, each of
    /// which is a missed deadline.
    fn pass(&mut self, now_us: u64, interval_us: u64) -> u64 {
        let intervals = (now_us - self.deadline_us) / interval_us + 1;
        self.counts.missed += intervals;
        self.deadline_us += intervals * interval_us;
        intervals
    }

    fn record(&mut self, extra_us: u64) {
        self.counts.latency.note(self.late_us + extra_us);
    }
}

/// Work of a periodic task in its steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Demand {
    /// Runs for this time in every interval, us.
    Constant { run_us: u64, interval_us: u64 },
    /// X: runs for i ms of 100 in its step i, for i from 0 to 100 and again. It may start i ms
    /// late.
    X,
}

impl Demand {
    /// Returns the demand of step `number`, counted from 0: (run, interval, allowed lateness), us.
    pub(super) fn of(self, number: u64) -> (u64, u64, u64) {
        match self {
            Demand::Constant { run_us, interval_us } => (run_us, interval_us, 0),
            Demand::X => {
                let run_us = number % 101 * 1_000;
                (run_us, 100_000 - run_us, run_us)
            }
        }
    }
}

/// Returns X with a constant share of a CPU and no delay at wakeups: `steps` steps from 0.
pub(super) fn x_with_share(share: f64, steps: u64) -> Counts {
    let mut now_us = 0;
    let mut deadlines = Deadlines::from(now_us);
    for number in 0..steps {
        let (run_us, interval_us, later_us) = Demand::X.of(number);
        let sleep_us = match deadlines.begin(now_us, interval_us) {
            StepStart::Sleep(us) => us,
            StepStart::Work => {
                now_us += (run_us as f64 / share).round() as u64;
                deadlines.end(now_us, interval_us)
            }
        };
        now_us += sleep_us;
        deadlines.allow(later_us);
    }
    deadlines.counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the specification: three sweeps.
    #[test]
    fn x_with_a_constant_share_of_a_cpu() {
        // share, mean ms, max ms, root mean square ms, "SD" ms, deadlines met %, desired CPU %
        let table = [
            (1.0, 0.00, 0, 0.0, 0.0, 100.0, 100.0),
            (0.9, 0.88, 12, 2.8, 2.85, 75.6, 80.8),
            (0.66, 12.10, 52, 21.5, 21.51, 26.6, 37.5),
            (0.6, 18.07, 67, 29.7, 29.74, 19.7, 30.5),
            (0.5, 32.18, 100, 47.9, 47.97, 11.5, 21.6),
            (0.33, 79.27, 202, 104.5, 104.69, 3.9, 11.3),
        ];
        for (share, mean, max, rms, deviation, met, desired) in table {
            let counts = x_with_share(share, 303);
            assert_eq!(counts.latency.count, 303);
            let near = |value: f64, expected: f64, within: f64, what: &str| {
                assert!(
                    (value - expected).abs() <= within,
                    "{what} with {share}: {value}, not {expected}"
                );
            };
            near(counts.mean_us() as f64 / 1e3, mean, 0.005, "mean");
            near(counts.max_us() as f64 / 1e3, f64::from(max), 0.5, "maximum");
            let rms_now = (counts.latency.sum_of_squares as f64 / 303.0).sqrt() / 1e3;
            near(rms_now, rms, 0.05, "root mean square");
            near(counts.printed_deviation_us() / 1e3, deviation, 0.005, "\"SD\"");
            near(counts.met_percent(), met, 0.05, "deadlines met");
            near(counts.desired_percent(), desired, 0.05, "desired CPU");
        }
    }

    #[test]
    fn a_step_that_starts_after_its_end_is_not_worked_at() {
        let mut deadlines = Deadlines::from(0);
        assert_eq!(deadlines.begin(125_000, 50_000), StepStart::Sleep(25_000));
        let counts = &deadlines.counts;
        // Two intervals were missed. It is 125 ms late in addition to those two.
        assert_eq!((counts.done, counts.missed_work, counts.missed, counts.met), (0, 2, 2, 0));
        assert_eq!(counts.latency.max, 225_000);
        assert_eq!(deadlines.begin(150_000, 50_000), StepStart::Work);
    }

    #[test]
    fn one_missed_interval_is_no_missed_work_but_two_are() {
        let mut deadlines = Deadlines::from(0);
        assert_eq!(deadlines.begin(0, 50_000), StepStart::Work);
        assert_eq!(deadlines.end(60_000, 50_000), 40_000);
        assert_eq!((deadlines.counts.missed, deadlines.counts.missed_work), (1, 0));
        assert_eq!(deadlines.begin(100_000, 50_000), StepStart::Work);
        assert_eq!(deadlines.end(220_000, 50_000), 30_000);
        assert_eq!((deadlines.counts.missed, deadlines.counts.missed_work), (3, 2));
    }

    #[test]
    fn what_the_timekeeper_slept_too_long_is_not_the_schedulers_fault() {
        let mut deadlines = Deadlines::from(0);
        deadlines.over_us = 300;
        assert_eq!(deadlines.begin(1_000, 50_000), StepStart::Work);
        deadlines.end(2_000, 50_000);
        assert_eq!(deadlines.counts.latency.max, 700);
    }
}
