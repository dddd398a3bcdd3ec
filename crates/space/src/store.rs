//! Results of a space in a directory: `manifest.json`, and `part-00000.csv` (or `.parquet`) and so
//! on. A part is written when all its runs are over, under another name until it is complete.
//!
//! A sweep that was interrupted continues where it stopped. A directory of another sweep, or of
//! another version of the program, is refused.

use super::cells::end_of;
pub use super::cells::{Kind, end_name};
use super::value::AxisValue;
use super::{Row, Space, has_column};
use schedlab_lab::sweep::fingerprint;
use schedlab_trace::Output;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name and version of the manifest's form.
const SCHEMA: &str = "schedlab-sweep/1";

/// File that describes the contents of a directory.
const MANIFEST: &str = "manifest.json";

/// File format of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartForm {
    /// Comma-separated values.
    Csv,
    /// Parquet, if the crate was built with it.
    Parquet,
}

impl PartForm {
    /// Returns the extension of the files.
    pub fn ending(self) -> &'static str {
        match self {
            PartForm::Csv => "csv",
            PartForm::Parquet => "parquet",
        }
    }

    /// Whether this build can write it.
    pub fn is_built(self) -> bool {
        match self {
            PartForm::Csv => true,
            PartForm::Parquet => cfg!(feature = "parquet"),
        }
    }

    /// Returns the best format that this build can write.
    pub fn best() -> PartForm {
        if PartForm::Parquet.is_built() { PartForm::Parquet } else { PartForm::Csv }
    }
}

/// Description of a directory's contents.
#[derive(Serialize, Deserialize)]
struct Manifest {
    schema: String,
    /// Version of the program, as exact as the caller knows it.
    program: String,
    /// Fingerprint of program, form and space. Equal fingerprints mean that parts have the same
    /// bytes.
    fingerprint: String,
    form: PartForm,
    title: String,
    points: u64,
    runs: u64,
    parts: u64,
    columns: Vec<String>,
    /// The sweep itself, with the texts of all files.
    space: serde_json::Value,
}

impl Manifest {
    fn of(space: &Space, form: PartForm, program: &str) -> Manifest {
        let json = space.to_json();
        let all = format!("{SCHEMA}\n{program}\n{}\n{json}", form.ending());
        Manifest {
            schema: SCHEMA.into(),
            program: program.into(),
            fingerprint: format!("{:016x}", fingerprint(all.as_bytes())),
            form,
            title: space.title().into(),
            points: space.points(),
            runs: space.runs(),
            parts: space.parts(),
            columns: space.column_names(),
            space: serde_json::from_str(&json).expect("the space is valid JSON"),
        }
    }
}

/// A directory of results.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    form: PartForm,
    parts: u64,
}

impl Store {
    /// Opens the directory for the results of `space`. `program` is the version of this program.
    /// The directory is created, or already has some parts.
    ///
    /// # Errors
    /// The directory cannot be created, or belongs to something else.
    pub fn open(
        directory: &Path,
        space: &Space,
        form: PartForm,
        program: &str,
    ) -> Result<Store, String> {
        let name = directory.display();
        let failed = |error: io::Error| format!("{name}: {error}");
        if !form.is_built() {
            return Err(format!("this build cannot write {}", form.ending()));
        }
        let ours = Manifest::of(space, form, program);
        let path = directory.join(MANIFEST);
        let store = Store { directory: directory.into(), form, parts: space.parts() };
        match fs::read_to_string(&path) {
            Ok(text) => {
                let theirs: Manifest = serde_json::from_str(&text).map_err(|error| {
                    format!("{}: this is not the manifest of a sweep: {error}", path.display())
                })?;
                if theirs.fingerprint == ours.fingerprint {
                    return Ok(store);
                }
                let what = if theirs.program != ours.program {
                    format!("made by version {}, this is {}", theirs.program, ours.program)
                } else if theirs.form != ours.form {
                    format!("written as {}, not {}", theirs.form.ending(), ours.form.ending())
                } else {
                    "of another sweep".into()
                };
                return Err(format!(
                    "{name} has results {what}; name another directory, or remove this one"
                ));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Err(_) => {}
        }
        if directory.exists() && fs::read_dir(directory).map_err(failed)?.next().is_some() {
            return Err(format!(
                "{name} exists and holds no sweep, so nothing is written there; name another \
                 directory"
            ));
        }
        if !directory.exists() {
            fs::create_dir(directory).map_err(failed)?;
        }
        let mut text = serde_json::to_string_pretty(&ours).expect("all keys are strings");
        text.push('\n');
        write_whole(&path, text.as_bytes())?;
        Ok(store)
    }

    /// Returns the file format of parts.
    pub fn form(&self) -> PartForm {
        self.form
    }

    /// Returns the path of a part.
    pub fn path(&self, part: u64) -> PathBuf {
        self.directory.join(format!("part-{part:05}.{}", self.form.ending()))
    }

    /// Parts that do not exist yet.
    pub fn missing(&self) -> Vec<u64> {
        (0..self.parts).filter(|part| !self.path(*part).exists()).collect()
    }

    /// Writes a part. [`encode`] made the `bytes`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, part: u64, bytes: &[u8]) -> Result<(), String> {
        write_whole(&self.path(part), bytes)
    }

