//! Tables with named columns, as scripts for bpftrace, SystemTap or DTrace print them: one event
//! per line, or one slice per line (`--save` of this program).
//!
//! The first line names the columns, which are separated by commas, semicolons or tabs. Columns of
//! events have the kernel's names of the fields:
//!
//! | column | contents |
//! |---|---|
//! | `time_ns`, `ts`, `nsecs`, or `time` in seconds | time |
//! | `cpu` | CPU |
//! | `event` | e.g. `sched_switch` |
//! | `current_pid`, `current_comm`, `context` (`.`, `s`, `h`) | task and context; may be missing |
//! | `prev_comm`, `prev_pid`, ..., `comm`, `pid`, `prio`, `target_cpu`, ... | fields of the event |
//!
//! Columns of slices: `cpu`, `start_ns`, `end_ns`, `pid`, `task`, `prio`, `end_state`.

use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent, PID_MAX, Task};
use super::names::Names;
use super::problems::{Place, Trouble};
use super::slices::{Slice, Slices};
use super::text::next_line;
use crate::tracepoint::{Context, Era, State};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

/// Number of lines in which the heading is looked for.
const HEADING_LINES: usize = 50;

/// Maximum number of fields of a line.
const FIELDS_MAX: usize = 256;

/// Returns the canonical name of a column.
fn column(name: &str) -> String {
    let name = name.trim().trim_matches('"').to_ascii_lowercase();
    match name.as_str() {
        "timestamp_ns" | "ts_ns" | "nsecs" | "ts" => "time_ns".into(),
        "timestamp" | "time_s" | "secs" => "time".into(),
        "probe" | "name" | "tracepoint" => "event".into(),
        "curr_pid" | "tid" => "current_pid".into(),
        "curr_comm" | "execname" => "current_comm".into(),
        _ => name,
    }
}

/// Returns the separator and the names of the columns.
fn heading(line: &str) -> Option<(char, BTreeMap<String, usize>)> {
    let separator = [',', ';', '\t'].into_iter().find(|&separator| line.contains(separator))?;
    let names = line.split(separator).take(FIELDS_MAX).enumerate();
    let columns: BTreeMap<_, _> = names.map(|(place, name)| (column(name), place)).collect();
    let has = |name: &str| columns.contains_key(name);
    let is_events = (has("time_ns") || has("time")) && has("cpu") && has("event");
    let is_slices = has("cpu") && has("start_ns") && has("end_ns") && has("pid");
    (is_events || is_slices).then_some((separator, columns))
}

/// Whether a file with this beginning is such a table.
pub(super) fn is_table(begin: &[u8]) -> bool {
    let mut lines = begin.split(|&byte| byte == b'\n').take(HEADING_LINES);
    lines.any(|line| {
        line.len() < 4096 && std::str::from_utf8(line).is_ok_and(|line| heading(line).is_some())
    })
}

/// Splits a line into fields. Separators within quotes do not count, and a doubled quote stands for
/// one.
fn split(line: &str, separator: char) -> Vec<Cow<'_, str>> {
    let mut fields = vec![];
    let mut rest = line;
    while fields.len() < FIELDS_MAX {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut text = String::new();
            let mut letters = quoted.char_indices().peekable();
            let mut end = quoted.len();
            while let Some((place, letter)) = letters.next() {
                if letter != '"' {
                    text.push(letter);
                } else if letters.next_if(|(_, next)| *next == '"').is_some() {
                    text.push('"');
                } else {
                    end = place + 1;
                    break;
                }
            }
            fields.push(Cow::Owned(text));
            rest = &quoted[end..];
            match rest.split_once(separator) {
                Some((_, behind)) => rest = behind,
                None => break,
            }
        } else {
            match rest.split_once(separator) {
                Some((field, behind)) => {
                    fields.push(Cow::Borrowed(field.trim()));
                    rest = behind;
                }
                None => {
                    fields.push(Cow::Borrowed(rest.trim()));
                    break;
                }
            }
        }
    }
    fields
}

/// Fields of a line by the names of their columns.
struct Row<'l> {
    columns: &'l BTreeMap<String, usize>,
    fields: Vec<Cow<'l, str>>,
}

impl Row<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let field = self.fields.get(*self.columns.get(name)?)?;
        (!field.is_empty()).then_some(field)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    fn cpu(&self, name: &str) -> Option<u32> {
        self.number(name).filter(|&cpu| cpu < CPUS_MAX)
    }

    fn at_ns(&self) -> Option<u64> {
        if let Some(ns) = self.number("time_ns") {
            return Some(ns);
        }
        let seconds = self.text("time")?;
        let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let fraction: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        let ns: u64 = fraction.parse().ok()?;
        seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
    }

    fn task(&self, feed: &mut Feed<'_>, prefix: &str) -> Option<Task> {
        let pid = self.number::<u32>(&format!("{prefix}pid")).filter(|&pid| pid <= PID_MAX)?;
        let prio = self.number::<i32>(&format!("{prefix}prio")).unwrap_or(120);
        let comm = self.text(&format!("{prefix}comm")).unwrap_or("<...>");
        Some(feed.task(comm.as_bytes(), pid, prio.clamp(-1000, 1000)))
    }

    fn state(&self, name: &str) -> Option<State> {
        let letters = self.text(name)?;
        match letters.parse() {
            Ok(number) => State::of_number_in(Era::Since4_14, number),
            Err(_) => State::of_letters(letters),
        }
    }
}

