//! Random worlds under all the rules of [`check`](crate::check): what no golden schedule and no
//! test thought of.
//!
//! A seed and a scheduler make a [`World`]: a machine of random size, HZ and tunables, and a
//! workload of hogs, sleepers, pairs that wake each other, crowds at barriers, families that fork,
//! tasks that change policy and affinity as they go. It is run three times: under watch, with
//! simultaneous events in the golden order; the same without being watched, which must come to the
//! same; and under watch with simultaneous events in random order, as real machines have them.

mod drive;
mod recent;
mod world;

pub use drive::{Checked, Failure, Turn, check, recent_events, run_command};
pub use world::{Kind, World};
