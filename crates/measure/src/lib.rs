//! Observers of a run: metrics and records, computed from the stream of events.
//!
//! Each observer is one file, keeps only what it needs, and costs nothing when it is left out of
//! the machine's type. A pair of observers is an observer: `(Stats, (Fairness, SliceRecorder))`.
//! Observers do not allocate during a run, except for tasks that are forked and for recorded slices
//! and spans.
//!
//! * [`stats`]: CPU time, waiting, latencies, switches and migrations, for each task, each CPU and
//!   the whole machine.
//! * [`fairness`]: the distance of each task from what an ideal machine would have given it.
//! * [`slices`]: the CPU and the time of each run of a task.
//! * [`spans`]: the times in which each task was runnable.
//! * [`history`]: a run prepared for display, and sums over time, in bounded memory.
//! * [`scene`]: the state of CPUs and tasks at a moment. [`film`]: the last part of a run, with
//!   access to every moment.
//! * [`groups`]: CPU time of control groups.
//! * [`refusals`]: requests of tasks that were refused.
//! * [`histogram`]: distributions of durations.
//! * [`catalogue`]: every metric by name, with its unit, its definition, and which value is better.

pub mod catalogue;
pub mod fairness;
pub mod film;
pub mod groups;
pub mod histogram;
pub mod history;
pub mod refusals;
pub mod scene;
pub mod slices;
pub mod spans;
pub mod stats;

pub use catalogue::Better;
pub use fairness::{Fairness, FairnessReport, Group, Weights};
pub use film::Film;
pub use groups::GroupUsage;
pub use histogram::{Histogram, Moments};
pub use history::History;
pub use refusals::{Refusal, Refusals};
pub use scene::Scene;
pub use slices::{Extent, Slice, SliceRecorder};
pub use spans::{Span, SpanRecorder};
pub use stats::{CpuStats, Stats, TaskStats};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
