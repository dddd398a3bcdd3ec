//! Energy consumption of a modelled machine: [`EnergyFigures`].

use serde::{Deserialize, Serialize};

/// Energy consumption of a modelled machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EnergyFigures {
    /// Energy, J.
    pub joules: f64,
    /// Mean power, W.
    pub mean_watts: f64,
    /// Time in idle states, the lightest first, summed over CPUs.
    pub idle: Vec<IdleRow>,
    /// Number of times that an idle CPU woke up.
    pub wakeups: u64,
}

/// Time in an idle state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IdleRow {
    /// Name, e.g. `C6`.
    pub state: String,
    /// Time, summed over CPUs, ns.
    pub ns: u64,
}
