//! Control groups as users write them: the groups of a run and their settings.
//!
//! A workload file names the groups of its tasks (`"taskgroup": "/tg1/tg11"`). On a real machine an
//! administrator has created them and set their weights, limits and CPUs. Here this is specified by
//! one of:
//!
//! - a **side file** or an option of the command line, with the names of the kernel's own files:
//!   `/tg1/tg11 cpu.weight=200 cpu.max="50000 100000"` ([`parse`], [`parse_option`]);
//! - libcgroup's **`cgconfig.conf`** ([`cgconfig`]);
//! - the users, where a kernel made one group each ([`by_user`]); the sessions, for each of which a
//!   kernel makes one ([`autogroup`]).
//!
//! All of them become [`GroupSettings`], a list of writes to files of groups, in the order written.
//! A [`GroupPlan`] carries them out as the kernel would and holds the resulting [`Group`]s. Tasks
//! can be assigned to groups by rules, in libcgroup's **`cgrules.conf`** ([`cgrules`]).
//!
//! # Two versions
//!
//! Version 1 and version 2 of control groups use different names and scales for the same things
//! ([`weight`]). Both may be used, even in one file. Two rules belong to version 1 only, and hold
//! between groups set by names of version 1: a child's quota must not exceed its parent's in
//! proportion to the period, and its CPUs must be among its parent's. In version 2 a child may
//! request more, but does not get it.

pub mod autogroup;
pub mod cgconfig;
pub mod cgrules;
mod cpu_list;
pub(crate) mod parameter;
mod plan;
mod settings;
mod side_file;
mod systemd;
mod text;
mod user_groups;
mod users;
pub mod weight;
pub(crate) mod write;

pub use crate::group_path::{SHARES_DEFAULT, is_within};
pub use plan::{Feature, Group, GroupPlan, PERIOD_DEFAULT_US, SHARES_IDLE};
pub use settings::{GroupSettings, Note};
pub use side_file::{parse, parse_option};
pub use user_groups::{by_user, place_by_user, user_group_path};
pub use users::{User, Users};
pub use write::Version;
