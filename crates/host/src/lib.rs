//! A workload in rt-app's language on this host's kernel: run by threads, recorded, and accounted.
//!
//! * [`undertaking`] is a measurement as a whole: [`Prepared`] is a workload that was checked
//!   against what is permitted, and its `run` measures it.
//! * [`probe`] tries what this user may do on this kernel, [`refusals`] says what of a workload
//!   cannot be done and what would permit it, [`facts`] what the host is.
//! * [`runner`] is the process that has the threads; [`job`] what the two tell each other; a
//!   thread executes the very scripts that the simulator runs.
//! * [`noise`] says how much others had of the CPUs, [`tick`] when the tick comes.
//! * [`result`] writes what was measured; [`measure`] and [`machine_file`] make a machine of it.
//!
//! Only Linux has what this needs; elsewhere the crate is empty. Its module `sys` is the one place
//! of the project with unsafe code.
#![cfg(target_os = "linux")]
#![deny(unsafe_op_in_unsafe_fn)]

mod burn;
pub mod costs;
mod describe;
mod error;
pub mod facts;
pub mod figures;
pub mod groups;
pub mod job;
pub mod machine_file;
pub mod measure;
pub mod measurement;
pub mod noise;
pub mod options;
pub mod prepared;
pub mod probe;
pub mod refusals;
pub mod result;
pub mod runner;
pub mod start_runner;
pub mod switches;
mod sync;
mod sys;
mod this_thread;
mod thread;
pub mod tick;
pub mod warnings;

pub use error::Error;
pub use measurement::Outcome;
pub use options::{GroupChoice, Options};
pub use prepared::Prepared;
pub use start_runner::{Runner, this_program};
