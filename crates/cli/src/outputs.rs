//! Files that a run writes as it proceeds: traces (`--trace`), tables (`--save`), and the contents
//! of `/proc` at given times (`--snapshot`).
//!
//! Every file is created before anything runs, so that an unwritable file is reported at once. Runs
//! without these options pay nothing: their machine has no such observers.

use crate::Failure;
use crate::files;
use crate::interrupt::Interrupts;
use crate::options::time;
use crate::terminal::complain;
use clap::{Args, ValueEnum};
use schedlab_core::{Event, Observer, TaskId};
use schedlab_lab::Error;
use schedlab_lab::plan::{Contender, Prepared};
use schedlab_lab::run::Run;
use schedlab_lab::session::{Session, Shared};
use schedlab_measure::Fairness;
use schedlab_trace::procfs::{Counters, Kernel, SnapshotDir};
use schedlab_trace::writer::is_replaceable;
use schedlab_trace::{Header, Recorder, TableForm, Tables, TraceFormat, TraceWriter};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files that a run writes as it proceeds.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Traces, tables and /proc")]
pub struct OutputArgs {
    /// Write a trace for other tools into this file: .pftrace (Perfetto), .json (Chrome), .txt
    /// (perf script, or ftrace with --trace-format); an appended .gz or .zst compresses it. With
    /// several schedulers, each of the others has a file next to it, with the scheduler in its name
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Format of the trace, whatever the file's ending
    #[arg(long, value_enum, value_name = "FORMAT", requires = "trace")]
    pub trace_format: Option<FormatOption>,
    /// Add counters of lag to the trace (Perfetto, Chrome): how much CPU time the ideal fluid
    /// machine owes each task that gets or leaves a CPU, the same measure for every scheduler; and,
    /// where the scheduler has one (eevdf), its own lag of each candidate at each pick; slower
    #[arg(long, requires = "trace")]
    pub trace_lag: bool,
    /// Write slices, wakeups, migrations and the figures of tasks and groups as tables into this
    /// directory; with several schedulers, into a subdirectory for each
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Format of the tables
    #[arg(long, value_enum, default_value = "csv", value_name = "FORM", requires = "save")]
    pub save_format: SaveOption,
    /// Write the contents of the scheduler's files in /proc and debugfs at this time of the run,
    /// e.g. 1.5s, in the format of its release
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub snapshot: Vec<u64>,
    /// Directory for snapshots, with a subdirectory for each time; with several schedulers, these
    /// are below one for each scheduler
    #[arg(long, value_name = "DIR", default_value = "snapshot")]
    pub snapshot_dir: PathBuf,
}

/// Format of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FormatOption {
    /// Perfetto's binary form.
    Perfetto,
    /// Chrome's JSON.
    Chrome,
    /// The text of `perf script --ns`.
    Perf,
    /// The text of ftrace.
    Ftrace,
}

impl From<FormatOption> for TraceFormat {
    fn from(option: FormatOption) -> TraceFormat {
        match option {
            FormatOption::Perfetto => TraceFormat::Perfetto,
            FormatOption::Chrome => TraceFormat::Chrome,
            FormatOption::Perf => TraceFormat::Perf,
            FormatOption::Ftrace => TraceFormat::Ftrace,
        }
    }
}

/// Format of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum SaveOption {
    /// Comma-separated values.
    #[default]
    Csv,
    /// Arrow IPC, if the program was built with it.
    Arrow,
    /// Parquet, if the program was built with it.
    Parquet,
}

impl From<SaveOption> for TableForm {
    fn from(option: SaveOption) -> TableForm {
        match option {
            SaveOption::Csv => TableForm::Csv,
            SaveOption::Arrow => TableForm::Arrow,
            SaveOption::Parquet => TableForm::Parquet,
        }
    }
}

impl OutputArgs {
    fn is_empty(&self) -> bool {
        self.trace.is_none() && self.save.is_none() && self.snapshot.is_empty()
    }
}

