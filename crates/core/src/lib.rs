//! The words of the field: tasks, CPUs, attributes, topology, releases, and what a scheduler is.
//!
//! Everything in schedlab stands on this crate, which stands on nothing: no dependencies, no
//! standard library. A scheduler of one's own needs nothing else.
//!
//! Where to look:
//!
//! * [`interface`]: the [`Scheduler`] trait and the words it is told things in. Start here.
//! * [`control`]: groups, tunables and hotplug, as one command; [`errno`]: why one is refused.
//! * [`inspect`]: what can be asked about a scheduler; [`reason`]: why it decides as it does.
//! * [`event`]: everything that happens in a run, and who takes note of it.
//! * [`platform`]: what a scheduler may ask of the machine: the time, a reschedule, a timer.
//! * [`task`], [`cpu_set`], [`topology`]: tasks and what may be set about them, sets of CPUs, and
//!   how CPUs hang together.
//! * [`release`]: the names and releases of a scheduler, and what each release can.
//! * [`index`]: typed indices, for the structures of a scheduler.
//! * [`work_counts`]: what a scheduler's work consists of, for machines on which it costs time.
//! * [`clairvoyant`]: the privilege of the textbook policies that know a burst's length.
#![no_std]

extern crate alloc;

pub mod clairvoyant;
pub mod control;
pub mod cpu_bits;
pub mod cpu_set;
pub mod errno;
pub mod event;
pub mod index;
pub mod inspect;
pub mod interface;
pub mod platform;
pub mod reason;
pub mod release;
pub mod table;
pub mod task;
pub mod topology;
pub mod tunables;
pub mod work_counts;

pub use clairvoyant::Clairvoyant;
pub use control::{Administer, Command, ControlError, Quota, Reply};
pub use cpu_bits::CpuBits;
pub use cpu_set::CpuSet;
pub use errno::{Errno, Refused};
pub use event::{Event, Observer, Request};
pub use inspect::{Inspect, Load, Promises};
pub use interface::{BlockReason, GroupStats, Parent, Scheduler, Waker};
pub use platform::{Platform, TimerKey, TimerPhase};
pub use reason::{Account, Candidate, Evidence, Question, Rule, RuleDoc, Who};
pub use release::{Build, BuildConfig, Capabilities, Entry, Origin, Release};
pub use table::TaskTable;
pub use task::{CpuId, GroupId, Policy, SchedAttr, TaskAttr, TaskId};
pub use topology::Topology;
pub use tunables::{Tunable, TunableError};
pub use work_counts::{Locking, WorkCounts};
