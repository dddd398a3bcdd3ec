//! The [`Error`] of running workloads: the reason why a run ended early. Errors in files are
//! [`Diagnostic`](crate::Diagnostic)s.

use crate::seconds::Seconds;
use schedlab_core::TaskId;
use std::fmt;

/// A program ended the run: task, position, time and reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    at: Box<Stopped>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Stopped {
    now_ns: u64,
    task: TaskId,
    thread: String,
    place: String,
    reason: Reason,
}

/// Reason why a program ended the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The program ended the benchmark.
    Finished,
    /// One thread took too many events at one nanosecond.
    NoTimePasses {
        /// Number of events.
        events: u32,
    },
    /// All threads together took too many events at one nanosecond.
    NoTimePassesForAny {
        /// Number of events.
        events: u64,
    },
    /// A fork would have exceeded the maximum number of threads.
    TooManyThreads {
        /// Maximum number of threads.
        most: usize,
    },
}

impl Error {
    pub(crate) fn new(
        now_ns: u64,
        task: TaskId,
        thread: String,
        place: String,
        reason: Reason,
    ) -> Error {
        Error { at: Box::new(Stopped { now_ns, task, thread, place, reason }) }
    }

    /// Returns the virtual time of the end, ns.
    pub fn now_ns(&self) -> u64 {
        self.at.now_ns
    }

    /// Returns the task.
    pub fn task(&self) -> TaskId {
        self.at.task
    }

    /// Returns the name of the thread.
    pub fn thread(&self) -> &str {
        &self.at.thread
    }

    /// Returns the event and phase that it was in.
    pub fn place(&self) -> &str {
        &self.at.place
    }

    /// Returns the reason.
    pub fn reason(&self) -> Reason {
        self.at.reason
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stopped { now_ns, thread, place, reason, .. } = &*self.at;
        write!(f, "stopped at {}: thread {thread}, {place}: ", Seconds(*now_ns))?;
        match reason {
            Reason::Finished => f.write_str("the benchmark is over"),
            Reason::NoTimePasses { events } => {
                write!(f, "{events} events while no time passed; the program seems to loop")
            }
            Reason::NoTimePassesForAny { events } => {
                write!(
                    f,
                    "{events} events of all threads while no time passed; the programs seem to loop"
                )
            }
            Reason::TooManyThreads { most } => {
                write!(f, "a fork would exceed the maximum of {most} threads")
            }
        }
    }
}

impl std::error::Error for Error {}
