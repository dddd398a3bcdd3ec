//! Bodies in the format of libtraceevent's plugins (`trace-cmd report`), and the similar bodies of
//! 2.6.32: `NAME:PID [PRIO]` instead of fields.

use super::super::feed::{EventKind, Feed, Task};
use super::parsed::{Fault, Parsed, first_word, number, signed, state, task, trim};

/// Parses `NAME:PID [PRIO]`. The name ends at the last colon. `perf script -F ip,sym` prints more
/// after it, possibly with brackets.
fn short<'a>(feed: &mut Feed<'_>, text: &'a [u8]) -> Result<Option<Task>, Fault<'a>> {
    let mut end = text.len();
    while let Some(close) = text[..end].iter().rposition(|&byte| byte == b']') {
        if let Some((comm, pid, prio)) = short_before(&text[..close]) {
            return task(feed, comm, pid, prio);
        }
        end = close;
    }
    Err(Fault::Form("NAME:PID [PRIO]", text))
}

/// Parses `NAME:PID [PRIO` to its name and numbers.
fn short_before(inner: &[u8]) -> Option<(&[u8], i64, i64)> {
    let open = inner.iter().rposition(|&byte| byte == b'[')?;
    let prio = signed(trim(&inner[open + 1..]))?;
    let name = trim(&inner[..open]);
    let colon = name.iter().rposition(|&byte| byte == b':')?;
    Some((trim(&name[..colon]), signed(&name[colon + 1..])?, prio))
}

/// Parses `NAME:PID`, and drops text after it.
fn name_and_number(text: &[u8]) -> Option<(&[u8], i64)> {
    let text = trim(text);
    let mut end = text.len();
    while let Some(colon) = text[..end].iter().rposition(|&byte| byte == b':') {
        if let Some(pid) = signed(first_word(&text[colon + 1..])) {
            return Some((trim(&text[..colon]), pid));
        }
        end = colon;
    }
    None
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
pub(super) fn switch<'a>(feed: &mut Feed<'_>, body: &'a [u8]) -> Result<Parsed, Fault<'a>> {
    let arrow = rfind(body, b" ==> ").ok_or(Fault::Missing("==>"))?;
    let (left, right) = (body[..arrow].trim_ascii_end(), &body[arrow + 5..]);
    let blank =
        left.iter().rposition(|&byte| byte == b' ').ok_or(Fault::Missing("state before ==>"))?;
    let (prev, letters) = (&left[..blank], &left[blank + 1..]);
    let old = letters.strip_prefix(b"(").and_then(|letters| letters.strip_suffix(b")"));
    let prev = if old.is_some() { without(prev, b"task ") } else { prev };
    let state = state(feed, old.unwrap_or(letters))?;
    let both = short(feed, prev)?.zip(short(feed, right)?);
    Ok(Parsed::of(both.map(|(prev, next)| EventKind::Switch { prev, state, next })))
}

/// Parses `NAME:PID [PRIO] CPU:NNN`, with `success=1` in between in older kernels; or 2.6.32's
/// `task NAME:PID [PRIO] success=1 [NNN]`. Returns the task, the CPU if it is known, and whether
/// the task was asleep.
pub(super) fn wakeup<'a>(
    feed: &mut Feed<'_>,
    body: &'a [u8],
) -> Result<(Option<Task>, Option<u64>, bool), Fault<'a>> {
    let (mut text, mut cpu, mut slept) = (body, None, true);
    if let Some(place) = rfind(body, b" CPU:") {
        let digits = first_word(&body[place + 5..]);
        cpu = Some(number(digits).ok_or(Fault::NoNumber("CPU:", digits))?);
        text = &body[..place];
    }
    if let Some(place) = rfind(text, b" success=") {
        let after = &text[place + 9..];
        let value = first_word(after);
        slept = number(value).ok_or(Fault::NoNumber("success=", value))? != 0;
        // `[003]`
        let target = first_word(trim(&after[value.len()..]));
        let target = target.strip_prefix(b"[").and_then(|target| target.strip_suffix(b"]"));
        if let Some(target) = target {
            cpu = Some(number(target).ok_or(Fault::NoNumber("success=N ", target))?);
            text = without(text, b"task ");
        }
        let length = place.min(text.len());
        text = &text[..rfind(text, b" success=").unwrap_or(length)];
    }
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
    let cpu = |text: &[u8]| number(first_word(trim(text)));
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
