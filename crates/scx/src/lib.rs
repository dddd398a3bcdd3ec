//! sched_ext policies, unchanged BPF object files, as schedulers of the laboratory.
//!
//! An object is [read](Object::read), [linked](Object::link) for a machine and run by a
//! [`ScxScheduler`]. No kernel, no root and no C compiler is needed: the crate has a BPF machine of
//! its own, and plays the class that stands round a policy.
//!
//! * [`object`]: from a file to an image; [`elf`], [`btf`], [`core_relo`], [`kernel_types`],
//!   [`map_def`], [`ops`], [`settings`]: its parts. [`check`]: what is checked before code runs.
//! * [`vm`]: the interpreter; [`memory`], [`insn`]: what it works on.
//! * [`world`]: what a policy sees, and how it is called; [`class`]: what becomes of a task;
//!   [`dsq`]: its queues; [`maps`], [`helpers`], [`kfuncs`]: what it may call.
//! * [`scheduler`]: the hooks of the trait [`Scheduler`](schedlab_core::Scheduler); [`tunables`]:
//!   what can be set; [`log`]: what is told as it happens.

mod above;
mod areas;
pub mod btf;
pub mod check;
pub mod class;
pub mod classes;
pub mod core_relo;
pub mod decisions;
pub mod dsq;
mod dump;
mod dynptr;
pub mod elf;
pub mod error;
pub mod format;
pub mod helpers;
mod hotplug;
mod idle;
pub mod insn;
pub mod kernel_types;
pub mod kfuncs;
pub mod log;
pub mod map_def;
pub mod maps;
pub mod memory;
pub mod object;
mod objects;
pub mod ops;
mod programs;
mod restart;
pub mod retrace;
pub mod rules;
pub mod scheduler;
pub mod settings;
pub mod survey;
#[cfg(test)]
mod testing;
mod timer_keys;
pub mod tunables;
pub mod user_half;
pub mod vm;
pub mod world;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use classes::Classes;
pub use error::ObjectError;
pub use object::{Image, Object, Target};
pub use scheduler::{ENDED, OnEnd, Options, Profile, ScxScheduler};
pub use settings::Setting;
