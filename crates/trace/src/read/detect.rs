//! Format of a file, recognised by its contents: [`Format`].

use super::{ReadError, columns};

/// Number of bytes of a file that are examined.
pub(super) const ENOUGH: u64 = 1 << 16;

/// Format of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Lines of ftrace, `trace-cmd report`, `perf script` or systrace.
    Text,
    /// Output of `perf record`.
    PerfData,
    /// Output of `trace-cmd record`.
    TraceDat,
    /// Perfetto's binary format.
    Perfetto,
    /// Chrome JSON.
    ChromeJson,
    /// Table with named columns.
    Columns,
}

impl Format {
    /// Recognises the format by the beginning of a file.
    pub(super) fn of(begin: &[u8]) -> Result<Format, ReadError> {
        if begin.iter().all(u8::is_ascii_whitespace) {
            return Err(ReadError::new("it is empty; it must be a recorded trace"));
        }
        if begin.starts_with(b"PERFILE2") || begin.starts_with(b"2ELIFREP") {
            return Ok(Format::PerfData);
        }
        if begin.starts_with(b"\x17\x08\x44tracing") {
            return Ok(Format::TraceDat);
        }
        // A packet is field 1 of the file. A text that begins with an empty line has no control
        // characters.
        let is_text = !begin.iter().any(|&byte| byte < 8 || byte == 0x7f);
        if begin[0] == 0x0a && !is_text {
            return Ok(Format::Perfetto);
        }
        let text = begin.trim_ascii_start();
        let is_list = text.starts_with(b"[") && text[1..].trim_ascii_start().starts_with(b"{");
        if is_list || (text.starts_with(b"{") && is_chrome(text)) {
            return Ok(Format::ChromeJson);
        }
        if columns::is_table(begin) {
            return Ok(Format::Columns);
        }
        Ok(Format::Text)
    }

    /// Returns the name of the format for messages.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text (ftrace, trace-cmd report, perf script)",
            Format::PerfData => "perf.data",
            Format::TraceDat => "trace.dat",
            Format::Perfetto => "Perfetto",
            Format::ChromeJson => "Chrome's JSON",
            Format::Columns => "a table with named columns",
        }
    }
}

/// Whether a JSON object is a trace: one of the two members occurs near its beginning.
pub(super) fn is_chrome(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    has(b"\"traceEvents\"") || has(b"\"systemTraceEvents\"")
}
