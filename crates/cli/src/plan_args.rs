//! The command line of `schedlab bench plan`: a file that says what is to be run.

use crate::bench_options::Common;
use clap::{Arg, ArgMatches, Args, Command};
use std::path::PathBuf;

/// The subcommand's name.
pub const NAME: &str = "plan";

const FILE: &str = "plan-file";

/// `plan` as a subcommand.
pub fn subcommand() -> Command {
    let file = Arg::new(FILE)
        .value_name("PLAN.json")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf))
        .help("what --plan-out of a benchmark wrote; options that say what is run cannot be added");
    Common::augment_args(Command::new(NAME).arg(file))
        .about("What a plan says: benchmark, machine, schedulers, seeds")
        .long_about(None)
}

/// The plan's file.
pub fn file(matches: &ArgMatches) -> PathBuf {
    matches.get_one::<PathBuf>(FILE).cloned().unwrap_or_default()
}
