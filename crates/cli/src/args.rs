//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What would this workload have done under that scheduler?
///
/// schedlab runs the process schedulers of the Linux line, each true to its release, on a simulated machine in virtual time.
#[derive(Parser, Debug)]
#[command(name = "schedlab", version, arg_required_else_help = true, after_help = MAIN_EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const MAIN_EXAMPLES: &str = "\
Examples:
  schedlab list                                    which schedulers there are
  schedlab verify tests/golden                     are they true to the kernels they come from?

`schedlab COMMAND --help` tells more about each.

Exit status: 0 all is well; 1 a schedule disagrees or a rule was broken; 2 what was asked for cannot be done.";

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    Verify(VerifyArgs),
    List(ListArgs),
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ListFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Replay golden schedules and say where they are not met
///
/// A golden schedule is what a real kernel's scheduler did with a small workload: who ran where, from when to when, to the
/// nanosecond. Each is run again here, by the scheduler that the file names, and every slice must agree.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab verify tests/golden                     every file in and below a directory
  schedlab verify hogs.json.xz sleepers.json       some files; .gz and .xz are unpacked
  schedlab verify --quiet tests/golden             only what disagrees, and the summary

Share of CPU time: the time during which the same task ran on the same CPU, of the time that a CPU was busy in either.

Exit status: 0 every slice of every file agrees; 1 some do not; 2 some files could not be replayed.")]
pub struct VerifyArgs {
    /// Golden schedules, or directories to search for them
    #[arg(required = true, value_name = "FILE|DIRECTORY")]
    pub paths: Vec<PathBuf>,
    /// Do not name the files that agree
    #[arg(short, long)]
    pub quiet: bool,
}

/// Show the schedulers, their releases and their tunables
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab list                                    all of them
  schedlab list cfs                                one, in all its releases
  schedlab list --format json                      for programs")]
pub struct ListArgs {
    /// Only these, e.g. o_1 or cfs@2.6.24
    #[arg(value_name = "SCHEDULER")]
    pub schedulers: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    pub format: ListFormat,
}
