//! Arguments of `schedlab trace` and `schedlab record`.

use crate::options::{ListFormat, RunFormat, seconds};
use crate::outputs::FormatOption;
use crate::page::PageArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Inspect a recorded trace: its contents, its figures, conversion to another format
///
/// A trace is a recording of perf, ftrace, trace-cmd, Perfetto or this program, in any of their
/// formats, compressed or not. The format is recognised by the contents of the file. `timehist`,
/// `latency`, `map` and `antagonists` accept the same files.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  perf sched record -- make -j4; schedlab trace info perf.data
  schedlab trace stats perf.data
  schedlab trace stats perf.data --report recorded.html
  schedlab trace convert perf.data make.pftrace")]
pub struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// Subcommands of `schedlab trace`.
#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    Info(InfoArgs),
    Stats(StatsArgs),
    Convert(ConvertArgs),
}

/// Show the contents of a trace, its defects, and the questions that it can answer
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: ListFormat,
}

/// Show the figures of the recorded schedule, as `schedlab run` does for a simulated one
///
/// Figures that need more than a trace contains (fairness, loops, periods) are left out. A task
/// whose first event is a wakeup counts as starting then.
#[derive(Args, Debug)]
pub struct StatsArgs {
    /// Trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also show every task
    #[arg(short, long)]
    pub tasks: bool,
    /// Page and charts of the recorded schedule.
    #[command(flatten)]
    pub page: PageArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: RunFormat,
}

/// Write a trace in another format
///
/// The ending of the output file selects the format: .pftrace (Perfetto), .json (Chrome), .txt
/// (perf script); an appended .gz or .zst compresses it.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// Trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output file
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Output format [default: by the file's ending]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatOption>,
}

/// Record this machine's schedule, with a side file of what a trace does not contain
///
/// The whole machine is recorded while the command runs, by perf if it is installed, otherwise
/// through an instance of tracefs. FILE.side.json receives policies, nice values, affinity and
/// groups of threads, weights and quotas, topology and tunables. Requires root.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo schedlab record -- make -j4
  sudo schedlab record --seconds 10 -o desk.data
  schedlab record --side-only -o desk.data         needs no privileges")]
pub struct RecordArgs {
    /// Trace to write, accompanied by FILE.side.json
    #[arg(short, long, value_name = "FILE", default_value = "schedlab.data")]
    pub output: PathBuf,
    /// Recording tool [default: perf if it is installed]
    #[arg(long, value_enum, value_name = "TOOL")]
    pub with: Option<Tool>,
    /// Duration of a recording without a command [default: 5]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "command")]
    pub seconds: Option<u64>,
    /// Write only FILE.side.json
    #[arg(long, conflicts_with_all = ["with", "seconds", "command"])]
    pub side_only: bool,
    /// Command during which to record
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Recording tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Tool {
    /// `perf record`.
    Perf,
    /// The text of an instance of tracefs.
    Tracefs,
}
