//! Many runs of one plan in which something varies: `Space`, and their results in a directory:
//! `Store`.

use crate::errors;
use crate::interrupt::interruptible;
use crate::threads;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schedlab_lab::compressed;
use schedlab_lab::plan::Source;
use schedlab_space::store::{self, Kind, PartForm, decode, encode};
use schedlab_space::summary::{self, Cell, Mean, Summary};
use schedlab_space::{AxisValue, Domain, Form, Row, Rung, Space as Runs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns a value of an axis: a number, a text, or `None` for the default.
fn value(py: Python<'_>, value: &AxisValue) -> PyResult<Py<PyAny>> {
    Ok(match value {
        AxisValue::Default => py.None(),
        AxisValue::Whole(number) => number.into_pyobject(py)?.into_any().unbind(),
        AxisValue::Real(number) => number.into_pyobject(py)?.into_any().unbind(),
        AxisValue::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
    })
}

fn form(py: Python<'_>, name: &str) -> PyResult<PartForm> {
    let form = match name {
        "csv" => PartForm::Csv,
        "parquet" => PartForm::Parquet,
        _ => {
            return Err(errors::input(
                py,
                format!("{name}: the format of parts must be csv or parquet"),
            ));
        }
    };
    match form.is_built() {
        true => Ok(form),
        false => Err(errors::input(py, format!("this build cannot write {name}"))),
    }
}

/// Reads the file `name` in the directory `beside`.
fn read(beside: &Path, name: &str) -> Result<Source, String> {
    let path = beside.join(name);
    let failed = |error| format!("{}: {error}", path.display());
    let bytes = compressed::read(&path, compressed::LIMIT).map_err(failed)?;
    let text = compressed::as_text(&bytes).map_err(failed)?.to_string();
    Ok(Source { file: name.into(), text })
}

/// Converts a TOML file to JSON.
#[pyfunction]
pub fn toml_json(py: Python<'_>, name: &str, text: &str) -> PyResult<String> {
    schedlab_space::toml_json(name, text).map_err(|error| errors::input(py, error))
}

/// A column of results: name and values.
type Column = (String, Vec<Py<PyAny>>);

/// A plan with varying parts. All possible checks are made before running.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Space {
    runs: Arc<Runs>,
    notes: Vec<String>,
}

/// Summarises rows over seeds.
fn cells(rows: &[Row]) -> Vec<Cell> {
    let mut summary = Summary::default();
    rows.iter().for_each(|row| summary.add(row));
    summary.cells()
}

/// Returns the 97.5 % quantile of Student's t with this number of degrees of freedom.
#[pyfunction]
pub fn t_95(freedom: usize) -> f64 {
    summary::t_95(freedom)
}

impl Space {
    /// Returns the rows of encoded parts.
    fn rows(&self, form: PartForm, parts: &[Vec<u8>]) -> Result<Vec<Row>, String> {
        let mut rows = vec![];
        for part in parts {
            rows.extend(decode(&self.runs, form, part)?);
        }
        Ok(rows)
    }

    fn columns_of(&self, py: Python<'_>, rows: &[Row]) -> PyResult<Vec<Column>> {
        let mut columns: Vec<Column> = (self.runs.column_names().into_iter())
            .map(|name| (name, Vec::with_capacity(rows.len())))
            .collect();
        for row in rows {
            for ((_, column), cell) in columns.iter_mut().zip(self.runs.cells(row)) {
                column.push(value(py, &cell)?);
            }
        }
        Ok(columns)
    }
}

