//! The readers read the same events that the writers wrote.

use crate::EventLog;
use schedlab_trace::{
    Context, Header, Record, Sink, State, TaskRef, TraceFormat, TraceWriter, Tracepoint,
};
use std::path::PathBuf;

/// Deterministic pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % most
    }
}

const NAMES: [&str; 7] = ["a", "b c", "kworker/u8:1", "x-1 [7]", "p=q", "odd (na-me)", "1"];

/// Records a history of three CPUs with all kinds of events.
pub fn history(seed: u64, events: u64, context: bool, sink: &mut dyn Sink) {
    let mut dice = Dice(seed);
    let mut running = [0u32; 3];
    let mut at_ns = 1000;
    let who = |pid: u32| match pid {
        0 => TaskRef::IDLE,
        pid => {
            let prio = [120, 98, -1, 139][pid as usize % 4];
            TaskRef { comm: NAMES[pid as usize % NAMES.len()], pid, prio }
        }
    };
    let plain = |pid: u32| TaskRef { prio: 120, ..who(pid) };
    let states = [
        State::Runnable,
        State::Preempted,
        State::Interruptible,
        State::Uninterruptible,
        State::Stopped,
        State::Traced,
        State::Dead,
        State::Zombie,
        State::Parked,
        State::Idle,
    ];
    for _ in 0..events {
        at_ns += dice.below(5_000_000);
        let cpu = dice.below(3) as u32;
        let current = running[cpu as usize];
        let task = who(1 + dice.below(30) as u32);
        let target_cpu = Some(dice.below(3) as u32).filter(|_| dice.below(8) > 0);
        let tracepoint = match dice.below(9) {
            0 => Tracepoint::Waking { task, target_cpu },
            1 => Tracepoint::Wakeup { task, target_cpu },
            2 => Tracepoint::WakeupNew { task, target_cpu },
            3 => Tracepoint::Migrate { task, orig_cpu: target_cpu.unwrap_or(0), dest_cpu: 2 },
            4 if current != 0 => {
                Tracepoint::Fork { parent: plain(current), child: plain(task.pid) }
            }
            5 if current != 0 => Tracepoint::Exec { filename: "/bin/a b", pid: current },
            6 if current != 0 => Tracepoint::Exit { task: who(current) },
            _ => {
                let next = dice.below(30) as u32;
                if next == current {
                    continue;
                }
                running[cpu as usize] = next;
                let prev_state = match current {
                    0 => State::Runnable,
                    _ => states[dice.below(10) as usize],
                };
                Tracepoint::Switch { prev: who(current), prev_state, next: who(next) }
            }
        };
        let context = match dice.below(3) {
            _ if !context => Context::Unknown,
            0 => Context::Soft,
            1 => Context::Hard,
            _ => Context::Task,
        };
        sink.record(&Record { at_ns, cpu, current: plain(current), context, tracepoint });
    }
    sink.finish(at_ns);
}

pub fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("schedlab-read-{}-{name}", std::process::id()))
}

fn written(name: &str, format: TraceFormat, seed: u64, context: bool) {
    let path = temporary(&format!("{seed}-{name}"));
    let header = Header { cpus: 3, hz: 250, scheduler: "cfs".into() };
    let mut writer = TraceWriter::create(&path, format, &header).expect("the disk has room");
    history(seed, 6000, context, &mut writer);
    writer.close().expect("the disk has room");
    let mut expected = EventLog::default();
    history(seed, 6000, context, &mut expected);
    let mut event_log = EventLog::default();
    let reading = schedlab_trace::read::read(&path, &mut event_log).expect("the file is a trace");
    std::fs::remove_file(&path).expect("the file can be removed");
    for (event_log, expected) in event_log.lines.iter().zip(&expected.lines) {
        assert_eq!(event_log, expected, "{name} {seed}");
    }
    assert_eq!(event_log.lines.len(), expected.lines.len(), "{name} {seed}");
    assert!(reading.problems.is_empty(), "{name} {seed}: {:?}", reading.problems);
    assert_eq!(reading.header.cpus, 3);
}

#[test]
fn each_format_is_read_as_it_was_written() {
    for seed in 0..5 {
        written("a.txt", TraceFormat::Ftrace, seed, true);
        written("b.txt", TraceFormat::Ftrace, seed, false);
        written("c.txt.gz", TraceFormat::Perf, seed, false);
        written("d.txt.zst", TraceFormat::Ftrace, seed, true);
        written("e.pftrace", TraceFormat::Perfetto, seed, true);
        written("f.pftrace.gz", TraceFormat::Perfetto, seed, false);
    }
}

/// Chrome's format has slices of tasks and wakeups by tasks: both are read back.
#[test]
fn slices_of_chromes_json_are_read() {
    let path = temporary("g.json.gz");
    let header = Header { cpus: 3, hz: 250, scheduler: "cfs".into() };
    let mut writer =
        TraceWriter::create(&path, TraceFormat::Chrome, &header).expect("the disk has room");
    history(7, 3000, true, &mut writer);
    writer.close().expect("the disk has room");
    let mut expected = EventLog::default();
    history(7, 3000, true, &mut expected);
    let mut event_log = EventLog::default();
    let reading = schedlab_trace::read::read(&path, &mut event_log).expect("the file is a trace");
    std::fs::remove_file(&path).expect("the file can be removed");
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    // Time, CPU and contents.
    let switches = |event_log: &EventLog| -> Vec<String> {
        let lines = event_log.lines.iter().filter(|line| line.contains(" > "));
        let short = lines.map(|line| {
            let (head, what) = line.split_once(": ").expect("a head");
            let place: Vec<&str> = head.split(' ').take(2).collect();
            format!("{} {what}", place.join(" "))
        });
        short.collect()
    };
    let (read_back, expected_of) = (switches(&event_log), switches(&expected));
    // The last slice of each CPU has no end.
    assert!(read_back.len() + 6 >= expected_of.len(), "{} {}", read_back.len(), expected_of.len());
    for line in read_back.iter().take(read_back.len() - 6) {
        assert!(expected_of.contains(line), "{line}");
    }
    let wakings = event_log.lines.iter().filter(|line| line.contains("waking")).count();
    assert!(wakings > 20 && event_log.lines.iter().all(|line| !line.contains(" h ")));
}
