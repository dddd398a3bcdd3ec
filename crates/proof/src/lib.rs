//! Proof that schedulers do what they must.
//!
//! * [`verify`]: replays golden schedules and reports the first difference.
//! * [`check`]: invariants that every scheduler keeps at every event, and their observers.
//! * [`stress`]: random worlds that run under these invariants. A seed reproduces each world.
//! * [`broken_by`]: whether a world violates the assumptions of a sched_ext policy.

#![forbid(unsafe_code)]

pub mod check;
mod expects;
pub mod stress;
pub mod verify;

pub use expects::broken_by;
