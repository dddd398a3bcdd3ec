//! `/proc/schedstat`.

use super::counters::CpuCounts;
use super::{Counters, View, line};

/// Returns the version of the format.
fn version(view: &View) -> u32 {
    match view.kernel {
        kernel if kernel < (2, 6, 13) => 10,
        kernel if kernel < (2, 6, 20) => 12,
        kernel if kernel < (2, 6, 30) => 14,
        kernel if kernel < (6, 7, 0) => 15,
        kernel if kernel < (6, 13, 0) => 16,
        _ => 17,
    }
}

/// Returns a time in the unit of the release: ticks up to 2.6.22, nanoseconds from 2.6.23 on.
pub(super) fn in_units(view: &View, ns: u64) -> u64 {
    if view.kernel < (2, 6, 23) {
        (u128::from(ns) * u128::from(view.hz) / 1_000_000_000) as u64
    } else {
        ns
    }
}

/// Returns the file without lines of domains, as a kernel without SMP has it.
pub fn schedstat(view: &View, counters: &Counters) -> String {
    let mut out = String::new();
    let version = version(view);
    line(&mut out, format_args!("version {version}"));
    line(&mut out, format_args!("timestamp {}", view.jiffies()));
    for (cpu, counts) in counters.cpus.iter().enumerate() {
        let numbers = numbers(view, counts, version);
        let text: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        line(&mut out, format_args!("cpu{cpu} {}", text.join(" ")));
    }
    out
}

/// Returns the numbers of the line of a CPU. Unknown: results of `sched_yield`, array exchanges,
/// results of balancing. `schedule()` is counted where it switched.
fn numbers(view: &View, counts: &CpuCounts, version: u32) -> Vec<u64> {
    let running_ns = counts.running.map_or(0, |(_, since_ns)| view.at_ns - since_ns);
    let cpu = in_units(view, counts.cpu_ns + running_ns);
    let delay = in_units(view, counts.delay_ns);
    let &CpuCounts { switches, goidle, ttwu_count, ttwu_local, pcount, .. } = counts;
    match version {
        10 => {
            let mut numbers = vec![0; 28];
            (numbers[6], numbers[7], numbers[12]) = (switches, goidle, ttwu_count);
            (numbers[19], numbers[20], numbers[21]) = (cpu, delay, pcount);
            numbers
        }
        12 | 14 => {
            vec![0, 0, 0, 0, 0, switches, goidle, ttwu_count, ttwu_local, cpu, delay, pcount]
        }
        _ => vec![0, 0, switches, goidle, ttwu_count, ttwu_local, cpu, delay, pcount],
    }
}
