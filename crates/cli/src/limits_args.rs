//! The command line of `schedlab limits`.

use crate::options::{RunFormat, setting, time};
use crate::replay_args::ArrivalsOption;
use clap::{Args, ValueEnum};
use schedlab_lab::plan::SetValues;
use schedlab_space::limits::{Aim, LEAST_US, PERIOD_MAX_US, QuotaSize, Threads, Times, time_us};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Find a CPU limit for a group: response times, throttling and throughput under each
///
/// The work, a workload or a recording, is run without a limit, and then with limits from less than
/// the group's demand up to one that never throttles it. Each limit runs with several seeds, which
/// draw when its periods begin: a figure is the median of these runs, with minimum and maximum. The
/// output shows the smallest limit that meets the aim in all of them, as it is written where limits
/// are set. Without an aim, that is the smallest limit whose p99 is within 10 % of that without a
/// limit; recorded work must also keep up.
#[derive(Args, Debug)]
#[command(after_help = "\
An aim is p50, p90, p95, p99, max or mean < TIME (of the requests' response times), throttled < N%
(of the periods), throughput > N/s (requests), or end < TIME. A request is due when a task's timer
expires, when its semaphore is posted, when it is signalled or resumed, or when its sleep ends, and
done when the task has done its work; docs/containers.md has the details.

A recording is a trace that `schedlab replay` reads. Its requests arrive when a sleep ends, and end
when the task next sleeps. First the recording is replayed as it was, which shows how far the answer
can be trusted.

Examples:
  schedlab limits examples/server-limited.json --group /box --aim 'p99 < 50ms'
  schedlab limits examples/server-limited.json --group /box --period 20ms,100ms --burst 0,20ms
  schedlab limits examples/server-limited.json --group /box --quota 40ms,60ms,0.8cpu
  schedlab limits examples/server-limited.json --group /box --aim 'throttled < 1%' --cpus 2,8 \\
      --format json
  schedlab limits examples/server-limited.json --group /box --quota 60ms --threads worker=1..32
  schedlab limits examples/server-limited.json --group /box --resources compose.yaml
  schedlab limits examples/traces/desk.xz --change 'move hog /box' --group /box

Exit status: 0 a limit meets the aim, or there is no aim; 1 no limit that was tried meets it; 2 the
request cannot be carried out.")]
pub struct LimitsArgs {
    /// Workload in rt-app's JSON language, or a recorded trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Group to limit: its path in the workload or in the recording, e.g. /box. Tasks that were
    /// born in it or below it count
    #[arg(long, value_name = "PATH")]
    pub group: String,
    /// Aim that the limit must meet in all runs, e.g. 'p99 < 50ms'; several must be met together
    #[arg(long = "aim", value_name = "AIM", value_parser = Aim::parse)]
    pub aims: Vec<Aim>,
    /// Quotas to try: CPU time of each period (20ms), CPUs (0.5cpu, 50%) [default: about ten,
    /// around the group's demand, and more around the answer]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = QuotaSize::parse)]
    pub quota: Vec<QuotaSize>,
    /// Periods to try, 1ms to 1s
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = period,
        default_value = "100ms")]
    pub period: Vec<u64>,
    /// Bursts to try: unused quota that the group may save
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = burst,
        default_value = "0")]
    pub burst: Vec<u64>,
    /// Present limit and CPU weight, from a Kubernetes manifest (`resources` of a Deployment, a Pod
    /// and the like) or a compose file (`cpus`, `cpu_quota`, `deploy`). It gets a row of its own
    #[arg(long, value_name = "FILE.yaml")]
    pub resources: Option<PathBuf>,
    /// Container or service in that file [default: the only one]
    #[arg(long, value_name = "NAME", requires = "resources")]
    pub container: Option<String>,
    /// Numbers of threads to try, of a task of the group (its `instance` in a workload): 1,2,8;
    /// 1..32, which doubles; TASK=1..32 where the group has several tasks. Threads that share their
    /// work (of a semaphore) share it among more; threads with timers of their own each add load
    #[arg(long, value_name = "[TASK=]N,...", value_parser = Threads::parse)]
    pub threads: Option<Threads>,
    /// Number of runs of each limit, with consecutive seeds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000),
        default_value = "9")]
    pub repeat: u64,
    /// First seed: of the phases of periods, of the start of each task within a tick, and of the
    /// order of simultaneous events; for recordings, of the length of all work
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Scheduler, which must have limits, e.g. cfs@5.4 or 'ubuntu 24.04' [default: the newest of
    /// Linux, eevdf; for a recording, the recorded one]
    #[arg(short, long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Numbers of CPUs to try [default: as recorded; the number that the workload's `cpus` name, at
    /// least 1; with --machine, all]
    #[arg(short, long, value_name = "N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,
    /// Machine: a preset (`schedlab list --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks per second [default: as recorded; the usual configuration of the release]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Time limit of each run: seconds, or with a unit, e.g. 20s [default: as in the workload; for
    /// a recording, four times its length]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Tunable to set, or nice:KEY, shares:/GROUP, weight:/GROUP, quota:/GROUP
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// File of task groups and their settings; the limit of the group is replaced. For a recording
    /// as in `schedlab replay`
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// Recordings: tasks whose response times and ends count, e.g. a client [default: the group's]
    #[arg(long, value_name = "TASKS")]
    pub only: Option<String>,
    /// Recordings: times that are taken as response times: from an arrival to the next sleep
    /// (response), or from a task's wakeup of another to the wakeup that it caused (round-trip)
    #[arg(long, value_enum, default_value = "response", value_name = "response|round-trip")]
    pub times: TimesOption,
    /// Recordings: whether interrupts wake tasks at the recorded times (open: the requests of a
    /// server whose clients do not wait for it), or after the recorded duration of the sleep
    /// [default: closed]
    #[arg(long, value_enum, value_name = "open|closed")]
    pub arrivals: Option<ArrivalsOption>,
    /// Recordings: scheduler that was recorded [default: as in the side file, or eevdf@6.18]
    #[arg(long, value_name = "NAME")]
    pub recorded: Option<String>,
    /// Recordings: side file of `schedlab record` [default: TRACE.side.json, if the file exists]
    #[arg(long, value_name = "FILE|none")]
    pub side: Option<PathBuf>,
    /// Recordings: change to tasks, as in `schedlab replay`, e.g. 'move wk-* /box'
    #[arg(long, value_name = "ACTION")]
    pub change: Vec<String>,
    /// Number of cores to use for simulation; it does not affect the results [default: all]
    #[arg(long, value_name = "N")]
    pub cores: Option<NonZeroUsize>,
    /// Also write a page for a browser, with the curves of p99 and throttling by limit
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Show the page in the browser when it is written
    #[arg(long, requires = "report")]
    pub open: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|csv|json")]
    pub format: RunFormat,
}

