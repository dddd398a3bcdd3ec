//! Writes the model as a file in rt-app's language.

use crate::json::quote;
use crate::model::{Action, Event, Global, Loops, MemRun, MemRunKind, Model, Properties, Task};
use std::fmt::Write;

/// An object that is being written, one member per line.
struct Object<'a> {
    out: &'a mut String,
    depth: usize,
    empty: bool,
}

impl Object<'_> {
    fn new(out: &mut String, depth: usize) -> Object<'_> {
        out.push('{');
        Object { out, depth, empty: true }
    }

    fn key(&mut self, key: &str) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        let _ = write!(self.out, "\n{:1$}", "", 2 * (self.depth + 1));
        self.out.push_str(&quote(key));
        self.out.push_str(": ");
        self.out
    }

    fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        let out = self.key(key);
        let _ = write!(out, "{value}");
    }

    fn put_if(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn object(&mut self, key: &str) -> Object<'_> {
        let depth = self.depth + 1;
        Object::new(self.key(key), depth)
    }

    fn end(self) {
        if !self.empty {
            let _ = write!(self.out, "\n{:1$}", "", 2 * self.depth);
        }
        self.out.push('}');
    }
}

/// Returns the whole file.
pub fn write(model: &Model) -> String {
    let mut out = String::new();
    let mut file = Object::new(&mut out, 0);
    write_global(&mut file, &model.global);
    let mut tasks = file.object("tasks");
    for task in &model.tasks {
        write_task(&mut tasks, task);
    }
    tasks.end();
    file.end();
    out.push('\n');
    out
}

fn write_global(file: &mut Object<'_>, global: &Global) {
    let mut section = file.object("global");
    match global.duration_ns {
        None => section.put("duration", -1),
        Some(ns) => section.put("duration", seconds(ns)),
    }
    section.put("default_policy", quote(global.default_policy.name()));
    if global.pi_enabled {
        section.put("pi_enabled", true);
    }
    if global.cumulative_slack {
        section.put("cumulative_slack", true);
    }
    for (key, value) in &global.carried {
        section.put(key, value);
    }
    section.end();
}

/// Formats whole seconds as such, as rt-app expects, and fractions, which only schedlab knows, as a
/// decimal.
fn seconds(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = format!("{rest:09}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Displays ns in µs: whole µs as such, as rt-app expects, and others, which only schedlab knows,
/// with decimals.
struct Microseconds(u64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{}", format!("{whole}.{rest:03}").trim_end_matches('0'))
    }
}

fn loops(loops: Loops) -> i64 {
    match loops {
        Loops::Forever => -1,
        Loops::Times(times) => times.min(i64::MAX as u64) as i64,
    }
}

fn write_task(tasks: &mut Object<'_>, task: &Task) {
    let mut object = tasks.object(&task.key);
    if task.instances != 1 {
        object.put("instance", task.instances);
    }
    if task.delay_ns != 0 {
        object.put("delay", Microseconds(task.delay_ns));
    }
    if task.loops != Loops::Forever {
        object.put("loop", loops(task.loops));
    }
    object.put_if("session", task.session.as_deref().map(quote));
    write_properties(&mut object, &task.properties);
    if task.flat {
        for event in task.phases.iter().flat_map(|phase| &phase.events) {
            write_event(&mut object, event);
        }
    } else {
        let mut phases = object.object("phases");
        for phase in &task.phases {
            let mut object = phases.object(&phase.name);
            if phase.loops != Loops::Times(1) {
                object.put("loop", loops(phase.loops));
            }
            write_properties(&mut object, &phase.properties);
            for event in &phase.events {
                write_event(&mut object, event);
            }
            object.end();
        }
        phases.end();
    }
    object.end();
}

fn write_properties(object: &mut Object<'_>, properties: &Properties) {
    let list = |numbers: &Vec<u32>| {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        format!("[{}]", numbers.join(", "))
    };
    object.put_if("policy", properties.policy.map(|policy| quote(policy.name())));
    object.put_if("priority", properties.priority);
    object.put_if("dl-runtime", properties.dl_runtime_us);
    object.put_if("dl-deadline", properties.dl_deadline_us);
    object.put_if("dl-period", properties.dl_period_us);
    object.put_if("slice", properties.slice_us);
    object.put_if("clock_read", properties.clock_read_us);
    object.put_if("cpus", properties.cpus.as_ref().map(list));
    object.put_if("nodes_membind", properties.nodes_membind.as_ref().map(list));
    object.put_if("util_min", properties.util_min);
    object.put_if("util_max", properties.util_max);
    object.put_if("taskgroup", properties.taskgroup.as_deref().map(quote));
}

fn write_event(object: &mut Object<'_>, event: &Event) {
    let out = object.key(&event.key);
    let _ = match &event.action {
        Action::Run(ns) | Action::Runtime(ns) | Action::Sleep(ns) => {
            write!(out, "{}", Microseconds(*ns))
        }
        Action::Mem(number) | Action::IoRun(number) => write!(out, "{number}"),
        Action::Timer { name, period_ns, absolute } => {
            let period = Microseconds(*period_ns);
            let mode = if *absolute { ", \"mode\": \"absolute\"" } else { "" };
            write!(out, "{{\"ref\": {}, \"period\": {period}{mode}}}", quote(name))
        }
        Action::Lock(name)
        | Action::Unlock(name)
        | Action::Signal(name)
        | Action::Broad(name)
        | Action::Barrier(name)
        | Action::Suspend(name)
        | Action::Resume { name, .. }
        | Action::SemPost(name)
        | Action::SemWait(name)
        | Action::Fork(name)
        | Action::Thread(name) => write!(out, "{}", quote(name)),
        Action::Wait { condition, mutex } | Action::Sync { condition, mutex } => {
            write!(out, "{{\"ref\": {}, \"mutex\": {}}}", quote(condition), quote(mutex))
        }
        Action::Yield | Action::Exec => write!(out, "\"\""),
        Action::MemRun(run) => write!(out, "{}", mem_run(run)),
    };
}

fn mem_run(run: &MemRun) -> String {
    let kind = match run.kind {
        MemRunKind::Read => "read",
        MemRunKind::Write => "write",
        MemRunKind::PointerChase => "pointer-chase",
    };
    let mut text =
        format!("{{\"type\": \"{kind}\", \"size\": {}, \"count\": {}", run.size, run.count);
    if let Some(stride) = run.stride {
        let _ = write!(text, ", \"stride\": {stride}");
    }
    if let Some(pattern) = &run.pattern {
        let _ = write!(text, ", \"pattern\": {}", quote(pattern));
    }
    if let Some(buffer) = &run.buffer {
        let _ = write!(text, ", \"ref\": {}", quote(buffer));
    }
    text.push('}');
    text
}
