//! Bodies in the format of libtraceevent's plugins (`trace-cmd report`), and the similar bodies of
//! 2.6.32: `NAME:PID [PRIO]` instead of fields.

use super::super::feed::{EventKind, Feed, Task};
use super::parsed::{Fault, Parsed, number, signed, state, task, trim};
use crate::tracepoint::Era;

/// Parses `NAME:PID [PRIO]`. The name ends at the last colon.
fn short<'a>(feed: &mut Feed<'_>, text: &'a [u8]) -> Result<Option<Task>, Fault<'a>> {
    let wrong = Fault::Form("NAME:PID [PRIO]", text);
    let inner = trim(text).strip_suffix(b"]").ok_or(wrong)?;
    let open = inner.iter().rposition(|&byte| byte == b'[').ok_or(wrong)?;
    let prio = signed(trim(&inner[open + 1..])).ok_or(wrong)?;
    let name = trim(&inner[..open]);
    let (comm, pid) = name_and_number(name).ok_or(wrong)?;
    task(feed, comm, pid, prio)
}

/// Parses `NAME:PID`.
fn name_and_number(text: &[u8]) -> Option<(&[u8], i64)> {
    let text = trim(text);
    let colon = text.iter().rposition(|&byte| byte == b':')?;
    Some((trim(&text[..colon]), signed(&text[colon + 1..])?))
}

/// Returns the text after `prefix`.
fn without<'a>(text: &'a [u8], prefix: &[u8]) -> &'a [u8] {
    text.strip_prefix(prefix).unwrap_or(text)
}

/// Returns the position of the last `pattern`.
fn rfind(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).rposition(|window| window == pattern)
}

/// Parses `NAME:PID [PRIO] STATE ==> NAME:PID [PRIO]`. In 2.6.32, `task ` precedes it and the state
/// is in parentheses.
pub(super) fn switch<'a>(
    feed: &mut Feed<'_>,
    era: Era,
    body: &'a [u8],
) -> Result<Parsed, Fault<'a>> {
    let arrow = rfind(body, b" ==> ").ok_or(Fault::Missing("==>"))?;
    let (left, right) = (body[..arrow].trim_ascii_end(), &body[arrow + 5..]);
    let blank =
        left.iter().rposition(|&byte| byte == b' ').ok_or(Fault::Missing("state before ==>"))?;
    let (prev, letters) = (&left[..blank], &left[blank + 1..]);
    let old = letters.strip_prefix(b"(").and_then(|letters| letters.strip_suffix(b")"));
    let prev = if old.is_some() { without(prev, b"task ") } else { prev };
    let state = state(era, old.unwrap_or(letters))?;
    let both = short(feed, prev)?.zip(short(feed, right)?);
    Ok(Parsed::of(both.map(|(prev, next)| EventKind::Switch { prev, state, next })))
}

/// Parses `NAME:PID [PRIO] CPU:NNN`, with `success=1` in between in older kernels; or 2.6.32's
/// `task NAME:PID [PRIO] success=1 [NNN]`. Returns the task, the CPU, and whether the task was
/// asleep.
pub(super) fn wakeup<'a>(
    feed: &mut Feed<'_>,
    body: &'a [u8],
) -> Result<(Option<Task>, u64, bool), Fault<'a>> {
    let wrong = Fault::Missing("target_cpu=NNN or CPU:NNN");
    let blank = body.iter().rposition(|&byte| byte == b' ').ok_or(wrong)?;
    let (mut text, cpu) = (&body[..blank], &body[blank + 1..]);
    let cpu = match cpu.strip_prefix(b"CPU:") {
        Some(cpu) => cpu,
        None => {
            text = without(text, b"task ");
            cpu.strip_prefix(b"[").and_then(|cpu| cpu.strip_suffix(b"]")).ok_or(wrong)?
        }
    };
    let cpu = number(cpu).ok_or(wrong)?;
    let slept = !text.ends_with(b" success=0");
    let text = text.strip_suffix(b" success=0").unwrap_or(text);
    let text = text.strip_suffix(b" success=1").unwrap_or(text);
    Ok((short(feed, text)?, cpu, slept))
}

/// Parses 2.6.32's `task NAME:PID [PRIO] from: N  to: N`.
pub(super) fn migrate<'a>(
    feed: &mut Feed<'_>,
    body: &'a [u8],
) -> Result<(Option<Task>, u64, u64), Fault<'a>> {
    let wrong = Fault::Form("task NAME:PID [PRIO] from: N to: N", body);
    let to = rfind(body, b" to: ").ok_or(wrong)?;
    let from = rfind(&body[..to], b" from: ").ok_or(wrong)?;
    let task = short(feed, without(&body[..from], b"task "))?;
    let cpu = |text: &[u8]| number(trim(text));
    let from = cpu(&body[from + 7..to]).ok_or(wrong)?;
    Ok((task, from, cpu(&body[to + 5..]).ok_or(wrong)?))
}

/// Parses 2.6.32's `parent NAME:PID  child NAME:PID`.
pub(super) fn fork<'a>(feed: &mut Feed<'_>, body: &'a [u8]) -> Result<Parsed, Fault<'a>> {
    let wrong = Fault::Form("parent NAME:PID  child NAME:PID", body);
    let child = rfind(body, b" child ").ok_or(wrong)?;
    let parent = name_and_number(without(&body[..child], b"parent ")).ok_or(wrong)?;
    let child = name_and_number(&body[child + 7..]).ok_or(wrong)?;
    let parent = task(feed, parent.0, parent.1, 120)?;
    let both = parent.zip(task(feed, child.0, child.1, 120)?);
    Ok(Parsed::of(both.map(|(parent, child)| EventKind::Fork { parent, child })))
}

/// Parses 2.6.32's `task NAME:PID [PRIO]`.
pub(super) fn alone<'a>(feed: &mut Feed<'_>, body: &'a [u8]) -> Result<Option<Task>, Fault<'a>> {
    short(feed, without(body, b"task "))
}

/// Parses 2.6.32's `task: NAME:PID runtime: N [ns], vruntime: N [ns]`.
pub(super) fn runtime<'a>(feed: &mut Feed<'_>, body: &'a [u8]) -> Result<Parsed, Fault<'a>> {
    let wrong = Fault::Form("task: NAME:PID runtime: N [ns]", body);
    let place = rfind(body, b" runtime: ").ok_or(wrong)?;
    let (comm, pid) = name_and_number(without(&body[..place], b"task: ")).ok_or(wrong)?;
    let value = &body[place + 10..];
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ns = number(&value[..digits]).ok_or(wrong)?;
    let task = task(feed, comm, pid, 120)?;
    Ok(Parsed::of(task.map(|task| EventKind::Runtime { task, ns })))
}
