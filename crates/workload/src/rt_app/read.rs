//! Reads JSON into the model, and checks that every key is known and every value is of the right
//! kind.

use super::keys::{self, Key, Kind};
use crate::cursor::Cursor;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::group_path::normal_path;
use crate::json::Kind as Json;
use crate::model::{
    Action, Event, Global, Loops, MemRun, MemRunKind, Model, Phase, Properties, THREADS_MAX, Task,
};
use schedlab_core::Policy;
use std::collections::HashSet;

/// Language whose rules apply where the two differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// rt-app's.
    RtApp,
    /// The golden schedules': `resume` names a thread, and resumes are remembered.
    Golden,
}

const MICROSECONDS: &str = "a whole number of microseconds";
const BYTES: &str = "a whole number of bytes";
/// Longest time, µs: 2^63 - 1 ns, 292 years.
const US_MAX: i64 = i64::MAX / 1000;
/// Maximum number of bytes, so that no cost model overflows.
const BYTES_MAX: i64 = 1 << 50;
/// Highest CPU number anywhere in the project, plus one.
const CPUS_MAX: u32 = 4096;

/// Reads the workload at `root`.
pub fn model(root: Cursor<'_>, dialect: Dialect) -> Result<Model, Diagnostic> {
    let mut model = Model { name: root.file().into(), ..Model::default() };
    let mut tasks = None;
    for member in root.object()? {
        let section = root.member(member);
        match section.key() {
            "global" => {
                section.object()?;
            }
            "resources" => {
                section.object()?;
            }
            "tasks" if tasks.is_some() => return Err(section.key_error("`tasks` is repeated")),
            "tasks" => tasks = Some(member),
            key => {
                return Err(section
                    .key_error(format!("unknown section `{key}`"))
                    .with_help_if(did_you_mean(key, keys::SECTIONS))
                    .with_default_help(
                        "the sections of a workload file are `tasks`, `global` and `resources`",
                    ));
            }
        }
    }
    if let Some(section) = root.find("global")? {
        model.global = global(root.member(section))?;
    }
    let Some(tasks) = tasks else {
        return Err(root.error("`tasks` is missing from the file"));
    };
    let tasks = root.member(tasks);
    let mut seen = HashSet::new();
    for member in tasks.object()? {
        let cursor = tasks.member(member);
        if cursor.key().is_empty() {
            return Err(cursor.key_error("a task needs a name"));
        }
        if !seen.insert(cursor.key()) {
            return Err(cursor
                .key_error(format!("task `{}` is repeated", cursor.key()))
                .with_help("set `instance` for several threads of one kind"));
        }
        model.tasks.push(task(cursor, dialect)?);
    }
    if model.tasks.is_empty() {
        return Err(tasks.error("there are no tasks"));
    }
    Ok(model)
}

fn global(section: Cursor<'_>) -> Result<Global, Diagnostic> {
    let mut global = Global::default();
    for member in section.object()? {
        let cursor = section.member(member);
        match cursor.key() {
            "duration" => global.duration_ns = duration_ns(cursor)?,
            "default_policy" => global.default_policy = policy(cursor)?,
            "pi_enabled" => global.pi_enabled = cursor.boolean()?,
            "cumulative_slack" => global.cumulative_slack = cursor.boolean()?,
            key @ "calibration" => {
                calibration(cursor)?;
                carry(&mut global, key, cursor);
            }
            key if keys::GLOBAL_CARRIED.contains(&key) => {
                if matches!(cursor.value().kind, Json::Object(_) | Json::Array(_) | Json::Null) {
                    return Err(
                        cursor.error(format!("`{key}` must be a string, a number, true or false"))
                    );
                }
                carry(&mut global, key, cursor);
            }
            key => {
                let known = keys::GLOBAL.into_iter().chain(keys::GLOBAL_CARRIED);
                return Err(cursor
                    .key_error(format!("unknown key `{key}` in `global`"))
                    .with_help_if(did_you_mean(key, known)));
            }
        }
    }
    Ok(global)
}

