//! Memory layout of events in the recording kernel, from the texts of its `format` files, which are
//! part of perf.data and trace.dat: [`Formats`].

use super::binary::{Bytes, number, until_nul};
use super::feed::{CPUS_MAX, EventKind, Feed, PID_MAX, Task};
use super::states::SwitchState;
use crate::tracepoint::{Context, State};
use std::collections::BTreeMap;

/// Number of events whose texts are kept.
const EVENTS_MAX: usize = 1 << 16;

/// Position of a field in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Field {
    offset: u32,
    size: u32,
    is_signed: bool,
    /// Whether the field contains the position of a string, relative to the beginning or to the end
    /// of the field.
    is_elsewhere: bool,
    is_relative: bool,
}

/// Kind of an event, and positions of its fields in the order of [`KEYS`].
#[derive(Clone, Debug)]
struct Layout {
    kind: Kind,
    fields: [Option<Field>; 8],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    Fork,
    Exec,
    Exit,
    Runtime,
}

/// Events and fields that are read.
const KEYS: [(&str, Kind, &[&str]); 9] = [
    (
        "sched_switch",
        Kind::Switch,
        &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
    ),
    ("sched_waking", Kind::Waking, &["comm", "pid", "prio", "target_cpu", "success"]),
    ("sched_wakeup", Kind::Wakeup, &["comm", "pid", "prio", "target_cpu", "success"]),
    ("sched_wakeup_new", Kind::WakeupNew, &["comm", "pid", "prio", "target_cpu", "success"]),
    ("sched_migrate_task", Kind::Migrate, &["comm", "pid", "prio", "orig_cpu", "dest_cpu"]),
    ("sched_process_fork", Kind::Fork, &["parent_comm", "parent_pid", "child_comm", "child_pid"]),
    ("sched_process_exec", Kind::Exec, &["filename", "pid"]),
    ("sched_process_exit", Kind::Exit, &["comm", "pid", "prio"]),
    ("sched_stat_runtime", Kind::Runtime, &["comm", "pid", "runtime"]),
];

/// Result of decoding a record.
pub(super) enum Decoded {
    /// Event that is read: current task, context, contents.
    Event { pid: Option<u32>, context: Context, what: EventKind },
    /// Wakeup of a task that was awake.
    Redundant,
    /// Event about a task without a number, or with an impossible CPU.
    NoTask,
    /// Event of another kind, with its id if known.
    Other(Option<u16>),
    /// The record is too short.
    Torn,
}

/// Layouts of all events of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Formats {
    layouts: BTreeMap<u16, Layout>,
    names: BTreeMap<u16, String>,
    common_pid: Option<Field>,
    common_flags: Option<Field>,
    pub is_big: bool,
}

impl Formats {
    /// Whether the layout of `sched_switch` is known.
    pub fn has_switch(&self) -> bool {
        self.layouts.values().any(|layout| layout.kind == Kind::Switch)
    }

    /// Returns the name of an event.
    pub fn name(&self, id: u16) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// Adds the text of a `format` file.
    pub fn add(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let Some(name) = value("name:") else { return };
        let Some(id) = value("ID:").and_then(|id| id.parse::<u16>().ok()) else { return };
        if self.names.len() >= EVENTS_MAX {
            return;
        }
        self.names.insert(id, name.chars().take(80).collect());
        let key = KEYS.iter().find(|key| key.0 == name);
        let mut fields = [None; 8];
        for line in text.lines() {
            let Some((name, field)) = field(line) else { continue };
            match name {
                "common_pid" => self.common_pid = Some(field),
                "common_flags" => self.common_flags = Some(field),
                name => {
                    let place = key.and_then(|key| key.2.iter().position(|key| *key == name));
                    if let Some(place) = place {
                        fields[place] = Some(field);
                    }
                }
            }
        }
        if let Some(&(_, kind, _)) = key {
            self.layouts.insert(id, Layout { kind, fields });
        }
    }

    /// Adds the part of a file that begins trace.dat of version 6 and that perf.data has as its
    /// TRACING_DATA: from the end of the page size to the end of the formats. `None`: it is cut.
    pub fn add_all(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        bytes.string().filter(|name| *name == b"header_page")?;
        bytes.sized64()?;
        bytes.string().filter(|name| *name == b"header_event")?;
        bytes.sized64()?;
        for _ in 0..bytes.u32()? {
            bytes.sized64()?;
        }
        self.add_systems(bytes)
    }

    /// Adds the formats of each event system.
    pub fn add_systems(&mut self, bytes: &mut Bytes<'_>) -> Option<()> {
        for _ in 0..bytes.u32()? {
            bytes.string()?;
            for _ in 0..bytes.u32()? {
                let text = bytes.sized64()?;
                self.add(text);
            }
        }
        Some(())
    }

    fn int(&self, raw: &[u8], field: Option<Field>) -> Option<i64> {
        let Field { offset, size, is_signed, .. } = field?;
        let (offset, size) = (offset as usize, size as usize);
        if size == 0 || size > 8 {
            return None;
        }
        let bytes = raw.get(offset..offset.checked_add(size)?)?;
        let value = number(bytes, self.is_big);
        let unused = 64 - 8 * size as u32;
        Some(if is_signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    fn text<'r>(&self, raw: &'r [u8], field: Option<Field>) -> Option<&'r [u8]> {
        let field = field?;
        let (mut offset, mut size) = (field.offset as usize, field.size as usize);
        if field.is_elsewhere {
            let place = self.int(raw, Some(Field { is_signed: false, ..field }))? as u64;
            let begin = (place & 0xffff) as usize;
            offset = if field.is_relative { offset + size + begin } else { begin };
            size = (place >> 16 & 0xffff) as usize;
        }
        let end = offset.checked_add(size)?.min(raw.len());
        raw.get(offset..end).map(until_nul)
    }

