//! Figures of a CPU: [`CpuFigures`].

use serde::{Deserialize, Serialize};

/// Figures of a CPU.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Number of the CPU.
    pub cpu: u32,
    /// Time running tasks, ns.
    pub busy_ns: u64,
    /// Idle time, ns.
    pub idle_ns: u64,
    /// Number of context switches, including those to and from idle.
    pub switches: u64,
    /// Number of ticks.
    pub ticks: u64,
}
