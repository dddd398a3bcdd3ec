//! Events whose fields have the kernel's names, in tables and in JSON: [`event`].

use super::feed::{CPUS_MAX, EventKind, Feed, PID_MAX, Task};
use super::states::SwitchState;
use super::text::{Parsed, signed};
use crate::tracepoint::State;

/// Fields of an event by their names.
pub(super) trait NamedFields {
    /// Returns the text of a field, unless it is missing or empty.
    fn text(&self, key: &str) -> Option<&str>;

    /// Returns the number in a field, in decimal or hexadecimal.
    fn find(&self, key: &str) -> Option<i64> {
        signed(self.text(key)?.trim().as_bytes())
    }

    /// Like [`NamedFields::find`], for a field that `event` must have.
    fn number(&self, event: &str, key: &str) -> Result<i64, String> {
        let text = self.text(key).ok_or_else(|| format!("{event}: {key}= is missing"))?;
        let number = signed(text.trim().as_bytes());
        number.ok_or_else(|| format!("{event}: {key}={text:.40}: it must be a number"))
    }

    /// Returns a CPU that `event` must have.
    fn cpu(&self, event: &str, key: &str) -> Result<u32, String> {
        let cpu = self.number(event, key)?;
        u32::try_from(cpu).ok().filter(|&cpu| cpu < CPUS_MAX).ok_or_else(|| {
            format!("{event}: {key}={cpu}: CPUs are numbered from 0 to {}", CPUS_MAX - 1)
        })
    }
}

/// Checks the number of a task. `None`: it was lost.
pub(super) fn pid(event: &str, key: &str, pid: i64) -> Result<Option<u32>, String> {
    if pid > i64::from(PID_MAX) {
        return Err(format!("{event}: {key}={pid}: the kernel gives numbers up to {PID_MAX}"));
    }
    Ok(u32::try_from(pid).ok())
}

/// Returns the task in the fields `PREFIXcomm`, `PREFIXpid` and `PREFIXprio`. `None`: its number
/// was lost.
fn task(
    fields: &dyn NamedFields,
    event: &str,
    feed: &mut Feed<'_>,
    [comm, number, prio]: [&str; 3],
) -> Result<Option<Task>, String> {
    let number = pid(event, number, fields.number(event, number)?)?;
    let prio = fields.find(prio).unwrap_or(120).clamp(-1000, 1000) as i32;
    let comm = fields.text(comm).unwrap_or("<...>");
    Ok(number.map(|number| feed.task(comm.as_bytes(), number, prio)))
}

const PLAIN: [&str; 3] = ["comm", "pid", "prio"];

fn state(
    fields: &dyn NamedFields,
    event: &str,
    feed: &mut Feed<'_>,
) -> Result<SwitchState, String> {
    let letters = fields.text("prev_state");
    let letters = letters.ok_or_else(|| format!("{event}: prev_state= is missing"))?;
    let state = match fields.find("prev_state").and_then(|bits| u64::try_from(bits).ok()) {
        Some(number) => feed.states.take(number),
        None => State::of_letters(letters).map(SwitchState::Known),
    };
    state.ok_or_else(|| {
        format!(
            "{event}: unknown state \"{letters:.40}\": it must be letters (R, S, D, ...) or a \
             number up to 8191"
        )
    })
}

/// Parses an event called `event`.
pub(super) fn event(
    fields: &dyn NamedFields,
    event: &str,
    feed: &mut Feed<'_>,
) -> Result<Parsed, String> {
    let what = match event {
        "sched_switch" => {
            let prev = task(fields, event, feed, ["prev_comm", "prev_pid", "prev_prio"])?;
            let next = task(fields, event, feed, ["next_comm", "next_pid", "next_prio"])?;
            let state = state(fields, event, feed)?;
            prev.zip(next).map(|(prev, next)| EventKind::Switch { prev, state, next })
        }
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let task = task(fields, event, feed, PLAIN)?;
            if fields.find("success") == Some(0) {
                return Ok(Parsed::Redundant);
            }
            // A wakeup whose CPU is unknown is a wakeup.
            let cpu = match fields.text("target_cpu") {
                None => None,
                Some(_) if fields.find("target_cpu").is_some_and(|cpu| cpu < 0) => None,
                Some(_) => Some(fields.cpu(event, "target_cpu")?),
            };
            task.map(|task| match event {
                "sched_waking" => EventKind::Waking { task, cpu },
                "sched_wakeup" => EventKind::Wakeup { task, cpu },
                _ => EventKind::WakeupNew { task, cpu },
            })
        }
        "sched_migrate_task" => {
            let (from, to) = (fields.cpu(event, "orig_cpu")?, fields.cpu(event, "dest_cpu")?);
            let task = task(fields, event, feed, PLAIN)?;
            task.map(|task| EventKind::Migrate { task, from, to })
        }
        "sched_process_fork" => {
            let keys = match fields.text("parent_pid") {
                Some(_) => ["parent_comm", "parent_pid", ""],
                None => ["comm", "pid", ""],
            };
            let parent = task(fields, event, feed, keys)?;
            let child = task(fields, event, feed, ["child_comm", "child_pid", ""])?;
            parent.zip(child).map(|(parent, child)| EventKind::Fork { parent, child })
        }
        "sched_process_exec" => {
            let filename = fields.text("filename");
            let filename = filename.ok_or_else(|| format!("{event}: filename= is missing"))?;
            let filename = feed.names.number(filename.as_bytes());
            let pid = pid(event, "pid", fields.number(event, "pid")?)?;
            pid.map(|pid| EventKind::Exec { filename, pid })
        }
        "sched_process_exit" => {
            task(fields, event, feed, PLAIN)?.map(|task| EventKind::Exit { task })
        }
        "sched_stat_runtime" => {
            let ns = fields.number(event, "runtime")?.max(0) as u64;
            let task = task(fields, event, feed, ["comm", "pid", ""])?;
            task.map(|task| EventKind::Runtime { task, ns })
        }
        _ => return Ok(Parsed::Other),
    };
    Ok(Parsed::of(what))
}
