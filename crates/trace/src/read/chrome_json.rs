//! Chrome JSON traces that contain scheduling: those that this program writes (slices of tasks on
//! CPUs, and flows for wakeups by tasks), and those that Perfetto converts from its own format,
//! which contain ftrace text (`systemTraceEvents`).
//!
//! A file is read event by event. Its end may be missing.

use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent, PID_MAX};
use super::json::{EVENT_MAX, Input, parse};
use super::problems::{Place, Trouble};
use super::slices::{Slice, Slices};
use super::text::Text;
use crate::tracepoint::{Context, State};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::BufRead;

/// Maximum number of flows that have begun and not ended.
const ARROWS_MAX: usize = 1 << 20;

/// Reads to the end.
pub(super) fn read(input: &mut dyn BufRead, feed: &mut Feed<'_>) {
    let mut input = Input::new(input);
    let mut this = Chrome::default();
    let whole = this.document(&mut input, feed);
    if whole.is_none() && input.failed {
        let place = Place::Byte(input.at);
        let detail = || "the rest cannot be decompressed".into();
        feed.problems.note(Trouble::Torn, 1, place, detail);
    }
    this.slices.finish(feed);
}

#[derive(Debug, Default)]
struct Chrome {
    slices: Slices,
    /// CPU of each thread that represents one.
    cpus: BTreeMap<u64, u32>,
    /// Flows that have begun: time and CPU.
    arrows: BTreeMap<u64, (u64, u32)>,
    /// Flow that ends where the next slice of a CPU begins: time, and the beginning of the flow.
    ends: BTreeMap<u32, (u64, u64, u32)>,
    text: Text,
}

impl Chrome {
    /// Reads the document. `None`: its end is missing.
    fn document(&mut self, input: &mut Input<'_>, feed: &mut Feed<'_>) -> Option<()> {
        if input.begin()? == b'[' {
            input.next();
            return self.events(input, feed);
        }
        input.next();
        let mut key = vec![];
        while let Some(first) = input.member(&mut key)? {
            match (&key[..], first) {
                (b"\"traceEvents\"", b'[') => {
                    input.next();
                    self.events(input, feed)?;
                }
                (b"\"systemTraceEvents\"", b'"') => {
                    input.next();
                    self.system(input, feed)?;
                }
                _ => input.value(&mut key)?,
            }
        }
        Some(())
    }

    fn events(&mut self, input: &mut Input<'_>, feed: &mut Feed<'_>) -> Option<()> {
        let mut event = vec![];
        while let Some(place) = input.item()? {
            if input.value(&mut event).is_none() {
                let detail = || "the last event has no end".into();
                feed.problems.note(Trouble::Torn, 1, place, detail);
                return None;
            }
            match parse(&event) {
                Some(event) => self.event(&event, place, feed),
                None => feed.problems.note(Trouble::Unreadable, 1, place, || {
                    "an event is not JSON, or too long".into()
                }),
            }
        }
        Some(())
    }

    /// Reads ftrace text in a string.
    fn system(&mut self, input: &mut Input<'_>, feed: &mut Feed<'_>) -> Option<()> {
        let mut line = vec![];
        feed.is_ordered = true;
        loop {
            let mut byte = input.next()?;
            match byte {
                b'"' => {
                    self.text.line(&line, feed);
                    return Some(());
                }
                b'\\' => {
                    byte = match input.next()? {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'u' => {
                            let mut letter = 0u32;
                            for _ in 0..4 {
                                let digit = char::from(input.next()?).to_digit(16).unwrap_or(0);
                                letter = letter << 4 | digit;
                            }
                            u8::try_from(letter).unwrap_or(b'?')
                        }
                        other => other,
                    };
                }
                _ => {}
            }
            if byte == b'\n' {
                self.text.line(&line, feed);
                line.clear();
            } else if line.len() < EVENT_MAX {
                line.push(byte);
            }
        }
    }

