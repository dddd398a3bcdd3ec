//! JSON of `perf data convert --to-json`: an object with `linux-perf-json-version`, `headers`, and
//! a list of `samples`.
//!
//! A sample begins with `timestamp`, `pid` (the process), `tid`, `cpu`, `comm` and `callchain`. The
//! fields of its tracepoint follow, under the kernel's names and as texts, so that `comm` and `pid`
//! may occur twice: the second of them is the event's. The name of the event is missing unless a
//! member `event` has it, and is inferred from the fields. `sched_waking` and `sched_wakeup` have
//! the same fields: without a name, both count as `sched_waking`, and the first one of a new task
//! as `sched_wakeup_new`.

use super::feed::{CPUS_MAX, Current, Feed, FeedEvent, PID_MAX};
use super::json::{Input, parse};
use super::named::{self, NamedFields};
use super::problems::{Place, Trouble};
use crate::tracepoint::Context;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::BufRead;

/// Maximum number of members of a sample that are read.
const MEMBERS_MAX: usize = 64;

/// Maximum number of tasks that have been forked and not woken.
const FORKED_MAX: usize = 1 << 16;

/// Members of a sample itself, which come first.
const SAMPLE: [&str; 7] = ["timestamp", "pid", "tid", "cpu", "comm", "callchain", "event"];

/// Reads to the end.
pub(super) fn read(input: &mut dyn BufRead, feed: &mut Feed<'_>) {
    let mut input = Input::new(input);
    let mut this = PerfJson::default();
    let whole = this.document(&mut input, feed);
    if whole.is_none() {
        let detail = || match input.failed {
            true => "the rest cannot be decompressed".into(),
            false => "the list of samples has no end".into(),
        };
        feed.problems.note(Trouble::Torn, 1, Place::Byte(input.at), detail);
    }
    if this.samples > 0 && this.without_fields == this.samples {
        feed.problems.note(Trouble::Foreign, this.samples, Place::Whole, || {
            "no sample has fields of an event: this perf was built without libtraceevent, or the \
             events are not tracepoints; give perf.data itself, or `perf script --ns`"
                .into()
        });
    }
}

#[derive(Debug, Default)]
struct PerfJson {
    samples: u64,
    /// Number of samples without fields of an event.
    without_fields: u64,
    /// Tasks that were forked and whose first wakeup has not come.
    forked: BTreeSet<u32>,
}

/// Members of a sample, in order.
#[derive(Debug, Default)]
struct Sample {
    /// Members of the sample itself, in the order of [`SAMPLE`].
    own: [Option<String>; 7],
    /// Fields of the event.
    fields: Vec<(String, String)>,
}

impl NamedFields for Sample {
    fn text(&self, key: &str) -> Option<&str> {
        let (_, text) = self.fields.iter().find(|(name, _)| name == key)?;
        (!text.is_empty()).then_some(text)
    }
}

impl Sample {
    /// Parses an object. `None`: it is not one.
    fn of(bytes: &[u8]) -> Option<Sample> {
        let mut bytes = bytes;
        let mut input = Input::new(&mut bytes);
        let mut sample = Sample::default();
        let mut text = vec![];
        if input.begin()? != b'{' {
            return None;
        }
        input.next();
        for _ in 0..MEMBERS_MAX {
            match input.begin()? {
                b'}' => return Some(sample),
                b'"' => {}
                _ => return None,
            }
            input.value(&mut text)?;
            let Value::String(key) = parse(&text)? else { return None };
            if input.begin()? != b':' {
                return None;
            }
            input.next();
            let first = input.begin()?;
            input.value(&mut text)?;
            let value = match first {
                b'[' | b'{' => String::new(),
                _ => match parse(&text)? {
                    Value::String(text) => text.trim().into(),
                    other => other.to_string(),
                },
            };
            match SAMPLE.iter().position(|name| *name == key) {
                Some(place) if sample.own[place].is_none() => sample.own[place] = Some(value),
                _ => sample.fields.push((key, value)),
            }
        }
        Some(sample)
    }

    fn own(&self, place: usize) -> Option<u64> {
        self.own[place].as_ref()?.parse().ok()
    }

    /// Returns the name of the event, without its system.
    fn event(&self) -> &str {
        if let Some(name) = &self.own[6] {
            return name.rsplit(':').next().unwrap_or(name);
        }
        let has = |key: &str| self.fields.iter().any(|(name, _)| name == key);
        match () {
            () if has("prev_pid") && has("next_pid") => "sched_switch",
            () if has("orig_cpu") && has("dest_cpu") && has("pid") => "sched_migrate_task",
            () if has("target_cpu") && has("pid") => "sched_waking",
            () if has("child_pid") && has("parent_pid") => "sched_process_fork",
            () if has("filename") && has("old_pid") => "sched_process_exec",
            () if has("group_dead") => "sched_process_exit",
            () if has("runtime") && has("pid") => "sched_stat_runtime",
            () => "samples of other events",
        }
    }
}