fn carry(global: &mut Global, key: &str, cursor: Cursor<'_>) {
    global.carried.retain(|(other, _)| other != key);
    let text = match &cursor.value().kind {
        Json::String(text) => crate::json::quote(text),
        _ => cursor.text().to_string(),
    };
    global.carried.push((key.into(), text));
}

fn calibration(cursor: Cursor<'_>) -> Result<(), Diagnostic> {
    let good = match &cursor.value().kind {
        Json::Integer(ns_per_loop) => *ns_per_loop > 0,
        Json::String(text) => {
            text.strip_prefix("CPU").is_some_and(|number| number.parse::<u32>().is_ok())
        }
        _ => false,
    };
    if good {
        Ok(())
    } else {
        Err(cursor.error("`calibration` must be \"CPUn\" or a whole number of ns per loop"))
    }
}

/// Reads seconds, possibly with a fraction, as ns; -1 means none.
fn duration_ns(cursor: Cursor<'_>) -> Result<Option<u64>, Diagnostic> {
    let wanted = || {
        cursor.error("`duration` must be a number of seconds, or -1: until all tasks have ended")
    };
    match cursor.value().kind {
        Json::Integer(-1) => Ok(None),
        Json::Integer(_) | Json::Number => decimal_ns(cursor.text()).map(Some).ok_or_else(wanted),
        _ => Err(wanted()),
    }
}

/// Converts a decimal number of seconds to ns, at most 2^63 - 1. Anything finer than a nanosecond
/// is cut off.
fn decimal_ns(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: u64 = whole.parse().ok()?;
    let mut ns = 0;
    for place in 0..9 {
        ns = ns * 10 + fraction.as_bytes().get(place).map_or(0, |digit| u64::from(digit - b'0'));
    }
    let ns = seconds.checked_mul(1_000_000_000)?.checked_add(ns)?;
    i64::try_from(ns).is_ok().then_some(ns)
}

/// Reads µs with up to three decimals as ns.
fn nanoseconds(cursor: Cursor<'_>) -> Result<u64, Diagnostic> {
    match cursor.value().kind {
        Json::Number => decimal_us(cursor.text()).ok_or_else(|| {
            let (key, found) = (cursor.key(), cursor.text());
            let message = format!(
                "`{key}` must be a number of microseconds from 0 to {US_MAX} with at most three \
                 decimals, found {found}"
            );
            cursor.error(message).with_help("no exponent")
        }),
        _ => cursor.integer(MICROSECONDS, 0..=US_MAX).map(|us| us as u64 * 1000),
    }
}

/// Converts a decimal number of µs to ns, at most 2^63 - 1. `None` if it is finer.
fn decimal_us(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (kept, finer) = fraction.split_at(fraction.len().min(3));
    let ns: u64 = format!("{kept:0<3}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    let ns = whole.checked_mul(1000)?.checked_add(ns)?;
    (finer.bytes().all(|digit| digit == b'0') && i64::try_from(ns).is_ok()).then_some(ns)
}

/// Reads a policy by its name.
pub(crate) fn policy(cursor: Cursor<'_>) -> Result<Policy, Diagnostic> {
    let name = cursor.string()?;
    let known = || Policy::ALL.map(Policy::name);
    Policy::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| {
        cursor
            .error(format!("unknown policy `{name}`"))
            .with_help_if(did_you_mean(name, known()))
            .with_default_help(&format!("the policies are {}", known().join(", ")))
    })
}

