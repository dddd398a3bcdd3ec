//! Why a run ended before its time: the one [`Error`] of workloads that run. What is wrong in a
//! file is a [`Diagnostic`](crate::Diagnostic).

use schedlab_core::TaskId;
use std::fmt;

/// A program ended the run: who, where, when and why.
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

/// Why a program ended the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It said that the benchmark is over.
    Finished,
    /// One thread did so many events at one nanosecond that it will hardly ever get on.
    NoTimePasses {
        /// So many.
        events: u32,
    },
    /// All threads together did.
    NoTimePassesForAny {
        /// So many.
        events: u64,
    },
    /// A fork would have made more threads than there may be.
    TooManyThreads {
        /// So many there may be.
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

    /// When, ns of virtual time.
    pub fn now_ns(&self) -> u64 {
        self.at.now_ns
    }

    /// Who.
    pub fn task(&self) -> TaskId {
        self.at.task
    }

    /// The thread's name.
    pub fn thread(&self) -> &str {
        &self.at.thread
    }

    /// The event and phase that it was in.
    pub fn place(&self) -> &str {
        &self.at.place
    }

    /// Why.
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
                write!(f, "{events} events without time passing, and no end in sight")
            }
            Reason::NoTimePassesForAny { events } => {
                write!(
                    f,
                    "{events} events of all threads without time passing, and no end in sight"
                )
            }
            Reason::TooManyThreads { most } => write!(f, "a fork beyond {most} threads"),
        }
    }
}

impl std::error::Error for Error {}

/// Prints ns as seconds, all nine places.
pub(crate) struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
