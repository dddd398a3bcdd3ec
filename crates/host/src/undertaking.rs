//! A measurement as a whole, in the parent process: what is asked is checked, groups are made, the
//! runner is started again and again until enough repetitions were quiet, and all of it tidied up.

use crate::facts::{Facts, format_cpus};
use crate::groups::{Home, Made};
use crate::job::{Answer, Groups, Job, JobTask, Measured, Run};
use crate::measure::Costs;
use crate::noise::Noise;
use crate::probe::{self, Probe};
use crate::refusals::{self, Refusal};
use crate::runner::{self, ENDLESS_NS};
use crate::tick::Tick;
use schedlab_core::Policy;
use schedlab_workload::model::{Action, Loops, Model};
use schedlab_workload::{GroupPlan, GroupSettings, Start, Target, rt_app};
use std::ffi::OsString;
use std::fmt;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// CPU numbers that workloads may name; which of them there are is looked at later.
const CPUS_MAX: u32 = 4096;
/// Longer than a run a runner may not take, ns.
const PATIENCE_NS: u64 = 20_000_000_000;
/// Between two repetitions.
const PAUSE: Duration = Duration::from_millis(300);
/// How long the load is looked at before a run.
const LOOK: Duration = Duration::from_millis(200);
/// Load of others above which is warned, a share of the CPUs.
const LOAD: f64 = 0.2;
/// Gaps of so many times the tick's are time without a CPU, where nothing better is known.
const GAPS: u64 = 3;
/// The same where the tick was not seen, ns.
const GAP_NS: u64 = 150_000;

/// Where the group of all threads is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GroupChoice {
    /// Where this process is, if that is permitted.
    #[default]
    Auto,
    /// Nowhere.
    None,
    /// In this directory of a hierarchy.
    At(PathBuf),
}

/// How a workload is to be measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// CPUs of tasks that name none; none: all that may be used.
    pub cpus: Option<Vec<u32>>,
    /// Quiet repetitions that are wanted.
    pub runs: u32,
    /// When a run ends, ns; none: as the workload says.
    pub duration_ns: Option<u64>,
    /// How threads begin.
    pub start: Start,
    /// From which share of foreign CPU time on a repetition is thrown away.
    pub noise_limit: f64,
    /// Repetitions at most; none: three times as many as are wanted.
    pub tries: Option<u32>,
    /// Where groups are made.
    pub group: GroupChoice,
    /// Whether switches are recorded.
    pub records: bool,
    /// Whether everybody's switches are recorded, in a repetition of its own.
    pub records_all: bool,
    /// Whether what cannot be done is left out.
    pub leave_out: bool,
    /// What holds in the workload's groups.
    pub settings: GroupSettings,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cpus: None,
            runs: 5,
            duration_ns: None,
            start: Start::Wake,
            noise_limit: 0.02,
            tries: None,
            group: GroupChoice::Auto,
            records: true,
            records_all: false,
            leave_out: false,
            settings: GroupSettings::default(),
        }
    }
}

/// How the runner is started: this program, with arguments that make it call [`runner::run`].
#[derive(Clone, Debug)]
pub struct Runner {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Why there is no measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// What was asked for cannot be done, and why.
    Refused(String),
    /// Somebody ended it.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(why) => f.write_str(why),
            Error::Interrupted => f.write_str("interrupted; nothing is left behind"),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(why: String) -> Error {
        Error::Refused(why)
    }
}

/// A workload that can be measured.
#[derive(Debug)]
pub struct Prepared {
    /// What the file is called.
    pub name: String,
    text: String,
    /// The workload without what is left out, and with the run's duration.
    pub model: Model,
    /// Its groups.
    pub groups: GroupPlan,
    /// What is permitted.
    pub probe: Probe,
    /// CPUs of tasks that name none.
    pub cpus: Vec<u32>,
    /// What was left out, and why.
    pub left_out: Vec<Refusal>,
    /// What is done otherwise than the file may make expect.
    pub notes: Vec<String>,
    /// How it is measured.
    pub options: Options,
}

