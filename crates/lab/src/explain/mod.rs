//! Why a scheduler did what it did: who could have been picked at a moment and with what keys, why
//! a task waits, where a wakeup went, and what made the longest waits of a run so long.
//!
//! A run is the same whether or not somebody asks for the grounds of its decisions. So everything
//! here is found by running again: up to the moment that is asked about, or with another nice
//! value, and looking.
//!
//! * [`Standing`]: how things stand at a moment, with every CPU's candidates;
//! * [`Wakeup`]: where a wakeup went, and whether it preempted;
//! * [`Wait`]: a long wait, and who had the CPU meanwhile;
//! * [`Margin`]: what a candidate lacked.

mod effort;
mod margin;
mod names;
mod standing;
mod subject;
mod waits;
mod watch;

pub use effort::Effort;
pub use margin::{Margin, NiceThatWins, margins, nice_that_wins};
pub use names::Names;
pub use standing::{OnCpu, Standing, standing};
pub use waits::{Lost, Wait, longest_waits};
pub use watch::{Decision, TaskThen, TaskWas, Wakeup, Whose, wakeup};
