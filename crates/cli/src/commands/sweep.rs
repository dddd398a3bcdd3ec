//! `schedlab sweep`.

use crate::files;
use crate::page;
use crate::python;
use crate::sweep_args::{Engine, PartFormat, SweepArgs, SweepFormat};
use crate::sweep_table::{extent, table};
use crate::terminal::{Output, Progress, complain, style};
use crate::{Failure, PROGRAM, Status};
use schedlab_lab::parallel;
use schedlab_lab::plan::Source;
use schedlab_measure::Better;
use schedlab_report::format::amount;
use schedlab_space::store::{PartForm, Store, encode};
use schedlab_space::summary::{Cell, Mean, Summary};
use schedlab_space::{Form, Row, RunMetric, Sample, Space};
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Exit status of an interrupted program.
const INTERRUPTED: i32 = 130;

/// Runs a sweep.
pub fn sweep(args: &SweepArgs, output: &mut Output) -> Result<Status, Failure> {
    let source = files::read(&args.file)?;
    let form = Form::parse(&source.file, &source.text)?;
    if args.engine != Engine::Threads || form.sample == Sample::Sobol && form.points.is_none() {
        return by_python(args, output);
    }
    let (space, notes) = read(args, &source)?;
    for note in &notes {
        complain(&format!("note: {note}"));
    }
    if args.check {
        writeln!(output, "{}", extent(&space))?;
        return Ok(Status::Good);
    }
    if let Some(path) = &args.report {
        page::check_page(path)?;
    }
    let form = match args.parts {
        None => PartForm::best(),
        Some(PartFormat::Csv) => PartForm::Csv,
        Some(PartFormat::Parquet) => PartForm::Parquet,
    };
    let store = match &args.output {
        Some(directory) => Some(Store::open(directory, &space, form, PROGRAM)?),
        None => None,
    };
    let rows = run(args, &space, store.as_ref())?;
    let mut summary = Summary::default();
    rows.iter().for_each(|row| summary.add(row));
    let cells = summary.cells();
    match args.format {
        SweepFormat::Table => {
            output.write_all(table(&space, &cells, style().unicode).as_bytes())?;
        }
        SweepFormat::Csv => output.write_all(&encode(&space, PartForm::Csv, &rows)?)?,
        SweepFormat::Json => {
            let text = serde_json::to_string_pretty(&document(&space, &cells));
            writeln!(output, "{}", text.map_err(|error| error.to_string())?)?;
        }
    }
    if let Some(path) = &args.report {
        files::write_whole(path, &crate::sweep_page::page(&space, &cells))?;
    }
    let failed: Vec<&Row> = rows.iter().filter(|row| row.error.is_some()).collect();
    if let Some(first) = failed.first() {
        complain(&format!(
            "{} of {} runs failed; the first: {}, {}: {}",
            failed.len(),
            rows.len(),
            space.describe(first.point),
            first.scheduler,
            first.error.as_deref().unwrap_or_default()
        ));
        return Ok(Status::Error);
    }
    Ok(Status::Good)
}

/// Reads the space in the file, with the metrics of the command line.
fn read(args: &SweepArgs, source: &Source) -> Result<(Space, Vec<String>), Failure> {
    let directory = args.file.parent().unwrap_or(Path::new("")).to_path_buf();
    // File names are relative to the file that contains them.
    let mut read = |name: &str| {
        files::read(&directory.join(name)).map(|read| Source { file: name.into(), ..read })
    };
    if args.metrics.is_empty() {
        return Ok(Space::parse(&source.file, &source.text, &mut read)?);
    }
    let form = Form::parse(&source.file, &source.text)?;
    let form = Form { metrics: args.metrics.clone(), ..form };
    let text = serde_json::to_string(&form).map_err(|error| error.to_string())?;
    Ok(Space::parse(&source.file, &text, &mut read)?)
}

/// Returns all rows: those in the store, and new ones.
fn run(args: &SweepArgs, space: &Space, store: Option<&Store>) -> Result<Vec<Row>, Failure> {
    let mut parts: Vec<Option<Vec<Row>>> = (0..space.parts()).map(|_| None).collect();
    let missing = match store {
        Some(store) => store.missing(),
        None => (0..space.parts()).collect(),
    };
    if let Some(store) = store {
        for part in 0..space.parts() {
            // Part numbers ascend.
            if missing.binary_search(&part).is_err() {
                parts[part as usize] = Some(store.read(space, part)?);
            }
        }
        if missing.len() < parts.len() {
            let there = parts.len() - missing.len();
            complain(&format!("note: {there} of {} parts already exist", parts.len()));
        }
    }
    // A scheduler that panics is reported as a separate error.
    std::panic::set_hook(Box::new(|_| {}));
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    // A second interrupt does not wait for runs in progress.
    let listening = ctrlc::set_handler(move || {
        if handler.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED);
        }
    });
    listening.map_err(|error| format!("cannot listen for interrupts: {error}"))?;
    let points: u64 = missing.iter().map(|part| space.points_of(*part).count() as u64).sum();
    let progress = Progress::new(points * space.repeat(), "points with their seeds");
    let best_so_far = Mutex::new(BestValue::of(space));
    let threads = args.threads.unwrap_or_else(parallel::cores);
    let mut failed = None;
    let done = |rows: &[Row]| {
        let mut best = best_so_far.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = best.take(space, rows) {
            progress.say(text);
        }
        progress.tick();
    };
    let ready = |part: u64, rows: Vec<Row>| {
        if let Some(store) = store {
            let written = encode(space, store.form(), &rows);
            if let Err(error) = written.and_then(|bytes| store.write(part, &bytes)) {
                failed = Some(error);
                return false;
            }
        }
        parts[part as usize] = Some(rows);
        true
    };
    let ran = space.run(&missing, threads, &stop, done, ready);
    drop(progress);
    ran.map_err(|error| format!("{}: {error}", args.file.display()))?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if stop.load(Ordering::SeqCst) && parts.iter().any(Option::is_none) {
        let there = parts.iter().filter(|part| part.is_some()).count();
        match &args.output {
            Some(directory) => complain(&format!(
                "interrupted: {there} of {} parts are in {}; the same command continues there",
                parts.len(),
                directory.display()
            )),
            None => complain("interrupted: no results are kept (-o DIR keeps them)"),
        }
        std::process::exit(INTERRUPTED);
    }
    Ok(parts.into_iter().flatten().flatten().collect())
}

