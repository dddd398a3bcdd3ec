//! The arguments of `schedlab replay`.

use crate::options::{seconds, setting};
use crate::page::PageArgs;
use crate::scx::ScxOptions;
use clap::{Args, ValueEnum};
use schedlab_lab::plan::SetValues;
use schedlab_replay::Arrivals;
use std::path::PathBuf;

/// Replay a recorded trace: what would the same work have done under another scheduler?
///
/// The computation of each task, and what its sleeps waited for, are inferred from the trace. This
/// work runs under the scheduler that was recorded, which shows how far the inference can be
/// trusted, and under the others. Each runs several times with all work slightly longer or shorter:
/// the output shows the median and the range.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab replay examples/traces/desk.xz -s eevdf,cfs,bfs --change 'nice hog +10'
  schedlab replay trace.txt --cpus 1               the same work on one CPU
  schedlab replay trace.txt -s eevdf --set base_slice_ns=700000,2800000
  schedlab replay trace.txt --groups groups.txt --set quota:/box=50ms/100ms,80ms/100ms
  schedlab replay trace.txt --try 'nice hog +10' --try 'chrt hog batch; nice hog +5'
  schedlab replay trace.txt --groups groups.txt --only 'descendants of make' -s cfs
  schedlab replay trace.txt -s cfs --report r.html recorded and alternatives, as a page
  schedlab replay trace.txt --write work.json      the work as a file for `schedlab run`

--change: nice TASKS +5, renice TASKS 5, chrt TASKS fifo 10, taskset TASKS 0-1, move TASKS /GROUP,
slice TASKS 3ms, clock_read TASKS 20us, autogroup off. TASKS is a name, a pattern, a number, or
`descendants of NAME`. The change applies from the start of each task, including tasks that are
forked later.

--groups: a line is a group with its settings (`/build cpu.weight=200`), or tasks and their
group (`descendants of make /build`), or a line of `grep . /proc/*/cgroup`.

Exit status: 0 the replay is complete (its output shows how far it can be trusted); 1 in a replay a
task waits forever; 2 the request cannot be carried out.")]
pub struct ReplayArgs {
    /// Trace: the text of `perf script`, ftrace or `trace-cmd report`, compressed or not
    #[arg(value_name = "TRACE")]
    pub file: PathBuf,
    /// Other schedulers to replay under: names, `main`, `linux`, `all`; NAME:TUNABLE=VALUE changes
    /// a setting for one of them
    #[arg(short, long = "scheduler", value_name = "NAME,...", value_delimiter = ',')]
    pub schedulers: Vec<String>,
    /// Scheduler that was recorded [default: eevdf@6.18]
    #[arg(long, value_name = "NAME")]
    pub recorded: Option<String>,
    /// Ticks per second of the recorded machine: its CONFIG_HZ [default: 250]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Tunable, or quota:/GROUP, burst:/GROUP, shares:/GROUP, to set in the alternatives; several
    /// values make a column each
    #[arg(long = "set", value_name = "KEY=VALUE,...", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// One action on the machine while the alternatives run, e.g. "200ms offline cpu 1"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// File of the tasks' groups during the recording [default: TRACE's name with the ending
    /// .groups, if the file exists]
    #[arg(long, value_name = "FILE|none")]
    pub groups: Option<PathBuf>,
    /// Side file of `schedlab record`: kernel, policies, affinity, groups, topology, tunables
    /// [default: TRACE.side.json, if the file exists]
    #[arg(long, value_name = "FILE|none")]
    pub side: Option<PathBuf>,
    /// Number of CPUs of the alternatives [default: as recorded]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Machine of the alternatives, without its costs: a preset, flat-N, or a file
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Change to tasks of the alternatives, e.g. 'nice make +10'
    #[arg(long, value_name = "ACTION")]
    pub change: Vec<String>,
    /// Tasks that read their own CPU clocks as they compute, in all columns: the kernel charges
    /// them at each reading, so that their slices end there; e.g. 'per' (every 20us) or 'per 50us'
    #[arg(long, value_name = "TASKS [TIME]")]
    pub clock_read: Vec<String>,
    /// Changes that make a column of their own, separated by `;`: 'nice make +10; group /b
    /// cpu.weight=50'. May be given several times
    #[arg(long = "try", value_name = "ACTION;...")]
    pub tries: Vec<String>,
    /// Tasks to report (all are replayed) [default: all but the kernel's]
    #[arg(long, value_name = "TASKS")]
    pub only: Option<String>,
    /// Tasks to leave out of the replay, e.g. perf
    #[arg(long, value_name = "TASKS")]
    pub without: Option<String>,
    /// Order of wakeups: of the tasks of one process or name, any may wake a sleeper that several
    /// of them woke (served); only the recorded one may (strict); any task may (counted)
    #[arg(long, value_enum, default_value = "served", value_name = "served|strict|counted")]
    pub tokens: TokensOption,
    /// Whether interrupts wake tasks at the recorded times (open: a server's requests), or after
    /// the recorded duration of the sleep (closed)
    #[arg(long, value_enum, default_value = "closed", value_name = "open|closed")]
    pub arrivals: ArrivalsOption,
    /// State of the machine at the beginning of the trace: it has been running, and its ticks and
    /// load balancing are as recorded (running), or it starts then (fresh; docs/replay.md)
    #[arg(long, value_enum, default_value = "running", value_name = "fresh|running")]
    pub begin: BeginOption,
    /// Number of runs of each scheduler
    #[arg(
        long,
        value_name = "N",
        default_value_t = schedlab_lab::replay::SEEDS,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub seeds: u32,
    /// Time limit of each run, in seconds [default: four times the trace's length]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<u64>,
    /// Write the work as a workload file, and run nothing
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["report", "plot", "json", "explain", "tries", "set", "at"])]
    pub write: Option<PathBuf>,
    /// Leave out the tasks' names in that file
    #[arg(long, requires = "write")]
    pub anonymize: bool,
    /// Also write the result as JSON into this file
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Page of the recorded and the alternative schedules, and their charts.
    #[command(flatten)]
    pub page: PageArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value = "table", value_name = "table|json")]
    pub format: ReplayFormat,
    /// Explain which waits grew or shrank, and behind which tasks
    #[arg(long)]
    pub explain: bool,
    /// Number of cores to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Order of wakeups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TokensOption {
    /// A semaphore for each edge, but one for all edges from tasks of one process or name to a
    /// sleeper
    Served,
    /// A semaphore for each edge.
    Strict,
    /// A semaphore for each sleeper.
    Counted,
}

/// State of the machine at the beginning of the trace.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeginOption {
    /// It starts then
    Fresh,
    /// It has been running
    Running,
}

/// Meaning of arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ArrivalsOption {
    /// Interrupts wake tasks at the recorded times.
    Open,
    /// Interrupts wake tasks after the recorded duration of the sleep.
    Closed,
}

impl From<ArrivalsOption> for Arrivals {
    fn from(option: ArrivalsOption) -> Arrivals {
        match option {
            ArrivalsOption::Open => Arrivals::Open,
            ArrivalsOption::Closed => Arrivals::Closed,
        }
    }
}

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReplayFormat {
    /// Table, for people.
    Table,
    /// JSON, for programs.
    Json,
}
