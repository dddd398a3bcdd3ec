//! Binary traces for Perfetto: [`Perfetto`].
//!
//! A file is a sequence of `TracePacket`s. Scheduler events are ftrace bundles, one per CPU, from
//! which Perfetto derives its CPU tracks, thread states and wakeup latencies. Names are process
//! trees, counters are track events. All times are virtual nanoseconds, declared as
//! `CLOCK_BOOTTIME`.

use crate::output::Output;
use crate::proto::{bytes, message, number};
use crate::streamed::{Header, Streamed};
use crate::tracepoint::{Context, LagAccount, NewTask, Record, Sink, State, TaskRef, Tracepoint};
use std::collections::BTreeSet;
use std::io;

/// Kernel release, from which the importer derives the meaning of `prev_state`: releases from 4.14
/// on have the numbers of [`State::number`].
const RELEASE: &str = "6.18.0";

/// Sequence number of the packets of tracks and counters.
const SEQUENCE: u64 = 1;

/// Limit for the total size of all bundles, bytes.
const BUFFERS: usize = 8 << 20;

/// Writes a Perfetto trace during the run.
#[derive(Debug)]
pub struct Perfetto {
    out: Streamed,
    /// Events of each CPU that are not written yet.
    bundles: Vec<Bundle>,
    /// Maximum size of a bundle, bytes.
    bundle_max: usize,
    /// Packets that are not written yet.
    packets: Vec<u8>,
    scratch: Vec<u8>,
    /// Counter tracks that have been described.
    tracks: BTreeSet<u64>,
}

#[derive(Clone, Debug, Default)]
struct Bundle {
    events: Vec<u8>,
    has_begun: bool,
}

impl Perfetto {
    /// Begins the trace of a machine.
    pub fn new(output: Output, header: &Header) -> Perfetto {
        let cpus = header.cpus as usize;
        let mut this = Perfetto {
            out: Streamed::new(output),
            bundles: vec![Bundle::default(); cpus],
            bundle_max: (BUFFERS / cpus.max(1)).clamp(1 << 10, 1 << 16),
            packets: Vec::new(),
            scratch: Vec::new(),
            tracks: BTreeSet::new(),
        };
        this.packet(|packet| {
            message(packet, 45, |info| {
                message(info, 1, |utsname| {
                    bytes(utsname, 1, b"Linux");
                    bytes(utsname, 2, format!("schedlab {}", header.scheduler).as_bytes());
                    bytes(utsname, 3, RELEASE.as_bytes());
                    bytes(utsname, 4, b"virtual");
                });
                number(info, 8, header.cpus.into());
                number(info, 3, header.hz.into());
            });
        });
        this
    }

    /// Closes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn close(mut self) -> io::Result<()> {
        self.write_out();
        self.out.close()
    }

    /// Whether writing has failed.
    pub fn has_failed(&self) -> bool {
        self.out.has_failed()
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        message(&mut self.packets, 1, |packet| {
            fill(packet);
            number(packet, 10, SEQUENCE);
        });
        if self.packets.len() > 1 << 16 {
            self.out.write(&self.packets);
            self.packets.clear();
        }
    }

    /// Writes the bundle of `cpu`.
    fn flush(&mut self, cpu: usize) {
        if self.bundles[cpu].events.is_empty() {
            return;
        }
        let mut events = std::mem::take(&mut self.bundles[cpu].events);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        number(&mut scratch, 1, cpu as u64);
        scratch.extend_from_slice(&events);
        self.packet(|packet| bytes(packet, 1, &scratch));
        events.clear();
        self.bundles[cpu].events = events;
        self.scratch = scratch;
    }

    fn write_out(&mut self) {
        for cpu in 0..self.bundles.len() {
            self.flush(cpu);
        }
        self.out.write(&self.packets);
        self.packets.clear();
    }

    /// Importers take the first switch of a CPU as the beginning of its history: the CPU is idle at
    /// 0.
    fn begin(&mut self, cpu: usize) {
        if !std::mem::replace(&mut self.bundles[cpu].has_begun, true) {
            message(&mut self.bundles[cpu].events, 2, |event| {
                number(event, 1, 0);
                number(event, 2, 0);
                switch(event, TaskRef::IDLE, State::Runnable, TaskRef::IDLE, cpu);
            });
        }
    }

    fn event(&mut self, at_ns: u64, cpu: u32, pid: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let cpu = cpu as usize;
        if cpu >= self.bundles.len() {
            self.bundles.resize(cpu + 1, Bundle::default());
        }
        self.begin(cpu);
        let events = &mut self.bundles[cpu].events;
        message(events, 2, |event| {
            number(event, 1, at_ns);
            number(event, 2, pid.into());
            fill(event);
        });
        if events.len() >= self.bundle_max {
            // All bundles are written, so that a reader can sort the events without having all of
            // them in memory.
            for cpu in 0..self.bundles.len() {
                self.flush(cpu);
            }
        }
    }

    /// Writes a value of a counter, and before the first value the description of its track.
    fn counter(&mut self, at_ns: u64, track: u64, name: impl Fn() -> String, unit: &str, n: i64) {
        if self.tracks.insert(track) {
            self.packet(|packet| {
                message(packet, 60, |descriptor| {
                    number(descriptor, 1, track);
                    bytes(descriptor, 2, name().as_bytes());
                    message(descriptor, 8, |counter| match unit {
                        "ns" => number(counter, 3, 1),
                        unit => bytes(counter, 6, unit.as_bytes()),
                    });
                });
            });
        }
        self.packet(|packet| {
            number(packet, 8, at_ns);
            message(packet, 11, |event| {
                number(event, 9, 4);
                number(event, 11, track);
                number(event, 30, n as u64);
            });
        });
    }
}

