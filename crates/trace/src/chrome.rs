//! JSON traces for Chrome ("Trace Event Format"): [`Chrome`].
//!
//! The format has no notion of scheduling. The CPUs are one process with a thread for each CPU. A
//! slice of a task is a complete event, a wakeup is a flow from the waker's slice to that of the
//! woken task, and the length of a queue is a counter.

use crate::output::Output;
use crate::streamed::{Header, Streamed};
use crate::tracepoint::{LagAccount, Record, Sink, TaskRef, Tracepoint};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::io;

/// Process that represents the CPUs.
const CPUS: u32 = 1;

const BUFFER: usize = 1 << 16;

/// Writes a Chrome JSON trace during the run.
#[derive(Debug)]
pub struct Chrome {
    out: Streamed,
    text: String,
    cpus: Vec<OpenSlice>,
    /// Flows that have begun and have not reached the slice of the woken task yet.
    flows: BTreeMap<u32, u64>,
    flow: u64,
}

#[derive(Clone, Debug, Default)]
struct OpenSlice {
    name: String,
    pid: u32,
    prio: i32,
    since_ns: u64,
}

/// Time in microseconds, with three decimals.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// JSON string.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                letter if letter.is_control() => write!(f, "\\u{:04x}", letter as u32)?,
                letter => f.write_char(letter)?,
            }
        }
        f.write_char('"')
    }
}

impl Chrome {
    /// Begins a trace.
    pub fn new(output: Output, header: &Header) -> Chrome {
        let mut this = Chrome {
            out: Streamed::new(output),
            text: String::new(),
            cpus: vec![OpenSlice::default(); header.cpus as usize],
            flows: BTreeMap::new(),
            flow: 0,
        };
        this.text.push_str("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        let scheduler = format!("CPUs, {}", header.scheduler);
        let name = Quoted(&scheduler);
        let process = format!(
            "{{\"ph\":\"M\",\"pid\":{CPUS},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}"
        );
        this.text.push_str(&process);
        for cpu in 0..header.cpus {
            this.event(format_args!(
                "{{\"ph\":\"M\",\"pid\":{CPUS},\"tid\":{},\"name\":\"thread_name\",\
                 \"args\":{{\"name\":\"CPU {cpu}\"}}}}",
                cpu + 1
            ));
        }
        this
    }

    /// Closes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn close(mut self) -> io::Result<()> {
        self.text.push_str("]}\n");
        self.out.write(self.text.as_bytes());
        self.out.close()
    }

    /// Whether writing has failed.
    pub fn has_failed(&self) -> bool {
        self.out.has_failed()
    }

    fn event(&mut self, event: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = write!(self.text, ",\n{event}");
        if self.text.len() >= BUFFER {
            self.out.write(self.text.as_bytes());
            self.text.clear();
        }
    }
}

impl Sink for Chrome {
    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, current, tracepoint, .. } = record;
        let tid = cpu + 1;
        match tracepoint {
            Tracepoint::Switch { next, prev_state, .. } => {
                if cpu as usize >= self.cpus.len() {
                    self.cpus.resize(cpu as usize + 1, OpenSlice::default());
                }
                let open_slice = &mut self.cpus[cpu as usize];
                let ended = std::mem::replace(
                    open_slice,
                    OpenSlice {
                        name: next.comm.into(),
                        pid: next.pid,
                        prio: next.prio,
                        since_ns: at_ns,
                    },
                );
                if ended.pid != 0 {
                    let OpenSlice { name, pid, prio, since_ns } = ended;
                    self.event(format_args!(
                        "{{\"ph\":\"X\",\"cat\":\"sched\",\"name\":{},\"pid\":{CPUS},\
                         \"tid\":{tid},\"ts\":{},\"dur\":{},\"args\":{{\"pid\":{pid},\
                         \"prio\":{prio},\"end_state\":\"{}\"}}}}",
                        Quoted(&name),
                        Micros(since_ns),
                        Micros(at_ns - since_ns),
                        prev_state.letters()
                    ));
                }
                if let Some(flow) = self.flows.remove(&next.pid) {
                    self.event(format_args!(
                        "{{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"wakeup\",\"name\":\"wakeup\",\
                         \"id\":{flow},\"pid\":{CPUS},\"tid\":{tid},\"ts\":{}}}",
                        Micros(at_ns)
                    ));
                }
            }
            Tracepoint::Waking { task, .. }
                if current.pid != 0 && !record.context.is_interrupt() =>
            {
                self.flow += 1;
                self.flows.insert(task.pid, self.flow);
                let flow = self.flow;
                self.event(format_args!(
                    "{{\"ph\":\"s\",\"cat\":\"wakeup\",\"name\":\"wakeup\",\"id\":{flow},\
                     \"pid\":{CPUS},\"tid\":{tid},\"ts\":{}}}",
                    Micros(at_ns)
                ));
            }
            Tracepoint::Waking { task, .. } => {
                self.flows.remove(&task.pid);
            }
            Tracepoint::Exec { filename, pid } => self.event(format_args!(
                "{{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"sched\",\"name\":\"exec\",\"pid\":{CPUS},\
                 \"tid\":{tid},\"ts\":{},\"args\":{{\"filename\":{},\"pid\":{pid}}}}}",
                Micros(at_ns),
                Quoted(filename)
            )),
            _ => {}
        }
    }

    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        self.event(format_args!(
            "{{\"ph\":\"C\",\"name\":\"Runnable tasks, CPU {cpu}\",\"pid\":{CPUS},\"ts\":{},\
             \"args\":{{\"tasks\":{tasks}}}}}",
            Micros(at_ns)
        ));
    }

    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        let name = format!("Lag ({}), {} {}", account.name(), task.comm, task.pid);
        let name = Quoted(&name);
        self.event(format_args!(
            "{{\"ph\":\"C\",\"name\":{name},\"pid\":{CPUS},\"ts\":{},\
             \"args\":{{\"ns\":{lag_ns}}}}}",
            Micros(at_ns)
        ));
    }
}
