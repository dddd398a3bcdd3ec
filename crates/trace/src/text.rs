//! Text in the formats of `perf script` and ftrace: [`Text`].

use crate::output::Output;
use crate::streamed::{Header, Streamed};
use crate::tracepoint::{Context, Record, Sink, TaskRef, Tracepoint};
use std::fmt::Write;
use std::io;

/// Format of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextForm {
    /// `perf script --ns`.
    Perf,
    /// `/sys/kernel/tracing/trace`, with nine decimals.
    Ftrace,
}

/// Width to which `perf script` right-aligns names of events: that of the longest.
const EVENT_WIDTH: usize = "sched:sched_process_fork".len();

/// Number of bytes that are collected before they are written.
const BUFFER: usize = 1 << 16;

/// Writes a text during the run.
#[derive(Debug)]
pub struct Text {
    out: Streamed,
    form: TextForm,
    lines: String,
}

impl Text {
    /// Begins a text.
    pub fn new(output: Output, form: TextForm, header: &Header) -> Text {
        let mut this = Text { out: Streamed::new(output), form, lines: String::new() };
        let Header { cpus, scheduler, .. } = header;
        this.lines = match form {
            TextForm::Perf => format!(
                "# ========\n# hostname : schedlab\n# os release : {scheduler}\n\
                 # nrcpus online : {cpus}\n# nrcpus avail : {cpus}\n# ========\n#\n"
            ),
            TextForm::Ftrace => format!(
                "# tracer: nop\n#\n# {scheduler} in schedlab   #P:{cpus}\n#\n\
                 #                                _-----=> irqs-off/BH-disabled\n\
                 #                               / _----=> need-resched\n\
                 #                              | / _---=> hardirq/softirq\n\
                 #                              || / _--=> preempt-depth\n\
                 #                              ||| / _-=> migrate-disable\n\
                 #                              |||| /     delay\n\
                 #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
                 #              | |         |   |||||     |         |\n"
            ),
        };
        this
    }

    /// Closes the file.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn close(mut self) -> io::Result<()> {
        self.write_out();
        self.out.close()
    }

    /// Whether writing has failed.
    pub fn has_failed(&self) -> bool {
        self.out.has_failed()
    }

    fn write_out(&mut self) {
        self.out.write(self.lines.as_bytes());
        self.lines.clear();
    }
}

impl Sink for Text {
    fn record(&mut self, record: &Record<'_>) {
        // Writing to a string does not fail.
        let _ = line(&mut self.lines, self.form, record);
        if self.lines.len() >= BUFFER {
            self.write_out();
        }
    }

    fn finish(&mut self, _at_ns: u64) {
        self.write_out();
    }
}

/// Writes the line of a record, with its end.
fn line(out: &mut String, form: TextForm, record: &Record<'_>) -> std::fmt::Result {
    let &Record { at_ns, cpu, current, context, ref tracepoint } = record;
    let (s, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
    match form {
        TextForm::Perf => {
            let event = tracepoint.name();
            let pad = EVENT_WIDTH.saturating_sub("sched:".len() + event.len());
            let (comm, pid) = (current.comm, current.pid);
            write!(out, "{comm:>16} {pid:>5} [{cpu:03}] {s:>5}.{ns:09}: ")?;
            write!(out, "{:pad$}sched:{event}: ", "")?;
        }
        TextForm::Ftrace => {
            let comm = if current.pid == 0 { "<idle>" } else { current.comm };
            let pid = current.pid;
            write!(out, "{comm:>16}-{pid:<7} [{cpu:03}] ")?;
            // The kernel leaves the flags out if the option `irq-info` is off: better than unknown
            // flags.
            if context != Context::Unknown {
                write!(out, "d.{}2. ", context.flag())?;
            }
            write!(out, "{s:>5}.{ns:09}: ")?;
            write!(out, "{}: ", tracepoint.name())?;
        }
    }
    body(out, cpu, tracepoint)?;
    out.push('\n');
    Ok(())
}

/// Writes `comm= pid= prio=`, with a prefix.
fn write_task(out: &mut String, prefix: &str, task: TaskRef<'_>, cpu: u32) -> std::fmt::Result {
    let TaskRef { comm, pid, prio } = task;
    write!(out, "{prefix}comm={comm}")?;
    if pid == 0 {
        write!(out, "/{cpu}")?;
    }
    write!(out, " {prefix}pid={pid} {prefix}prio={prio}")
}

/// Writes the fields of an event in the format of releases from 4.14 on.
fn body(out: &mut String, cpu: u32, tracepoint: &Tracepoint<'_>) -> std::fmt::Result {
    match *tracepoint {
        Tracepoint::Switch { prev, prev_state, next } => {
            write_task(out, "prev_", prev, cpu)?;
            write!(out, " prev_state={} ==> ", prev_state.letters())?;
            write_task(out, "next_", next, cpu)
        }
        Tracepoint::Waking { task, target_cpu }
        | Tracepoint::Wakeup { task, target_cpu }
        | Tracepoint::WakeupNew { task, target_cpu } => {
            write_task(out, "", task, cpu)?;
            match target_cpu {
                Some(cpu) => write!(out, " target_cpu={cpu:03}"),
                None => Ok(()),
            }
        }
        Tracepoint::Migrate { task, orig_cpu, dest_cpu } => {
            write_task(out, "", task, cpu)?;
            write!(out, " orig_cpu={orig_cpu} dest_cpu={dest_cpu}")
        }
        Tracepoint::Fork { parent, child } => {
            let (comm, pid) = (parent.comm, parent.pid);
            write!(out, "comm={comm} pid={pid} child_comm={} child_pid={}", child.comm, child.pid)
        }
        Tracepoint::Exec { filename, pid } => {
            write!(out, "filename={filename} pid={pid} old_pid={pid}")
        }
        Tracepoint::Exit { task } => write_task(out, "", task, cpu),
        Tracepoint::Runtime { task, runtime_ns } => {
            write!(out, "comm={} pid={} runtime={runtime_ns} [ns]", task.comm, task.pid)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::State;

    /// Lines of a real kernel, with the decimals that perf was asked for.
    #[test]
    fn lines_are_those_of_the_tools() {
        let migration = TaskRef { comm: "migration/0", pid: 18, prio: 0 };
        let perf = TaskRef { comm: "perf", pid: 19561, prio: 120 };
        let mut record = Record {
            at_ns: 14_160_464_827_123,
            cpu: 0,
            current: perf,
            context: Context::Hard,
            tracepoint: Tracepoint::Switch {
                prev: perf,
                prev_state: State::Uninterruptible,
                next: migration,
            },
        };
        let text = |form, record: &Record<'_>| {
            let mut out = String::new();
            line(&mut out, form, record).expect("writing to a string does not fail");
            out
        };
        assert_eq!(
            text(TextForm::Perf, &record),
            "            perf 19561 [000] 14160.464827123:       sched:sched_switch: prev_comm=perf \
             prev_pid=19561 prev_prio=120 prev_state=D ==> next_comm=migration/0 next_pid=18 \
             next_prio=0\n"
        );
        record.tracepoint = Tracepoint::Migrate { task: perf, orig_cpu: 0, dest_cpu: 1 };
        record.current = TaskRef::IDLE;
        assert_eq!(
            text(TextForm::Ftrace, &record),
            "          <idle>-0       [000] d.h2. 14160.464827123: sched_migrate_task: comm=perf \
             pid=19561 prio=120 orig_cpu=0 dest_cpu=1\n"
        );
    }
}
