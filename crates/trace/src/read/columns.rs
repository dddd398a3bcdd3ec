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

use super::feed::{Current, Feed, FeedEvent, PID_MAX};
use super::named::{self, NamedFields};
use super::names::Names;
use super::problems::{Place, Trouble};
use super::slices::{Slice, Slices};
use super::text::next_line;
use crate::tracepoint::{Context, State};
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

impl NamedFields for Row<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let field = self.fields.get(*self.columns.get(name)?)?;
        (!field.is_empty()).then_some(field)
    }
}

impl Row<'_> {
    fn at_ns(&self) -> Option<u64> {
        if let Some(ns) = self.find("time_ns") {
            return u64::try_from(ns).ok();
        }
        let seconds = self.text("time")?;
        let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let fraction: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        let ns: u64 = fraction.parse().ok()?;
        seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
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
                let detail = || format!("the rest cannot be decompressed: {error}");
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
            false => event(&row, place, feed),
        };
        if let Err(detail) = taken {
            feed.problems.note(Trouble::Unreadable, 1, place, || detail);
        }
    }
    slices.finish(feed);
}

fn slice(
    row: &Row<'_>,
    place: Place,
    slices: &mut Slices,
    feed: &mut Feed<'_>,
) -> Result<(), String> {
    let name = row.text("task").or(row.text("comm")).unwrap_or("<...>");
    let time = |key: &str| {
        let ns = row.number("a slice", key)?;
        u64::try_from(ns).map_err(|_| format!("a slice: {key}={ns}: it must not be negative"))
    };
    let pid = named::pid("a slice", "pid", row.number("a slice", "pid")?)?.unwrap_or(0);
    let prio = row.find("prio").unwrap_or(120).clamp(-1000, 1000) as i32;
    let state = row.text("end_state").and_then(|state| match state.parse() {
        Ok(number) => State::of_number(number),
        Err(_) => State::of_letters(state),
    });
    let slice = Slice {
        cpu: row.cpu("a slice", "cpu")?,
        begin_ns: time("start_ns")?,
        end_ns: time("end_ns")?,
        task: feed.task(name.as_bytes(), pid, prio),
        state: state.unwrap_or(State::Runnable),
    };
    slices.add(slice, place, feed);
    Ok(())
}

fn event(row: &Row<'_>, place: Place, feed: &mut Feed<'_>) -> Result<(), String> {
    let event = row.text("event").ok_or("event is missing")?;
    let event = event.rsplit(':').next().unwrap_or(event);
    let at_ns = row.at_ns().ok_or("the time is missing, or is not a number")?;
    let cpu = row.cpu(event, "cpu")?;
    let parsed = named::event(row, event, feed)?;
    let Some(what) = parsed.known(feed, place, || event.into()) else { return Ok(()) };
    let context = row.text("context").and_then(|text| text.bytes().next());
    let context = context.map_or(Context::Unknown, Context::of_flag);
    let pid = row.find("current_pid").and_then(|pid| u32::try_from(pid).ok());
    let pid = pid.filter(|&pid| pid <= PID_MAX);
    let name = match row.text("current_comm") {
        Some(name) => feed.names.number(name.as_bytes()),
        None => Names::UNKNOWN,
    };
    feed.push(FeedEvent { at_ns, cpu, context, current: Current { pid, name }, what });
    Ok(())
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
