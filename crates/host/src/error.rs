//! Reasons why there is no measurement: [`Error`].

use std::fmt;

/// The reason why there is no measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The request cannot be met, for this reason.
    Refused(String),
    /// The measurement was interrupted.
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
