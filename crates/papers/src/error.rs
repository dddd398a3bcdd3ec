//! Reasons why a file cannot be used: [`Error`].

use std::fmt::{self, Display};

/// A mistake in a file, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The place, from the outside in: the file's name, `run 2`, `line 7`. Empty if unknown.
    pub places: Vec<String>,
    /// The mistake, and what would be right.
    pub message: String,
}

impl Error {
    /// Creates an error whose place is not known yet.
    pub fn new(message: impl Display) -> Error {
        Error { places: vec![], message: message.to_string() }
    }

    /// Adds `place` around the place of the error.
    #[must_use]
    pub fn at(mut self, place: impl Display) -> Error {
        self.places.insert(0, place.to_string());
        self
    }
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::new(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::new(message)
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.places.iter().try_for_each(|place| write!(f, "{place}: "))?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Adds a place to the error of a result.
pub(crate) trait At<T> {
    /// Returns the result, with `place` added to its error.
    fn at(self, place: impl Display) -> Result<T, Error>;
}

impl<T> At<T> for Result<T, Error> {
    fn at(self, place: impl Display) -> Result<T, Error> {
        self.map_err(|error| error.at(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stand_from_the_outside_in() {
        let error = Error::new("seeds is 0").at("run 1").at("hogs.toml");
        assert_eq!(error.to_string(), "hogs.toml: run 1: seeds is 0");
        assert_eq!(Err::<(), _>(error.clone()).at("x"), Err(error.at("x")));
    }
}
