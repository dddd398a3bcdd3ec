//! The tasks behind which other tasks wait, for `--explain`: [`WaitTimes`].

use schedlab_core::{BlockReason, CpuId, Event, Observer, TaskId};
use std::collections::BTreeMap;

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

/// Observer that records which task has the CPU in whose queue another task waits. A task in a
/// queue that all CPUs share waits behind the current task of the CPU where it was enqueued last.
#[derive(Clone, Debug, Default)]
pub struct WaitTimes {
    places: Vec<Place>,
    queues: Vec<CpuQueue>,
    /// Whether the task has ever had a CPU, by task.
    has_run: Vec<bool>,
    /// Waiting time by waiting task, running task (`None`: idle CPU) and whether it is the wait for
    /// the first CPU, ns.
    times: BTreeMap<(TaskId, Option<TaskId>, bool), u64>,
}

impl WaitTimes {
    /// Returns, for each pair, the waiting task, the task it waited behind (`None`: an idle CPU),
    /// whether it waited for its first CPU, and the waiting time, ns.
    pub fn times(&self) -> impl Iterator<Item = (TaskId, Option<TaskId>, bool, u64)> + '_ {
        self.times.iter().map(|(&(waits, runs, is_first), &ns)| (waits, runs, is_first, ns))
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
                *self.times.entry((task, queue.current, is_first)).or_default() += passed_ns;
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
    }
}
