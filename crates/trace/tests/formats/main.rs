//! Every format is read by a reader that shares no code with its writer, and yields the figures of
//! the run's own report: CPU time, wakeups, switches and migrations of each task.

#[path = "../support/mod.rs"]
mod support;

mod chrome;
mod perfetto;
mod tables;
mod text;

use std::collections::BTreeMap;
use support::{Traced, Truth};

/// Figures of a task, counted by a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Time on CPUs, ns.
    pub cpu_ns: u64,
    /// Number of wakeups.
    pub wakeups: u64,
    /// Number of times that it got a CPU.
    pub switches_in: u64,
    /// Number of times that it got another CPU than before.
    pub migrations_cpu: u64,
    /// Whether it ended.
    pub ended: bool,
}

/// Counter of switches, in the order of time.
#[derive(Default)]
pub struct Counter {
    tasks: BTreeMap<u64, Counted>,
    running: BTreeMap<u64, (u64, u64)>,
    last_cpu: BTreeMap<u64, u64>,
    /// Number of switches, except closing ones.
    pub switches: u64,
    end_ns: u64,
}

impl Counter {
    /// Creates a counter for a run that ended at `end_ns`.
    pub fn new(end_ns: u64) -> Counter {
        Counter { end_ns, ..Counter::default() }
    }

    /// Takes a switch.
    pub fn switch(&mut self, at_ns: u64, cpu: u64, prev: u64, state: &str, next: u64) {
        let (ran, since_ns) = self.running.insert(cpu, (next, at_ns)).unwrap_or((0, 0));
        assert_eq!(ran, prev, "at {at_ns}: the task that leaves CPU {cpu} had it");
        assert!(at_ns >= since_ns, "time does not go back");
        if prev != 0 {
            let task = self.tasks.entry(prev).or_default();
            task.cpu_ns += at_ns - since_ns;
            task.ended |= state == "Z";
        }
        if next != 0 {
            let task = self.tasks.entry(next).or_default();
            task.switches_in += 1;
            if self.last_cpu.insert(next, cpu).is_some_and(|last| last != cpu) {
                task.migrations_cpu += 1;
            }
        }
        let closes = at_ns == self.end_ns && next == 0 && state == "R";
        let opens = prev == 0 && next == 0;
        self.switches += u64::from(!closes && !opens);
    }

    /// Takes a wakeup.
    pub fn wakeup(&mut self, task: u64) {
        self.tasks.entry(task).or_default().wakeups += 1;
    }

    /// Checks that all figures equal the report's.
    #[track_caller]
    pub fn agree(&self, truth: &Truth) {
        assert!(
            self.running.values().all(|&(pid, _)| pid == 0),
            "the last slice of every CPU is closed"
        );
        let switches: u64 = truth.report.cpus.iter().map(|cpu| cpu.switches).sum();
        assert_eq!(self.switches, switches, "{}", truth.scheduler);
        for task in &truth.report.tasks {
            let counted = self.tasks.get(&u64::from(task.task + 1)).copied().unwrap_or_default();
            let expected = Counted {
                cpu_ns: task.cpu_ns,
                wakeups: task.wakeups,
                switches_in: task.switches_in,
                migrations_cpu: task.migrations_cpu,
                ended: task.end_ns.is_some(),
            };
            assert_eq!(counted, expected, "{}: {}", truth.scheduler, task.name);
        }
        assert!(self.tasks.len() <= truth.report.tasks.len());
    }
}

/// Writes a trace of each of several worlds and passes it to `check`.
pub fn each(name: &str, check: impl Fn(&Traced)) {
    for world in support::worlds() {
        for scheduler in support::SCHEDULERS {
            check(&support::trace(&world, scheduler, name));
        }
    }
}
