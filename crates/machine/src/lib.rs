//! The simulated machine: CPUs, the clock and its ticks, the event loop, and the life cycle of
//! tasks.
//!
//! A [`Machine`] consists of a scheduler (what runs where), a [`Workload`] (what tasks do) and an
//! [`Observer`] (what is recorded), and is started by [`run`](Machine::run). The machine knows the
//! three only through these interfaces. Time is virtual, in integer nanoseconds. The same three
//! parts give the same run, to the nanosecond, on any machine.
//!
//! * [`machine`]: the event loop, and the order of events within one nanosecond.
//! * [`Action`]: changes made to a machine while it runs.
//! * [`workload`]: operations of tasks.
//! * [`queue`]: the two priority queues of events.
//! * [`costs`]: what operations cost on a modelled machine.
//! * [`description`]: the CPUs of a machine and its topology, from a file or a preset.
//! * [`order`]: the golden order of simultaneous events, and a random order for stress tests.

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
