//! sched_ext policies, as unchanged BPF object files, run as schedulers of the laboratory.
//!
//! An object is [read](Object::read), [linked](Object::link) for a machine and run by a
//! [`ScxScheduler`]. No kernel, no root and no C compiler is needed: the crate has its own BPF
//! machine, and emulates the scheduling class that surrounds a policy.
//!
//! * [`object`] reads a file; [`image`] is the result of linking it. [`elf`], [`btf`],
//!   [`core_relo`], [`kernel_types`], [`map_def`], [`ops`] and [`settings`] are its parts.
//!   [`check`] holds the checks made before code runs.
//! * [`vm`] is the interpreter; [`memory`] and [`insn`] are its memory and instructions.
//! * [`world`] is the state that a policy can see; [`act`] calls its callbacks; [`class`] moves
//!   tasks between the kernel's core and the callbacks; [`dsq`] holds the dispatch queues.
//!   [`maps`], [`helpers`] and [`kfuncs`] are what a policy can call.
//! * [`scheduler`] implements the trait [`Scheduler`](schedlab_core::Scheduler); [`tunables`] lists
//!   the settings that can change; [`log`] reports events as they happen.

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

/// Compiles the example of the README.
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