/// Times of a recording that are taken as response times.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimesOption {
    /// Response times
    Response,
    /// Round trips
    RoundTrip,
}

impl From<TimesOption> for Times {
    fn from(option: TimesOption) -> Times {
        match option {
            TimesOption::Response => Times::Responses,
            TimesOption::RoundTrip => Times::RoundTrips,
        }
    }
}

/// Parses a period, as us.
fn period(text: &str) -> Result<u64, String> {
    let us = time_us(text).filter(|us| (LEAST_US..=PERIOD_MAX_US).contains(us));
    us.ok_or_else(|| "a period is 1ms to 1s, with a unit, such as 100ms".into())
}

/// Parses a burst, as us.
fn burst(text: &str) -> Result<u64, String> {
    let us = if text == "0" { Some(0) } else { time_us(text) };
    us.ok_or_else(|| "a burst is a time with a unit, such as 20ms, or 0".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_those_that_the_kernel_takes() {
        assert_eq!((period("100ms"), period("1s")), (Ok(100_000), Ok(1_000_000)));
        for wrong in ["100", "0.5ms", "2s", "x", ""] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
        assert_eq!((burst("0"), burst("20ms")), (Ok(0), Ok(20_000)));
        assert!(burst("20").is_err() && burst("-1ms").is_err());
    }
}
