//! The result of a run: [`Run`].

use schedlab_bench::Findings;
use schedlab_report::RunReport;
use schedlab_workload::Log;

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Figures of the run.
    pub report: RunReport,
    /// Findings of a benchmark. Empty for a workload.
    pub findings: Findings,
    /// rt-app's own log of a workload, a line for each round of a phase. `None`: no log was kept.
    pub log: Option<Log>,
    /// Warnings for the user, a line each.
    pub warning: Option<String>,
}
