//! Behind whom tasks wait: [`Behind`], for `--explain`.

use schedlab_core::{BlockReason, CpuId, Event, Observer, TaskId};
use std::collections::BTreeMap;

/// Where a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    /// It sleeps, or has ended.
    #[default]
    Away,
    /// It waits on this CPU's queue.
    Waits(CpuId),
    /// It has this CPU.
    Runs(CpuId),
}

#[derive(Clone, Debug, Default)]
struct Lane {
    current: Option<TaskId>,
    waiting: Vec<TaskId>,
    /// Up to when waiting has been counted, ns.
    counted_ns: u64,
}

/// Observes who has the CPU in whose queue a task waits. What waits in a queue that is all CPUs'
/// waits behind who has the CPU where it was put last.
#[derive(Clone, Debug, Default)]
pub struct Behind {
    places: Vec<Place>,
    lanes: Vec<Lane>,
    /// By task: it has had a CPU.
    has_run: Vec<bool>,
    /// By who waits, who runs (none: nobody), and whether it is the wait for the first CPU, ns.
    times: BTreeMap<(TaskId, Option<TaskId>, bool), u64>,
}

impl Behind {
    /// Who waited behind whom (none: an idle CPU), whether for its first CPU, and for how long, ns.
    pub fn times(&self) -> impl Iterator<Item = (TaskId, Option<TaskId>, bool, u64)> + '_ {
        self.times.iter().map(|(&(waits, runs, is_first), &ns)| (waits, runs, is_first, ns))
    }

    /// Counts the waiting on `cpu` up to now.
    fn lane(&mut self, now_ns: u64, cpu: CpuId) -> &mut Lane {
        if cpu.index() >= self.lanes.len() {
            self.lanes.resize_with(cpu.index() + 1, Lane::default);
        }
        let lane = &mut self.lanes[cpu.index()];
        let passed_ns = now_ns - std::mem::replace(&mut lane.counted_ns, now_ns);
        if passed_ns > 0 {
            for &task in &lane.waiting {
                let is_first = !self.has_run[task.index()];
                *self.times.entry((task, lane.current, is_first)).or_default() += passed_ns;
            }
        }
        lane
    }

    fn goes(&mut self, now_ns: u64, task: TaskId, to: Place) {
        if task.index() >= self.places.len() {
            self.places.resize(task.index() + 1, Place::Away);
            self.has_run.resize(task.index() + 1, false);
        }
        match std::mem::replace(&mut self.places[task.index()], to) {
            Place::Waits(cpu) => self.lane(now_ns, cpu).waiting.retain(|&other| other != task),
            Place::Runs(cpu) => self.lane(now_ns, cpu).current = None,
            Place::Away => {}
        }
        match to {
            Place::Waits(cpu) => self.lane(now_ns, cpu).waiting.push(task),
            Place::Runs(cpu) => {
                self.lane(now_ns, cpu).current = Some(task);
                self.has_run[task.index()] = true;
            }
            Place::Away => {}
        }
    }

    fn runs(&self, task: TaskId) -> bool {
        matches!(self.places.get(task.index()), Some(Place::Runs(_)))
    }
}

impl Observer for Behind {
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
                    // Who was woken in the nanosecond in which it blocked waits again.
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
                for cpu in 0..self.lanes.len() {
                    self.lane(now_ns, CpuId(cpu as u32));
                }
            }
            _ => {}
        }
    }
}
