//! What tasks do: workload files and the programs in them.
//!
//! - [`rt_app`] reads, checks and writes workloads in rt-app's JSON language; [`Model`] is what it
//!   makes of them.
//! - [`Vm`] runs a model on the machine: it is the [`Workload`](schedlab_machine::Workload).
//! - [`cgroups`] says which task groups a run needs and what holds in them.
//! - [`golden`] reads golden schedules, whose workloads run in the same way.
//! - [`os`] runs programs that talk to each other: what benchmarks are made of.
//! - [`timetable`] says what is done to the machine while the workload runs.
//! - [`generate`] makes workloads: for benchmarks, and random ones for tests.
//!
//! ```
//! use schedlab_workload::{Options, Target, Vm, rt_app};
//!
//! let text = r#"{"tasks": {"a": {"loop": 3, "run": 2000, "sleep": 8000}}}"#;
//! let target = Target::new(1);
//! let model = rt_app::load("a.json", text, &target)?;
//! let vm = Vm::new(model, &target, Options::default())?;
//! assert_eq!(vm.thread_count(), 1);
//! # Ok::<(), schedlab_workload::Diagnostic>(())
//! ```

pub mod cgroups;
mod compile;
mod costs;
mod cursor;
mod diagnostic;
pub mod generate;
pub mod golden;
mod json;
pub mod model;
pub mod os;
mod program;
pub mod rt_app;
mod stop;
pub mod timetable;
mod vm;

pub use cgroups::{self as groups, Group, GroupPlan, GroupSettings};
pub use costs::Costs;
pub use diagnostic::{Diagnostic, close_names};
pub use golden::GoldenFile;
pub use model::Model;
pub use rt_app::Target;
pub use stop::{Stop, StopReason};
pub use timetable::Timetable;
pub use vm::{
    AddressSpaces, Conventions, Deadlock, EVENTS_AT_ONE_INSTANT, EVENTS_AT_ONE_INSTANT_EACH,
    EVENTS_AT_ONE_INSTANT_TOGETHER, Log, LogLine, Options, ThreadInfo, Vm, WaitingThread, WaitsFor,
};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
