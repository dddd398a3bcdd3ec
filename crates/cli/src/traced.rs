//! What `timehist`, `latency`, `map` and `antagonists` look at: a workload that is run under a
//! scheduler, or a trace in text that is read.

use crate::Failure;
use crate::files;
use crate::options::{setting, time};
use crate::plans::{find_machine, newest, note, prepare};
use crate::scx::ScxOptions;
use crate::terminal::complain;
use clap::Args;
use schedlab_lab::Error;
use schedlab_lab::plan::{Load, MachineSpec, Plan, Prepared, Source, Timetable};
use schedlab_trace::read::{Reading, Trace};
use schedlab_trace::{Recorder, Sink};
use std::path::{Path, PathBuf};

/// A workload and its scheduler, or a trace.
#[derive(Args, Clone, Debug)]
pub struct SourceArgs {
    /// A workload in rt-app's JSON language or a plan, which is run; or a trace, which is read: the
    /// text of `perf script`, ftrace or `trace-cmd report`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The scheduler to run the workload under, e.g. cfs or cfs@2.6.24 [default: the newest of
    /// Linux, eevdf]
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// Number of CPUs [default: as many as the workload's `cpus` name, at least 1]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// The machine: a preset (`schedlab list --machines`), flat-N, or a file [default: equal CPUs]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Stop after so long: seconds, or with a unit, e.g. 20ms [default: what the workload says]
    #[arg(short, long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Set a tunable of the scheduler (`schedlab list NAME` shows them)
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, schedlab_lab::plan::SetValues)>,
    /// Do one thing to the machine while it runs, e.g. "2s renice video -5"
    #[arg(long, value_name = "ACTION")]
    pub at: Vec<String>,
    /// Let simultaneous events happen in random order, by this seed
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Of sched_ext policies.
    #[command(flatten)]
    pub scx: ScxOptions,
}

/// What is looked at.
pub enum Traced {
    /// A workload that is going to run.
    Run(Box<Prepared>),
    /// A trace that was recorded.
    Recorded {
        /// Its name.
        file: String,
        /// What it is.
        trace: Box<Trace>,
    },
}

impl SourceArgs {
    /// Reads the file, and checks all.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(&self) -> Result<Traced, Failure> {
        let source = match open(&self.file)? {
            Opened::Workload(source) => source,
            Opened::Trace(trace) => {
                let file = self.file.display().to_string();
                if let Some(option) = self.of_runs() {
                    return Err(Failure::Message(format!(
                        "{file}: that is a trace, which is read as it is: --{option} goes with \
                         workloads"
                    )));
                }
                return Ok(Traced::Recorded { file, trace: Box::new(trace) });
            }
        };
        let file = source.file.clone();
        let is_plan = Plan::is_plan(&source.text);
        let plan = if is_plan {
            if let Some(option) = self.of_runs().filter(|option| *option != "scheduler") {
                return Err(Failure::Message(crate::plans::contradiction(&file, option)));
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
                "--scheduler: one is looked at at a time; say which of {}",
                names.join(", ")
            )));
        };
        Ok(Traced::Run(Box::new(prepared)))
    }

    /// The scheduler that is named, or the newest; which that is, is said.
    fn scheduler_or_newest(&self) -> String {
        self.scheduler.clone().unwrap_or_else(|| {
            let newest = newest();
            complain(&format!("note: under {newest}; --scheduler names another"));
            newest
        })
    }

    /// The first option that says how a workload is run.
    fn of_runs(&self) -> Option<&'static str> {
        let given = [
            ("scheduler", self.scheduler.is_some()),
            ("cpus", self.cpus.is_some()),
            ("machine", self.machine.is_some()),
            ("duration", self.duration.is_some()),
            ("set", !self.set.is_empty()),
            ("at", !self.at.is_empty()),
            ("seed", self.seed.is_some()),
        ];
        let given = given.iter().find(|(_, given)| *given).map(|(option, _)| *option);
        given.or_else(|| self.scx.of_runs())
    }
}

impl Traced {
    /// Shows all of it to what `make` makes for so many CPUs.
    ///
    /// # Errors
    /// The run went wrong, or the trace cannot be understood.
    pub fn show<S: Sink>(&self, make: impl FnOnce(u32) -> S) -> Result<S, Failure> {
        match self {
            Traced::Recorded { file, trace } => {
                let wrong = |error| format!("{file}: {error}");
                // Once to know how many CPUs it has and what is wrong with it.
                let reading = trace.read(&mut ()).map_err(wrong)?;
                tell_problems(file, &reading);
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
                // What was seen of a run that went wrong is shown, too: it shows how.
                let recorder = Recorder::new(cpus, Shared(&mut sink));
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

/// What a file is.
enum Opened {
    Workload(Source),
    Trace(Trace),
}

/// Finds out whether a file is a workload or a trace, and opens it.
fn open(path: &Path) -> Result<Opened, Failure> {
    let file = path.display().to_string();
    let wrong = |error| format!("{file}: {error}");
    if std::fs::metadata(path).is_ok_and(|there| there.is_file()) {
        return Ok(if is_workload(&Trace::begin(path).map_err(wrong)?) {
            Opened::Workload(files::read_lossy(path)?)
        } else {
            Opened::Trace(Trace::open(path).map_err(wrong)?)
        });
    }
    // What comes out of a pipe comes once.
    let bytes = schedlab_lab::compressed::read(path, schedlab_lab::compressed::LIMIT)
        .map_err(|error| format!("{file}: {error}"))?;
    if is_workload(&bytes) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        return Ok(Opened::Workload(Source { file, text }));
    }
    Ok(Opened::Trace(Trace::of_bytes(bytes).map_err(wrong)?))
}

/// Whether this is the beginning of a workload: JSON, or a comment before it. A trace may be JSON
/// of another kind.
fn is_workload(begin: &[u8]) -> bool {
    let text = begin.trim_ascii_start();
    let begins = matches!(text.first(), Some(b'{' | b'/'));
    let text = &text[..text.len().min(1 << 16)];
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    let is_trace = has(b"\"traceEvents\"") || has(b"\"systemTraceEvents\"");
    // An empty file is told of as a workload is.
    (begins && !is_trace) || text.is_empty()
}

/// Warns of what is wrong with a trace.
pub fn tell_problems(file: &str, reading: &Reading) {
    for sentence in reading.problems.sentences() {
        complain(&format!("warning: {file}: {sentence}"));
    }
}

/// A sink that is kept when the run that fills it goes wrong.
struct Shared<'a, S>(&'a mut S);

impl<S: Sink> Sink for Shared<'_, S> {
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
