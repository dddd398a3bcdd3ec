//! The arguments of the commands of perf: `timehist`, `latency`, `map`, `antagonists`.

use crate::traced::SourceArgs;
use clap::{Args, ValueEnum};
use schedlab_core::cpu_set::parse_cpu_list;
use schedlab_trace::latency::SortKey;

/// Show every slice with its wait and its delay, as `perf sched timehist` does
///
/// Prints a line each time a task leaves a CPU: when, where and which task; how long it had been
/// off the CPUs before (wait time), how much of that it was runnable since its wakeup (sch delay),
/// and how long it ran (run time), in milliseconds.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab timehist examples/desktop.json --scheduler cfs
  schedlab timehist examples/desktop.json --scheduler o_1 --with-summary -p video --state
  schedlab timehist examples/desktop.json --scheduler cfs -w -n -V
  perf script --ns > trace.txt; schedlab timehist trace.txt")]
pub struct TimehistArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Show only a summary: a line for each task
    #[arg(short, long)]
    pub summary: bool,
    /// Show the slices, followed by the summary
    #[arg(short = 'S', long, conflicts_with = "summary")]
    pub with_summary: bool,
    /// Also show wakeups
    #[arg(short, long)]
    pub wakeups: bool,
    /// Also show migrations
    #[arg(short = 'M', long)]
    pub migrations: bool,
    /// Show which task runs next
    #[arg(short, long)]
    pub next: bool,
    /// Show the state in which the task left: R runnable, S asleep, D uninterruptible, T stopped, Z
    /// ended
    #[arg(long)]
    pub state: bool,
    /// Show a column for each CPU
    #[arg(short = 'V', long)]
    pub cpu_visual: bool,
    /// Processes to show: numbers, or names of tasks
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',')]
    pub pid: Vec<String>,
    /// Threads to show: numbers, or names of tasks
    #[arg(short, long, value_name = "TID,...", value_delimiter = ',')]
    pub tid: Vec<String>,
    /// CPUs to show, e.g. 0,2-3
    #[arg(short = 'C', long = "cpu", value_name = "CPUS", value_parser = cpu_list)]
    pub only_cpus: Option<Cpus>,
}

/// Numbers of CPUs.
#[derive(Clone, Debug)]
pub struct Cpus(pub Vec<u32>);

/// Reads a list of CPUs such as `0,2-3`.
fn cpu_list(text: &str) -> Result<Cpus, String> {
    parse_cpu_list(text).map(Cpus).ok_or_else(|| {
        format!("\"{text}\" is not a list of CPUs; write numbers and ranges, e.g. 0,2-3")
    })
}

/// Show how long tasks waited for a CPU, as `perf sched latency` does
///
/// Prints a row for all tasks of a name: time on CPUs, number of switches to them, and the delays
/// between a wakeup or an involuntary switch and the next run: mean, maximum, and when the maximum
/// occurred.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab latency examples/desktop.json --scheduler cfs
  schedlab latency examples/desktop.json --scheduler o_1 --pids --sort max
  schedlab latency trace.txt                       of a recorded trace")]
pub struct LatencyArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Show a row for each task
    #[arg(short, long)]
    pub pids: bool,
    /// CPU to show: time on it, switches to it, and the delays that these switches end
    #[arg(short = 'C', long = "cpu", alias = "CPU", value_name = "CPU")]
    #[arg(value_parser = clap::value_parser!(u32).range(..4096))]
    pub only_cpu: Option<u32>,
    /// Sort keys, in order of precedence
    #[arg(
        short,
        long,
        value_enum,
        value_name = "KEY,...",
        value_delimiter = ',',
        default_value = "avg,max,switch,runtime"
    )]
    pub sort: Vec<SortOption>,
}

/// Key by which rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SortOption {
    /// Time on CPUs.
    Runtime,
    /// Switches.
    Switch,
    /// The mean delay.
    Avg,
    /// The longest delay.
    Max,
}

impl From<SortOption> for SortKey {
    fn from(option: SortOption) -> SortKey {
        match option {
            SortOption::Runtime => SortKey::Runtime,
            SortOption::Switch => SortKey::Switch,
            SortOption::Avg => SortKey::Avg,
            SortOption::Max => SortKey::Max,
        }
    }
}

/// Show which task is on which CPU, switch by switch, as `perf sched map` does
///
/// A column for each CPU; `*` marks the one that switches. A task is a letter and a digit,
/// explained at its first appearance; `.` is an idle CPU.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab map examples/desktop.json --scheduler cfs --cpus 4
  schedlab map trace.txt                           of a recorded trace
  schedlab map trace.txt --compact                 columns only for CPUs that switch")]
pub struct MapArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Show columns only for CPUs that switch, in the order of their first switches
    #[arg(long)]
    pub compact: bool,
}

/// Show which tasks ran, and which queued, while a task was runnable and waited
///
/// Adds up the waits of a task, or of all tasks of a name: which tasks ran in the meantime on the
/// CPU in whose runqueue it waited, for how long and in how many of the waits; which tasks waited
/// in the same runqueue; and which ran on other CPUs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab antagonists examples/desktop.json --scheduler cfs --task video
  schedlab antagonists trace.txt --task 4711       of a recorded trace")]
pub struct AntagonistsArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Waiting task: a name (which stands for all of its instances), or a number as `timehist`
    /// shows it
    #[arg(short, long, value_name = "TASK")]
    pub task: String,
}
