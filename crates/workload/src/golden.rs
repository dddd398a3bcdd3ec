//! Golden schedules (`golden-schedule/1`): what the scheduler of a real kernel did with a small
//! workload, together with the workload.
//!
//! The workload is a subset of rt-app's language and uses the same reader and compiler. Two things
//! differ in all golden files: `resume` names a thread (`B-0`), and a resume that comes while that
//! thread is not suspended is remembered. Differences between the files of different schedulers are
//! specified by the file in `machine.conventions` or, if it is missing, by the caller, with
//! [`Conventions`].

mod actions;

pub use actions::{GoldenAction, GoldenChange};

use crate::cursor::Cursor;
use crate::diagnostic::{Diagnostic, Source, did_you_mean};
use crate::group_path::normal_path;
use crate::json;
use crate::model::Model;
use crate::programs::{AddressSpaces, Conventions, Kernel};
use crate::rt_app::{self, Dialect, Options, Target, key_and_instance};
use crate::timetable::Timetable;

use schedlab_core::{CpuId, GroupId, Quota, TaskId, Topology};
use schedlab_machine::description;
use std::collections::{HashMap, HashSet};

/// A golden file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoldenFile {
    /// Release whose scheduler source was run.
    pub kernel: String,
    /// Short name of the policy.
    pub scheduler: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// Topology of the CPUs; `None`: flat.
    pub topology: Option<Topology>,
    /// `machine.group_scheduling`: whether the kernel was built with group scheduling. `None`:
    /// unspecified.
    pub group_scheduling: Option<bool>,
    /// `machine.reap`: whether dead tasks are reaped at once. Otherwise they stay zombies.
    pub reap: bool,
    /// Whether `machine.address_space` is `per-key`: the threads of one task share an address
    /// space. Otherwise no threads share one.
    pub address_space_per_key: bool,
    /// `machine.conventions`: how the workload was run; `None`: unspecified.
    pub conventions: Option<Conventions>,
    /// Settings of the kernel's build and of its clocks, by the names of the tunables with which
    /// schedulers take them: `clock_ns` and `jiffies` (at time 0), `preempt` (as in
    /// [`PREEMPTION`]), `futex` (1: `suspend` is a wait for a futex), `start_fork` (1: the kernel
    /// itself chooses the CPU of a task that starts).
    pub settings: Vec<(String, i64)>,
    /// Tunables by the kernel's own names, in the order written.
    pub tunables: Vec<(String, i64)>,
    /// Task groups in the order written, each after its ancestors.
    pub groups: Vec<GoldenGroup>,
    /// The workload.
    pub model: Model,
    /// Names of the threads: the initial threads in the order of their numbers, then the forked
    /// ones, in the order in which the file first names them.
    pub threads: Vec<String>,
    /// Actions from outside, in order of time.
    pub actions: Vec<GoldenAction>,
    /// The same actions, in the language of timetables.
    pub timetable: Timetable,
    /// Slices by start, then CPU.
    pub slices: Vec<GoldenSlice>,
    /// Figures of each thread, if the file has them.
    pub figures: Vec<GoldenFigures>,
    /// End of the run, ns.
    pub end_ns: u64,
    /// Notes for reproducing it.
    pub notes: String,
    /// Positions in the file, for messages.
    places: Places,
}

/// Positions in a golden file, as messages that still lack their text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Places {
    kernel: Diagnostic,
    scheduler: Diagnostic,
    cpus: Diagnostic,
    hz: Diagnostic,
}

/// A key of a golden file for which errors can be reported after the file has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The `kernel`.
    Kernel,
    /// The `scheduler`.
    Scheduler,
    /// `machine.cpus`.
    Cpus,
    /// `machine.hz`.
    Hz,
}

/// A task group of a golden file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoldenGroup {
    /// Path.
    pub path: String,
    /// Its parent, by index in [`GoldenFile::groups`]; `None`: the root.
    pub parent: Option<usize>,
    /// Weight as `cpu.shares`.
    pub shares: u64,
    /// Whether the group as a whole is idle.
    pub idle: bool,
    /// Limit from the beginning on.
    pub quota: Option<Quota>,
}

/// Period in which a task had a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoldenSlice {
    /// CPU.
    pub cpu: CpuId,
    /// Start, ns.
    pub start_ns: u64,
    /// End, ns.
    pub end_ns: u64,
    /// Task.
    pub task: TaskId,
}

