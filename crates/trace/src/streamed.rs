//! What all writers of traces share: [`Streamed`], a file whose first failure is kept until it is
//! closed.

use crate::output::Output;
use std::io::{self, Write};

/// What a trace says of the run that it is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// How many CPUs the machine has.
    pub cpus: u32,
    /// Its ticks a second.
    pub hz: u32,
    /// The scheduler, e.g. `cfs@2.6.24`.
    pub scheduler: String,
}

/// Writes to a file; after a failure no more.
#[derive(Debug)]
pub struct Streamed {
    output: Output,
    failure: Option<io::Error>,
}

impl Streamed {
    /// Into `output`.
    pub fn new(output: Output) -> Streamed {
        Streamed { output, failure: None }
    }

    /// Writes, unless that has failed before.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() && !bytes.is_empty() {
            self.failure = self.output.write_all(bytes).err();
        }
    }

    /// Whether it cannot be written any more.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// The first failure; the file is removed.
    pub fn close(self) -> io::Result<()> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.output.finish(),
        }
    }
}
