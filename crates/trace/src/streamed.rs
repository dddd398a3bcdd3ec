//! Common part of all writers of traces: [`Streamed`], a file that keeps its first failure until it
//! is closed.

use crate::output::Output;
use std::io::{self, Write};

/// Properties of the recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Number of CPUs of the machine.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// Scheduler, e.g. `cfs@2.6.24`.
    pub scheduler: String,
}

/// Writer to a file that stops after a failure.
#[derive(Debug)]
pub struct Streamed {
    output: Output,
    failure: Option<io::Error>,
}

impl Streamed {
    /// Creates a writer to `output`.
    pub fn new(output: Output) -> Streamed {
        Streamed { output, failure: None }
    }

    /// Writes the bytes, unless writing has failed before.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() && !bytes.is_empty() {
            self.failure = self.output.write_all(bytes).err();
        }
    }

    /// Whether writing has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Moves the file to its final path.
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
