//! Perfetto's binary traces: their ftrace bundles, in full and in compact form.
//!
//! A file is read packet by packet. A bundle contains events of one CPU in order; bundles of
//! several CPUs come in any order: the feed's window sorts them.

use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent, PID_MAX, Task};
use super::names::Names;
use super::problems::{Place, Trouble};
use super::states::SwitchState;
use super::wire::{fields, packed, varint};
use crate::tracepoint::{Context, State};
use std::io::{BufRead, Read};

/// Longest packet, bytes.
const PACKET_MAX: u64 = 64 << 20;

/// Reads packets to the end.
pub(super) fn read(input: &mut dyn BufRead, feed: &mut Feed<'_>) {
    let this = Perfetto;
    let mut packet = vec![];
    let mut at = 0;
    loop {
        let place = Place::Byte(at);
        let torn = |feed: &mut Feed<'_>, what: &str| {
            feed.problems.note(Trouble::Torn, 1, place, || what.into());
        };
        let (key, length) = match read_varint(input) {
            Ok(Some(key)) => key,
            Ok(None) => break,
            Err(()) => return torn(feed, "the file ends within a packet"),
        };
        at += length;
        let Ok(Some((size, length))) = read_varint(input) else {
            return torn(feed, "the file ends within a packet");
        };
        at += length;
        if key != 1 << 3 | 2 || size > PACKET_MAX {
            // The beginning of the next packet is unknown.
            return torn(feed, "this is not a packet");
        }
        packet.clear();
        let taken = (&mut *input).take(size).read_to_end(&mut packet);
        if taken.is_err() || (packet.len() as u64) < size {
            this.packet(&packet, place, feed, true);
            return torn(feed, "the file ends within a packet");
        }
        at += size;
        this.packet(&packet, place, feed, true);
    }
}

/// Reads a varint. Returns it with its length; `None`: end of file.
fn read_varint(input: &mut dyn BufRead) -> Result<Option<(u64, u64)>, ()> {
    let mut bytes = [0; 10];
    for index in 0..10 {
        let byte = match input.fill_buf() {
            Ok([]) if index == 0 => return Ok(None),
            Ok([byte, ..]) => *byte,
            _ => return Err(()),
        };
        input.consume(1);
        bytes[index] = byte;
        if byte < 0x80 {
            let (value, length) = varint(&bytes).ok_or(())?;
            return Ok(Some((value, length as u64)));
        }
    }
    Err(())
}

/// Interprets a number of 32 bits that may be negative.
fn int(value: u64) -> i64 {
    value as i64
}

#[derive(Debug)]
struct Perfetto;

impl Perfetto {
    fn packet(&self, packet: &[u8], place: Place, feed: &mut Feed<'_>, may_nest: bool) {
        let mut all = fields(packet);
        for (field, value) in all.by_ref() {
            match field {
                1 => self.bundle(value.bytes(), place, feed),
                2 => process_tree(value.bytes(), feed),
                42 if value.number() != 0 => {
                    feed.problems.note(Trouble::LostUncounted, 1, place, || {
                        "packets were dropped before this one".into()
                    });
                }
                45 => self.system_info(value.bytes(), feed),
                50 if may_nest => self.compressed(value.bytes(), place, feed),
                117 => feed.other("generic_kernel_task_state"),
                _ => {}
            }
        }
        if all.is_torn() {
            let detail = || "a packet is not well formed".into();
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
        }
    }

    /// Reads packets that were compressed together.
    fn compressed(&self, bytes: &[u8], place: Place, feed: &mut Feed<'_>) {
        let mut unpacked = vec![];
        let mut input = flate2::read::ZlibDecoder::new(bytes).take(PACKET_MAX);
        if input.read_to_end(&mut unpacked).is_err() {
            let detail = || "compressed packets cannot be decompressed".into();
            feed.problems.note(Trouble::Torn, 1, place, detail);
        }
        for (field, value) in fields(&unpacked) {
            if field == 1 {
                self.packet(value.bytes(), place, feed, false);
            }
        }
    }

    fn system_info(&self, info: &[u8], feed: &mut Feed<'_>) {
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(1000)]).into_owned();
        for (field, value) in fields(info) {
            match field {
                1 => {
                    for (field, value) in fields(value.bytes()) {
                        match field {
                            2 if value.bytes().starts_with(b"schedlab ") => {
                                feed.header.recorder = Some(text(value.bytes()));
                            }
                            3 => {
                                let release = text(value.bytes());
                                feed.states.set_release(&release);
                                feed.header.release = Some(release);
                            }
                            _ => {}
                        }
                    }
                }
                8 => {
                    let cpus = u32::try_from(value.number()).ok();
                    feed.header.cpus_online = cpus.filter(|&cpus| cpus <= CPUS_MAX);
                }
                _ => {}
            }
        }
    }

    fn bundle(&self, bundle: &[u8], place: Place, feed: &mut Feed<'_>) {
        let mut cpu = 0;
        let mut has_lost = false;
        for (field, value) in fields(bundle) {
            match field {
                1 => cpu = value.number(),
                3 => has_lost = value.number() != 0,
                5 => {
                    let clock = match value.number() {
                        0 => "boot",
                        2 => "global",
                        3 => "local",
                        4 => "mono_raw",
                        _ => "another",
                    };
                    feed.header.clock = Some(clock.into());
                }
                _ => {}
            }
        }
        let Some(cpu) = u32::try_from(cpu).ok().filter(|&cpu| cpu < CPUS_MAX) else {
            let detail = || format!("CPU {cpu}: CPUs are numbered from 0 to {}", CPUS_MAX - 1);
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
            return;
        };
        if has_lost {
            feed.problems.note(Trouble::LostUncounted, 1, place, || format!("CPU {cpu}"));
        }
        let mut reader = Bundle { cpu, place, has_lost };
        let mut all = fields(bundle);
        for (field, value) in all.by_ref() {
            match field {
                2 => reader.event(value.bytes(), feed),
                4 => reader.compact(value.bytes(), feed),
                _ => {}
            }
        }
    }
}

