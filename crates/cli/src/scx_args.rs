//! Arguments of `schedlab scx`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Look at a sched_ext policy, a compiled BPF object
#[derive(Args, Debug)]
pub struct ScxArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub command: ScxCommand,
}

/// What to do with a policy.
#[derive(Subcommand, Debug)]
pub enum ScxCommand {
    Show(ScxShowArgs),
}

/// Show what is in a policy: callbacks, maps, variables, and what it asks for that is not there
#[derive(Args, Debug)]
#[command(after_help = "\
A policy that can be shown without an error can be run: schedlab run FILE --scheduler scx:OBJECT.

Examples:
  schedlab scx show examples/scx/vtime.bpf.o
  schedlab scx show examples/scx/vtime.bpf.o --scx-set slice_ns=5000000

Exit status: 0 it was shown; 2 it cannot be loaded (what is wrong is told).")]
pub struct ScxShowArgs {
    /// The object
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,
    /// Set a variable before it is loaded, or ops.FIELD, or map.NAME.max_entries
    #[arg(long, value_name = "NAME=VALUE")]
    pub scx_set: Vec<String>,
    /// CPUs of the machine that it is loaded on
    #[arg(short, long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(1..=512))]
    pub cpus: u32,
}
