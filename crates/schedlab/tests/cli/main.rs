//! The program as users type it: one binary of all tests, because each binary must be linked and
//! run.
//!
//! `documents`, `host` and `host_figures` are apart: the first is long, and the others measure
//! threads of their own process.

#[path = "../support/mod.rs"]
mod support;

mod advise;
mod bench;
mod bisect;
mod calibrate;
mod columns;
mod compare;
mod containers;
mod defects;
mod event_loops;
mod explain;
mod groups;
mod limits;
#[cfg(feature = "twins")]
mod live;
mod machine;
mod metrics;
mod mix;
mod new_scheduler;
mod outputs;
mod page;
mod papers;
mod pictures;
mod plan;
mod recompute;
mod replay;
mod run;
mod scx;
mod stress;
mod sweep;
mod top;
mod traces;
mod verify;
