//! The results of a sweep in a file, a run a line, written as soon as each is done: [`Results`].
//!
//! The first line holds what all runs have in common ([`Header`]); a file with another one is
//! refused. Each further line holds the key of its run, and its result. A line that was cut off
//! when the program was stopped is dropped. A file may have runs that the sweep has not: a sweep
//! can be widened.

use super::Sweep;
use schedlab_report::bench::BenchRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

/// The name of the form and its version.
const SCHEMA: &str = "schedlab-bench-results/1";

/// What all runs of a file have in common.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Header {
    schema: String,
    /// Version of the program, as exact as the caller knows it.
    program: String,
    benchmark: String,
    /// The machine's name, and a number made of all that is known of it.
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

/// Why there are no results in a file, or none can be put there.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// It cannot be read or written.
    #[error("{name}: {error}")]
    File {
        /// Which.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// It is there already.
    #[error("{0} is there already; go on with it by --resume, or remove it")]
    Exists(String),
    /// It is not of this form; where.
    #[error("{name}: line {line}: this is no result of a sweep")]
    Form {
        /// Which.
        name: String,
        /// Where.
        line: usize,
    },
    /// It is of another sweep.
    #[error("{name} has the results of another sweep: its {what} is {theirs}, not {ours}")]
    Other {
        /// Which.
        name: String,
        /// What differs.
        what: &'static str,
        /// What it is there.
        theirs: String,
        /// What it is here.
        ours: String,
    },
}

/// Whether `bytes` are the beginning of a first line that was being written when the program was
/// stopped: nothing else is written over.
fn is_cut_header(bytes: &[u8]) -> bool {
    let head = format!("{{\"schema\":\"{SCHEMA}\"");
    bytes.starts_with(head.as_bytes()) || head.as_bytes().starts_with(bytes)
}

/// A number made of all of `bytes` (FNV-1a, 64 bits).
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

    /// In what `other` differs, and how.
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

/// The runs of `sweep`, by the version `program` of this program, that are finished in what was
/// read from the file `name`: how many of its bytes are whole lines, and how many runs there are.
///
/// # Errors
/// It is not of this form, or of another sweep.
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
    // What stands behind the last line's end was being written when the program was stopped.
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
    /// A new file at `path` for the results of `sweep`, by the version `program` of this program.
    ///
    /// # Errors
    /// It is there already, or cannot be written.
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

    /// The file at `path` with what is finished of `sweep`, by the version `program` of this
    /// program; more is added to it.
    ///
    /// # Errors
    /// It cannot be read, or is of another sweep.
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

    /// What came of it.
    pub(super) fn get(&self, key: &str) -> Option<BenchRow> {
        self.finished.get(key).cloned()
    }

    /// Adds a run that is finished.
    pub(super) fn add(&self, key: &str, result: &BenchRow) -> Result<(), ResultsError> {
        self.write(&Line { run: key.into(), result: result.clone() })
    }

    /// Writes a line at once, so that it is there whatever happens to the program next.
    fn write(&self, line: &impl Serialize) -> Result<(), ResultsError> {
        let failed = |error| ResultsError::File { name: self.name.clone(), error };
        let mut bytes = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(&bytes).and_then(|()| file.flush()).map_err(failed)
    }
}
