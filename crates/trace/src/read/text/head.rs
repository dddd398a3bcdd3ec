//! Head of a line, in the formats of all tools: [`head`].
//!
//! | tool | head |
//! |---|---|
//! | ftrace | `comm-pid [cpu] time: event:`, with `(tgid)` and flags before and after the CPU |
//! | ftrace, `latency-format` | `comm-pid cpuflags 12us+: event:` |
//! | `perf script` | `comm pid [cpu] time: system:event:`, or `pid/tid` |
//!
//! A name may contain anything, including brackets and digits: it ends before the first `[cpu]`
//! that the complete rest of a head follows.

use super::parsed::{number, trim};
use crate::tracepoint::Context;

/// Head of a line, and the text after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head<'a> {
    /// Unreliable: it was looked up when the text was written.
    pub comm: &'a [u8],
    /// `None`: it is missing. Negative: it was lost.
    pub pid: Option<i64>,
    pub tgid: Option<u32>,
    pub cpu: u64,
    pub context: Context,
    /// `None`: it is not in seconds.
    pub at_ns: Option<u64>,
    pub time: &'a [u8],
    pub event: &'a [u8],
    pub body: &'a [u8],
}

/// Current task.
#[derive(Clone, Copy)]
struct CurrentField<'a> {
    comm: &'a [u8],
    pid: Option<i64>,
    tgid: Option<u32>,
}

/// Part of a line after the CPU.
struct HeadRest<'a> {
    context: Context,
    at_ns: Option<u64>,
    time: &'a [u8],
    event: &'a [u8],
    body: &'a [u8],
}

/// Parses the head of a line if the line is an event. The line must be trimmed.
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    let mut from = 0;
    while let Some(open) = line[from..].iter().position(|&byte| byte == b'[') {
        let open = from + open;
        from = open + 1;
        let digits = digits(&line[from..]);
        let end = from + digits;
        let is_cpu = (3..=9).contains(&digits)
            && line.get(end) == Some(&b']')
            && matches!(line.get(end + 1), Some(b' ' | b'\t'));
        if !is_cpu {
            continue;
        }
        let (Some(ran), Some(after)) = (who_ran(&line[..open]), after_cpu(&line[end + 1..])) else {
            continue;
        };
        let CurrentField { comm, pid, tgid } = ran;
        let HeadRest { context, at_ns, time, event, body } = after;
        let cpu = number(&line[from..end])?;
        return Some(Head { comm, pid, tgid, cpu, context, at_ns, time, event, body });
    }
    latency(line)
}

/// Returns the number of digits at the beginning.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the first word, and the trimmed text after it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
    let behind = text[end..].iter().position(|byte| !matches!(byte, b' ' | b'\t'));
    (&text[..end], behind.map_or(&[], |behind| &text[end + behind..]))
}

/// Parses `comm-pid`, `comm-pid (tgid)`, `comm pid`, `comm pid/tid`, `comm` or an empty text.
fn who_ran(text: &[u8]) -> Option<CurrentField<'_>> {
    let mut text = trim(text);
    let mut tgid = None;
    if text.last() == Some(&b')')
        && let Some(open) = text.iter().rposition(|&byte| byte == b'(')
    {
        // The process, or dashes if it is unknown.
        let inner = trim(&text[open + 1..text.len() - 1]);
        let is_number = number(inner).is_some();
        if is_number || (!inner.is_empty() && inner.iter().all(|&byte| byte == b'-')) {
            tgid = number(inner).and_then(|tgid| u32::try_from(tgid).ok());
            text = text[..open].trim_ascii_end();
        }
    }
    let count = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, pid) = text.split_at(text.len() - count);
    if count == 0 {
        // `perf script -F` without the thread.
        return Some(CurrentField { comm: text, pid: None, tgid });
    }
    let pid = i64::try_from(number(pid)?).ok()?;
    if let Some(comm) = before.strip_suffix(b"-") {
        if !comm.is_empty() && !comm.ends_with(b" ") && !comm.ends_with(b"\t") {
            return Some(CurrentField { comm, pid: Some(pid), tgid });
        }
        // `:-1    -1`: the task was past its end.
        return Some(CurrentField { comm: trim(comm), pid: Some(-pid), tgid });
    }
    if let Some(rest) = before.strip_suffix(b"/") {
        // pid/tid: the thread, which is the last number, counts.
        let count = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (comm, process) = rest.split_at(rest.len() - count);
        if comm.is_empty() || comm.ends_with(b" ") || comm.ends_with(b"\t") {
            let tgid = number(process).and_then(|process| u32::try_from(process).ok());
            return Some(CurrentField { comm: trim(comm), pid: Some(pid), tgid });
        }
    }
    if before.is_empty() || before.ends_with(b" ") || before.ends_with(b"\t") {
        return Some(CurrentField { comm: trim(before), pid: Some(pid), tgid });
    }
    // A name that ends in digits, without a thread.
    Some(CurrentField { comm: text, pid: None, tgid })
}