    fn event(&mut self, event: &Value, place: Place, feed: &mut Feed<'_>) {
        let word = |key: &str| event[key].as_str().unwrap_or_default();
        let number = |key: &str| event[key].as_u64();
        let args = &event["args"];
        let cpu = |this: &Chrome, tid: u64| {
            let cpu = this.cpus.get(&tid).copied();
            cpu.or_else(|| tid.checked_sub(1).and_then(|cpu| u32::try_from(cpu).ok()))
        };
        match word("ph") {
            "M" if word("name") == "thread_name" => {
                let name = args["name"].as_str().unwrap_or_default().to_ascii_lowercase();
                let cpu = name.strip_prefix("cpu").and_then(|cpu| cpu.trim().parse::<u32>().ok());
                if let (Some(cpu), Some(tid)) = (cpu.filter(|&cpu| cpu < CPUS_MAX), number("tid")) {
                    self.cpus.insert(tid, cpu);
                }
            }
            "M" if word("name") == "process_name" => {
                let name = args["name"].as_str().unwrap_or_default();
                if let Some(scheduler) = name.strip_prefix("CPUs, ") {
                    feed.header.recorder = Some(format!("schedlab {scheduler}"));
                }
            }
            "X" if word("cat") == "sched" => {
                let all = (|| {
                    let begin_ns = ns(&event["ts"])?;
                    let end_ns = begin_ns.checked_add(ns(&event["dur"])?)?;
                    let cpu = cpu(self, number("tid")?)?;
                    let pid = u32::try_from(args["pid"].as_u64()?).ok()?;
                    let prio = i32::try_from(args["prio"].as_i64().unwrap_or(120)).ok()?;
                    let state = args["end_state"].as_str().and_then(State::of_letters);
                    (pid <= PID_MAX).then_some((cpu, begin_ns, end_ns, pid, prio, state))
                })();
                let Some((cpu, begin_ns, end_ns, pid, prio, state)) = all else {
                    let detail = || "a slice lacks time, CPU or pid".into();
                    feed.problems.note(Trouble::Unreadable, 1, place, detail);
                    return;
                };
                let task = feed.task(word("name").as_bytes(), pid, prio);
                let state = state.unwrap_or(State::Runnable);
                if let Some((at_ns, from_ns, from)) = self.ends.remove(&cpu)
                    && at_ns == begin_ns
                {
                    let what = EventKind::Waking { task, cpu: Some(cpu) };
                    let current = Current::UNKNOWN;
                    let context = Context::Task;
                    feed.push(FeedEvent { at_ns: from_ns, cpu: from, context, current, what });
                }
                self.slices.add(Slice { cpu, begin_ns, end_ns, task, state }, place, feed);
            }
            "s" if word("cat") == "wakeup" => {
                let arrow = number("id").zip(ns(&event["ts"]));
                let from = number("tid").and_then(|tid| cpu(self, tid));
                if let (Some((id, at_ns)), Some(cpu)) = (arrow, from)
                    && cpu < CPUS_MAX
                    && self.arrows.len() < ARROWS_MAX
                {
                    self.arrows.insert(id, (at_ns, cpu));
                }
            }
            "f" if word("cat") == "wakeup" => {
                let begun = number("id").and_then(|id| self.arrows.remove(&id));
                let to = number("tid").and_then(|tid| cpu(self, tid));
                if let (Some((from_ns, from)), Some(to), Some(at_ns)) =
                    (begun, to, ns(&event["ts"]))
                {
                    self.ends.insert(to, (at_ns, from_ns, from));
                }
            }
            _ => feed.other("other events of Chrome"),
        }
    }
}

/// Converts a time in microseconds to ns.
fn ns(time: &Value) -> Option<u64> {
    let us = time.as_f64()?;
    let ns = (us * 1000.0).round();
    (0.0..9e18).contains(&ns).then_some(ns as u64)
}
