//! Input of `timehist`, `latency`, `map` and `antagonists`: a workload that runs under a scheduler,
//! or a trace.

use crate::Failure;
use crate::files;
use crate::given::GivenArgs;
use crate::options::{setting, time};
use crate::plans::{find_machine, newest, note, prepare};
use crate::scx::ScxOptions;
use crate::terminal::complain;
use clap::Args;
use schedlab_lab::Error;
use schedlab_lab::plan::{Load, MachineSpec, Plan, Prepared, Source, Timetable};
use schedlab_trace::read::{Format, Reading, Trace};
use schedlab_trace::{Recorder, Sink};
use std::path::{Path, PathBuf};

/// A workload and its scheduler, or a trace.
#[derive(Args, Clone, Debug)]
pub struct SourceArgs {
    /// Arguments given on the command line.
    #[command(flatten)]
    pub given: GivenArgs,
    /// Workload in rt-app's JSON language or plan, to be run; or trace, to be read: the text of
    /// `perf script`, ftrace or `trace-cmd report`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Scheduler for the workload, e.g. cfs or cfs@2.6.24 [default: the newest of Linux, eevdf]
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Number of CPUs [default: the number that the workload's `cpus` name, at least 1]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// Machine: a preset (`schedlab list --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Time limit: seconds, or with a unit, e.g. 20ms [default: as in the workload]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Tunable to set (`schedlab list NAME` shows them)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, schedlab_lab::plan::SetValues)>,
    /// One action on the machine during the run, e.g. "2s renice video -5"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// Seed of a random order of simultaneous events
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Options of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// Workload or trace.
pub enum Traced {
    /// Workload to be run.
    Run(Box<Prepared>),
    /// Recorded trace.
    Recorded {
        /// Name of its file.
        file: String,
        /// The trace.
        trace: Box<Trace>,
    },
}

impl SourceArgs {
    /// Reads the file, and checks everything.
    ///
    /// # Errors
    /// The file or an option is not valid.
    pub fn open(&self) -> Result<Traced, Failure> {
        let source = match open(&self.file)? {
            SourceFile::Workload(source) => source,
            SourceFile::Trace(trace) => {
                let file = self.file.display().to_string();
                let scheduler = self.scheduler.as_ref().map(|_| "scheduler".to_string());
                if let Some(option) = scheduler.or_else(|| self.of_runs()) {
                    return Err(Failure::Message(format!(
                        "{file}: this is a trace, which is read unchanged: --{option} applies \
                         only to workloads"
                    )));
                }
                return Ok(Traced::Recorded { file, trace: Box::new(trace) });
            }
        };
        let file = source.file.clone();
        let is_plan = Plan::is_plan(&source.text);
        let plan = if is_plan {
            if let Some(option) = self.of_runs() {
                return Err(Failure::Message(crate::plans::contradiction(&file, &option)));
            }
            let plan = Plan::parse(&file, &source.text).map_err(|error| error.to_string())?;
            if !matches!(plan.load, Load::Workload(_)) {
                return Err(Failure::Message(format!(
                    "{file}: this is the plan of a benchmark; give a workload, or its plan"
                )));
            }
            match &self.scheduler {
                Some(scheduler) => {
                    let schedulers = self.scx.apply(vec![scheduler.clone()])?;
                    Plan { schedulers, ..plan }
                }
                None => plan,
            }
        } else {
            Plan {
                machine: MachineSpec {
                    description: find_machine(self.machine.as_deref())?,
                    cpus: self.cpus,
                    costs: self.scx.costs(vec![]),
                    ..MachineSpec::default()
                },
                set: self.set.clone(),
                timetable: Timetable { files: vec![], actions: self.at.clone() },
                limit_ns: self.duration,
                seed: self.seed,
                ..Plan::new(
                    Load::Workload(source),
                    self.scx.apply(vec![self.scheduler_or_newest()])?,
                )
            }
        };
        let prepared = prepare(&plan, is_plan.then_some(&*file))?;
        note(&prepared);
        let [_] = prepared.schedulers() else {
            let names: Vec<String> =
                prepared.schedulers().iter().map(ToString::to_string).collect();
            return Err(Failure::Message(format!(
                "--scheduler: only one can be shown at a time; choose one of {}",
                names.join(", ")
            )));
        };
        Ok(Traced::Run(Box::new(prepared)))
    }

    /// Returns the scheduler that is named, or the newest, which is then noted.
    fn scheduler_or_newest(&self) -> String {
        self.scheduler.clone().unwrap_or_else(|| {
            let newest = newest();
            complain(&format!("note: under {newest}; --scheduler selects another"));
            newest
        })
    }

    /// Returns the first option given that describes how a workload is run, except `scheduler`.
    fn of_runs(&self) -> Option<String> {
        self.given.first_option::<SourceArgs>(&["scheduler", "scx_dump"])
    }
}

impl Traced {
    /// Passes all events to the sink that `make` makes for a number of CPUs.
    ///
    /// # Errors
    /// The run failed, or the trace cannot be understood.
    pub fn show<S: Sink>(&self, make: impl FnOnce(u32) -> S) -> Result<S, Failure> {
        match self {
            Traced::Recorded { file, trace } => {
                let wrong = |error| format!("{file}: {error}");
                // The first pass finds the number of CPUs and the defects.
                let reading = trace.read(&mut ()).map_err(wrong)?;
                warn_of_problems(file, &reading);
                let mut sink = make(reading.header.cpus);
                trace.read(&mut sink).map_err(wrong)?;
                Ok(sink)
            }
            Traced::Run(prepared) => {
                std::panic::set_hook(Box::new(|_| {}));
                let contender = &prepared.schedulers()[0];
                let cpus = prepared
                    .experiment_of(contender)
                    .map_or(1, |experiment| experiment.config.cpus);
                let mut sink = make(cpus);
                // The events of a failed run are also shown: they show its history.
                let recorder = Recorder::new(cpus, BorrowedSink(&mut sink));
                let ran = prepared.session(contender).and_then(|mut session| {
                    session.observe(recorder).name_tasks();
                    session.finish()
                });
                match ran {
                    Ok(run) => {
                        if let Some(warning) = run.warning {
                            complain(&format!("warning: {contender}: {warning}"));
                        }
                    }
                    Err(Error::Stuck { run, .. }) => {
                        let warning = run.warning.unwrap_or_default();
                        complain(&format!("warning: {contender}: {warning}"));
                    }
                    Err(error) => {
                        let name = prepared.name();
                        return Err(Failure::Message(format!("{name}: {contender}: {error}")));
                    }
                }
                Ok(sink)
            }
        }
    }
}

/// Contents of a file.
enum SourceFile {
    Workload(Source),
    Trace(Trace),
}

/// Determines whether a file is a workload or a trace, and opens it.
fn open(path: &Path) -> Result<SourceFile, Failure> {
    let file = path.display().to_string();
    let wrong = |error| format!("{file}: {error}");
    if std::fs::metadata(path).is_ok_and(|there| there.is_file()) {
        return Ok(if is_workload(&Trace::begin(path).map_err(wrong)?) {
            SourceFile::Workload(files::read_lossy(path)?)
        } else {
            SourceFile::Trace(Trace::open(path).map_err(wrong)?)
        });
    }
    // A pipe can be read only once.
    let bytes = schedlab_lab::compressed::read(path, schedlab_lab::compressed::LIMIT)
        .map_err(|error| format!("{file}: {error}"))?;
    if is_workload(&bytes) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return Ok(SourceFile::Workload(Source { file, text }));
    }
    Ok(SourceFile::Trace(Trace::of_bytes(bytes).map_err(wrong)?))
}

/// Returns whether a regular file is a recorded trace of the scheduler.
pub fn is_trace(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let Some(begin) = is_file.then(|| Trace::begin(path).ok()).flatten() else { return false };
    if is_workload(&begin) {
        return false;
    }
    // Any text could be lines of ftrace.
    let has = |word: &[u8]| begin.windows(word.len()).any(|window| window == word);
    Trace::open(path).is_ok_and(|trace| trace.format() != Format::Text || has(b"sched_"))
}

/// Returns whether `begin` is the beginning of a workload: JSON, or a comment before it. A trace
/// may be JSON of another kind.
fn is_workload(begin: &[u8]) -> bool {
    let text = begin.trim_ascii_start();
    let begins = matches!(text.first(), Some(b'{' | b'/'));
    let text = &text[..text.len().min(1 << 16)];
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    let is_trace = has(b"\"traceEvents\"") || has(b"\"systemTraceEvents\"");
    // An empty file is reported as a workload is.
    (begins && !is_trace) || text.is_empty()
}

/// Warns of defects of a trace.
pub fn warn_of_problems(file: &str, reading: &Reading) {
    for sentence in reading.problems.sentences() {
        complain(&format!("warning: {file}: {sentence}"));
    }
}

/// Sink that outlives a failed run.
struct BorrowedSink<'a, S>(&'a mut S);

impl<S: Sink> Sink for BorrowedSink<'_, S> {
    fn task(&mut self, at_ns: u64, task: &schedlab_trace::NewTask<'_>) {
        self.0.task(at_ns, task);
    }

    fn record(&mut self, record: &schedlab_trace::Record<'_>) {
        self.0.record(record);
    }

    fn online(&mut self, at_ns: u64, cpu: u32, online: bool) {
        self.0.online(at_ns, cpu, online);
    }

    fn closing(&mut self, at_ns: u64) {
        self.0.closing(at_ns);
    }

    fn finish(&mut self, at_ns: u64) {
        self.0.finish(at_ns);
    }
}
