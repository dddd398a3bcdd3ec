//! Figures of tasks, by the names that a replay shows: [`Figure`].

use schedlab_core::GroupStats;
use schedlab_replay::stats::{TaskStats, percentile};
use std::fmt;

/// A figure of a group of tasks in a recording or a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// CPU time, ns.
    Cpu,
    /// Time at which the last task left its CPU for the last time, ns.
    End,
    /// Time from the first to the last moment on a CPU, ns.
    Run,
    /// Time runnable without a CPU, ns.
    Wait,
    /// Wakeups.
    Wakeups,
    /// Wakeups after which a task waited for a millisecond or longer.
    LongWaits,
    /// Preemptions.
    Preemptions,
    /// Percentile of response times or, for tasks whose requests are unknown, of wakeup latencies.
    Percentile(u32),
    /// Percentile of wakeup latencies, ns.
    Latency(u32),
    /// Percentile of response times, ns.
    Response(u32),
    /// Percentile of round trips, ns.
    RoundTrip(u32),
    /// Periods in which the tasks' groups were throttled.
    ThrottledPeriods,
    /// Time for which the tasks' groups were throttled, ns.
    Throttled,
}

/// Figures other than percentiles, by name.
const NAMED: [(&str, Figure); 10] = [
    ("cpu", Figure::Cpu),
    ("end", Figure::End),
    ("run time", Figure::Run),
    ("run", Figure::Run),
    ("wait", Figure::Wait),
    ("wakeups", Figure::Wakeups),
    ("long waits", Figure::LongWaits),
    ("preemptions", Figure::Preemptions),
    ("throttled periods", Figure::ThrottledPeriods),
    ("throttled", Figure::Throttled),
];

/// Names of all figures, for messages.
pub(super) const NAMES: &str = "p50, p90, p95, p99 (response times), the same with latency, \
                                response or round_trip (p99_latency), end, run, wait, cpu, \
                                long_waits, preemptions, wakeups, throttled, throttled_periods";

impl Figure {
    /// Returns the figure with this name, as in the table of a replay, with blanks or `_`.
    pub fn find(name: &str) -> Option<Figure> {
        let name = name.trim().to_lowercase().replace('_', " ");
        if let Some((_, figure)) = NAMED.iter().find(|(title, _)| *title == name) {
            return Some(*figure);
        }
        let (percent, kind) = name.split_once(' ').unwrap_or((&name, ""));
        let percent = percent.strip_prefix('p')?.parse().ok()?;
        if ![50, 90, 95, 99].contains(&percent) {
            return None;
        }
        Some(match kind.trim() {
            "" => Figure::Percentile(percent),
            "latency" => Figure::Latency(percent),
            "response" => Figure::Response(percent),
            "round trip" => Figure::RoundTrip(percent),
            _ => return None,
        })
    }

    /// Whether the figure is a time, in ns, and not a count.
    pub fn is_time(self) -> bool {
        !matches!(
            self,
            Figure::Wakeups | Figure::LongWaits | Figure::Preemptions | Figure::ThrottledPeriods
        )
    }

    /// Returns its value for tasks with these statistics, whose groups have the statistics
    /// `limited`. `None`: there are too few values for a percentile.
    pub(super) fn of(self, tasks: &TaskStats, limited: &GroupStats) -> Option<f64> {
        let value = match self {
            Figure::Cpu => tasks.cpu_ns,
            Figure::End => tasks.end_ns,
            Figure::Run => tasks.run_ns(),
            Figure::Wait => tasks.wait_ns,
            Figure::Wakeups => tasks.wakeups,
            Figure::LongWaits => tasks.long_waits,
            Figure::Preemptions => tasks.preemptions,
            Figure::Latency(percent) => tasks.percentile(percent)?,
            Figure::Percentile(percent) | Figure::Response(percent) => {
                percentile(&tasks.requests.served, percent)?
            }
            Figure::RoundTrip(percent) => percentile(&tasks.requests.round_trips, percent)?,
            Figure::ThrottledPeriods => limited.nr_throttled,
            Figure::Throttled => limited.throttled_ns,
        };
        Some(value as f64)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Percentile(percent) => write!(f, "p{percent}"),
            Figure::Latency(percent) => write!(f, "p{percent} latency"),
            Figure::Response(percent) => write!(f, "p{percent} response"),
            Figure::RoundTrip(percent) => write!(f, "p{percent} round trip"),
            _ => {
                let name = NAMED.iter().find(|(_, figure)| figure == self);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}
