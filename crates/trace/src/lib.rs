//! Traces of a run in the formats of other tools.
//!
//! A [`Recorder`] observes a run and reports it as the kernel's scheduler tracepoints
//! ([`tracepoint`]). A consumer of tracepoints is a [`Sink`], which does not depend on whether they
//! come from a run or from a recorded trace ([`read`]):
//!
//! * [`perfetto`], [`chrome`], [`text`]: traces for Perfetto, for Chrome's viewer, and in the text
//!   formats of `perf script` and ftrace;
//! * [`tables`]: slices, wakeups, migrations, tasks and groups as CSV, Arrow IPC or Parquet;
//! * [`timehist`], [`latency`], [`map`]: the tables of `perf sched`;
//! * [`antagonists`]: tasks that ran or were queued while another task waited.
//!
//! [`procfs`] writes the files that `/proc` would have had at a given time of the run.
//! [`compressed`] reads files that may be compressed.
//!
//! All writers stream: their memory grows with tasks and CPUs, not with events. Output files are
//! either complete or absent ([`output`]).

pub mod antagonists;
pub mod chrome;
pub mod compressed;
pub mod events;
pub mod info;
pub mod latency;
pub mod map;
mod names;
pub mod output;
pub mod perfetto;
pub mod procfs;
mod proto;
pub mod read;
pub mod recorder;
pub mod streamed;
pub mod tables;
pub mod text;
pub mod timehist;
pub mod tracepoint;
pub mod writer;

pub use chrome::Chrome;
pub use events::{Events, Opening};
pub use output::Output;
pub use perfetto::Perfetto;
pub use recorder::Recorder;
pub use streamed::Header;
pub use tables::{TableForm, Tables};
pub use text::{Text, TextForm};
pub use tracepoint::{Context, Era, LagAccount, NewTask, Record, Sink, State, TaskRef, Tracepoint};
pub use writer::{TraceFormat, TraceWriter};

/// Example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
