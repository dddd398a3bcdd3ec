//! Reads recorded traces, whatever tool wrote them, and gives their scheduler events to a
//! [`Sink`].
//!
//! [`Trace::open`] finds out what a file is from what stands in it, not from its name; compressed
//! files are unpacked on the way. [`Trace::read`] goes through it once, in memory that does not
//! grow with the file, and gives out the events in the order of time (those of the same time in
//! the order of the file).
//!
//! A trace is not to be trusted: what is lost, torn, out of order or not understood is counted in
//! [`Problems`], and the reading goes on. Only a file with nothing in it that can be used is an
//! error.
//!
//! What is read: text of ftrace of every age, `trace-cmd report`, `perf script` and systrace;
//! perf.data; trace.dat; Perfetto's binary form; Chrome's JSON; tables with named columns.

mod binary;
mod chrome_json;
mod columns;
mod detect;
mod feed;
mod formats;
mod names;
mod perf_data;
mod perfetto;
mod problems;
mod slices;
mod text;
mod trace_dat;
mod wire;

pub use crate::compressed::Packing;
pub use detect::Format;
pub use problems::{Place, Problem, Problems, Trouble};

use crate::compressed;
use crate::tracepoint::Sink;
use feed::Feed;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What cannot be read twice (a pipe), and what must be read here and there but is compressed, is
/// kept in memory: up to so many bytes.
const IN_MEMORY_MAX: u64 = 1 << 30;

/// Why a trace cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// What, and what would be right.
    pub message: String,
}

impl ReadError {
    pub(crate) fn new(message: impl Into<String>) -> ReadError {
        ReadError { message: message.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::new(compressed::io_message(&error))
    }
}

/// What a trace says of itself, and what was seen of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceHeader {
    /// The kernel's release, if the trace names it.
    pub release: Option<String>,
    /// The machine's name.
    pub host: Option<String>,
    /// The program that recorded or wrote it, or its command line.
    pub recorder: Option<String>,
    /// The clock of its times, if it says.
    pub clock: Option<String>,
    /// How many CPUs were online, if it says.
    pub cpus_online: Option<u32>,
    /// One more than the highest CPU in it.
    pub cpus: u32,
    /// When the first scheduler event was, ns.
    pub begin_ns: u64,
    /// When the last one was, ns.
    pub end_ns: u64,
    /// How many scheduler events were given to the sink.
    pub events: u64,
    /// How many of them are switches.
    pub switches: u64,
    /// How many of them are `sched_waking` or `sched_wakeup`.
    pub wakeups: u64,
    /// How many tasks are in it, the idle tasks apart.
    pub tasks: u64,
    /// Events that are not looked at, by name.
    pub others: BTreeMap<String, u64>,
}

/// What came of a reading.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// What the trace says of itself, and what was seen.
    pub header: TraceHeader,
    /// What is wrong with it.
    pub problems: Problems,
}

impl Reading {
    /// Checks that there are switches and wakeups: who wants to know why a task slept needs both.
    ///
    /// # Errors
    /// Something is missing; the message names the command that records it.
    pub fn needs_wakeups(&self) -> Result<(), ReadError> {
        let missing = match (self.header.switches, self.header.wakeups) {
            (0, _) => "sched_switch",
            (_, 0) => "sched_waking or sched_wakeup",
            _ => return Ok(()),
        };
        Err(ReadError::new(format!(
            "there is no {missing} in it; it needs sched_switch and sched_waking (or \
             sched_wakeup): record it with `perf sched record -- COMMAND`, or with `trace-cmd \
             record -e sched:sched_switch -e sched:sched_waking -e sched:sched_wakeup_new -e \
             sched:sched_process_fork COMMAND`"
        )))
    }
}

/// Where a trace's bytes are.
#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    Memory(Arc<[u8]>),
}

/// A trace that has been found to be one.
#[derive(Clone, Debug)]
pub struct Trace {
    source: Source,
    packing: Packing,
    format: Format,
}

/// Opens and reads `path`.
///
/// # Errors
/// It cannot be read, or there is nothing in it that can be used.
pub fn read(path: &Path, sink: &mut dyn Sink) -> Result<Reading, ReadError> {
    Trace::open(path)?.read(sink)
}

impl Trace {
    /// Finds out what `path` is.
    ///
    /// # Errors
    /// It cannot be read, or is no trace.
    pub fn open(path: &Path) -> Result<Trace, ReadError> {
        if !std::fs::metadata(path)?.is_file() {
            // A pipe, or a terminal: what is read is gone.
            let mut bytes = vec![];
            let mut input = std::fs::File::open(path)?.take(IN_MEMORY_MAX + 1);
            input.read_to_end(&mut bytes)?;
            if bytes.len() as u64 > IN_MEMORY_MAX {
                return Err(ReadError::new(
                    "more than a gigabyte comes out of it: put it into a file",
                ));
            }
            return Trace::of_bytes(bytes);
        }
        Trace::of(Source::File(path.into()))
    }

