//! Rules that every scheduler has to keep, and what watches over them while it runs.
//!
//! Three observers stand around a scheduler, each seeing it from another side:
//!
//! * [`Watched`] stands between the machine and the scheduler, sees all that the scheduler is told
//!   and all that it answers, and checks the answers at every event.
//! * [`Accounts`] sees who ran where, as the machine tells it, and adds up CPU time; [`Asked`]
//!   stands between the machine and the workload and notes what work was asked for. The two must
//!   agree in the end.
//! * [`Fingerprint`] boils all that happened down to one number: two runs of the same must give the
//!   same.

mod accounts;
#[cfg(any(test, feature = "faults"))]
#[allow(missing_docs, reason = "the names of the faults say what they are")]
pub mod faulty_schedulers;
mod fingerprint;
mod invariants;
mod reasons;
pub mod shares;

pub use accounts::{Accounts, Asked};
pub use fingerprint::Fingerprint;
pub use invariants::{Limits, Watched};

use schedlab_core::{CpuId, TaskId};
use std::fmt;

/// What a scheduler has to keep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// A task that is picked exists and is runnable.
    RunnableOnly,
    /// A task runs on one CPU at a time.
    OneCpu,
    /// A task runs only where it may.
    Affinity,
    /// The scheduler knows where a task is: the CPU that runs it, the CPU that it says to have
    /// moved it to.
    Home,
    /// A real-time task does not wait on a CPU that runs a less urgent one.
    RealTime,
    /// No CPU idles beside a task that may run there for longer than the algorithm promises.
    Idle,
    /// No ordinary task waits longer than the algorithm promises.
    Wait,
    /// Every task runs again, and ends, when there is CPU time enough for all.
    Lost,
    /// A CPU does not reschedule without end within one nanosecond.
    Endless,
    /// CPU time adds up: busy and idle to the time there was, a task's to what it asked for.
    Accounts,
    /// The scheduler's own books add up ([`audit`](schedlab_core::Inspect::audit)).
    Audit,
    /// Whom the scheduler's reasons name is who is picked.
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
            Rule::Reasons => "whom the reasons name is who is picked",
            Rule::RunnableOnly => "only runnable tasks run",
            Rule::OneCpu => "a task runs on one CPU at a time",
            Rule::Affinity => "a task runs only where it may",
            Rule::Home => "the scheduler knows where a task is",
            Rule::RealTime => "a real-time task does not wait for a less urgent one on its CPU",
            Rule::Idle => "no CPU idles for long beside a task that may run there",
            Rule::Wait => "no task waits longer than promised",
            Rule::Lost => "no task is lost",
            Rule::Endless => "a CPU does not reschedule without end",
            Rule::Accounts => "CPU time adds up",
            Rule::Audit => "the scheduler's books add up",
            Rule::Determinism => "the same input gives the same run",
            Rule::Fairness => "equal hogs get equal shares",
            Rule::LoneHog => "a task that is alone gets all of the CPU",
            Rule::Panic => "the scheduler does not panic",
        })
    }
}

/// A rule that was broken, first of all in its run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// When, ns.
    pub at_ns: u64,
    /// Where, if it is about one CPU.
    pub cpu: Option<CpuId>,
    /// Whose, if it is about one task.
    pub task: Option<TaskId>,
    /// What was seen.
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
