//! Hidden dependencies: tasks that run ahead of others in a replay.
//!
//! A consumer that was never fast enough to sleep while its producer worked shows no edge, so a
//! replay that gives it more CPU time lets it overtake the producer. The trace does not show what
//! the consumer would have waited for, but it shows that the consumer runs ahead. Whenever the
//! consumer goes to sleep until the producer's next edge, the producer has done a certain amount of
//! its work. If that is less than in the recording, the consumer has reached this point earlier, by
//! the producer's own clock.

use crate::program::Workload;
use crate::trace::{SleepKind, Trace};
use schedlab_core::{BlockReason, Event, Observer, TaskId};
use std::collections::BTreeMap;

/// Shortfall against the recording from which a sleeper counts as ahead, ns of the waker's CPU
/// time.
pub const AHEAD_NS: u64 = 10_000_000;

/// Stretch of CPU time: beginning, end, and the task's CPU time before it, ns.
pub type Stretch = (u64, u64, u64);

/// Returns the CPU time that a task has received by `at_ns`.
fn done_by(stretches: &[Stretch], at_ns: u64) -> u64 {
    let after = stretches.partition_point(|&(from_ns, ..)| from_ns < at_ns);
    match stretches[..after].last() {
        Some(&(from_ns, to_ns, before_ns)) => before_ns + at_ns.min(to_ns) - from_ns,
        None => 0,
    }
}

#[derive(Clone, Debug, Default)]
struct TaskProgress {
    stretches: Vec<Stretch>,
    running: Option<u64>,
    done_ns: u64,
    /// Time at which the task went to sleep, and its CPU time until then, ns.
    sleeps: Vec<(u64, u64)>,
}

/// Observer that records the CPU time of each task of a run over time, and its sleeps.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    tasks: Vec<TaskProgress>,
}

impl Progress {
    /// Returns the stretches of CPU time of `task`, in the order of time.
    pub fn stretches(&self, task: TaskId) -> &[Stretch] {
        self.tasks.get(task.index()).map_or(&[], |own| &own.stretches)
    }

    fn own(&mut self, task: TaskId) -> &mut TaskProgress {
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, TaskProgress::default);
        }
        &mut self.tasks[task.index()]
    }
}

impl Observer for Progress {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Blocked { task, reason, .. } if reason != BlockReason::Dead => {
                let own = self.own(task);
                let here_ns = own.running.map_or(0, |since_ns| now_ns - since_ns);
                own.sleeps.push((own.done_ns + here_ns, now_ns));
            }
            Event::Switched { prev, next, .. } => {
                if let Some(prev) = prev {
                    let own = self.own(prev);
                    if let Some(since_ns) = own.running.take() {
                        own.stretches.push((since_ns, now_ns, own.done_ns));
                        own.done_ns += now_ns - since_ns;
                    }
                }
                if let Some(next) = next {
                    self.own(next).running = Some(now_ns);
                }
            }
            Event::Finished => {
                for own in &mut self.tasks {
                    if let Some(since_ns) = own.running.take() {
                        own.stretches.push((since_ns, now_ns, own.done_ns));
                        own.done_ns += now_ns - since_ns;
                    }
                }
            }
            _ => {}
        }
    }
}

/// Number of times that tasks of one name reached the point where tasks of another name wake them,
/// and number of times that they were ahead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overtaking {
    /// Name of the waking tasks.
    pub waker: String,
    /// Name of the woken tasks, which may run ahead.
    pub sleeper: String,
    /// Number of edges that follow another one from the same task to the same task.
    pub edges: u64,
    /// Number of edges before which the waker had done less than in the recording, by more than
    /// [`AHEAD_NS`].
    pub ahead: u64,
}

impl Overtaking {
    /// Whether this happens often enough to be reported: for more than one of twenty edges.
    pub fn is_much(&self) -> bool {
        20 * self.ahead > self.edges
    }
}

/// Returns the tasks that ran ahead of others in a run of the unchanged workload. `task_of` has the
/// task of the run by index in [`Workload::tasks`]. `None`: it was never created.
pub fn overtaking(
    trace: &Trace,
    workload: &Workload,
    progress: &Progress,
    task_of: &[Option<TaskId>],
) -> Vec<Overtaking> {
    let mut places: Vec<Option<usize>> = vec![None; trace.tasks.len()];
    for (place, program) in workload.tasks.iter().enumerate() {
        places[program.task as usize] = Some(place);
    }
    let in_run = |task: usize| {
        let id = task_of[places[task]?]?;
        progress.tasks.get(id.index())
    };
    let mut recorded: BTreeMap<u32, Vec<Stretch>> = BTreeMap::new();
    let mut found: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for (number, task) in trace.tasks.iter().enumerate() {
        let Some(own) = in_run(number) else { continue };
        let mut done_ns = 0;
        let before = task.before.iter().filter(|sleep| sleep.kind == SleepKind::Edge);
        let mut known: Vec<u32> = before.filter_map(|sleep| sleep.waker).collect();
        for (burst, sleep) in task.bursts().zip(task.sleeps()) {
            done_ns += burst.cpu_ns;
            let Some(waker) = sleep.waker.filter(|_| sleep.kind == SleepKind::Edge) else {
                continue;
            };
            if !known.contains(&waker) {
                known.push(waker);
                continue;
            }
            let Some(of_waker) = in_run(waker as usize) else { continue };
            let edges = found.entry((waker, number as u32)).or_default();
            edges.0 += 1;
            // If the task has not gone to sleep here, it was woken before: it is behind.
            let last = own.sleeps.partition_point(|&(at, _)| at <= done_ns);
            let here = own.sleeps[..last].last().filter(|(at, _)| *at == done_ns);
            let Some(&(_, at_ns)) = here else { continue };
            let was = recorded.entry(waker).or_insert_with(|| {
                let mut before_ns = 0;
                let slices = trace.tasks[waker as usize].all_slices();
                slices
                    .map(|slice| {
                        let stretch = (slice.from_ns, slice.to_ns, before_ns);
                        before_ns += slice.to_ns - slice.from_ns;
                        stretch
                    })
                    .collect()
            });
            let then_ns = done_by(was, sleep.at_ns);
            edges.1 += u64::from(done_by(&of_waker.stretches, at_ns) + AHEAD_NS < then_ns);
        }
    }
    let mut by_name: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for ((waker, sleeper), (edges, ahead)) in found {
        let name = |task: u32| trace.tasks[task as usize].name.as_str();
        let sum = by_name.entry((name(waker), name(sleeper))).or_default();
        *sum = (sum.0 + edges, sum.1 + ahead);
    }
    let row = |((waker, sleeper), (edges, ahead)): ((&str, &str), (u64, u64))| Overtaking {
        waker: waker.into(),
        sleeper: sleeper.into(),
        edges,
        ahead,
    };
    by_name.into_iter().map(row).collect()
}
