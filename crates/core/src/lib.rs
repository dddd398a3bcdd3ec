//! Foundation types of schedlab: tasks, CPUs, attributes, topology, releases and the [`Scheduler`]
//! trait.
//!
//! Every other crate of schedlab builds on this one. It has no dependencies and does not use the
//! standard library. To write your own scheduler you need nothing else.
//!
//! Where to look:
//!
//! * [`interface`]: the [`Scheduler`] trait and the types that its hooks receive. Start here.
//! * [`control`]: groups, tunables and CPU hotplug as one command. [`errno`]: why a command is
//!   refused.
//! * [`inspect`]: queries about a scheduler. [`reason`]: the rules and grounds of its decisions.
//! * [`event`]: everything that happens in a run, and the trait of its observers.
//! * [`platform`]: the services of the machine that a scheduler uses: the clock, reschedules,
//!   timers.
//! * [`task`], [`cpu_set`], [`topology`]: tasks and their attributes, sets of CPUs, and how the
//!   CPUs of a machine are connected.
//! * [`release`]: the names and releases of a scheduler, and the capabilities of each release.
//! * [`index`]: typed indices for the data structures of a scheduler.
//! * [`work_counts`]: counts of a scheduler's work, for machines on which that work takes time.
//! * [`clairvoyant`]: the privilege of textbook policies that know the length of a burst.
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
pub use inspect::{Difference, Inspect, Load, Promises, RULE_PREFIX};
pub use interface::{BlockReason, GroupStats, Parent, Scheduler, Waker};
pub use platform::{Platform, TimerKey, TimerPhase};
pub use reason::{Account, Candidate, Evidence, Question, Rule, RuleDoc, Who};
pub use release::{Build, BuildConfig, Capabilities, Entry, Origin, Release};
pub use table::TaskTable;
pub use task::{CpuId, GroupId, Policy, SchedAttr, TaskAttr, TaskId};
pub use topology::Topology;
pub use tunables::{Tunable, TunableError};
pub use work_counts::{Locking, WorkCounts};
