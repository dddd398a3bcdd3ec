//! Recorded scheduler traces as workloads.
//!
//! A trace shows one schedule. What is kept of it is what does not depend on the scheduler: how
//! much each task computed between two sleeps, at which point of that it woke or forked others,
//! and what ended its sleeps. What the scheduler decided is decided anew when the workload runs.
//!
//! * [`Books`] takes tracepoints and makes a [`Trace`]: bursts, sleeps, gaps.
//! * [`kinds`] finds out why tasks slept.
//! * [`program`] makes a [`Workload`] of it, which [`Workload::model`] says in rt-app's language.
//! * [`select`] finds tasks by name, number or descent, and changes them.
//! * [`side`] reads what `schedlab record` notes beside a trace.
//! * [`seen`] and [`score`] compare what was recorded with what was run; [`ahead`] and [`behind`]
//!   tell who overtook whom, and behind whom tasks waited.
//!
//! Nothing here runs anything: `lab` does.

pub mod ahead;
pub mod behind;
mod books;
mod burst;
mod history;
pub mod kinds;
pub mod program;
pub mod score;
pub mod seen;
pub mod select;
pub mod side;
pub mod ticks;
pub mod trace;

pub use books::{Books, is_kernel_name};
pub use kinds::{Arrivals, Counts};
pub use program::{Program, Step, Tokens, Workload};
pub use trace::Trace;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
