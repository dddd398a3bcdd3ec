//! Perfetto's binary format, read by a decoder of the wire format.

use crate::{Counter, each};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Value of a field of a message.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Fields with their numbers.
type Message<'a> = Vec<(u64, Value<'a>)>;

impl<'a> Value<'a> {
    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("the field is not a number"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => panic!("the field is not a message"),
        }
    }

    fn text(&self) -> &'a str {
        std::str::from_utf8(self.bytes()).expect("the field is UTF-8 text")
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let (first, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        shift += 7;
        if first & 0x80 == 0 {
            return value;
        }
    }
}

/// Returns all fields of a message.
fn fields(mut bytes: &[u8]) -> Message<'_> {
    let mut fields = vec![];
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

fn find<'a, 'b>(fields: &'b [(u64, Value<'a>)], wanted: u64) -> Option<&'b Value<'a>> {
    fields.iter().find(|(field, _)| *field == wanted).map(|(_, value)| value)
}

#[test]
fn perfetto_says_what_the_run_says() {
    each("out.pftrace", |traced| {
        let bytes = std::fs::read(&traced.path).expect("the trace exists");
        let mut events: Vec<(u64, u64, Message<'_>)> = vec![];
        let mut names: BTreeMap<u64, String> = BTreeMap::new();
        let mut counters: BTreeMap<u64, String> = BTreeMap::new();
        let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
        let mut first = None;
        for (field, packet) in fields(&bytes) {
            assert_eq!(field, 1, "a trace consists of packets");
            let packet = fields(packet.bytes());
            first.get_or_insert(packet[0].0);
            if let Some(bundle) = find(&packet, 1) {
                let bundle = fields(bundle.bytes());
                let cpu = find(&bundle, 1).expect("a CPU").number();
                let mut last = 0;
                for (field, event) in &bundle {
                    if *field == 2 {
                        let event = fields(event.bytes());
                        let at_ns = find(&event, 1).expect("a time").number();
                        assert!(at_ns >= last, "bundles are in the order of time");
                        last = at_ns;
                        events.push((at_ns, cpu, event));
                    }
                }
            } else if let Some(tree) = find(&packet, 2) {
                for (field, thread) in fields(tree.bytes()) {
                    if field == 2 {
                        let thread = fields(thread.bytes());
                        let tid = find(&thread, 1).expect("a tid").number();
                        names.insert(tid, find(&thread, 2).expect("a name").text().into());
                    }
                }
            } else if let Some(track) = find(&packet, 60) {
                let track = fields(track.bytes());
                let uuid = find(&track, 1).expect("a number").number();
                counters.insert(uuid, find(&track, 2).expect("a name").text().into());
            } else if let Some(event) = find(&packet, 11) {
                let event = fields(event.bytes());
                assert_eq!(find(&event, 9).expect("a type").number(), 4);
                let track = find(&event, 11).expect("a track").number();
                assert!(counters.contains_key(&track), "a track is described before it is used");
                lengths.insert(track, find(&event, 30).expect("a value").number());
            }
        }
        assert_eq!(first, Some(45), "the release comes first");
        let report = &traced.truth.report;
        for task in &report.tasks {
            assert_eq!(names.get(&u64::from(task.task + 1)), Some(&task.name));
        }
        events.sort_by_key(|(at_ns, _, _)| *at_ns);
        let mut counter = Counter::new(report.end.at_ns);
        let mut begun = vec![false; report.machine.cpus as usize];
        let (mut forks, mut exits) = (0, 0);
        for (at_ns, cpu, event) in &events {
            let message = |field| find(event, field).map(|value| fields(value.bytes()));
            let number =
                |fields: &[(u64, Value<'_>)], field| find(fields, field).map_or(0, Value::number);
            if let Some(switch) = message(4) {
                if !std::mem::replace(&mut begun[*cpu as usize], true) {
                    let idle = format!("swapper/{cpu}");
                    assert_eq!((*at_ns, number(&switch, 6)), (0, 0), "a CPU begins idle");
                    assert_eq!(find(&switch, 5).expect("a name").text(), idle);
                }
                let state = match number(&switch, 4) {
                    0 => "R",
                    0x20 => "Z",
                    _ => "asleep",
                };
                counter.switch(*at_ns, *cpu, number(&switch, 2), state, number(&switch, 6));
            } else if let Some(wakeup) = message(17) {
                counter.wakeup(number(&wakeup, 2));
            } else if message(239).is_some() {
                forks += 1;
            } else if message(238).is_some() {
                exits += 1;
            } else {
                let known = [20, 114, 491].iter().any(|&field| find(event, field).is_some());
                assert!(known, "{:?}", event.iter().map(|field| field.0).collect::<Vec<_>>());
            }
        }
        assert!(begun.iter().all(|&begun| begun));
        counter.agree(&traced.truth);
        let born = report.tasks.iter().filter(|task| task.name.starts_with("worker")).count();
        assert_eq!(forks, born);
        assert_eq!(exits, report.tasks.iter().filter(|task| task.end_ns.is_some()).count());
        assert!(lengths.len() >= report.machine.cpus as usize, "queues have lengths");
    });
}

/// A run with grounds of decisions has a track of each task's lag, if the scheduler has lags.
#[test]
fn lags_are_tracks_where_the_scheduler_has_them() {
    each("lag.pftrace", |traced| {
        let bytes = std::fs::read(&traced.path).expect("the trace exists");
        let mut lags = 0;
        for (_, packet) in fields(&bytes) {
            let packet = fields(packet.bytes());
            if let Some(track) = find(&packet, 60) {
                let track = fields(track.bytes());
                let name = find(&track, 2).expect("a name").text();
                lags += usize::from(name.starts_with("Lag (scheduler's own), hog-0 "));
            }
        }
        assert_eq!(lags, usize::from(traced.truth.scheduler == "eevdf"));
    });
}

/// Python classes generated from Perfetto's schema also read it. Without them the test is skipped
/// with a message.
#[test]
fn perfettos_own_schema_reads_it() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/perfetto_sums.py");
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let there = Command::new(&python).args(["-c", "import perfetto.protos"]).output();
    if !there.is_ok_and(|there| there.status.success()) {
        eprintln!(
            "SKIPPED perfettos_own_schema_reads_it: {python} has no package `perfetto` (pip \
             install perfetto)"
        );
        return;
    }
    each("out.pftrace", |traced| {
        let ran = Command::new(&python)
            .arg(&script)
            .arg(&traced.path)
            .output()
            .expect("Python can be started");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let text = String::from_utf8(ran.stdout).expect("text");
        let sums: BTreeMap<u32, u64> = text
            .lines()
            .map(|line| {
                let (pid, ns) = line.split_once(' ').expect("two numbers");
                (pid.parse().expect("a pid"), ns.parse().expect("a time"))
            })
            .collect();
        for task in &traced.truth.report.tasks {
            let ran_ns = sums.get(&(task.task + 1)).copied().unwrap_or(0);
            assert_eq!(ran_ns, task.cpu_ns, "{}: {}", traced.truth.scheduler, task.name);
        }
    });
}
