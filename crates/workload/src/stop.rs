//! Why a run had to stop.

use schedlab_core::TaskId;
use std::fmt;

/// A program that cannot go on as meant: who, where, when and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    at: Box<StopAt>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct StopAt {
    now_ns: u64,
    task: TaskId,
    thread: String,
    place: String,
    reason: StopReason,
}

/// What made it impossible to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
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

impl Stop {
    pub(crate) fn new(
        now_ns: u64,
        task: TaskId,
        thread: String,
        place: String,
        reason: StopReason,
    ) -> Stop {
        Stop { at: Box::new(StopAt { now_ns, task, thread, place, reason }) }
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

    /// The event and phase that it was at.
    pub fn place(&self) -> &str {
        &self.at.place
    }

    /// Why.
    pub fn reason(&self) -> StopReason {
        self.at.reason
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StopAt { now_ns, thread, place, reason, .. } = &*self.at;
        write!(f, "stopped at {}: thread {thread}, {place}: ", Seconds(*now_ns))?;
        match reason {
            StopReason::NoTimePasses { events } => {
                write!(f, "{events} events without time passing, and no end in sight")
            }
            StopReason::NoTimePassesForAny { events } => {
                write!(
                    f,
                    "{events} events of all threads without time passing, and no end in sight"
                )
            }
            StopReason::TooManyThreads { most } => write!(f, "a fork beyond {most} threads"),
        }
    }
}

impl std::error::Error for Stop {}

/// Prints ns as seconds, all nine places.
pub(crate) struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