/// Writes `SchedSwitch`. The idle task of each CPU has the CPU in its name.
fn switch(event: &mut Vec<u8>, prev: TaskRef<'_>, state: State, next: TaskRef<'_>, cpu: usize) {
    let name = |out: &mut Vec<u8>, field: u32, task_ref: TaskRef<'_>| match task_ref.pid {
        0 => bytes(out, field, format!("swapper/{cpu}").as_bytes()),
        _ => bytes(out, field, task_ref.comm.as_bytes()),
    };
    message(event, 4, |switch| {
        name(switch, 1, prev);
        number(switch, 2, prev.pid.into());
        number(switch, 3, i64::from(prev.prio) as u64);
        number(switch, 4, state.number().into());
        name(switch, 5, next);
        number(switch, 6, next.pid.into());
        number(switch, 7, i64::from(next.prio) as u64);
    });
}

/// Writes the three fields that most events begin with.
fn task(out: &mut Vec<u8>, task: TaskRef<'_>) {
    bytes(out, 1, task.comm.as_bytes());
    number(out, 2, task.pid.into());
    number(out, 3, i64::from(task.prio) as u64);
}

/// Writes `SchedWaking` and the other wakeup events.
fn wakeup(event: &mut Vec<u8>, field: u32, task_ref: TaskRef<'_>, target_cpu: Option<u32>) {
    message(event, field, |wakeup| {
        task(wakeup, task_ref);
        number(wakeup, 4, 1);
        if let Some(cpu) = target_cpu {
            number(wakeup, 5, cpu.into());
        }
    });
}

impl Sink for Perfetto {
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        self.packet(|packet| {
            number(packet, 8, at_ns);
            message(packet, 2, |tree| {
                if task.tgid == task.pid {
                    message(tree, 1, |process| {
                        number(process, 1, task.pid.into());
                        number(process, 2, task.parent.into());
                        bytes(process, 3, task.name.as_bytes());
                        number(process, 7, at_ns);
                    });
                }
                message(tree, 2, |thread| {
                    number(thread, 1, task.pid.into());
                    bytes(thread, 2, task.name.as_bytes());
                    number(thread, 3, task.tgid.into());
                });
                number(tree, 3, at_ns);
            });
        });
    }

    fn record(&mut self, record: &Record<'_>) {
        let &Record { at_ns, cpu, current, context, tracepoint } = record;
        if matches!(tracepoint, Tracepoint::Runtime { .. }) {
            // Perfetto has no message for it.
            return;
        }
        self.event(at_ns, cpu, current.pid, |event| {
            // Absent if unknown.
            if context != Context::Unknown {
                number(event, 5, context.common_flags().into());
            }
            match tracepoint {
                Tracepoint::Switch { prev, prev_state, next } => {
                    switch(event, prev, prev_state, next, cpu as usize);
                }
                Tracepoint::Waking { task, target_cpu } => wakeup(event, 20, task, target_cpu),
                Tracepoint::Wakeup { task, target_cpu } => wakeup(event, 17, task, target_cpu),
                Tracepoint::WakeupNew { task, target_cpu } => {
                    wakeup(event, 114, task, target_cpu);
                }
                Tracepoint::Migrate { task: task_ref, orig_cpu, dest_cpu } => {
                    message(event, 491, |migrate| {
                        task(migrate, task_ref);
                        number(migrate, 4, orig_cpu.into());
                        number(migrate, 5, dest_cpu.into());
                    });
                }
                Tracepoint::Fork { parent, child } => message(event, 239, |fork| {
                    bytes(fork, 1, parent.comm.as_bytes());
                    number(fork, 2, parent.pid.into());
                    bytes(fork, 3, child.comm.as_bytes());
                    number(fork, 4, child.pid.into());
                }),
                Tracepoint::Exec { filename, pid } => message(event, 237, |exec| {
                    bytes(exec, 1, filename.as_bytes());
                    number(exec, 2, pid.into());
                    number(exec, 3, pid.into());
                }),
                Tracepoint::Exit { task } => message(event, 238, |exit| {
                    bytes(exit, 1, task.comm.as_bytes());
                    number(exit, 2, task.pid.into());
                    number(exit, 4, i64::from(task.prio) as u64);
                }),
                Tracepoint::Runtime { .. } => {}
            }
        });
    }

    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        let name = || format!("Runnable tasks, CPU {cpu}");
        self.counter(at_ns, 1 + u64::from(cpu), name, "tasks", tasks.into());
    }

    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        let kind = match account {
            LagAccount::Scheduler => 1,
            LagAccount::Fluid => 2,
        };
        let track = kind << 32 | u64::from(task.pid);
        let name = || format!("Lag ({}), {} {}", account.name(), task.comm, task.pid);
        self.counter(at_ns, track, name, "ns", lag_ns);
    }

    fn finish(&mut self, _at_ns: u64) {
        for cpu in 0..self.bundles.len() {
            self.begin(cpu);
        }
        self.write_out();
    }
}
