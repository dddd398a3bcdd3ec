//! Figures of a control group: [`GroupFigures`].

use serde::{Deserialize, Serialize};

/// Figures of a control group, over all tasks in it or below it: what `cpuacct` and `cpu.stat` of
/// the group would show.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupFigures {
    /// Path.
    pub path: String,
    /// CPU time of all its tasks, ns (`cpuacct.usage`; `usage_usec` of `cpu.stat`).
    pub usage_ns: u64,
    /// CPU time on each CPU (`cpuacct.usage_percpu`).
    pub usage_percpu_ns: Vec<u64>,
    /// Its share of the CPU time of all CPUs. `None`: the run has no length.
    pub machine_share: Option<f64>,
    /// Figures of its quota. `None`: the scheduler has no quotas.
    pub throttling: Option<ThrottleFigures>,
}

/// Effects of a group's quota (`cpu.stat`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThrottleFigures {
    /// Number of periods that have ended.
    pub nr_periods: u64,
    /// Number of these periods in which it was throttled.
    pub nr_throttled: u64,
    /// Time that its queues were throttled, summed over CPUs, ns (`throttled_usec`, version 1's
    /// `throttled_time`).
    pub throttled_ns: u64,
    /// Number of periods in which it used more than its quota, from saved time.
    pub nr_bursts: u64,
    /// Time used beyond the quota, ns (`burst_usec`).
    pub burst_ns: u64,
    /// Phase of its periods, ns: the time of a refill modulo the period. `None`: it has no limit.
    #[serde(default)]
    pub period_phase_ns: Option<u64>,
}
