//! The command lines of `schedlab sweep` and `schedlab tune`.

use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Where runs are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Engine {
    /// On this machine, by threads of this program.
    Threads,
    /// On a Ray cluster (needs the Python package).
    Ray,
    /// On a Dask cluster (needs the Python package).
    Dask,
}

impl Engine {
    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Threads => "threads",
            Engine::Ray => "ray",
            Engine::Dask => "dask",
        }
    }
}

/// How a sweep is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SweepFormat {
    /// For people: the best of each metric, and the points.
    Table,
    /// Every run, a line each.
    Csv,
    /// For programs: the points, with means and confidence intervals over seeds.
    Json,
}

/// How parts are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Parts {
    /// Comma-separated values.
    Csv,
    /// Parquet, if the program was built with it.
    Parquet,
}

/// Run one plan many times, with anything in it varied
///
/// A file says what is run, what varies (schedulers, tunables, CPUs, machines, nice values,
/// policies, weights, quotas, seeds, numbers of the workload or parameters of a benchmark), over a
/// grid or a sample, and what is told of each run. Every mistake in it is found before the first
/// run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab sweep examples/sweep-desktop.toml
  schedlab sweep examples/sweep-desktop.toml -o results     each part as soon as it is there; the
                                                            same command goes on after Ctrl-C
  schedlab sweep examples/sweep-desktop.toml --report sweep.html
  schedlab sweep examples/sweep-desktop.toml --engine ray -o results

docs/sweeps.md describes the file.

Exit status: 0 all was run; 2 what was asked for cannot be done, or a run failed; 130 it was
interrupted.")]
pub struct SweepArgs {
    /// What varies: TOML or JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the results into this directory, in parts; what is there already is not run again
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Tell these of each run instead of what the file says, e.g. throughput or
    /// "key_wakeup_latency_p99(audio)"
    #[arg(long, value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Simulate on so many cores at once; the results are the same [default: all there are]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Where the runs are made
    #[arg(long, value_enum, default_value = "threads", value_name = "ENGINE")]
    pub engine: Engine,
    /// The cluster's address [default: one is started on this machine]
    #[arg(long, value_name = "ADDRESS", requires = "engine")]
    pub address: Option<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: SweepFormat,
    /// How parts are written [default: parquet if the program was built with it, else csv]
    #[arg(long, value_enum, value_name = "FORM", requires = "output")]
    pub parts: Option<Parts>,
    /// Write a page for a browser, too: curves, heat maps, Pareto front, all points
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Run nothing: check all, and say how many runs there are
    #[arg(long)]
    pub check: bool,
}

/// Search for the settings that are best for a load
///
/// A file says for which workloads, which scheduler, what may be changed (tunables, nice values,
/// weights, quotas, affinity, slices, the scheduler itself), and what is to be had: an expression
/// over the metrics, with constraints. Found settings are tried on workloads and seeds that were
/// not searched on, against the defaults, and random search stands beside the search. The search
/// is Optuna's: it needs the Python package, `pip install \"schedlab[optuna]\"`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab tune examples/tune-desktop.toml
  schedlab tune examples/tune-desktop.toml --budget 50 --storage tune.log
  schedlab tune examples/tune-desktop.toml --report tune.html

docs/tuning.md describes the file.

Exit status: 0 better settings than the default were found; 1 none were; 2 what was asked for cannot
be done.")]
pub struct TuneArgs {
    /// What is tuned for what: TOML or JSON
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Try so many settings instead of what the file says
    #[arg(long, value_name = "N")]
    pub budget: Option<u64>,
    /// Of all that is random in the search
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the search in this file; what is there goes on
    #[arg(long, value_name = "FILE")]
    pub storage: Option<PathBuf>,
    /// Simulate on so many cores at once [default: all there are]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Write a page for a browser, too
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}
