//! Why a run cannot be made, or came to nothing: [`Error`].

use crate::run::Run;
use crate::select::UnknownScheduler;
use schedlab_bench::BadValue;
use schedlab_core::TunableError;
use schedlab_machine::description::DescriptionError;
use schedlab_workload::Diagnostic;

/// What is wrong with a plan or a run, and what would be right.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A workload, a file of groups, a timetable or the like is not as it should be, or cannot be
    /// run on such a machine.
    #[error(transparent)]
    Diagnostic(#[from] Diagnostic),
    /// The description of a machine is not as it should be.
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
        /// Which tunable.
        name: String,
        /// What it was to be set to.
        value: i64,
        /// Why not.
        error: TunableError,
    },
    /// The scheduler refuses a group.
    #[error("group {path}: {message}")]
    Group {
        /// Its path.
        path: String,
        /// Why not.
        message: String,
    },
    /// Ticks would leave no time for tasks.
    #[error(
        "a tick costs {tick_ns} ns (tick and interrupt), and there is one every {period_ns} ns: \
         no task would ever run; lower the costs, or --hz"
    )]
    Ticks {
        /// What a tick costs, ns.
        tick_ns: u64,
        /// From one to the next, ns.
        period_ns: u64,
    },
    /// The scheduler lacks something that the load needs.
    #[error("it cannot run {what}: {why}")]
    CannotRun {
        /// What it was to run.
        what: String,
        /// What it lacks.
        why: String,
    },
    /// A plan is not as it should be.
    #[error("{0}")]
    Plan(String),
    /// A program could not go on as meant.
    #[error(transparent)]
    Stopped(#[from] schedlab_workload::Error),
    /// All remaining tasks sleep, and nothing will wake them.
    #[error("no task can ever run again: {waits}")]
    Stuck {
        /// The tasks, and what each waits for.
        waits: String,
        /// The run up to then, to show beside those of other schedulers.
        run: Box<Run>,
    },
    /// The scheduler, or what drives it, failed.
    #[error("{}", broke_down(.0))]
    Broken(String),
}

/// Whose fault it is that a run broke down: of a sched_ext policy that ended as a kernel would have
/// ended it, nobody's here.
fn broke_down(message: &str) -> String {
    if message.starts_with(schedlab_scx::ENDED) {
        return message.into();
    }
    format!(
        "the simulation broke down, which is a fault of this program, or of the scheduler if it is \
         one of your own: {message}"
    )
}

/// What is wrong with a tunable or its value, and what would be right.
fn explain(error: &TunableError) -> String {
    match error {
        TunableError::Unknown { known } if known.is_empty() => {
            "this scheduler has no tunables".into()
        }
        TunableError::Unknown { known } => {
            format!("there is no such tunable; there are {}", known.join(", "))
        }
        TunableError::Range { min, max } => format!("it must be {min} to {max}"),
        TunableError::Refused(message) => message.clone(),
        other => other.to_string(),
    }
}
