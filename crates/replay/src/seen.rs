//! What was seen of groups of tasks, in a trace and in a run in the same terms: [`Seen`].

use crate::program::{Program, Step};
use crate::trace::{Origin, Task, Trace};
use schedlab_core::{BlockReason, Event, Observer, TaskId};

/// A wakeup whose task waits so long for a CPU is a long wait, ns.
pub const LONG_WAIT_NS: u64 = 1_000_000;

/// What was seen of one task, or of several together. Times in ns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// CPU time.
    pub cpu_ns: u64,
    /// When one of them was last taken off a CPU.
    pub end_ns: u64,
    /// Time runnable without a CPU.
    pub wait_ns: u64,
    /// Wakeups.
    pub wakeups: u64,
    /// Wakeups after which a task waited a millisecond or longer.
    pub long_waits: u64,
    /// Preemptions: slices of a burst but one.
    pub preemptions: u64,
    /// From each wakeup to the CPU, ns.
    pub latencies: Vec<u64>,
}

impl Seen {
    /// Adds another's.
    pub fn add(&mut self, other: &Seen) {
        self.cpu_ns += other.cpu_ns;
        self.end_ns = self.end_ns.max(other.end_ns);
        self.wait_ns += other.wait_ns;
        self.wakeups += other.wakeups;
        self.long_waits += other.long_waits;
        self.preemptions += other.preemptions;
        self.latencies.extend(&other.latencies);
    }

    fn latency(&mut self, ns: u64) {
        self.latencies.push(ns);
        self.long_waits += u64::from(ns >= LONG_WAIT_NS);
    }

    /// Of a task of a trace.
    pub fn of_task(trace: &Trace, task: &Task) -> Seen {
        let mut seen = Seen::default();
        for burst in task.bursts() {
            let slices = task.slices(&burst);
            let pieces = slices.len();
            let mut runnable_ns = burst.wake_ns;
            for slice in slices {
                seen.wait_ns += slice.from_ns.saturating_sub(runnable_ns);
                runnable_ns = slice.to_ns;
                seen.end_ns = seen.end_ns.max(slice.to_ns);
            }
            if burst.state.is_none() {
                seen.wait_ns += trace.span_ns.saturating_sub(runnable_ns);
            }
            seen.cpu_ns += burst.cpu_ns;
            seen.preemptions += pieces.saturating_sub(1) as u64;
            if burst.is_woken {
                seen.wakeups += 1;
                if let Some(first_ns) = burst.first_ns {
                    seen.latency(first_ns.saturating_sub(burst.wake_ns));
                }
            }
        }
        seen
    }

    /// The latency that `percent` of the wakeups do not exceed, ns; none if there are fewer than
    /// 10 wakeups for the median, 30 for 90 %, 100 for 99 %. At least 50 µs: an idle CPU needs 3
    /// to 15 µs to wake, an idealised machine none.
    pub fn percentile(&self, percent: u32) -> Option<u64> {
        const FLOOR_NS: u64 = 50_000;
        let needed = match percent {
            0..=50 => 10,
            51..=90 => 30,
            _ => 100,
        };
        let count = self.latencies.len();
        if count < needed {
            return None;
        }
        let mut sorted = self.latencies.clone();
        let at = (count * percent as usize).div_ceil(100).clamp(1, count) - 1;
        let (_, value, _) = sorted.select_nth_unstable(at);
        Some((*value).max(FLOOR_NS))
    }
}

/// Whether the task was asleep when the trace began, so that its first turn in a run is only there
/// to begin with sleeping.
pub fn begins_asleep(program: &Program, trace: &Trace) -> bool {
    let origin = trace.tasks[program.task as usize].origin;
    matches!(origin, Origin::Before | Origin::Gap)
        && matches!(program.steps.first(), Some(Step::Timer(_) | Step::Wait(_)))
}