impl PerfJson {
    /// Reads the document. `None`: its end is missing.
    fn document(&mut self, input: &mut Input<'_>, feed: &mut Feed<'_>) -> Option<()> {
        input.begin()?;
        input.next();
        let mut text = vec![];
        while let Some(first) = input.member(&mut text)? {
            match (&text[..], first) {
                (b"\"headers\"", b'{') => {
                    input.value(&mut text)?;
                    if let Some(headers) = parse(&text) {
                        read_headers(&headers, feed);
                    }
                }
                (b"\"samples\"", b'[') => {
                    input.next();
                    self.samples(input, feed)?;
                }
                _ => input.value(&mut text)?,
            }
        }
        Some(())
    }

    fn samples(&mut self, input: &mut Input<'_>, feed: &mut Feed<'_>) -> Option<()> {
        let mut text = vec![];
        while let Some(place) = input.item()? {
            input.value(&mut text)?;
            let taken = match Sample::of(&text) {
                Some(sample) => self.sample(&sample, place, feed),
                None => Err("a sample is not JSON, or too long".into()),
            };
            if let Err(detail) = taken {
                feed.problems.note(Trouble::Unreadable, 1, place, || detail);
            }
        }
        Some(())
    }

    fn sample(&mut self, sample: &Sample, place: Place, feed: &mut Feed<'_>) -> Result<(), String> {
        self.samples += 1;
        self.without_fields += u64::from(sample.fields.is_empty());
        let mut event = sample.event();
        if sample.own[6].is_none() {
            let child = |key: &str| sample.find(key).and_then(|pid| u32::try_from(pid).ok());
            match event {
                "sched_process_fork" if self.forked.len() < FORKED_MAX => {
                    self.forked.extend(child("child_pid"));
                }
                "sched_waking" if child("pid").is_some_and(|pid| self.forked.remove(&pid)) => {
                    event = "sched_wakeup_new";
                }
                _ => {}
            }
        }
        let parsed = named::event(sample, event, feed)?;
        let Some(what) = parsed.known(feed, place, || event.into()) else { return Ok(()) };
        let missing = |key: &str| format!("{event}: the sample has no {key} in whole numbers");
        let at_ns = sample.own(0).ok_or_else(|| missing("timestamp"))?;
        let cpu = sample.own(3).ok_or_else(|| missing("cpu"))?;
        let cpu = u32::try_from(cpu).ok().filter(|&cpu| cpu < CPUS_MAX).ok_or_else(|| {
            format!("{event}: CPU {cpu}: CPUs are numbered from 0 to {}", CPUS_MAX - 1)
        })?;
        let number = |place: usize| {
            let pid = sample.own(place).and_then(|pid| u32::try_from(pid).ok());
            pid.filter(|&pid| pid <= PID_MAX)
        };
        let (tgid, pid) = (number(1), number(2));
        if let (Some(pid), Some(tgid)) = (pid, tgid) {
            feed.process(pid, tgid);
        }
        let name = sample.own[4].as_deref().unwrap_or("<...>");
        let current = match pid {
            None => Current::UNKNOWN,
            Some(0) => Current { pid, name: super::names::Names::IDLE },
            Some(_) => Current { pid, name: feed.names.number(name.as_bytes()) },
        };
        feed.push(FeedEvent { at_ns, cpu, context: Context::Unknown, current, what });
        Ok(())
    }
}

/// Reads what the file states about the recording.
fn read_headers(headers: &Value, feed: &mut Feed<'_>) {
    let text = |key: &str| headers[key].as_str().map(|text| text.chars().take(1000).collect());
    feed.header.host = text("hostname");
    feed.header.release = text("os-release");
    if let Some(release) = &feed.header.release {
        feed.states.set_release(release);
    }
    let online = headers["nrcpus-online"].as_u64().and_then(|cpus| u32::try_from(cpus).ok());
    feed.header.cpus_online = online.filter(|&cpus| cpus <= CPUS_MAX);
    if let Some(words) = headers["cmdline"].as_array() {
        let words: Vec<&str> = words.iter().take(64).filter_map(Value::as_str).collect();
        feed.header.recorder = Some(words.join(" ").chars().take(4000).collect());
    }
}
