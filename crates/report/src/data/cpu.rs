//! The figures of a CPU: [`CpuFigures`].

use serde::{Deserialize, Serialize};

/// A CPU's figures.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Its number.
    pub cpu: u32,
    /// Time it ran tasks, ns.
    pub busy_ns: u64,
    /// Time it idled, ns.
    pub idle_ns: u64,
    /// Context switches, those to and from idle included.
    pub switches: u64,
    /// Ticks.
    pub ticks: u64,
}
