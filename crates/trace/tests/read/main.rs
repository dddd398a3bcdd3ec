//! Recorded traces of every format are read.

mod formats;
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

fn who(who: TaskRef<'_>) -> String {
    format!("{}:{}[{}]", who.comm, who.pid, who.prio)
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
                format!("{} {} > {}", who(prev), prev_state.letters(), who(next))
            }
            Tracepoint::Waking { task, target_cpu } => format!("waking {} {target_cpu}", who(task)),
            Tracepoint::Wakeup { task, target_cpu } => format!("wakeup {} {target_cpu}", who(task)),
            Tracepoint::WakeupNew { task, target_cpu } => {
                format!("new {} {target_cpu}", who(task))
            }
            Tracepoint::Migrate { task, orig_cpu, dest_cpu } => {
                format!("migrate {} {orig_cpu} {dest_cpu}", who(task))
            }
            Tracepoint::Fork { parent, child } => format!("fork {} {}", who(parent), who(child)),
            Tracepoint::Exec { filename, pid } => format!("exec {filename} {pid}"),
            Tracepoint::Exit { task } => format!("exit {}", who(task)),
            Tracepoint::Runtime { task, runtime_ns } => {
                format!("runtime {} {runtime_ns}", who(task))
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
pub fn told(bytes: &[u8]) -> (EventLog, Reading) {
    let mut told = EventLog::default();
    let reading = Trace::of_bytes(bytes).and_then(|trace| trace.read(&mut told));
    (told, reading.expect("the trace has events"))
}

/// Returns the reason why these bytes are refused.
pub fn refused(bytes: &[u8]) -> ReadError {
    Trace::of_bytes(bytes).and_then(|trace| trace.read(&mut ())).expect_err("the trace is useless")
}
