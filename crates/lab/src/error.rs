//! Reasons why a run cannot be made, or failed: [`Error`].

use crate::run::Run;
use schedlab_bench::BadValue;
use schedlab_core::TunableError;
use schedlab_machine::description::DescriptionError;
use schedlab_workload::Diagnostic;

/// A name that no scheduler has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnknownScheduler(pub(crate) String);

/// A fault of a plan or a run, and what would be right.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A workload, a file of groups, a timetable or the like is invalid, or cannot run on such a
    /// machine.
    #[error(transparent)]
    Diagnostic(#[from] Diagnostic),
    /// The description of a machine is invalid.
    #[error(transparent)]
    Machine(#[from] DescriptionError),
    /// There is no such scheduler.
    #[error(transparent)]
    UnknownScheduler(#[from] UnknownScheduler),
    /// A benchmark has no such parameter, or the parameter does not take the value.
    #[error(transparent)]
    Value(#[from] BadValue),
    /// The scheduler has no such tunable, or the tunable does not take the value.
    #[error("{name}={value}: {}", explain(.error))]
    Tunable {
        /// Name of the tunable.
        name: String,
        /// The value.
        value: i64,
        /// The reason.
        error: TunableError,
    },
    /// The scheduler refuses a group.
    #[error("group {path}: {message}")]
    Group {
        /// Path of the group.
        path: String,
        /// The reason.
        message: String,
    },
    /// Ticks would leave no time for tasks.
    #[error(
        "a tick costs {tick_ns} ns (tick and interrupt), and there is one every {period_ns} ns: \
         no task would ever run; lower the costs, or --hz"
    )]
    Ticks {
        /// Cost of a tick, ns.
        tick_ns: u64,
        /// Time from one tick to the next, ns.
        period_ns: u64,
    },
    /// The scheduler lacks a feature that the load requires.
    #[error("it cannot run {what}: {why}")]
    CannotRun {
        /// The load.
        what: String,
        /// The missing feature.
        why: String,
    },
    /// A plan is invalid.
    #[error("{0}")]
    Plan(String),
    /// A program could not continue as intended.
    #[error(transparent)]
    Stopped(#[from] schedlab_workload::Error),
    /// All remaining tasks sleep, and nothing will wake them.
    #[error("no task can ever run again: {waits}")]
    Stuck {
        /// The tasks, and the event for which each waits.
        waits: String,
        /// The run up to that time, to show it with the runs of other schedulers.
        run: Box<Run>,
    },
    /// The scheduler, or the code that drives it, failed.
    #[error("{}", broke_down(.0))]
    Broken(String),
}

/// Names the origin of the fault that broke down a run. A sched_ext policy that ended as a kernel
/// would have ended it is not a fault of this program.
fn broke_down(message: &str) -> String {
    if message.starts_with(schedlab_scx::ENDED) {
        return message.into();
    }
    format!(
        "the simulation broke down, which is a fault of this program, or of your scheduler if \
         you wrote it: {message}"
    )
}

/// Describes the fault of a tunable or its value, and what would be right.
fn explain(error: &TunableError) -> String {
    match error {
        TunableError::Unknown { known } if known.is_empty() => {
            "this scheduler has no tunables".into()
        }
        TunableError::Unknown { known } => {
            format!("there is no such tunable; the tunables are {}", known.join(", "))
        }
        TunableError::Range { min, max } => format!("it must be {min} to {max}"),
        TunableError::Refused(message) => message.clone(),
        other => other.to_string(),
    }
}