fn task(cursor: Cursor<'_>, dialect: Dialect) -> Result<Task, Diagnostic> {
    let mut task = Task {
        key: cursor.key().into(),
        instances: 1,
        delay_ns: 0,
        loops: Loops::Forever,
        properties: Properties::default(),
        session: None,
        phases: Vec::new(),
        flat: true,
    };
    let mut events = Vec::new();
    let mut event_member = None;
    let mut phases = None;
    for member in cursor.object()? {
        let value = cursor.member(member);
        match keys::classify(value.key()) {
            Key::Task => match value.key() {
                "instance" => {
                    task.instances =
                        value.small("a whole number of threads", 0..=THREADS_MAX as u32)?;
                }
                "delay" => task.delay_ns = nanoseconds(value)?,
                "session" => task.session = Some(session(value)?),
                _ if phases.is_some() => {
                    return Err(value.key_error("`phases` is repeated in this task"));
                }
                _ => phases = Some(member),
            },
            Key::Loop => task.loops = loops(value)?,
            Key::Property => property(&mut task.properties, value)?,
            Key::Event(kind) => {
                event_member.get_or_insert(member);
                events.push(event(value, kind, dialect)?);
            }
            Key::Unknown => return Err(unknown(value, task.key.as_str(), None)),
        }
    }
    match (phases, event_member) {
        (Some(_), Some(event)) => {
            return Err(cursor
                .member(event)
                .key_error(format!("task `{}` has events next to its `phases`", task.key))
                .with_help("move the event into a phase"));
        }
        (Some(phases), None) => {
            task.flat = false;
            let phases = cursor.member(phases);
            for member in phases.object()? {
                let phase = read_phase(phases.member(member), &task.key, dialect)?;
                task.phases.push(phase);
            }
        }
        (None, _) => task.phases.push(Phase { events, ..Phase::default() }),
    }
    Ok(task)
}

/// Reads the name of a session, which becomes part of a group's path.
fn session(cursor: Cursor<'_>) -> Result<String, Diagnostic> {
    let name = cursor.name()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    match name.chars().all(is_plain) {
        true => Ok(name.into()),
        false => Err(cursor
            .error("`session` must be a name of letters, digits, `-`, `_`, `.` and `:`")
            .with_help("for example \"tty1\"")),
    }
}

fn read_phase(cursor: Cursor<'_>, task: &str, dialect: Dialect) -> Result<Phase, Diagnostic> {
    let mut phase = Phase { name: cursor.key().into(), ..Phase::default() };
    for member in cursor.object()? {
        let value = cursor.member(member);
        match keys::classify(value.key()) {
            Key::Task => {
                let message = format!("`{}` belongs to a task, not to a phase", value.key());
                return Err(value.key_error(message));
            }
            Key::Loop => phase.loops = loops(value)?,
            Key::Property => property(&mut phase.properties, value)?,
            Key::Event(kind) => phase.events.push(event(value, kind, dialect)?),
            Key::Unknown => return Err(unknown(value, task, Some(&phase.name))),
        }
    }
    Ok(phase)
}

fn unknown(cursor: Cursor<'_>, task: &str, phase: Option<&str>) -> Diagnostic {
    let place = match phase {
        None => format!("in task `{task}`"),
        Some(phase) => format!("in phase `{phase}` of task `{task}`"),
    };
    cursor
        .key_error(format!("unknown key `{}` {place}", cursor.key()))
        .with_help_if(did_you_mean(cursor.key(), keys::candidates(phase.is_some())))
}

fn loops(cursor: Cursor<'_>) -> Result<Loops, Diagnostic> {
    let times = cursor.integer("a whole number of rounds", -1..=i64::MAX);
    match times.map_err(|error| error.with_default_help("-1 means forever"))? {
        -1 => Ok(Loops::Forever),
        times => Ok(Loops::Times(times as u64)),
    }
}

