//! Results of a sweep in a file, one run a line, written as soon as the run is finished:
//! [`Results`].
//!
//! The first line holds the common part of all runs ([`Header`]). A file with another first line is
//! refused. Each further line holds the key of its run, and its result. A line that was cut off
//! when the program was stopped is dropped. A file may have runs that the sweep lacks, so that a
//! sweep can be changed.

use super::Sweep;
use schedlab_report::bench::BenchRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

/// Name and version of the form.
const SCHEMA: &str = "schedlab-bench-results/1";

/// Common part of all runs of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Header {
    schema: String,
    /// Version of the program, as exact as the caller knows it.
    program: String,
    benchmark: String,
    /// Name of the machine, and a fingerprint of its description.
    machine: String,
    cpus: u32,
    hz: Option<u32>,
    limit_ns: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    run: String,
    result: BenchRow,
}

/// A file of results.
pub struct Results {
    name: String,
    finished: BTreeMap<String, BenchRow>,
    file: Mutex<File>,
}

/// Reason why results cannot be read from a file, or written to it.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read or written.
    #[error("{name}: {error}")]
    File {
        /// Name of the file.
        name: String,
        /// The error.
        error: io::Error,
    },
    /// The file exists already.
    #[error("{0} exists already; continue it with --resume, or remove it")]
    Exists(String),
    /// The file does not have this form.
    #[error("{name}: line {line}: this is not a result of a sweep")]
    Form {
        /// Name of the file.
        name: String,
        /// Number of the line.
        line: usize,
    },
    /// The file belongs to another sweep.
    #[error("{name} has the results of another sweep: its {what} is {theirs}, not {ours}")]
    Other {
        /// Name of the file.
        name: String,
        /// Name of the property that differs.
        what: &'static str,
        /// Its value in the file.
        theirs: String,
        /// Its value in this sweep.
        ours: String,
    },
}

/// Whether `bytes` are the beginning of a first line that was being written when the program was
/// stopped. Only such a file is overwritten.
fn is_cut_header(bytes: &[u8]) -> bool {
    let head = format!("{{\"schema\":\"{SCHEMA}\"");
    bytes.starts_with(head.as_bytes()) || head.as_bytes().starts_with(bytes)
}

/// Returns the hash of `bytes` (FNV-1a, 64 bits).
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Header {
    fn of(sweep: &Sweep, program: &str) -> Header {
        let bench = &sweep.bench;
        let machine = match &bench.config.machine {
            Some(machine) => {
                format!("{} {:016x}", machine.name, fingerprint(format!("{machine:?}").as_bytes()))
            }
            None => "idealised".into(),
        };
        let costs = format!("{:?} {:?}", bench.config.costs, bench.config.nohz);
        let machine = match bench.config.costs {
            Some(_) => format!("{machine}, costs {:016x}", fingerprint(costs.as_bytes())),
            None => machine,
        };
        Header {
            schema: SCHEMA.into(),
            program: program.into(),
            benchmark: bench.benchmark.described(),
            machine,
            cpus: bench.config.cpus,
            hz: bench.config.hz,
            limit_ns: bench.config.limit_ns,
        }
    }

    /// Returns the first property in which `other` differs, with both values.
    fn difference(&self, other: &Header) -> Option<(&'static str, String, String)> {
        let optional =
            |value: Option<u64>| value.map_or("not set".into(), |value| value.to_string());
        let parts = |header: &Header| {
            [
                ("form", header.schema.clone()),
                ("benchmark", header.benchmark.clone()),
                ("version of schedlab", header.program.clone()),
                ("machine", header.machine.clone()),
                ("number of CPUs", header.cpus.to_string()),
                ("HZ", optional(header.hz.map(u64::from))),
                ("--duration in ns", optional(header.limit_ns)),
            ]
        };
        let pairs = parts(self).into_iter().zip(parts(other));
        pairs
            .into_iter()
            .find(|(own, other)| own.1 != other.1)
            .map(|((what, own), (_, other))| (what, own, other))
    }
}

