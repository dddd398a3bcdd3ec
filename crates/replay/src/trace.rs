//! Contents of a recorded trace by task, before anything is inferred: [`Trace`]. Times are in ns
//! from the first event of the trace.

pub use crate::burst::{Act, ActKind, BEFORE, Burst, Sleep, SleepKind, Slice};

use crate::history::History;

/// Recorded trace as tasks with their bursts and sleeps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Time of the first event on the trace's own clock, ns.
    pub origin_ns: u64,
    /// Length, ns.
    pub span_ns: u64,
    /// Number of CPUs.
    pub cpus: u32,
    /// Tasks in the order in which they first appear.
    pub tasks: Vec<Task>,
    /// Number of breaks in the chain of switches.
    pub gaps: u64,
    /// CPU time within these gaps, ns.
    pub gap_ns: u64,
    /// Number of wakeups missing from the trace: a sleeping task was switched in.
    pub unseen: u64,
    /// Number of wakeups that ended a sleep.
    pub wakeups: u64,
    /// Number of switches.
    pub switches: u64,
    /// Number of events.
    pub events: u64,
    /// Time that CPUs were idle, ns.
    pub idle_ns: u64,
    /// Whether the trace distinguishes interrupts from tasks.
    pub has_contexts: bool,
    /// Whether the trace has `sched_waking` and `sched_wakeup`.
    pub form: [bool; 2],
    /// Tokens: wakeups of tasks that were about to wait. `true`: the task did not have to wait.
    pub tokens: Vec<bool>,
}

/// Task of a trace. A number that is used again is another task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Task {
    /// Number of the task.
    pub pid: u32,
    /// Number of earlier tasks with the same number.
    pub incarnation: u32,
    /// Last name of the task.
    pub name: String,
    /// Process of the task: the number of its first thread. `None`: not known.
    pub process: Option<u32>,
    /// Time of birth, or 0.
    pub born_ns: u64,
    /// How the task begins.
    pub origin: Origin,
    /// Parent, if known.
    pub forked_by: Option<usize>,
    /// Sleep that the task was in when the trace began.
    pub before: Option<Sleep>,
    /// Bursts, from a wakeup to the next sleep, and the sleeps.
    pub(crate) history: History,
    /// Initial priority.
    pub prio: Option<i32>,
    /// Whether the task exited.
    pub exited: bool,
    /// Whether it is a kernel thread.
    pub is_kernel: bool,
}

/// How a task begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// It existed when the trace began: asleep ([`Task::before`]), or runnable.
    #[default]
    Before,
    /// It first appeared after a gap.
    Gap,
    /// It was forked, and its parent's [`ActKind::Fork`] shows where.
    Forked,
    /// It was created at a point that its parent's history does not show.
    Born,
}

impl Task {
    /// Returns the number of bursts.
    pub fn burst_count(&self) -> usize {
        self.history.len()
    }

    /// Returns its bursts.
    pub fn bursts(&self) -> impl ExactSizeIterator<Item = Burst> {
        (0..self.history.len())
            .map(|at| self.history.burst(at).expect("the index is below the number of bursts"))
    }

    /// Returns its last burst.
    pub fn last_burst(&self) -> Option<Burst> {
        self.history.burst(self.history.len().checked_sub(1)?)
    }

    /// Returns its sleeps. The first follows the first burst, and so on.
    pub fn sleeps(&self) -> impl Iterator<Item = Sleep> {
        (0..self.history.len()).map_while(|at| self.history.sleep(at))
    }

    /// Returns the index of the burst in which the task is at `at_ns`.
    pub fn burst_at(&self, at_ns: u64) -> Option<u32> {
        self.history.burst_at(at_ns)
    }

    /// Returns the sleep with this number, or [`BEFORE`].
    pub fn sleep(&self, number: u32) -> Option<Sleep> {
        match number {
            BEFORE => self.before.clone(),
            at => self.history.sleep(at as usize),
        }
    }

    /// Returns the slices of the burst.
    pub fn slices(&self, burst: &Burst) -> impl ExactSizeIterator<Item = Slice> {
        self.history.slices(&burst.slices)
    }

    /// Returns the slices of all bursts.
    pub fn all_slices(&self) -> impl ExactSizeIterator<Item = Slice> {
        self.history.all_slices()
    }

    /// Returns the actions in the burst.
    pub fn acts(&self, burst: &Burst) -> impl ExactSizeIterator<Item = Act> {
        self.history.acts(&burst.acts)
    }

    /// Returns all sleeps whose end is known, with their numbers, including the sleep before the
    /// trace.
    pub fn ended_sleeps(&self) -> impl Iterator<Item = (u32, Sleep)> {
        let before = self.before.iter().map(|sleep| (BEFORE, sleep.clone()));
        let sleeps = self.sleeps().enumerate().map(|(at, sleep)| (at as u32, sleep));
        before.chain(sleeps).filter(|(_, sleep)| sleep.wake_ns.is_some())
    }

    /// Returns its total CPU time.
    pub fn cpu_ns(&self) -> u64 {
        self.history.cpu_ns()
    }

    /// Returns its name in programs and reports: `name.pid`.
    pub fn key(&self) -> String {
        match self.incarnation {
            0 => format!("{}.{}", self.name, self.pid),
            times => format!("{}.{}.{times}", self.name, self.pid),
        }
    }
}

impl Trace {
    /// Returns the CPU time of all tasks.
    pub fn busy_ns(&self) -> u64 {
        self.tasks.iter().map(Task::cpu_ns).sum()
    }
}
