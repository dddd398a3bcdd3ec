//! Observers of a run: what is worth knowing about it, computed from the stream of events.
//!
//! Each observer is one file, keeps only what it needs, and costs nothing when it is left out of
//! the machine's type. Two in a pair are one observer: `(Stats, (Fairness, SliceRecorder))`. None
//! allocates while the run goes on, but for making room for tasks that are forked and for the
//! slices and spans that are recorded.
//!
//! * [`stats`]: CPU time, waiting, latencies, switches and migrations, for each task, each CPU and
//!   the whole machine.
//! * [`fairness`]: how far each task was from what an ideal machine would have given it.
//! * [`slices`]: who ran where and when.
//! * [`spans`]: who wanted to run when.
//! * [`history`]: all of it for the eye, and sums over time, in bounded memory.
//! * [`scene`]: how CPUs and tasks stand at a moment; [`film`]: the last part of a run, to be
//!   looked at to and fro.
//! * [`groups`]: the CPU time of control groups.
//! * [`refusals`]: what tasks asked for and did not get.
//! * [`histogram`]: how durations are spread.
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