/// Reads the finished runs of `sweep` from the contents of the file `name`. `program` is the
/// version of this program. Returns the number of bytes in complete lines, and the number of runs.
///
/// # Errors
/// The file does not have this form, or belongs to another sweep.
pub fn read_finished(
    name: &str,
    bytes: &[u8],
    sweep: &Sweep,
    program: &str,
) -> Result<(usize, usize), ResultsError> {
    let (whole, finished) = finished_runs(name, bytes, &Header::of(sweep, program))?;
    Ok((whole, finished.len()))
}

fn finished_runs(
    name: &str,
    bytes: &[u8],
    ours: &Header,
) -> Result<(usize, BTreeMap<String, BenchRow>), ResultsError> {
    // Bytes behind the end of the last line were being written when the program was stopped.
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let form = |line| ResultsError::Form { name: name.into(), line };
    let text = std::str::from_utf8(&bytes[..whole]).map_err(|_| form(1))?;
    let mut lines = text.lines();
    let mut finished = BTreeMap::new();
    if let Some(line) = lines.next() {
        let theirs: Header = serde_json::from_str(line).map_err(|_| form(1))?;
        if let Some((what, theirs, ours)) = theirs.difference(ours) {
            return Err(ResultsError::Other { name: name.into(), what, theirs, ours });
        }
    } else if !is_cut_header(bytes) {
        return Err(form(1));
    }
    for (number, line) in lines.enumerate() {
        let Line { run, result } = serde_json::from_str(line).map_err(|_| form(number + 2))?;
        finished.insert(run, result);
    }
    Ok((whole, finished))
}

impl Results {
    /// Creates a file at `path` for the results of `sweep`. `program` is the version of this
    /// program.
    ///
    /// # Errors
    /// The file exists already, or cannot be written.
    pub fn create(path: &Path, sweep: &Sweep, program: &str) -> Result<Results, ResultsError> {
        let name = path.display().to_string();
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ResultsError::Exists(name.clone()),
            _ => ResultsError::File { name: name.clone(), error },
        })?;
        let results = Results { name, finished: BTreeMap::new(), file: Mutex::new(file) };
        results.write(&Header::of(sweep, program))?;
        Ok(results)
    }

    /// Opens the file at `path` with the finished runs of `sweep`, to add more. `program` is the
    /// version of this program.
    ///
    /// # Errors
    /// The file cannot be read, or belongs to another sweep.
    pub fn resume(path: &Path, sweep: &Sweep, program: &str) -> Result<Results, ResultsError> {
        let name = path.display().to_string();
        let failed = |error| ResultsError::File { name: name.clone(), error };
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes).map_err(failed)?;
        let ours = Header::of(sweep, program);
        let (whole, finished) = finished_runs(&name, &bytes, &ours)?;
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let results = Results { name, finished, file: Mutex::new(file) };
        if whole == 0 {
            results.write(&ours)?;
        }
        Ok(results)
    }

    /// Whether the run with this key was finished when the file was read.
    pub(super) fn has(&self, key: &str) -> bool {
        self.finished.contains_key(key)
    }

    /// Returns the result of a finished run.
    pub(super) fn get(&self, key: &str) -> Option<BenchRow> {
        self.finished.get(key).cloned()
    }

    /// Adds a finished run.
    pub(super) fn add(&self, key: &str, result: &BenchRow) -> Result<(), ResultsError> {
        self.write(&Line { run: key.into(), result: result.clone() })
    }

    /// Writes a line immediately, so that it survives the end of the program.
    fn write(&self, line: &impl Serialize) -> Result<(), ResultsError> {
        let failed = |error| ResultsError::File { name: self.name.clone(), error };
        let mut bytes = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(&bytes).and_then(|()| file.flush()).map_err(failed)
    }
}
