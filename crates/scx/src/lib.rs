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
pub mod act;
mod arena;
mod bpf;
pub mod btf;
mod calls;
mod change;
pub mod check;
pub mod class;
pub mod classes;
mod control;
pub mod core_relo;
pub mod counts;
pub mod cpu;
mod describe;
pub mod dsq;
mod dump;
mod dynptr;
pub mod elf;
pub mod end;
mod errno;
pub mod error;
pub mod format;
pub mod group;
pub mod helpers;
mod hotplug;
mod idle;
pub mod image;
pub mod insn;
pub mod kernel_types;
pub mod kfuncs;
mod lifecycle;
mod link;
pub mod log;
pub mod map_def;
pub mod maps;
mod masks;
pub mod memory;
pub mod object;
mod objects;
pub mod ops;
pub mod options;
mod programs;
mod restart;
mod ringbuf;
pub mod rules;
pub mod scheduler;
pub mod settings;
pub mod survey;
mod switch;
pub mod task;
mod task_states;
#[cfg(test)]
mod testing;
pub mod timers;
pub mod tunables;
#[cfg(feature = "twins")]
pub mod twins;
pub mod user_half;
pub mod vm;
mod watchdog;
pub mod world;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use classes::Classes;
pub use error::ObjectError;
pub use image::{Image, Target};
pub use object::Object;
pub use options::{OnEnd, Options, Profile};
pub use scheduler::{ENDED, ScxScheduler};
pub use settings::Setting;
