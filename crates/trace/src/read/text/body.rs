//! Bodies of events: their fields, in the formats of all releases.
//!
//! Names may contain anything, and end at the next field of the event: fields are taken from the
//! right.

use super::super::feed::{EventKind, Feed, PID_MAX, Task};
use super::parsed::{Fault, Parsed, cpu, first_word, hex_or_number, signed, state, task};
use super::trace_cmd;

/// Fields, taken from the right.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn find(&self, key: &str) -> Option<usize> {
        let key = key.as_bytes();
        let (&last, begin) = key.split_last()?;
        let mut end = self.rest.len();
        // `=` is rare: search for it, and then check the text before it.
        while let Some(place) = self.rest[..end].iter().rposition(|&byte| byte == last) {
            let before = &self.rest[..place];
            if let Some(before) = before.strip_suffix(begin)
                && (before.is_empty() || before.ends_with(b" "))
            {
                return Some(before.len());
            }
            end = place;
        }
        None
    }

    /// Takes ` KEY=VALUE` off the end.
    fn last(&mut self, key: &'static str) -> Result<&'a [u8], Fault<'a>> {
        let place = self.find(key).ok_or(Fault::Missing(key))?;
        let value = &self.rest[place + key.len()..];
        self.rest = self.rest[..place].trim_ascii_end();
        Ok(value.trim_ascii_end())
    }

    /// Like [`Fields::last`], for an optional field that is dropped.
    fn skip(&mut self, key: &'static str) {
        if let Some(place) = self.find(key) {
            self.rest = self.rest[..place].trim_ascii_end();
        }
    }

    /// Like [`Fields::last`], for a value of one word. Text after it is dropped: it belongs to
    /// fields that are not read, or that `perf script -F ip,sym` prints after the event's own.
    fn word(&mut self, key: &'static str) -> Result<&'a [u8], Fault<'a>> {
        Ok(first_word(self.last(key)?))
    }

    fn signed(&mut self, key: &'static str) -> Result<i64, Fault<'a>> {
        let value = self.word(key)?;
        signed(value).ok_or(Fault::NoNumber(key, value))
    }

    fn cpu(&mut self, key: &'static str) -> Result<u32, Fault<'a>> {
        let value = self.word(key)?;
        cpu(hex_or_number(value).ok_or(Fault::NoNumber(key, value))?)
    }

    /// Takes the CPU of a wakeup. `None`: it is missing or negative, hence unknown.
    fn target(&mut self) -> Result<Option<u32>, Fault<'a>> {
        let key = "target_cpu=";
        if self.find(key).is_none() {
            return Ok(None);
        }
        let value = self.word(key)?;
        let number = signed(value).ok_or(Fault::NoNumber(key, value))?;
        u64::try_from(number).ok().map(cpu).transpose()
    }

    /// Takes `PREFIXcomm= PREFIXpid= PREFIXprio=` off the end.
    fn task(
        &mut self,
        feed: &mut Feed<'_>,
        [comm, pid, prio]: [&'static str; 3],
    ) -> Result<Option<Task>, Fault<'a>> {
        let prio = self.signed(prio)?;
        let pid = self.signed(pid)?;
        task(feed, self.last(comm)?, pid, prio)
    }

    /// Takes `comm= pid=` off the end.
    fn named(
        &mut self,
        feed: &mut Feed<'_>,
        [comm, pid]: [&'static str; 2],
    ) -> Result<Option<Task>, Fault<'a>> {
        let pid = self.signed(pid)?;
        task(feed, self.last(comm)?, pid, 120)
    }
}

const PLAIN: [&str; 3] = ["comm=", "pid=", "prio="];
const PREV: [&str; 3] = ["prev_comm=", "prev_pid=", "prev_prio="];
const NEXT: [&str; 3] = ["next_comm=", "next_pid=", "next_prio="];

