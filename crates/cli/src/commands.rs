//! Commands of the program, a module for each.

pub mod advise;
pub mod bench;
pub mod bisect;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod explain;
pub mod explain_metric;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod host;
pub mod limits;
pub mod list;
#[cfg(feature = "twins")]
pub mod live;
pub mod new_scheduler;
pub mod papers;
pub mod perf;
pub mod record;
pub mod replay;
pub mod run;
pub mod scx;
mod scx_log;
#[cfg(feature = "twins")]
pub mod scx_replay;
mod show;
pub mod stress;
pub mod sweep;
#[cfg(feature = "tui")]
pub mod top;
pub mod trace;
pub mod tune;
#[cfg(feature = "twins")]
pub mod twin;
pub mod verify;
