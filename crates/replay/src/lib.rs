//! Recorded scheduler traces as workloads.
//!
//! A trace shows one schedule. The workload keeps only what does not depend on the scheduler: how
//! much each task computed between two sleeps, at which point of that it woke or forked others, and
//! what ended its sleeps. The decisions of the recorded scheduler are not kept. The scheduler of
//! the run makes its own.
//!
//! * [`TraceBuilder`] turns tracepoints into a [`Trace`]: bursts, sleeps, gaps.
//! * [`kinds`] infers why tasks slept.
//! * [`program`] turns the trace into a [`Workload`], which [`Workload::model`] expresses in
//!   rt-app's language.
//! * [`select`] finds tasks by name, number or descent, and changes them.
//! * [`side`] reads the side file that `schedlab record` writes next to a trace, with the sessions
//!   of its tasks.
//! * [`stats`], [`responses`] and [`score`] compare the recording with the run. [`ahead`] finds
//!   tasks that overtake others.
//!
//! Nothing here runs a workload: `lab` does.

pub mod ahead;
mod autogroup;
mod builder;
mod burst;
mod families;
mod history;
pub mod kinds;
pub mod program;
pub mod responses;
pub mod score;
pub mod select;
pub mod side;
pub mod stats;
pub mod ticks;
pub mod trace;

pub use builder::{TraceBuilder, is_kernel_name};
pub use kinds::{Arrivals, Counts};
pub use program::{Program, Step, Tokens, Workload};
pub use trace::Trace;

/// Example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