/// Observers of a run that write traces and tables.
type Sinks = (Option<TraceWriter>, (Option<Tables>, Option<Counters>));

/// Observers and files of one run.
struct RunOutputs {
    recorder: Recorder<Sinks>,
    /// File of the trace, and directory of the tables, for messages.
    names: [PathBuf; 2],
    /// Follows the ideal machine, if lags are recorded.
    fluid: Option<Fairness>,
}

impl RunOutputs {
    /// Records the lag of `task`, which gets or leaves a CPU, against the ideal machine.
    fn record_lag(&mut self, now_ns: u64, task: TaskId) {
        let Some(fluid) = &mut self.fluid else { return };
        // A task that has just gone to sleep keeps its lag.
        let asleep = |fluid: &Fairness| fluid.task(task).map(|fared| fared.lag_end_ns);
        if let Some(lag_ns) = fluid.lag_ns(now_ns, task).or_else(|| asleep(fluid)) {
            self.recorder.fluid_lag(now_ns, task, lag_ns);
        }
    }
}

impl Observer for RunOutputs {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.fluid.on(now_ns, event);
        self.recorder.on(now_ns, event);
        if let (Event::Switched { prev, next, .. }, true) = (event, self.fluid.is_some()) {
            for task in [prev, next].into_iter().flatten() {
                self.record_lag(now_ns, task);
            }
        }
    }
}

/// Files of the runs of a plan, already created.
pub struct Outputs {
    interrupts: Interrupts,
    /// Files of each scheduler, until its run takes them.
    runs: Vec<Mutex<Option<RunFiles>>>,
    stops_ns: Vec<u64>,
    /// Whether a file could not be written.
    failed: AtomicBool,
}

struct RunFiles {
    filled: RunOutputs,
    snapshots: Option<(SnapshotDir, Kernel)>,
}

impl Outputs {
    /// Creates the files that `args` requests; `None` if it requests none.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn begin(args: &OutputArgs, prepared: &[Prepared]) -> Result<Option<Outputs>, Failure> {
        if args.is_empty() {
            return Ok(None);
        }
        let [prepared] = prepared else {
            let message = "--trace, --save and --snapshot apply to one workload; name one file";
            return Err(Failure::Message(message.into()));
        };
        let contenders = prepared.schedulers();
        let mut runs = vec![];
        for (number, contender) in contenders.iter().enumerate() {
            let one = one_run(args, prepared, contender, number, contenders.len())?;
            runs.push(Mutex::new(Some(one)));
        }
        let mut stops_ns = args.snapshot.clone();
        stops_ns.sort_unstable();
        stops_ns.dedup();
        let failed = AtomicBool::new(false);
        Ok(Some(Outputs { interrupts: Interrupts::listen()?, runs, stops_ns, failed }))
    }

    /// Whether a file of a run could not be written. The reason has been reported.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn run_all(
        &self,
        prepared: &Prepared,
        threads: NonZeroUsize,
        done: impl Fn() + Sync,
        mut ready: impl FnMut(&Contender, Result<Run, Error>) -> bool,
    ) {
        let complaints = Mutex::new(vec![]);
        let run = |column: usize, repetition: u64| {
            let contender = &prepared.schedulers()[column];
            let ran = match repetition {
                0 => {
                    let (ran, said) = self.run(prepared, column, contender);
                    if let Ok(mut complaints) = complaints.lock() {
                        complaints.extend(said);
                    }
                    ran
                }
                // Only the first of repeated runs is recorded.
                _ => prepared.repetition(contender, repetition).and_then(Session::finish),
            };
            done();
            ran
        };
        prepared.run_all_by(threads, run, |contender, result| {
            for complaint in complaints.lock().iter_mut().flat_map(|all| all.drain(..)) {
                complain(&complaint);
            }
            ready(contender, result)
        });
    }

    /// Makes the run, and returns errors of its files and snapshots with it.
    fn run(
        &self,
        prepared: &Prepared,
        number: usize,
        contender: &Contender,
    ) -> (Result<Run, Error>, Vec<String>) {
        let taken = self.runs[number].lock().ok().and_then(|mut run| run.take());
        let Some(RunFiles { filled, snapshots }) = taken else {
            return (prepared.session(contender).and_then(Session::finish), vec![]);
        };
        let mut complaints = vec![];
        let mut errors = vec![];
        let mut stops = 0;
        let close = |filled: RunOutputs| close(filled).map_err(|message| vec![message]);
        let observer = Shared::new(self.interrupts.watch(filled, close));
        let ran = prepared.session(contender).and_then(|mut session| {
            session.observe(observer.clone()).name_tasks();
            session.stop_at(&self.stops_ns, |session| {
                stops += 1;
                let open = observer.borrow();
                let counters =
                    open.observer().and_then(|filled| filled.recorder.sink().1.1.as_ref());
                if let (Some((directory, kernel)), Some(counters)) = (&snapshots, counters) {
                    let view = session.snapshot();
                    let view = crate::snapshots::view(contender, prepared, *kernel, &view);
                    let written = directory.write(&view, counters);
                    errors.extend(written.err().map(|error| format!("--snapshot: {error}")));
                }
                true
            })?;
            session.finish()
        });
        match ran {
            Ok(run) => {
                errors.extend(observer.borrow_mut().close().err().into_iter().flatten());
                if !errors.is_empty() {
                    self.failed.store(true, Ordering::Relaxed);
                    complaints.append(&mut errors);
                }
                for at_ns in self.stops_ns.iter().skip(stops) {
                    let at_s = *at_ns as f64 / 1e9;
                    complaints.push(format!(
                        "warning: {contender}: --snapshot {at_s}s: the run had ended before then"
                    ));
                }
                (Ok(run), complaints)
            }
            Err(error) => (Err(error), complaints),
        }
    }
}

