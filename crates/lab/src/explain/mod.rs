//! Why a scheduler decided as it did: the candidates at a given time and their keys, the reason why
//! a task waits, the CPU to which a wakeup went, and the causes of the longest waits.
//!
//! A run is the same whether or not the grounds of its decisions are requested. Every answer is
//! therefore found by another run, up to the time in question, or with another nice value.
//!
//! * [`Moment`]: the state of a run at a given time, with the candidates of every CPU;
//! * [`Wakeup`]: the CPU to which a wakeup went, and whether it preempted;
//! * [`Wait`]: a long wait, and the tasks that had the CPU during it, or the limit that kept the
//!   task from running;
//! * [`Margin`]: what a candidate lacked;
//! * [`Parting`]: the first decision in which two runs part.

mod effort;
mod margin;
mod moment;
mod names;
mod parting;
mod subject;
mod waits;
mod watch;

pub use effort::Effort;
pub use margin::{Margin, NiceThatWins, margins, nice_that_wins};
pub use moment::{CpuMoment, Moment, moment};
pub use names::Names;
pub use parting::{Parting, PartingSide, Side, Step, TimedStep, parting};
pub use waits::{LostPick, ThrottledWait, Wait, longest_waits};
pub use watch::{
    Decision, TaskActivity, TaskMoment, ThrottledMoment, Wakeup, WakeupFilter, wakeup,
};
