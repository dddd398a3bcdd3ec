//! The command line of `schedlab host`.

use crate::options::time;
use clap::{Args, ValueEnum};
use schedlab_host::facts::{cpu_list, format_cpus};
use schedlab_workload::Start;
use std::fmt;
use std::path::PathBuf;

/// Run a workload on this machine's own kernel and measure what comes of it
///
/// Linux only; rt-app is not needed. Threads use up CPU time without system calls, the kernel
/// records their switches, and how much of the CPUs others had is accounted: noisy runs are made
/// again. What this user may not do is refused before anything runs, with what would permit it.
#[derive(Args, Debug)]
#[command(after_help = "\
docs/live.md tells what the figures mean, and what rights they need: most need none.

Examples:
  schedlab host --probe                                what may this user do on this kernel?
  schedlab host examples/desktop.json --dry-run        what would be set
  schedlab host examples/desktop.json --runs 3 --out desktop-here.json
  schedlab host hogs.json --cpus 0 --duration 2        all on one CPU: the least noise
  schedlab host examples/realtime-mix.json --leave-out without what this user may not do
  schedlab host --measure --out here.json              costs of this machine, for the simulator
  schedlab run examples/desktop.json --machine here.json

Exit status: 0 it was measured; 2 it cannot be done; 3 too noisy: fewer than --runs runs were quiet
(what was had is written all the same, marked as rejected).")]
pub struct HostArgs {
    /// The workload in rt-app's JSON language
    #[arg(value_name = "FILE", required_unless_present_any = ["probe", "measure", "as_runner"])]
    pub file: Option<PathBuf>,
    /// CPUs of tasks that name none themselves; the workload's own must be among them [default: all
    /// that may be used]
    #[arg(short, long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<Cpus>,
    /// Quiet runs that are wanted
    #[arg(short, long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// End each run after so long [default: what the workload says]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Write the result to this file, as JSON; with --measure the machine's file
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How threads begin: all exist before and wake, or each is made when it starts
    #[arg(long, value_name = "wake|fork", default_value = "wake", value_parser = Start::parse)]
    pub start: Start,
    /// A run in which others had more than this share of the CPUs is thrown away
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = share)]
    pub noise_limit: f64,
    /// Runs at most [default: three times --runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub tries: Option<u32>,
    /// Where the group of great weight is made, in which all threads are: below this process's own
    /// group if that is permitted, nowhere, or in a directory below /sys/fs/cgroup
    #[arg(long, value_name = "auto|none|PATH", default_value = "auto")]
    pub group: String,
    /// What holds in the workload's groups, from a file as `schedlab run --groups` reads it
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// What is recorded: `own` the switches of the workload's threads, `auto` the same if it is
    /// permitted, `all` in one run more everybody's, `none` nothing
    #[arg(long, value_enum, value_name = "auto|own|all|none", default_value = "auto")]
    pub trace: TraceOption,
    /// Run without the tasks that ask for what cannot be had, and say so in the result
    #[arg(long)]
    pub leave_out: bool,
    /// Only say what would be set
    #[arg(long, conflicts_with_all = ["out", "format"])]
    pub dry_run: bool,
    /// Say what this user may do on this kernel: each thing is tried
    #[arg(long, conflicts_with_all = ["file", "measure", "out", "cpus", "runs", "tries",
          "noise_limit", "duration", "start", "groups", "trace", "leave_out", "dry_run"])]
    pub probe: bool,
    /// Measure what things cost on this machine, and write a machine's file for the simulator
    #[arg(long, conflicts_with_all = ["file", "leave_out", "duration", "dry_run", "groups", "runs",
          "tries", "noise_limit", "start", "trace"])]
    pub measure: bool,
    /// How to print
    #[arg(long, value_enum, value_name = "table|json", default_value = "table")]
    pub format: HostFormat,
    /// How this program calls itself for the process that has the threads.
    #[arg(long, hide = true, conflicts_with_all = ["file", "probe", "measure"])]
    pub as_runner: bool,
}

/// CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpus(pub Vec<u32>);

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_cpus(&self.0))
    }
}

/// `0-3,8`.
fn cpus(text: &str) -> Result<Cpus, String> {
    match cpu_list(text) {
        Some(cpus) if !cpus.is_empty() => Ok(Cpus(cpus)),
        _ => Err("it must be a list of CPUs, such as 0 or 0-3,8".into()),
    }
}

/// A share of the CPUs.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("it must be a share of the CPUs from 0 to 1, such as 0.02".into()),
    }
}

/// What is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TraceOption {
    /// The switches of the workload's threads, if that is permitted.
    Auto,
    /// The switches of the workload's threads; refused where that is not permitted.
    Own,
    /// The switches of everything on the CPUs of the placement, in a run of its own.
    All,
    /// Nothing.
    None,
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum HostFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}
