//! The tasks and limits behind which other tasks wait, for `--explain`: [`WaitTimes`].

use crate::throttled::ThrottledGroups;
use schedlab_core::{BlockReason, CpuId, Event, GroupId, Observer, TaskId};
use std::collections::BTreeMap;

/// Cause of a task's wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Cause {
    pub task: TaskId,
    /// Task that has the CPU. `None`: the CPU is idle, or the task is throttled.
    pub runner: Option<TaskId>,
    /// Group that has used up its limit, so that the task could not run even on an idle CPU.
    pub throttled_by: Option<GroupId>,
    /// Whether it is the wait for its first CPU.
    pub is_first: bool,
}

/// State of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    /// Sleeping or dead.
    #[default]
    Away,
    /// Waiting in the queue of this CPU.
    Waits(CpuId),
    /// Running on this CPU.
    Runs(CpuId),
}

#[derive(Clone, Debug, Default)]
struct CpuQueue {
    current: Option<TaskId>,
    waiting: Vec<TaskId>,
    /// Time up to which waiting has been counted, ns.
    counted_ns: u64,
}

/// Observer that records which task has the CPU in whose queue another task waits, or which limit
/// keeps that task from running. A task in a queue that all CPUs share waits behind the current
/// task of the CPU where it was enqueued last.
#[derive(Clone, Debug)]
pub(super) struct WaitTimes {
    throttled: ThrottledGroups,
    places: Vec<Place>,
    queues: Vec<CpuQueue>,
    /// Whether the task has ever had a CPU, by task.
    has_run: Vec<bool>,
    /// Waiting time by cause, ns.
    times: BTreeMap<Cause, u64>,
}

impl WaitTimes {
    /// Returns an observer of a session that reports throttling.
    pub fn new(throttled: ThrottledGroups) -> WaitTimes {
        WaitTimes {
            throttled,
            places: vec![],
            queues: vec![],
            has_run: vec![],
            times: BTreeMap::new(),
        }
    }

    /// Returns all causes, with the waiting times, ns.
    pub fn times(&self) -> impl Iterator<Item = (&Cause, u64)> {
        self.times.iter().map(|(cause, &ns)| (cause, ns))
    }

    /// Counts the waiting on `cpu` up to now.
    fn queue(&mut self, now_ns: u64, cpu: CpuId) -> &mut CpuQueue {
        if cpu.index() >= self.queues.len() {
            self.queues.resize_with(cpu.index() + 1, CpuQueue::default);
        }
        let queue = &mut self.queues[cpu.index()];
        let passed_ns = now_ns - std::mem::replace(&mut queue.counted_ns, now_ns);
        if passed_ns > 0 {
            for &task in &queue.waiting {
                let is_first = !self.has_run[task.index()];
                let throttled_by = self.throttled.of(task, cpu).map(|row| row.change.group);
                let runner = queue.current.filter(|_| throttled_by.is_none());
                let cause = Cause { task, runner, throttled_by, is_first };
                *self.times.entry(cause).or_default() += passed_ns;
            }
        }
        queue
    }

    fn goes(&mut self, now_ns: u64, task: TaskId, to: Place) {
        if task.index() >= self.places.len() {
            self.places.resize(task.index() + 1, Place::Away);
            self.has_run.resize(task.index() + 1, false);
        }
        match std::mem::replace(&mut self.places[task.index()], to) {
            Place::Waits(cpu) => self.queue(now_ns, cpu).waiting.retain(|&other| other != task),
            Place::Runs(cpu) => self.queue(now_ns, cpu).current = None,
            Place::Away => {}
        }
        match to {
            Place::Waits(cpu) => self.queue(now_ns, cpu).waiting.push(task),
            Place::Runs(cpu) => {
                self.queue(now_ns, cpu).current = Some(task);
                self.has_run[task.index()] = true;
            }
            Place::Away => {}
        }
    }

    fn runs(&self, task: TaskId) -> bool {
        matches!(self.places.get(task.index()), Some(Place::Runs(_)))
    }
}

impl Observer for WaitTimes {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, cpu, .. } | Event::Woken { task, cpu, .. }
                if !self.runs(task) =>
            {
                self.goes(now_ns, task, Place::Waits(cpu));
            }
            Event::Migrated { task, to, .. }
                if matches!(self.places.get(task.index()), Some(Place::Waits(_))) =>
            {
                self.goes(now_ns, task, Place::Waits(to));
            }
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                if let Some(prev) = prev {
                    // A task that is woken in the nanosecond in which it blocked waits again.
                    match prev_runnable {
                        true => self.goes(now_ns, prev, Place::Waits(cpu)),
                        false => self.goes(now_ns, prev, Place::Away),
                    }
                }
                if let Some(next) = next {
                    self.goes(now_ns, next, Place::Runs(cpu));
                }
            }
            Event::Throttled { change } => _ = self.queue(now_ns, change.cpu),
            Event::GroupChanged { task, .. } | Event::AttrChanged { task, .. } => {
                if let Some(&Place::Waits(cpu)) = self.places.get(task.index()) {
                    self.queue(now_ns, cpu);
                }
            }
            Event::Killed { task } => self.goes(now_ns, task, Place::Away),
            Event::Blocked { task, reason: BlockReason::Dead, .. } if !self.runs(task) => {
                self.goes(now_ns, task, Place::Away);
            }
            Event::Finished => {
                for cpu in 0..self.queues.len() {
                    self.queue(now_ns, CpuId(cpu as u32));
                }
            }
            _ => {}
        }
        self.throttled.on(now_ns, &event);
    }
}
