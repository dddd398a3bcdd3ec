//! Recorded traces of every format are read.

mod formats;
mod others;
mod perf_data;
mod recorded;
mod text;
mod written;

use schedlab_trace::read::{ReadError, Reading, Trace};
use schedlab_trace::{Context, NewTask, Record, Sink, TaskRef, Tracepoint};

/// Sink that records each event as a line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventLog {
    /// Events.
    pub lines: Vec<String>,
    /// Number, process, parent and name of each task.
    pub tasks: Vec<(u32, u32, u32, String)>,
    /// Time, CPU and number of lost events.
    pub lost: Vec<(u64, Option<u32>, Option<u64>)>,
    /// Time at which the trace ended.
    pub end_ns: u64,
}

fn task_ref(task_ref: TaskRef<'_>) -> String {
    format!("{}:{}[{}]", task_ref.comm, task_ref.pid, task_ref.prio)
}

fn target(cpu: Option<u32>) -> String {
    cpu.map_or("?".into(), |cpu| cpu.to_string())
}

impl Sink for EventLog {
    fn task(&mut self, _at_ns: u64, task: &NewTask<'_>) {
        self.tasks.push((task.pid, task.tgid, task.parent, task.name.into()));
    }

    fn record(&mut self, record: &Record<'_>) {
        let Record { at_ns, cpu, current, context, tracepoint } = *record;
        let context = match context {
            Context::Task => '.',
            Context::Soft => 's',
            Context::Hard => 'h',
            Context::Unknown => '?',
        };
        let what = match tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                format!("{} {} > {}", task_ref(prev), prev_state.letters(), task_ref(next))
            }
            Tracepoint::Waking { task, target_cpu } => {
                format!("waking {} {}", task_ref(task), target(target_cpu))
            }
            Tracepoint::Wakeup { task, target_cpu } => {
                format!("wakeup {} {}", task_ref(task), target(target_cpu))
            }
            Tracepoint::WakeupNew { task, target_cpu } => {
                format!("new {} {}", task_ref(task), target(target_cpu))
            }
            Tracepoint::Migrate { task, orig_cpu, dest_cpu } => {
                format!("migrate {} {orig_cpu} {dest_cpu}", task_ref(task))
            }
            Tracepoint::Fork { parent, child } => {
                format!("fork {} {}", task_ref(parent), task_ref(child))
            }
            Tracepoint::Exec { filename, pid } => format!("exec {filename} {pid}"),
            Tracepoint::Exit { task } => format!("exit {}", task_ref(task)),
            Tracepoint::Runtime { task, runtime_ns } => {
                format!("runtime {} {runtime_ns}", task_ref(task))
            }
        };
        let by = format!("{}:{}", current.comm, current.pid);
        self.lines.push(format!("{at_ns} {cpu} {context} {by}: {what}"));
    }

    fn lost(&mut self, at_ns: u64, cpu: Option<u32>, events: Option<u64>) {
        self.lost.push((at_ns, cpu, events));
    }

    fn finish(&mut self, at_ns: u64) {
        self.end_ns = at_ns;
    }
}

/// Returns what is read of these bytes.
pub fn event_log(bytes: &[u8]) -> (EventLog, Reading) {
    let mut event_log = EventLog::default();
    let reading = Trace::of_bytes(bytes).and_then(|trace| trace.read(&mut event_log));
    (event_log, reading.expect("the trace has events"))
}

/// Returns the reason why these bytes are refused.
pub fn refused(bytes: &[u8]) -> ReadError {
    Trace::of_bytes(bytes).and_then(|trace| trace.read(&mut ())).expect_err("the trace is useless")
}
