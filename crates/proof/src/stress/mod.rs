//! Random worlds under all the rules of [`check`](crate::check): what no golden schedule and no
//! test thought of.
//!
//! A seed and a scheduler make a [`World`]: a machine of random size, [`Structure`], HZ and
//! tunables, and a workload of hogs, sleepers, pairs that wake each other, crowds at barriers,
//! families that fork, tasks that change policy and affinity as they go or call `execve`; groups
//! with limits, idle ones among them; changes from outside while all this runs; and, from seed
//! 10,000 on, more real-time work than real-time tasks may do. It is run five times: under watch,
//! with simultaneous events in the golden order; the same without being watched, which must come to
//! the same; under watch with simultaneous events in random order, as real machines have them; and
//! on modelled machines where nothing costs anything and where everything costs much.

mod changes;
mod drive;
mod overload;
mod recent;
mod structure;
mod world;

pub use drive::{Checked, Failure, Turn, check, recent_events, run_command, side_files};
pub use structure::Structure;
pub use world::{Kind, World};
