//! Results of a space in a directory: `manifest.json`, and `part-00000.csv` (or `.parquet`) and so
//! on, each part as soon as all its runs are over, under another name until it is whole.
//!
//! A sweep that was interrupted goes on where it was. A directory of another sweep, or of another
//! version of the program, is refused.

use super::axis::{Axis, AxisValue, Domain};
use super::{Row, Space, has_column};
use schedlab_lab::sweep::fingerprint;
use schedlab_report::data::EndState;
use schedlab_trace::Output;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of the form and its version.
const SCHEMA: &str = "schedlab-sweep/1";

/// The file that says what a directory is of.
const MANIFEST: &str = "manifest.json";

/// How parts are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartForm {
    /// Comma-separated values.
    Csv,
    /// Parquet, if the crate was built with it.
    Parquet,
}

impl PartForm {
    /// The ending of files.
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

    /// The best that this build can write.
    pub fn best() -> PartForm {
        if PartForm::Parquet.is_built() { PartForm::Parquet } else { PartForm::Csv }
    }
}

/// What a directory is of.
#[derive(Serialize, Deserialize)]
struct Manifest {
    schema: String,
    /// Version of the program, as exact as the caller knows it.
    program: String,
    /// Of program, form and space: the same = the parts have the same bytes.
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
            space: serde_json::from_str(&json).expect("it was just written"),
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
    /// The directory for the results of `space`, by the version `program` of this program: made
    /// anew, or found with some parts in it.
    ///
    /// # Errors
    /// It cannot be made; it is of something else.
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
                    format!("{}: this is no manifest of a sweep: {error}", path.display())
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
                "{name} is there and holds no sweep, so nothing is written in it; name another \
                 directory"
            ));
        }
        if !directory.exists() {
            fs::create_dir(directory).map_err(failed)?;
        }
        let mut text = serde_json::to_string_pretty(&ours).expect("all of its keys are strings");
        text.push('\n');
        write_whole(&path, text.as_bytes())?;
        Ok(store)
    }

    /// How parts are written.
    pub fn form(&self) -> PartForm {
        self.form
    }

    /// The file of a part.
    pub fn path(&self, part: u64) -> PathBuf {
        self.directory.join(format!("part-{part:05}.{}", self.form.ending()))
    }

    /// The parts that are not there yet.
    pub fn missing(&self) -> Vec<u64> {
        (0..self.parts).filter(|part| !self.path(*part).exists()).collect()
    }

    /// Writes a part: `bytes` are of [`encode`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, part: u64, bytes: &[u8]) -> Result<(), String> {
        write_whole(&self.path(part), bytes)
    }

    /// The rows of a part that is there.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
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
                false => Err("its runs are not those of this part".to_string()),
            }
        });
        rows.map_err(|error| {
            format!("{}: {error}; remove it, and its runs are made again", path.display())
        })
    }
}

/// Writes a file that is there in whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = Output::create(path).and_then(|mut output| {
        output.write_all(bytes)?;
        output.finish()
    });
    written.map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

/// What a column of results holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers.
    Real,
    /// Text.
    Text,
}

impl Axis {
    /// What its column holds: the narrowest that all its values fit in.
    pub fn kind(&self) -> Kind {
        let of = |value: &AxisValue| match value {
            AxisValue::Default => None,
            AxisValue::Whole(_) => Some(Kind::Int),
            AxisValue::Real(_) => Some(Kind::Real),
            AxisValue::Text(_) => Some(Kind::Text),
        };
        match &self.domain {
            Domain::Between { whole: true, .. } => Kind::Int,
            Domain::Between { whole: false, .. } => Kind::Real,
            Domain::List(values) => {
                let kinds: Vec<Kind> = values.iter().filter_map(of).collect();
                if kinds.contains(&Kind::Text) {
                    Kind::Text
                } else if kinds.contains(&Kind::Real) {
                    Kind::Real
                } else {
                    Kind::Int
                }
            }
        }
    }
}

