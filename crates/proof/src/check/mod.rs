//! Rules that every scheduler must keep, and observers that check them during a run.
//!
//! Three observers check a scheduler from different sides:
//!
//! * [`Watched`] is between the machine and the scheduler. It sees all input and output of the
//!   scheduler, and checks the output at every event.
//! * [`Accounts`] receives the machine's events and adds up CPU time. [`RequestedWork`] is between
//!   the machine and the workload and records the requested work. The two must agree at the end.
//! * [`Fingerprint`] is a checksum of all events: equal runs must have equal checksums.

mod accounts;
#[cfg(any(test, feature = "faults"))]
#[allow(missing_docs, reason = "the names of the faults say what they are")]
pub mod faulty_schedulers;
mod fingerprint;
mod invariants;
mod reasons;
pub mod shares;

pub use accounts::{Accounts, RequestedWork};
pub use fingerprint::Fingerprint;
pub use invariants::{Limits, Watched};

use schedlab_core::{CpuId, TaskId};
use std::fmt;

/// A rule that a scheduler must keep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// A task that is picked exists and is runnable.
    RunnableOnly,
    /// A task runs on one CPU at a time.
    OneCpu,
    /// A task runs only where it may.
    Affinity,
    /// The scheduler knows where a task is: on the CPU that runs it, or on the CPU to which it
    /// reported to have moved it.
    Home,
    /// A real-time task does not wait on a CPU that runs a less urgent one.
    RealTime,
    /// No CPU idles longer than the algorithm promises while a task waits that may run there.
    Idle,
    /// No ordinary task waits longer than the algorithm promises.
    Wait,
    /// Every task runs again, and ends, if there is enough CPU time for all.
    Lost,
    /// A CPU does not reschedule endlessly within one nanosecond.
    Endless,
    /// CPU time adds up: busy and idle time to the time that passed, a task's time to its requested
    /// work.
    Accounts,
    /// The scheduler's own accounts add up ([`audit`](schedlab_core::Inspect::audit)).
    Audit,
    /// The task that the scheduler's reasons name is the task that is picked.
    Reasons,
    /// The same input gives the same run.
    Determinism,
    /// Equal hogs on one CPU get equal shares, as nearly as the algorithm promises.
    Fairness,
    /// A task that is alone gets all of the CPU.
    LoneHog,
    /// The scheduler does not panic.
    Panic,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Reasons => "the task that the reasons name is picked",
            Rule::RunnableOnly => "only runnable tasks run",
            Rule::OneCpu => "a task runs on one CPU at a time",
            Rule::Affinity => "a task runs only where it may",
            Rule::Home => "the scheduler knows where a task is",
            Rule::RealTime => "a real-time task does not wait for a less urgent one on its CPU",
            Rule::Idle => "no CPU idles for long while a task waits that may run there",
            Rule::Wait => "no task waits longer than promised",
            Rule::Lost => "no task is lost",
            Rule::Endless => "a CPU does not reschedule endlessly",
            Rule::Accounts => "CPU time adds up",
            Rule::Audit => "the scheduler's accounts add up",
            Rule::Determinism => "the same input gives the same run",
            Rule::Fairness => "equal hogs get equal shares",
            Rule::LoneHog => "a task that is alone gets all of the CPU",
            Rule::Panic => "the scheduler does not panic",
        })
    }
}

/// The first rule that was broken in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Time, ns.
    pub at_ns: u64,
    /// The CPU, if the rule is about one.
    pub cpu: Option<CpuId>,
    /// The task, if the rule is about one.
    pub task: Option<TaskId>,
    /// Description of the violation.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(rule: Rule, at_ns: u64, what: String) -> Violation {
        Violation { rule, at_ns, cpu: None, task: None, what }
    }

    pub(crate) fn on(mut self, cpu: CpuId) -> Violation {
        self.cpu = Some(cpu);
        self
    }

    pub(crate) fn of(mut self, task: TaskId) -> Violation {
        self.task = Some(task);
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} ns", self.at_ns)?;
        if let Some(cpu) = self.cpu {
            write!(f, ", CPU {}", cpu.0)?;
        }
        if let Some(task) = self.task {
            write!(f, ", task {}", task.0)?;
        }
        write!(f, ": {} (rule: {})", self.what, self.rule)
    }
}
