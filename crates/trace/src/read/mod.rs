//! Reads recorded traces of many tools and passes their scheduler events to a [`Sink`].
//!
//! [`Trace::open`] recognises a file by its contents, not by its name; compressed files are
//! unpacked on the way. [`Trace::read`] makes one pass over it, in memory that does not grow with
//! the file, and delivers the events in the order of time (events of the same time in the order of
//! the file).
//!
//! Traces are not trusted: whatever is lost, torn, out of order or not understood is counted in
//! [`Problems`], and reading continues. Only a file without any usable contents is an error.
//!
//! Formats: text of ftrace of every age, `trace-cmd report`, `perf script` and systrace; perf.data;
//! trace.dat; Perfetto's binary format; Chrome JSON; the JSON of `perf data convert`; tables with
//! named columns.

mod binary;
mod chrome_json;
mod columns;
mod detect;
mod feed;
mod formats;
mod json;
mod named;
mod names;
mod perf_data;
mod perf_json;
mod perfetto;
mod problems;
mod slices;
mod states;
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

/// Maximum number of bytes kept in memory: for input that cannot be read twice (a pipe), and for
/// compressed input that needs random access.
const IN_MEMORY_MAX: u64 = 1 << 30;

/// Reason why a trace cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// Description: what is wrong, and what would be right.
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

/// Properties that a trace states about itself, and statistics of its events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceHeader {
    /// Release of the kernel, if the trace has it.
    pub release: Option<String>,
    /// Name of the machine.
    pub host: Option<String>,
    /// Program that recorded or wrote it, or its command line.
    pub recorder: Option<String>,
    /// Clock of its times, if the trace has it.
    pub clock: Option<String>,
    /// Number of CPUs online, if the trace has it.
    pub cpus_online: Option<u32>,
    /// Highest CPU number in it, plus one.
    pub cpus: u32,
    /// Time of the first scheduler event, ns.
    pub begin_ns: u64,
    /// Time of the last scheduler event, ns.
    pub end_ns: u64,
    /// Number of scheduler events passed to the sink.
    pub events: u64,
    /// Number of switches among them.
    pub switches: u64,
    /// Number of `sched_waking` and `sched_wakeup` events among them.
    pub wakeups: u64,
    /// Number of tasks in it, except the idle tasks.
    pub tasks: u64,
    /// Number of events that are not read, by name.
    pub others: BTreeMap<String, u64>,
}

/// Result of reading a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Properties and statistics of the trace.
    pub header: TraceHeader,
    /// Problems with it.
    pub problems: Problems,
}

impl Reading {
    /// Checks that there are switches and wakeups: both are needed to infer why a task slept.
    ///
    /// # Errors
    /// One of them is missing. The message names the command that records it.
    pub fn needs_wakeups(&self) -> Result<(), ReadError> {
        let missing = match (self.header.switches, self.header.wakeups) {
            (0, _) => "sched_switch",
            (_, 0) => "sched_waking or sched_wakeup",
            _ => return Ok(()),
        };
        Err(ReadError::new(format!(
            "it has no {missing}; it needs sched_switch and sched_waking (or \
             sched_wakeup): record it with `perf sched record -- COMMAND`, or with `trace-cmd \
             record -e sched:sched_switch -e sched:sched_waking -e sched:sched_wakeup_new -e \
             sched:sched_process_fork COMMAND`"
        )))
    }
}

/// Location of the bytes of a trace.
#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    Memory(Arc<[u8]>),
}

/// File that has been recognised as a trace.
#[derive(Clone, Debug)]
pub struct Trace {
    source: Source,
    packing: Packing,
    format: Format,
}

/// Opens and reads `path`.
///
/// # Errors
/// The file cannot be read, or has no usable contents.
pub fn read(path: &Path, sink: &mut dyn Sink) -> Result<Reading, ReadError> {
    Trace::open(path)?.read(sink)
}

impl Trace {
    /// Recognises the format of `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is not a trace.
    pub fn open(path: &Path) -> Result<Trace, ReadError> {
        if !std::fs::metadata(path)?.is_file() {
            // A pipe or a terminal cannot be read twice.
            let mut bytes = vec![];
            let mut input = std::fs::File::open(path)?.take(IN_MEMORY_MAX + 1);
            input.read_to_end(&mut bytes)?;
            if bytes.len() as u64 > IN_MEMORY_MAX {
                return Err(ReadError::new(
                    "the input is longer than a gigabyte: save it to a file",
                ));
            }
            return Trace::of_bytes(bytes);
        }
        Trace::of(Source::File(path.into()))
    }

