//! Lines other than events: headings, and marks of lost events.

use super::super::feed::Feed;
use super::super::problems::{Place, Trouble};
use super::Text;
use super::parsed::{lossy, number, trim};

impl Text {
    /// Takes a line that may be a comment. Returns whether it is one.
    pub(super) fn comment(&mut self, line: &[u8], feed: &mut Feed<'_>) -> bool {
        let place = Place::Line(self.line);
        if let Some(rest) = line.strip_prefix(b"#####") {
            // `##### CPU 1 buffer started ####`
            let rest = trim(rest);
            if let Some(rest) = rest.strip_prefix(b"CPU ")
                && let Some(cpu) = rest.split(|&byte| byte == b' ').next().and_then(number)
                && memmem(rest, b"buffer started").is_some()
            {
                // The history of this CPU begins here. No events are lost that are not reported
                // elsewhere.
                let _ = cpu;
            }
            return true;
        }
        if let Some(rest) = line.strip_prefix(b"#") {
            self.heading(trim(rest), feed, place);
            return true;
        }
        if let Some(rest) = line.strip_prefix(b"CPU:") {
            // `CPU:0 [LOST 230 EVENTS]`, `CPU:1 [EVENTS DROPPED]`, `CPU:1 [7 EVENTS DROPPED]`
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let Some(cpu) = number(&rest[..digits]) else { return false };
            let rest = trim(&rest[digits..]);
            let Some(mark) = rest.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"))
            else {
                return false;
            };
            let count = mark.split(|&byte| byte == b' ').find_map(number);
            match count.filter(|&count| count > 0) {
                Some(count) => {
                    feed.problems.note(Trouble::Lost, count, place, || format!("CPU {cpu}"));
                    self.note_lost(cpu, count);
                }
                None => {
                    feed.problems.note(Trouble::LostUncounted, 1, place, || format!("CPU {cpu}"));
                    self.note_lost(cpu, u64::MAX);
                }
            }
            return true;
        }
        if let Some(rest) = line.strip_prefix(b"cpus=") {
            if let Some(cpus) = number(rest) {
                feed.header.cpus_online = u32::try_from(cpus).ok();
                feed.header.recorder.get_or_insert_with(|| "trace-cmd".into());
            }
            return memmem(line, b": ").is_none();
        }
        false
    }

    /// Reads a line after a `#`.
    fn heading(&mut self, text: &[u8], feed: &mut Feed<'_>, place: Place) {
        let header = &mut feed.header;
        if let Some(rest) = after(text, b"entries-in-buffer/entries-written:") {
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            let mut counts = rest[..end].split(|&byte| byte == b'/').map(number);
            if let (Some(Some(kept)), Some(Some(written))) = (counts.next(), counts.next()) {
                let lost = written.saturating_sub(kept);
                feed.problems.note(Trouble::Overwritten, lost, place, || {
                    "record into a larger buffer (buffer_size_kb), or read trace_pipe while it is \
                     recorded"
                        .into()
                });
            }
        }
        if let Some(rest) = after(text, b"#P:") {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let cpus = number(&rest[..digits]).and_then(|cpus| u32::try_from(cpus).ok());
            header.cpus_online = cpus.or(header.cpus_online);
            header.recorder.get_or_insert_with(|| "ftrace".into());
        }
        let value = |key: &[u8]| text.strip_prefix(key).map(trim).filter(|value| !value.is_empty());
        let text_of = |value: &[u8]| Some(lossy(value).into_owned());
        if let Some(release) = value(b"os release :") {
            header.release = text_of(release);
            feed.states.set_release(&lossy(release));
        } else if let Some(host) = value(b"hostname :") {
            header.host = text_of(host);
        } else if let Some(cpus) = value(b"nrcpus online :") {
            header.cpus_online =
                number(cpus).and_then(|cpus| u32::try_from(cpus).ok()).or(header.cpus_online);
        } else if let Some(line) = value(b"cmdline :") {
            header.recorder = text_of(line);
        } else if let Some(tracer) = value(b"tracer:") {
            let _ = tracer;
            header.recorder.get_or_insert_with(|| "ftrace".into());
        } else if let Some(clock) = value(b"clock:") {
            header.clock = text_of(clock);
        } else if header.clock.is_none()
            && let Some(clock) = after(text, b"clockid: ")
        {
            let end = clock.iter().position(|byte| b" ,(".contains(byte)).unwrap_or(clock.len());
            header.clock = text_of(&clock[..end]);
        }
    }
}

/// Returns the text after the first `pattern`.
fn after<'a>(text: &'a [u8], pattern: &[u8]) -> Option<&'a [u8]> {
    memmem(text, pattern).map(|place| trim(&text[place + pattern.len()..]))
}

/// Returns the position of the first `pattern`.
pub(super) fn memmem(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}