/// A task of a run.
#[derive(Clone, Debug, Default)]
struct Own {
    seen: Seen,
    /// On a CPU since, ns.
    running: Option<u64>,
    /// Runnable without one since, ns.
    waiting: Option<u64>,
    /// It was woken then, ns, and has not been on a CPU since.
    woken: Option<u64>,
    /// Slices of the burst so far.
    slices: u64,
    /// When it came to its first queue, ns.
    started_ns: u64,
    /// What it waited for its first CPU, ns.
    first_wait_ns: u64,
    /// It has been on a CPU.
    was_on: bool,
}

/// Observes a run.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    tasks: Vec<Own>,
}

impl Watcher {
    /// What was seen so far does not count: what is watched begins at `now_ns`.
    pub fn begin(&mut self, now_ns: u64) {
        for own in &mut self.tasks {
            own.seen = Seen::default();
            own.running = own.running.map(|_| now_ns);
            own.waiting = own.waiting.map(|_| now_ns);
            own.woken = own.woken.map(|_| now_ns);
            own.slices = u64::from(own.running.is_some());
            own.first_wait_ns = 0;
        }
    }

    fn own(&mut self, task: TaskId) -> &mut Own {
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, Own::default);
        }
        &mut self.tasks[task.index()]
    }

    /// CPU time of `task` up to `now_ns`, ns.
    pub fn cpu_ns(&self, task: TaskId, now_ns: u64) -> u64 {
        self.tasks.get(task.index()).map_or(0, |own| {
            own.seen.cpu_ns + own.running.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
        })
    }

    /// What was seen of `task`, which does what `program` says, when the run ended at `end_ns`.
    pub fn seen(&self, task: TaskId, program: &Program, trace: &Trace, end_ns: u64) -> Seen {
        let Some(own) = self.tasks.get(task.index()) else { return Seen::default() };
        let mut seen = own.seen.clone();
        if let Some(since_ns) = own.running {
            seen.cpu_ns += end_ns.saturating_sub(since_ns);
            seen.end_ns = end_ns;
        }
        if let Some(since_ns) = own.waiting {
            seen.wait_ns += end_ns.saturating_sub(since_ns);
        }
        let origin = trace.tasks[program.task as usize].origin;
        if begins_asleep(program, trace) {
            seen.wait_ns = seen.wait_ns.saturating_sub(own.first_wait_ns);
        } else if matches!(origin, Origin::Forked | Origin::Born) && own.was_on {
            seen.wakeups += 1;
            seen.latency(own.first_wait_ns);
        }
        seen
    }
}

impl Observer for Watcher {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, .. } => {
                let own = self.own(task);
                (own.waiting, own.started_ns, own.slices) = (Some(now_ns), now_ns, 0);
            }
            Event::Woken { task, .. } => {
                let own = self.own(task);
                own.slices = 0;
                own.seen.wakeups += 1;
                if own.running.is_none() {
                    (own.waiting, own.woken) = (Some(now_ns), Some(now_ns));
                } else {
                    own.seen.latency(0);
                }
            }
            Event::Blocked { task, reason, .. } if reason != BlockReason::Dead => {
                self.own(task).slices = 0;
            }
            Event::Switched { prev, prev_runnable, next, .. } => {
                if let Some(prev) = prev {
                    let own = self.own(prev);
                    if let Some(since_ns) = own.running.take() {
                        own.seen.cpu_ns += now_ns - since_ns;
                        own.seen.end_ns = now_ns;
                    }
                    if prev_runnable {
                        own.waiting = Some(now_ns);
                    }
                }
                if let Some(next) = next {
                    let own = self.own(next);
                    own.running = Some(now_ns);
                    let waited_ns = own.waiting.take().map_or(0, |since_ns| now_ns - since_ns);
                    own.seen.wait_ns += waited_ns;
                    if !own.was_on {
                        (own.was_on, own.first_wait_ns) = (true, waited_ns);
                    }
                    if let Some(woken_ns) = own.woken.take() {
                        own.seen.latency(now_ns - woken_ns);
                    }
                    own.seen.preemptions += u64::from(own.slices > 0);
                    own.slices += 1;
                }
            }
            Event::Killed { task } => self.own(task).waiting = None,
            _ => {}
        }
    }
}
