//! The command line of `schedlab explain`.

use crate::given::GivenArgs;
use crate::options::{setting, time};
use crate::scx::ScxOptions;
use clap::{ArgGroup, Args};
use schedlab_lab::plan::SetValues;
use std::path::PathBuf;

/// Explain why a scheduler did what it did
///
/// The run is repeated and examined: which tasks could have been picked at a moment, with what
/// keys, by which rule one was picked, and why the others were not; why a task waits; where a
/// wakeup went; and what made the longest waits so long.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["at", "wakeup", "worst"]))]
#[command(after_help = "\
Times are seconds, or have a unit: 0.5, 0.5s, 500ms, 1234567us, 500000000ns. Events at
exactly that time have already happened.

Examples:
  schedlab explain examples/desktop.json --scheduler cfs --at 0.5s
  schedlab explain examples/desktop.json --scheduler o_n --at 500ms --task cc-1
  schedlab explain examples/server.json --cpus 4 --scheduler eevdf --wakeup 100
  schedlab explain examples/desktop.json --scheduler eevdf --worst 3
  schedlab explain examples/desktop.json --scheduler cfs --worst 1 --task video-0

A plan (`schedlab run ... --plan-out plan.json`) can also be explained; then --scheduler is one of
its schedulers.")]
pub struct ExplainArgs {
    /// Arguments given on the command line.
    #[command(flatten)]
    pub given: GivenArgs,
    /// Workload in rt-app's JSON language, or plan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Scheduler, as named in `schedlab list` [default: the newest of Linux, eevdf]
    #[arg(short, long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Explain the state at this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub at: Option<u64>,
    /// CPU to explain [default: all CPUs with tasks]
    #[arg(long, value_name = "C", requires = "at")]
    pub cpu: Option<u32>,
    /// Task to explain (a thread's name, as in tables); with --wakeup and --worst, count only its
    /// own
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Explain where the Nth wakeup of the run went, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub wakeup: Option<u64>,
    /// Explain the N longest waits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub worst: Option<u64>,
    /// Number of CPUs [default: as in `schedlab run`]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Machine: a preset, flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Time limit of the run [default: as in the workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Tunable to set, or nice:KEY, shares:/GROUP, weight:/GROUP, quota:/GROUP
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// File of task groups
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// Settings of one task group, e.g. /tg1:cpu.weight=200
    #[arg(long, value_name = "PATH:SETTING")]
    pub group: Vec<String>,
    /// File of actions on the machine during the run
    #[arg(long, value_name = "FILE")]
    pub timetable: Vec<PathBuf>,
    /// Seed of a random order of simultaneous events
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}