/// Figures of a thread in a golden file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoldenFigures {
    /// Task.
    pub task: TaskId,
    /// CPU time, ns.
    pub runtime_ns: u64,
    /// Number of switches to it.
    pub switches_in: u64,
    /// Number of wakeups.
    pub wakeups: u64,
    /// Number of changes of CPU.
    pub migrations: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// Longest such time, ns.
    pub max_wait_ns: u64,
}

const FORMAT: &str = "golden-schedule/1";

const KEYS: [&str; 13] = [
    "format",
    "kernel",
    "scheduler",
    "machine",
    "tunables",
    "groups",
    "scenario",
    "actions",
    "timetable",
    "slices",
    "tasks",
    "end_ns",
    "notes",
];

impl GoldenFile {
    /// Reads a golden file. `name` names it in messages.
    ///
    /// # Errors
    /// The first error in it.
    pub fn parse(name: &str, text: &str) -> Result<GoldenFile, Diagnostic> {
        let source = Source { name, text };
        let value = json::parse(source)?;
        let root = Cursor::root(source, &value);
        let format = take(root, "format", owned)?;
        if format != FORMAT {
            return Err(root
                .error(format!("the file's format is `{format}`"))
                .with_help(format!("a golden schedule has the format `{FORMAT}`")));
        }
        known(root, &KEYS)?;
        let place = |cursor: Cursor<'_>| Ok(cursor.error(""));
        let places = Places {
            kernel: take(root, "kernel", place)?,
            scheduler: take(root, "scheduler", place)?,
            cpus: take(root, "machine", |machine| take(machine, "cpus", place))?,
            hz: take(root, "machine", |machine| take(machine, "hz", place))?,
        };
        let Machine {
            cpus,
            hz,
            topology,
            group_scheduling,
            reap,
            address_space_per_key,
            conventions,
            settings,
        } = take(root, "machine", machine)?;
        let target = Target { cpus, limited: true };
        let groups = take_if(root, "groups", groups)?.unwrap_or_default();
        let model = take(root, "scenario", |scenario| {
            let model = rt_app::load_value(scenario, Dialect::Golden, &target)?;
            check_groups(scenario, &model, &groups)?;
            Ok(model)
        })?;
        let mut threads = ThreadNames::of(&model);
        let actions =
            take_if(root, "actions", |list| actions::read(list, cpus, &groups, &mut threads))?
                .unwrap_or_default();
        let timetable = take_if(root, "timetable", actions::lines)?.unwrap_or_default();
        let timetable = Timetable::parse(&format!("{name}, `timetable`"), &timetable)?;
        if !actions.is_empty() && !timetable.is_empty() {
            return Err(
                root.error("`actions` and `timetable` exclude each other; give one of them")
            );
        }
        let slices = take(root, "slices", |slices| read_slices(slices, cpus, &mut threads))?;
        let figures = take_if(root, "tasks", |tasks| read_figures(tasks, &mut threads))?;
        Ok(GoldenFile {
            kernel: take(root, "kernel", owned)?,
            scheduler: take(root, "scheduler", owned)?,
            cpus,
            hz,
            topology,
            group_scheduling,
            reap,
            address_space_per_key,
            conventions,
            settings,
            tunables: take_if(root, "tunables", tunables)?.unwrap_or_default(),
            groups,
            slices,
            figures: figures.unwrap_or_default(),
            end_ns: take(root, "end_ns", ns)?,
            notes: take_if(root, "notes", owned)?.unwrap_or_default(),
            model,
            threads: threads.names,
            actions,
            timetable,
            places,
        })
    }

    /// Returns an error with `message` at `place`.
    pub fn error_at(&self, place: Place, message: impl Into<String>) -> Diagnostic {
        let Places { kernel, scheduler, cpus, hz } = &self.places;
        let at = match place {
            Place::Kernel => kernel,
            Place::Scheduler => scheduler,
            Place::Cpus => cpus,
            Place::Hz => hz,
        };
        at.clone().with_message(message)
    }

