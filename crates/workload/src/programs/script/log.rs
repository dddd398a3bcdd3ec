//! rt-app's own log: one line per round of a phase.

use super::Scripts;
use schedlab_core::TaskId;
use std::fmt;

/// The log of a run. It keeps the first lines, up to a maximum, and counts the rest.
#[derive(Clone, Debug)]
pub struct Log {
    lines: Vec<LogLine>,
    most: usize,
    left_out: u64,
    cumulative_slack: bool,
    first_start_ns: u64,
    /// By thread: sums of its current phase.
    sums: Vec<Sums>,
}

/// A round of a phase. Times in µs, each summed up in ns and then rounded down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// Thread. Its number is the log's `idx`.
    pub task: TaskId,
    /// Number of the phase in its task. (Not in rt-app's line.)
    pub phase: u32,
    /// Work done in run events, at full capacity.
    pub perf: u64,
    /// Wall time of the run events.
    pub run: u64,
    /// Wall time of the phase.
    pub period: u64,
    /// Start of the phase.
    pub start: u64,
    /// End of the phase.
    pub end: u64,
    /// `start`, counted from the start of the first thread.
    pub rel_st: u64,
    /// Time left before the timer expired; negative if late.
    pub slack: i64,
    /// Sum of the run events' values.
    pub c_duration: u64,
    /// Sum of the timers' periods.
    pub c_period: u64,
    /// Sum of the wake-up latencies after timers.
    pub wu_lat: u64,
}

impl LogLine {
    /// Names of the columns, as a line.
    pub const HEADER: &'static str = "idx       perf        run     period            start              end           rel_st \
                                      \x20    slack c_duration   c_period     wu_lat";
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:3} {:10} {:10} {:10} {:16} {:16} {:16} {:10} {:10} {:10} {:10}",
            self.task.0,
            self.perf,
            self.run,
            self.period,
            self.start,
            self.end,
            self.rel_st,
            self.slack,
            self.c_duration,
            self.c_period,
            self.wu_lat
        )
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    start_ns: u64,
    perf_ns: u64,
    run_ns: u64,
    slack_ns: i64,
    c_duration_ns: u64,
    c_period_ns: u64,
    wu_lat_ns: u64,
}

impl Log {
    pub(in crate::programs) fn new(most: usize, scripts: &Scripts) -> Log {
        Log {
            lines: Vec::new(),
            most,
            left_out: 0,
            cumulative_slack: scripts.cumulative_slack,
            first_start_ns: scripts.first_start_ns,
            sums: Vec::new(),
        }
    }

    /// Returns the lines, in the order in which the phases ended.
    pub fn lines(&self) -> &[LogLine] {
        &self.lines
    }

    /// Returns the number of lines that were dropped.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(in crate::programs) fn new_thread(&mut self) {
        self.sums.push(Sums::default());
    }

    pub(in crate::programs) fn begin(&mut self, thread: u32, now_ns: u64) {
        self.sums[thread as usize] = Sums { start_ns: now_ns, ..Sums::default() };
    }

    pub(in crate::programs) fn work(&mut self, thread: u32, perf_ns: u64, asked_ns: u64) {
        let sums = &mut self.sums[thread as usize];
        sums.perf_ns += perf_ns;
        sums.c_duration_ns += asked_ns;
    }

    pub(in crate::programs) fn ran(&mut self, thread: u32, ns: u64) {
        self.sums[thread as usize].run_ns += ns;
    }

    pub(in crate::programs) fn timer(&mut self, thread: u32, period_ns: u64, slack_ns: i64) {
        let sums = &mut self.sums[thread as usize];
        sums.c_period_ns = sums.c_period_ns.saturating_add(period_ns);
        sums.slack_ns =
            if self.cumulative_slack { sums.slack_ns.saturating_add(slack_ns) } else { slack_ns };
    }

    pub(in crate::programs) fn woke_from_timer(&mut self, thread: u32, late_ns: u64) {
        self.sums[thread as usize].wu_lat_ns += late_ns;
    }

    pub(in crate::programs) fn end(&mut self, thread: u32, phase: u32, now_ns: u64) {
        if self.lines.len() >= self.most {
            self.left_out += 1;
            return;
        }
        let sums = self.sums[thread as usize];
        self.lines.push(LogLine {
            task: TaskId(thread),
            phase,
            perf: sums.perf_ns / 1000,
            run: sums.run_ns / 1000,
            period: (now_ns - sums.start_ns) / 1000,
            start: sums.start_ns / 1000,
            end: now_ns / 1000,
            rel_st: sums.start_ns.saturating_sub(self.first_start_ns) / 1000,
            slack: sums.slack_ns / 1000,
            c_duration: sums.c_duration_ns / 1000,
            c_period: sums.c_period_ns / 1000,
            wu_lat: sums.wu_lat_ns / 1000,
        });
    }
}
