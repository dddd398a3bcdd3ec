//! The command line of `schedlab compare`.

use crate::options::{cost_setting, one_setting};
use crate::page::PageArgs;
use crate::scx::ScxOptions;
use clap::{Args, ValueEnum};
use schedlab_compare::RUNS;
use std::path::PathBuf;

/// Set what was measured on a real kernel beside the simulation of it
///
/// Each FILE is what `schedlab host --out` wrote (`live-schedule/1`). Its workload is run under the
/// scheduler of that kernel's release, on a machine with costs, late timers and others' work,
/// several times over phases of the tick; every figure of every task stands beside the measured
/// one, with a verdict that knows how much the real runs differ among themselves.
#[derive(Args, Debug)]
#[command(after_help = "\
docs/live.md tells what the figures mean, and how well the model does.

Examples:
  schedlab host examples/desktop.json --cpus 0 --runs 3 --out d.json
  schedlab compare d.json
  schedlab compare d.json --machine here.json          costs that `schedlab host --measure` found
  schedlab compare d.json --scheduler eevdf@6.6        would another release have been noticed?
  schedlab compare d.json --report r.html              timelines above each other, as a page
  schedlab compare *.json --summary                    totals and bounds only
  schedlab compare *.json --format csv > errors.csv

Exit status: 0 it was compared (whether the bounds hold, it says); 1 with --check: a bound is
missed; 2 it cannot be done.")]
pub struct CompareArgs {
    /// What was measured; compressed or not
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Under what it is simulated [default: the scheduler of the kernel's release]
    #[arg(short, long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
    /// What things cost: a preset, or a machine's file; its CPUs do not count, those that were
    /// measured do [default: laptop-2020s; of an emulated machine emulated-icount]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Set what one thing costs, in ns, e.g. switch=1500
    #[arg(long = "cost", value_name = "NAME=NS", value_parser = cost_setting, conflicts_with = "no_costs")]
    pub cost: Vec<(String, f64)>,
    /// Nothing costs anything, and timers are never late
    #[arg(long, conflicts_with = "machine")]
    pub no_costs: bool,
    /// Ticks a second [default: as measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Set a tunable or a feature of the scheduler, e.g. RUN_TO_PARITY=0
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = one_setting)]
    pub set: Vec<(String, i64)>,
    /// How often each placement is simulated: over phases of the tick, where it is not known, and
    /// draws
    #[arg(short, long, value_name = "N", default_value_t = RUNS,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// What stands for others' work: what a trace recorded, or where there is none a model with the
    /// share that was measured (auto); only a trace; only the model; nothing
    #[arg(long, value_enum, value_name = "auto|replay|model|none", default_value = "auto")]
    pub noise: NoiseOption,
    /// Only placements of these names, e.g. cpu0
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// How far figures may be apart, from a file: {\"cpu_percent\": 1, \"waiting_percent\": 2,
    /// \"switches_percent\": 10, \"latency_percent\": 25, \"latency_us\": 50, \"end_percent\": 1}
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
    /// Only totals and bounds
    #[arg(long)]
    pub summary: bool,
    /// End with status 1 if a bound is missed
    #[arg(long)]
    pub check: bool,
    /// Real and simulated timelines above each other, and latencies over each other, as a page; of
    /// one placement
    #[command(flatten)]
    pub page: PageArgs,
    /// How to print
    #[arg(
        short,
        long,
        value_enum,
        default_value = "table",
        value_name = "table|json|csv|markdown"
    )]
    pub format: CompareFormat,
    /// On so many cores [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
}

/// What stands for others' work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NoiseOption {
    /// A trace's, or the model's.
    Auto,
    /// A trace's.
    Replay,
    /// The model's.
    Model,
    /// None.
    None,
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CompareFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// Every figure, a line each.
    Csv,
    /// For documents.
    Markdown,
}
