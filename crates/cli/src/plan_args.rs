//! The command line of `schedlab bench plan`: a file that describes a benchmark run.

use crate::bench_options::Common;
use clap::{Arg, ArgMatches, Args, Command};
use std::path::PathBuf;

/// Name of the subcommand.
pub const NAME: &str = "plan";

const FILE: &str = "plan-file";

/// Makes the subcommand `plan`.
pub fn subcommand() -> Command {
    let file = Arg::new(FILE)
        .value_name("PLAN.json")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf))
        .help("File written by --plan-out; options that change the run cannot be added");
    Common::augment_args(Command::new(NAME).arg(file))
        .about("Run a plan: benchmark, machine, schedulers, seeds")
        .long_about(None)
}

/// Returns the plan's file.
pub fn file(matches: &ArgMatches) -> PathBuf {
    matches.get_one::<PathBuf>(FILE).cloned().unwrap_or_default()
}