    /// A trace that stands in memory, compressed or not.
    ///
    /// # Errors
    /// It is no trace.
    pub fn of_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Trace, ReadError> {
        Trace::of(Source::Memory(bytes.into()))
    }

    fn of(source: Source) -> Result<Trace, ReadError> {
        let packing = Packing::of(compressed::peek(&mut *source.open()?)?);
        let mut begin = vec![];
        let result = packing.unpack(source.open()?).take(detect::ENOUGH).read_to_end(&mut begin);
        if let (true, Err(error)) = (begin.is_empty(), result) {
            return Err(ReadError::new(format!("it does not unpack: {error}")));
        }
        let format = Format::of(&begin)?;
        Ok(Trace { source, packing, format })
    }

    /// The beginning of what a file unpacks to.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn begin(path: &Path) -> Result<Vec<u8>, ReadError> {
        let source = Source::File(path.into());
        let packing = Packing::of(compressed::peek(&mut *source.open()?)?);
        let mut begin = vec![];
        // What does not unpack is told by who reads it.
        let _ = packing.unpack(source.open()?).take(detect::ENOUGH).read_to_end(&mut begin);
        Ok(begin)
    }

    /// What it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How it is compressed.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Gives all its events to `sink`.
    ///
    /// # Errors
    /// It cannot be read, or there is nothing in it that can be used.
    pub fn read(&self, sink: &mut dyn Sink) -> Result<Reading, ReadError> {
        self.read_in(sink, feed::WINDOW)
    }

    /// The same, where an event may stand `window` events behind a later one.
    pub(crate) fn read_in(&self, sink: &mut dyn Sink, window: usize) -> Result<Reading, ReadError> {
        let mut feed = Feed::new(sink, window);
        match self.format {
            Format::Text => text::read(&mut self.unpacked()?, &mut feed),
            Format::PerfData => perf_data::read(&mut *self.seekable()?, &mut feed)?,
            Format::TraceDat => trace_dat::read(&mut *self.seekable()?, &mut feed)?,
            Format::ChromeJson => chrome_json::read(&mut self.unpacked()?, &mut feed),
            Format::Columns => columns::read(&mut self.unpacked()?, &mut feed),
            Format::Perfetto => perfetto::read(&mut self.unpacked()?, &mut feed),
        }
        let (header, problems) = feed.finish();
        let reading = Reading { header, problems };
        self.check(&reading)?;
        Ok(reading)
    }

    /// That there is something in it.
    fn check(&self, reading: &Reading) -> Result<(), ReadError> {
        if reading.header.switches > 0 {
            return Ok(());
        }
        let mut message = String::new();
        let first = reading.problems.iter().find(|(trouble, problem)| {
            !problem.detail.is_empty() && !matches!(trouble, Trouble::Gap | Trouble::Jump)
        });
        if let Some((_, Problem { first, detail, .. })) = first {
            message = format!("{first}: {detail}; ");
        }
        message.push_str(match reading.header.events {
            0 => "there are no scheduler events in it that can be read",
            _ => "there are no sched_switch events in it",
        });
        message.push_str(
            "; it must be a trace (perf.data, the text of `perf script` or ftrace, ...) with \
             sched_switch, and sched_waking or sched_wakeup: `perf sched record` makes one",
        );
        Err(ReadError::new(message))
    }

    /// The file, for those who read here and there in it.
    fn seekable(&self) -> Result<Box<dyn perf_data::ReadSeek + '_>, ReadError> {
        match (&self.source, self.packing) {
            (Source::File(path), Packing::Plain) => {
                Ok(Box::new(io::BufReader::new(std::fs::File::open(path)?)))
            }
            (Source::Memory(bytes), Packing::Plain) => Ok(Box::new(io::Cursor::new(&bytes[..]))),
            _ => {
                let mut bytes = vec![];
                // What does not unpack is missing at the end.
                let _ = self.unpacked()?.take(IN_MEMORY_MAX + 1).read_to_end(&mut bytes);
                if bytes.len() as u64 > IN_MEMORY_MAX {
                    return Err(ReadError::new(
                        "it unpacks to more than a gigabyte: unpack it into a file",
                    ));
                }
                Ok(Box::new(io::Cursor::new(bytes)))
            }
        }
    }

    fn unpacked(&self) -> Result<Box<dyn io::BufRead + '_>, ReadError> {
        Ok(self.packing.unpack(self.source.open()?))
    }
}

impl Source {
    fn open(&self) -> Result<Box<dyn io::BufRead + '_>, ReadError> {
        Ok(match self {
            Source::File(path) => {
                Box::new(io::BufReader::with_capacity(1 << 16, std::fs::File::open(path)?))
            }
            Source::Memory(bytes) => Box::new(&bytes[..]),
        })
    }
}
