//! The arguments of `schedlab trace`.

use crate::args::ListFormat;
use crate::options::RunFormat;
use crate::outputs::FormatOption;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Look into a recorded trace: what is in it, its figures, another format
///
/// A trace is what perf, ftrace, trace-cmd, Perfetto or this program recorded, in any of their
/// formats, compressed or not: what a file is is told from what stands in it. `timehist`, `latency`,
/// `map` and `antagonists` take the same files.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  perf sched record -- make -j4; schedlab trace info perf.data
  schedlab trace stats perf.data
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
