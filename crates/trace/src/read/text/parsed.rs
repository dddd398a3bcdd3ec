//! Items that the parsers of event bodies share: [`Parsed`], [`Fault`], and values of fields.

use super::super::feed::{CPUS_MAX, EventKind, Feed, PID_MAX, Task};
use super::super::problems::{Place, Trouble};
use super::super::states::SwitchState;
use crate::tracepoint::State;
use std::borrow::Cow;

/// Result of parsing the body of an event.
pub(in super::super) enum Parsed {
    /// A scheduler event.
    Event(EventKind),
    /// An event about a task whose number was lost.
    NoTask,
    /// An event that adds nothing: a wakeup of a task that was awake.
    Redundant,
    /// An event that is not read.
    Other,
}

impl Parsed {
    /// Returns the event, if there is one. A lost number and an event that is not read, called
    /// `name`, are counted.
    pub fn known<'n>(
        self,
        feed: &mut Feed<'_>,
        place: Place,
        name: impl FnOnce() -> Cow<'n, str>,
    ) -> Option<EventKind> {
        match self {
            Parsed::Event(what) => return Some(what),
            Parsed::NoTask => feed.problems.note(Trouble::Nameless, 1, place, String::new),
            Parsed::Redundant => {}
            Parsed::Other => feed.other(&name()),
        }
        None
    }

    pub fn of(what: Option<EventKind>) -> Parsed {
        what.map_or(Parsed::NoTask, Parsed::Event)
    }
}

/// Returns bytes as text for messages.
pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(120)])
}

/// Defect of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault<'a> {
    /// A field is missing.
    Missing(&'static str),
    /// The value of a field is not a number.
    NoNumber(&'static str, &'a [u8]),
    /// The pid is larger than the kernel's largest.
    Pid(i64),
    /// The CPU number is too large.
    Cpu(u64),
    /// No state has these letters.
    State(&'a [u8]),
    /// The text does not have this form.
    Form(&'static str, &'a [u8]),
}

impl Fault<'_> {
    /// Returns the message about this defect of `event`.
    pub fn message(&self, event: &[u8]) -> String {
        let event = lossy(event);
        match *self {
            Fault::Missing(what) => format!("{event}: {what} is missing"),
            Fault::NoNumber(key, value) => {
                format!("{event}: {key}{}: it must be a number", lossy(value))
            }
            Fault::Pid(pid) => {
                format!("{event}: pid {pid}: the kernel gives numbers up to {PID_MAX}")
            }
            Fault::Cpu(cpu) => {
                format!("{event}: CPU {cpu}: CPUs are numbered from 0 to {}", CPUS_MAX - 1)
            }
            Fault::State(letters) => format!(
                "{event}: unknown state \"{}\": it must be letters (R, S, D, ...) or a number up \
                 to 8191",
                lossy(letters)
            ),
            Fault::Form(form, text) => format!("{event}: \"{}\" is not {form}", lossy(text)),
        }
    }
}

/// Returns a task. `None`: its number was lost.
pub(super) fn task<'a>(
    feed: &mut Feed<'_>,
    comm: &[u8],
    pid: i64,
    prio: i64,
) -> Result<Option<Task>, Fault<'a>> {
    if pid > i64::from(PID_MAX) {
        return Err(Fault::Pid(pid));
    }
    let prio = prio.clamp(-1000, 1000) as i32;
    let array = array(comm);
    let comm = array.as_deref().unwrap_or(comm);
    Ok(u32::try_from(pid).ok().map(|pid| feed.task(comm, pid, prio)))
}

/// Parses `ARRAY[61, 62, 00]`: `trace-cmd report -R` prints names that are not printable so.
fn array(comm: &[u8]) -> Option<Vec<u8>> {
    let inner = comm.strip_prefix(b"ARRAY[")?.strip_suffix(b"]")?;
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let bytes = inner.split(|&byte| byte == b',').map(|digits| byte(trim(digits)));
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    Some(bytes.into_iter().take_while(|&byte| byte != 0).collect())
}

/// Checks the number of a CPU.
pub(super) fn cpu<'a>(number: u64) -> Result<u32, Fault<'a>> {
    match u32::try_from(number) {
        Ok(cpu) if cpu < CPUS_MAX => Ok(cpu),
        _ => Err(Fault::Cpu(number)),
    }
}

/// Parses a state from its letters or its number.
pub(super) fn state<'a>(feed: &mut Feed<'_>, letters: &'a [u8]) -> Result<SwitchState, Fault<'a>> {
    let state = match hex_or_number(letters) {
        Some(number) => feed.states.take(number),
        None => {
            let letters = std::str::from_utf8(letters).ok();
            letters.and_then(State::of_letters).map(SwitchState::Known)
        }
    };
    state.ok_or(Fault::State(letters))
}

/// Returns the first word: `perf script -F ip,sym` prints more after the last field.
pub(super) fn first_word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
    &text[..end]
}

/// Removes blanks on either side.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// Parses a decimal number without a sign.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 20 {
        return None;
    }
    bytes.iter().try_fold(0u64, |sum, &digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

/// Parses a number without a sign, in hexadecimal (`0x1f`) or decimal.
pub(super) fn hex_or_number(bytes: &[u8]) -> Option<u64> {
    let Some(digits) = bytes.strip_prefix(b"0x") else { return number(bytes) };
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Parses a number that may have a sign. In hexadecimal, it is the bits of a number with 32 bits,
/// or of a larger one.
pub(in super::super) fn signed(bytes: &[u8]) -> Option<i64> {
    if bytes.starts_with(b"0x") {
        let bits = hex_or_number(bytes)?;
        return Some(u32::try_from(bits).map_or(bits as i64, |bits| i64::from(bits as i32)));
    }
    match bytes.strip_prefix(b"-") {
        Some(bytes) => number(bytes).and_then(|number| i64::try_from(number).ok()).map(|n| -n),
        None => number(bytes).and_then(|number| i64::try_from(number).ok()),
    }
}
