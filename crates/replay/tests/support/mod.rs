//! Traces from lines, and programs as text.
#![allow(dead_code, reason = "not every test needs all of it")]

use schedlab_replay::program::{self, is_machinery};
use schedlab_replay::{Arrivals, Step, Tokens, Trace, TraceBuilder, Workload, kinds};
use schedlab_trace::read::Trace as Recording;

/// Reads the recording in a text.
pub fn read(text: &str) -> Trace {
    let mut books = TraceBuilder::new();
    let recording = Recording::of_bytes(text.as_bytes().to_vec()).expect("the text is a trace");
    recording.read(&mut books).expect("the trace is readable");
    books.into_trace()
}

/// Reads a recording of `examples/traces`.
pub fn example(name: &str) -> Trace {
    let path = format!("{}/../../examples/traces/{name}.xz", env!("CARGO_MANIFEST_DIR"));
    let mut books = TraceBuilder::new();
    schedlab_trace::read::read(path.as_ref(), &mut books).expect("the example is readable");
    books.into_trace()
}

/// Returns the workload of a trace.
pub fn workload(trace: &mut Trace) -> Workload {
    let in_model: Vec<bool> = trace.tasks.iter().map(|task| !is_machinery(&task.name)).collect();
    kinds::infer(trace, &in_model, Arrivals::Closed);
    program::programs(trace, &in_model, Tokens::Strict)
}

/// Returns its programs as text, times in µs.
pub fn programs(mut trace: Trace) -> Vec<String> {
    let workload = workload(&mut trace).without_execs();
    steps(&workload)
}

/// Returns the programs of a workload as text, times in µs.
pub fn steps(workload: &Workload) -> Vec<String> {
    let step = |step: &Step| match *step {
        Step::Run(ns) => format!("run {}", ns / 1000),
        Step::Runtime(ns) => format!("runtime {}", ns / 1000),
        Step::Endless => "endless".into(),
        Step::Sleep(ns) => format!("sleep {}", ns / 1000),
        Step::Timer(ns) => format!("timer {}", ns / 1000),
        Step::Post(number) => format!("post {number}"),
        Step::Wait(number) => format!("wait {number}"),
        Step::Fork(place) => format!("fork {}", workload.tasks[place as usize].key),
        Step::Prio(prio) => format!("prio {prio}"),
        Step::Exec => "exec".into(),
        Step::Before(ns) => format!("before {}", ns / 1000),
    };
    let tasks = workload.tasks.iter().map(|program| {
        let steps: Vec<String> = program.steps.iter().map(step).collect();
        let forked = if program.is_forked { " (forked)" } else { "" };
        format!("{}{forked}: {}", program.key, steps.join("; "))
    });
    tasks.collect()
}

/// Task by name and number.
pub type TaskName = (&'static str, u32);

/// Line of ftrace text; times in µs.
#[derive(Clone)]
pub struct Line(u64, String);

impl Line {
    fn of(cpu: u32, us: u64, who: TaskName, flag: char, body: String) -> Line {
        let (comm, pid) = who;
        Line(us, format!("{comm}-{pid} [{cpu:03}] d.{flag}2. 1.{us:06}: {body}"))
    }

    /// Returns a `sched_switch` line.
    pub fn switch(cpu: u32, us: u64, prev: TaskName, state: &str, next: TaskName) -> Line {
        let body = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> \
             next_comm={} next_pid={} next_prio=120",
            prev.0, prev.1, next.0, next.1
        );
        Line::of(cpu, us, prev, '.', body)
    }

    /// Wakeup.
    pub fn new(
        cpu: u32,
        us: u64,
        current: TaskName,
        flag: char,
        event: &str,
        task: TaskName,
    ) -> Line {
        let body = format!("{event}: comm={} pid={} prio=120 target_cpu={cpu:03}", task.0, task.1);
        Line::of(cpu, us, current, flag, body)
    }

    /// Returns a `sched_process_fork` line.
    pub fn fork(cpu: u32, us: u64, parent: TaskName, child: TaskName) -> Line {
        let body = format!(
            "sched_process_fork: comm={} pid={} child_comm={} child_pid={}",
            parent.0, parent.1, child.0, child.1
        );
        Line::of(cpu, us, parent, '.', body)
    }

    /// Returns a `sched_process_exec` line.
    pub fn exec(cpu: u32, us: u64, task: TaskName, file: &str) -> Line {
        let pid = task.1;
        let body = format!("sched_process_exec: filename={file} pid={pid} old_pid={pid}");
        Line::of(cpu, us, task, '.', body)
    }

    /// Returns a `sched_process_exit` line.
    pub fn exit(cpu: u32, us: u64, task: TaskName) -> Line {
        let body = format!("sched_process_exit: comm={} pid={} prio=120", task.0, task.1);
        Line::of(cpu, us, task, '.', body)
    }
}

/// Returns the trace of these lines.
pub fn trace(lines: &[Line]) -> Trace {
    let mut lines = lines.to_vec();
    lines.sort_by_key(|line| line.0);
    let text: Vec<String> = lines.into_iter().map(|line| line.1).collect();
    read(&(text.join("\n") + "\n"))
}
