//! The document `schedlab-run/1` as text, and back. `docs/json-schema.md` describes every field.

use crate::data::{Report, RunReport, SCHEMA, SliceRow, SpanRow};
use serde::Serialize;
use serde_json::ser::Formatter;
use std::fmt;
use std::io::{self, Write};

/// Why a text is no report.
#[derive(Debug)]
pub enum ReadError {
    /// It is not JSON, or not of this form; with the place.
    Form(serde_json::Error),
    /// It is of another schema, which is named.
    Schema(String),
    /// It contradicts itself; with how.
    Content(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Form(error) => write!(f, "not a {SCHEMA} document: {error}"),
            ReadError::Content(what) => {
                write!(f, "this {SCHEMA} document contradicts itself: {what}")
            }
            ReadError::Schema(found) => {
                write!(f, "this is a `{found}` document; {SCHEMA} is understood")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// The report as a document, ending in a newline. Indented down to the lists of tasks, CPUs and
/// slices, whose rows take a line each. The same report gives the same bytes, anywhere.
pub fn to_json(report: &Report) -> String {
    document(report)
}

/// The same in small pieces, for a writer that gathers them: it never stands in memory as a whole.
///
/// # Errors
/// It cannot be written.
pub fn write_json(report: &Report, to: &mut impl Write) -> io::Result<()> {
    write_document(report, to)
}

/// Any document in this form.
pub(crate) fn document(report: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    write_document(report, &mut bytes)
        .expect("numbers, strings and lists can always be written to memory");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn write_document(report: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *to, RowFormatter::default());
    report.serialize(&mut serializer)?;
    to.write_all(b"\n")
}

/// Reads a document back. Fields that are not known are passed over, as later minor additions may
/// bring some.
///
/// # Errors
/// If it is not one.
pub fn from_json(text: &str) -> Result<Report, ReadError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_str(text).map_err(ReadError::Form)?;
    if head.schema != SCHEMA {
        return Err(ReadError::Schema(head.schema));
    }
    let report: Report = serde_json::from_str(text).map_err(ReadError::Form)?;
    for run in &report.runs {
        check(run).map_err(|what| ReadError::Content(format!("{}: {what}", run.spec())))?;
    }
    Ok(report)
}

/// Checks what the rest of this crate relies on.
fn check(run: &RunReport) -> Result<(), String> {
    if run.machine.cpus == 0 {
        return Err("a machine without CPUs".into());
    }
    for (place, task) in run.tasks.iter().enumerate() {
        if task.task as usize != place {
            return Err(format!("task {} stands at place {place}", task.task));
        }
    }
    let tasks = run.tasks.len();
    for slice in run.slices.iter().flatten() {
        let SliceRow(cpu, start_ns, end_ns, task) = *slice;
        if cpu >= run.machine.cpus || task as usize >= tasks || start_ns >= end_ns {
            return Err(format!("slice [{cpu},{start_ns},{end_ns},{task}]"));
        }
    }
    for span in run.spans.iter().flatten() {
        let SpanRow(start_ns, end_ns, task) = *span;
        if task as usize >= tasks || start_ns >= end_ns {
            return Err(format!("span [{start_ns},{end_ns},{task}]"));
        }
    }
    Ok(())
}

/// How deep lines are broken: document, `runs`, a run, one of its lists. What is in those stands on
/// a line.
const BROKEN_DEPTH: usize = 4;

/// Breaks lines down to [`BROKEN_DEPTH`].
#[derive(Default)]
struct RowFormatter {
    depth: usize,
    /// Whether anything has been written in the list or object just open.
    filled: bool,
}

impl RowFormatter {
    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(bracket)
    }

    fn item<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.depth <= BROKEN_DEPTH {
            self.line(writer)?;
        }
        Ok(())
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.filled && self.depth < BROKEN_DEPTH {
            self.line(writer)?;
        }
        self.filled = true;
        writer.write_all(bracket)
    }
}

impl Formatter for RowFormatter {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }
    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }
    /// Control characters beyond those that JSON forbids (DEL, C1) are escaped, too: some terminals
    /// obey them.
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut from = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| c.is_control()) {
            writer.write_all(&fragment.as_bytes()[from..at])?;
            write!(writer, "\\u{:04x}", u32::from(c))?;
            from = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[from..])
    }
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }
    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let separator: &[u8] = if self.depth <= BROKEN_DEPTH { b": " } else { b":" };
        writer.write_all(separator)
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}
