//! The laboratory bench: what is done with schedulers, machines and workloads together.
//!
//! * [`run`]: runs a workload under schedulers of one's choice.
//! * [`mod@report_of`]: makes the report of a run of what observers saw.
//! * [`mod@bench`]: runs benchmarks under schedulers of one's choice.
//! * [`verify`]: replays golden schedules and says where they are not met.
//! * [`check`]: rules that every scheduler has to keep at every event, and what watches over them.
//! * [`stress`]: random worlds, run under those rules; a seed reproduces each.
//! * [`select`]: which schedulers can run a given machine and workload.
//! * [`sweep`]: a benchmark with many values, under many schedulers; can be interrupted and
//!   resumed.
//! * [`parallel`]: the same work done on many things at once, with results in the order of the
//!   things.
//! * [`calibrate`]: fits a cost model's numbers to measurements.
//! * [`calculators`]: rules that are computed without a machine.
//! * [`setup`]: what an administrator does before a run.
//! * [`compressed`]: files as they are, or compressed.
//!
//! Nothing here prints, ends the program or keeps global state.

pub mod bench;
pub mod calculators;
pub mod calibrate;
pub mod check;
pub mod compressed;
pub mod machines;
mod panics;
pub mod parallel;
pub mod report_of;
pub mod run;
pub mod select;
pub mod setup;
pub mod stress;
pub mod sweep;
pub mod verify;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the READMEs of `core` and `sched`, which have nothing to test with.
#[cfg(doctest)]
#[doc = include_str!("../../core/README.md")]
#[doc = include_str!("../../sched/README.md")]
struct ReadmesBelow;
