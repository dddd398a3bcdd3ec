//! Arguments of `schedlab scx`.

use crate::options::time;
use crate::traced::SourceArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Inspect or run a sched_ext policy, a compiled BPF object
#[derive(Args, Debug)]
pub struct ScxArgs {
    /// Subcommand.
    #[command(subcommand)]
    pub command: ScxCommand,
}

/// Subcommands of `schedlab scx`.
#[derive(Subcommand, Debug)]
pub enum ScxCommand {
    Show(ScxShowArgs),
    Log(Box<ScxLogArgs>),
    Census(ScxCensusArgs),
    #[cfg(feature = "twins")]
    Twin(ScxTwinArgs),
    #[cfg(feature = "twins")]
    Replay(ScxReplayArgs),
}

/// Show the contents of a policy: callbacks, maps, variables, and unsupported features
#[derive(Args, Debug)]
#[command(after_help = "\
A policy that is shown without an error can be run: schedlab run FILE --scheduler scx:OBJECT.

Examples:
  schedlab scx show examples/scx/vtime.bpf.o
  schedlab scx show examples/scx/vtime.bpf.o --scx-set slice_ns=5000000

Exit status: 0 it was shown; 2 it cannot be loaded (the reason is printed).")]
pub struct ScxShowArgs {
    /// Object file of the policy
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,
    /// Variable to set before it is loaded, or ops.FIELD, or map.NAME.max_entries
    #[arg(long, value_name = "NAME=VALUE")]
    pub scx_set: Vec<String>,
    /// Script of its user half: carry out the part that precedes loading
    #[arg(long, value_name = "FILE.toml")]
    pub scx_user: Option<PathBuf>,
    /// Number of CPUs of the machine on which it is loaded
    #[arg(short, long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(1..=512))]
    pub cpus: u32,
}

/// Run a workload under a policy and print every callback, in order
///
/// Each line is a callback that has returned: time, CPU, name, process id, arguments, result,
/// instructions. A callback that was called within another is indented and precedes it. Output of
/// the policy and entries of ring buffers appear in between. Counts follow at the end: calls and
/// instructions by callback, helpers, kernel functions, maps.
#[derive(Args, Debug)]
#[command(mut_arg("scheduler", |arg| arg.short('s')))]
#[command(after_help = "\
Examples:
  schedlab scx log examples/desktop.json --scheduler scx:examples/scx/vtime.bpf.o --duration 20ms
  schedlab scx log examples/scx/vtime.bpf.o examples/desktop.json --callback enqueue,running
  schedlab scx log examples/desktop.json --scheduler scx:examples/scx/vtime.bpf.o --counts

Exit status: 0 the run is complete; 2 it cannot be made, or the policy ended.")]
pub struct ScxLogArgs {
    /// Workload, scheduler and machine.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Workload, if the policy's object precedes it
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<PathBuf>,
    /// Callbacks to show (and printk, ringbuf, timer, syscall, user)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub callback: Vec<String>,
    /// Start time of the log
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<u64>,
    /// End time of the log
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<u64>,
    /// Show only the counts
    #[arg(long)]
    pub counts: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|csv|decisions")]
    pub format: ScxLogFormat,
}

/// Load all objects in directories, run those that load, and show a table of what is missing
///
/// Each object that is a sched_ext policy is loaded, with the preset of its name if there is one,
/// and runs a short workload on two CPUs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab scx census examples/scx
  schedlab scx census ~/scx/build --format csv > census.csv

Exit status: 0 the table was printed; 2 a directory cannot be read, or holds no object.")]
pub struct ScxCensusArgs {
    /// Objects, or directories to search for objects at any depth
    #[arg(required = true, value_name = "DIR|OBJECT")]
    pub paths: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|csv")]
    pub format: ScxFormat,
}

/// Run a policy and the scheduler of which it is a twin on one workload, and compare every turn
///
/// The first difference is shown from both sides, with the input and the reply of the policy.
#[cfg(feature = "twins")]
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab scx twin examples/scx/goodness.bpf.o --with o_n@2.4.19 examples/desktop.json
  schedlab scx twin examples/scx/bfs.bpf.o --with bfs@0.404 examples/desktop.json --duration 5

Exit status: 0 all turns are equal; 1 they differ; 2 one of the two cannot be run.")]
pub struct ScxTwinArgs {
    /// Object file of the policy
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,
    /// Workload in rt-app's JSON language
    #[arg(value_name = "WORKLOAD")]
    pub workload: PathBuf,
    /// Scheduler that it should match
    #[arg(long, value_name = "NAME")]
    pub with: String,
    /// Variable to set before it is loaded
    #[arg(long, value_name = "NAME=VALUE")]
    pub scx_set: Vec<String>,
    /// Number of CPUs
    #[arg(short, long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=512))]
    pub cpus: u32,
    /// Ticks per second, for both
    #[arg(long, value_name = "HZ", default_value_t = 250,
        value_parser = clap::value_parser!(u32).range(100..=1000))]
    pub hz: u32,
    /// Time limit: seconds, or with a unit, e.g. 20ms [default: as in the workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
}

/// Replay the decision log of a policy through the scheduler of which it is a twin
///
/// The scheduler receives the events of the log at their times: tasks that start, wake, sleep,
/// yield, end or change their nice value, and ticks. Where the policy decided which task runs next
/// on a CPU, or whether a CPU must look for another task, the scheduler also decides. Where the
/// decisions differ, the difference is shown with the last records; then the scheduler is forced to
/// follow the policy, and the replay continues.
///
/// `schedlab live POLICY --log LOG` writes such logs in a kernel, and `schedlab scx log --format
/// decisions` in the laboratory. `schedlab live --replay LOG` is the same command.
#[cfg(feature = "twins")]
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab scx log examples/desktop.json -s 'scx:examples/scx/bfs.bpf.o[log_decisions=1]' \\
    --duration 1 --format decisions > bfs.log
  schedlab scx replay bfs.log
  schedlab scx replay bfs.log --with bfs@0.316 --show 1

Exit status: 0 all decisions are equal; 1 they differ; 2 the log cannot be read or replayed.")]
pub struct ScxReplayArgs {
    /// Decision log; compressed (.gz, .xz, .zst) or not
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Scheduler [default: the one of which the log's policy is a twin]
    #[arg(long, value_name = "NAME")]
    pub with: Option<String>,
    /// Maximum number of differences to show
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub show: u32,
    /// Number of records to show before each difference
    #[arg(long, value_name = "N", default_value_t = 12,
        value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub around: u32,
}

/// Output format of a policy's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ScxLogFormat {
    /// Table, for people.
    Table,
    /// CSV, for programs.
    Csv,
    /// Decisions, as a policy with the setting log_decisions writes them; input of scx replay.
    #[cfg(feature = "twins")]
    Decisions,
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ScxFormat {
    /// Table, for people.
    Table,
    /// CSV, for programs.
    Csv,
}
