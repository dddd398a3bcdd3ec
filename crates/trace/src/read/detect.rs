//! What a file is, by what stands in it: [`Format`].

use super::ReadError;

/// So much of a file is looked at, bytes.
pub(super) const ENOUGH: u64 = 1 << 16;

/// Formats of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Lines of ftrace, `trace-cmd report`, `perf script` or systrace.
    Text,
}

impl Format {
    /// Of a file's beginning.
    pub(super) fn of(begin: &[u8]) -> Result<Format, ReadError> {
        if begin.iter().all(u8::is_ascii_whitespace) {
            return Err(ReadError::new("it is empty; it must be a recorded trace"));
        }
        Ok(Format::Text)
    }

    /// What it is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text (ftrace, trace-cmd report, perf script)",
        }
    }
}
