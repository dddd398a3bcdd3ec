//! Time and memory to simulate half a million tasks on 1,024 CPUs: hackbench with 10,000 groups of
//! 25 senders and 25 receivers. Each sender sends one message to each receiver of its group.
//!
//! ```sh
//! cargo bench -p schedlab-lab --bench scale                               # several minutes
//! cargo bench -p schedlab-lab --bench scale -- --scheduler sd             # another scheduler only
//! cargo bench -p schedlab-lab --bench scale -- --groups 1000 --scheduler all
//! cargo bench -p schedlab-lab --bench scale -- --sockets --scheduler o_1@2.6.0
//! ```
//!
//! The messages go through pipes of 64 KiB, as in releases since 2.6.11. `--sockets` selects
//! hackbench's usual socket pairs. That takes many times as long, because of the program rather
//! than the simulator. Every worker sends one byte to the parent when it is ready, through a single
//! channel. The channel holds 128 messages (277 since 3.0; such a pipe holds 65,536). Whenever most
//! of them have been read, *all* workers that wait to write are woken. As many of them succeed as
//! messages have been read, and the others block again. For n workers, that is a wakeup and a
//! switch about n^2 / 200 times: 1,300 million before the first message, against 25 million with
//! pipes. Releases before 2.6.11 have smaller pipes and wake writers at every read. There sockets
//! are the better choice, and half a million tasks are too many.
//!
//! BFS and O(n) examine every runnable task for each pick, in the simulation as in reality: use
//! 1,000 groups for them.
//!
//! Each scheduler runs in its own process (this program, started again), so that its peak memory is
//! its own.

use schedlab_bench::Values;
use schedlab_lab::RunConfig;
use schedlab_lab::bench::Bench;
use schedlab_lab::select;
use std::error::Error;
use std::process::Command;
use std::time::Instant;

/// Default schedulers: those with per-CPU queues, in releases with large pipes.
const SCHEDULERS: &str = "o_1@2.6.22,sd,cfs,eevdf";

fn main() -> Result<(), Box<dyn Error>> {
    // Ignores options for the other benchmarks, and those that cargo passes.
    let arguments: Vec<String> = std::env::args().collect();
    let given = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).map(String::as_str)
    };
    let groups = given("--groups").unwrap_or("10000");
    let sockets = arguments.iter().any(|argument| argument == "--sockets");
    if let Some(scheduler) = given("--case") {
        return case(scheduler, groups, sockets);
    }
    let choices = match given("--scheduler") {
        Some("all") => select::all(),
        names => {
            names.unwrap_or(SCHEDULERS).split(',').map(select::find).collect::<Result<_, _>>()?
        }
    };
    println!(
        "{:<22} {:>8} {:>8} {:>10} {:>14} {:>10} {:>9}",
        "scheduler", "tasks", "took s", "virtual s", "M events", "ns/event", "peak MiB"
    );
    for choice in choices.iter().filter(|choice| choice.release.cpus_max >= CPUS) {
        let mut child = Command::new(std::env::current_exe()?);
        child.args(["--case", &choice.to_string(), "--groups", groups]);
        if sockets {
            child.arg("--sockets");
        }
        if !child.status()?.success() {
            println!("{:<22} failed", choice.to_string());
        }
    }
    Ok(())
}

const CPUS: u32 = 1024;

/// Runs it under one scheduler and prints a line.
fn case(scheduler: &str, groups: &str, sockets: bool) -> Result<(), Box<dyn Error>> {
    let choice = select::find(scheduler)?;
    let benchmark = schedlab_bench::find("hackbench").ok_or("there is no hackbench")?;
    let mut values = Values::defaults(benchmark.parameters());
    let pipe = if sockets { "false" } else { "true" };
    for (name, text) in [("groups", groups), ("fds", "25"), ("loops", "1"), ("pipe", pipe)] {
        values = values.with(benchmark.parameters(), name, text)?;
    }
    let tasks = 50 * values.whole("groups");
    let bench = Bench { values, config: RunConfig::flat(CPUS), ..Bench::new(benchmark) };
    let start = Instant::now();
    let run = bench.session(&choice)?.finish()?;
    let took = start.elapsed();
    run.findings.figure("time").ok_or("it was cut off")?;
    let totals = &run.report.totals;
    let events = totals.switches + totals.wakeups + totals.ticks;
    println!(
        "{scheduler:<22} {tasks:>8} {:>8.1} {:>10.3} {:>14.1} {:>10.0} {:>9.1}",
        took.as_secs_f64(),
        (totals.busy_ns + totals.idle_ns) as f64 / f64::from(CPUS) / 1e9,
        events as f64 / 1e6,
        took.as_nanos() as f64 / events as f64,
        peak_kib() as f64 / 1024.0
    );
    Ok(())
}

/// Returns the peak memory of this process, KiB; `0` where the system does not report it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
