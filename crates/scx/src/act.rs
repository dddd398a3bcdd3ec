//! A world in action: the policy's world together with the simulated machine.

use crate::end::RecentCall;
use crate::kernel_types::EXIT_ERROR;
use crate::log::Entry;
use crate::map_def::MapKind;
use crate::memory::{self, address, map_number};
use crate::ops::{ARGS_MAX, Callback, Context};
use crate::vm::{Fault, Outcome, run};
use crate::world::{NESTED_MAX, RECENT, World};
use schedlab_core::Platform;
use std::sync::Arc;

/// The world together with the simulated machine, while the scheduler acts in it.
#[derive(Debug)]
pub struct Act<'a> {
    /// The world.
    pub w: &'a mut World,
    /// The machine.
    pub p: &'a mut Platform,
}

impl Act<'_> {
    /// Returns the current time, ns.
    pub fn now(&self) -> u64 {
        self.p.now_ns()
    }

    /// Ends the policy with an error that the class reports.
    pub fn error(&mut self, message: impl Into<String>) {
        let now = self.now();
        self.w.end(EXIT_ERROR, 0, message, now);
    }

    /// Runs a function of the object.
    ///
    /// # Errors
    /// If the program does something wrong.
    pub fn run(&mut self, entry: usize, args: [u64; 5]) -> Outcome {
        let image = Arc::clone(&self.w.image);
        run(self, &image.code, entry, args)
    }

    /// Ends the policy because of a fault of its program.
    pub fn faulted(&mut self, fault: &Fault) {
        let place = fault.at.map_or(String::new(), |at| self.w.image.place(at as usize));
        self.error(format!("{place}: {}", fault.what));
        if let Some(end) = &mut self.w.ended
            && end.registers.is_none()
        {
            end.registers = Some(fault.registers);
        }
    }

    /// Whether the policy has this callback and has not ended.
    pub fn has(&self, callback: Callback) -> bool {
        self.w.ended.is_none() && self.w.image.callback(callback).is_some()
    }

    /// Calls a callback and returns its result. `None`: the policy has no such callback, has ended,
    /// or ends in this call.
    pub fn call(&mut self, callback: Callback, context: Context, args: &[u64]) -> Option<u64> {
        if self.w.ended.is_some() && callback != Callback::EXIT {
            return None;
        }
        let entry = self.w.image.callback(callback)?;
        let nested = self.w.nested;
        if nested == NESTED_MAX {
            self.error("callbacks are nested too deep");
            return None;
        }
        let base = address(memory::ARGS, (nested * ARGS_MAX * 8) as u32);
        let mut recent = RecentCall {
            callback,
            at_ns: self.now(),
            cpu: self.w.cpu,
            args: [0; ARGS_MAX],
            len: args.len(),
        };
        for (number, &arg) in args.iter().take(ARGS_MAX).enumerate() {
            self.w.vm.memory.write(base + number as u64 * 8, 8, arg);
            recent.args[number] = arg;
        }
        if self.w.recent.len() == RECENT {
            self.w.recent.pop_front();
        }
        self.w.recent.push_back(recent);
        let outer = (self.w.context, self.w.callback);
        (self.w.context, self.w.callback) = (context, callback.name());
        self.w.nested += 1;
        self.w.vm.begin();
        let before = self.w.vm.insns;
        let outcome = self.run(entry, [base, 0, 0, 0, 0]);
        let insns = self.w.vm.insns - before;
        let counts = &mut self.w.counts.callbacks[usize::from(callback.0)];
        counts.calls += 1;
        counts.insns += insns;
        counts.insns_max = counts.insns_max.max(insns);
        if nested == 0 {
            // The instructions of a nested callback are part of the outer one's.
            self.p.work.scx_insns += insns;
        }
        let result = match outcome {
            Ok(result) => Some(result),
            Err(fault) => {
                self.faulted(&fault);
                None
            }
        };
        if self.w.log.is_some() {
            self.log_call(&recent, nested, result, insns);
        }
        self.w.nested = nested;
        (self.w.context, self.w.callback) = outer;
        if self.w.ended.is_some() { None } else { result }
    }

    /// Returns the index of the map with this handle, which must be of the given kind.
    ///
    /// # Errors
    /// If there is no such map, or it is of another kind.
    pub(crate) fn map_of_kind(&self, handle: u64, kind: MapKind) -> Result<usize, Box<Fault>> {
        let map = map_number(handle)
            .filter(|&map| self.w.maps.get(map).is_some_and(|map| map.def.kind == kind));
        map.ok_or_else(|| Fault::new(format!("{handle:#x} is not a map of kind {}", kind.name())))
    }

    /// Logs a callback that has returned.
    pub(crate) fn log_call(
        &self,
        recent: &RecentCall,
        depth: usize,
        result: Option<u64>,
        insns: u64,
    ) {
        let Some(log) = &self.w.log else { return };
        let name = recent.callback.name();
        let (names, returns) = recent.callback.signature();
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
            result: result.filter(|_| returns).map(|result| i64::from(result as i32)),
            insns,
        };
        log.notify(|witness| witness.entry(&entry));
    }

    /// Logs text that the policy wrote, or a call of a timer's function.
    pub(crate) fn log_text(&self, name: &'static str, text: impl FnOnce() -> String, insns: u64) {
        let Some(log) = &self.w.log else { return };
        let (at_ns, cpu) = (self.now(), self.w.cpu);
        let (text, depth) = (text(), self.w.depth());
        let entry = Entry { at_ns, cpu, name, depth, pid: None, text, result: None, insns };
        log.notify(|witness| witness.entry(&entry));
    }
}
