//! Statistics of groups of tasks, in the same terms for a trace and for a run: [`TaskStats`].

use crate::program::{Program, Step};
use crate::responses::Responses;
use crate::trace::{Origin, Task, Trace};
use schedlab_core::{BlockReason, Event, Observer, TaskId};

/// Shortest wait for a CPU after a wakeup that counts as a long wait, ns.
pub const LONG_WAIT_NS: u64 = 1_000_000;

/// Statistics of one task, or of several together. Times are in ns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskStats {
    /// CPU time.
    pub cpu_ns: u64,
    /// Time at which one of the tasks first got a CPU. `None`: none did.
    pub start_ns: Option<u64>,
    /// Time at which one of the tasks was last taken off a CPU.
    pub end_ns: u64,
    /// Time runnable without a CPU.
    pub wait_ns: u64,
    /// Number of wakeups.
    pub wakeups: u64,
    /// Number of wakeups after which a task waited a millisecond or longer.
    pub long_waits: u64,
    /// Number of preemptions: slices of a burst, minus one.
    pub preemptions: u64,
    /// Latency from each wakeup to the CPU, ns.
    pub latencies: Vec<u64>,
    /// Requests: times from the arrival to the next sleep, and round trips, ns.
    pub requests: Responses,
}

impl TaskStats {
    /// Adds the statistics of another task.
    pub fn add(&mut self, other: &TaskStats) {
        self.cpu_ns += other.cpu_ns;
        self.start_ns = [self.start_ns, other.start_ns].into_iter().flatten().min();
        self.end_ns = self.end_ns.max(other.end_ns);
        self.wait_ns += other.wait_ns;
        self.wakeups += other.wakeups;
        self.long_waits += other.long_waits;
        self.preemptions += other.preemptions;
        self.latencies.extend(&other.latencies);
        self.requests.served.extend(&other.requests.served);
        self.requests.round_trips.extend(&other.requests.round_trips);
    }

    /// Returns the time from the first to the last nanosecond on a CPU, ns.
    pub fn run_ns(&self) -> u64 {
        self.start_ns.map_or(0, |start_ns| self.end_ns.saturating_sub(start_ns))
    }

    fn latency(&mut self, ns: u64) {
        self.latencies.push(ns);
        self.long_waits += u64::from(ns >= LONG_WAIT_NS);
    }

    /// Returns the statistics of a task of a trace.
    pub fn of_task(trace: &Trace, task: &Task) -> TaskStats {
        let mut stats = TaskStats::default();
        for burst in task.bursts() {
            let slices = task.slices(&burst);
            let pieces = slices.len();
            let mut runnable_ns = burst.wake_ns;
            for slice in slices {
                stats.start_ns.get_or_insert(slice.from_ns);
                stats.wait_ns += slice.from_ns.saturating_sub(runnable_ns);
                runnable_ns = slice.to_ns;
                stats.end_ns = stats.end_ns.max(slice.to_ns);
            }
            if burst.state.is_none() {
                stats.wait_ns += trace.span_ns.saturating_sub(runnable_ns);
            }
            stats.cpu_ns += burst.cpu_ns;
            stats.preemptions += pieces.saturating_sub(1) as u64;
            if burst.is_woken {
                stats.wakeups += 1;
                if let Some(first_ns) = burst.first_ns {
                    stats.latency(first_ns.saturating_sub(burst.wake_ns));
                }
            }
        }
        stats
    }

    /// Returns the latency that `percent` of the wakeups do not exceed, ns. `None`: there are fewer
    /// than 10 wakeups for the median, 30 for 90 %, 100 for 99 %. The result is at least 50 µs: an
    /// idle CPU needs 3 to 15 µs to wake, an idealised machine none.
    pub fn percentile(&self, percent: u32) -> Option<u64> {
        const FLOOR_NS: u64 = 50_000;
        percentile(&self.latencies, percent).map(|value| value.max(FLOOR_NS))
    }
}

/// Returns the value that `percent` per cent of `values` do not exceed. `None`: there are fewer
/// than 10 values for the median, 30 for up to 95 %, 100 for more.
pub fn percentile(values: &[u64], percent: u32) -> Option<u64> {
    let needed = match percent {
        0..=50 => 10,
        51..=95 => 30,
        _ => 100,
    };
    let count = values.len();
    if count < needed {
        return None;
    }
    let mut sorted = values.to_vec();
    let at = (count * percent as usize).div_ceil(100).clamp(1, count) - 1;
    let (_, value, _) = sorted.select_nth_unstable(at);
    Some(*value)
}

/// Whether the task was asleep when the trace began. Its first burst in a run then only serves to
/// begin the sleep.
pub fn begins_asleep(program: &Program, trace: &Trace) -> bool {
    let origin = trace.tasks[program.task as usize].origin;
    matches!(origin, Origin::Before | Origin::Gap)
        && matches!(program.steps.first(), Some(Step::Timer(_) | Step::Wait(_)))
}