#[pymethods]
impl Space {
    /// Parses and checks a space in TOML or JSON. `name` is its name in messages; files that it
    /// names are searched for in the same directory.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str) -> PyResult<Space> {
        let beside = Path::new(name).parent().unwrap_or(Path::new("")).to_path_buf();
        let parsed = py.detach(|| Runs::parse(name, text, &mut |file| read(&beside, file)));
        let (runs, notes) = parsed.map_err(|error| errors::input(py, error))?;
        Ok(Space { runs: Arc::new(runs), notes })
    }

    /// Checks a space in generated JSON; files are searched for in `beside`.
    #[staticmethod]
    fn made(py: Python<'_>, text: &str, beside: PathBuf) -> PyResult<Space> {
        let made = py.detach(|| {
            let form: Form = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Runs::made(form, &mut |file| read(&beside, file))
        });
        let (runs, notes) = made.map_err(|error| errors::input(py, error))?;
        Ok(Space { runs: Arc::new(runs), notes })
    }

    /// Restores a space from text that `json` returned.
    #[staticmethod]
    fn of_json(py: Python<'_>, text: &str) -> PyResult<Space> {
        let runs = Runs::of_json(text).map_err(|error| errors::input(py, error))?;
        Ok(Space { runs: Arc::new(runs), notes: vec![] })
    }

    /// Returns this space with other points; `None` is a default value.
    fn with_points(&self, py: Python<'_>, points: Vec<Vec<Option<Scalar>>>) -> PyResult<Space> {
        let points: Vec<Vec<AxisValue>> = (points.into_iter())
            .map(|point| point.into_iter().map(Scalar::value).collect())
            .collect();
        let runs = py.detach(|| self.runs.with_points(points));
        let runs = runs.map_err(|error| errors::input(py, error))?;
        Ok(Space { runs: Arc::new(runs), notes: vec![] })
    }

    /// Returns everything that results depend on.
    fn json(&self) -> String {
        self.runs.to_json()
    }

    /// Returns the title of the space.
    #[getter]
    fn title(&self) -> String {
        self.runs.title().into()
    }

    /// Notes for the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Returns the number of points.
    #[getter]
    fn points(&self) -> u64 {
        self.runs.points()
    }

    /// Returns the number of seeds with which each point is run.
    #[getter]
    fn repeat(&self) -> u64 {
        self.runs.repeat()
    }

    /// Returns the number of runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.runs.runs()
    }

    /// Returns the number of parts of the results.
    #[getter]
    fn parts(&self) -> u64 {
        self.runs.parts()
    }

    /// Returns the columns of results and their types: `int`, `real`, `text`.
    fn columns(&self) -> Vec<(String, &'static str)> {
        let kind = |kind: Kind| match kind {
            Kind::Int => "int",
            Kind::Real => "real",
            Kind::Text => "text",
        };
        self.runs.columns().into_iter().map(|(name, it)| (name, kind(it))).collect()
    }

    /// Metrics reported for each run: name, unit, and which values are better (`less`, `more`,
    /// `neither`).
    fn metrics(&self) -> Vec<(String, &'static str, &'static str)> {
        let metrics = self.runs.metrics().iter();
        metrics.map(|metric| (metric.name.clone(), metric.unit, metric.better.name())).collect()
    }

    /// Returns the axes: name; values, if it is a list; otherwise minimum, maximum, whether it is
    /// logarithmic, and whether it is whole.
    #[allow(clippy::type_complexity)]
    fn axes(
        &self,
        py: Python<'_>,
    ) -> PyResult<Vec<(String, Option<Vec<Py<PyAny>>>, Option<(f64, f64, bool, bool)>)>> {
        let axis = |axis: &schedlab_space::Axis| match &axis.domain {
            Domain::List(values) => {
                let values = values.iter().map(|it| value(py, it)).collect::<PyResult<_>>()?;
                Ok((axis.name.clone(), Some(values), None))
            }
            Domain::Between { from, to, log, whole } => {
                Ok((axis.name.clone(), None, Some((*from, *to, *log, *whole))))
            }
        };
        self.runs.axes().iter().map(axis).collect()
    }

    /// Returns the values of a point.
    fn point(&self, py: Python<'_>, number: u64) -> PyResult<Vec<Py<PyAny>>> {
        if number >= self.runs.points() {
            return Err(errors::input(py, format!("there is no point {number}")));
        }
        self.runs.point(number).iter().map(|it| value(py, it)).collect()
    }

    /// Returns the points at these fractions along the axes, each at least 0 and less than 1.
    fn at(&self, py: Python<'_>, parts: Vec<Vec<f64>>) -> PyResult<Vec<Vec<Py<PyAny>>>> {
        let point = |parts: &Vec<f64>| {
            self.runs.at(parts).iter().map(|it| value(py, it)).collect::<PyResult<_>>()
        };
        parts.iter().map(point).collect()
    }

    /// Makes the runs of `parts` on this number of threads. Calls `ready(part, bytes, columns)` for
    /// each complete part, in order; `columns` only if `read`. An exception of `ready` ends the
    /// work.
    #[pyo3(signature = (parts, form, threads, ready, read=false))]
    fn run(
        &self,
        py: Python<'_>,
        parts: Vec<u64>,
        form: &str,
        threads: Option<usize>,
        ready: Py<PyAny>,
        read: bool,
    ) -> PyResult<()> {
        let form = self::form(py, form)?;
        let threads = threads::threads(threads);
        let mut raised: Option<PyErr> = None;
        let ran = interruptible(py, false, |stop| {
            let over = AtomicBool::new(false);
            let done = |_: &[Row]| {
                if stop.is_set() {
                    over.store(true, Ordering::Relaxed);
                }
            };
            self.runs.run(&parts, threads, &over, done, |part, rows| {
                if stop.is_set() {
                    return false;
                }
                let bytes = match encode(&self.runs, form, &rows) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        raised = Some(Python::attach(|py| errors::input(py, error)));
                        return false;
                    }
                };
                let called = Python::attach(|py| {
                    let columns = match read {
                        true => Some(self.columns_of(py, &rows)?),
                        false => None,
                    };
                    ready.call1(py, (part, PyBytes::new(py, &bytes), columns))
                });
                raised = called.err();
                raised.is_none()
            })
        });
        let ran = ran?;
        match raised {
            Some(raised) => Err(raised),
            None => ran.map_err(|error| errors::input(py, error)),
        }
    }

    /// Makes the runs of all points on this number of threads, each judged at `rungs`: a time, ns;
    /// the name of a metric; whether higher values are better; the limit for each repetition
    /// (`None`: no limit). Returns the columns, the values at the rungs, and whether each run was
    /// ended at the last of them.
    #[pyo3(signature = (rungs, threads))]
    #[allow(clippy::type_complexity)]
    fn run_judged(
        &self,
        py: Python<'_>,
        rungs: Vec<(u64, String, bool, Vec<Option<f64>>)>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<Column>, Vec<Vec<Option<f64>>>, Vec<bool>)> {
        let metric = |name: &String| {
            let place = self.runs.metrics().iter().position(|metric| metric.name == *name);
            place.ok_or_else(|| errors::input(py, format!("{name} is not a metric of these runs")))
        };
        let rungs: Vec<Rung> = (rungs.into_iter())
            .map(|(at_ns, name, more_is_better, limits)| {
                Ok(Rung { at_ns, metric: metric(&name)?, more_is_better, limits })
            })
            .collect::<PyResult<_>>()?;
        let mut judged = vec![];
        let ran = interruptible(py, false, |stop| {
            self.runs.run_judged(threads::threads(threads), &rungs, |one| {
                judged.push(one);
                !stop.is_set()
            })
        })?;
        ran.map_err(|error| errors::input(py, error))?;
        let passed = judged.iter().map(|one| one.passed.clone()).collect();
        let ended = judged.iter().map(|one| one.is_ended).collect();
        let rows: Vec<Row> = judged.into_iter().map(|one| one.row).collect();
        Ok((self.columns_of(py, &rows)?, passed, ended))
    }

    /// Shows the results in encoded parts as text, as a page for a browser, or as CSV (`table`,
    /// `page`, `csv`).
    fn shown(
        &self,
        py: Python<'_>,
        form: &str,
        parts: Vec<Vec<u8>>,
        how: &str,
    ) -> PyResult<String> {
        let form = self::form(py, form)?;
        let made = py.detach(|| {
            let rows = self.rows(form, &parts)?;
            if how == "csv" {
                let bytes = encode(&self.runs, PartForm::Csv, &rows)?;
                return String::from_utf8(bytes).map_err(|error| error.to_string());
            }
            let cells = cells(&rows);
            Ok(match how {
                "page" => schedlab_cli::sweep_page(&self.runs, &cells),
                _ => schedlab_cli::sweep_table(&self.runs, &cells, true),
            })
        });
        made.map_err(|error: String| errors::input(py, error))
    }

    /// Summarises encoded parts over seeds: for each point, scheduler and metric, the mean and half
    /// of its 95 % confidence interval.
    #[allow(clippy::type_complexity)]
    fn summary(
        &self,
        py: Python<'_>,
        form: &str,
        parts: Vec<Vec<u8>>,
    ) -> PyResult<Vec<(u64, String, Vec<(Option<f64>, Option<f64>)>)>> {
        let form = self::form(py, form)?;
        let made = py.detach(|| Ok(cells(&self.rows(form, &parts)?)));
        let cells = made.map_err(|error: String| errors::input(py, error))?;
        let mean = |mean: Option<Mean>| (mean.map(|it| it.mean), mean.and_then(|it| it.half_width));
        let of_cell =
            |cell: Cell| (cell.point, cell.scheduler, cell.means.into_iter().map(mean).collect());
        Ok(cells.into_iter().map(of_cell).collect())
    }

    /// Returns the columns of an encoded part.
    fn decode(&self, py: Python<'_>, form: &str, bytes: &[u8]) -> PyResult<Vec<Column>> {
        let form = self::form(py, form)?;
        let rows = decode(&self.runs, form, bytes).map_err(|error| errors::input(py, error))?;
        self.columns_of(py, &rows)
    }
}

