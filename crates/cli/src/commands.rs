//! What the program can do, a module each.

pub mod bench;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod explain;
pub mod explain_metric;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod host;
pub mod list;
pub mod live;
pub mod new_scheduler;
pub mod papers;
pub mod perf;
pub mod record;
pub mod replay;
pub mod run;
pub mod scx;
pub mod scx_replay;
mod show;
pub mod stress;
pub mod sweep;
#[cfg(feature = "tui")]
pub mod top;
pub mod trace;
pub mod tune;
pub mod twin;
pub mod verify;
