//! What a policy did, told as it happens: to whoever wants to write it down.

use crate::scheduler::ScxScheduler;
use crate::world::{Act, End, Recent};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A callback that has returned, or something that the policy wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When, ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The callback, `timer`, `printk` or `ringbuf`.
    pub name: &'static str,
    /// How deep it is nested in others.
    pub depth: usize,
    /// The id of the process that it is about; none: of no task.
    pub pid: Option<u32>,
    /// Its arguments, or what was written.
    pub text: String,
    /// What it returned, if it returns something.
    pub result: Option<i64>,
    /// Instructions that it took.
    pub insns: u64,
}

/// Who is told.
pub trait Witness: Send {
    /// Something happened.
    fn entry(&mut self, entry: &Entry);

    /// The policy has ended.
    fn ended(&mut self, end: &End) {
        let _ = end;
    }

    /// The run is over.
    fn finished(&mut self, scheduler: &ScxScheduler) {
        let _ = scheduler;
    }
}

/// A witness, as a world has it.
#[derive(Clone)]
pub struct Log(Arc<Mutex<dyn Witness>>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    /// Tells `witness`.
    pub fn new(witness: Arc<Mutex<dyn Witness>>) -> Log {
        Log(witness)
    }

    /// Calls the witness.
    pub(crate) fn tell(&self, tell: impl FnOnce(&mut dyn Witness)) {
        tell(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What callbacks return.
enum Returns {
    Nothing,
    Signed,
}

/// Names of a callback's arguments, and what it returns. `p` is a task, `cgrp` a group.
fn shape(name: &str) -> (&'static [&'static str], Returns) {
    match name {
        "select_cpu" => (&["p", "prev_cpu", "wake_flags"], Returns::Signed),
        "enqueue" => (&["p", "enq_flags"], Returns::Nothing),
        "dequeue" | "quiescent" => (&["p", "deq_flags"], Returns::Nothing),
        "dispatch" => (&["cpu", "prev"], Returns::Nothing),
        "tick" | "running" | "enable" | "disable" => (&["p"], Returns::Nothing),
        "runnable" => (&["p", "enq_flags"], Returns::Nothing),
        "stopping" => (&["p", "runnable"], Returns::Nothing),
        "yield" => (&["from", "to"], Returns::Signed),
        "core_sched_before" => (&["a", "b"], Returns::Signed),
        "set_weight" => (&["p", "weight"], Returns::Nothing),
        "set_cpumask" => (&["p", "cpumask"], Returns::Nothing),
        "update_idle" => (&["cpu", "idle"], Returns::Nothing),
        "cpu_acquire" | "cpu_release" => (&["cpu", "args"], Returns::Nothing),
        "init_task" => (&["p", "args"], Returns::Signed),
        "exit_task" => (&["p", "args"], Returns::Nothing),
        "cgroup_init" => (&["cgrp", "args"], Returns::Signed),
        "cgroup_exit" => (&["cgrp"], Returns::Nothing),
        "cgroup_prep_move" => (&["p", "from", "to"], Returns::Signed),
        "cgroup_move" | "cgroup_cancel_move" => (&["p", "from", "to"], Returns::Nothing),
        "cgroup_set_weight" => (&["cgrp", "weight"], Returns::Nothing),
        "cgroup_set_bandwidth" => {
            (&["cgrp", "period_us", "quota_us", "burst_us"], Returns::Nothing)
        }
        "cpu_online" | "cpu_offline" => (&["cpu"], Returns::Nothing),
        "dump" => (&["ctx"], Returns::Nothing),
        "dump_cpu" => (&["ctx", "cpu", "idle"], Returns::Nothing),
        "dump_task" => (&["ctx", "p"], Returns::Nothing),
        "init" => (&[], Returns::Signed),
        "exit" => (&["info"], Returns::Nothing),
        _ => (&[], Returns::Nothing),
    }
}

/// Bytes in hexadecimal, as logs have them.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Act<'_> {
    /// Tells of a callback that has returned.
    pub(crate) fn log_call(&self, recent: &Recent, depth: usize, result: Option<u64>, insns: u64) {
        let Some(log) = &self.w.log else { return };
        let name = recent.callback.name();
        let (names, returns) = shape(name);
        let args = &recent.args[..recent.len.min(recent.args.len())];
        let mut pid = None;
        let mut parts = vec![];
        for (place, &arg) in args.iter().enumerate() {
            let is_task = self.w.task_at(arg);
            if let Some(row) = is_task {
                let of = self.w.vm.memory.u32(self.w.task_field(row, "pid"));
                pid = pid.or(Some(of));
                if names.get(place) == Some(&"p") {
                    continue;
                }
            }
            let value = match (is_task, self.w.group_at(arg)) {
                (Some(row), _) => self.w.task_name(row),
                (_, Some(group)) => format!("group {group}"),
                _ if names.get(place).is_some_and(|name| name.ends_with("flags")) => {
                    format!("{arg:#x}")
                }
                _ if arg < 1 << 32 => arg.to_string(),
                _ => format!("{arg:#x}"),
            };
            match names.get(place) {
                Some(name) => parts.push(format!("{name}={value}")),
                None => parts.push(value),
            }
        }
        let entry = Entry {
            at_ns: recent.at_ns,
            cpu: recent.cpu,
            name,
            depth,
            pid,
            text: parts.join(" "),
            result: match returns {
                Returns::Nothing => None,
                Returns::Signed => result.map(|result| i64::from(result as i32)),
            },
            insns,
        };
        log.tell(|witness| witness.entry(&entry));
    }

    /// Tells of something that the policy wrote, or of a timer's function.
    pub(crate) fn log_text(&self, name: &'static str, text: impl FnOnce() -> String, insns: u64) {
        let Some(log) = &self.w.log else { return };
        let (at_ns, cpu) = (self.now(), self.w.cpu);
        let (text, depth) = (text(), self.w.depth());
        let entry = Entry { at_ns, cpu, name, depth, pid: None, text, result: None, insns };
        log.tell(|witness| witness.entry(&entry));
    }
}