    /// Reads the rows of an existing part.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read(&self, space: &Space, part: u64) -> Result<Vec<Row>, String> {
        let path = self.path(part);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let rows = decode(space, self.form, &bytes).and_then(|rows| {
            let points = space.points_of(part);
            let runs: BTreeSet<(u64, u64)> =
                rows.iter().map(|row| (row.point, row.repetition)).collect();
            let are_its = rows.iter().all(|row| points.contains(&row.point));
            let wanted = (points.end - points.start) * space.repeat();
            match are_its && runs.len() as u64 == wanted {
                true => Ok(rows),
                false => Err("its runs belong to another part".to_string()),
            }
        });
        rows.map_err(|error| {
            format!("{}: {error}; remove it, and its runs are made again", path.display())
        })
    }
}

/// Writes a file completely, or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = Output::create(path).and_then(|mut output| {
        output.write_all(bytes)?;
        output.finish()
    });
    written.map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

/// Encodes the rows of a part as a file. Equal rows give equal bytes.
///
/// # Errors
/// The format is not built in.
pub fn encode(space: &Space, form: PartForm, rows: &[Row]) -> Result<Vec<u8>, String> {
    match form {
        PartForm::Csv => {
            let mut writer = csv::Writer::from_writer(vec![]);
            let broken = |error: csv::Error| error.to_string();
            writer.write_record(space.column_names()).map_err(broken)?;
            for row in rows {
                let cells = space.cells(row);
                let text = |cell: &AxisValue| match cell {
                    AxisValue::Default => String::new(),
                    other => other.to_string(),
                };
                writer.write_record(cells.iter().map(text)).map_err(broken)?;
            }
            writer.into_inner().map_err(|error| error.to_string())
        }
        #[cfg(feature = "parquet")]
        PartForm::Parquet => super::parquet::encode(space, rows),
        #[cfg(not(feature = "parquet"))]
        PartForm::Parquet => Err("this build cannot write Parquet".into()),
    }
}

/// Decodes rows that [`encode`] wrote.
///
/// # Errors
/// `encode` did not write these bytes.
pub fn decode(space: &Space, form: PartForm, bytes: &[u8]) -> Result<Vec<Row>, String> {
    match form {
        PartForm::Csv => {
            let mut reader = csv::Reader::from_reader(bytes);
            let head = reader.headers().map_err(|error| error.to_string())?;
            if head.iter().ne(space.column_names().iter().map(String::as_str)) {
                return Err("its columns differ".into());
            }
            let mut rows = vec![];
            for (number, record) in reader.records().enumerate() {
                let record = record.map_err(|error| error.to_string())?;
                let cells: Vec<Option<&str>> =
                    record.iter().map(|cell| Some(cell).filter(|it| !it.is_empty())).collect();
                let row = row_of(space, &cells);
                rows.push(row.ok_or_else(|| format!("line {}: this is not a run", number + 2))?);
            }
            Ok(rows)
        }
        #[cfg(feature = "parquet")]
        PartForm::Parquet => super::parquet::decode(space, bytes),
        #[cfg(not(feature = "parquet"))]
        PartForm::Parquet => Err("this build cannot read Parquet".into()),
    }
}

/// Decodes a row from the cells of its line. `None`: it is not a row.
fn row_of(space: &Space, cells: &[Option<&str>]) -> Option<Row> {
    let axes = space.axes().iter().filter(|axis| has_column(axis)).count();
    let number = |place: usize| cells.get(place)?.map(str::parse::<u64>)?.ok();
    let values = cells.get(4 + axes + 2..)?;
    if values.len() != space.metrics().len() {
        return None;
    }
    let value = |cell: &Option<&str>| match cell {
        None => Some(None),
        Some(text) => text.parse::<f64>().ok().map(Some),
    };
    // Seeds beyond the largest whole number of a cell are written as negative numbers.
    let seed = |text: &str| {
        text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(|it| it as u64))
    };
    Some(Row {
        point: number(0).filter(|point| *point < space.points())?,
        repetition: number(1).filter(|repetition| *repetition < space.repeat())?,
        seed: match cells.get(2)? {
            None => None,
            Some(text) => Some(seed(text)?),
        },
        scheduler: cells.get(3)?.unwrap_or("").into(),
        end: end_of(cells.get(4 + axes)?.as_ref()?)?,
        error: cells.get(4 + axes + 1)?.map(String::from),
        values: values.iter().map(value).collect::<Option<_>>()?,
    })
}
