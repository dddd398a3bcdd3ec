//! Turns the events of a run into tracepoints: [`Recorder`].

use crate::tracepoint::{Context, LagAccount, NewTask, Record, Sink, State, TaskRef, Tracepoint};
use schedlab_core::reason::Who as Chosen;
use schedlab_core::{BlockReason, CpuId, Event, Observer, Policy, SchedAttr, TaskId, Waker};
use std::collections::BTreeMap;

/// Number of bytes of a name that the kernel keeps.
const COMM_MAX: usize = 15;

/// Returns the pid of a task in traces: 0 is the idle task, so pids are one more.
pub fn pid(task: TaskId) -> u32 {
    task.0 + 1
}

/// Returns the priority that tracepoints show for these attributes.
pub fn prio(attr: &SchedAttr) -> i32 {
    match attr.policy {
        Policy::Deadline => -1,
        Policy::Fifo | Policy::RoundRobin => 99 - attr.rt_priority as i32,
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => 120 + attr.nice,
    }
}

/// Returns what the kernel would keep of `name`: 15 bytes, without characters that would break a
/// line.
pub fn comm(name: &str) -> String {
    let mut comm = String::new();
    for letter in name.chars().map(|letter| if letter.is_control() { '?' } else { letter }) {
        if comm.len() + letter.len_utf8() > COMM_MAX {
            break;
        }
        comm.push(letter);
    }
    comm
}

/// Observer that reports a run to a [`Sink`] as the kernel's tracepoints. Requires the names of
/// tasks ([`Event::Named`]). Without them tasks are named `task-0`, `task-1` ...
#[derive(Debug)]
pub struct Recorder<S> {
    sink: S,
    tasks: Vec<Row>,
    cpus: Vec<CpuState>,
    /// First task with each address space.
    processes: BTreeMap<u32, u32>,
    /// Name of the next task to be created.
    name: Option<String>,
    /// CPUs whose number of tasks changed at `changed_ns`.
    changed: Vec<u32>,
    changed_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Row {
    comm: String,
    prio: i32,
    /// CPU of its present or last queue.
    cpu: u32,
    /// Whether it counts in the length of that queue.
    runnable: bool,
    /// State in which it leaves its CPU.
    leaves: State,
    is_born: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    current: Option<TaskId>,
    tasks: u32,
    reported: Option<u32>,
    is_changed: bool,
}

impl Row {
    fn task_ref(&self, task: TaskId) -> TaskRef<'_> {
        TaskRef { comm: &self.comm, pid: pid(task), prio: self.prio }
    }
}

impl<S: Sink> Recorder<S> {
    /// Creates a recorder for a machine with `cpus` CPUs.
    pub fn new(cpus: u32, mut sink: S) -> Recorder<S> {
        for cpu in 0..cpus {
            sink.online(0, cpu, true);
        }
        Recorder {
            sink,
            tasks: Vec::new(),
            cpus: vec![CpuState::default(); cpus as usize],
            processes: BTreeMap::new(),
            name: None,
            changed: Vec::new(),
            changed_ns: 0,
        }
    }

    /// Returns the sink, which has received everything if the run is over.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Returns the sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Reports that the ideal machine owes `task` this amount of CPU time now, ns. (The caller
    /// simulates that machine; this crate does not.)
    pub fn fluid_lag(&mut self, at_ns: u64, task: TaskId, lag_ns: i64) {
        self.row(task);
        let task_ref = self.tasks[task.index()].task_ref(task);
        self.sink.lag(at_ns, task_ref, LagAccount::Fluid, lag_ns);
    }

