//! The process schedulers of the Linux line, each faithful to its release.
//!
//! A scheduler here sees what a kernel's scheduler sees and no more: wakeups, blocks, ticks, forks,
//! exits, yields and changes of a task's attributes. It responds by putting tasks on runqueues,
//! asking CPUs to reschedule, and picking. Nothing in this crate knows how long a task will run,
//! where a workload came from, or whether time is real or simulated. The traits that schedulers
//! implement, and the types they use, are in `schedlab-core`.
//!
//! Where to look:
//!
//! * [`registry`]: all schedulers by name and release.
//! * Each scheduler has a module of its own; code that two of them truly share has a module, too.
//!
//! The crate is `no_std`, so that a scheduler can be used where there is no standard library.
#![no_std]

extern crate alloc;

pub mod bfs;
pub mod cfs;
pub mod ck;
pub mod classes;
pub mod fair_6;
pub mod muqss;
pub mod nearest;
pub mod o_1;
pub mod o_n;
pub mod project_c;
#[cfg(test)]
mod random;
pub mod registry;
pub mod round_robin;
pub mod staircase;
pub mod textbook;

pub use fair_6::eevdf;