/// Best value so far of the first metric that has a better direction.
struct BestValue {
    place: Option<usize>,
    value: Option<f64>,
}

impl BestValue {
    fn of(space: &Space) -> BestValue {
        let place = space.metrics().iter().position(|told| told.better != Better::Neither);
        BestValue { place, value: None }
    }

    /// Returns a message if one of these rows is better.
    fn take(&mut self, space: &Space, rows: &[Row]) -> Option<String> {
        let place = self.place?;
        let told = &space.metrics()[place];
        let mut say = None;
        for row in rows {
            let Some(value) = row.values[place] else { continue };
            let is_better = |old: f64| match told.better {
                Better::Higher => value > old,
                _ => value < old,
            };
            if self.value.is_none_or(is_better) {
                self.value = Some(value);
                let shown = amount(value, told.unit, true);
                let at = space.describe(row.point);
                say = Some(format!("best {} {shown} ({}, {at})", told.name, row.scheduler));
            }
        }
        say
    }
}

/// Returns the points, with means over seeds, as JSON.
fn document(space: &Space, cells: &[Cell]) -> serde_json::Value {
    let mean = |mean: &Option<Mean>| match mean {
        None => serde_json::Value::Null,
        Some(mean) => json!({
            "count": mean.count,
            "mean": mean.mean,
            "ci95_half_width": mean.half_width,
            "min": mean.min,
            "max": mean.max,
        }),
    };
    let cell = |cell: &Cell| {
        let point = space.point(cell.point);
        let values: serde_json::Map<String, serde_json::Value> = (space.axes().iter().zip(point))
            .map(|(axis, value)| (axis.name.clone(), json!(value)))
            .collect();
        let told = space.metrics().iter().zip(&cell.means);
        let figures: serde_json::Map<String, serde_json::Value> =
            told.map(|(told, one)| (told.name.clone(), mean(one))).collect();
        json!({
            "point": cell.point,
            "scheduler": cell.scheduler,
            "values": values,
            "figures": figures,
            "failed": cell.failed,
        })
    };
    let told = |told: &RunMetric| json!({ "name": told.name, "unit": told.unit, "better": told.better.name() });
    json!({
        "schema": "schedlab-sweep-summary/1",
        "title": space.title(),
        "seeds": space.repeat(),
        "metrics": space.metrics().iter().map(told).collect::<Vec<_>>(),
        "points": cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

/// Runs the sweep by the Python package.
fn by_python(args: &SweepArgs, output: &mut Output) -> Result<Status, Failure> {
    let mut list: Vec<OsString> = vec!["sweep".into(), args.file.clone().into()];
    list.extend(["--engine".into(), args.engine.name().into()]);
    let mut add = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            list.extend([name.into(), value]);
        }
    };
    add("--output", args.output.clone().map(Into::into));
    add("--address", args.address.clone().map(Into::into));
    add("--threads", args.threads.map(|it| it.to_string().into()));
    add("--report", args.report.clone().map(Into::into));
    let format = match args.format {
        SweepFormat::Table => "table",
        SweepFormat::Csv => "csv",
        SweepFormat::Json => "json",
    };
    add("--format", Some(format.into()));
    for metric in &args.metrics {
        add("--metrics", Some(metric.into()));
    }
    let parts = args.parts.map(|parts| match parts {
        PartFormat::Csv => "csv",
        PartFormat::Parquet => "parquet",
    });
    add("--parts", parts.map(Into::into));
    if args.check {
        list.push("--check".into());
    }
    output.flush_now()?;
    let (what, modules): (&str, &[&str]) = match args.engine {
        Engine::Ray => ("--engine ray", &["ray"]),
        Engine::Dask => ("--engine dask", &["distributed"]),
        Engine::Threads => ("sample = \"sobol\"", &["scipy"]),
    };
    let extra = match args.engine {
        Engine::Threads => "optuna",
        engine => engine.name(),
    };
    Ok(match python::run(what, modules, extra, &list)? {
        0 => Status::Good,
        1 => Status::Bad,
        INTERRUPTED => std::process::exit(INTERRUPTED),
        _ => Status::Error,
    })
}