/// Creates the files of one run.
fn one_run(
    args: &OutputArgs,
    prepared: &Prepared,
    contender: &Contender,
    number: usize,
    of: usize,
) -> Result<RunFiles, Failure> {
    let header = prepared.trace_header(contender);
    let name = file_name(contender);
    let trace = match &args.trace {
        None => None,
        Some(path) if number == 0 => Some(begin_trace(args, path, &header)?),
        Some(path) => Some(begin_trace(args, &with_name(path, &name), &header)?),
    };
    let below = |directory: &Path| match of {
        1 => directory.to_path_buf(),
        _ => directory.join(&name),
    };
    let tables = match &args.save {
        None => None,
        Some(directory) => {
            for file in Tables::files(&below(directory), args.save_format.into()) {
                check_table(&file)?;
            }
            let groups = crate::snapshots::group_paths(prepared, contender);
            let tables = Tables::new(&below(directory), args.save_format.into(), groups);
            Some(tables.map_err(|message| format!("--save: {message}"))?)
        }
    };
    let snapshots = match (args.snapshot.is_empty(), crate::snapshots::kernel(contender)) {
        (true, _) => None,
        (false, None) => {
            complain(&format!(
                "note: {contender}: it is not a release of Linux, so it has no /proc"
            ));
            None
        }
        (false, Some(kernel)) => {
            let begun = SnapshotDir::create(&below(&args.snapshot_dir));
            Some((begun.map_err(|message| format!("--snapshot: {message}"))?, kernel))
        }
    };
    let counters = snapshots.is_some().then(|| Counters::new(header.cpus));
    let recorder = Recorder::new(header.cpus, (trace, (tables, counters)));
    let fluid = if args.trace_lag { prepared.fairness(contender) } else { None };
    let trace = args.trace.as_deref().map(|path| match number {
        0 => path.to_path_buf(),
        _ => with_name(path, &name),
    });
    let names = [trace.unwrap_or_default(), args.save.as_deref().map(below).unwrap_or_default()];
    let filled = RunOutputs { recorder, names, fluid };
    Ok(RunFiles { filled, snapshots })
}

