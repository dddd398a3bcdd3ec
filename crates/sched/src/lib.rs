//! The process schedulers of the Linux line, each true to its release, and the interface that they
//! fill.
//!
//! A scheduler here sees what a kernel's scheduler sees and no more: wakeups, blocks, ticks, forks,
//! exits, yields and changes of a task's attributes. It answers by putting tasks on runqueues,
//! asking CPUs to reschedule, and picking. Nothing in this crate knows how long a task is going to
//! run, where a workload came from, or whether time is real or simulated.
//!
//! Where to look:
//!
//! * [`interface`]: the [`Scheduler`] trait and the words it is told things in. Start here.
//! * [`platform`]: what a scheduler may ask of the machine: the time, a reschedule, a timer.
//! * [`touched`]: what a scheduler's work consists of, for machines on which it costs time.
//! * [`clairvoyant`]: the privilege of the textbook policies that know a burst's length.
//! * [`registry`]: every scheduler by name and release.
//! * one module a scheduler; what two of them truly share stands in a module of its own.
//!
//! The crate is `no_std`, so that a policy can be put where there is no standard library.
#![no_std]

extern crate alloc;

pub mod bfs;
pub mod cfs;
pub mod clairvoyant;
pub mod classes;
pub mod cpu_set;
pub mod domains_2622;
pub mod eevdf;
pub mod interface;
pub mod o_1;
pub mod o_n;
pub mod pelt;
pub mod platform;
#[cfg(test)]
mod random;
pub mod registry;
pub mod round_robin;
pub mod staircase;
pub mod table;
pub mod task;
pub mod textbook;
pub mod topology;
pub mod touched;
pub mod tunables;

pub use clairvoyant::Clairvoyant;
pub use cpu_set::CpuSet;
pub use interface::{BlockReason, GroupStats, Parent, Promises, Scheduler, Waker};
pub use platform::{Platform, TimerKey, TimerPhase};
pub use table::TaskTable;
pub use task::{CpuId, GroupId, Policy, SchedAttr, TaskAttr, TaskId};
pub use topology::Topology;
pub use touched::{Locking, Touched};
pub use tunables::{Tunable, TunableError};
