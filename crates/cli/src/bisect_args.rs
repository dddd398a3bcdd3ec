//! The command line of `schedlab bisect`.

use crate::given::GivenArgs;
use crate::options::{ListFormat, percentage, setting, time};
use clap::Args;
use schedlab_lab::plan::SetValues;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Find the release, or the setting, that changed a figure
///
/// The workload is run under every release from one to another, in the order of the kernels: a
/// figure can change and change back, so none is left out. For each step that changes it, the named
/// differences between the two releases are switched one by one to find the rule that causes it,
/// and the first decision in which the two schedules diverge is shown. Between settings of one
/// release, the settings are switched one by one.
#[derive(Args, Debug)]
#[command(after_help = "\
Releases are kernels (6.6, \"ubuntu 24.04\") or schedulers as `schedlab run` takes them (cfs@6.1,
eevdf@6.18:RUN_TO_PARITY=0). Metrics are expressions, as in sweeps: `schedlab explain-metric` lists
their names.

Examples:
  schedlab bisect examples/forking.json --metric 'wait of helper' --from 6.6 --to 7.3
  schedlab bisect examples/server.json --cpus 4 --metric 'wakeup_latency_p99(worker)' \\
      --from 5.15 --to 6.18
  schedlab bisect examples/desktop.json --metric wakeup_latency_max --from eevdf@6.18 \\
      --to eevdf@6.18:RUN_TO_PARITY=0,base_slice_ns=3ms
  schedlab bisect examples/server.json --metric jobs --from 'ubuntu 22.04' --to 'ubuntu 24.04' \\
      --repeat 5

Exit status: 0 a step changed the figure; 1 none did, by the threshold; 2 the request cannot be
carried out.")]
pub struct BisectArgs {
    /// Arguments given on the command line.
    #[command(flatten)]
    pub given: GivenArgs,
    /// Workload in rt-app's JSON language, or plan, also of a benchmark (`schedlab bench ...
    /// --plan-out`)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Figure to compare: an expression over metrics, e.g. "wakeup_latency_p99(api)"
    #[arg(long, value_name = "METRIC")]
    pub metric: String,
    /// First release, or scheduler with settings
    #[arg(long, value_name = "RELEASE|NAME")]
    pub from: String,
    /// Last release, or scheduler with settings
    #[arg(long, value_name = "RELEASE|NAME")]
    pub to: String,
    /// Smallest change of a step that counts, in percent of the figure before it
    #[arg(long, value_name = "PERCENT", value_parser = percentage, default_value = "5",
        allow_hyphen_values = true)]
    pub threshold: f64,
    /// Number of CPUs [default: as in `schedlab run`]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Machine: a preset, flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks per second [default: the usual configuration of each release]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Time limit of each run [default: as in the workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Tunable to set in all releases that have it, or nice:KEY, shares:/GROUP, weight:/GROUP,
    /// quota:/GROUP
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
    /// One action on the machine during the run, e.g. "2s renice video -5"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// Seed of a random order of simultaneous events, instead of a fixed order
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of runs of each release, with consecutive seeds; the figure is their median
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub repeat: Option<u64>,
    /// Number of cores to use for simulation; it does not affect the results [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|json")]
    pub format: ListFormat,
}
