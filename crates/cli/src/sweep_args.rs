//! The command lines of `schedlab sweep` and `schedlab tune`.

use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Place where the runs are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Engine {
    /// Runs on this machine, by threads of this program.
    Threads,
    /// Runs on a Ray cluster (needs the Python package).
    Ray,
    /// Runs on a Dask cluster (needs the Python package).
    Dask,
}

impl Engine {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Threads => "threads",
            Engine::Ray => "ray",
            Engine::Dask => "dask",
        }
    }
}

/// Output format of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SweepFormat {
    /// For people: the best of each metric, and the points.
    Table,
    /// Every run, one per line.
    Csv,
    /// For programs: the points, with means and confidence intervals over seeds.
    Json,
}

/// Format of the parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PartFormat {
    /// Comma-separated values.
    Csv,
    /// Parquet, if the program was built with it.
    Parquet,
}

/// Run one plan many times, varying anything in it
///
/// A file specifies the run; the values that vary (schedulers, tunables, CPUs, machines, nice
/// values, policies, weights, quotas, seeds, numbers of the workload or parameters of a benchmark),
/// over a grid or a sample; and the metrics reported for each run. Every mistake in it is found
/// before the first run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab sweep examples/sweep-desktop.toml
  schedlab sweep examples/sweep-desktop.toml -o results     each part as soon as it is complete; the
                                                            same command continues after Ctrl-C
  schedlab sweep examples/sweep-desktop.toml --report sweep.html
  schedlab sweep examples/sweep-desktop.toml --engine ray -o results

docs/sweeps.md describes the file.

Exit status: 0 all runs are complete; 2 the request cannot be carried out, or a run failed; 130 the
sweep was interrupted.")]
pub struct SweepArgs {
    /// Description of the sweep: TOML or JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the results into this directory, in parts; existing parts are not run again
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Metric reported for each run, instead of those in the file, e.g. throughput or
    /// "key_wakeup_latency_p99(audio)"
    #[arg(long, value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Number of cores to use for simulation; it does not affect the results [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Place where the runs are made
    #[arg(long, value_enum, default_value = "threads", value_name = "ENGINE")]
    pub engine: Engine,
    /// Address of the cluster [default: one is started on this machine]
    #[arg(long, value_name = "ADDRESS", requires = "engine")]
    pub address: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: SweepFormat,
    /// Format of the parts [default: parquet if the program was built with it, else csv]
    #[arg(long, value_enum, value_name = "FORM", requires = "output")]
    pub parts: Option<PartFormat>,
    /// Also write a page for a browser: curves, heat maps, Pareto front, all points
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Run nothing: check everything, and show the number of runs
    #[arg(long)]
    pub check: bool,
}

/// Search for the settings that are best for a load
///
/// A file specifies the workloads, the scheduler, the settings to search (tunables, nice values,
/// weights, quotas, affinity, slices, the scheduler itself), and the goal: an expression over the
/// metrics, with constraints. The settings found are tested, on workloads and seeds that the search
/// has not used, against the defaults and the result of a random search. The search uses Optuna and
/// needs the Python package: `pip install "schedlab[optuna]"`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab tune examples/tune-desktop.toml
  schedlab tune examples/tune-desktop.toml --budget 50 --storage tune.log
  schedlab tune examples/tune-desktop.toml --report tune.html

docs/tuning.md describes the file.

Exit status: 0 better settings than the default were found; 1 none were found; 2 the request cannot
be carried out.")]
pub struct TuneArgs {
    /// Description of the search: TOML or JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Number of settings to try, instead of the number in the file
    #[arg(long, value_name = "N")]
    pub budget: Option<u64>,
    /// Seed of all random choices of the search
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// File of the search's state; an existing search continues
    #[arg(long, value_name = "FILE")]
    pub storage: Option<PathBuf>,
    /// Number of cores to use for simulation [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Also write a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}