/// Reads names of tasks and their processes.
fn process_tree(tree: &[u8], feed: &mut Feed<'_>) {
    for (field, value) in fields(tree) {
        let (mut id, mut name, mut tgid) = (0, None, 0);
        for (inner, value) in fields(value.bytes()) {
            match (field, inner) {
                (1 | 2, 1) => id = value.number(),
                (1, 3) if name.is_none() => name = Some(value.bytes()),
                (2, 2) => name = Some(value.bytes()),
                (2, 3) => tgid = value.number(),
                _ => {}
            }
        }
        let Some(id) = u32::try_from(id).ok().filter(|&id| id != 0 && id <= PID_MAX) else {
            continue;
        };
        // A process has its command line, a thread its name.
        if let (2, Some(name)) = (field, name) {
            let name = feed.names.number(name);
            feed.named(id, name);
        }
        if let Some(tgid) = u32::try_from(tgid).ok().filter(|&tgid| tgid != 0) {
            feed.process(id, tgid);
        }
    }
}

/// Bundle that is being read.
struct Bundle {
    cpu: u32,
    place: Place,
    has_lost: bool,
}

/// Fields that most events begin with.
#[derive(Clone, Copy, Default)]
struct Numbers<'a> {
    texts: [&'a [u8]; 8],
    numbers: [u64; 8],
    is_present: [bool; 8],
}

impl<'a> Numbers<'a> {
    fn of(message: &'a [u8]) -> Numbers<'a> {
        let mut this = Numbers::default();
        for (field, value) in fields(message) {
            if let Some(place) = (field as usize).checked_sub(1).filter(|&place| place < 8) {
                this.texts[place] = value.bytes();
                this.numbers[place] = value.number();
                this.is_present[place] = true;
            }
        }
        this
    }

    /// Returns the task whose name, number and priority are in these fields (0: it has none).
    fn task(&self, feed: &mut Feed<'_>, [comm, pid, prio]: [usize; 3]) -> Option<Task> {
        let prio = match prio {
            0 => 120,
            prio => int(self.numbers[prio - 1]).clamp(-1000, 1000) as i32,
        };
        let pid = u32::try_from(int(self.numbers[pid - 1])).ok().filter(|&pid| pid <= PID_MAX)?;
        Some(feed.task(self.texts[comm - 1], pid, prio))
    }

    fn cpu(&self, field: usize) -> Option<u32> {
        u32::try_from(self.numbers[field - 1]).ok().filter(|&cpu| cpu < CPUS_MAX)
    }
}

impl Bundle {
    fn push(&mut self, feed: &mut Feed<'_>, entry: FeedEvent) {
        if std::mem::take(&mut self.has_lost) {
            let what = EventKind::Lost { events: 0, cpu: self.cpu };
            feed.push(FeedEvent { what, ..entry });
        }
        feed.push(entry);
    }