    fn row(&mut self, task: TaskId) -> &mut Row {
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, Row::default);
        }
        &mut self.tasks[task.index()]
    }

    fn cpu_state(&mut self, cpu: u32) -> &mut CpuState {
        if cpu as usize >= self.cpus.len() {
            self.cpus.resize(cpu as usize + 1, CpuState::default());
        }
        &mut self.cpus[cpu as usize]
    }

    /// Reports a tracepoint about `tasks` (passed to `make`), in the context of `cpu`.
    fn emit(
        &mut self,
        at_ns: u64,
        cpu: u32,
        in_interrupt: bool,
        tasks: [Option<TaskId>; 2],
        make: impl for<'a> FnOnce([TaskRef<'a>; 2]) -> Tracepoint<'a>,
    ) {
        let cpu_state = *self.cpu_state(cpu);
        for task in tasks.into_iter().flatten() {
            self.row(task);
        }
        let task_ref = |task: Option<TaskId>| -> TaskRef<'_> {
            task.map_or(TaskRef::IDLE, |task| self.tasks[task.index()].task_ref(task))
        };
        let record = Record {
            at_ns,
            cpu,
            current: task_ref(cpu_state.current),
            context: if in_interrupt { Context::Hard } else { Context::Task },
            tracepoint: make(tasks.map(task_ref)),
        };
        self.sink.record(&record);
    }

    fn emit_of(
        &mut self,
        at_ns: u64,
        cpu: u32,
        in_interrupt: bool,
        task: TaskId,
        make: impl for<'a> FnOnce(TaskRef<'a>) -> Tracepoint<'a>,
    ) {
        self.emit(at_ns, cpu, in_interrupt, [Some(task), None], |[task, _]| make(task));
    }

    /// Counts one task more or less on `cpu`.
    fn count(&mut self, cpu: u32, more: bool) {
        let cpu_state = self.cpu_state(cpu);
        cpu_state.tasks =
            if more { cpu_state.tasks + 1 } else { cpu_state.tasks.saturating_sub(1) };
        if !cpu_state.is_changed {
            cpu_state.is_changed = true;
            self.changed.push(cpu);
        }
    }

    fn set_runnable(&mut self, task: TaskId, runnable: bool) {
        let row = self.row(task);
        let (was, cpu) = (std::mem::replace(&mut row.runnable, runnable), row.cpu);
        if was != runnable {
            self.count(cpu, runnable);
        }
    }

    /// Assigns `task` to the queue of `cpu`. Returns the CPU of its previous queue.
    fn put(&mut self, task: TaskId, cpu: u32) -> u32 {
        let row = self.row(task);
        let (old, runnable) = (std::mem::replace(&mut row.cpu, cpu), row.runnable);
        if runnable && old != cpu {
            self.count(old, false);
            self.count(cpu, true);
        }
        old
    }

    /// Reports the lengths of queues at the end of the last nanosecond in which they changed.
    fn report_lengths(&mut self) {
        for cpu in self.changed.drain(..) {
            let cpu_state = &mut self.cpus[cpu as usize];
            cpu_state.is_changed = false;
            if cpu_state.reported != Some(cpu_state.tasks) {
                cpu_state.reported = Some(cpu_state.tasks);
                self.sink.queue_length(self.changed_ns, cpu, cpu_state.tasks);
            }
        }
    }

    fn born(
        &mut self,
        at_ns: u64,
        task: TaskId,
        parent: Option<TaskId>,
        attr: &schedlab_core::TaskAttr,
    ) {
        let name = self.name.take().unwrap_or_else(|| format!("task-{}", task.0));
        let row = self.row(task);
        row.comm = comm(&name);
        row.prio = prio(&attr.sched);
        row.is_born = true;
        let tgid = *self.processes.entry(attr.address_space).or_insert_with(|| pid(task));
        self.sink.task(
            at_ns,
            &NewTask {
                pid: pid(task),
                tgid,
                parent: parent.map_or(0, pid),
                name: &name,
                group: attr.group.0,
            },
        );
        if let Some(parent) = parent {
            let cpu = self.row(parent).cpu;
            self.emit(at_ns, cpu, false, [Some(parent), Some(task)], |[parent, child]| {
                Tracepoint::Fork { parent, child }
            });
        }
    }

    /// Reports an `execve`. The task keeps its name: the new program has no separate name.
    fn execed(&mut self, at_ns: u64, task: TaskId, cpu: u32) {
        self.emit_of(at_ns, cpu, false, task, |task| Tracepoint::Exec {
            filename: task.comm,
            pid: task.pid,
        });
    }

    fn woken(&mut self, at_ns: u64, task: TaskId, target_cpu: u32, waker: Waker) {
        let (by, in_interrupt) = match waker {
            Waker::Interrupt { cpu } => (cpu.0, true),
            Waker::Process { cpu } | Waker::Task { cpu, .. } => (cpu.0, false),
        };
        let last = self.row(task).cpu;
        self.emit_of(at_ns, by, in_interrupt, task, |task| Tracepoint::Waking {
            task,
            target_cpu: Some(last),
        });
        self.migrated(at_ns, by, in_interrupt, task, target_cpu);
        self.set_runnable(task, true);
        self.emit_of(at_ns, by, in_interrupt, task, |task| Tracepoint::Wakeup {
            task,
            target_cpu: Some(target_cpu),
        });
    }

    /// Moves `task` to the queue of `to`, if it is not there.
    fn migrated(&mut self, at_ns: u64, by: u32, in_interrupt: bool, task: TaskId, to: u32) {
        let from = self.row(task).cpu;
        if from != to {
            self.emit_of(at_ns, by, in_interrupt, task, |task| Tracepoint::Migrate {
                task,
                orig_cpu: from,
                dest_cpu: to,
            });
            self.put(task, to);
        }
    }

    fn switched(
        &mut self,
        at_ns: u64,
        cpu: u32,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        let prev_state = match prev {
            Some(prev) if !prev_runnable => self.row(prev).leaves,
            _ => State::Runnable,
        };
        self.emit(at_ns, cpu, false, [prev, next], |[prev, next]| Tracepoint::Switch {
            prev,
            prev_state,
            next,
        });
        self.cpu_state(cpu).current = next;
        if let Some(next) = next {
            // With one queue for all CPUs, no event reports that a task moves from one CPU to
            // another.
            self.put(next, cpu);
        }
    }

    fn finished(&mut self, at_ns: u64) {
        self.report_lengths();
        self.sink.closing(at_ns);
        for cpu in 0..self.cpus.len() {
            if let Some(task) = self.cpus[cpu].current {
                self.switched(at_ns, cpu as u32, Some(task), true, None);
            }
        }
        self.sink.finish(at_ns);
    }
}