/// A number or a text.
#[derive(FromPyObject)]
enum Scalar {
    Whole(i64),
    Real(f64),
    Text(String),
}

impl Scalar {
    fn value(this: Option<Scalar>) -> AxisValue {
        match this {
            None => AxisValue::Default,
            Some(Scalar::Whole(number)) => AxisValue::Whole(number),
            Some(Scalar::Real(number)) => AxisValue::Real(number),
            Some(Scalar::Text(text)) => AxisValue::Text(text),
        }
    }
}

/// A directory of results.
#[pyclass(frozen, module = "schedlab._native")]
pub struct Store {
    runs: Arc<Runs>,
    store: store::Store,
}

#[pymethods]
impl Store {
    /// Opens the directory for the results of `space`: a new one, or one that has some parts
    /// already.
    #[new]
    fn new(
        py: Python<'_>,
        directory: PathBuf,
        space: PyRef<'_, Space>,
        form: &str,
        program: &str,
    ) -> PyResult<Store> {
        let form = self::form(py, form)?;
        let opened = store::Store::open(&directory, &space.runs, form, program);
        let store = opened.map_err(|error| errors::input(py, error))?;
        Ok(Store { runs: Arc::clone(&space.runs), store })
    }

    /// Returns the parts that are missing.
    fn missing(&self) -> Vec<u64> {
        self.store.missing()
    }

    /// Returns the file of a part.
    fn path(&self, part: u64) -> PathBuf {
        self.store.path(part)
    }

    /// Writes a part.
    fn write(&self, py: Python<'_>, part: u64, bytes: &[u8]) -> PyResult<()> {
        self.store.write(part, bytes).map_err(|error| errors::input(py, error))
    }

    /// Returns the bytes of an existing part, which is checked.
    fn read<'py>(&self, py: Python<'py>, part: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.store.read(&self.runs, part).map_err(|error| errors::input(py, error))?;
        let path = self.store.path(part);
        let bytes = std::fs::read(&path)
            .map_err(|error| errors::input(py, format!("{}: {error}", path.display())))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// Returns the best format of parts that this build can write.
#[pyfunction]
pub fn part_form() -> &'static str {
    PartForm::best().ending()
}
