//! The arguments of `schedlab trace` and `schedlab record`.

use crate::args::ListFormat;
use crate::options::{RunFormat, seconds};
use crate::outputs::FormatOption;
use crate::page::PageArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Look into a recorded trace: what is in it, its figures, another format
///
/// A trace is what perf, ftrace, trace-cmd, Perfetto or this program recorded, in any of their
/// formats, compressed or not: what a file is is told from what stands in it. `timehist`,
/// `latency`, `map` and `antagonists` take the same files.
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

/// What to do with a trace.
#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    Info(InfoArgs),
    Stats(StatsArgs),
    Convert(ConvertArgs),
}

/// Show what is in a trace, what is wrong with it, and what can be asked of it
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: ListFormat,
}

/// Show the figures of the recorded schedule, as `schedlab run` shows those of a simulated one
///
/// Figures that need more than a trace holds (fairness, loops, periods) are left out. A task that
/// is heard of first when it is woken counts as one that starts then.
#[derive(Args, Debug)]
pub struct StatsArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show every task, too
    #[arg(short, long)]
    pub tasks: bool,
    /// The recorded schedule as a page, and its charts.
    #[command(flatten)]
    pub page: PageArgs,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: RunFormat,
}

/// Write a trace in another format
///
/// The file's ending says which: .pftrace (Perfetto), .json (Chrome), .txt (perf script), with .gz
/// or .zst behind it to compress.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Write this format [default: by the file's ending]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatOption>,
}

/// Record this machine's schedule, with what a trace does not hold beside it
///
/// The whole machine is recorded while the command runs, with perf if it is there, else through an
/// instance of tracefs. FILE.side.json gets policies, nice values, affinity and groups of threads,
/// weights and quotas, topology and tunables. Needs root.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo schedlab record -- make -j4
  sudo schedlab record --seconds 10 -o desk.data
  schedlab record --side-only -o desk.data         no rights are needed for that")]
pub struct RecordArgs {
    /// The trace to write; FILE.side.json stands beside it
    #[arg(short, long, value_name = "FILE", default_value = "schedlab.data")]
    pub output: PathBuf,
    /// Record with this [default: perf if it is there]
    #[arg(long, value_enum, value_name = "TOOL")]
    pub with: Option<Tool>,
    /// Without a command: record for so long [default: 5]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "command")]
    pub seconds: Option<u64>,
    /// Write only FILE.side.json
    #[arg(long, conflicts_with_all = ["with", "seconds", "command"])]
    pub side_only: bool,
    /// Record while this runs
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Tool {
    /// `perf record`.
    Perf,
    /// The text of an instance of tracefs.
    Tracefs,
}