fn property(properties: &mut Properties, cursor: Cursor<'_>) -> Result<(), Diagnostic> {
    let microseconds = |min| cursor.integer(MICROSECONDS, min..=US_MAX).map(|us| Some(us as u64));
    match cursor.key() {
        "policy" => properties.policy = Some(policy(cursor)?),
        // The range depends on the policy in force, which the checks know.
        "priority" => {
            let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
            properties.priority = Some(cursor.integer("a whole number", range)? as i32);
        }
        "dl-runtime" => properties.dl_runtime_us = microseconds(1)?,
        "dl-deadline" => properties.dl_deadline_us = microseconds(1)?,
        "dl-period" => properties.dl_period_us = microseconds(1)?,
        "slice" => properties.slice_us = microseconds(1)?,
        "clock_read" => properties.clock_read_us = microseconds(0)?,
        "cpus" => {
            let cpus = numbers(cursor, "a CPU's number", CPUS_MAX - 1)?;
            if cpus.is_empty() {
                return Err(cursor.error("`cpus` must name at least one CPU"));
            }
            properties.cpus = Some(cpus);
        }
        "nodes_membind" => {
            properties.nodes_membind = Some(numbers(cursor, "a node's number", CPUS_MAX - 1)?)
        }
        "util_min" => properties.util_min = Some(cursor.small("a utilisation", 0..=1024)?),
        "util_max" => properties.util_max = Some(cursor.small("a utilisation", 0..=1024)?),
        "taskgroup" => {
            let path = normal_path(cursor.string()?);
            properties.taskgroup = Some(path.map_err(|message| cursor.error(message))?);
        }
        key => unreachable!("`{key}` is listed as a property"),
    }
    Ok(())
}

fn numbers(cursor: Cursor<'_>, what: &str, max: u32) -> Result<Vec<u32>, Diagnostic> {
    let items = cursor.array()?;
    items.iter().map(|item| cursor.item(item).small(what, 0..=max)).collect()
}

fn event(cursor: Cursor<'_>, kind: Kind, dialect: Dialect) -> Result<Event, Diagnostic> {
    let ns = || nanoseconds(cursor);
    let bytes = || cursor.integer(BYTES, 0..=BYTES_MAX).map(|bytes| bytes as u64);
    let name = || cursor.name().map(String::from);
    let action = match kind {
        Kind::Run => Action::Run(ns()?),
        Kind::Runtime => Action::Runtime(ns()?),
        Kind::Sleep => Action::Sleep(ns()?),
        Kind::Timer => timer(cursor)?,
        Kind::Lock => Action::Lock(name()?),
        Kind::Unlock => Action::Unlock(name()?),
        Kind::Wait => {
            let (condition, mutex) = condition_and_mutex(cursor)?;
            Action::Wait { condition, mutex }
        }
        Kind::Sync => {
            let (condition, mutex) = condition_and_mutex(cursor)?;
            Action::Sync { condition, mutex }
        }
        Kind::Signal => Action::Signal(name()?),
        Kind::Broad => Action::Broad(name()?),
        Kind::Barrier => Action::Barrier(name()?),
        // Current versions of rt-app ignore the value of suspend, and `""` is how files write it.
        Kind::Suspend if dialect == Dialect::RtApp => Action::Suspend(cursor.string()?.into()),
        Kind::Suspend => Action::Suspend(name()?),
        Kind::Resume | Kind::ResumeSync => {
            Action::Resume { name: name()?, sync: kind == Kind::ResumeSync }
        }
        Kind::SemPost => Action::SemPost(name()?),
        Kind::SemWait => Action::SemWait(name()?),
        Kind::Yield => Action::Yield,
        Kind::Fork => Action::Fork(name()?),
        Kind::Thread => Action::Thread(name()?),
        Kind::Exec => Action::Exec,
        Kind::Mem => Action::Mem(bytes()?),
        Kind::MemRun => Action::MemRun(mem_run(cursor)?),
        Kind::IoRun => Action::IoRun(bytes()?),
    };
    Ok(Event { key: cursor.key().into(), action })
}

/// Fails at the first key of the object that is not among `known`.
fn only(cursor: Cursor<'_>, known: &[&'static str]) -> Result<(), Diagnostic> {
    for member in cursor.object()? {
        if !known.contains(&&*member.key) {
            let member = cursor.member(member);
            return Err(member
                .key_error(format!("unknown key `{}` in `{}`", member.key(), cursor.key()))
                .with_help_if(did_you_mean(member.key(), known.iter().copied()))
                .with_default_help(&format!("`{}` has {}", cursor.key(), known.join(", "))));
        }
    }
    Ok(())
}

