//! Tables of a run: [`Tables`]. Slices, wakeups and migrations are written during the run, figures
//! of tasks and groups at its end.
//!
//! Times are signed 64-bit nanoseconds, which suits pandas and DuckDB better than unsigned ones;
//! unknown values are empty (null).

#[cfg(any(feature = "arrow", feature = "parquet"))]
mod columns;
mod csv;
mod figures;

use crate::output::Output;
use crate::tracepoint::{NewTask, Record, Sink, State, Tracepoint};
use figures::Figures;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Format of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TableForm {
    /// Comma-separated values.
    #[default]
    Csv,
    /// Arrow IPC files, if the crate was built with them.
    Arrow,
    /// Parquet files, if the crate was built with them.
    Parquet,
}

impl TableForm {
    /// Returns the extension of files.
    pub fn ending(self) -> &'static str {
        match self {
            TableForm::Csv => "csv",
            TableForm::Arrow => "arrow",
            TableForm::Parquet => "parquet",
        }
    }

    /// Whether this build can write it.
    pub fn is_built(self) -> bool {
        match self {
            TableForm::Csv => true,
            TableForm::Arrow => cfg!(feature = "arrow"),
            TableForm::Parquet => cfg!(feature = "parquet"),
        }
    }
}

/// Type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Text.
    Text,
}

/// Name and columns of a table.
pub type Schema = (&'static str, &'static [(&'static str, Kind)]);

/// Slices: which task had which CPU from when to when.
pub const SLICES: Schema = (
    "slices",
    &[
        ("cpu", Kind::Int),
        ("start_ns", Kind::Int),
        ("end_ns", Kind::Int),
        ("pid", Kind::Int),
        ("task", Kind::Text),
        ("prio", Kind::Int),
        ("end_state", Kind::Text),
    ],
);

/// Wakeups: task, waker, times of the wakeup and of getting a CPU.
pub const WAKEUPS: Schema = (
    "wakeups",
    &[
        ("at_ns", Kind::Int),
        ("pid", Kind::Int),
        ("task", Kind::Text),
        ("cpu", Kind::Int),
        ("is_new", Kind::Int),
        ("waker_pid", Kind::Int),
        ("waker", Kind::Text),
        ("run_ns", Kind::Int),
        ("latency_ns", Kind::Int),
    ],
);

/// Migrations between the queues of CPUs.
pub const MIGRATIONS: Schema = (
    "migrations",
    &[
        ("at_ns", Kind::Int),
        ("pid", Kind::Int),
        ("task", Kind::Text),
        ("from_cpu", Kind::Int),
        ("to_cpu", Kind::Int),
    ],
);

/// Figures of each task.
pub const TASKS: Schema = (
    "tasks",
    &[
        ("pid", Kind::Int),
        ("tgid", Kind::Int),
        ("parent", Kind::Int),
        ("task", Kind::Text),
        ("group", Kind::Text),
        ("start_ns", Kind::Int),
        ("first_run_ns", Kind::Int),
        ("end_ns", Kind::Int),
        ("cpu_ns", Kind::Int),
        ("wait_ns", Kind::Int),
        ("wait_max_ns", Kind::Int),
        ("blocked_ns", Kind::Int),
        ("wakeups", Kind::Int),
        ("switches_in", Kind::Int),
        ("voluntary", Kind::Int),
        ("involuntary", Kind::Int),
        ("migrations", Kind::Int),
    ],
);

/// Figures of each group: of its direct members, while they were in it.
pub const GROUPS: Schema = (
    "groups",
    &[
        ("group", Kind::Text),
        ("cpu_ns", Kind::Int),
        ("wait_ns", Kind::Int),
        ("tasks", Kind::Int),
        ("wakeups", Kind::Int),
    ],
);

/// Value in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell<'a> {
    /// Unknown value.
    Null,
    /// Number.
    Int(i64),
    /// Text.
    Text(&'a str),
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Cell::Int(value.into())
    }
}

impl From<Option<u64>> for Cell<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Cell::Null, Cell::from)
    }
}