/// Task of a run.
#[derive(Clone, Debug, Default)]
struct RunTask {
    stats: TaskStats,
    /// Since when it has been on a CPU, ns.
    running: Option<u64>,
    /// Time since which it has been runnable without a CPU, ns.
    waiting: Option<u64>,
    /// Time of its last wakeup, ns, if it has not been on a CPU since.
    woken: Option<u64>,
    /// Number of slices of the burst so far.
    slices: u64,
    /// Time at which it was first enqueued, ns.
    started_ns: u64,
    /// Time that it waited for its first CPU, ns.
    first_wait_ns: u64,
    /// Whether it has been on a CPU.
    was_on: bool,
    /// Whether it has been woken.
    was_woken: bool,
    /// Times at which it first got a CPU at all, and after a wakeup, ns.
    first_on: [Option<u64>; 2],
}

/// Observer that collects statistics of a run.
#[derive(Clone, Debug, Default)]
pub struct StatsObserver {
    tasks: Vec<RunTask>,
}

impl StatsObserver {
    /// Discards the statistics so far: the observed period begins at `now_ns`.
    pub fn begin(&mut self, now_ns: u64) {
        for own in &mut self.tasks {
            own.stats = TaskStats::default();
            own.running = own.running.map(|_| now_ns);
            own.first_on = [own.running; 2];
            own.waiting = own.waiting.map(|_| now_ns);
            own.woken = own.woken.map(|_| now_ns);
            own.slices = u64::from(own.running.is_some());
            own.first_wait_ns = 0;
        }
    }

    fn own(&mut self, task: TaskId) -> &mut RunTask {
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, RunTask::default);
        }
        &mut self.tasks[task.index()]
    }

    /// Returns the CPU time of `task` up to `now_ns`, ns.
    pub fn cpu_ns(&self, task: TaskId, now_ns: u64) -> u64 {
        self.tasks.get(task.index()).map_or(0, |own| {
            own.stats.cpu_ns + own.running.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
        })
    }

    /// Returns the statistics of `task`, which executes `program`, when the run ended at `end_ns`.
    pub fn stats(&self, task: TaskId, program: &Program, trace: &Trace, end_ns: u64) -> TaskStats {
        let Some(own) = self.tasks.get(task.index()) else { return TaskStats::default() };
        let mut stats = own.stats.clone();
        if let Some(since_ns) = own.running {
            stats.cpu_ns += end_ns.saturating_sub(since_ns);
            stats.end_ns = end_ns;
        }
        if let Some(since_ns) = own.waiting {
            stats.wait_ns += end_ns.saturating_sub(since_ns);
        }
        let origin = trace.tasks[program.task as usize].origin;
        let begins_asleep = begins_asleep(program, trace);
        stats.start_ns = own.first_on[usize::from(begins_asleep)];
        if begins_asleep {
            stats.wait_ns = stats.wait_ns.saturating_sub(own.first_wait_ns);
        } else if matches!(origin, Origin::Forked | Origin::Born) && own.was_on {
            stats.wakeups += 1;
            stats.latency(own.first_wait_ns);
        }
        stats
    }
}

impl Observer for StatsObserver {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Started { task, .. } => {
                let own = self.own(task);
                (own.waiting, own.started_ns, own.slices) = (Some(now_ns), now_ns, 0);
            }
            Event::Woken { task, .. } => {
                let own = self.own(task);
                own.slices = 0;
                own.was_woken = true;
                own.stats.wakeups += 1;
                if own.running.is_none() {
                    (own.waiting, own.woken) = (Some(now_ns), Some(now_ns));
                } else {
                    own.stats.latency(0);
                }
            }
            Event::Blocked { task, reason, .. } if reason != BlockReason::Dead => {
                self.own(task).slices = 0;
            }
            Event::Switched { prev, prev_runnable, next, .. } => {
                if let Some(prev) = prev {
                    let own = self.own(prev);
                    if let Some(since_ns) = own.running.take() {
                        own.stats.cpu_ns += now_ns - since_ns;
                        own.stats.end_ns = now_ns;
                    }
                    if prev_runnable {
                        own.waiting = Some(now_ns);
                    }
                }
                if let Some(next) = next {
                    let own = self.own(next);
                    own.running = Some(now_ns);
                    own.first_on[0].get_or_insert(now_ns);
                    if own.was_woken {
                        own.first_on[1].get_or_insert(now_ns);
                    }
                    let waited_ns = own.waiting.take().map_or(0, |since_ns| now_ns - since_ns);
                    own.stats.wait_ns += waited_ns;
                    if !own.was_on {
                        (own.was_on, own.first_wait_ns) = (true, waited_ns);
                    }
                    if let Some(woken_ns) = own.woken.take() {
                        own.stats.latency(now_ns - woken_ns);
                    }
                    own.stats.preemptions += u64::from(own.slices > 0);
                    own.slices += 1;
                }
            }
            Event::Killed { task } => self.own(task).waiting = None,
            _ => {}
        }
    }
}
