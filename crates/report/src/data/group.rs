//! The figures of a control group: [`GroupFigures`].

use serde::{Deserialize, Serialize};

/// A control group's figures, of all that was in it or below it: what `cpuacct` and `cpu.stat` of
/// the group would show.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupFigures {
    /// Its path.
    pub path: String,
    /// CPU time of all tasks in it, ns (`cpuacct.usage`; `usage_usec` of `cpu.stat`).
    pub usage_ns: u64,
    /// The same on each CPU (`cpuacct.usage_percpu`).
    pub usage_percpu_ns: Vec<u64>,
    /// Its CPU time as a part of what all CPUs had to give; none for a run of no length.
    pub machine_share: Option<f64>,
    /// Its quota's figures; none if the scheduler has no quotas.
    pub throttling: Option<ThrottleFigures>,
}

/// What a group's quota did to it (`cpu.stat`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThrottleFigures {
    /// Periods that have ended.
    pub nr_periods: u64,
    /// Those of them in which it was throttled.
    pub nr_throttled: u64,
    /// How long its CPUs' queues were throttled, summed over CPUs, ns (`throttled_usec`, version
    /// 1's `throttled_time`).
    pub throttled_ns: u64,
    /// Periods in which it used more than its quota, from what it had saved.
    pub nr_bursts: u64,
    /// How much more, ns (`burst_usec`).
    pub burst_ns: u64,
}
