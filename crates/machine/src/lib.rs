//! The simulated machine: CPUs, the clock and its ticks, the event loop, and the life cycle of
//! tasks.
//!
//! A [`Machine`] is put together from a scheduler (what runs where), a [`Workload`] (what tasks do)
//! and an [`Observer`] (what is noted of it), and [`run`](Machine::run). It knows none of the three
//! beyond these interfaces. Time is virtual, in integer nanoseconds; the same three parts give the
//! same run, to the nanosecond, on any machine.
//!
//! * [`machine`]: the event loop, and what happens in which order within one nanosecond.
//! * [`Action`]: what somebody may do to a machine while it runs.
//! * [`workload`]: what a task may do, operation by operation.
//! * [`queue`]: the two priority queues that events stand in.
//! * [`costs`]: what operations cost on a modelled machine.
//! * [`description`]: which CPUs a machine has and how they hang together, from a file or a preset.
//! * [`order`]: the golden order of simultaneous events, and a random one for stress.

pub mod costs;
#[cfg(feature = "files")]
pub mod description;
pub mod machine;
pub mod order;
pub mod queue;
pub mod ticks;
pub mod workload;

pub use machine::{Action, ActionError, Config, Counts, Machine, MachineGroup, RunEnd, TaskState};
pub use order::{Order, SplitMix64};
pub use schedlab_core::{Event, Observer};
pub use workload::{NewTask, Op, Workload};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