/// A repetition.
#[derive(Clone, PartialEq, Debug)]
pub struct Repetition {
    /// What came of it.
    pub measured: Measured,
    /// Whether it was quiet enough.
    pub is_quiet: bool,
}

/// What was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// All repetitions, in the order in which they were made.
    pub repetitions: Vec<Repetition>,
    /// Whether as many as were wanted are quiet.
    pub is_quiet: bool,
    /// A repetition in which everybody's switches were recorded. Its figures do not count:
    /// recording costs time.
    pub traced: Option<Measured>,
    /// The tick, if it was found.
    pub tick: Option<Tick>,
    /// Whether all threads were in a group of great weight.
    pub heavy: bool,
    /// What real-time tasks in that had of each second, us.
    pub rt_runtime_us: Option<u64>,
}

/// A name within a line of a table: with what would end the line spelled out.
pub(crate) fn in_line(name: &str) -> String {
    let spell = |char: char| match char.is_control() {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    name.chars().map(spell).collect()
}

/// What a group choice comes to.
fn home(choice: &GroupChoice) -> Result<Option<Home>, String> {
    match choice {
        GroupChoice::Auto => Ok(Home::of_this_process()),
        GroupChoice::None => Ok(None),
        GroupChoice::At(directory) => Home::named(directory).map(Some),
    }
}

/// Tries what is permitted, with groups where `choice` says.
///
/// # Errors
/// The directory that was named is no group.
pub fn probe(choice: &GroupChoice) -> Result<Probe, String> {
    let mut probe = Probe::new(home(choice)?);
    if *choice == GroupChoice::None {
        probe.group = probe::Answer::no(refusals::NO_GROUP);
        probe.group_realtime = probe::Answer::no(refusals::NO_GROUP);
    }
    if let (GroupChoice::At(directory), false) = (choice, probe.group.yes) {
        return Err(format!("--group {}: {}", directory.display(), probe.group.how));
    }
    Ok(probe)
}

impl Prepared {
    /// Checks a workload file against what is permitted.
    ///
    /// # Errors
    /// What is wrong with the file, or cannot be done: all of it.
    pub fn new(name: &str, text: &str, probe: Probe, options: Options) -> Result<Prepared, String> {
        let limited = options.duration_ns.is_some();
        let target = Target { cpus: CPUS_MAX, limited };
        let mut model = rt_app::load(name, text, &target).map_err(|error| error.to_string())?;
        let cpus = cpus(options.cpus.as_deref(), &probe)?;
        if options.runs == 0 {
            return Err("--runs 0 measures nothing; give at least 1".into());
        }
        if let Some(tries) = options.tries.filter(|&tries| tries < options.runs) {
            return Err(format!(
                "--tries {tries}: so few runs cannot be {} quiet ones (--runs); give at least {}",
                options.runs, options.runs
            ));
        }
        let refused = refusals::refusals(&model, &probe, &cpus);
        let mut left_out = vec![];
        if !refused.is_empty() {
            if !options.leave_out {
                let all: Vec<String> = refused.iter().map(ToString::to_string).collect();
                return Err(all.join("\n"));
            }
            model.tasks.retain(|task| refused.iter().all(|refusal| refusal.task != task.key));
            left_out = refused;
            if model.initial_threads() == 0 {
                let all: Vec<String> = left_out.iter().map(ToString::to_string).collect();
                return Err(format!("nothing is left of {name}:\n{}", all.join("\n")));
            }
            rt_app::check(&model, &target)
                .map_err(|error| format!("without what is left out: {error}"))?;
        }
        if let Some(ns) = options.duration_ns {
            model.global.duration_ns = Some(ns);
        }
        begins(name, &model)?;
        if model.initial_threads() > crate::thread::THREADS_MAX {
            return Err(format!(
                "{name} begins with {} threads; a host runs at most {}",
                model.initial_threads(),
                crate::thread::THREADS_MAX
            ));
        }
        let groups = GroupPlan::new(&options.settings, &model.group_paths(), CPUS_MAX)
            .map_err(|error| error.to_string())?;
        check_groups(&groups, &probe)?;
        if options.records_all && !probe.switches_of_all.yes {
            return Err(format!(
                "--trace all: everybody's switches may not be recorded: {}; permit it with `sudo \
                 setcap cap_perfmon+ep` on the program, run it as root, or take --trace own",
                probe.switches_of_all.how
            ));
        }
        let notes = notes(&model, &groups, &probe, &options);
        let (name, text) = (name.to_string(), text.to_string());
        Ok(Prepared { name, text, model, groups, probe, cpus, left_out, notes, options })
    }

    /// Repetitions at most.
    pub fn tries(&self) -> u32 {
        self.options.tries.unwrap_or(self.options.runs.saturating_mul(3))
    }

    fn has_realtime(&self) -> bool {
        self.model.policies().iter().any(|policy| policy.is_realtime())
    }

    /// Paths of groups in which real-time tasks are or may come to be.
    fn realtime_groups(&self) -> Vec<String> {
        let default = self.model.global.default_policy;
        let mut paths = vec![];
        for task in &self.model.tasks {
            let all = || {
                std::iter::once(&task.properties).chain(task.phases.iter().map(|p| &p.properties))
            };
            let realtime = all().any(|said| said.policy.unwrap_or(default).is_realtime());
            if realtime {
                let named = all().filter_map(|said| said.taskgroup.clone());
                paths.extend(named.filter(|path| !path.is_empty()));
            }
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// What would be set, line by line.
    pub fn describe(&self) -> String {
        let mut lines = vec![];
        let facts = &self.probe.facts;
        let options = &self.options;
        let length = match self.model.global.duration_ns {
            Some(ns) => format!("{} s", ns as f64 / 1e9),
            None => "until its tasks have ended".into(),
        };
        lines.push(format!(
            "{} under Linux {}, on CPUs {}, {length}, {} quiet runs of at most {} (noise up to {} \
             %), threads begin by {}",
            self.name,
            facts.release,
            format_cpus(&self.cpus),
            options.runs,
            self.tries(),
            options.noise_limit * 100.0,
            match options.start {
                Start::Wake => "waking",
                Start::Fork => "being made",
            }
        ));
        lines.push(match &self.probe.home {
            Some(home) => {
                format!("all threads in a group of great weight below {}", home.directory.display())
            }
            None => format!("no group of great weight: {}", self.probe.group.how),
        });
        for group in self.groups.groups() {
            let mut line = format!("group {}: shares {}", in_line(&group.path), group.shares);
            if let Some(quota_us) = group.quota.quota_us {
                line.push_str(&format!(", {quota_us} us of each {} us", group.quota.period_us));
            }
            if group.idle {
                line.push_str(", idle");
            }
            lines.push(line);
        }
        lines.push(match (self.options.records, self.probe.switches.yes) {
            (true, true) => "switches are recorded by the kernel".into(),
            (false, _) => "switches are not recorded: --trace none".into(),
            (true, false) => format!("switches are not recorded: {}", self.probe.switches.how),
        });
        for task in &self.model.tasks {
            let properties = &task.properties;
            let policy = properties.policy.unwrap_or(self.model.global.default_policy);
            let mut line = format!(
                "task {}: {} threads, {}",
                in_line(&task.key),
                task.instances,
                policy.name()
            );
            let mut say = |what: &str, value: Option<String>| {
                if let Some(value) = value {
                    line.push_str(&format!(", {what} {value}"));
                }
            };
            say("priority", properties.priority.map(|priority| priority.to_string()));
            say("slice", properties.slice_us.map(|us| format!("{us} us")));
            say("dl-runtime", properties.dl_runtime_us.map(|us| format!("{us} us")));
            say("CPUs", properties.cpus.as_deref().map(format_cpus));
            let group = properties.taskgroup.as_deref().filter(|path| !path.is_empty());
            say("group", group.map(in_line));
            say("from", (task.delay_ns > 0).then(|| format!("{} s", task.delay_ns as f64 / 1e9)));
            lines.push(line);
        }
        lines.extend(self.left_out.iter().map(|refusal| format!("left out: {refusal}")));
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines.join("\n") + "\n"
    }

    /// Measures. `say` hears of warnings and of each repetition; `interrupted` ends it.
    ///
    /// # Errors
    /// What went wrong; nothing is left behind.
    pub fn run(
        &self,
        runner: &Runner,
        interrupted: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Outcome, Error> {
        let accounts = self.probe.accounts.for_cpus(&self.cpus, &self.probe.facts);
        for warning in self.warnings(&accounts)? {
            say(&format!("warning: {warning}"));
        }
        let made = match &self.probe.home {
            Some(home) => {
                let mut made = Made::new(home, self.has_realtime())?;
                made.add(self.groups.groups(), &self.realtime_groups())?;
                Some(made)
            }
            None => None,
        };
        let groups = groups_of(made.as_ref(), self.probe.home.as_ref(), &self.groups);
        let start = |task, length_ns: u64| {
            let job = Job {
                parent: std::process::id(),
                guard_s: length_ns / 1_000_000_000 + 10,
                groups: groups.clone(),
                task,
            };
            ask(runner, &job, length_ns + PATIENCE_NS, interrupted)
        };
        let hz = self.probe.facts.hz.as_ref().map(|(hz, _)| *hz);
        let tick = match start(JobTask::Tick { cpus: self.cpus.clone(), hz }, 0)? {
            Answer::Tick(tick) => tick,
            other => return Err(unexpected(&other)),
        };
        let run = Run {
            name: self.name.clone(),
            text: self.text.clone(),
            without: self.left_out.iter().map(|refusal| refusal.task.clone()).collect(),
            machine_cpus: CPUS_MAX,
            cpus: self.cpus.clone(),
            duration_ns: self.model.global.duration_ns,
            start: self.options.start,
            records: self.options.records && self.probe.switches.yes,
            records_all: false,
            gap_ns: tick.map_or(GAP_NS, |tick| GAPS * tick.gap_p99_ns),
            accounts,
        };
        let length_ns = run.duration_ns.unwrap_or(ENDLESS_NS);
        let mut repetitions: Vec<Repetition> = vec![];
        let quiet = |all: &[Repetition]| all.iter().filter(|one| one.is_quiet).count() as u32;
        while quiet(&repetitions) < self.options.runs && (repetitions.len() as u32) < self.tries() {
            if !repetitions.is_empty() {
                std::thread::sleep(PAUSE);
            }
            match start(JobTask::Run(run.clone()), length_ns)? {
                Answer::Measured(measured) => {
                    let is_quiet = measured.noise.is_quiet(self.options.noise_limit);
                    let Noise { foreign, steal } = measured.noise;
                    say(&format!(
                        "run {}: others had {:.2} % of the CPUs, steal {:.2} %{}",
                        repetitions.len() + 1,
                        foreign * 100.0,
                        steal * 100.0,
                        if is_quiet { "" } else { ": thrown away" }
                    ));
                    repetitions.push(Repetition { measured, is_quiet });
                }
                other => return Err(unexpected(&other)),
            }
        }
        let traced = match self.options.records_all {
            true => {
                std::thread::sleep(PAUSE);
                let run = Run { records_all: true, ..run };
                match start(JobTask::Run(run), length_ns)? {
                    Answer::Measured(measured) => Some(measured),
                    other => return Err(unexpected(&other)),
                }
            }
            false => None,
        };
        Ok(Outcome {
            traced,
            is_quiet: quiet(&repetitions) >= self.options.runs,
            repetitions,
            tick,
            heavy: made.is_some(),
            rt_runtime_us: made.as_ref().and_then(|made| made.rt_runtime_us),
        })
    }

    /// What will disturb a run, as far as a look beforehand shows.
    fn warnings(&self, accounts: &crate::job::Accounts) -> Result<Vec<String>, String> {
        let before = runner::read(accounts, &self.cpus)?;
        std::thread::sleep(LOOK);
        let after = runner::read(accounts, &self.cpus)?;
        let load = Noise::between(before, after, 0, self.cpus.len());
        Ok(warnings(&self.probe.facts, load, &self.cpus, &self.model, self.probe.home.is_some()))
    }
}

/// What will disturb a run of `model`, with the load of others beforehand.
pub fn warnings(
    facts: &Facts,
    load: Noise,
    cpus: &[u32],
    model: &Model,
    heavy: bool,
) -> Vec<String> {
    let mut found = vec![];
    if load.foreign > LOAD {
        let remedy = if heavy { "" } else { ", and there is no group of great weight against it" };
        found.push(format!(
            "others have {:.0} % of CPUs {} now{remedy}",
            load.foreign * 100.0,
            format_cpus(cpus)
        ));
    }
    if load.steal > 0.0 {
        found.push(format!("the hypervisor gives {:.0} % to others now", load.steal * 100.0));
    }
    let other: Vec<&str> =
        facts.governors.iter().map(String::as_str).filter(|one| *one != "performance").collect();
    if !other.is_empty() {
        found.push(format!(
            "frequencies follow the governor {}; `performance` keeps them steady",
            other.join(", ")
        ));
    }
    if facts.on_battery {
        found.push("this machine runs on its battery".into());
    }
    let busy = hogs(model);
    if busy < cpus.len() {
        found.push(format!(
            "{busy} threads compute all the time, on {} CPUs: others will fill those that idle",
            cpus.len()
        ));
    }
    found
}

/// Threads that never block: their last phase, or all of them, goes on for ever and only computes.
fn hogs(model: &Model) -> usize {
    let computes = |action: &Action| {
        matches!(
            action,
            Action::Run(_)
                | Action::Runtime(_)
                | Action::Mem(_)
                | Action::MemRun(_)
                | Action::Yield
        )
    };
    let is_hog = |task: &&schedlab_workload::model::Task| {
        let endless: Vec<_> = match task.phases.iter().find(|p| p.loops == Loops::Forever) {
            Some(phase) => vec![phase],
            None if task.loops == Loops::Forever => task.phases.iter().collect(),
            None => return false,
        };
        endless.iter().flat_map(|phase| &phase.events).all(|event| computes(&event.action))
    };
    model.tasks.iter().filter(is_hog).map(|task| task.instances as usize).sum()
}

/// The CPUs that `--cpus` names, or all that this process may use.
///
/// # Errors
/// One is not on line or may not be used, or it names none.
pub fn cpus(wanted: Option<&[u32]>, probe: &Probe) -> Result<Vec<u32>, String> {
    let Some(wanted) = wanted else {
        return Ok(probe.allowed.clone());
    };
    for cpu in wanted {
        if !probe.facts.cpus.contains(cpu) {
            return Err(format!(
                "--cpus: CPU {cpu} is not on line; this machine has {}",
                format_cpus(&probe.facts.cpus)
            ));
        }
        if !probe.allowed.contains(cpu) {
            return Err(format!(
                "--cpus: CPU {cpu} may not be used; this process may use {}",
                format_cpus(&probe.allowed)
            ));
        }
    }
    match wanted.is_empty() {
        true => Err("--cpus names no CPU".into()),
        false => Ok(wanted.to_vec()),
    }
}

/// That anything runs at all.
fn begins(name: &str, model: &Model) -> Result<(), String> {
    let end_ns = model.global.duration_ns.unwrap_or(u64::MAX);
    if end_ns == 0 {
        return Err(format!("{name}: a run of 0 s measures nothing; give it a longer duration"));
    }
    let begins =
        |task: &schedlab_workload::model::Task| task.instances > 0 && task.delay_ns < end_ns;
    match model.tasks.iter().any(begins) {
        true => Ok(()),
        false => Err(format!(
            "{name}: no thread begins: every task has `instance` 0, or a `delay` beyond the end of \
             the run; so there is nothing to measure"
        )),
    }
}

/// Settings of groups that are not made here.
fn check_groups(groups: &GroupPlan, probe: &Probe) -> Result<(), String> {
    for group in groups.groups() {
        if !probe.group.yes {
            return Err(format!(
                "the group `{}` cannot be made: {}; {}",
                group.path,
                probe.group.how,
                match &*probe.group.how {
                    refusals::NO_GROUP => "leave out --group none",
                    _ => "run it as root, or where control groups are delegated",
                }
            ));
        }
        if group.own_cpus.is_some() || group.own_frozen {
            let what = if group.own_frozen { "is frozen" } else { "has CPUs of its own" };
            return Err(format!(
                "the group `{}` {what}, which the host's groups are not made with; give its tasks \
                 `cpus`, or take that from its settings",
                group.path
            ));
        }
    }
    Ok(())
}

/// What is done otherwise than the file may make expect.
fn notes(model: &Model, groups: &GroupPlan, probe: &Probe, options: &Options) -> Vec<String> {
    let mut notes = rt_app::notes(model, model.global.duration_ns);
    let memory = |action: &Action| matches!(action, Action::Mem(_) | Action::MemRun(_));
    let mut events = model.tasks.iter().flat_map(|task| &task.phases).flat_map(|p| &p.events);
    if events.any(|event| memory(&event.action)) {
        notes.push(
            "`mem` and `memrun` use the CPU time that the simulator's cost model gives them, and no \
             memory"
                .into(),
        );
    }
    notes.extend(groups.notes().map(ToString::to_string));
    if !probe.group.yes && options.group != GroupChoice::None {
        notes.push(format!("there is no group of great weight: {}", probe.group.how));
    }
    if options.records && !probe.switches.yes {
        notes.push(format!(
            "switches cannot be recorded ({}); time without a CPU is told by gaps, and there are no \
             slices. kernel.perf_event_paranoid is {}; 2 or less permits it",
            probe.switches.how,
            probe.facts.perf_event_paranoid.map_or("unknown".into(), |now| now.to_string())
        ));
    }
    let endless = probe.facts.rt_runtime_us == Some(-1);
    if endless && model.policies().iter().any(|policy| policy.is_realtime()) {
        notes.push(
            "kernel.sched_rt_runtime_us is -1: real-time tasks may take everything; the kernel ends \
             them soon after the run's end at the latest"
                .into(),
        );
    }
    if model.policies().contains(&Policy::Deadline) {
        notes.push("deadline tasks are admitted by the kernel: their sum must fit".into());
    }
    notes
}

fn groups_of(made: Option<&Made>, home: Option<&Home>, plan: &GroupPlan) -> Groups {
    let (Some(made), Some(home)) = (made, home) else { return Groups::default() };
    Groups {
        attach: home.attach().into(),
        load: Some(made.load().to_path_buf()),
        paths: plan
            .groups()
            .iter()
            .map(|group| (group.path.clone(), made.directory(&group.path)))
            .collect(),
    }
}

fn unexpected(answer: &Answer) -> Error {
    match answer {
        Answer::Refused(why) => Error::Refused(why.clone()),
        _ => Error::Refused("the runner answered something else".into()),
    }
}

/// Measures what things cost, on CPUs that may be used, inside the group of great weight.
///
/// # Errors
/// What went wrong; nothing is left behind.
pub fn measure(
    probe: &Probe,
    cpus: &[u32],
    repetitions: u32,
    runner: &Runner,
    interrupted: &AtomicBool,
) -> Result<Costs, Error> {
    let made = match &probe.home {
        // Real-time tasks measure the timer's latency, where they may.
        Some(home) => Some(Made::new(home, probe.group_realtime.yes)?),
        None => None,
    };
    let groups = groups_of(made.as_ref(), probe.home.as_ref(), &GroupPlan::default());
    let task = JobTask::Measure { cpus: cpus.to_vec(), repetitions };
    let job = Job { parent: std::process::id(), guard_s: 300, groups, task };
    match ask(runner, &job, 300_000_000_000, interrupted)? {
        Answer::Costs(costs) => Ok(costs),
        other => Err(unexpected(&other)),
    }
}

/// A runner that is ended when nobody waits for it any more.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a runner, gives it the job, and waits for its answer.
fn ask(
    runner: &Runner,
    job: &Job,
    patience_ns: u64,
    interrupted: &AtomicBool,
) -> Result<Answer, Error> {
    let shown = runner.program.display();
    let child = Command::new(&runner.program)
        .args(&runner.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the runner ({shown}) cannot be started: {error}"))?;
    let mut child = Started(child);
    let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    if let Some(mut input) = child.0.stdin.take() {
        // If it is gone already, its end says why.
        let _ = input.write_all(text.as_bytes());
    }
    let (sender, answers) = mpsc::channel();
    if let Some(mut output) = child.0.stdout.take() {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = output.read_to_string(&mut text);
            let _ = sender.send(text);
        });
    }
    let begun = Instant::now();
    let text = loop {
        match answers.recv_timeout(Duration::from_millis(100)) {
            Ok(text) => break text,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if begun.elapsed() > Duration::from_nanos(patience_ns) {
            let s = patience_ns / 1_000_000_000;
            return Err(format!("the runner did not end within {s} s and was killed").into());
        }
    };
    if let Ok(answer) = serde_json::from_str(&text) {
        return Ok(answer);
    }
    let status = child.0.wait().map_err(|error| error.to_string())?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Err(ended(status).into())
}

/// How a runner ended that gave no answer.
fn ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(libc::SIGXCPU), _) => {
            "the kernel ended the runner: it used more CPU time than the run is long (RLIMIT_CPU, \
             RLIMIT_RTTIME)"
                .into()
        }
        (Some(libc::SIGKILL), _) => {
            "the runner was ended by signal 9: by somebody, for want of memory, or by a limit on CPU \
             time (`ulimit -t`)"
                .into()
        }
        (Some(libc::SIGABRT), _) => {
            "the runner was ended by signal 6, as when memory is short (`ulimit -v`)".into()
        }
        (Some(signal), _) => format!("the runner was ended by signal {signal}"),
        (None, code) => {
            format!("the runner ended with status {} and no answer", code.unwrap_or(-1))
        }
    }
}

/// This program as the runner, called with `arguments`.
///
/// # Errors
/// The system does not say which file this program is.
pub fn this_program(arguments: impl IntoIterator<Item = OsString>) -> Result<Runner, String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("which program this is cannot be found out: {error}"))?;
    // The file may have been replaced since; what runs is still there.
    let program =
        if program.exists() { program } else { Path::new("/proc/self/exe").to_path_buf() };
    Ok(Runner { program, arguments: arguments.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusals::tests::{root, user};

    const HOGS: &str = r#"{"global": {"duration": 1}, "tasks": {
        "H": {"loop": -1, "run": 1000}, "I": {"loop": -1, "run": 100, "sleep": 900},
        "R": {"policy": "SCHED_FIFO", "priority": 5, "loop": 3, "run": 10, "sleep": 5}}}"#;

    fn prepared(text: &str, probe: Probe, options: Options) -> Result<Prepared, String> {
        Prepared::new("a.json", text, probe, options)
    }

    #[test]
    fn what_is_refused_can_be_left_out() {
        let refused = prepared(HOGS, user(), Options::default()).unwrap_err();
        assert!(refused.contains("task `R`, `policy`"), "{refused}");
        let leave_out = Options { leave_out: true, ..Options::default() };
        let rest = prepared(HOGS, user(), leave_out.clone()).unwrap();
        let keys: Vec<&str> = rest.model.tasks.iter().map(|task| task.key.as_str()).collect();
        assert_eq!(keys, ["H", "I"]);
        assert!(rest.describe().contains("left out: task `R`"));
        let only = r#"{"tasks": {"R": {"policy": "SCHED_RR", "loop": 1, "run": 1}}}"#;
        let nothing = prepared(only, user(), leave_out.clone()).unwrap_err();
        assert!(nothing.contains("nothing is left"), "{nothing}");
        let missed = r#"{"tasks": {"R": {"policy": "SCHED_RR", "loop": 1, "run": 1},
            "A": {"loop": 1, "fork": "R"}}}"#;
        let broken = prepared(missed, user(), leave_out).unwrap_err();
        assert!(broken.contains("without what is left out"), "{broken}");
    }

    #[test]
    fn cpus_must_be_there_and_permitted() {
        let on = |cpus: &[u32]| Options { cpus: Some(cpus.to_vec()), ..Options::default() };
        let unknown = prepared(HOGS, root(), on(&[0, 9])).unwrap_err();
        assert!(unknown.contains("CPU 9 is not on line; this machine has 0-1"), "{unknown}");
        let bound = Probe { allowed: vec![0], ..root() };
        assert!(prepared(HOGS, bound, on(&[1])).unwrap_err().contains("may not be used"));
        assert_eq!(prepared(HOGS, root(), on(&[1])).unwrap().cpus, [1]);
    }

    #[test]
    fn endless_tasks_need_an_end() {
        let endless = r#"{"tasks": {"H": {"loop": -1, "run": 1000}}}"#;
        assert!(prepared(endless, root(), Options::default()).is_err());
        let options = Options { duration_ns: Some(500_000_000), ..Options::default() };
        let with = prepared(endless, root(), options).unwrap();
        assert_eq!(with.model.global.duration_ns, Some(500_000_000));
    }

    #[test]
    fn tries_are_three_times_the_runs_if_nobody_says_otherwise() {
        let of = |runs, tries| {
            let options = Options { runs, tries, ..Options::default() };
            prepared(HOGS, root(), options).map(|prepared| prepared.tries())
        };
        assert_eq!((of(5, None), of(5, Some(7)), of(5, Some(5))), (Ok(15), Ok(7), Ok(5)));
        let few = of(5, Some(4)).unwrap_err();
        assert!(few.contains("--tries 4") && few.contains("give at least 5"), "{few}");
        assert!(prepared(HOGS, root(), Options { runs: 0, ..Options::default() }).is_err());
    }

    #[test]
    fn a_run_in_which_nothing_happens_is_refused() {
        let said = |text: &str, duration_ns| {
            let options = Options { duration_ns, ..Options::default() };
            prepared(text, root(), options).unwrap_err()
        };
        assert!(said(HOGS, Some(0)).contains("a run of 0 s"));
        let none = r#"{"tasks": {"N": {"instance": 0, "loop": 1, "run": 10}}}"#;
        assert!(said(none, None).contains("a.json: no thread begins"), "{}", said(none, None));
        let late = r#"{"tasks": {"L": {"delay": 2000000, "loop": 1, "run": 10}}}"#;
        assert!(said(late, Some(1_000_000_000)).contains("no thread begins"));
        assert!(prepared(late, root(), Options::default()).is_ok());
    }

    #[test]
    fn what_will_disturb_is_said_before() {
        let with = prepared(HOGS, root(), Options::default()).unwrap();
        let said = |facts: &Facts, foreign, cpus: &[u32]| {
            warnings(facts, Noise { foreign, steal: 0.0 }, cpus, &with.model, true).join("\n")
        };
        let mut facts = with.probe.facts.clone();
        assert_eq!(said(&facts, 0.2, &[0]), "");
        assert!(said(&facts, 0.21, &[0]).contains("others have 21 %"));
        assert!(said(&facts, 0.0, &[0, 1]).contains("1 threads compute all the time, on 2 CPUs"));
        facts.governors = vec!["powersave".into()];
        facts.on_battery = true;
        let both = said(&facts, 0.0, &[0]);
        assert!(both.contains("powersave") && both.contains("battery"), "{both}");
    }

    #[test]
    fn a_runner_that_gives_no_answer_is_told_of() {
        let never = AtomicBool::new(false);
        let job = Job {
            parent: 0,
            guard_s: 1,
            groups: Groups::default(),
            task: JobTask::Tick { cpus: vec![0], hz: None },
        };
        let shell = |command: &str| Runner {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), command.into()],
        };
        let said = |command, patience| match ask(&shell(command), &job, patience, &never) {
            Err(error) => error.to_string(),
            Ok(answer) => panic!("{answer:?}"),
        };
        assert!(said("kill -9 $$", u64::MAX).contains("signal 9"));
        assert!(said("exit 3", u64::MAX).contains("status 3"));
        assert!(said("exec sleep 60", 1).contains("did not end"));
        let now = AtomicBool::new(true);
        let ended = ask(&shell("exec sleep 60"), &job, u64::MAX, &now);
        assert_eq!(ended, Err(Error::Interrupted));
        let missing = Runner { program: "/nonexistent".into(), arguments: vec![] };
        assert!(ask(&missing, &job, 1, &never).is_err());
    }
}
