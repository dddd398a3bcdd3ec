//! The command line of `schedlab compare`.

use crate::options::{cost_setting, one_setting};
use crate::page::PageArgs;
use crate::scx::ScxOptions;
use clap::{Args, ValueEnum};
use schedlab_compare::RUNS;
use std::path::PathBuf;

/// Compare measurements on a real kernel with their simulation
///
/// Each FILE was written by `schedlab host --out` (`live-schedule/1`). Its workload runs under the
/// scheduler of that kernel's release, on a machine with costs, late timers and the load of other
/// processes, several times, at different phases of the tick. Every figure of every task is shown
/// next to the measured one, with a verdict that takes the variation between the real runs into
/// account.
#[derive(Args, Debug)]
#[command(after_help = "\
docs/live.md explains the figures, and how accurate the model is.

Examples:
  schedlab host examples/desktop.json --cpus 0 --runs 3 --out d.json
  schedlab compare d.json
  schedlab compare d.json --machine here.json          costs that `schedlab host --measure` found
  schedlab compare d.json --scheduler eevdf@6.6        would another release be noticed?
  schedlab compare d.json --report r.html              timelines one above the other, as a page
  schedlab compare *.json --summary                    totals and bounds only
  schedlab compare *.json --format csv > errors.csv

Exit status: 0 the comparison is complete (its output shows whether the bounds hold); 1 with
--check: a bound is missed; 2 the comparison cannot be made.")]
pub struct CompareArgs {
    /// Measurements; compressed or not
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Scheduler of the simulation [default: the scheduler of the kernel's release]
    #[arg(short, long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
    /// Source of the costs: a preset, or a machine's file; its CPUs are ignored, and the measured
    /// CPUs used [default: laptop-2020s; for an emulated machine, emulated-icount]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Cost of one operation, in ns, e.g. switch=1500
    #[arg(long = "cost", value_name = "NAME=NS", value_parser = cost_setting, conflicts_with = "no_costs")]
    pub cost: Vec<(String, f64)>,
    /// Make all operations free, and timers punctual
    #[arg(long, conflicts_with = "machine")]
    pub no_costs: bool,
    /// Ticks per second [default: as measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Tunable or feature of the scheduler to set, e.g. RUN_TO_PARITY=0
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = one_setting)]
    pub set: Vec<(String, i64)>,
    /// Number of simulations of each placement, over random draws and, if the phase of the tick is
    /// unknown, over phases
    #[arg(short, long, value_name = "N", default_value_t = RUNS,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Model of the load of other processes: the recording in a trace or, without one, a model with
    /// the measured share (auto); only a trace (replay); only the model; or none
    #[arg(long, value_enum, value_name = "auto|replay|model|none", default_value = "auto")]
    pub noise: NoiseOption,
    /// Placements to compare, by name, e.g. cpu0
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// File of the permitted differences: {"cpu_percent": 1, "waiting_percent": 2,
    /// "switches_percent": 10, "latency_percent": 25, "latency_us": 50, "end_percent": 1}
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
    /// Show only totals and bounds
    #[arg(long)]
    pub summary: bool,
    /// Exit with status 1 if a bound is missed
    #[arg(long)]
    pub check: bool,
    /// Page of one placement: real and simulated timelines one above the other, and their latencies
    /// in one chart
    #[command(flatten)]
    pub page: PageArgs,
    /// Output format
    #[arg(
        short,
        long,
        value_enum,
        default_value = "table",
        value_name = "table|json|csv|markdown"
    )]
    pub format: CompareFormat,
    /// Number of cores to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
}

/// Model of the load of other processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NoiseOption {
    /// The trace, or else the model.
    Auto,
    /// The trace.
    Replay,
    /// The model.
    Model,
    /// No load.
    None,
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CompareFormat {
    /// Table, for people.
    Table,
    /// JSON, for programs.
    Json,
    /// Every figure, one per line.
    Csv,
    /// Markdown, for documents.
    Markdown,
}