    /// Returns the workload, ready to run. `group_ids` are the scheduler's numbers of
    /// [`groups`](GoldenFile::groups), in that order. The file determines the address spaces,
    /// whatever `conventions` states.
    ///
    /// # Errors
    /// If the number of `group_ids` differs from the number of groups.
    pub fn workload(
        &self,
        group_ids: &[GroupId],
        conventions: Conventions,
    ) -> Result<Kernel, Diagnostic> {
        if group_ids.len() != self.groups.len() {
            let message = format!("{} group ids for {} groups", group_ids.len(), self.groups.len());
            return Err(Diagnostic::without_source(&self.model.name, "groups", message));
        }
        let id_of = |path: &String| self.groups.iter().position(|group| group.path == *path);
        let paths = self.model.group_paths();
        let options = Options {
            group_ids: paths.iter().filter_map(id_of).map(|at| group_ids[at]).collect(),
            conventions: Conventions {
                address_spaces: if self.address_space_per_key {
                    AddressSpaces::PerTask
                } else {
                    AddressSpaces::PerThread
                },
                forks_inherit: true,
                ..conventions
            },
            ..Options::default()
        };
        let target = Target { cpus: self.cpus, limited: true };
        rt_app::prepare_as(&self.model, Dialect::Golden, &target, options)
    }
}

/// Threads that a file may name, by their numbers.
struct ThreadNames {
    names: Vec<String>,
    numbers: HashMap<String, TaskId>,
    /// Keys of forked tasks, with the number of the first forked thread.
    forked: HashMap<String, u32>,
}

impl ThreadNames {
    fn of(model: &Model) -> ThreadNames {
        let first = |task: &crate::model::Task| {
            (0..task.instances)
                .map(|instance| format!("{}-{instance}", task.key))
                .collect::<Vec<_>>()
        };
        let names: Vec<String> = model.tasks.iter().flat_map(first).collect();
        let numbers = names.iter().cloned().zip((0..).map(TaskId)).collect();
        let events = model.tasks.iter().flat_map(|task| &task.phases).flat_map(|p| &p.events);
        let forks: HashSet<&str> = events
            .filter_map(|event| match &event.action {
                crate::model::Action::Fork(key) | crate::model::Action::Thread(key) => {
                    Some(key.as_str())
                }
                _ => None,
            })
            .collect();
        let forked = model.tasks.iter().filter(|task| forks.contains(task.key.as_str()));
        let forked = forked.map(|task| (task.key.clone(), task.instances)).collect();
        ThreadNames { names, numbers, forked }
    }

    /// Returns the number of the thread `name`: an initial thread, or one that may be forked and
    /// gets its number here.
    fn find(&mut self, cursor: Cursor<'_>, name: &str) -> Result<TaskId, Diagnostic> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let is_child = key_and_instance(name).is_some_and(|(key, number)| {
            self.forked.get(key).is_some_and(|&first| number >= first)
        });
        if !is_child {
            return Err(cursor.error(format!("there is no thread `{name}`")));
        }
        let number = TaskId(self.names.len() as u32);
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }
}

/// Reads the member `key` of `object`, which is required.
fn take<'a, T>(
    object: Cursor<'a>,
    key: &str,
    read: impl FnOnce(Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    match take_if(object, key, read)? {
        Some(value) => Ok(value),
        None => Err(object.error(format!("`{key}` is missing"))),
    }
}

/// Reads the member `key` of `object`, if it exists.
fn take_if<'a, T>(
    object: Cursor<'a>,
    key: &str,
    read: impl FnOnce(Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<Option<T>, Diagnostic> {
    match object.find(key)? {
        Some(member) => read(object.member(member)).map(Some),
        None => Ok(None),
    }
}

/// Fails at the first key that is repeated.
fn once(object: Cursor<'_>) -> Result<(), Diagnostic> {
    let mut seen = HashSet::new();
    for member in object.object()? {
        if !seen.insert(&*member.key) {
            return Err(object
                .member(member)
                .key_error(format!("`{}` is repeated", member.key))
                .with_help("it is unclear which value is meant; remove one of them"));
        }
    }
    Ok(())
}

/// Fails at the first key that is not among `keys`, or that is repeated.
fn known(object: Cursor<'_>, keys: &[&'static str]) -> Result<(), Diagnostic> {
    once(object)?;
    for member in object.object()? {
        if !keys.contains(&&*member.key) {
            return Err(object
                .member(member)
                .key_error(format!("unknown key `{}`", member.key))
                .with_help_if(did_you_mean(&member.key, keys.iter().copied())));
        }
    }
    Ok(())
}

fn owned(cursor: Cursor<'_>) -> Result<String, Diagnostic> {
    cursor.string().map(String::from)
}