/// Writes a table row by row.
trait Rows: std::fmt::Debug + Send {
    /// Adds a row with one cell per column.
    fn row(&mut self, cells: &[Cell<'_>]);

    /// Moves the file to its final path.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// Writes the tables of a run to a directory.
#[derive(Debug)]
pub struct Tables {
    slices: Box<dyn Rows>,
    wakeups: Box<dyn Rows>,
    migrations: Box<dyn Rows>,
    tasks: Box<dyn Rows>,
    groups: Box<dyn Rows>,
    figures: Figures,
    /// Wakeup after which the task has had no CPU yet, by pid.
    woken: Vec<Option<Wakeup>>,
    /// Beginning of the present slice, by pid.
    slice_begins: Vec<u64>,
    is_closing: bool,
}

#[derive(Clone, Debug)]
struct Wakeup {
    at_ns: u64,
    cpu: Option<u32>,
    is_new: bool,
    waker: Option<(u32, String)>,
}

fn begin(directory: &Path, form: TableForm, schema: Schema) -> Result<Box<dyn Rows>, String> {
    let path = directory.join(format!("{}.{}", schema.0, form.ending()));
    let cannot = |error: io::Error| format!("{}: cannot be written: {error}", path.display());
    let output = Output::create(&path).map_err(cannot)?;
    match form {
        TableForm::Csv => Ok(Box::new(csv::Csv::new(output, schema))),
        #[cfg(feature = "arrow")]
        TableForm::Arrow => Ok(Box::new(columns::ArrowFile::new(output, schema).map_err(cannot)?)),
        #[cfg(feature = "parquet")]
        TableForm::Parquet => {
            Ok(Box::new(columns::ParquetFile::new(output, schema).map_err(cannot)?))
        }
        #[allow(unreachable_patterns)]
        form => Err(not_built(form)),
    }
}

/// Returns the message that this build cannot write `form`.
pub fn not_built(form: TableForm) -> String {
    let feature = form.ending();
    format!(
        "this schedlab was built without {feature}: build it with `--features {feature}`, or save \
         CSV"
    )
}

impl Tables {
    /// Begins to write the tables to `directory`, which is created if needed. `groups` has the path
    /// of each group, by number.
    ///
    /// # Errors
    /// Description of what cannot be written, and why.
    pub fn new(directory: &Path, form: TableForm, groups: Vec<String>) -> Result<Tables, String> {
        if !form.is_built() {
            return Err(not_built(form));
        }
        fs::create_dir_all(directory)
            .map_err(|error| format!("{}: cannot be created: {error}", directory.display()))?;
        Ok(Tables {
            slices: begin(directory, form, SLICES)?,
            wakeups: begin(directory, form, WAKEUPS)?,
            migrations: begin(directory, form, MIGRATIONS)?,
            tasks: begin(directory, form, TASKS)?,
            groups: begin(directory, form, GROUPS)?,
            figures: Figures::new(groups),
            woken: Vec::new(),
            slice_begins: Vec::new(),
            is_closing: false,
        })
    }

    /// Returns the files that [`new`](Tables::new) creates in `directory`.
    pub fn files(directory: &Path, form: TableForm) -> Vec<PathBuf> {
        [SLICES, WAKEUPS, MIGRATIONS, TASKS, GROUPS]
            .map(|schema| directory.join(format!("{}.{}", schema.0, form.ending())))
            .into()
    }

    /// Returns the first line of the CSV table `name`, if there is such a table.
    pub fn head_of(name: &str) -> Option<String> {
        let all = [SLICES, WAKEUPS, MIGRATIONS, TASKS, GROUPS];
        let (_, columns) = all.into_iter().find(|schema| schema.0 == name)?;
        Some(columns.iter().map(|(column, _)| *column).collect::<Vec<_>>().join(","))
    }

    /// Writes the figures and moves all files to their final paths.
    ///
    /// # Errors
    /// One of them could not be written.
    pub fn close(mut self) -> io::Result<()> {
        self.figures.write(&mut *self.tasks, &mut *self.groups);
        let tables = [self.slices, self.wakeups, self.migrations, self.tasks, self.groups];
        tables.into_iter().try_for_each(|table| table.close())
    }

    /// Writes the wakeup after which `pid` gets a CPU, or never does.
    fn wakeup(&mut self, pid: u32, comm: &str, run_ns: Option<u64>) {
        let Some(wakeup) = self.woken.get_mut(pid as usize).and_then(Option::take) else { return };
        let (waker_pid, waker) = match &wakeup.waker {
            Some((pid, comm)) => (Cell::from(*pid), Cell::Text(comm)),
            None => (Cell::Null, Cell::Null),
        };
        self.wakeups.row(&[
            wakeup.at_ns.into(),
            pid.into(),
            Cell::Text(comm),
            wakeup.cpu.map_or(Cell::Null, Cell::from),
            Cell::Int(wakeup.is_new.into()),
            waker_pid,
            waker,
            run_ns.into(),
            run_ns.map(|run_ns| run_ns - wakeup.at_ns).into(),
        ]);
    }
}

impl Sink for Tables {
    fn task(&mut self, at_ns: u64, task: &NewTask<'_>) {
        self.figures.task(at_ns, task);
    }

    fn record(&mut self, record: &Record<'_>) {
        self.figures.record(record);
        let &Record { at_ns, cpu, current, context, tracepoint } = record;
        match tracepoint {
            Tracepoint::Switch { prev, prev_state, next } => {
                if prev.pid != 0 {
                    let start_ns = self.slice_begins.get(prev.pid as usize).copied().unwrap_or(0);
                    self.slices.row(&[
                        cpu.into(),
                        start_ns.into(),
                        at_ns.into(),
                        prev.pid.into(),
                        Cell::Text(prev.comm),
                        Cell::Int(prev.prio.into()),
                        match self.is_closing {
                            true => Cell::Null,
                            false => Cell::Text(prev_state.letters()),
                        },
                    ]);
                    // The task was woken while it still had the CPU: it never had to wait.
                    if self.woken.get(prev.pid as usize).is_some_and(Option::is_some)
                        && prev_state != State::Runnable
                    {
                        let woken_ns = self.woken[prev.pid as usize].as_ref().map(|w| w.at_ns);
                        self.wakeup(prev.pid, prev.comm, woken_ns);
                    }
                }
                if next.pid != 0 {
                    let pid = next.pid as usize;
                    if pid >= self.slice_begins.len() {
                        self.slice_begins.resize(pid + 1, 0);
                    }
                    self.slice_begins[pid] = at_ns;
                    self.wakeup(next.pid, next.comm, Some(at_ns));
                }
            }
            Tracepoint::Wakeup { task, target_cpu }
            | Tracepoint::WakeupNew { task, target_cpu } => {
                self.wakeup(task.pid, task.comm, None);
                let pid = task.pid as usize;
                if pid >= self.woken.len() {
                    self.woken.resize(pid + 1, None);
                }
                let is_new = matches!(tracepoint, Tracepoint::WakeupNew { .. });
                let by_task = current.pid != 0 && !context.is_interrupt() && !is_new;
                self.woken[pid] = Some(Wakeup {
                    at_ns,
                    cpu: target_cpu,
                    is_new,
                    waker: by_task.then(|| (current.pid, current.comm.into())),
                });
            }
            Tracepoint::Migrate { task, orig_cpu, dest_cpu } => self.migrations.row(&[
                at_ns.into(),
                task.pid.into(),
                Cell::Text(task.comm),
                orig_cpu.into(),
                dest_cpu.into(),
            ]),
            _ => {}
        }
    }

    fn group(&mut self, at_ns: u64, pid: u32, group: u32) {
        self.figures.group(at_ns, pid, group);
    }

    fn closing(&mut self, _at_ns: u64) {
        self.is_closing = true;
        self.figures.closing();
    }

    fn finish(&mut self, at_ns: u64) {
        for pid in 0..self.woken.len() as u32 {
            let comm = self.figures.comm(pid).to_string();
            self.wakeup(pid, &comm, None);
        }
        self.figures.finish(at_ns);
    }
}
