//! The laboratory bench: what is done with schedulers, machines and workloads together.
//!
//! * [`plan`]: what is to be run, as plain data that every front end fills; checked, then run.
//! * [`run`]: a workload under a scheduler; [`bench`]: a benchmark under a scheduler.
//! * [`verify`]: replays golden schedules and reports where they are not met.
//! * [`check`]: rules that every scheduler has to keep at every event, and their observers.
//! * [`stress`]: random worlds, run under those rules; a seed reproduces each.
//! * [`select`]: which schedulers there are, and which can run a given machine and workload.
//! * [`sweep`]: a benchmark with many values, under many schedulers; can be interrupted and
//!   resumed.
//! * [`parallel`]: the same work done on many things at once, with results in the order of the
//!   things.
//! * [`calibrate`]: fits a cost model's numbers to measurements.
//! * [`setup`]: what an administrator does before a run.
//! * [`compressed`]: files as they are, or compressed.
//!
//! Nothing here prints, ends the program or keeps global state; with one thread nothing starts
//! another.

mod assembly;
pub mod bench;
pub mod calibrate;
mod catch_panic;
pub mod check;
pub mod compressed;
mod config;
mod error;
pub mod machines;
pub mod parallel;
pub mod plan;
pub mod run;
pub mod select;
pub mod setup;
pub mod stress;
pub mod sweep;
pub mod verify;

pub use catch_panic::catch_panic;
pub use config::RunConfig;
pub use error::Error;
