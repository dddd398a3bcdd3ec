//! Workloads: files, and the programs in them.
//!
//! - [`rt_app`] reads, checks and writes workloads in rt-app's JSON language; [`Model`] is the
//!   result of reading.
//! - [`programs`] is the kernel that every workload runs on: compiled rt-app files, and the
//!   programs of benchmarks. [`Kernel`] is the [`Workload`](schedlab_machine::Workload).
//! - [`cgroups`] specifies the task groups of a run and their settings.
//! - [`golden`] reads golden schedules, whose workloads run in the same way.
//! - [`timetable`] specifies changes to the machine during a run.
//! - [`generate`] generates workloads: for benchmarks, and random ones for tests.
//!
//! ```
//! use schedlab_workload::{Options, Target, rt_app};
//!
//! let text = r#"{"tasks": {"a": {"loop": 3, "run": 2000, "sleep": 8000}}}"#;
//! let target = Target::new(1);
//! let model = rt_app::load("a.json", text, &target)?;
//! let kernel = rt_app::prepare(&model, &target, Options::default())?;
//! assert_eq!(kernel.task_count(), 1);
//! # Ok::<(), schedlab_workload::Diagnostic>(())
//! ```

pub mod cgroups;
mod cursor;
mod diagnostic;
mod error;
pub mod generate;
pub mod golden;
mod group_path;
mod json;
pub mod model;
mod pattern;
pub mod programs;
pub mod rt_app;
mod seconds;
pub mod timetable;

pub use cgroups::{self as groups, Group, GroupPlan, GroupSettings};
pub use diagnostic::{Diagnostic, close_names};
pub use error::{Error, Reason};
pub use golden::GoldenFile;
pub use model::Model;
pub use programs::{
    AddressSpaces, Conventions, Deadlock, EVENTS_AT_ONE_INSTANT, EVENTS_AT_ONE_INSTANT_EACH,
    EVENTS_AT_ONE_INSTANT_TOGETHER, Kernel, Log, LogLine, Request, RequestFilter, Requests,
    ThreadInfo, WaitingThread, WaitsFor,
};
pub use rt_app::{Costs, Options, Start, Target};
pub use timetable::Timetable;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
