//! Options of a measurement: [`Options`].

use schedlab_workload::{GroupSettings, Start};
use std::path::PathBuf;

/// The place where the group of all threads is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GroupChoice {
    /// The group of this process, if that is permitted.
    #[default]
    Auto,
    /// No group is made.
    None,
    /// This directory of a hierarchy.
    At(PathBuf),
}

/// Options of a measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// CPUs of tasks that name none; `None`: all that may be used.
    pub cpus: Option<Vec<u32>>,
    /// Number of quiet repetitions requested.
    pub runs: u32,
    /// Time at which a run ends, ns; `None`: as the workload specifies.
    pub duration_ns: Option<u64>,
    /// How threads begin.
    pub start: Start,
    /// Share of foreign CPU time above which a repetition is rejected.
    pub noise_limit: f64,
    /// Maximum number of repetitions; `None`: three times the number requested.
    pub tries: Option<u32>,
    /// The place where groups are made.
    pub group: GroupChoice,
    /// Whether switches are recorded.
    pub records: bool,
    /// Whether the switches of all tasks are recorded, in a separate repetition.
    pub records_all: bool,
    /// Whether tasks that cannot be run are left out.
    pub leave_out: bool,
    /// Settings of the workload's groups.
    pub settings: GroupSettings,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cpus: None,
            runs: 5,
            duration_ns: None,
            start: Start::Wake,
            noise_limit: 0.02,
            tries: None,
            group: GroupChoice::Auto,
            records: true,
            records_all: false,
            leave_out: false,
            settings: GroupSettings::default(),
        }
    }
}