fn ns(cursor: Cursor<'_>) -> Result<u64, Diagnostic> {
    Ok(cursor.integer("a whole number of ns", 0..=i64::MAX)? as u64)
}

/// Machine that the file was made on.
struct Machine {
    cpus: u32,
    hz: u32,
    topology: Option<Topology>,
    group_scheduling: Option<bool>,
    reap: bool,
    address_space_per_key: bool,
    conventions: Option<Conventions>,
    settings: Vec<(String, i64)>,
}

const MACHINE_KEYS: [&str; 12] = [
    "cpus",
    "hz",
    "topology",
    "group_scheduling",
    "reap",
    "address_space",
    "conventions",
    "clock_ns",
    "jiffies",
    "preempt",
    "futex",
    "start",
];

/// Preemption models by their number in the tunable `preempt`.
pub const PREEMPTION: [&str; 4] = ["none", "voluntary", "full", "lazy"];

fn machine(machine: Cursor<'_>) -> Result<Machine, Diagnostic> {
    known(machine, &MACHINE_KEYS)?;
    let cpus = take(machine, "cpus", |cpus| cpus.small("a number of CPUs", 1..=4096))?;
    let hz = take(machine, "hz", |hz| hz.small("a number of ticks per second", 1..=10_000))?;
    let topology = take_if(machine, "topology", |value| topology(value, cpus))?.flatten();
    let per_key = take_if(machine, "address_space", |space| match space.string()? {
        "per-key" => Ok(true),
        other => Err(space.error(format!("unknown address space `{other}`"))),
    })?;
    let conventions = take_if(machine, "conventions", conventions)?;
    let mut settings = vec![];
    for key in ["clock_ns", "jiffies"] {
        let number = |value: Cursor<'_>| value.integer("a whole number", i64::MIN..=i64::MAX);
        settings.extend(take_if(machine, key, number)?.map(|value| (key.into(), value)));
    }
    let model = take_if(machine, "preempt", |value| {
        let name = value.string()?;
        let known = PREEMPTION.iter().position(|model| *model == name);
        known.ok_or_else(|| {
            let message = format!("unknown preemption model `{name}`");
            value.error(message).with_help(format!("one of {}", PREEMPTION.join(", ")))
        })
    })?;
    settings.extend(model.map(|number| ("preempt".into(), number as i64)));
    let futex = take_if(machine, "futex", actions::flag)?;
    settings.extend(futex.map(|on| ("futex".into(), on.into())));
    let start = take_if(machine, "start", |start| match start.string()? {
        "fork" => Ok(1),
        other => Err(start
            .error(format!("unknown rule of starts `{other}`"))
            .with_help("the rule is `fork`, or the key is left out")),
    })?;
    settings.extend(start.map(|value| ("start_fork".into(), value)));
    Ok(Machine {
        cpus,
        hz,
        topology,
        group_scheduling: take_if(machine, "group_scheduling", actions::flag)?,
        reap: take_if(machine, "reap", actions::flag)?.unwrap_or(false),
        address_space_per_key: per_key.unwrap_or(false),
        conventions,
        settings,
    })
}

/// `"flat"`, or an object in the format of the topology of machine descriptions.
fn topology(value: Cursor<'_>, cpus: u32) -> Result<Option<Topology>, Diagnostic> {
    if let Ok(name) = value.string() {
        return match name {
            "flat" => Ok(None),
            other => Err(value.error(format!("unknown topology `{other}`"))),
        };
    }
    value.object()?;
    let topology = description::parse_topology(value.text())
        .map_err(|(place, message)| value.error(format!("{place}: {message}")))?;
    if topology.cpus() != cpus {
        let message = format!("the topology has {} CPUs, the machine {cpus}", topology.cpus());
        return Err(value.error(message));
    }
    Ok(Some(topology))
}

/// Reads a list of the conventions that are on. The others are off.
fn conventions(list: Cursor<'_>) -> Result<Conventions, Diagnostic> {
    let mut conventions = Conventions::default();
    for item in list.array()? {
        let name = list.item(item);
        conventions.set(name.string()?).map_err(|names| {
            name.error(format!("unknown convention; the conventions are {}", names.join(", ")))
        })?;
    }
    Ok(conventions)
}

/// Boot parameters whose values are words, with the words by their number in the tunable.
const WORDS: [(&str, &[&str]); 1] = [("rqshare", &["none", "smt", "mc", "llc", "smp", "all"])];