/// Whether the word consists of ftrace flags.
fn is_flags(word: &[u8]) -> bool {
    (4..=6).contains(&word.len())
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        && b".dbDX0123456789".contains(&word[0])
}

fn after_cpu(text: &[u8]) -> Option<HeadRest<'_>> {
    let mut context = Context::Unknown;
    let (mut first, mut rest) = word(trim(text));
    if first.last() != Some(&b':') {
        // Flags: the third is the context.
        if !is_flags(first) {
            return None;
        }
        context = Context::of_flag(first[2]);
        (first, rest) = word(rest);
    }
    let time = first.strip_suffix(b":")?;
    let at_ns = match time.first()? {
        b'0'..=b'9' if time.contains(&b'.') => Some(seconds(time)?),
        b'0'..=b'9' => {
            number(time)?;
            None
        }
        _ => return None,
    };
    let (event, body) = event_and_body(rest)?;
    Some(HeadRest { context, at_ns, time, event, body })
}

/// Parses `event: body`, `system:event: body`, or either after a period.
fn event_and_body(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut first, mut rest) = word(text);
    if first.first().is_some_and(u8::is_ascii_digit) && number(first).is_some() {
        (first, rest) = word(rest);
    }
    if first.starts_with(b"PERF_RECORD_") {
        return Some((first, rest));
    }
    let event = first.strip_suffix(b":")?;
    let event = match event.iter().rposition(|&byte| byte == b':') {
        Some(colon) => &event[colon + 1..],
        None => event,
    };
    Some((event, rest))
}

/// Converts seconds with a fraction to ns.
fn seconds(text: &[u8]) -> Option<u64> {
    let dot = text.iter().position(|&byte| byte == b'.')?;
    let (seconds, fraction) = (&text[..dot], &text[dot + 1..]);
    let fraction = &fraction[..fraction.len().min(9)];
    let part = number(fraction)? * 10u64.pow(9 - fraction.len() as u32);
    number(seconds)?.checked_mul(1_000_000_000)?.checked_add(part)
}

/// Parses `comm-pid`, the CPU and flags in one word, then microseconds since the first event
/// (ftrace's `latency-format`) or seconds (`trace-cmd report -l`).
fn latency(line: &[u8]) -> Option<Head<'_>> {
    let mut from = 0;
    // The number of the task ends at a blank, which digits and flags follow.
    while let Some(dash) = line[from..].iter().position(|&byte| byte == b'-') {
        let dash = from + dash;
        from = dash + 1;
        let count = digits(&line[from..]);
        let end = from + count;
        if count == 0 || dash == 0 || !matches!(line.get(end), Some(b' ' | b'\t')) {
            continue;
        }
        if let Some(head) = latency_after(&line[..dash], &line[from..end], &line[end..]) {
            return Some(head);
        }
    }
    None
}

fn latency_after<'a>(comm: &'a [u8], pid: &'a [u8], rest: &'a [u8]) -> Option<Head<'a>> {
    let (glued, rest) = word(trim(rest));
    // `0d..2.`: flags begin with a dot or a letter and may contain digits.
    let count = digits(glued);
    let flags = &glued[count..];
    if count == 0 || !(is_flags(flags) || (flags.len() == 3 && is_flags(&[flags, b"."].concat()))) {
        return None;
    }
    let (mut time, mut rest) = word(rest);
    if !time.ends_with(b":") && time.ends_with(b"us") {
        // `17709us : sched_switch:`: a blank is also a mark.
        let (mark, behind) = word(rest);
        if mark != b":" {
            return None;
        }
        rest = behind;
    } else {
        time = time.strip_suffix(b":")?;
    }
    let at_ns = if time.contains(&b'.') {
        Some(seconds(time)?)
    } else {
        let count = digits(time);
        if !time[count..].starts_with(b"us") || time.len() > count + 3 {
            return None;
        }
        number(&time[..count])?.checked_mul(1000)
    };
    let (event, body) = event_and_body(rest)?;
    Some(Head {
        comm,
        pid: i64::try_from(number(pid)?).ok(),
        tgid: None,
        cpu: number(&glued[..count])?,
        context: Context::of_flag(flags[2]),
        at_ns,
        time,
        event,
        body,
    })
}
