//! Arguments of `schedlab scx`.

use crate::options::time;
use crate::traced::SourceArgs;
use clap::{Args, Subcommand, ValueEnum};
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
    Log(Box<ScxLogArgs>),
    Census(ScxCensusArgs),
    Twin(ScxTwinArgs),
    Replay(ScxReplayArgs),
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
    /// Carry out what this script of its user half does before it is loaded
    #[arg(long, value_name = "FILE.toml")]
    pub scx_user: Option<PathBuf>,
    /// CPUs of the machine that it is loaded on
    #[arg(short, long, value_name = "N", default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(1..=512))]
    pub cpus: u32,
}

/// Run a workload under a policy and print every callback, in order
///
/// Each line is a callback that has returned: time, CPU, name, process id, arguments, result,
/// instructions; one that was called within another is indented and stands before it. What the
/// policy prints and writes into ring buffers stands between. Behind all that stand the counts:
/// calls and instructions by callback, helpers, kernel functions, maps.
#[derive(Args, Debug)]
#[command(mut_arg("scheduler", |arg| arg.short('s')))]
#[command(after_help = "\
Examples:
  schedlab scx log examples/desktop.json --scheduler scx:examples/scx/vtime.bpf.o --duration 20ms
  schedlab scx log examples/scx/vtime.bpf.o examples/desktop.json --callback enqueue,running
  schedlab scx log examples/desktop.json --scheduler scx:examples/scx/vtime.bpf.o --counts

Exit status: 0 it ran; 2 it cannot be run, or the policy ended.")]
pub struct ScxLogArgs {
    /// What is run, and how.
    #[command(flatten)]
    pub source: SourceArgs,
    /// The workload, if the policy's object stands before it
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<PathBuf>,
    /// Only these callbacks (and printk, ringbuf, timer, syscall, user)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub callback: Vec<String>,
    /// From this time on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<u64>,
    /// Up to this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<u64>,
    /// Only the counts
    #[arg(long)]
    pub counts: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|csv|decisions")]
    pub format: ScxLogFormat,
}

/// Load all objects of some directories, run each that loads, and tell in a table what is missing
///
/// Each object that is a sched_ext policy is loaded, with the preset of its name if there is one,
/// and a short workload is run under it on two CPUs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab scx census examples/scx
  schedlab scx census ~/scx/build --format csv > census.csv

Exit status: 0 the table was printed; 2 a directory cannot be read, or holds no object.")]
pub struct ScxCensusArgs {
    /// Objects, or directories that hold some, however deep
    #[arg(required = true, value_name = "DIR|OBJECT")]
    pub paths: Vec<PathBuf>,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|csv")]
    pub format: ScxFormat,
}

/// Run a policy and the scheduler that it is a twin of on one workload, and compare them turn by
/// turn
///
/// The first difference is shown from both sides, with what the policy was told and answered.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab scx twin examples/scx/goodness.bpf.o --with o_n@2.4.19 examples/desktop.json
  schedlab scx twin examples/scx/bfs.bpf.o --with bfs@0.404 examples/desktop.json --duration 5

Exit status: 0 all turns are the same; 1 they differ; 2 one of them cannot be run.")]
pub struct ScxTwinArgs {
    /// The policy's object
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,
    /// A workload in rt-app's JSON language
    #[arg(value_name = "WORKLOAD")]
    pub workload: PathBuf,
    /// The scheduler that it ought to be
    #[arg(long, value_name = "NAME")]
    pub with: String,
    /// Set a variable before it is loaded
    #[arg(long, value_name = "NAME=VALUE")]
    pub scx_set: Vec<String>,
    /// Number of CPUs
    #[arg(short, long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=512))]
    pub cpus: u32,
    /// Ticks a second, for both
    #[arg(long, value_name = "HZ", default_value_t = 250,
        value_parser = clap::value_parser!(u32).range(100..=1000))]
    pub hz: u32,
    /// Stop after so long: seconds, or with a unit, e.g. 20ms [default: what the workload says]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
}

/// Replay the log of a policy's decisions through the scheduler that it is a twin of
///
/// The scheduler is told what happened, at the times of the log: tasks that begin, wake, sleep,
/// yield, end, ticks, other nice values. Where the policy decided who runs next on a CPU, or
/// whether a CPU is to look for another task, it decides, too. Where they part, that is shown, with
/// the last records; then it is made to do as the policy did, and goes on.
///
/// `schedlab live POLICY --log LOG` writes such logs in a kernel, `schedlab scx log --format
/// decisions` in the laboratory. `schedlab live --replay LOG` is the same command.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab scx log examples/desktop.json -s 'scx:examples/scx/bfs.bpf.o[log_decisions=1]' \\
    --duration 1 --format decisions > bfs.log
  schedlab scx replay bfs.log
  schedlab scx replay bfs.log --with bfs@0.316 --show 1

Exit status: 0 all decisions are the same; 1 they part; 2 the log cannot be read or replayed.")]
pub struct ScxReplayArgs {
    /// The log; it may be compressed (.gz, .xz, .zst)
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// The scheduler [default: that of which the log's policy is a twin]
    #[arg(long, value_name = "NAME")]
    pub with: Option<String>,
    /// Show so many partings
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub show: u32,
    /// With so many records before each
    #[arg(long, value_name = "N", default_value_t = 12,
        value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub around: u32,
}

/// How to print a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ScxLogFormat {
    /// For people.
    Table,
    /// For programs.
    Csv,
    /// What a policy with the setting log_decisions writes of its decisions, for scx replay.
    Decisions,
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ScxFormat {
    /// For people.
    Table,
    /// For programs.
    Csv,
}
