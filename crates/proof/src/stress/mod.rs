//! Random worlds under all rules of [`check`](crate::check), for cases that no golden schedule and
//! no test covers.
//!
//! A seed and a scheduler make a [`World`]: a machine of random size, [`Structure`], HZ and
//! tunables, and a workload. The workload has hogs, sleepers, pairs that wake each other, crowds at
//! barriers, families that fork, and tasks that change policy and affinity or call `execve`. There
//! are groups with limits and idle groups, changes from outside during the run, and, from seed
//! 10,000 on, more real-time work than real-time tasks may do. A world runs five times: watched,
//! with simultaneous events in the golden order; unwatched, which must give the same result;
//! watched, with simultaneous events in random order, as on real machines; and on modelled machines
//! where nothing costs anything, and where everything is expensive.

mod changes;
mod drive;
mod generate;
mod overload;
mod recent;
mod structure;
mod tasks;
mod world;

pub use drive::{Checked, Failure, Variant, check, recent_events, run_command, side_files};
pub use structure::Structure;
pub use world::{Kind, World};
