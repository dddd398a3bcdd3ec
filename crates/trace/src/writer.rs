//! Trace in one of the formats, chosen at run time: [`TraceWriter`].

use crate::output::{Output, Packing};
use crate::streamed::Header;
use crate::tracepoint::{LagAccount, NewTask, Record, Sink, TaskRef};
use crate::{Chrome, Perfetto, Text, TextForm};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Format of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// Perfetto's binary format.
    Perfetto,
    /// Chrome JSON.
    Chrome,
    /// Text of `perf script`.
    Perf,
    /// Text of ftrace.
    Ftrace,
}

impl TraceFormat {
    /// Returns the format that the extension selects, ignoring the extension of a compression.
    pub fn of(path: &Path) -> Option<TraceFormat> {
        let (_, path) = Packing::of(path);
        match path.extension()?.to_str()? {
            "pftrace" | "perfetto-trace" => Some(TraceFormat::Perfetto),
            "json" => Some(TraceFormat::Chrome),
            "txt" => Some(TraceFormat::Perf),
            _ => None,
        }
    }
}

/// Whether a trace may replace `path`: it does not exist, begins like a trace, or is compressed.
/// Otherwise a workload whose name was given in place of the option's value would be lost.
pub fn is_replaceable(path: &Path) -> bool {
    let Ok(there) = path.metadata() else { return true };
    if !there.is_file() || there.len() == 0 {
        return true;
    }
    let mut begin = [0; 48];
    let read = File::open(path).and_then(|mut file| file.read(&mut begin));
    let begin = &begin[..read.unwrap_or(0)];
    let known: [&[u8]; 7] = [
        b"\x0a",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"{\"displayTimeUnit\"",
        b"# ========\n# hostname",
        b"# tracer:",
        b"{\"traceEvents\"",
    ];
    known.iter().any(|known| begin.starts_with(known))
}

/// Writes a trace during the run.
#[derive(Debug)]
pub enum TraceWriter {
    /// Perfetto's binary format.
    Perfetto(Perfetto),
    /// Chrome JSON.
    Chrome(Chrome),
    /// Text.
    Text(Text),
}

impl TraceWriter {
    /// Begins a trace in `path`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, format: TraceFormat, header: &Header) -> io::Result<TraceWriter> {
        let output = Output::create(path)?;
        Ok(match format {
            TraceFormat::Perfetto => TraceWriter::Perfetto(Perfetto::new(output, header)),
            TraceFormat::Chrome => TraceWriter::Chrome(Chrome::new(output, header)),
            TraceFormat::Perf => TraceWriter::Text(Text::new(output, TextForm::Perf, header)),
            TraceFormat::Ftrace => TraceWriter::Text(Text::new(output, TextForm::Ftrace, header)),
        })
    }

    /// Moves the file to its final path.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn close(self) -> io::Result<()> {
        match self {
            TraceWriter::Perfetto(writer) => writer.close(),
            TraceWriter::Chrome(writer) => writer.close(),
            TraceWriter::Text(writer) => writer.close(),
        }
    }

    /// Whether writing has failed.
    pub fn has_failed(&self) -> bool {
        match self {
            TraceWriter::Perfetto(writer) => writer.has_failed(),
            TraceWriter::Chrome(writer) => writer.has_failed(),
            TraceWriter::Text(writer) => writer.has_failed(),
        }
    }

    fn sink(&mut self) -> &mut dyn Sink {
        match self {
            TraceWriter::Perfetto(writer) => writer,
            TraceWriter::Chrome(writer) => writer,
            TraceWriter::Text(writer) => writer,
        }
    }
}

impl Sink for TraceWriter {
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        self.sink().task(at_ns, task);
    }

    fn record(&mut self, record: &Record<'_>) {
        match self {
            TraceWriter::Perfetto(writer) => writer.record(record),
            TraceWriter::Chrome(writer) => writer.record(record),
            TraceWriter::Text(writer) => writer.record(record),
        }
    }

    fn queue_length(&mut self, at_ns: u64, cpu: u32, tasks: u32) {
        self.sink().queue_length(at_ns, cpu, tasks);
    }

    fn lag(&mut self, at_ns: u64, task: TaskRef<'_>, account: LagAccount, lag_ns: i64) {
        self.sink().lag(at_ns, task, account, lag_ns);
    }

    fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        self.sink().group(at_ns, pid, group);
    }

    fn closing(&mut self, at_ns: u64) {
        self.sink().closing(at_ns);
    }

    fn finish(&mut self, at_ns: u64) {
        self.sink().finish(at_ns);
    }
}