impl Space {
    /// The columns of results with what they hold, in the order of
    /// [`column_names`](Space::column_names).
    pub fn columns(&self) -> Vec<(String, Kind)> {
        let axes = self.axes().iter().filter(|axis| has_column(axis));
        let mut kinds = vec![Kind::Int, Kind::Int, Kind::Int, Kind::Text];
        // Points that were given need not lie on the axes that they are of.
        let given = self.form.points.is_some();
        kinds.extend(axes.map(|axis| match axis.kind() {
            Kind::Int if given => Kind::Real,
            kind => kind,
        }));
        kinds.extend([Kind::Text, Kind::Text]);
        kinds.extend(self.told().iter().map(|_| Kind::Real));
        self.column_names().into_iter().zip(kinds).collect()
    }

    /// The values of a row, in the order of [`columns`](Space::columns).
    pub fn cells(&self, row: &Row) -> Vec<AxisValue> {
        let whole = |number: u64| AxisValue::Whole(number as i64);
        let text = |text: &str| AxisValue::Text(text.into());
        let point = self.point(row.point);
        let axes = self.axes().iter().zip(point).filter(|(axis, _)| has_column(axis));
        let mut cells = vec![
            whole(row.point),
            whole(row.repetition),
            row.seed.map_or(AxisValue::Default, whole),
            text(&row.scheduler),
        ];
        cells.extend(axes.map(|(_, value)| value));
        cells.push(text(end_name(row.end)));
        cells.push(row.error.as_deref().map_or(AxisValue::Default, text));
        cells.extend(row.values.iter().map(|value| match value {
            Some(value) => AxisValue::Real(*value),
            None => AxisValue::Default,
        }));
        cells
    }
}

/// As documents write it.
pub fn end_name(end: EndState) -> &'static str {
    match end {
        EndState::TimeUp => "time_up",
        EndState::AllEnded => "all_ended",
        EndState::Stuck => "stuck",
        EndState::Failed => "failed",
    }
}

fn end_of(name: &str) -> Option<EndState> {
    [EndState::TimeUp, EndState::AllEnded, EndState::Stuck, EndState::Failed]
        .into_iter()
        .find(|end| end_name(*end) == name)
}

/// The rows of a part as the bytes of a file. The same rows are the same bytes.
///
/// # Errors
/// The form is not built in.
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

/// The rows that [`encode`] wrote.
///
/// # Errors
/// It did not write these bytes.
pub fn decode(space: &Space, form: PartForm, bytes: &[u8]) -> Result<Vec<Row>, String> {
    match form {
        PartForm::Csv => {
            let mut reader = csv::Reader::from_reader(bytes);
            let head = reader.headers().map_err(|error| error.to_string())?;
            if head.iter().ne(space.column_names().iter().map(String::as_str)) {
                return Err("its columns are others".into());
            }
            let mut rows = vec![];
            for (number, record) in reader.records().enumerate() {
                let record = record.map_err(|error| error.to_string())?;
                let cells: Vec<Option<&str>> =
                    record.iter().map(|cell| Some(cell).filter(|it| !it.is_empty())).collect();
                let row = row_of(space, &cells);
                rows.push(row.ok_or_else(|| format!("line {}: this is no run", number + 2))?);
            }
            Ok(rows)
        }
        #[cfg(feature = "parquet")]
        PartForm::Parquet => super::parquet::decode(space, bytes),
        #[cfg(not(feature = "parquet"))]
        PartForm::Parquet => Err("this build cannot read Parquet".into()),
    }
}

/// A row of the cells of its line; none: it is none.
fn row_of(space: &Space, cells: &[Option<&str>]) -> Option<Row> {
    let axes = space.axes().iter().filter(|axis| has_column(axis)).count();
    let number = |place: usize| cells.get(place)?.map(str::parse::<u64>)?.ok();
    let values = cells.get(4 + axes + 2..)?;
    if values.len() != space.told().len() {
        return None;
    }
    let value = |cell: &Option<&str>| match cell {
        None => Some(None),
        Some(text) => text.parse::<f64>().ok().map(Some),
    };
    // Seeds beyond the largest whole number of a cell are written as negative ones.
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
