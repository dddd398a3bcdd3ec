//! sched_ext policies in files as schedulers: `scx:FILE` is accepted wherever a scheduler's name
//! is.
//!
//! `scx:FILE[NAME=VALUE,...]` sets variables, `ops.FIELD` and `map.NAME.max_entries`, which are
//! tunables of the policy. Other items:
//!
//! * `call.FUNCTION=1/2/3` runs a `syscall` program of the object before the policy begins.
//! * `on_error=fallback` continues a run after the policy has ended.
//! * `put_back_ns=30000` delays the time at which CPUs see tasks that others put back.
//! * `user=FILE.toml` is the script of the policy's user half.
//! * `expects.cpus=4` and `promise.wait_ns=N` are for random worlds.

mod object;
mod options;
pub(crate) mod policy;
pub(crate) mod spec;

pub use object::{link, link_with, read};
pub use options::{beside, config, with_settings};
pub use policy::{all_fixed, expects_of, fixed, is_policy, log_all, spec, written};
pub use spec::{PREFIX, is_spec, settings};