fn tunables(tunables: Cursor<'_>) -> Result<Vec<(String, i64)>, Diagnostic> {
    once(tunables)?;
    let members = tunables.object()?.iter();
    members
        .map(|member| {
            let value = tunables.member(member);
            Ok((value.key().into(), tunable_value(value)?))
        })
        .collect()
}

fn tunable_value(value: Cursor<'_>) -> Result<i64, Diagnostic> {
    let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == value.key()) else {
        return value.integer("a whole number", i64::MIN..=i64::MAX);
    };
    let word = value.string()?;
    let number = words.iter().position(|known| *known == word).ok_or_else(|| {
        value
            .error(format!("`{}` has no value `{word}`", value.key()))
            .with_help(format!("one of {}", words.join(", ")))
    })?;
    Ok(number as i64)
}

fn groups(groups: Cursor<'_>) -> Result<Vec<GoldenGroup>, Diagnostic> {
    let mut list: Vec<GoldenGroup> = Vec::new();
    for member in groups.object()? {
        let group = groups.member(member);
        let path = normal_path(group.key()).map_err(|message| group.key_error(message))?;
        if path != group.key() || list.iter().any(|other| other.path == path) {
            return Err(group.key_error(format!("`{}` is not a new group", group.key())));
        }
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let parent = list.iter().position(|other| other.path == above);
        if parent.is_none() && !above.is_empty() {
            return Err(group.key_error(format!("the group `{above}` must come first")));
        }
        known(group, &["shares", "idle", "quota_us", "period_us", "burst_us"])?;
        let shares = take_if(group, "shares", |shares| shares.small("a weight", 0..=u32::MAX))?;
        let idle = take_if(group, "idle", actions::flag)?.unwrap_or(false);
        let quota = actions::quota(group)?;
        let shares = shares.map_or(1024, u64::from);
        list.push(GoldenGroup { parent, path, shares, idle, quota });
    }
    Ok(list)
}

fn check_groups(
    scenario: Cursor<'_>,
    model: &Model,
    groups: &[GoldenGroup],
) -> Result<(), Diagnostic> {
    match model.group_paths().iter().find(|path| groups.iter().all(|group| group.path != **path)) {
        None => Ok(()),
        Some(path) => {
            Err(scenario
                .key_error(format!("a task is in `{path}`, which is missing from `groups`")))
        }
    }
}

fn read_slices(
    slices: Cursor<'_>,
    cpus: u32,
    threads: &mut ThreadNames,
) -> Result<Vec<GoldenSlice>, Diagnostic> {
    let mut list = Vec::new();
    for slice in slices.array()? {
        let slice = slices.item(slice);
        let [cpu, start, end, task] = slice.array()? else {
            return Err(slice.error("a slice is [cpu, start_ns, end_ns, \"task\"]"));
        };
        let task = slice.item(task);
        let (start_ns, end_ns) = (ns(slice.item(start))?, ns(slice.item(end))?);
        if end_ns < start_ns {
            let what = format!("the slice ends at {end_ns} ns, before it begins at {start_ns} ns");
            return Err(slice.error(what));
        }
        list.push(GoldenSlice {
            cpu: CpuId(slice.item(cpu).small("a CPU's number", 0..=cpus - 1)?),
            start_ns,
            end_ns,
            task: threads.find(task, task.string()?)?,
        });
    }
    Ok(list)
}

const FIGURES: [&str; 6] =
    ["runtime_ns", "switches_in", "wakeups", "migrations", "wait_ns", "max_wait_ns"];

fn read_figures(
    tasks: Cursor<'_>,
    threads: &mut ThreadNames,
) -> Result<Vec<GoldenFigures>, Diagnostic> {
    let mut list = Vec::new();
    once(tasks)?;
    for member in tasks.object()? {
        let figures = tasks.member(member);
        known(figures, &FIGURES)?;
        let count = |key| {
            take(figures, key, |value| Ok(value.integer("a whole number", 0..=i64::MAX)? as u64))
        };
        list.push(GoldenFigures {
            task: threads.find(figures, figures.key())?,
            runtime_ns: count("runtime_ns")?,
            switches_in: count("switches_in")?,
            wakeups: count("wakeups")?,
            migrations: count("migrations")?,
            wait_ns: count("wait_ns")?,
            max_wait_ns: count("max_wait_ns")?,
        });
    }
    Ok(list)
}
