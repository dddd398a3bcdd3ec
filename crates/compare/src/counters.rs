//! Measures a simulated run as the kernel's own counters and the clock of a load generator measure
//! a real one: [`RunCounters`], an observer.

use super::places::{RunInterval, Trace, Wakeup};
use schedlab_core::{BlockReason, Event, Observer, TaskId, Waker};

/// Maximum number of rows of each kind in a trace.
const ROWS_MOST: usize = 2_000_000;

/// Counters of a task.
#[derive(Clone, Debug, Default)]
pub struct TaskCounters {
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Time runnable without a CPU, ns.
    pub waiting_ns: u64,
    /// Number of times that it got a CPU.
    pub scheduled_in: u64,
    /// Switches at which it slept.
    pub voluntary: u64,
    /// Switches at which it was preempted.
    pub involuntary: u64,
    /// Time at which it ended. `None`: it did not end before the run.
    pub end_ns: Option<u64>,
    /// For each wakeup by a timer except the first of the run, the time from its expiry to the
    /// first instruction, ns.
    pub latencies_ns: Vec<u64>,
    /// Time since which it waits for a wakeup.
    waits_since_ns: Option<u64>,
    /// Time of the wakeup whose latency is being measured, ns.
    woken_ns: Option<u64>,
    /// Whether it was woken before.
    begun: bool,
}

/// The observer. Time 0 of the workload is at `origin_ns`; earlier events do not count.
#[derive(Clone, Debug)]
pub struct RunCounters {
    origin_ns: u64,
    /// Time from the switch to a task to its first instruction, ns.
    entry_ns: u64,
    /// Whether this time is multiplied by the number of busy CPUs.
    pub takes_turns: bool,
    /// Tasks by number.
    pub tasks: Vec<TaskCounters>,
    /// The task that runs on each CPU, and since when.
    current: Vec<Option<(TaskId, u64)>>,
    /// The task that had each CPU; without names.
    pub trace: Trace,
}

impl RunCounters {
    /// Counters of a machine of `cpus` CPUs before a run. `window_ns`: length of the trace.
    pub fn new(cpus: u32, origin_ns: u64, entry_ns: u64, window_ns: u64) -> RunCounters {
        RunCounters {
            origin_ns,
            entry_ns,
            takes_turns: false,
            tasks: vec![],
            current: vec![None; cpus as usize],
            trace: Trace { window_ns, ..Trace::default() },
        }
    }

    fn task(&mut self, task: TaskId) -> &mut TaskCounters {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, TaskCounters::default());
        }
        &mut self.tasks[task.index()]
    }

    /// Returns the part of an interval that counts, ns.
    fn counted(&self, from_ns: u64, to_ns: u64) -> u64 {
        to_ns.saturating_sub(from_ns.max(self.origin_ns))
    }

    fn leaves(&mut self, now_ns: u64, cpu: usize) {
        let Some((task, since_ns)) = self.current[cpu].take() else { return };
        let counted_ns = self.counted(since_ns, now_ns);
        let row = self.task(task);
        row.cpu_ns += counted_ns;
        let start_ns = since_ns.saturating_sub(self.origin_ns);
        let end_ns = now_ns.saturating_sub(self.origin_ns);
        let window_ns = self.trace.window_ns;
        if end_ns > start_ns && start_ns < window_ns && self.trace.intervals.len() < ROWS_MOST {
            let (cpu, task) = (cpu as u32, task.0);
            self.trace.intervals.push(RunInterval {
                cpu,
                start_ns,
                end_ns: end_ns.min(window_ns),
                task,
            });
        }
    }

    fn waits(&mut self, now_ns: u64, task: TaskId) {
        self.task(task).waits_since_ns = Some(now_ns);
    }

    fn stops_waiting(&mut self, now_ns: u64, task: TaskId) {
        if let Some(since_ns) = self.task(task).waits_since_ns.take() {
            let counted_ns = self.counted(since_ns, now_ns);
            self.task(task).waiting_ns += counted_ns;
        }
    }

    /// Ends the run.
    pub fn finish(&mut self, now_ns: u64) {
        for cpu in 0..self.current.len() {
            self.leaves(now_ns, cpu);
        }
        for task in 0..self.tasks.len() as u32 {
            self.stops_waiting(now_ns, TaskId(task));
        }
        self.trace.intervals.sort_by_key(|interval| (interval.start_ns, interval.cpu));
    }
}

