//! Measures how fast recorded traces are read, format by format.
//!
//! ```text
//! cargo bench -p schedlab-trace --bench read               a million events of each format
//! cargo bench -p schedlab-trace --bench read -- 10000000   with this number of
//! ```
//!
//! Each file is first written by the program's own writers and then read three times. The best time
//! counts (CPU time where the system reports it). **Memory** is the peak of the process up to then.
//! The sink discards the events.

use schedlab_trace::read::Trace;
use schedlab_trace::{
    Context, Header, Record, Sink, State, TaskRef, TraceFormat, TraceWriter, Tracepoint,
};
use std::time::Instant;

/// Threads that pass work to each other on eight CPUs: of ten events, four are switches, three
/// `sched_waking`, three `sched_wakeup`.
fn history(events: u64, sink: &mut dyn Sink) {
    const CPUS: u64 = 8;
    let names: Vec<String> = (0..200).map(|task| format!("worker-{}", task % 40)).collect();
    let who = |pid: u64| match pid {
        0 => TaskRef::IDLE,
        pid => TaskRef { comm: &names[pid as usize % 200], pid: 1000 + pid as u32, prio: 120 },
    };
    let mut running = [0u64; CPUS as usize];
    let mut dice = 1u64;
    let mut at_ns = 4_000_000_000_000;
    for number in 0..events {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = dice >> 33;
        at_ns += 100 + pick % 3000;
        let cpu = (pick >> 8) % CPUS;
        let current = running[cpu as usize];
        let task = 1 + (pick >> 4) % 199;
        let target_cpu = Some((task % CPUS) as u32);
        let tracepoint = match number % 10 {
            0..=2 => Tracepoint::Waking { task: who(task), target_cpu },
            3..=5 => Tracepoint::Wakeup { task: who(task), target_cpu },
            _ => {
                let next = if task == current { 0 } else { task };
                running[cpu as usize] = next;
                let prev_state = match current {
                    0 => State::Runnable,
                    _ if pick & 1 == 0 => State::Runnable,
                    _ => State::Interruptible,
                };
                Tracepoint::Switch { prev: who(current), prev_state, next: who(next) }
            }
        };
        let context = if pick & 6 == 0 { Context::Hard } else { Context::Task };
        let (cpu, current) = (cpu as u32, who(current));
        sink.record(&Record { at_ns, cpu, current, context, tracepoint });
    }
    sink.finish(at_ns);
}

/// Returns the peak memory of the process, MB.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// Returns the CPU time of this thread, s, which other work on the machine disturbs little. Where
/// the system does not report it, the time since `begin`.
fn cpu_time(begin: Instant) -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = schedstat.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    ns.map_or_else(|| begin.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

fn main() {
    let events =
        std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let header = Header { cpus: 8, hz: 250, scheduler: "bench".into() };
    println!("{events} events");
    println!("{:<14} {:>9} {:>8} {:>12} {:>10}", "format", "size", "time", "per event", "memory");
    for (name, format) in [
        ("ftrace.txt", TraceFormat::Ftrace),
        ("perf.txt", TraceFormat::Perf),
        ("ftrace.txt.gz", TraceFormat::Ftrace),
        ("ftrace.txt.zst", TraceFormat::Ftrace),
        ("pftrace", TraceFormat::Perfetto),
        ("json", TraceFormat::Chrome),
    ] {
        let file = format!("schedlab-bench-{}.{name}", std::process::id());
        let path = std::env::temp_dir().join(file);
        let mut writer = TraceWriter::create(&path, format, &header).expect("the disk has room");
        history(events, &mut writer);
        writer.close().expect("the disk has room");
        let size = std::fs::metadata(&path).map_or(0, |there| there.len());
        let mut best = f64::MAX;
        for _ in 0..3 {
            let (clock, begin) = (Instant::now(), cpu_time(Instant::now()));
            let reading = Trace::open(&path).and_then(|trace| trace.read(&mut ()));
            let reading = reading.expect("the trace was just written");
            assert!(reading.header.events > events / 3, "{name}: {}", reading.header.events);
            best = best.min(cpu_time(clock) - begin);
        }
        let _ = std::fs::remove_file(&path);
        println!(
            "{name:<14} {:>6.1} MB {best:>6.2} s {:>9.0} ns {:>7} MB",
            size as f64 / 1e6,
            best * 1e9 / events as f64,
            memory().unwrap_or(0)
        );
    }
}
