//! `schedlab timehist`, `latency`, `map` and `antagonists`: the commands of `perf sched`, for a
//! simulated run or a trace.

use crate::perf_args::{AntagonistsArgs, LatencyArgs, MapArgs, TimehistArgs};
use crate::terminal::{Output, complain, style};
use crate::{Failure, Status, escape};
use schedlab_report::shortened;
use schedlab_trace::antagonists::Antagonists;
use schedlab_trace::latency::{self, Latency};
use schedlab_trace::map::Map;
use schedlab_trace::timehist::{self, Lines, Timehist};
use std::io::{self, Write};

/// Prints lines as they arrive. The program ends when its output is closed.
struct LinePrinter<'a> {
    output: &'a mut Output,
}

impl Lines for LinePrinter<'_> {
    fn line(&mut self, line: &str) {
        if let Err(error) = self.output.write_all(line.as_bytes()) {
            if error.kind() == io::ErrorKind::BrokenPipe {
                std::process::exit(0);
            }
            complain(&format!("cannot write: {error}"));
            std::process::exit(2);
        }
    }
}

/// Prints a line for each slice.
pub fn timehist(args: &TimehistArgs, output: &mut Output) -> Result<Status, Failure> {
    let options = timehist::Options {
        summary_only: args.summary,
        with_summary: args.with_summary,
        wakeups: args.wakeups,
        migrations: args.migrations,
        next: args.next,
        state: args.state,
        cpu_visual: args.cpu_visual,
        pids: args.pid.clone(),
        tids: args.tid.clone(),
        cpus: args.only_cpus.clone().map_or(vec![], |cpus| cpus.0),
    };
    let shown =
        args.source.open()?.show(|cpus| Timehist::new(cpus, options, LinePrinter { output }))?;
    for wanted in args.pid.iter().chain(&args.tid) {
        if !shown.knows(wanted) {
            return Err(no_such_task(wanted, shown.names()));
        }
    }
    Ok(Status::Good)
}

/// Prints a row for each name, with its delays.
pub fn latency(args: &LatencyArgs, output: &mut Output) -> Result<Status, Failure> {
    let sort = args.sort.iter().map(|&key| key.into()).collect();
    let options = latency::Options { per_task: args.pids, sort, ..latency::Options::default() };
    let new = || args.only_cpu.map_or_else(Latency::new, Latency::of_cpu);
    let measured = args.source.open()?.show(|_| new())?;
    output.write_all(measured.table(&options).as_bytes())?;
    Ok(Status::Good)
}

/// Prints a line for each switch.
pub fn map(args: &MapArgs, output: &mut Output) -> Result<Status, Failure> {
    args.source.open()?.show(|cpus| match args.compact {
        true => Map::compact(LinePrinter { output }),
        false => Map::new(cpus, LinePrinter { output }),
    })?;
    Ok(Status::Good)
}

/// Prints the tasks that kept a task waiting.
pub fn antagonists(args: &AntagonistsArgs, output: &mut Output) -> Result<Status, Failure> {
    let seen = args.source.open()?.show(|_| Antagonists::new(&args.task))?;
    if seen.victims() == 0 {
        return Err(no_such_task(&args.task, seen.names()));
    }
    output.write_all(seen.table().as_bytes())?;
    Ok(Status::Good)
}

/// Returns the error for a task name that does not occur.
fn no_such_task<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    const MOST: usize = 20;
    let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > MOST { ", ..." } else { "" };
    let shown = |name: &str| shortened(&escape::name(name), 40, style());
    let names: Vec<String> = names.into_iter().take(MOST).map(shown).collect();
    Failure::Message(format!(
        "there is no task {}; the tasks are: {}{more}; a name stands for all of its instances",
        shown(wanted),
        names.join(", ")
    ))
}
