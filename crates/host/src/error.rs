//! Why there is no measurement: [`Error`].

use std::fmt;

/// Why there is no measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// What was asked for cannot be done, and why.
    Refused(String),
    /// Somebody ended it.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(why) => f.write_str(why),
            Error::Interrupted => f.write_str("interrupted; nothing is left behind"),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(why: String) -> Error {
        Error::Refused(why)
    }
}
