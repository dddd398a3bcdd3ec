//! Traces in text: of ftrace, `trace-cmd report`, `perf script` and systrace, from 2.6.32 on.
//!
//! Lines are recognised by the pattern of their head ([`head`]: task, CPU, time, event) and not by
//! a heading, because users cut files. Other lines are skipped.

mod body;
mod comment;
mod head;
mod parsed;
mod perf;
mod trace_cmd;

use super::feed::{CPUS_MAX, Current, EventKind, Feed, FeedEvent, PID_MAX};
use super::names::Names;
use super::problems::{Place, Trouble};
use parsed::{Fault, lossy, trim};
pub(super) use parsed::{Parsed, signed};
use std::io::{self, BufRead};

/// Longest line that can be an event, bytes.
const LINE_MAX: usize = 1 << 14;

/// Reads lines to the end.
pub(super) fn read(input: &mut dyn BufRead, feed: &mut Feed<'_>) {
    let mut text = Text::default();
    feed.is_ordered = true;
    let mut line = Vec::with_capacity(256);
    loop {
        line.clear();
        let place = Place::Line(text.line + 1);
        match next_line(input, &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let detail = || format!("the rest cannot be decompressed: {error}");
                feed.problems.note(Trouble::Torn, 1, place, detail);
                break;
            }
        }
        text.line(&line, feed);
    }
    // A last line without an end may be a cut event. That is counted as unreadable.
}

/// Reads the next line with its end, if it has one. Only the beginning of a long line is kept.
/// Returns the number of bytes consumed.
pub(super) fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut taken = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The text read so far is a line.
            Err(_) if taken > 0 => return Ok(taken),
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(taken);
        }
        let end = memchr(b'\n', buffer);
        let used = end.map_or(buffer.len(), |end| end + 1);
        let room = LINE_MAX.saturating_sub(line.len());
        line.extend_from_slice(&buffer[..used.min(room)]);
        input.consume(used);
        taken += used;
        if end.is_some() {
            return Ok(taken);
        }
    }
}

/// Returns the position of `byte`, searching word by word.
fn memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let pattern = LOW * u64::from(byte);
    let mut words = bytes.chunks_exact(8);
    for (index, word) in words.by_ref().enumerate() {
        let word = u64::from_le_bytes(word.try_into().unwrap_or([0; 8])) ^ pattern;
        let zero = word.wrapping_sub(LOW) & !word & (LOW << 7);
        if zero != 0 {
            return Some(index * 8 + zero.trailing_zeros() as usize / 8);
        }
    }
    let at = bytes.len() - words.remainder().len();
    words.remainder().iter().position(|&other| other == byte).map(|place| at + place)
}

/// Reader of lines.
#[derive(Debug, Default)]
pub(super) struct Text {
    line: u64,
    /// Number of events that each CPU lost before its next event. `0`: none; `u64::MAX`: unknown.
    lost: Vec<u64>,
}

impl Text {
    /// Takes the next line.
    pub fn line(&mut self, line: &[u8], feed: &mut Feed<'_>) {
        self.line += 1;
        self.take(line, feed);
    }

    fn take(&mut self, line: &[u8], feed: &mut Feed<'_>) {
        let line = trim(line);
        let Some(&first) = line.first() else { return };
        if first == b'#' || first.is_ascii_uppercase() || first == b'c' || first == b'v' {
            // A comment, a mark of lost events, or another line that is not an event.
            if self.comment(line, feed) {
                return;
            }
        }
        // Old systrace: a JavaScript string, whose lines end like this.
        let line = line.strip_suffix(b"\\n\\").unwrap_or(line);
        let Some(head) = head::head(line) else { return };
        let place = Place::Line(self.line);
        if head.cpu >= u64::from(CPUS_MAX) {
            let fault = Fault::Cpu(head.cpu);
            feed.problems.note(Trouble::Unreadable, 1, place, || fault.message(head.event));
            return;
        }
        let cpu = head.cpu as u32;
        if let Some(lost) = perf::lost(head.event, head.body) {
            feed.problems.note(Trouble::Lost, lost, place, String::new);
            if let Some(at_ns) = head.at_ns {
                let what = EventKind::Lost { events: lost, cpu };
                self.push(feed, at_ns, cpu, &head, what);
            }
            return;
        }
        let what = match body::event(feed, head.event, head.body, (head.comm, head.pid)) {
            Ok(what) => what,
            Err(fault) => {
                feed.problems.note(Trouble::Unreadable, 1, place, || fault.message(head.event));
                return;
            }
        };
        let Some(what) = what.known(feed, place, || lossy(head.event)) else { return };
        let Some(at_ns) = head.at_ns else {
            feed.problems.note(Trouble::Clock, 1, place, || {
                format!(
                    "the time {} is not in seconds; record with a clock that counts them (`echo \
                     mono > trace_clock`)",
                    lossy(head.time)
                )
            });
            return;
        };
        if let Some(lost) = self.lost.get_mut(cpu as usize).filter(|lost| **lost > 0) {
            let lost = std::mem::take(lost);
            let events = if lost == u64::MAX { 0 } else { lost };
            self.push(feed, at_ns, cpu, &head, EventKind::Lost { events, cpu });
        }
        self.push(feed, at_ns, cpu, &head, what);
    }

    fn push(
        &self,
        feed: &mut Feed<'_>,
        at_ns: u64,
        cpu: u32,
        head: &head::Head<'_>,
        what: EventKind,
    ) {
        let pid = head.pid.and_then(|pid| u32::try_from(pid).ok()).filter(|&pid| pid <= PID_MAX);
        let current = match pid {
            None => Current::UNKNOWN,
            Some(0) => Current { pid, name: Names::IDLE },
            Some(_) if head.comm.is_empty() => Current { pid, name: Names::UNKNOWN },
            Some(_) => Current { pid, name: feed.names.number(head.comm) },
        };
        if let (Some(pid), Some(tgid)) = (pid, head.tgid) {
            feed.process(pid, tgid);
        }
        feed.push(FeedEvent { at_ns, cpu, context: head.context, current, what });
    }

    /// Records that events of `cpu` were lost before its next event.
    fn note_lost(&mut self, cpu: u64, events: u64) {
        if cpu < u64::from(CPUS_MAX) {
            let index = cpu as usize;
            if index >= self.lost.len() {
                self.lost.resize(index + 1, 0);
            }
            self.lost[index] = self.lost[index].saturating_add(events);
        }
    }
}