    /// Creates a trace from bytes in memory, compressed or not.
    ///
    /// # Errors
    /// The bytes are not a trace.
    pub fn of_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Trace, ReadError> {
        Trace::of(Source::Memory(bytes.into()))
    }

    fn of(source: Source) -> Result<Trace, ReadError> {
        let packing = Packing::of(compressed::peek(&mut *source.open()?)?);
        let mut begin = vec![];
        let result = packing.unpack(source.open()?).take(detect::ENOUGH).read_to_end(&mut begin);
        if let (true, Err(error)) = (begin.is_empty(), result) {
            let hint = match packing {
                Packing::Atrace => {
                    "; a terminal changes line ends in it: fetch it with `adb exec-out atrace -z`"
                }
                _ => "",
            };
            return Err(ReadError::new(format!("it cannot be decompressed: {error}{hint}")));
        }
        let format = Format::of(&begin)?;
        Ok(Trace { source, packing, format })
    }

    /// Returns the beginning of the unpacked contents of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn begin(path: &Path) -> Result<Vec<u8>, ReadError> {
        let source = Source::File(path.into());
        let packing = Packing::of(compressed::peek(&mut *source.open()?)?);
        let mut begin = vec![];
        // Failure to unpack is reported by the reader.
        let _ = packing.unpack(source.open()?).take(detect::ENOUGH).read_to_end(&mut begin);
        Ok(begin)
    }

    /// Returns its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns its compression.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Passes all its events to `sink`.
    ///
    /// # Errors
    /// The file cannot be read, or has no usable contents.
    pub fn read(&self, sink: &mut dyn Sink) -> Result<Reading, ReadError> {
        self.read_in(sink, feed::WINDOW)
    }

    /// Like [`Trace::read`], where an event may be `window` events behind a later one.
    pub(crate) fn read_in(&self, sink: &mut dyn Sink, window: usize) -> Result<Reading, ReadError> {
        let mut feed = Feed::new(sink, window);
        match self.format {
            Format::Text => text::read(&mut self.unpacked()?, &mut feed),
            Format::PerfData => perf_data::read(&mut *self.seekable()?, &mut feed)?,
            Format::TraceDat => trace_dat::read(&mut *self.seekable()?, &mut feed)?,
            Format::PerfJson => perf_json::read(&mut self.unpacked()?, &mut feed),
            Format::ChromeJson => chrome_json::read(&mut self.unpacked()?, &mut feed),
            Format::Columns => columns::read(&mut self.unpacked()?, &mut feed),
            Format::Perfetto => perfetto::read(&mut self.unpacked()?, &mut feed),
        }
        let (header, problems) = feed.finish();
        let reading = Reading { header, problems };
        self.check(&reading)?;
        Ok(reading)
    }

    /// Checks that it has usable contents.
    fn check(&self, reading: &Reading) -> Result<(), ReadError> {
        if reading.header.switches > 0 {
            return Ok(());
        }
        let mut message = String::new();
        let first = reading.problems.iter().find(|(trouble, problem)| {
            !problem.detail.is_empty() && !matches!(trouble, Trouble::Gap | Trouble::Jump)
        });
        if let Some((_, Problem { first, detail, .. })) = first {
            message = match first {
                Place::Whole => format!("{detail}; "),
                first => format!("{first}: {detail}; "),
            };
        }
        message.push_str(match reading.header.events {
            0 => "it has no scheduler events that can be read",
            _ => "it has no sched_switch events",
        });
        message.push_str(
            "; a trace is required (perf.data, the text of `perf script` or ftrace, ...) with \
             sched_switch, and sched_waking or sched_wakeup: `perf sched record` makes one",
        );
        Err(ReadError::new(message))
    }

    /// Returns the file for random access.
    fn seekable(&self) -> Result<Box<dyn perf_data::ReadSeek + '_>, ReadError> {
        match (&self.source, self.packing) {
            (Source::File(path), Packing::Plain) => {
                Ok(Box::new(io::BufReader::new(std::fs::File::open(path)?)))
            }
            (Source::Memory(bytes), Packing::Plain) => Ok(Box::new(io::Cursor::new(&bytes[..]))),
            _ => {
                let mut bytes = vec![];
                // Contents that do not unpack are treated as missing at the end.
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
