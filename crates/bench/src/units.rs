//! Items shared by several benchmarks: concurrent loops, and measures of evenness.

use crate::benchmark::End;
use crate::parameter::Parameter;
use schedlab_core::TaskId;
use schedlab_measure::{Moments, TaskStats};
use schedlab_workload::programs::{Context, Kernel, Program, Spawn, Step};

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub(crate) const MS_NS: u64 = 1_000_000;
/// Nanoseconds in a microsecond.
pub(crate) const US_NS: u64 = 1_000;

/// Name of the endless loops that run next to a benchmark.
pub(crate) const HOG: &str = "hog";

/// Returns the parameter for the number of concurrent endless loops.
pub(crate) const fn hogs(default: &'static str) -> Parameter {
    Parameter::whole(
        "hogs",
        (0, 100_000),
        default,
        "concurrent endless loops (the real program is started alongside them)",
    )
}

/// Returns the parameter for the duration.
pub(crate) const fn seconds(default: &'static str) -> Parameter {
    Parameter::whole("seconds", (1, 100_000), default, "duration, s")
}

/// Computes forever.
pub(crate) fn hog() -> impl Program + 'static {
    |_: &mut Context<'_>| Step::Run(u64::MAX)
}

/// Starts `count` endless loops.
pub(crate) fn start_hogs(os: &mut Kernel, count: u64) {
    for _ in 0..count {
        os.start(0, Spawn::new(HOG, hog()));
    }
}

/// Returns the tasks called `name`, with their statistics.
pub(crate) fn named<'a>(
    end: &'a End<'_>,
    name: &'a str,
) -> impl Iterator<Item = (TaskId, &'a TaskStats)> {
    of_part(end).filter(move |&(task, _)| end.os.name(task) == name)
}

/// Returns all tasks of the benchmark, with their statistics.
pub(crate) fn of_part<'a>(end: &'a End<'_>) -> impl Iterator<Item = (TaskId, &'a TaskStats)> {
    end.stats.tasks().filter(|&(task, _)| end.os.part_of(task) == end.part)
}

/// Returns the CPU time of all tasks called `name`, ns.
pub(crate) fn cpu_ns(end: &End<'_>, name: &str) -> u64 {
    named(end, name).map(|(_, stats)| stats.cpu_ns).sum()
}

/// Returns the longest wait for a CPU of any task called `name`, ns.
pub(crate) fn longest_wait_ns(end: &End<'_>, name: &str) -> u64 {
    named(end, name).map(|(_, stats)| stats.wait_max_ns).max().unwrap_or(0)
}

/// Returns the share of the tasks called `name` in the CPU time of all CPUs, %.
pub(crate) fn share_percent(end: &End<'_>, name: &str) -> f64 {
    let there_was_ns = end.now_ns as f64 * end.stats.cpus().len() as f64;
    100.0 * cpu_ns(end, name) as f64 / there_was_ns
}

/// Returns the standard deviation (divisor n - 1); 0 for fewer than two values.
pub(crate) fn deviation(moments: &Moments) -> f64 {
    moments.sample_variance().unwrap_or(0.0).max(0.0).sqrt()
}

/// Returns the mean; 0 without values.
pub(crate) fn mean(moments: &Moments) -> f64 {
    if moments.count == 0 { 0.0 } else { moments.sum as f64 / moments.count as f64 }
}

/// Returns the standard deviation as a share of the mean, %; 0 if the mean is 0.
pub(crate) fn spread_percent(moments: &Moments) -> f64 {
    let mean = mean(moments);
    if mean == 0.0 { 0.0 } else { 100.0 * deviation(moments) / mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_deviation_over_mean() {
        let moments: Moments = [8u64, 10, 12].into_iter().collect();
        assert_eq!(
            (mean(&moments), deviation(&moments), spread_percent(&moments)),
            (10.0, 2.0, 20.0)
        );
        let none = Moments::default();
        assert_eq!((mean(&none), deviation(&none), spread_percent(&none)), (0.0, 0.0, 0.0));
    }
}
