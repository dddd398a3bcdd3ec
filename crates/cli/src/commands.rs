//! What the program can do, a module each.

pub mod bench;
pub mod calibrate;
pub mod list;
pub mod papers;
pub mod perf;
pub mod run;
pub mod stress;
pub mod verify;
