//! The command line of `schedlab host`.

use crate::options::time;
use clap::{Args, ValueEnum};
use schedlab_host::facts::{cpu_list, format_cpus};
use schedlab_workload::Start;
use std::fmt;
use std::path::PathBuf;

/// Run a workload on the kernel of this machine and measure the result
///
/// Linux only; rt-app is not needed. Threads consume CPU time without system calls, the kernel
/// records their switches, and the CPU time of other processes is accounted: noisy runs are
/// repeated. Whatever this user has no permission for is refused before anything runs, with the
/// remedy.
#[derive(Args, Debug)]
#[command(after_help = "\
docs/live.md explains the figures and the privileges that they need: most need none.

Examples:
  schedlab host --probe                                permissions of this user on this kernel
  schedlab host examples/desktop.json --dry-run        settings that would be made
  schedlab host examples/desktop.json --runs 3 --out desktop-here.json
  schedlab host hogs.json --cpus 0 --duration 2        all on one CPU: the least noise
  schedlab host examples/realtime-mix.json --leave-out without tasks that need more privileges
  schedlab host --measure --out here.json              costs of this machine, for the simulator
  schedlab run examples/desktop.json --machine here.json

Exit status: 0 the workload was measured; 2 it cannot be; 3 too noisy: fewer than --runs runs were
quiet (the result is still written, marked as rejected).")]
pub struct HostArgs {
    /// Workload in rt-app's JSON language
    #[arg(value_name = "FILE", required_unless_present_any = ["probe", "measure", "as_runner"])]
    pub file: Option<PathBuf>,
    /// CPUs for tasks without affinity; they must include those that the workload names [default:
    /// all permitted CPUs]
    #[arg(short, long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<Cpus>,
    /// Number of quiet runs to make
    #[arg(short, long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Time limit of each run [default: as in the workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Write the result to this file, as JSON; with --measure, the machine's file
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How threads start: `wake` creates all beforehand, `fork` creates each at its start time
    #[arg(long, value_name = "wake|fork", default_value = "wake", value_parser = Start::parse)]
    pub start: Start,
    /// Largest share of the CPUs that other processes may have in an accepted run
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = share)]
    pub noise_limit: f64,
    /// Maximum number of runs [default: three times --runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub tries: Option<u32>,
    /// Place of the heavily weighted group that contains all threads: below this process's own
    /// group if permitted (auto), nowhere (none), or in a directory below /sys/fs/cgroup
    #[arg(long, value_name = "auto|none|PATH", default_value = "auto")]
    pub group: String,
    /// File of settings for the workload's groups, as for `schedlab run --groups`
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// Switches to record: `own` records the workload's threads, `auto` does so if permitted,
    /// `all` records all threads in an additional run, `none` records nothing
    #[arg(long, value_enum, value_name = "auto|own|all|none", default_value = "auto")]
    pub trace: TraceOption,
    /// Leave out tasks that require something unavailable, and note them in the result
    #[arg(long)]
    pub leave_out: bool,
    /// Only show the settings that would be made
    #[arg(long, conflicts_with_all = ["out", "format"])]
    pub dry_run: bool,
    /// Try and show each thing that this user may do on this kernel
    #[arg(long, conflicts_with_all = ["file", "measure", "out", "cpus", "runs", "tries",
          "noise_limit", "duration", "start", "groups", "trace", "leave_out", "dry_run"])]
    pub probe: bool,
    /// Measure the costs of this machine, and write a machine's file for the simulator
    #[arg(long, conflicts_with_all = ["file", "leave_out", "duration", "dry_run", "groups", "runs",
          "tries", "noise_limit", "start", "trace"])]
    pub measure: bool,
    /// Output format
    #[arg(long, value_enum, value_name = "table|json", default_value = "table")]
    pub format: HostFormat,
    /// How this program calls itself for the process that contains the threads.
    #[arg(long, hide = true, conflicts_with_all = ["file", "probe", "measure"])]
    pub as_runner: bool,
}

/// List of CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpus(pub Vec<u32>);

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_cpus(&self.0))
    }
}

/// Reads a list of CPUs such as `0-3,8`.
fn cpus(text: &str) -> Result<Cpus, String> {
    match cpu_list(text) {
        Some(cpus) if !cpus.is_empty() => Ok(Cpus(cpus)),
        _ => Err("it must be a list of CPUs, such as 0 or 0-3,8".into()),
    }
}

/// Reads a share of the CPUs.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("it must be a share of the CPUs from 0 to 1, such as 0.02".into()),
    }
}

/// Switches that are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TraceOption {
    /// Switches of the workload's threads, if permitted.
    Auto,
    /// Switches of the workload's threads; refused where not permitted.
    Own,
    /// Switches of all threads on the CPUs of the placement, in a separate run.
    All,
    /// No switches.
    None,
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum HostFormat {
    /// Table, for people.
    Table,
    /// JSON, for programs.
    Json,
}