fn required<'a, T>(
    cursor: &'a Cursor<'a>,
    key: &str,
    take: impl FnOnce(Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    match cursor.find(key)? {
        Some(member) => take(cursor.member(member)),
        None => Err(cursor.error(format!("`{}` needs a `{key}`", cursor.key()))),
    }
}

fn optional<'a, T>(
    cursor: &'a Cursor<'a>,
    key: &str,
    take: impl FnOnce(Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<Option<T>, Diagnostic> {
    cursor.find(key)?.map(|member| take(cursor.member(member))).transpose()
}

fn owned_name(cursor: Cursor<'_>) -> Result<String, Diagnostic> {
    cursor.name().map(String::from)
}

fn timer(cursor: Cursor<'_>) -> Result<Action, Diagnostic> {
    only(cursor, &["ref", "period", "mode"])?;
    Ok(Action::Timer {
        name: required(&cursor, "ref", owned_name)?,
        period_ns: required(&cursor, "period", nanoseconds)?,
        absolute: optional(&cursor, "mode", |mode| match mode.string()? {
            "relative" => Ok(false),
            "absolute" => Ok(true),
            other => Err(mode
                .error(format!("unknown mode `{other}`"))
                .with_help("the modes of a timer are `relative` and `absolute`")),
        })?
        .unwrap_or(false),
    })
}

fn condition_and_mutex(cursor: Cursor<'_>) -> Result<(String, String), Diagnostic> {
    only(cursor, &["ref", "mutex"])?;
    Ok((required(&cursor, "ref", owned_name)?, required(&cursor, "mutex", owned_name)?))
}

fn mem_run(cursor: Cursor<'_>) -> Result<MemRun, Diagnostic> {
    only(cursor, &["type", "size", "count", "stride", "pattern", "ref"])?;
    let bytes = |value: Cursor<'_>| value.integer(BYTES, 0..=BYTES_MAX).map(|bytes| bytes as u64);
    Ok(MemRun {
        kind: required(&cursor, "type", |kind| match kind.string()? {
            "read" => Ok(MemRunKind::Read),
            "write" => Ok(MemRunKind::Write),
            "chase" | "pointer-chase" | "pointer_chase" => Ok(MemRunKind::PointerChase),
            other => Err(kind
                .error(format!("unknown type `{other}`"))
                .with_help("`memrun` can `read`, `write` and `pointer-chase`")),
        })?,
        size: required(&cursor, "size", bytes)?,
        count: required(&cursor, "count", |count| count.integer("a whole number", 0..=BYTES_MAX))
            .map_err(|error| {
                error.with_default_help(
                    "the total number of bytes, or the number of steps of a chase",
                )
            })? as u64,
        stride: optional(&cursor, "stride", bytes)?,
        pattern: optional(&cursor, "pattern", |text| text.string().map(String::from))?,
        buffer: optional(&cursor, "ref", owned_name)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_exactly() {
        for (text, ns) in [
            ("0", Some(0)),
            ("2", Some(2_000_000_000)),
            ("0.5", Some(500_000_000)),
            ("1.000000001", Some(1_000_000_001)),
            ("1.0000000019", Some(1_000_000_001)),
            ("9223372036.854775807", Some(i64::MAX as u64)),
            ("9223372036.854775808", None),
            ("-2", None),
            ("1e3", None),
        ] {
            assert_eq!(decimal_ns(text), ns, "{text}");
        }
    }

    #[test]
    fn microseconds_have_up_to_three_decimals() {
        for (text, ns) in [
            ("1.5", Some(1_500)),
            ("0.001", Some(1)),
            ("12.340", Some(12_340)),
            ("12.3400", Some(12_340)),
            ("9223372036854775.807", Some(i64::MAX as u64)),
            ("9223372036854775.808", None),
            ("1.0005", None),
            ("1e3", None),
            ("-1.5", None),
        ] {
            assert_eq!(decimal_us(text), ns, "{text}");
        }
    }
}