    fn event(&mut self, event: &[u8], feed: &mut Feed<'_>) {
        let (mut at_ns, mut pid, mut context, mut payload) = (None, None, Context::Unknown, None);
        let mut all = fields(event);
        for (field, value) in all.by_ref() {
            match field {
                1 => at_ns = Some(value.number()),
                2 => pid = u32::try_from(value.number()).ok().filter(|&pid| pid <= PID_MAX),
                5 => context = Context::of_common_flags(value.number() as u8),
                _ => payload = Some((field, value.bytes())),
            }
        }
        let (Some(at_ns), Some((field, message)), false) = (at_ns, payload, all.is_torn()) else {
            let detail = || "an event has no time, or is not well formed".into();
            feed.problems.note(Trouble::Unreadable, 1, self.place, detail);
            return;
        };
        let numbers = Numbers::of(message);
        let what = match field {
            4 => {
                let bits = numbers.numbers[3];
                let state = feed.states.take(bits);
                let state = state.unwrap_or(SwitchState::Known(State::Interruptible));
                let both = numbers.task(feed, [1, 2, 3]).zip(numbers.task(feed, [5, 6, 7]));
                both.map(|(prev, next)| EventKind::Switch { prev, state, next })
            }
            17 | 20 | 114 => {
                let cpu = numbers.cpu(5).filter(|_| numbers.is_present[4]);
                numbers.task(feed, [1, 2, 3]).map(|task| match field {
                    17 => EventKind::Wakeup { task, cpu },
                    20 => EventKind::Waking { task, cpu },
                    _ => EventKind::WakeupNew { task, cpu },
                })
            }
            491 => {
                let all = numbers.task(feed, [1, 2, 3]).zip(numbers.cpu(4).zip(numbers.cpu(5)));
                all.map(|(task, (from, to))| EventKind::Migrate { task, from, to })
            }
            239 => {
                let both = numbers.task(feed, [1, 2, 0]).zip(numbers.task(feed, [3, 4, 0]));
                both.map(|(parent, child)| EventKind::Fork { parent, child })
            }
            237 => {
                let filename = feed.names.number(numbers.texts[0]);
                let pid = u32::try_from(int(numbers.numbers[1])).ok();
                let pid = pid.filter(|&pid| pid <= PID_MAX);
                pid.map(|pid| EventKind::Exec { filename, pid })
            }
            238 => numbers.task(feed, [1, 2, 4]).map(|task| EventKind::Exit { task }),
            field => {
                feed.other(match field {
                    3 => "print",
                    11 => "cpu_frequency",
                    13 => "cpu_idle",
                    18 => "sched_blocked_reason",
                    24 => "softirq_entry",
                    25 => "softirq_exit",
                    36 => "irq_handler_entry",
                    37 => "irq_handler_exit",
                    235 => "task_newtask",
                    236 => "task_rename",
                    240 => "sched_process_free",
                    353 => "sched_pi_setprio",
                    _ => "other ftrace events",
                });
                return;
            }
        };
        let Some(what) = what else {
            feed.problems.note(Trouble::Nameless, 1, self.place, String::new);
            return;
        };
        let current = Current { pid, name: Names::UNKNOWN };
        self.push(feed, FeedEvent { at_ns, cpu: self.cpu, context, current, what });
    }

    /// Reads switches and wakeups in columns. The previous task is the next task of the switch
    /// before.
    fn compact(&mut self, compact: &[u8], feed: &mut Feed<'_>) {
        let mut names = vec![];
        let mut columns: [&[u8]; 13] = [&[]; 13];
        for (field, value) in fields(compact) {
            match field {
                5 => names.push(feed.names.number(value.bytes())),
                field @ 1..=12 => columns[field as usize] = value.bytes(),
                _ => {}
            }
        }
        let name = |index: Option<u64>| {
            let index = index.and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| names.get(index)).copied().unwrap_or(Names::UNKNOWN)
        };
        let task = |pid: u64, prio: Option<u64>, index: Option<u64>| {
            let pid = u32::try_from(int(pid)).ok().filter(|&pid| pid <= PID_MAX)?;
            let name = if pid == 0 { Names::IDLE } else { name(index) };
            let prio = prio.map_or(120, |prio| int(prio).clamp(-1000, 1000) as i32);
            Some(Task { name, pid, prio })
        };
        let column = |field: usize| packed(columns[field]);
        let entry = |at_ns, context, what| FeedEvent {
            at_ns,
            cpu: self.cpu,
            context,
            current: Current::UNKNOWN,
            what,
        };
        let mut nameless = 0;
        let mut out = vec![];
        let mut at_ns = 0u64;
        let (mut states, mut pids, mut prios, mut indices) =
            (column(2), column(3), column(4), column(6));
        for delta in column(1) {
            at_ns = at_ns.saturating_add(delta);
            let Some((bits, pid)) = states.next().zip(pids.next()) else { break };
            let state = feed.states.take(bits);
            let state = state.unwrap_or(SwitchState::Known(State::Interruptible));
            match task(pid, prios.next(), indices.next()) {
                Some(next) => {
                    out.push(entry(at_ns, Context::Unknown, EventKind::SwitchTo { state, next }));
                }
                None => nameless += 1,
            }
        }
        let switches = out.len();
        at_ns = 0;
        let (mut pids, mut cpus, mut prios, mut indices, mut flags) =
            (column(8), column(9), column(10), column(11), column(12));
        for delta in column(7) {
            at_ns = at_ns.saturating_add(delta);
            let Some((pid, cpu)) = pids.next().zip(cpus.next()) else { break };
            let context =
                flags.next().map_or(Context::Unknown, |it| Context::of_common_flags(it as u8));
            let cpu = u32::try_from(cpu).ok().filter(|&cpu| cpu < CPUS_MAX);
            match task(pid, prios.next(), indices.next()) {
                Some(task) => {
                    out.push(entry(at_ns, context, EventKind::Waking { task, cpu }));
                }
                None => nameless += 1,
            }
        }
        // Both are columns of one history. A wakeup precedes the switch that it causes.
        out.rotate_left(switches);
        out.sort_by_key(|entry| entry.at_ns);
        for entry in out {
            self.push(feed, entry);
        }
        feed.problems.note(Trouble::Nameless, nameless, self.place, String::new);
    }
}
