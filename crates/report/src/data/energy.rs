//! What a modelled machine has drawn: [`EnergyFigures`].

use serde::{Deserialize, Serialize};

/// What a modelled machine has drawn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EnergyFigures {
    /// Energy, J.
    pub joules: f64,
    /// Mean power, W.
    pub mean_watts: f64,
    /// CPUs' idle states, the lightest first: how long, all CPUs together.
    pub idle: Vec<IdleRow>,
    /// How often idle CPUs woke up.
    pub wakeups: u64,
}

/// An idle state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct IdleRow {
    /// `C6`.
    pub state: String,
    /// How long, all CPUs together, ns.
    pub ns: u64,
}
