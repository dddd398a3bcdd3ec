//! The command line of `schedlab advise`.

use crate::replay_args::{ArrivalsOption, ReplayFormat};
use clap::{Args, ValueEnum};
use schedlab_space::advise::{Aim, BUDGET_MIN, Kind, Measured};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Find settings that help a recorded machine, and check such advice against a later recording
///
/// The recorded work is replayed with one change at a time of what an administrator may change:
/// nice values, policies, slices and CPUs of tasks, weights and limits of groups, autogroup,
/// tunables. The most promising changes are tried with other values and together. Those that remain
/// are judged by runs with seeds that the search has not used, or by a second recording. The output
/// has the few that serve the aim by more than the spread of these runs, each with its predicted
/// effect, its side effects, and the commands that make and undo it. Nothing is changed.
#[derive(Args, Debug)]
#[command(after_help = "\
An aim is a figure with min or max, and conditions that must hold, separated by commas:
  p99(api) min, end(batch) <= +10 %
Figures: p50, p90, p95, p99 (of response times; of wakeup latencies where the recording shows no
requests), p99_latency, p99_response, p99_round_trip, end, run, wait, cpu, long_waits, preemptions,
wakeups, throttled, throttled_periods. In parentheses: names, patterns, numbers, or `descendants of
NAME`. A bound such as +10 % is relative to the replay without changes; 50ms is absolute.

Examples:
  schedlab advise examples/traces/desk.xz --aim 'p99(audio) min'
  schedlab advise examples/traces/build.xz --aim 'end(cc1) min, end(hog) <= +100 %'
  schedlab advise day1.xz --hold-out day2.xz --aim 'p99(api) min' --kinds nice,weight
  schedlab advise --check examples/traces/build.xz examples/traces/build-hog10.xz
  schedlab advise --check before.xz --change 'renice hog 10' --measured 'end(make)=-28%'

--change: as in `schedlab replay`, and `set TUNABLE=VALUE`, `release NAME`.

Exit status: 0 there is advice, or (--check) all directions were right and all figures within their
bands; 1 nothing helps, or a prediction was wrong; 2 the request cannot be carried out.")]
pub struct AdviseArgs {
    /// Recording: a trace as for `schedlab replay`. With --check: the recordings before and after
    /// the change
    #[arg(value_name = "RECORDING", num_args = 1..=2, required = true)]
    pub files: Vec<PathBuf>,
    /// Aim, e.g. 'p99(api) min, end(batch) <= +10 %'
    #[arg(long, value_name = "AIM", value_parser = Aim::parse,
        required_unless_present = "check")]
    pub aim: Option<Aim>,
    /// Second recording of the same work, by which changes are judged [default: held-back seeds]
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub hold_out: Option<PathBuf>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value = "1000", value_parser = budget)]
    pub budget: usize,
    /// Kinds of changes to try [default: all]
    #[arg(long, value_enum, value_name = "KIND,...", value_delimiter = ',')]
    pub kinds: Vec<KindOption>,
    /// Schedulers or releases to try, too, e.g. eevdf@7.1
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub releases: Vec<String>,
    /// Compare the prediction with what happened: RECORDING is before the change, the second after
    #[arg(long)]
    pub check: bool,
    /// Change that was made between the recordings [default: the differences that the recordings
    /// and their side files show]
    #[arg(long, value_name = "ACTION", requires = "check")]
    pub change: Vec<String>,
    /// Figure measured after the change, instead of a recording, e.g. 'end(make)=2.86s' or
    /// 'p99(api)=-28%'
    #[arg(long, value_name = "FIGURE=VALUE", requires = "check", value_parser = Measured::parse)]
    pub measured: Vec<Measured>,
    /// File to which the score of the prediction is appended
    #[arg(long, value_name = "FILE.csv", requires = "check")]
    pub score: Option<PathBuf>,
    /// Tasks that may be changed, and are reported [default: all but the kernel's]
    #[arg(long, value_name = "TASKS")]
    pub only: Option<String>,
    /// Scheduler that was recorded [default: from the side file, or eevdf@6.18]
    #[arg(long, value_name = "NAME")]
    pub recorded: Option<String>,
    /// Ticks per second of the recorded machine: its CONFIG_HZ [default: from the side file, or
    /// 250]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// File of the tasks' groups during the recording [default: RECORDING's name with the ending
    /// .groups, if the file exists]
    #[arg(long, value_name = "FILE|none")]
    pub groups: Option<PathBuf>,
    /// Side file of `schedlab record` [default: RECORDING.side.json, if the file exists]
    #[arg(long, value_name = "FILE|none")]
    pub side: Option<PathBuf>,
    /// Whether interrupts wake tasks at the recorded times (open: a server's requests), or after
    /// the recorded duration of the sleep (closed)
    #[arg(long, value_enum, default_value = "closed", value_name = "open|closed")]
    pub arrivals: ArrivalsOption,
    /// Tasks that read their own CPU clocks as they compute, e.g. 'per' (every 20us) or 'per 50us'
    #[arg(long, value_name = "TASKS [TIME]")]
    pub clock_read: Vec<String>,
    /// Number of held-back runs, with which each change is judged
    #[arg(long, value_name = "N", default_value = "16",
        value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub seeds: u32,
    /// Number of cores to use; it does not affect the results [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|json")]
    pub format: ReplayFormat,
}

/// Parses a number of runs.
fn budget(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (BUDGET_MIN..=1_000_000).contains(number));
    number.ok_or_else(|| format!("it must be {BUDGET_MIN} to 1000000 runs"))
}

/// Kind of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum KindOption {
    /// Nice values of tasks and sessions
    Nice,
    /// SCHED_BATCH and SCHED_IDLE
    Policy,
    /// Slices of tasks
    Slice,
    /// CPUs of tasks
    Affinity,
    /// Weights of groups
    Weight,
    /// Limits of groups, and bursts
    Limit,
    /// Autogroup off
    Autogroup,
    /// Tunables of the scheduler, such as the base slice
    Tunable,
}

impl From<KindOption> for Kind {
    fn from(option: KindOption) -> Kind {
        match option {
            KindOption::Nice => Kind::Nice,
            KindOption::Policy => Kind::Policy,
            KindOption::Slice => Kind::Slice,
            KindOption::Affinity => Kind::Affinity,
            KindOption::Weight => Kind::Weight,
            KindOption::Limit => Kind::Limit,
            KindOption::Autogroup => Kind::Autogroup,
            KindOption::Tunable => Kind::Tunable,
        }
    }
}
