//! Golden schedules (`golden-schedule/1`): what a real kernel's scheduler did with a small
//! workload, and the workload.
//!
//! The workload is a subset of rt-app's language and goes through the same reader and compiler.
//! Two things differ in all golden files: `resume` names a thread (`B-0`), and a resume that comes
//! while that thread is not suspended is remembered. What differs from one scheduler's files to
//! another's the file says in `machine.conventions`; where it does not, the caller does, with
//! [`Conventions`].

use crate::cursor::Cursor;
use crate::diagnostic::{Diagnostic, Source, did_you_mean};
use crate::groups::normal_path;
use crate::json;
use crate::model::Model;
use crate::programs::{AddressSpaces, Conventions, Kernel};
use crate::rt_app::{self, Dialect, Options, Target};

use schedlab_core::{CpuId, GroupId, TaskId};
use std::collections::HashMap;

/// A golden file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoldenFile {
    /// Release whose scheduler source was driven.
    pub kernel: String,
    /// Short name of the policy.
    pub scheduler: String,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// `machine.address_space` is `per-key`: the threads of one task share an address space;
    /// otherwise nobody shares one.
    pub address_space_per_key: bool,
    /// How the workload was run, as `machine.conventions` says; none: the file does not say.
    pub conventions: Option<Conventions>,
    /// What was set, in the kernel's own names, in the order written.
    pub tunables: Vec<(String, i64)>,
    /// Task groups in the order written, each after those above it.
    pub groups: Vec<GoldenGroup>,
    /// The workload.
    pub model: Model,
    /// The threads' names in the order of their numbers.
    pub threads: Vec<String>,
    /// What ran where, by start, then CPU.
    pub slices: Vec<GoldenSlice>,
    /// The figures of each thread, where the file has them.
    pub figures: Vec<GoldenFigures>,
    /// When the run ends, ns.
    pub end_ns: u64,
    /// What a reader must know to reproduce this one.
    pub notes: String,
}

/// A task group of a golden file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoldenGroup {
    /// Its path.
    pub path: String,
    /// The group it is in, by its place in [`GoldenFile::groups`]; none = the root.
    pub parent: Option<usize>,
    /// Its weight as `cpu.shares`.
    pub shares: u64,
}

/// A stretch of time that a task had a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoldenSlice {
    /// Where.
    pub cpu: CpuId,
    /// From, ns.
    pub start_ns: u64,
    /// To, ns.
    pub end_ns: u64,
    /// Who.
    pub task: TaskId,
}

/// What a golden file counts of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoldenFigures {
    /// Whose.
    pub task: TaskId,
    /// CPU time, ns.
    pub runtime_ns: u64,
    /// Times it was switched to.
    pub switches_in: u64,
    /// Times it was woken.
    pub wakeups: u64,
    /// Changes of CPU.
    pub migrations: u64,
    /// Time runnable without a CPU, ns.
    pub wait_ns: u64,
    /// The longest such time, ns.
    pub max_wait_ns: u64,
}

const FORMAT: &str = "golden-schedule/1";

const KEYS: [&str; 11] = [
    "format",
    "kernel",
    "scheduler",
    "machine",
    "tunables",
    "groups",
    "scenario",
    "slices",
    "tasks",
    "end_ns",
    "notes",
];

impl GoldenFile {
    /// Reads a golden file. `name` is what messages call it.
    ///
    /// # Errors
    /// The first thing in it that is not as it should be.
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
        let Machine { cpus, hz, address_space_per_key, conventions } =
            take(root, "machine", machine)?;
        let target = Target { cpus, limited: true };
        let groups = take_if(root, "groups", groups)?.unwrap_or_default();
        let model = take(root, "scenario", |scenario| {
            let model = rt_app::load_value(scenario, Dialect::Golden, &target)?;
            check_groups(scenario, &model, &groups)?;
            Ok(model)
        })?;
        let threads = thread_names(&model);
        let numbers: HashMap<&str, TaskId> = threads
            .iter()
            .enumerate()
            .map(|(number, name)| (name.as_str(), TaskId(number as u32)))
            .collect();
        Ok(GoldenFile {
            kernel: take(root, "kernel", owned)?,
            scheduler: take(root, "scheduler", owned)?,
            cpus,
            hz,
            address_space_per_key,
            conventions,
            tunables: take_if(root, "tunables", tunables)?.unwrap_or_default(),
            groups,
            slices: take(root, "slices", |slices| read_slices(slices, cpus, &numbers))?,
            figures: take_if(root, "tasks", |tasks| read_figures(tasks, &numbers))?
                .unwrap_or_default(),
            end_ns: take(root, "end_ns", ns)?,
            notes: take_if(root, "notes", owned)?.unwrap_or_default(),
            model,
            threads,
        })
    }

    /// The workload, ready to run. `group_ids` are the scheduler's numbers of
    /// [`groups`](GoldenFile::groups), in that order. Of `conventions`, the address spaces are the
    /// file's.
    ///
    /// # Errors
    /// If there are not as many `group_ids` as groups.
    pub fn workload(
        &self,
        group_ids: &[GroupId],
        conventions: Conventions,
    ) -> Result<Kernel, Diagnostic> {
        if group_ids.len() != self.groups.len() {
            let message = format!("{} numbers for {} groups", group_ids.len(), self.groups.len());
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
                ..conventions
            },
            ..Options::default()
        };
        let target = Target { cpus: self.cpus, limited: true };
        rt_app::prepare_as(&self.model, Dialect::Golden, &target, options)
    }
}

