//! Measures how fast a recorded trace is read and interpreted, and how much memory that takes.
//!
//! ```text
//! cargo bench -p schedlab-replay --bench read               a million events
//! cargo bench -p schedlab-replay --bench read -- 10000000   with this number of
//! ```
//!
//! The benchmark generates a trace of a busy machine of eight CPUs (always the same), writes it as
//! ftrace text, and reads it. `waking` has as few events per burst as a trace can have, one
//! `sched_waking` and hardly more than one `sched_switch`, and so needs the most storage. `both`
//! also has `sched_wakeup`.
//!
//! Printed are, step by step, the CPU time since the beginning (wall time where the system does not
//! report CPU time), the memory of the process after the step, and its peak: *read*, events are
//! bursts and sleeps; *inferred*, why tasks slept; *programs*, the program of each task.

use schedlab_replay::{Arrivals, Tokens, TraceBuilder, kinds, program};
use schedlab_trace::read::Trace;
use schedlab_trace::{
    Context, Header, Record, Sink, State, TaskRef, TraceFormat, TraceWriter, Tracepoint,
};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

/// Writes a history of tasks that wake each other, compute for some microseconds, and sleep.
fn history(events: u64, both: bool, sink: &mut dyn Sink) {
    const CPUS: usize = 8;
    const TASKS: usize = 400;
    let names: Vec<String> = (0..40).map(|number| format!("worker-{number}")).collect();
    let task_ref = |task: usize| match task {
        0 => TaskRef::IDLE,
        task => TaskRef { comm: &names[task % 40], pid: 1000 + task as u32, prio: 120 },
    };
    let mut running = [0; CPUS];
    let mut queues: [VecDeque<usize>; CPUS] = std::array::from_fn(|_| VecDeque::new());
    let mut asleep: Vec<usize> = (1..=TASKS).collect();
    let mut dice = 1u64;
    let mut at_ns = 4_000_000_000_000;
    let mut count = 0;
    while count < events {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = (dice >> 33) as usize;
        at_ns += 100 + roll as u64 % 1500;
        let cpu = (roll >> 8) % CPUS;
        let mut emit = |current: usize, context, tracepoint| {
            let (cpu, current) = (cpu as u32, task_ref(current));
            sink.record(&Record { at_ns, cpu, current, context, tracepoint });
            count += 1;
        };
        let current = running[cpu];
        // The running task wakes another or goes to sleep, and is seldom preempted.
        if roll.is_multiple_of(2) && !asleep.is_empty() {
            let task = asleep.swap_remove((roll >> 4) % asleep.len());
            let context = match roll & 0x30 {
                0 => Context::Hard,
                _ => Context::Task,
            };
            let target_cpu = Some(cpu as u32);
            emit(current, context, Tracepoint::Waking { task: task_ref(task), target_cpu });
            if both {
                emit(current, context, Tracepoint::Wakeup { task: task_ref(task), target_cpu });
            }
            queues[cpu].push_back(task);
        }
        if current == 0 || roll % 2 == 1 {
            let next = queues[cpu].pop_front().unwrap_or(0);
            if next == current {
                continue;
            }
            let is_preempted = next != 0 && roll & 0x1c0 == 0;
            let prev_state = match current {
                0 => State::Runnable,
                _ if is_preempted => State::Runnable,
                _ => State::Interruptible,
            };
            let (prev, next_who) = (task_ref(current), task_ref(next));
            let switch = Tracepoint::Switch { prev, prev_state, next: next_who };
            emit(current, Context::Task, switch);
            match current {
                0 => {}
                _ if is_preempted => queues[cpu].push_back(current),
                _ => asleep.push(current),
            }
            running[cpu] = next;
        }
    }
    sink.finish(at_ns);
}

/// Returns the memory of the process and its peak since [`forget`], MB.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (of("VmRSS:").unwrap_or(0) / 1024, of("VmHWM:").unwrap_or(0) / 1024)
}

/// Resets the peak to the present memory of the process, if the system supports that.
fn forget() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the CPU time of this thread, s, which other work on the machine disturbs little. Where
/// the system does not report it, the time since `begin`.
fn cpu_time(begin: Instant) -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = schedstat.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    ns.map_or_else(|| begin.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

/// Writes such a trace.
fn written(events: u64, name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("schedlab-bench-{}.{name}", std::process::id()));
    let header = Header { cpus: 8, hz: 250, scheduler: "bench".into() };
    let mut writer =
        TraceWriter::create(&path, TraceFormat::Ftrace, &header).expect("the disk has room");
    history(events, name == "both", &mut writer);
    writer.close().expect("the disk has room");
    path
}

fn main() {
    let events =
        std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    println!("{events} events");
    println!("{:<8} {:<10} {:>8} {:>10} {:>10}", "form", "step", "time", "memory", "peak");
    for name in ["both", "waking"] {
        let path = written(events, name);
        forget();
        let (clock, begin) = (Instant::now(), cpu_time(Instant::now()));
        let row = |step: &str| {
            let (now, most) = memory();
            let time = cpu_time(clock) - begin;
            println!("{name:<8} {step:<10} {time:>6.2} s {now:>7} MB {most:>7} MB");
        };
        let mut books = TraceBuilder::new();
        let reading = Trace::open(&path).and_then(|trace| trace.read(&mut books));
        let reading = reading.expect("the trace was just written");
        assert!(reading.header.events >= events, "{name}: {}", reading.header.events);
        let mut trace = books.into_trace();
        row("read");
        let in_model = vec![true; trace.tasks.len()];
        let counts = kinds::infer(&mut trace, &in_model, Arrivals::Closed);
        row("inferred");
        let workload = program::programs(&trace, &in_model, Tokens::Strict);
        row("programs");
        let steps: usize = workload.tasks.iter().map(|program| program.steps.len()).sum();
        let bursts: usize = trace.tasks.iter().map(|task| task.burst_count()).sum();
        println!("         {bursts} bursts, {} of them after edges, {steps} steps", counts.edge);
        let _ = std::fs::remove_file(&path);
    }
}