impl<S: Sink> Observer for Recorder<S> {
    fn on(&mut self, at_ns: u64, event: Event<'_>) {
        if at_ns != self.changed_ns {
            if !self.changed.is_empty() {
                self.report_lengths();
            }
            self.changed_ns = at_ns;
        }
        match event {
            Event::Named { name, .. } => self.name = Some(name.into()),
            Event::Born { task, parent, attr } => self.born(at_ns, task, parent, attr),
            Event::Started { task, cpu: CpuId(cpu), .. } => {
                self.row(task).cpu = cpu;
                self.set_runnable(task, true);
                self.emit_of(at_ns, cpu, false, task, |task| Tracepoint::WakeupNew {
                    task,
                    target_cpu: Some(cpu),
                });
            }
            Event::AttrChanged { task, attr } => self.row(task).prio = prio(attr),
            Event::Woken { task, cpu, waker, .. } => self.woken(at_ns, task, cpu.0, waker),
            Event::Blocked { task, cpu, reason } => {
                self.set_runnable(task, false);
                self.row(task).leaves = match reason {
                    BlockReason::Interruptible | BlockReason::Futex => State::Interruptible,
                    BlockReason::Uninterruptible => State::Uninterruptible,
                    BlockReason::Stopped => State::Stopped,
                    BlockReason::Dead => State::Zombie,
                };
                if reason == BlockReason::Dead {
                    self.emit_of(at_ns, cpu.0, false, task, |task| Tracepoint::Exit { task });
                }
            }
            Event::Execed { task, cpu } => self.execed(at_ns, task, cpu.0),
            Event::Killed { task } => {
                let row = self.row(task);
                if row.is_born {
                    let cpu = row.cpu;
                    row.leaves = State::Zombie;
                    self.set_runnable(task, false);
                    self.emit_of(at_ns, cpu, false, task, |task| Tracepoint::Exit { task });
                }
            }
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.switched(at_ns, cpu.0, prev, prev_runnable, next);
            }
            Event::Migrated { task, from, to, .. } => {
                self.migrated(at_ns, from.0, false, task, to.0);
            }
            Event::Decided { account } => {
                for candidate in &account.evidence.candidates {
                    let lag = candidate.terms.iter().find(|term| term.name == "lag_ns");
                    if let (Chosen::Task(task), Some(term)) = (candidate.who, lag) {
                        self.row(task);
                        let task_ref = self.tasks[task.index()].task_ref(task);
                        self.sink.lag(at_ns, task_ref, LagAccount::Scheduler, term.value);
                    }
                }
            }
            Event::Online { cpu, online } => self.sink.online(at_ns, cpu.0, online),
            Event::Finished => self.finished(at_ns),
            Event::GroupChanged { task, group } => self.sink.group(at_ns, pid(task), group.0),
            _ => {}
        }
    }
}