/// Reads lines to the end.
pub(super) fn read(input: &mut dyn BufRead, feed: &mut Feed<'_>) {
    let mut slices = Slices::default();
    let mut known = None;
    let mut line = vec![];
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let place = Place::Line(number);
        match next_line(input, &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let detail = || format!("the rest does not unpack: {error}");
                feed.problems.note(Trouble::Torn, 1, place, detail);
                break;
            }
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let Some((separator, columns)) = &known else {
            known = heading(text);
            continue;
        };
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let row = Row { columns, fields: split(text, *separator) };
        let taken = match columns.contains_key("start_ns") {
            true => slice(&row, place, &mut slices, feed),
            false => event(&row, feed),
        };
        if taken.is_none() {
            let detail = || "a field is missing, or is not a number".into();
            feed.problems.note(Trouble::Unreadable, 1, place, detail);
        }
    }
    slices.finish(feed);
}

fn slice(row: &Row<'_>, place: Place, slices: &mut Slices, feed: &mut Feed<'_>) -> Option<()> {
    let name = row.text("task").or(row.text("comm")).unwrap_or("<...>");
    let pid = row.number::<u32>("pid").filter(|&pid| pid <= PID_MAX)?;
    let task = feed.task(name.as_bytes(), pid, row.number("prio").unwrap_or(120));
    let slice = Slice {
        cpu: row.cpu("cpu")?,
        begin_ns: row.number("start_ns")?,
        end_ns: row.number("end_ns")?,
        task,
        state: row.state("end_state").unwrap_or(State::Runnable),
    };
    slices.add(slice, place, feed);
    Some(())
}

fn event(row: &Row<'_>, feed: &mut Feed<'_>) -> Option<()> {
    let event = row.text("event")?;
    let event = event.rsplit(':').next().unwrap_or(event);
    let (at_ns, cpu) = (row.at_ns()?, row.cpu("cpu")?);
    let what = match event {
        "sched_switch" => EventKind::Switch {
            prev: row.task(feed, "prev_")?,
            state: row.state("prev_state")?,
            next: row.task(feed, "next_")?,
        },
        "sched_waking" => EventKind::Waking {
            task: row.task(feed, "")?,
            cpu: row.cpu("target_cpu").unwrap_or(cpu),
        },
        "sched_wakeup" => EventKind::Wakeup {
            task: row.task(feed, "")?,
            cpu: row.cpu("target_cpu").unwrap_or(cpu),
        },
        "sched_wakeup_new" => EventKind::WakeupNew {
            task: row.task(feed, "")?,
            cpu: row.cpu("target_cpu").unwrap_or(cpu),
        },
        "sched_migrate_task" => EventKind::Migrate {
            task: row.task(feed, "")?,
            from: row.cpu("orig_cpu")?,
            to: row.cpu("dest_cpu")?,
        },
        "sched_process_fork" => EventKind::Fork {
            parent: row.task(feed, "parent_").or_else(|| row.task(feed, ""))?,
            child: row.task(feed, "child_")?,
        },
        "sched_process_exec" => EventKind::Exec {
            filename: feed.names.number(row.text("filename")?.as_bytes()),
            pid: row.number("pid").filter(|&pid| pid <= PID_MAX)?,
        },
        "sched_process_exit" => EventKind::Exit { task: row.task(feed, "")? },
        "sched_stat_runtime" => {
            EventKind::Runtime { task: row.task(feed, "")?, ns: row.number("runtime")? }
        }
        other => {
            feed.other(other);
            return Some(());
        }
    };
    let context = row.text("context").and_then(|text| text.bytes().next());
    let context = context.map_or(Context::Unknown, Context::of_flag);
    let pid = row.number("current_pid").filter(|&pid| pid <= PID_MAX);
    let name = match row.text("current_comm") {
        Some(name) => feed.names.number(name.as_bytes()),
        None => Names::UNKNOWN,
    };
    feed.push(FeedEvent { at_ns, cpu, context, current: Current { pid, name }, what });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_separators() {
        assert_eq!(split("a, b ,\"c,\"\"d\"\"\",e", ','), ["a", "b", "c,\"d\"", "e"]);
        assert_eq!(split("\"open", ','), ["open"]);
        assert_eq!(split("", ','), [""]);
    }

    #[test]
    fn a_heading_names_what_is_needed() {
        assert!(heading("time_ns,cpu,event,pid").is_some());
        assert!(heading("Nsecs;CPU;probe").is_some());
        assert!(heading("cpu,start_ns,end_ns,pid,task").is_some());
        assert!(heading("time,cpu").is_none() && heading("time cpu event").is_none());
    }
}
