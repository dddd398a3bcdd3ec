//! The command line of `schedlab top`.

use crate::given::GivenArgs;
use crate::options::{setting, time};
use crate::scx::ScxOptions;
use crate::top::columns::Column;
use clap::Args;
use schedlab_lab::plan::SetValues;
use std::path::PathBuf;

/// Watch a run in virtual time, displayed as in top
///
/// Shows the task on each CPU and the tasks that wait for it; for each task, its state, its share
/// of CPU time, its waits and its latencies. The run can be paused, stepped from decision to
/// decision, forwards and backwards, at any speed, and explained; under two schedulers side by
/// side.
#[derive(Args, Debug)]
#[command(after_help = "\
Keys: Space continues or pauses; Right or n is the next decision, Left or b the previous; + and -
change the speed, g goes to a time, Tab changes between CPUs and tasks, Up and Down select one,
Enter or w explains it, ? shows all keys, q ends. See also docs/top.md.

Times are seconds, or have a unit: 0.5, 0.5s, 500ms, 1234567us, 500000000ns. Events at
exactly that time have already happened.

Examples:
  schedlab top examples/desktop.json
  schedlab top examples/desktop.json -s o_1,eevdf --cpus 2 --speed 0.1
  schedlab top examples/server.json --cpus 4 -s eevdf --at 500ms
  schedlab top examples/desktop.json -s cfs --at 0.5s --batch        one frame, as text

A plan (`schedlab run ... --plan-out plan.json`) can also be watched; then --scheduler is one or two
of its schedulers.")]
pub struct TopArgs {
    /// Arguments given on the command line.
    #[command(flatten)]
    pub given: GivenArgs,
    /// Workload in rt-app's JSON language, or plan
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Scheduler, or two schedulers, as named in `schedlab list` [default: the newest of Linux,
    /// eevdf]
    #[arg(short, long = "scheduler", value_name = "NAME,NAME", value_delimiter = ',')]
    pub schedulers: Vec<String>,
    /// Time at which to begin, paused [default: at 0, running]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub at: Option<u64>,
    /// Speed of virtual time: 1 is real time, 0.1 or 1/10 is ten times slower
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub speed: f64,
    /// Length of virtual time over which %CPU and %WAIT are taken
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = window)]
    pub window: u64,
    /// Column by which tasks are sorted at first
    #[arg(long, value_enum, value_name = "COLUMN", default_value = "cpu")]
    pub sort: Column,
    /// Print the state at --at [default: 0] as text, and end
    #[arg(short, long)]
    pub batch: bool,
    /// Number of frames to print with --batch, each a --window after the previous
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        requires = "batch",
        default_value = "1",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000)
    )]
    pub iterations: u64,
    /// Number of CPUs [default: as in `schedlab run`]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Machine: a preset, flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ticks per second [default: the usual configuration of each release]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Make all operations free, even if the machine's description gives costs
    #[arg(long)]
    pub no_costs: bool,
    /// Time limit of the run [default: as in the workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Tunable to set, or nice:KEY, shares:/GROUP, weight:/GROUP, quota:/GROUP
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, SetValues)>,
    /// File of task groups
    #[arg(long, value_name = "FILE")]
    pub groups: Vec<PathBuf>,
    /// Settings of one task group, e.g. /tg1:cpu.weight=200
    #[arg(long, value_name = "PATH:SETTING")]
    pub group: Vec<String>,
    /// File of actions on the machine during the run
    #[arg(long, value_name = "FILE")]
    pub timetable: Vec<PathBuf>,
    /// Seed of a random order of simultaneous events
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Minimum and maximum speed.
pub const SPEEDS: (f64, f64) = (1e-9, 1e6);

/// Parses a factor, or a fraction.
pub fn speed(text: &str) -> Result<f64, String> {
    let wrong = || {
        let (least, most) = SPEEDS;
        format!("it must be a factor from {least:e} to {most:e}, such as 1, 0.1 or 1/10")
    };
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    let factor = match text.split_once('/') {
        Some((part, whole)) => number(part)? / number(whole)?,
        None => number(text)?,
    };
    if (SPEEDS.0..=SPEEDS.1).contains(&factor) { Ok(factor) } else { Err(wrong()) }
}

/// Parses a time of at least 1 ns.
pub fn window(text: &str) -> Result<u64, String> {
    match time(text)? {
        0 => Err("it must be longer than 0, such as 100ms".into()),
        ns => Ok(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_factors_or_fractions() {
        assert_eq!(speed("1/10"), Ok(0.1));
        assert_eq!(speed("2.5"), Ok(2.5));
        for wrong in ["0", "-1", "1/0", "fast", "nan", "1e9", ""] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
        assert_eq!(window("50ms"), Ok(50_000_000));
        assert!(window("0").is_err());
    }
}