/// Parses the body of an event. `current`: name and number of the task at the head of the line.
pub(super) fn event<'a>(
    feed: &mut Feed<'_>,
    name: &[u8],
    body: &'a [u8],
    current: (&'a [u8], Option<i64>),
) -> Result<Parsed, Fault<'a>> {
    let mut fields = Fields { rest: body };
    match name {
        b"sched_switch" => {
            if !body.starts_with(b"prev_comm=") {
                return trace_cmd::switch(feed, body);
            }
            let next = fields.task(feed, NEXT)?;
            fields.rest = fields.rest.strip_suffix(b"==>").unwrap_or(fields.rest).trim_ascii_end();
            let state = state(feed, fields.word("prev_state=")?)?;
            let both = fields.task(feed, PREV)?.zip(next);
            Ok(Parsed::of(both.map(|(prev, next)| EventKind::Switch { prev, state, next })))
        }
        b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => {
            let (task, cpu, slept) = if body.starts_with(b"comm=") {
                let cpu = fields.target()?;
                // Before 4.3. The name may contain anything, so only the last word counts.
                let last = fields.rest.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
                let slept = match last.starts_with(b"success=") {
                    true => fields.signed("success=")? != 0,
                    false => true,
                };
                (fields.task(feed, PLAIN)?, cpu, slept)
            } else {
                let (task, target, slept) = trace_cmd::wakeup(feed, body)?;
                (task, target.map(cpu).transpose()?, slept)
            };
            Ok(match task {
                None => Parsed::NoTask,
                Some(_) if !slept => Parsed::Redundant,
                Some(task) => Parsed::Event(match name {
                    b"sched_waking" => EventKind::Waking { task, cpu },
                    b"sched_wakeup" => EventKind::Wakeup { task, cpu },
                    _ => EventKind::WakeupNew { task, cpu },
                }),
            })
        }
        b"sched_migrate_task" => {
            let (task, from, to) = if fields.find("dest_cpu=").is_some() {
                let to = fields.cpu("dest_cpu=")?;
                let from = fields.cpu("orig_cpu=")?;
                (fields.task(feed, PLAIN)?, from, to)
            } else {
                let (task, from, to) = trace_cmd::migrate(feed, body)?;
                (task, cpu(from)?, cpu(to)?)
            };
            Ok(Parsed::of(task.map(|task| EventKind::Migrate { task, from, to })))
        }
        b"sched_process_fork" => {
            if fields.find("child_pid=").is_none() {
                return trace_cmd::fork(feed, body);
            }
            let child = fields.named(feed, ["child_comm=", "child_pid="])?;
            // `trace-cmd report -R` prints the kernel's names of the fields.
            let keys = match fields.find("parent_pid=") {
                Some(_) => ["parent_comm=", "parent_pid="],
                None => ["comm=", "pid="],
            };
            let parent = match (fields.find(keys[1]), current) {
                // A tool that renamed tasks left out the number. Tasks fork while they run.
                (None, (comm, Some(pid))) if !comm.is_empty() => task(feed, comm, pid, 120)?,
                _ => fields.named(feed, keys)?,
            };
            let both = parent.zip(child);
            Ok(Parsed::of(both.map(|(parent, child)| EventKind::Fork { parent, child })))
        }
        b"sched_process_exec" => {
            fields.skip("old_pid=");
            let pid = fields.signed("pid=")?;
            let filename = fields.last("filename=")?;
            if pid > i64::from(PID_MAX) {
                return Err(Fault::Pid(pid));
            }
            let filename = feed.names.number(filename);
            let pid = u32::try_from(pid).ok();
            Ok(Parsed::of(pid.map(|pid| EventKind::Exec { filename, pid })))
        }
        b"sched_process_exit" => {
            let task = if fields.find("prio=").is_some() {
                fields.skip("group_dead=");
                fields.task(feed, PLAIN)?
            } else {
                trace_cmd::alone(feed, body)?
            };
            Ok(Parsed::of(task.map(|task| EventKind::Exit { task })))
        }
        b"sched_stat_runtime" => {
            if fields.find("runtime=").is_none() {
                return trace_cmd::runtime(feed, body);
            }
            fields.skip("vruntime=");
            let value = fields.word("runtime=")?;
            let digits = value.strip_suffix(b"[ns]").unwrap_or(value);
            let ns = hex_or_number(digits).ok_or(Fault::NoNumber("runtime=", value))?;
            let task = fields.named(feed, ["comm=", "pid="])?;
            Ok(Parsed::of(task.map(|task| EventKind::Runtime { task, ns })))
        }
        _ => Ok(Parsed::Other),
    }
}
