//! The document `schedlab-run/1` as text: writer and reader. `docs/json-schema.md` describes every
//! field.

use crate::data::{Report, RunReport, SCHEMA, SliceRow, SpanRow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;
use std::fmt;
use std::io::{self, Write};

/// Reason why a text is not a report.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON, or does not have this form; with the place.
    Form(serde_json::Error),
    /// The document has another schema, which is named.
    Schema(String),
    /// The document contradicts itself; with the contradiction.
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
                write!(f, "this is a `{found}` document; {SCHEMA} is required")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// Returns the report as a document, ending in a newline. It is indented down to the lists of
/// tasks, CPUs and slices, whose rows take a line each. The same report yields the same bytes on
/// every machine.
pub fn to_json(report: &Report) -> String {
    document(report)
}

/// Like [`to_json`], written in small pieces for a writer that buffers them: the document is never
/// in memory as a whole.
///
/// # Errors
/// The document cannot be written.
pub fn write_json(report: &Report, to: &mut impl Write) -> io::Result<()> {
    write_document(report, to)
}

/// Returns any document in this form.
pub(crate) fn document(report: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    write_document(report, &mut bytes).expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn write_document(report: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *to, RowFormatter::default());
    report.serialize(&mut serializer)?;
    to.write_all(b"\n")
}

/// Reads a document. Unknown fields are ignored, because later minor additions may bring some.
///
/// # Errors
/// The text is not such a document.
pub fn from_json(text: &str) -> Result<Report, ReadError> {
    let report: Report = read(text, SCHEMA)?;
    for run in &report.runs {
        check(run).map_err(|what| ReadError::Content(format!("{}: {what}", run.spec())))?;
    }
    Ok(report)
}

/// Reads any document of this crate, after checking its schema. All of them go through this
/// function and thus through one deserialiser, so that each type is compiled for a single one.
pub(crate) fn read<T: DeserializeOwned>(text: &str, schema: &str) -> Result<T, ReadError> {
    let head: Head = serde_json::from_str(text).map_err(ReadError::Form)?;
    if head.schema != schema {
        return Err(ReadError::Schema(head.schema));
    }
    serde_json::from_str(text).map_err(ReadError::Form)
}

/// The only field that documents of all schemas have.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Checks the invariants that the rest of this crate relies on.
fn check(run: &RunReport) -> Result<(), String> {
    if run.machine.cpus == 0 {
        return Err("a machine without CPUs".into());
    }
    for (place, task) in run.tasks.iter().enumerate() {
        if task.task as usize != place {
            return Err(format!("task {} is at index {place}", task.task));
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

/// Depth down to which lines are broken: document, `runs`, a run, one of its lists. Deeper contents
/// are on one line.
const BROKEN_DEPTH: usize = 4;

/// Breaks lines down to [`BROKEN_DEPTH`].
#[derive(Default)]
struct RowFormatter {
    depth: usize,
    /// Whether anything has been written in the innermost open list or object.
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
    /// Writes a part of a string. Control characters beyond those that JSON forbids (DEL, C1) are
    /// also escaped: some terminals obey them.
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
