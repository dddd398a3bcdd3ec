//! Reverse of a [`Recorder`](crate::Recorder): turns the tracepoints of a recorded trace into the
//! events of a run, for the observers that measure runs: [`Events`].
//!
//! Times begin at 0 with the trace. The task that has a CPU when its history begins has run there
//! since then ([`Opening`] finds these tasks in a separate pass). A task that a wakeup names first
//! starts there. Where the chain of switches breaks, the task that was assumed to run goes to sleep
//! and the other one is woken, both at the event that reveals it. A task that is switched in
//! without a wakeup is woken at that moment. Every task has its own number, in the order of first
//! appearance. A pid that is used again is another task.

use crate::tracepoint::{Record, Sink, State, TaskRef, Tracepoint};
use schedlab_core::{
    BlockReason, CpuId, Event, Observer, Policy, SchedAttr, TaskAttr, TaskId, Waker,
};
use std::collections::BTreeMap;

/// Current task of each CPU when its history begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    began_ns: Option<u64>,
    first: BTreeMap<u32, (u32, i32, String)>,
    wakeups: u64,
}

impl Sink for Opening {
    fn record(&mut self, record: &Record<'_>) {
        self.began_ns.get_or_insert(record.at_ns);
        match record.tracepoint {
            Tracepoint::Switch { prev, .. } => {
                self.first
                    .entry(record.cpu)
                    .or_insert_with(|| (prev.pid, prev.prio, prev.comm.into()));
            }
            Tracepoint::Wakeup { .. } => self.wakeups += 1,
            _ => {}
        }
    }
}

/// Task of a recorded trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedTask {
    /// Its pid.
    pub pid: u32,
    /// Its last name.
    pub name: String,
    /// Policy, if the priority reveals it, and nice value.
    pub attr: SchedAttr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Waiting(u32),
    Running(u32),
    Asleep,
    Dead,
}

/// Turns tracepoints into events and passes them to an observer.
#[derive(Debug)]
pub struct Events<O> {
    observer: O,
    opening: Opening,
    tasks: Vec<RecordedTask>,
    stages: Vec<Stage>,
    by_pid: BTreeMap<u32, TaskId>,
    running: BTreeMap<u32, TaskId>,
    parents: BTreeMap<u32, u32>,
    has_begun: bool,
    switches: u64,
    wakeups: u64,
}

/// Returns the attributes of a task of this priority.
pub fn attr(prio: i32) -> SchedAttr {
    match prio {
        ..0 => SchedAttr { policy: Policy::Deadline, ..SchedAttr::nice(0) },
        0..=99 => {
            SchedAttr { policy: Policy::Fifo, rt_priority: 99 - prio as u32, ..SchedAttr::nice(0) }
        }
        _ => SchedAttr::nice((prio - 120).clamp(-20, 19)),
    }
}

impl<O: Observer> Events<O> {
    /// Creates a converter for a trace with this opening.
    pub fn new(opening: Opening, observer: O) -> Events<O> {
        Events {
            observer,
            opening,
            tasks: vec![],
            stages: vec![],
            by_pid: BTreeMap::new(),
            running: BTreeMap::new(),
            parents: BTreeMap::new(),
            has_begun: false,
            switches: 0,
            wakeups: 0,
        }
    }

    /// Returns the tasks, by number.
    pub fn tasks(&self) -> &[RecordedTask] {
        &self.tasks
    }

