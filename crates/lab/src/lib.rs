//! The laboratory: combines schedulers, machines and workloads.
//!
//! * [`plan`]: a description of runs, as plain data that every front end fills in. It is checked,
//!   then run.
//! * [`mod@experiment`]: a workload and its machine; [`mod@bench`]: a benchmark and its machine.
//! * [`session`]: a run of either under a scheduler, which advances step by step; [`run`]: its
//!   result.
//! * [`mod@report_of`]: makes the report of a run from the figures of its observers.
//! * [`explain`]: why a scheduler decided as it did.
//! * [`player`]: a run that can be viewed at any time, forwards and backwards.
//! * [`mod@recorded`]: a recorded schedule in the form of a run.
//! * [`replay`]: a recorded trace under other schedulers.
//! * [`select`]: schedulers by name.
//! * [`settings`]: settings of a column of a comparison.
//! * [`sweep`]: a benchmark with many values, under many schedulers; can be interrupted and
//!   resumed.
//! * [`mod@page`]: the report as a page for a browser.
//! * [`parallel`]: applies a function to many items on several threads, with results in order.
//! * [`setup`]: configuration before a run, as an administrator does it.
//! * [`compressed`]: files, plain or compressed.
//!
//! Separate crates build on it: `schedlab-proof` (golden schedules, invariants, random worlds),
//! `schedlab-space` (sweeps in which anything varies) and `schedlab-compare` (measurements of real
//! kernels).
//!
//! A workload under two schedulers, with a custom observer:
//!
//! ```
//! use schedlab_core::{Event, Observer};
//! use schedlab_lab::plan::{Load, Plan, Source};
//!
//! /// Counts how often a runnable task is taken off its CPU.
//! #[derive(Default)]
//! struct Preemptions(u64);
//!
//! impl Observer for Preemptions {
//!     fn on(&mut self, _now_ns: u64, event: Event<'_>) {
//!         if let Event::Switched { prev: Some(_), prev_runnable: true, .. } = event {
//!             self.0 += 1;
//!         }
//!     }
//! }
//!
//! let text = r#"{"tasks": {"hog": {"instance": 2, "loop": 100, "run": 10000}}}"#;
//! let load = Load::Workload(Source { file: "hogs.json".into(), text: text.into() });
//! let plan = Plan::new(load, vec!["round_robin".into(), "cfs@2.6.32".into()]);
//! let prepared = plan.prepare()?;
//! let mut counts = vec![];
//! for scheduler in prepared.schedulers() {
//!     let mut preemptions = Preemptions::default();
//!     let mut session = prepared.session(scheduler)?;
//!     session.observe(&mut preemptions);
//!     let run = session.finish()?;
//!     println!("{}: {} preemptions", scheduler.choice, preemptions.0);
//!     assert_eq!(run.report.end.at_ns, 2_000_000_000, "the two hogs need a second each");
//!     counts.push(preemptions.0);
//! }
//! assert!(counts[0] < counts[1], "CFS has shorter turns");
//! # Ok::<(), schedlab_lab::Error>(())
//! ```
//!
//! Nothing here prints or ends the program. There is no global state, except the log of sched_ext
//! policies ([`scx`]). With one thread, no other thread starts.
pub mod assembly;
pub mod bench;
mod catch_panic;
mod choice;
mod column_settings;
mod config;
mod distributions;
mod error;
pub mod experiment;
pub mod explain;
pub mod kernels;
mod lookup;
pub mod machines;
pub mod page;
pub mod parallel;
pub mod plan;
pub mod player;
pub mod recorded;
mod refused;
pub mod replay;
pub mod report_of;
pub mod run;
mod scheduler_names;
pub mod scx;
pub mod scx_expects;
mod scx_presets;
pub mod scx_user;
pub mod select;
pub mod session;
pub mod settings;
pub mod setup;
pub mod sweep;
mod throttled;

pub use catch_panic::catch_panic;
pub use config::RunConfig;
pub use error::Error;
pub use schedlab_trace::compressed;

/// Example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Examples of the READMEs of `core` and `sched`, which lack the dependencies to test them.
#[cfg(doctest)]
#[doc = include_str!("../../core/README.md")]
#[doc = include_str!("../../sched/README.md")]
struct ReadmesBelow;
