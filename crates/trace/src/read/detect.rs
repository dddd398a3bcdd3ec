//! Format of a file, recognised by its contents: [`Format`].

use super::{ReadError, columns};

/// Number of bytes of a file that are examined.
pub(super) const ENOUGH: u64 = 1 << 16;

/// First record of a Fuchsia trace: the magic number 0x0016547846040010, lowest byte first.
const FUCHSIA: [u8; 8] = [0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00];

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
    /// Output of `perf data convert --to-json`.
    PerfJson,
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
        if begin.starts_with(&FUCHSIA) {
            return Err(ReadError::new(
                "it is a trace of Fuchsia (FXT, magic number 0x0016547846040010), which is not \
                 read; convert it to a table with the columns cpu,start_ns,end_ns,pid,task: \
                 `trace_processor_shell -q QUERY.sql FILE` with the query `select cpu, ts as \
                 start_ns, ts + dur as end_ns, tid as pid, name as task from sched join thread \
                 using (utid)`",
            ));
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
        if text.starts_with(b"{") && has(text, b"\"linux-perf-json-version\"") {
            return Ok(Format::PerfJson);
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
            Format::PerfJson => "JSON of perf data convert",
            Format::Columns => "a table with named columns",
        }
    }
}

/// Whether a JSON object is a trace: one of the two members occurs near its beginning.
pub(super) fn is_chrome(text: &[u8]) -> bool {
    has(text, b"\"traceEvents\"") || has(text, b"\"systemTraceEvents\"")
}

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
