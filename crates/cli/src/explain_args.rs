//! The command line of `schedlab explain`.

use crate::options::{setting, time};
use crate::scx::ScxOptions;
use clap::{ArgGroup, Args};
use schedlab_lab::plan::SetValues;
use std::path::PathBuf;

/// Say why a scheduler did what it did
///
/// The run is made again and looked at: who could have been picked at a moment, with what keys, by
/// what rule one was, and what another lacked; why a task waits; where a wakeup went; what made the
/// longest waits so long.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).args(["at", "wakeup", "worst"]))]
#[command(after_help = "\
Times are seconds, or have a unit: 0.5, 0.5s, 500ms, 1234567us, 500000000ns. Everything that falls
on the moment has happened.

Examples:
  schedlab explain examples/desktop.json --scheduler cfs --at 0.5s
  schedlab explain examples/desktop.json --scheduler o_n --at 500ms --task make-1
  schedlab explain examples/server.json --cpus 4 --scheduler eevdf --wakeup 100
  schedlab explain examples/desktop.json --scheduler eevdf --worst 3
  schedlab explain examples/desktop.json --scheduler cfs --worst 1 --task video-0

A plan (`schedlab run ... --plan-out plan.json`) can be explained, too; then --scheduler is one of
its schedulers.")]
pub struct ExplainArgs {
    /// A workload in rt-app's JSON language, or a plan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Under which scheduler, as `schedlab list` names them [default: the newest of Linux, eevdf]
    #[arg(short, long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// How things stand at this time
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub at: Option<u64>,
    /// Only this CPU [default: all that have something to tell]
    #[arg(long, value_name = "C", requires = "at")]
    pub cpu: Option<u32>,
    /// Only this task (a thread's name, as tables show it), or with --wakeup and --worst its own
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Where the Nth wakeup of the run went, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub wakeup: Option<u64>,
    /// The N longest waits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub worst: Option<u64>,
    /// Number of CPUs [default: as `schedlab run`]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The machine: a preset, flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Stop the run after so long [default: what the workload says]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Set a tunable, or nice:KEY, shares:/GROUP, weight:/GROUP, quota:/GROUP
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// Task groups, from a file
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// One task group, e.g. /tg1:cpu.weight=200
    #[arg(long, value_name = "PATH:SETTING")]
    pub group: Vec<String>,
    /// Do things to the machine while it runs, by a file
    #[arg(long, value_name = "FILE")]
    pub timetable: Vec<PathBuf>,
    /// Simultaneous events in random order, by this seed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}
