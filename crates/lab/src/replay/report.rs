//! The result of a replay, as plain data: [`ReplayReport`].

use schedlab_replay::score::Band;
use serde::Serialize;

/// Result of a replay.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReplayReport {
    /// Name of the trace.
    pub name: String,
    /// Differences between the recording and the alternatives, besides the scheduler.
    pub changed: Vec<String>,
    /// Contents of the trace.
    pub trace: TraceFacts,
    /// Number of sleeps of each kind.
    pub sleeps: SleepCounts,
    /// Reliability of the replay: `close`, `fair` or `poor`.
    pub grade: &'static str,
    /// Error of the ends in the replay under the recorded scheduler.
    pub e_end: f64,
    /// Error of waiting times.
    pub e_wait: f64,
    /// Error of CPU time; `0` if all work was done.
    pub e_cpu: f64,
    /// Median width of the bands of ends and of waiting times.
    pub band: (f64, f64),
    /// Error of ends in predictions from similar replays: median, and 90th percentile.
    pub expected_end: Option<(f64, f64)>,
    /// Error of waiting times in predictions from similar replays: median, and 90th percentile.
    pub expected_wait: (f64, f64),
    /// Groups of tasks that are reported, by CPU time.
    pub groups: Vec<GroupRow>,
    /// The recording, its replay, and the alternatives.
    pub columns: Vec<Column>,
    /// Notes for the user.
    pub messages: Vec<Message>,
    /// Whether a task waits forever in one of the runs.
    pub hangs: bool,
}

/// Contents of the trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceFacts {
    /// Length, ns.
    pub span_ns: u64,
    /// Number of CPUs.
    pub cpus: u32,
    /// Number of tasks that are replayed, and number of all tasks.
    pub tasks: (usize, usize),
    /// Number of events.
    pub events: u64,
    /// Number of context switches.
    pub switches: u64,
    /// Number of wakeups.
    pub wakeups: u64,
    /// Number of breaks in the chain of switches.
    pub gaps: u64,
    /// Share of the CPUs' time in these breaks.
    pub gap_share: f64,
    /// Number of wakeups that the trace lacks.
    pub unseen: u64,
    /// Whether the trace distinguishes interrupts from tasks.
    pub has_contexts: bool,
    /// Share of the CPUs' time that was idle.
    pub idle_share: f64,
}

/// Number of sleeps of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SleepCounts {
    /// Ended by another task of the workload.
    pub edge: u64,
    /// Ended by a device or a timer.
    pub relative: u64,
    /// Ended by a clock or from outside.
    pub absolute: u64,
    /// Ended after the trace.
    pub end: u64,
}

/// A group of tasks with the same name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupRow {
    /// The name.
    pub name: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Grade of this group.
    pub grade: &'static str,
    /// Error of the group's end in the replay.
    pub err_end: f64,
    /// Error of its waiting time.
    pub err_wait: f64,
    /// Error of its number of long waits.
    pub err_long: f64,
    /// Whether the group has at least a hundredth of the CPU time. Only such groups are judged.
    pub is_large: bool,
}

/// A column: the recording, or an ensemble of runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Column {
    /// `recorded`, or the scheduler with its settings.
    pub name: String,
    /// Figures of each group in [`ReplayReport::groups`].
    pub groups: Vec<Figures>,
    /// Figures of all groups together.
    pub all: Figures,
    /// Tasks and limits behind which the groups waited, if requested
    /// ([`Replay::explain`](super::Replay)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<BehindRow>,
}

/// Time that a group of tasks waited while tasks of one name had the CPU, or because of one limit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BehindRow {
    /// The group that waited: an index of [`ReplayReport::groups`].
    pub group: usize,
    /// Name of the tasks that had the CPU on whose queue the group waited. `None`: the CPU was
    /// idle, or the group was throttled.
    pub runner: Option<String>,
    /// Path of the group that had used up its limit, so that the tasks were throttled, whichever
    /// task had the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_by: Option<String>,
    /// Waiting time, ns.
    pub wait: Cell,
}

impl BehindRow {
    /// Whether the groups of tasks in this row and in `other` waited for the same cause.
    pub fn is_same_cause(&self, other: &BehindRow) -> bool {
        (&self.runner, &self.throttled_by) == (&other.runner, &other.throttled_by)
    }
}

/// Figures of a group in a column. Times in ns.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Figures {
    /// CPU time.
    pub cpu: Cell,
    /// Time at which the last task of the group left its CPU for the last time.
    pub end: Cell,
    /// Time runnable without a CPU.
    pub wait: Cell,
    /// Wakeups.
    pub wakeups: Cell,
    /// Wakeups after which a task waited for a millisecond or longer.
    pub long_waits: Cell,
    /// Preemptions.
    pub preemptions: Cell,
    /// Median wakeup latency. `None`: there are too few wakeups.
    pub p50: Option<Cell>,
    /// 90th percentile of wakeup latency.
    pub p90: Option<Cell>,
    /// 99th percentile of wakeup latency.
    pub p99: Option<Cell>,
    /// Time from the first to the last nanosecond on a CPU.
    pub run: Cell,
    /// Response time of requests: from the arrival, which ends a sleep, to the next sleep.
    pub response: Percentiles,
    /// Periods of the limits of the tasks' groups in which these were throttled, as in `cpu.stat`.
    /// `None`: no limit was in force.
    pub throttled_periods: Option<Cell>,
    /// Number of all periods of these limits.
    pub periods: Option<Cell>,
    /// Time for which these groups were throttled, summed over CPUs, as in `cpu.stat`.
    pub throttled: Option<Cell>,
    /// Round trips: from the wakeup of another task to the wakeup that it caused in turn.
    pub round_trip: Percentiles,
}

/// Percentiles of a figure. `None`: there are too few values.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Percentiles {
    /// Median.
    pub p50: Option<Cell>,
    /// 95th percentile.
    pub p95: Option<Cell>,
    /// 99th percentile.
    pub p99: Option<Cell>,
}

/// A figure with its band.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Cell {
    /// Median of the ensemble.
    pub median: f64,
    /// Smallest value.
    pub least: f64,
    /// Largest value.
    pub greatest: f64,
    /// Whether the difference from the replay under the recorded scheduler is within chance.
    /// `None`: not compared.
    pub alike: Option<bool>,
}

/// A note for the user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    /// Kind: a letter.
    pub code: char,
    /// The text.
    pub text: String,
}

impl From<Band> for Cell {
    fn from(Band { median, least, greatest }: Band) -> Cell {
        Cell { median, least, greatest, alike: None }
    }
}

impl Cell {
    /// Returns the figure as a band.
    pub fn band(&self) -> Band {
        Band { median: self.median, least: self.least, greatest: self.greatest }
    }
}
