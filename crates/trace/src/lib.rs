//! A run in the formats of other tools.
//!
//! A [`Recorder`] observes a run and tells of it in the words of the kernel's scheduler
//! tracepoints ([`tracepoint`]). Whoever takes those is a [`Sink`], and does not know whether they
//! come from a run or from a recorded trace ([`read`]):
//!
//! * [`perfetto`], [`chrome`], [`text`]: traces for Perfetto, for Chrome's viewer, and as `perf
//!   script` and ftrace print them;
//! * [`tables`]: slices, wakeups, migrations, tasks and groups as CSV, Arrow IPC or Parquet;
//! * [`timehist`], [`latency`], [`map`]: what `perf sched` makes of a trace;
//! * [`antagonists`]: who ran, and who stood in line, while a task waited.
//!
//! [`procfs`] writes what `/proc` would have said at a time of the run.
//!
//! All writers stream: what they keep grows with tasks and CPUs, not with events. Files are whole
//! or not there ([`output`]).

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
pub use tracepoint::{Context, Era, LagAccount, NewTask, Record, Sink, State, Tracepoint, Who};
pub use writer::{TraceFormat, TraceWriter};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