impl Observer for RunCounters {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        let counts = now_ns >= self.origin_ns;
        match event {
            Event::Started { task, .. } => self.waits(now_ns, task),
            Event::Woken { task, cpu, waker, .. } => {
                self.waits(now_ns, task);
                if !counts {
                    return;
                }
                let by_timer = matches!(waker, Waker::Interrupt { .. } | Waker::Process { .. });
                let row = self.task(task);
                if row.begun && by_timer {
                    row.woken_ns = Some(now_ns);
                }
                row.begun = true;
                let at_ns = now_ns - self.origin_ns;
                if at_ns < self.trace.window_ns && self.trace.wakeups.len() < ROWS_MOST {
                    self.trace.wakeups.push(Wakeup { at_ns, task: task.0, cpu: cpu.0 });
                }
            }
            Event::Blocked { task, reason: BlockReason::Dead, .. } | Event::Killed { task } => {
                let at_ns = now_ns.saturating_sub(self.origin_ns);
                self.task(task).end_ns = Some(at_ns);
            }
            Event::Switched { cpu, prev, prev_runnable, next, .. } => {
                self.leaves(now_ns, cpu.index());
                if let Some(task) = prev {
                    if prev_runnable {
                        self.waits(now_ns, task);
                    }
                    if counts {
                        let row = self.task(task);
                        let switches =
                            if prev_runnable { &mut row.involuntary } else { &mut row.voluntary };
                        *switches += 1;
                    }
                }
                if let Some(task) = next {
                    self.stops_waiting(now_ns, task);
                    self.current[cpu.index()] = Some((task, now_ns));
                    let busy = match self.takes_turns {
                        true => self.current.iter().flatten().count() as u64,
                        false => 1,
                    };
                    let entry_ns = self.entry_ns * busy;
                    let row = self.task(task);
                    row.scheduled_in += u64::from(counts);
                    if let Some(woken_ns) = row.woken_ns.take() {
                        row.latencies_ns.push(now_ns - woken_ns + entry_ns);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::CpuId;

    #[test]
    fn what_was_before_the_workload_does_not_count() {
        let mut seen = RunCounters::new(1, 1_000, 5, 10_000);
        let (cpu, a, b) = (CpuId(0), TaskId(0), TaskId(1));
        let timer = Waker::Interrupt { cpu };
        seen.on(0, Event::started(a, cpu));
        seen.on(0, Event::switched(cpu, None, false, Some(a)));
        seen.on(10, Event::switched(cpu, Some(a), false, None));
        // It begins by waking, for which no latency is counted.
        seen.on(1_000, Event::woken(a, cpu, timer));
        seen.on(1_100, Event::switched(cpu, None, false, Some(a)));
        seen.on(1_500, Event::switched(cpu, Some(a), false, Some(b)));
        seen.on(2_000, Event::woken(a, cpu, timer));
        seen.on(2_300, Event::switched(cpu, Some(b), true, Some(a)));
        seen.finish(3_000);
        let row = &seen.tasks[0];
        assert_eq!((row.cpu_ns, row.waiting_ns), (400 + 700, 100 + 300));
        assert_eq!((row.scheduled_in, row.voluntary, row.involuntary), (2, 1, 0));
        assert_eq!(row.latencies_ns, [305]);
        assert_eq!((seen.tasks[1].involuntary, seen.tasks[1].waiting_ns), (1, 700));
        assert_eq!(seen.trace.intervals.len(), 3);
    }
}