    /// Returns the number of switches.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Returns the number of times that a task became runnable, including starts.
    pub fn wakeups(&self) -> u64 {
        self.wakeups
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer, after the last event.
    pub fn into_observer(self) -> O {
        self.observer
    }

    fn stage(&mut self, task: TaskId) -> &mut Stage {
        &mut self.stages[task.index()]
    }

    /// Starts a task on `cpu`.
    fn born(&mut self, at_ns: u64, pid: u32, prio: i32, name: &str, cpu: u32) -> TaskId {
        let task = TaskId(self.tasks.len() as u32);
        let sched = attr(prio);
        let parent = self.parents.remove(&pid).and_then(|parent| self.by_pid.get(&parent).copied());
        self.tasks.push(RecordedTask { pid, name: name.into(), attr: sched });
        self.stages.push(Stage::Waiting(cpu));
        self.by_pid.insert(pid, task);
        let attr = TaskAttr { sched, ..TaskAttr::default() };
        self.observer.on(at_ns, Event::Named { task, name });
        self.observer.on(at_ns, Event::Born { task, parent, attr: &attr });
        self.observer.on(at_ns, Event::started(task, CpuId(cpu)));
        self.wakeups += 1;
        task
    }

    /// Returns the live task with this pid, and updates its name and priority.
    fn find(&mut self, at_ns: u64, task_ref: TaskRef<'_>) -> Option<TaskId> {
        let task = *self.by_pid.get(&task_ref.pid)?;
        if *self.stage(task) == Stage::Dead {
            return None;
        }
        let known = &mut self.tasks[task.index()];
        if known.name != task_ref.comm {
            known.name = task_ref.comm.into();
        }
        let attr = attr(task_ref.prio);
        if known.attr != attr {
            known.attr = attr;
            self.observer.on(at_ns, Event::AttrChanged { task, attr: &attr });
        }
        Some(task)
    }

    fn switched(
        &mut self,
        at_ns: u64,
        cpu: u32,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        if prev != next {
            self.switches += 1;
            self.observer.on(at_ns, Event::switched(CpuId(cpu), prev, prev_runnable, next));
        }
        match next {
            Some(next) => {
                *self.stage(next) = Stage::Running(cpu);
                self.running.insert(cpu, next);
            }
            None => {
                self.running.remove(&cpu);
            }
        }
    }

    fn blocked(&mut self, at_ns: u64, cpu: u32, task: TaskId, reason: BlockReason) {
        self.observer.on(at_ns, Event::blocked(task, CpuId(cpu), reason));
        *self.stage(task) = match reason {
            BlockReason::Dead => Stage::Dead,
            _ => Stage::Asleep,
        };
    }

    fn woken(&mut self, at_ns: u64, task: TaskId, cpu: u32, waker: Waker) {
        self.wakeups += 1;
        *self.stage(task) = Stage::Waiting(cpu);
        self.observer.on(at_ns, Event::woken(task, CpuId(cpu), waker));
    }

    /// Makes `task_ref` wait on `cpu`, whatever its state was.
    fn waits(&mut self, at_ns: u64, cpu: u32, task_ref: TaskRef<'_>) -> Option<TaskId> {
        if task_ref.pid == 0 {
            return None;
        }
        let Some(task) = self.find(at_ns, task_ref) else {
            return Some(self.born(at_ns, task_ref.pid, task_ref.prio, task_ref.comm, cpu));
        };
        let interrupt = Waker::Interrupt { cpu: CpuId(cpu) };
        match *self.stage(task) {
            Stage::Waiting(there) if there == cpu => {}
            Stage::Waiting(there) => {
                self.observer.on(at_ns, Event::migrated(task, CpuId(there), CpuId(cpu)));
                *self.stage(task) = Stage::Waiting(cpu);
            }
            Stage::Running(there) if there == cpu => {}
            Stage::Running(there) => {
                // It left that CPU without an event.
                self.blocked(at_ns, there, task, BlockReason::Interruptible);
                self.switched(at_ns, there, Some(task), false, None);
                self.woken(at_ns, task, cpu, interrupt);
            }
            Stage::Asleep | Stage::Dead => self.woken(at_ns, task, cpu, interrupt),
        }
        Some(task)
    }

    /// Makes `task_ref` the current task of `cpu` if another was assumed to be.
    fn runs(&mut self, at_ns: u64, cpu: u32, task_ref: TaskRef<'_>) {
        let believed = self.running.get(&cpu).copied();
        if believed.map_or(0, |task| self.tasks[task.index()].pid) == task_ref.pid {
            return;
        }
        if let Some(believed) = believed {
            self.blocked(at_ns, cpu, believed, BlockReason::Interruptible);
            if task_ref.pid == 0 {
                self.switched(at_ns, cpu, Some(believed), false, None);
                return;
            }
        }
        let task = self.waits(at_ns, cpu, task_ref);
        self.switched(at_ns, cpu, believed, false, task);
    }

    fn begin(&mut self) {
        self.has_begun = true;
        for (cpu, (pid, prio, name)) in std::mem::take(&mut self.opening.first) {
            if pid != 0 {
                let task = self.born(0, pid, prio, &name, cpu);
                self.switched(0, cpu, None, false, Some(task));
            }
        }
    }
}

impl<O: Observer> Sink for Events<O> {
    fn record(&mut self, record: &Record<'_>) {
        let Record { cpu, current, context, tracepoint, .. } = *record;
        let at_ns = record.at_ns.saturating_sub(self.opening.began_ns.unwrap_or(0));
        if !self.has_begun {
            self.begin();
        }
        match tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                self.runs(at_ns, cpu, prev);
                let left = self.running.get(&cpu).copied();
                if prev.pid == next.pid {
                    return;
                }
                // It may have been renamed or have another priority.
                if prev.pid != 0 {
                    self.find(at_ns, prev);
                }
                let reason = match prev_state {
                    _ if prev_state.is_runnable() => None,
                    State::Uninterruptible | State::Idle => Some(BlockReason::Uninterruptible),
                    State::Stopped | State::Traced | State::Parked => Some(BlockReason::Stopped),
                    State::Dead | State::Zombie => Some(BlockReason::Dead),
                    _ => Some(BlockReason::Interruptible),
                };
                if let Some(left) = left {
                    match reason {
                        Some(reason) => self.blocked(at_ns, cpu, left, reason),
                        None => *self.stage(left) = Stage::Waiting(cpu),
                    }
                }
                let next = self.waits(at_ns, cpu, next);
                self.switched(at_ns, cpu, left, reason.is_none(), next);
            }
            Tracepoint::Waking { task, target_cpu } if self.opening.wakeups == 0 => {
                self.wakes(at_ns, cpu, current, context.is_interrupt(), task, target_cpu);
            }
            Tracepoint::Wakeup { task, target_cpu } => {
                self.wakes(at_ns, cpu, current, context.is_interrupt(), task, target_cpu);
            }
            Tracepoint::WakeupNew { task, target_cpu } => {
                if task.pid != 0 && self.find(at_ns, task).is_none() {
                    self.born(at_ns, task.pid, task.prio, task.comm, target_cpu.unwrap_or(cpu));
                }
            }
            Tracepoint::Migrate { task, dest_cpu, .. } => {
                if let Some(task) = self.find(at_ns, task)
                    && let Stage::Waiting(from) = *self.stage(task)
                    && from != dest_cpu
                {
                    let (from, to) = (CpuId(from), CpuId(dest_cpu));
                    self.observer.on(at_ns, Event::migrated(task, from, to));
                    *self.stage(task) = Stage::Waiting(dest_cpu);
                }
            }
            Tracepoint::Fork { parent, child } => {
                self.parents.insert(child.pid, parent.pid);
            }
            Tracepoint::Waking { .. }
            | Tracepoint::Exec { .. }
            | Tracepoint::Exit { .. }
            | Tracepoint::Runtime { .. } => {}
        }
    }

    fn finish(&mut self, at_ns: u64) {
        if !self.has_begun {
            self.begin();
        }
        let at_ns = at_ns.saturating_sub(self.opening.began_ns.unwrap_or(0));
        self.observer.on(at_ns, Event::Finished);
    }
}

impl<O: Observer> Events<O> {
    fn wakes(
        &mut self,
        at_ns: u64,
        cpu: u32,
        current: TaskRef<'_>,
        in_interrupt: bool,
        task_ref: TaskRef<'_>,
        target_cpu: Option<u32>,
    ) {
        let target_cpu = target_cpu.unwrap_or(cpu);
        if task_ref.pid == 0 {
            return;
        }
        let Some(task) = self.find(at_ns, task_ref) else {
            self.born(at_ns, task_ref.pid, task_ref.prio, task_ref.comm, target_cpu);
            return;
        };
        if *self.stage(task) == Stage::Asleep {
            let by = self.by_pid.get(&current.pid).filter(|_| !in_interrupt).copied();
            let cpu = CpuId(cpu);
            let waker = match by {
                Some(task) => Waker::Task { task, cpu, sync: false },
                None => Waker::Interrupt { cpu },
            };
            self.woken(at_ns, task, target_cpu, waker);
        }
    }
}