/// Like [`Prepared::run_all_counted`], and fills the files of `outputs`.
pub fn run_all(
    prepared: &Prepared,
    outputs: Option<&Outputs>,
    threads: NonZeroUsize,
    done: impl Fn() + Sync,
    ready: impl FnMut(&Contender, Result<Run, Error>) -> bool,
) {
    match outputs {
        Some(outputs) => outputs.run_all(prepared, threads, done, ready),
        None => prepared.run_all_counted(threads, done, ready),
    }
}

/// Returns the name of a scheduler in file names.
fn file_name(contender: &Contender) -> String {
    let harmless = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '@' | '.' | '-' | '_' | '=' | ',' => letter,
        _ => '_',
    };
    contender.to_string().chars().map(harmless).collect()
}

/// Inserts the name before the endings: `out.pftrace.gz` with `cfs@2.6.24` is
/// `out-cfs@2.6.24.pftrace.gz`.
fn with_name(path: &Path, name: &str) -> PathBuf {
    let file = path.file_name().map_or(String::new(), |file| file.to_string_lossy().into_owned());
    let packing = if file.ends_with(".gz") || file.ends_with(".zst") { 2 } else { 1 };
    let dot = file.rmatch_indices('.').nth(packing - 1).map_or(file.len(), |(place, _)| place);
    path.with_file_name(format!("{}-{name}{}", &file[..dot], &file[dot..]))
}

fn begin_trace(args: &OutputArgs, path: &Path, header: &Header) -> Result<TraceWriter, Failure> {
    let shown = path.display();
    let format = args.trace_format.map(TraceFormat::from).or_else(|| TraceFormat::of(path));
    let Some(format) = format else {
        return Err(Failure::Message(format!(
            "--trace: {shown}: its ending names no format; name it .pftrace, .json or .txt (with \
             .gz or .zst appended to compress it), or give --trace-format"
        )));
    };
    files::check(path).map_err(|message| format!("--trace: {message}"))?;
    if !is_replaceable(path) {
        return Err(Failure::Message(format!(
            "--trace: {shown} exists and is not a trace, so it is not overwritten; name another \
             file"
        )));
    }
    let writer = TraceWriter::create(path, format, header);
    Ok(writer.map_err(|error| format!("--trace: {shown}: cannot be written: {error}"))?)
}

/// Checks that a table replaces only an earlier one: a file of tables in the same form.
fn check_table(path: &Path) -> Result<(), Failure> {
    let is_ours = |head: &str| {
        let first = head.lines().next().unwrap_or_default();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        Tables::head_of(stem).is_some_and(|ours| first == ours)
            || head.starts_with("ARROW1")
            || head.starts_with("PAR1")
    };
    let old = path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0);
    if !old || files::begins(path, is_ours) {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "--save: {} exists and is not a table of `schedlab run`, so it is not overwritten; name \
         another directory",
        path.display()
    )))
}

/// Finishes the files of a run and moves them into place.
fn close(filled: RunOutputs) -> Result<(), String> {
    let [trace_name, tables_name] = filled.names.map(|path| path.display().to_string());
    let (trace, (tables, _)) = filled.recorder.into_sink();
    let trace = trace.map_or(Ok(()), |trace| {
        trace.close().map_err(|error| format!("--trace: {trace_name}: cannot be written: {error}"))
    });
    let tables = tables.map_or(Ok(()), |tables| {
        tables.close().map_err(|error| format!("--save: {tables_name}: cannot be written: {error}"))
    });
    trace.and(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedulers_name_stands_before_the_ending() {
        let named = |path: &str| with_name(Path::new(path), "cfs@2.6.24").display().to_string();
        assert_eq!(named("a/out.pftrace"), "a/out-cfs@2.6.24.pftrace");
        assert_eq!(named("out.v2.txt.gz"), "out.v2-cfs@2.6.24.txt.gz");
        assert_eq!(named("out"), "out-cfs@2.6.24");
    }
}
