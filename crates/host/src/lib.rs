//! A workload in rt-app's language on this host's kernel: run by threads, recorded, and accounted.
//!
//! * [`prepared`]: a workload that was checked against what is permitted, [`Prepared`];
//!   [`measurement`] runs it, [`options`] says how, [`warnings`] predicts disturbances.
//! * [`probe`] tries what this user may do on this kernel, [`refusals`] lists what a workload
//!   requires and cannot have, with remedies, and [`facts`] describes the host.
//! * [`runner`] is the process that contains the threads, [`start_runner`] starts it, and [`job`]
//!   is the protocol between the two. A thread executes the same scripts as the simulator.
//! * [`noise`] measures the CPU time of others, [`tick`] finds the tick.
//! * [`result`] writes the results; [`measure`] and [`machine_file`] describe this host as a
//!   machine for the simulator.
//!
//! Only Linux has the necessary interfaces; elsewhere the crate is empty. Its module `sys` is the
//! only place in the project with unsafe code.
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
