//! The arguments of the commands of perf: `timehist`, `latency`, `map`, `antagonists`.

use crate::traced::SourceArgs;
use clap::{Args, ValueEnum};
use schedlab_core::cpu_set::parse_cpu_list;
use schedlab_trace::latency::SortKey;

/// Show every slice with its wait and its delay, as `perf sched timehist` does
///
/// A line for each time that a task leaves a CPU: when, where, who; how long it had been off the
/// CPUs before (wait time), how long it was runnable of that since its wakeup (sch delay), and how
/// long it ran (run time), in milliseconds.
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
    /// Show only a summary: a line a task
    #[arg(short, long)]
    pub summary: bool,
    /// Show the slices, and the summary behind them
    #[arg(short = 'S', long, conflicts_with = "summary")]
    pub with_summary: bool,
    /// Show wakeups, too
    #[arg(short, long)]
    pub wakeups: bool,
    /// Show migrations, too
    #[arg(short = 'M', long)]
    pub migrations: bool,
    /// Show who runs next
    #[arg(short, long)]
    pub next: bool,
    /// Show in what state the task left: R runnable, S asleep, D uninterruptible, T stopped, Z
    /// ended
    #[arg(long)]
    pub state: bool,
    /// Show a column for each CPU
    #[arg(short = 'V', long)]
    pub cpu_visual: bool,
    /// Only these processes: numbers, or names of tasks
    #[arg(short, long, value_name = "PID,...", value_delimiter = ',')]
    pub pid: Vec<String>,
    /// Only these threads: numbers, or names of tasks
    #[arg(short, long, value_name = "TID,...", value_delimiter = ',')]
    pub tid: Vec<String>,
    /// Only these CPUs, e.g. 0,2-3
    #[arg(short = 'C', long = "cpu", value_name = "CPUS", value_parser = cpu_list)]
    pub only_cpus: Option<Cpus>,
}

/// Numbers of CPUs.
#[derive(Clone, Debug)]
pub struct Cpus(pub Vec<u32>);

/// `0,2-3`
fn cpu_list(text: &str) -> Result<Cpus, String> {
    parse_cpu_list(text).map(Cpus).ok_or_else(|| {
        format!("\"{text}\" is no list of CPUs; write numbers and ranges, e.g. 0,2-3")
    })
}

/// Show how long tasks waited for a CPU, as `perf sched latency` does
///
/// A row for all tasks of a name: time on CPUs, switches to it, and the delays from wakeup, or from
/// an involuntary switch, to running: mean and longest, and when that was.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab latency examples/desktop.json --scheduler cfs
  schedlab latency examples/desktop.json --scheduler o_1 --pids --sort max
  schedlab latency trace.txt                       of a recorded trace")]
pub struct LatencyArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// A row for each task
    #[arg(short, long)]
    pub pids: bool,
    /// Only this CPU: time on it, switches to it, and the delays that these end
    #[arg(short = 'C', long = "cpu", alias = "CPU", value_name = "CPU")]
    #[arg(value_parser = clap::value_parser!(u32).range(..4096))]
    pub only_cpu: Option<u32>,
    /// Sort by this, then by that
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

/// By what rows are sorted.
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

/// Show who is on which CPU, switch by switch, as `perf sched map` does
///
/// A column for each CPU; `*` marks the one that switches. Tasks are a letter and a digit,
/// explained when they first appear; `.` is an idle CPU.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab map examples/desktop.json --scheduler cfs --cpus 4
  schedlab map trace.txt                           of a recorded trace
  schedlab map trace.txt --compact                 columns for CPUs that switch")]
pub struct MapArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Show columns only for CPUs that switch, in the order in which they first do
    #[arg(long)]
    pub compact: bool,
}

/// Show who ran, and who stood in line, while a task was runnable and waited
///
/// The waits of a task, or of all tasks of a name, taken together: who ran meanwhile on the CPU in
/// whose line it stood, for how long and in how many of the waits; who stood in the same line; who
/// ran on other CPUs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  schedlab antagonists examples/desktop.json --scheduler cfs --task video
  schedlab antagonists trace.txt --task 4711       of a recorded trace")]
pub struct AntagonistsArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Whose waits: a name (of all its instances), or a number as `timehist` shows it
    #[arg(short, long, value_name = "TASK")]
    pub task: String,
}
