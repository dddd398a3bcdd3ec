//! How a workload is to be measured: [`Options`].

use schedlab_workload::{GroupSettings, Start};
use std::path::PathBuf;

/// Where the group of all threads is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GroupChoice {
    /// Where this process is, if that is permitted.
    #[default]
    Auto,
    /// Nowhere.
    None,
    /// In this directory of a hierarchy.
    At(PathBuf),
}

/// How a workload is to be measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// CPUs of tasks that name none; none: all that may be used.
    pub cpus: Option<Vec<u32>>,
    /// Quiet repetitions that are wanted.
    pub runs: u32,
    /// When a run ends, ns; none: as the workload says.
    pub duration_ns: Option<u64>,
    /// How threads begin.
    pub start: Start,
    /// From which share of foreign CPU time on a repetition is thrown away.
    pub noise_limit: f64,
    /// Repetitions at most; none: three times as many as are wanted.
    pub tries: Option<u32>,
    /// Where groups are made.
    pub group: GroupChoice,
    /// Whether switches are recorded.
    pub records: bool,
    /// Whether everybody's switches are recorded, in a repetition of its own.
    pub records_all: bool,
    /// Whether what cannot be done is left out.
    pub leave_out: bool,
    /// What holds in the workload's groups.
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
