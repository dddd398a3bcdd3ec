//! The laboratory bench: what is done with schedulers, machines and workloads together.
//!
//! * [`plan`]: what is to be run, as plain data that every front end fills; checked, then run.
//! * [`mod@experiment`]: a workload and its machine; [`mod@bench`]: a benchmark and its machine.
//! * [`session`]: a run of either under a scheduler, which advances step by step; [`run`]: its
//!   result.
//! * [`mod@report_of`]: makes the report of a run of what observers saw.
//! * [`explain`]: why a scheduler did what it did.
//! * [`player`]: a run that is viewed at any time, forwards and backwards.
//! * [`verify`]: replays golden schedules and reports where they are not met.
//! * [`check`]: rules that every scheduler has to keep at every event, and their observers.
//! * [`stress`]: random worlds, run under those rules; a seed reproduces each.
//! * [`mod@recorded`]: a recorded schedule as runs are reported.
//! * [`replay`]: a recorded trace under other schedulers.
//! * [`mod@compare`]: what was measured on a real kernel, beside the simulation of it.
//! * [`select`]: which schedulers there are, and which can run a given machine and workload.
//! * [`settings`]: what can be set for a column of a comparison.
//! * [`sweep`]: a benchmark with many values, under many schedulers; can be interrupted and
//!   resumed.
//! * [`space`]: many runs of one plan in which anything varies, with results in files.
//! * [`mod@page`]: the report as a page for a browser.
//! * [`parallel`]: the same work done on many things at once, with results in the order of the
//!   things.
//! * [`setup`]: what an administrator does before a run.
//! * [`compressed`]: files as they are, or compressed.
//!
//! A workload under two schedulers, with an observer of one's own:
//!
//! ```
//! use schedlab_core::{Event, Observer};
//! use schedlab_lab::plan::{Load, Plan, Source};
//!
//! /// Counts how often a task is taken off a CPU that it could have used further.
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
//! Nothing here prints or ends the program, or keeps global state but for the sched_ext policies
//! that were named ([`scx`]); with one thread nothing starts another.
pub mod assembly;
pub mod bench;
mod catch_panic;
mod config;
mod error;
pub mod experiment;
pub mod explain;
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
pub mod scx;
pub mod scx_expects;
mod scx_presets;
pub mod scx_user;
pub mod select;
pub mod session;
pub mod settings;
pub mod setup;
pub mod sweep;

pub use catch_panic::catch_panic;
pub use config::RunConfig;
pub use error::Error;
pub use schedlab_trace::compressed;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the READMEs of `core` and `sched`, which have nothing to test with.
#[cfg(doctest)]
#[doc = include_str!("../../core/README.md")]
#[doc = include_str!("../../sched/README.md")]
struct ReadmesBelow;
