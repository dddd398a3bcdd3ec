//! The arguments of `schedlab replay`.

use crate::options::{seconds, setting};
use crate::page::PageArgs;
use crate::scx::ScxOptions;
use clap::{Args, ValueEnum};
use schedlab_lab::plan::SetValues;
use std::path::PathBuf;

/// Ask of a recorded trace what the same work would have done under another scheduler
///
/// What each task computed, and what its sleeps waited for, is inferred from the trace; that is run
/// under the scheduler that was recorded, which shows how far the inference can be trusted, and
/// under the others. All is run several times with all work a little longer or shorter: what is
/// shown is the middle and the band.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab replay examples/traces/desk.xz -s eevdf,cfs,bfs --change 'nice hog +10'
  schedlab replay trace.txt --cpus 1               the same work on one CPU
  schedlab replay trace.txt -s eevdf --set base_slice_ns=700000,2800000
  schedlab replay trace.txt --groups groups.txt --only 'descendants of make' -s cfs
  schedlab replay trace.txt -s cfs --report r.html recorded and alternatives above each other
  schedlab replay trace.txt --write work.json      the work as a file for `schedlab run`

--change: nice TASKS +5, renice TASKS 5, chrt TASKS fifo 10, taskset TASKS 0-1, move TASKS /GROUP, slice TASKS
3ms. TASKS is a name, a pattern, a number, or `descendants of NAME`. It holds from the birth of each
task, also of those that are forked later.

--groups: a line is a group with its settings (`/build cpu.weight=200`), or who is in it
(`descendants of make /build`), or of `grep . /proc/*/cgroup`.

Exit status: 0 the question is answered (how far the answer can be trusted, it says); 1 in a replay
a task waits for ever; 2 what was asked for cannot be done.")]
pub struct ReplayArgs {
    /// The trace: the text of `perf script`, ftrace or `trace-cmd report`, compressed or not
    #[arg(value_name = "TRACE")]
    pub file: PathBuf,
    /// Under what else it is replayed: names, `main`, `linux`, `all`; NAME:TUNABLE=VALUE sets
    /// something for one alone
    #[arg(short, long = "scheduler", value_name = "NAME,...", value_delimiter = ',')]
    pub schedulers: Vec<String>,
    /// The scheduler under which it was recorded; by default eevdf@6.18
    #[arg(long, value_name = "NAME")]
    pub recorded: Option<String>,
    /// Ticks a second of the recorded machine: its CONFIG_HZ [default: 250]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Set a tunable of the alternatives; several values make a column each
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// Do one thing to the machine while the alternatives run, e.g. "200ms offline cpu 1"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// The groups in which tasks were when it was recorded [default: TRACE's name with the ending
    /// .groups, where there is such a file]
    #[arg(long, value_name = "FILE|none")]
    pub groups: Option<PathBuf>,
    /// What `schedlab record` noted beside the trace: kernel, policies, affinity, groups, topology,
    /// tunables [default: TRACE.side.json, where there is such a file]
    #[arg(long, value_name = "FILE|none")]
    pub side: Option<PathBuf>,
    /// CPUs of the alternatives [default: as recorded]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The alternatives' machine, without its costs: a preset, flat-N, or a file
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Change tasks of the alternatives, e.g. 'nice make +10'
    #[arg(long, value_name = "ACTION")]
    pub change: Vec<String>,
    /// Report only these tasks (all are replayed) [default: all but the kernel's]
    #[arg(long, value_name = "WHO")]
    pub only: Option<String>,
    /// Leave these tasks out of the replay, e.g. perf
    #[arg(long, value_name = "WHO")]
    pub without: Option<String>,
    /// Who wakes whom: exactly as recorded, or whoever comes first
    #[arg(long, value_enum, default_value = "strict", value_name = "strict|counted")]
    pub tokens: TokensOption,
    /// Whether what interrupts end comes at its time (open: a server's requests), or takes its time
    #[arg(long, value_enum, default_value = "closed", value_name = "open|closed")]
    pub arrivals: ArrivalsOption,
    /// How the machine stands when the trace begins: it has been running for some time, and ticks
    /// and balances as the recorded one did (running), or it gets its tasks then (fresh;
    /// docs/replay.md)
    #[arg(long, value_enum, default_value = "running", value_name = "fresh|running")]
    pub begin: BeginOption,
    /// How often each scheduler is run
    #[arg(
        long,
        value_name = "N",
        default_value_t = schedlab_lab::replay::SEEDS,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub seeds: u32,
    /// Stop each run after so many seconds [default: four times the trace's length]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<u64>,
    /// Write the work as a workload file, and run nothing
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["report", "plot", "json", "explain"])]
    pub write: Option<PathBuf>,
    /// Write it without the tasks' names
    #[arg(long, requires = "write")]
    pub anonymize: bool,
    /// Write the answer as JSON into a file, too
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// The recorded and the alternative schedules above each other as a page, and their charts.
    #[command(flatten)]
    pub page: PageArgs,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|json")]
    pub format: ReplayFormat,
    /// Tell whose waits grew or shrank, and behind whom
    #[arg(long)]
    pub explain: bool,
    /// On so many cores [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
    /// Of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// How edges become semaphores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TokensOption {
    /// One for each edge.
    Strict,
    /// One for each sleeper.
    Counted,
}

/// How the machine stands when the trace begins.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeginOption {
    /// It gets its tasks in that moment
    Fresh,
    /// It has been running
    Running,
}

/// How arrivals are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ArrivalsOption {
    /// At their times.
    Open,
    /// So long after the sleep began.
    Closed,
}

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReplayFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}
