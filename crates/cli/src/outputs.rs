//! What a run leaves in files while it goes on: traces (`--trace`), tables (`--save`), and what
//! `/proc` said at some times (`--snapshot`).
//!
//! Every file is begun before anything is run, so that one that cannot be written is known at once.
//! Who asks for none of them pays nothing: the machine is built without the observers.

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

/// Files that a run fills while it goes on.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Traces, tables and /proc")]
pub struct OutputArgs {
    /// Write what happened into this file, for other tools: .pftrace (Perfetto), .json (Chrome),
    /// .txt (perf script, or ftrace by --trace-format); .gz and .zst behind it compress. With
    /// several schedulers the first one's; the others' stand beside it, with their names in theirs
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// In which format, whatever the file's ending says
    #[arg(long, value_enum, value_name = "FORMAT", requires = "trace")]
    pub trace_format: Option<FormatOption>,
    /// The trace has counters of lags, too (Perfetto, Chrome): what each task that gets or leaves a
    /// CPU is owed by the ideal fluid machine, the same measure for every scheduler; and, where the
    /// scheduler has one (eevdf), its own lag of each candidate at each pick; takes longer
    #[arg(long, requires = "trace")]
    pub trace_lag: bool,
    /// Write slices, wakeups, migrations and the figures of tasks and groups as tables into this
    /// directory; with several schedulers into one for each below it
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// The form of the tables
    #[arg(long, value_enum, default_value = "csv", value_name = "FORM", requires = "save")]
    pub save_format: SaveOption,
    /// Write what /proc and debugfs said of the scheduler at this time of the run, e.g. 1.5s, in
    /// the format of its release
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub snapshot: Vec<u64>,
    /// Into this directory, one for each time below it; with several schedulers below one for each
    /// of them
    #[arg(long, value_name = "DIR", default_value = "snapshot")]
    pub snapshot_dir: PathBuf,
}

/// A format of traces.
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

/// A form of tables.
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

/// What is told of the tracepoints of a run.
type Sinks = (Option<TraceWriter>, (Option<Tables>, Option<Counters>));

/// All that one run fills.
struct Filled {
    recorder: Recorder<Sinks>,
    /// Follows the ideal machine, if its account of lags is wanted.
    fluid: Option<Fairness>,
}

impl Filled {
    /// What `task`, which gets or leaves a CPU, is owed by the ideal machine.
    fn tell_lag(&mut self, now_ns: u64, task: TaskId) {
        let Some(fluid) = &mut self.fluid else { return };
        // Who has just gone to sleep keeps the lag that it had.
        let asleep = |fluid: &Fairness| fluid.task(task).map(|fared| fared.lag_end_ns);
        if let Some(lag_ns) = fluid.lag_ns(now_ns, task).or_else(|| asleep(fluid)) {
            self.recorder.fluid_lag(now_ns, task, lag_ns);
        }
    }
}

impl Observer for Filled {
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.fluid.on(now_ns, event);
        self.recorder.on(now_ns, event);
        if let (Event::Switched { prev, next, .. }, true) = (event, self.fluid.is_some()) {
            for task in [prev, next].into_iter().flatten() {
                self.tell_lag(now_ns, task);
            }
        }
    }
}

/// The files of the runs of a plan, begun.
pub struct Outputs {
    interrupts: Interrupts,
    /// For each scheduler, until its run takes it.
    runs: Vec<Mutex<Option<OneRun>>>,
    stops_ns: Vec<u64>,
}

struct OneRun {
    filled: Filled,
    snapshots: Option<(SnapshotDir, Kernel)>,
}

impl Outputs {
    /// Begins the files that `args` ask for; none if they ask for nothing.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn begin(args: &OutputArgs, prepared: &[Prepared]) -> Result<Option<Outputs>, Failure> {
        if args.is_empty() {
            return Ok(None);
        }
        let [prepared] = prepared else {
            let message = "--trace, --save and --snapshot are of one workload; name one file";
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
        Ok(Some(Outputs { interrupts: Interrupts::listen()?, runs, stops_ns }))
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
                // Of repeated runs the first one is told of.
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

    /// Runs it, and what went wrong with its files or its snapshots.
    fn run(
        &self,
        prepared: &Prepared,
        number: usize,
        contender: &Contender,
    ) -> (Result<Run, Error>, Vec<String>) {
        let taken = self.runs[number].lock().ok().and_then(|mut run| run.take());
        let Some(OneRun { filled, snapshots }) = taken else {
            return (prepared.session(contender).and_then(Session::finish), vec![]);
        };
        let mut complaints = vec![];
        let mut stops = 0;
        let close = |filled: Filled| close(filled).map_err(|message| vec![message]);
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
                    complaints.extend(written.err().map(|error| format!("--snapshot: {error}")));
                }
                true
            })?;
            session.finish()
        });
        match ran {
            Ok(run) => {
                complaints.extend(observer.borrow_mut().close().err().into_iter().flatten());
                for at_ns in self.stops_ns.iter().skip(stops) {
                    let at_s = *at_ns as f64 / 1e9;
                    complaints.push(format!(
                        "warning: {contender}: --snapshot {at_s}s: the run was over before"
                    ));
                }
                (Ok(run), complaints)
            }
            Err(error) => (Err(error), complaints),
        }
    }
}

/// Begins the files of one run.
fn one_run(
    args: &OutputArgs,
    prepared: &Prepared,
    contender: &Contender,
    number: usize,
    of: usize,
) -> Result<OneRun, Failure> {
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
            let groups = crate::snapshots::group_paths(prepared, contender);
            let tables = Tables::new(&below(directory), args.save_format.into(), groups);
            Some(tables.map_err(|message| format!("--save: {message}"))?)
        }
    };
    let snapshots = match (args.snapshot.is_empty(), crate::snapshots::kernel(contender)) {
        (true, _) => None,
        (false, None) => {
            complain(&format!("note: {contender}: it is no release of Linux, so it has no /proc"));
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
    let filled = Filled { recorder, fluid };
    Ok(OneRun { filled, snapshots })
}

/// As [`Prepared::run_all_counted`], with the files of `outputs` filled.
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

/// What a scheduler is called in the names of files.
fn file_name(contender: &Contender) -> String {
    let harmless = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '@' | '.' | '-' | '_' | '=' | ',' => letter,
        _ => '_',
    };
    contender.to_string().chars().map(harmless).collect()
}

/// `out.pftrace.gz` and `cfs@2.6.24`: `out-cfs@2.6.24.pftrace.gz`.
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
            "--trace: {shown}: its ending says no format; name it .pftrace, .json or .txt (with .gz \
             or .zst behind it, if it is to be compressed), or give --trace-format"
        )));
    };
    files::check(path).map_err(|message| format!("--trace: {message}"))?;
    if !is_replaceable(path) {
        return Err(Failure::Message(format!(
            "--trace: {shown} is there and is not a trace, so it is not written over; name another \
             file"
        )));
    }
    let writer = TraceWriter::create(path, format, header);
    Ok(writer.map_err(|error| format!("--trace: {shown}: cannot be written: {error}"))?)
}

/// Puts the files of a run in their places.
fn close(filled: Filled) -> Result<(), String> {
    let (trace, (tables, _)) = filled.recorder.into_sink();
    let trace = trace.map_or(Ok(()), |trace| {
        trace.close().map_err(|error| format!("--trace: cannot be written: {error}"))
    });
    let tables = tables.map_or(Ok(()), |tables| {
        tables.close().map_err(|error| format!("--save: cannot be written: {error}"))
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
