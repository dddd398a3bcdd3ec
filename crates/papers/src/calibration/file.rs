//! The form of a calibration's file: what stands in `papers/calibration/*.toml`.
//!
//! `docs/calibration.md` describes it for those who write one.

use crate::axes::For;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A calibration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// In a line.
    pub title: String,
    /// The machine whose numbers are fitted: a preset, or a file.
    pub machine: String,
    /// What the fitted numbers were fitted to, as it shall stand with each in the machine's file.
    pub calibrated_on: String,
    /// When to stop: every measurement is met to within this part.
    #[serde(default = "precision")]
    pub precision: f64,
    /// When to stop at the latest: so many sets of values were tried.
    #[serde(default = "tries")]
    pub tries: u32,
    /// What is fitted.
    #[serde(default, rename = "parameter")]
    pub parameters: Vec<Parameter>,
    /// What it is fitted to.
    #[serde(default, rename = "measurement")]
    pub measurements: Vec<Measurement>,
    /// What is simulated before and after, and not fitted to.
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

/// A number that is fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The costs that are this number, as `--cost` names them. With several, all are the same.
    pub costs: Vec<String>,
    /// Where the search begins, ns.
    pub start: f64,
    /// The least that makes sense, ns; above 0.
    pub least: f64,
    /// The most, ns.
    pub most: f64,
}

/// Something that was measured, and how it is simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// One for each combination.
    #[serde(default, rename = "for")]
    pub axes: For,
    /// A benchmark of `schedlab bench`.
    pub bench: String,
    /// Its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// The scheduler: `o_n@2.4.19`.
    pub scheduler: String,
    /// So many runs with different seeds: their mean is what is compared.
    #[serde(default = "one")]
    pub seeds: u64,
    /// The figure of the benchmark that was measured.
    pub figure: String,
    /// Its value, in the figure's unit: a number, or a text with names in it.
    pub measured: Value,
    /// Where that was published.
    pub source: String,
}