fn thread_names(model: &Model) -> Vec<String> {
    let names = model
        .tasks
        .iter()
        .flat_map(|task| (0..task.instances).map(|instance| format!("{}-{instance}", task.key)));
    names.collect()
}

/// The member `key` of `object`, which must be there.
fn take<'a, T>(
    object: Cursor<'a>,
    key: &str,
    read: impl FnOnce(Cursor<'_>) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    match take_if(object, key, read)? {
        Some(value) => Ok(value),
        None => Err(object.error(format!("there is no `{key}`"))),
    }
}

/// The member `key` of `object`, if it is there.
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

/// Fails at the first key that is not among `keys`.
fn known(object: Cursor<'_>, keys: &[&'static str]) -> Result<(), Diagnostic> {
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

/// The machine that the file was made on.
struct Machine {
    cpus: u32,
    hz: u32,
    address_space_per_key: bool,
    conventions: Option<Conventions>,
}

fn machine(machine: Cursor<'_>) -> Result<Machine, Diagnostic> {
    known(machine, &["cpus", "hz", "topology", "address_space", "conventions"])?;
    let cpus = take(machine, "cpus", |cpus| cpus.small("a number of CPUs", 1..=4096))?;
    let hz = take(machine, "hz", |hz| hz.small("a number of ticks a second", 1..=10_000))?;
    take_if(machine, "topology", |topology| match topology.string()? {
        "flat" => Ok(()),
        other => Err(topology.error(format!("unknown topology `{other}`"))),
    })?;
    let per_key = take_if(machine, "address_space", |space| match space.string()? {
        "per-key" => Ok(true),
        other => Err(space.error(format!("unknown address space `{other}`"))),
    })?;
    let conventions = take_if(machine, "conventions", conventions)?;
    Ok(Machine { cpus, hz, address_space_per_key: per_key.unwrap_or(false), conventions })
}

/// A list of the conventions that hold; the others do not.
fn conventions(list: Cursor<'_>) -> Result<Conventions, Diagnostic> {
    let mut conventions = Conventions::default();
    for item in list.array()? {
        let name = list.item(item);
        conventions.set(name.string()?).map_err(|names| {
            name.error(format!("unknown convention; there are {}", names.join(", ")))
        })?;
    }
    Ok(conventions)
}

fn tunables(tunables: Cursor<'_>) -> Result<Vec<(String, i64)>, Diagnostic> {
    let members = tunables.object()?.iter();
    members
        .map(|member| {
            let value = tunables.member(member);
            Ok((value.key().into(), value.integer("a whole number", i64::MIN..=i64::MAX)?))
        })
        .collect()
}

fn groups(groups: Cursor<'_>) -> Result<Vec<GoldenGroup>, Diagnostic> {
    let mut list: Vec<GoldenGroup> = Vec::new();
    for member in groups.object()? {
        let group = groups.member(member);
        let path = normal_path(group.key()).map_err(|message| group.key_error(message))?;
        if path != group.key() || list.iter().any(|other| other.path == path) {
            return Err(group.key_error(format!("`{}` is no new group", group.key())));
        }
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let parent = list.iter().position(|other| other.path == above);
        if parent.is_none() && !above.is_empty() {
            return Err(group.key_error(format!("the group `{above}` must come first")));
        }
        known(group, &["shares"])?;
        let shares = take_if(group, "shares", |shares| shares.small("a weight", 0..=u32::MAX))?;
        list.push(GoldenGroup { parent, path, shares: shares.map_or(1024, u64::from) });
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
                .key_error(format!("a task is in `{path}`, which is not among the `groups`")))
        }
    }
}

fn thread(
    cursor: Cursor<'_>,
    name: &str,
    threads: &HashMap<&str, TaskId>,
) -> Result<TaskId, Diagnostic> {
    threads.get(name).copied().ok_or_else(|| cursor.error(format!("there is no thread `{name}`")))
}

fn read_slices(
    slices: Cursor<'_>,
    cpus: u32,
    threads: &HashMap<&str, TaskId>,
) -> Result<Vec<GoldenSlice>, Diagnostic> {
    let mut list = Vec::new();
    for slice in slices.array()? {
        let slice = slices.item(slice);
        let [cpu, start, end, task] = slice.array()? else {
            return Err(slice.error("a slice is [cpu, start_ns, end_ns, \"task\"]"));
        };
        let task = slice.item(task);
        list.push(GoldenSlice {
            cpu: CpuId(slice.item(cpu).small("a CPU's number", 0..=cpus - 1)?),
            start_ns: ns(slice.item(start))?,
            end_ns: ns(slice.item(end))?,
            task: thread(task, task.string()?, threads)?,
        });
    }
    Ok(list)
}

fn read_figures(
    tasks: Cursor<'_>,
    threads: &HashMap<&str, TaskId>,
) -> Result<Vec<GoldenFigures>, Diagnostic> {
    let mut list = Vec::new();
    for member in tasks.object()? {
        let figures = tasks.member(member);
        let count = |key| {
            take(figures, key, |value| Ok(value.integer("a whole number", 0..=i64::MAX)? as u64))
        };
        list.push(GoldenFigures {
            task: thread(figures, figures.key(), threads)?,
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
