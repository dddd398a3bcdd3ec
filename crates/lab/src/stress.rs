//! Random worlds under all the rules of [`check`](crate::check): what no golden schedule and no
//! test thought of.
//!
//! A seed and a scheduler make a [`World`]: a machine of random size, [`Structure`], HZ and
//! tunables, and a workload of hogs, sleepers, pairs that wake each other, crowds at barriers,
//! families that fork, tasks that change policy and affinity as they go or call `execve`; groups
//! with limits, idle ones among them; and changes from outside while all this runs. It is run three
//! times: under watch, with simultaneous events in the golden order; the same without being
//! watched, which must come to the same; and under watch with simultaneous events in random order,
//! as real machines have them.

mod changes;
mod drive;
mod recent;
mod structure;
mod world;

pub use drive::{Checked, Failure, Turn, check, recent_events, run_command, side_files};
pub use structure::Structure;
pub use world::{Kind, World};
