//! A value on an axis: [`AxisValue`].

use serde::{Deserialize, Serialize};
use std::fmt;

/// The value that leaves the setting as it is.
pub(super) const DEFAULT: &str = "default";

/// A value on an axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or text in quotes")]
pub enum AxisValue {
    /// The setting stays as it is; `"default"` in a file.
    Default,
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisValue::Default => f.write_str(DEFAULT),
            AxisValue::Whole(number) => write!(f, "{number}"),
            AxisValue::Real(number) => write!(f, "{number}"),
            AxisValue::Text(text) => f.write_str(text),
        }
    }
}

impl AxisValue {
    /// Returns the number. `None`: the value is not a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            AxisValue::Whole(number) => Some(*number as f64),
            AxisValue::Real(number) => Some(*number),
            AxisValue::Default | AxisValue::Text(_) => None,
        }
    }

    /// Returns the whole number. `None`: the value is not a whole number.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            AxisValue::Whole(number) => Some(*number),
            AxisValue::Real(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(*number as i64)
            }
            _ => None,
        }
    }
}
