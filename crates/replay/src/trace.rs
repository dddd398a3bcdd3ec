//! What a recorded trace says of its tasks, before anything is inferred: [`Trace`]. Times are in ns
//! from the trace's first event.

pub use crate::burst::{Act, BEFORE, Burst, Kind, Sleep, Slice, What};

use crate::history::History;

/// A recorded trace, as tasks with their bursts and sleeps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// When the first event was, ns by the trace's own clock.
    pub origin_ns: u64,
    /// How long it is, ns.
    pub span_ns: u64,
    /// How many CPUs there are.
    pub cpus: u32,
    /// The tasks in the order in which they were first heard of.
    pub tasks: Vec<Task>,
    /// How many times the chain of switches breaks.
    pub gaps: u64,
    /// Time of CPUs within these gaps, ns.
    pub gap_ns: u64,
    /// Wakeups that nobody saw: a sleeping task was switched in.
    pub unseen: u64,
    /// Wakeups that ended a sleep.
    pub wakeups: u64,
    /// Switches.
    pub switches: u64,
    /// Events.
    pub events: u64,
    /// Time that CPUs were idle, ns.
    pub idle_ns: u64,
    /// Whether it tells interrupts from tasks.
    pub has_contexts: bool,
    /// Whether it has `sched_waking`, `sched_wakeup`.
    pub form: [bool; 2],
    /// Tokens: wakeups of tasks that were about to wait. True: the task did not have to wait.
    pub tokens: Vec<bool>,
}

/// A task of a trace. A number that is used again is another task.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Task {
    /// Its number.
    pub pid: u32,
    /// Tasks before it with this number.
    pub incarnation: u32,
    /// What it was called last.
    pub name: String,
    /// When it came into being, or 0.
    pub born_ns: u64,
    /// How it begins.
    pub origin: Origin,
    /// Who forked it, if that is known.
    pub forked_by: Option<usize>,
    /// The sleep in which it was when the trace began.
    pub before: Option<Sleep>,
    /// Its turns at work, from a wakeup to the next sleep, and the sleeps.
    pub(crate) history: History,
    /// The priority that it has first.
    pub prio: Option<i32>,
    /// Whether it ended.
    pub exited: bool,
    /// Whether it is one of the kernel's.
    pub is_kernel: bool,
}

/// How a task begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Origin {
    /// It was there at the trace's beginning: asleep ([`Task::before`]), or runnable.
    #[default]
    Before,
    /// It was first seen out of a gap.
    Gap,
    /// It was forked, and its parent's [`What::Fork`] tells where.
    Forked,
    /// It came into being, and its parent's books do not tell where.
    Born,
}

impl Task {
    /// How many bursts it has.
    pub fn burst_count(&self) -> usize {
        self.history.len()
    }

    /// Its bursts.
    pub fn bursts(&self) -> impl ExactSizeIterator<Item = Burst> {
        (0..self.history.len()).map(|at| self.history.burst(at).expect("it is one of them"))
    }

    /// Its last burst.
    pub fn last_burst(&self) -> Option<Burst> {
        self.history.burst(self.history.len().checked_sub(1)?)
    }

    /// Its sleeps: the first follows the first burst, and so on.
    pub fn sleeps(&self) -> impl Iterator<Item = Sleep> {
        (0..self.history.len()).map_while(|at| self.history.sleep(at))
    }

    /// The sleep with this number, or [`BEFORE`].
    pub fn sleep(&self, number: u32) -> Option<Sleep> {
        match number {
            BEFORE => self.before.clone(),
            at => self.history.sleep(at as usize),
        }
    }

    /// The burst's pieces.
    pub fn slices(&self, burst: &Burst) -> impl ExactSizeIterator<Item = Slice> {
        self.history.slices(&burst.slices)
    }

    /// The pieces of all its bursts.
    pub fn all_slices(&self) -> impl ExactSizeIterator<Item = Slice> {
        self.history.all_slices()
    }

    /// What it did in the burst.
    pub fn acts(&self, burst: &Burst) -> impl ExactSizeIterator<Item = Act> {
        self.history.acts(&burst.acts)
    }

    /// All its sleeps whose end is known, the one before the trace among them, with their numbers.
    pub fn ended_sleeps(&self) -> impl Iterator<Item = (u32, Sleep)> {
        let before = self.before.iter().map(|sleep| (BEFORE, sleep.clone()));
        let sleeps = self.sleeps().enumerate().map(|(at, sleep)| (at as u32, sleep));
        before.chain(sleeps).filter(|(_, sleep)| sleep.wake_ns.is_some())
    }

    /// All of its CPU time.
    pub fn cpu_ns(&self) -> u64 {
        self.history.cpu_ns()
    }

    /// What programs and reports call it: `name.pid`.
    pub fn key(&self) -> String {
        match self.incarnation {
            0 => format!("{}.{}", self.name, self.pid),
            times => format!("{}.{}.{times}", self.name, self.pid),
        }
    }
}

impl Trace {
    /// CPU time of all tasks.
    pub fn busy_ns(&self) -> u64 {
        self.tasks.iter().map(Task::cpu_ns).sum()
    }
}