    /// Decodes a record.
    pub fn decode(&self, feed: &mut Feed<'_>, raw: &[u8]) -> Decoded {
        let Some(id) = raw.get(..2).map(|id| number(id, self.is_big) as u16) else {
            return Decoded::Torn;
        };
        let Some(layout) = self.layouts.get(&id) else { return Decoded::Other(Some(id)) };
        match self.decode_known(feed, raw, layout) {
            Some(decoded) => decoded,
            None => Decoded::Torn,
        }
    }

    fn decode_known(&self, feed: &mut Feed<'_>, raw: &[u8], layout: &Layout) -> Option<Decoded> {
        let fields = &layout.fields;
        let int = |place: usize| self.int(raw, fields[place]);
        let pid = self.int(raw, self.common_pid).and_then(|pid| u32::try_from(pid).ok());
        let pid = pid.filter(|&pid| pid <= PID_MAX);
        let context = self
            .int(raw, self.common_flags)
            .map_or(Context::Unknown, |flags| Context::of_common_flags(flags as u8));
        let mut task = |comm: usize, pid: usize, prio: Option<usize>| -> Option<Option<Task>> {
            let name = self.text(raw, fields[comm])?;
            let pid = int(pid)?;
            let prio = prio.map_or(Some(120), int)?.clamp(-1000, 1000) as i32;
            let pid = u32::try_from(pid).ok().filter(|&pid| pid <= PID_MAX);
            Some(pid.map(|pid| feed.task(name, pid, prio)))
        };
        let cpu = |place: usize| {
            let cpu = int(place)?;
            Some(u32::try_from(cpu).ok().filter(|&cpu| cpu < CPUS_MAX))
        };
        let what = match layout.kind {
            Kind::Switch => {
                let (prev, next) = (task(0, 1, Some(2))?, task(4, 5, Some(6))?);
                let bits = int(3)? as u64;
                let state = feed.states.take(bits);
                let state = state.unwrap_or(SwitchState::Known(State::Interruptible));
                prev.zip(next).map(|(prev, next)| EventKind::Switch { prev, state, next })
            }
            kind @ (Kind::Waking | Kind::Wakeup | Kind::WakeupNew) => {
                if fields[4].is_some() && int(4)? == 0 {
                    return Some(Decoded::Redundant);
                }
                let cpu = fields[3].and_then(|_| cpu(3)).flatten();
                task(0, 1, Some(2))?.map(|task| match kind {
                    Kind::Waking => EventKind::Waking { task, cpu },
                    Kind::Wakeup => EventKind::Wakeup { task, cpu },
                    _ => EventKind::WakeupNew { task, cpu },
                })
            }
            Kind::Migrate => {
                let all = task(0, 1, Some(2))?.zip(cpu(3)?.zip(cpu(4)?));
                all.map(|(task, (from, to))| EventKind::Migrate { task, from, to })
            }
            Kind::Fork => {
                let both = task(0, 1, None)?.zip(task(2, 3, None)?);
                both.map(|(parent, child)| EventKind::Fork { parent, child })
            }
            Kind::Exec => {
                let pid = u32::try_from(int(1)?).ok().filter(|&pid| pid <= PID_MAX);
                let filename = feed.names.number(self.text(raw, fields[0])?);
                pid.map(|pid| EventKind::Exec { filename, pid })
            }
            Kind::Exit => task(0, 1, Some(2))?.map(|task| EventKind::Exit { task }),
            Kind::Runtime => {
                let ns = int(2)?.max(0) as u64;
                task(0, 1, None)?.map(|task| EventKind::Runtime { task, ns })
            }
        };
        Some(what.map_or(Decoded::NoTask, |what| Decoded::Event { pid, context, what }))
    }
}

/// Parses `field:char prev_comm[16];  offset:8;  size:16;  signed:0;`.
fn field(line: &str) -> Option<(&str, Field)> {
    let rest = line.trim().strip_prefix("field:")?;
    let mut parts = rest.split(';').map(str::trim);
    let declared = parts.next()?;
    let name = declared.split('[').next()?.trim_end().rsplit([' ', '*']).next()?;
    let mut field = Field {
        is_elsewhere: declared.contains("__data_loc") || declared.contains("__rel_loc"),
        is_relative: declared.contains("__rel_loc"),
        ..Field::default()
    };
    for part in parts {
        match part.split_once(':') {
            Some(("offset", offset)) => field.offset = offset.trim().parse().ok()?,
            Some(("size", size)) => field.size = size.trim().parse().ok()?,
            Some(("signed", signed)) => field.is_signed = signed.trim() == "1",
            _ => {}
        }
    }
    // `__data_loc char[] filename`: the brackets belong to the type.
    let name = match declared.rsplit_once("] ") {
        Some((_, name)) if name != declared && field.is_elsewhere => name,
        _ => name,
    };
    Some((name, field))
}
