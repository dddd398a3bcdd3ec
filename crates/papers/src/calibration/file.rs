//! The format of a calibration file in `crates/papers/experiments/calibration/*.toml`.
//!
//! `docs/calibration.md` describes it for authors.

use crate::axes::For;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A calibration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Description in a line.
    pub title: String,
    /// The machine whose costs are fitted: a preset, or a file.
    pub machine: String,
    /// The measurements in words, as written next to each fitted number in the machine's file.
    pub calibrated_on: String,
    /// Precision at which the search stops: every measurement is met within this fraction.
    #[serde(default = "precision")]
    pub precision: f64,
    /// Maximum number of sets of values that are tried.
    #[serde(default = "tries")]
    pub tries: u32,
    /// The fitted costs.
    #[serde(default, rename = "parameter")]
    pub parameters: Vec<Parameter>,
    /// The measurements that they are fitted to.
    #[serde(default, rename = "measurement")]
    pub measurements: Vec<Measurement>,
    /// Measurements that are simulated before and after the search, and not fitted to.
    #[serde(default, rename = "held_out")]
    pub held_out: Vec<Measurement>,
}

fn precision() -> f64 {
    0.002
}

fn one() -> u64 {
    1
}

fn tries() -> u32 {
    40
}

/// A fitted number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The costs that it sets, as `--cost` names them. If there are several, all have the same
    /// value.
    pub costs: Vec<String>,
    /// Value at which the search starts, ns.
    pub start: f64,
    /// The smallest reasonable value, ns; above 0.
    pub least: f64,
    /// The largest reasonable value, ns.
    pub most: f64,
}

/// A measurement, and how it is simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Values of names in the texts. There is one measurement for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// A benchmark of `schedlab bench`.
    pub bench: String,
    /// Its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// The scheduler: `o_n@2.4.19`.
    pub scheduler: String,
    /// Number of runs with different seeds. Their mean is compared.
    #[serde(default = "one")]
    pub seeds: u64,
    /// The benchmark's figure that was measured.
    pub figure: String,
    /// Its value, in the figure's unit: a number, or a text with names in it.
    pub measured: Value,
    /// The place where the value was published.
    pub source: String,
}
