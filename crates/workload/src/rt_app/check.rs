//! Checks of a workload before the run: anything in it that cannot be run as intended.

use super::in_force::InForce;
use super::model_error::{ModelError, Place, Spot};
use super::mutex_use::{self, rounds_worth_trying};
use super::read::Dialect;
use crate::diagnostic::did_you_mean;
use crate::group_path::normal_path;
use crate::model::{Action, Loops, Model, Phase, Properties, THREADS_MAX, Task};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Machine and run for which a workload is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Number of CPUs of the machine.
    pub cpus: u32,
    /// Whether the run has its own limit, so that endless tasks need no `duration`.
    pub limited: bool,
}

impl Target {
    /// Returns a machine, and a run that ends when the workload ends.
    pub const fn new(cpus: u32) -> Target {
        Target { cpus, limited: false }
    }
}

/// Returns the phases that a task reaches, with their numbers.
fn reached(task: &Task) -> impl Iterator<Item = (usize, &Phase)> {
    let mut open = task.loops != Loops::Times(0);
    task.phases.iter().enumerate().filter(move |(_, phase)| {
        let reached = open && phase.loops != Loops::Times(0);
        open &= phase.loops != Loops::Forever;
        reached
    })
}

/// Returns all events of a task, reached or not, with their positions.
fn events(number: usize, task: &Task) -> impl Iterator<Item = (Place, &Action)> {
    task.phases.iter().enumerate().flat_map(move |(phase_number, phase)| {
        phase
            .events
            .iter()
            .enumerate()
            .map(move |(event, e)| (Place::event(number, phase_number, event), &e.action))
    })
}

/// Names that events refer to.
struct Names<'a> {
    keys: HashMap<&'a str, usize>,
    suspended: BTreeSet<&'a str>,
    forked: BTreeSet<&'a str>,
    barriers: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    fn of(model: &'a Model) -> Names<'a> {
        let mut names = Names {
            keys: HashMap::new(),
            suspended: BTreeSet::new(),
            forked: BTreeSet::new(),
            barriers: barriers(model),
        };
        for (number, task) in model.tasks.iter().enumerate() {
            names.keys.insert(&task.key, number);
            for (_, action) in events(number, task) {
                match action {
                    Action::Suspend(name) => names.suspended.insert(name),
                    Action::Fork(name) | Action::Thread(name) => names.forked.insert(name),
                    _ => false,
                };
            }
        }
        names
    }
}

/// Returns all barriers with the number of threads that must arrive: the instances of each task
/// that names the barrier anywhere.
pub(crate) fn barriers(model: &Model) -> BTreeMap<&str, usize> {
    let mut needed = BTreeMap::new();
    for (number, task) in model.tasks.iter().enumerate() {
        let mut named = BTreeSet::new();
        for (_, action) in events(number, task) {
            if let Action::Barrier(name) = action
                && named.insert(name.as_str())
            {
                *needed.entry(name.as_str()).or_insert(0) += task.instances as usize;
            }
        }
    }
    needed
}

/// Returns the first error in `model` for `target`.
pub fn check(model: &Model, dialect: Dialect, target: &Target) -> Result<(), ModelError> {
    let threads = model.initial_threads();
    if threads > THREADS_MAX {
        let place = Place { task: None, phase: None, spot: Spot::Whole };
        return Err(ModelError::new(
            place,
            format!("the run would begin with {threads} threads, more than {THREADS_MAX}"),
        ));
    }
    let names = Names::of(model);
    if names.keys.len() != model.tasks.len() {
        let twice = (0..model.tasks.len())
            .find(|&number| names.keys[model.tasks[number].key.as_str()] != number);
        return Err(ModelError::new(
            Place::task(twice.unwrap_or(0), Spot::Whole),
            "two tasks with this name",
        ));
    }
    for (number, task) in model.tasks.iter().enumerate() {
        check_shape(number, task)?;
        check_properties(number, task, model, target)?;
        check_names(number, task, model, &names, dialect)?;
        mutex_use::check(number, task)?;
        check_barriers(number, task, &names)?;
        check_ends(number, task, model, &names, target)?;
    }
    check_barriers_are_reached(model)
}

/// Checks that a model that does not come from a file has the shape of one that does.
fn check_shape(number: usize, task: &Task) -> Result<(), ModelError> {
    let plain = |only: &Phase| only.loops == Loops::Times(1) && only.properties.is_empty();
    let is_flat = matches!(task.phases.as_slice(), [only] if plain(only));
    if task.flat && !is_flat {
        let message = "a task without `phases` must have exactly one phase, without a name";
        return Err(ModelError::new(Place::task(number, Spot::Whole), message));
    }
    Ok(())
}

fn check_properties(
    number: usize,
    task: &Task,
    model: &Model,
    target: &Target,
) -> Result<(), ModelError> {
    check_plain(&task.properties, target, |key| Place::task(number, Spot::Key(key)))?;
    for (phase_number, phase) in task.phases.iter().enumerate() {
        check_plain(&phase.properties, target, |key| {
            Place::phase(number, phase_number, Spot::Key(key))
        })?;
    }
    let mut in_force = InForce::new(model.global.default_policy);
    in_force.enter(&task.properties).map_err(|fault| {
        let at = match fault.key {
            "policy" if task.properties.policy.is_none() => Spot::Whole,
            key => Spot::Key(key),
        };
        ModelError::new(Place::task(number, at), fault.message)
    })?;
    for _ in 0..rounds_worth_trying(task.loops) {
        for (phase_number, phase) in reached(task) {
            in_force.enter(&phase.properties).map_err(|fault| {
                let at = match fault.key {
                    "policy" if phase.properties.policy.is_none() => Spot::Whole,
                    key => Spot::Key(key),
                };
                ModelError::new(Place::phase(number, phase_number, at), fault.message)
            })?;
        }
    }
    Ok(())
}

/// Checks properties that do not depend on others.
fn check_plain(
    properties: &Properties,
    target: &Target,
    place: impl Fn(&'static str) -> Place,
) -> Result<(), ModelError> {
    if let Some(cpus) = &properties.cpus {
        let last = target.cpus.saturating_sub(1);
        if cpus.is_empty() {
            return Err(ModelError::new(place("cpus"), "`cpus` must name at least one CPU"));
        }
        if let Some(cpu) = cpus.iter().find(|&&cpu| cpu > last) {
            return Err(ModelError::new(place("cpus"), format!("there is no CPU {cpu}"))
                .with_help(match last {
                    0 => "the machine has only CPU 0".into(),
                    last => format!("the machine has CPUs 0 to {last}"),
                }));
        }
    }
    if let (Some(min), Some(max)) = (properties.util_min, properties.util_max)
        && min > max
    {
        let message = format!("`util_min` ({min}) is larger than `util_max` ({max})");
        return Err(ModelError::new(place("util_min"), message));
    }
    if let Some(path) = &properties.taskgroup
        && normal_path(path).as_ref() != Ok(path)
    {
        return Err(ModelError::new(
            place("taskgroup"),
            format!("`{path}` is not a path of a group"),
        ));
    }
    Ok(())
}

/// Checks that all names in events exist.
fn check_names(
    number: usize,
    task: &Task,
    model: &Model,
    names: &Names<'_>,
    dialect: Dialect,
) -> Result<(), ModelError> {
    let keys = || model.tasks.iter().map(|task| task.key.as_str());
    let of_key = |key: &str| names.keys.get(key).map(|&number| &model.tasks[number]);
    for (place, action) in events(number, task) {
        let fault = match action {
            Action::Resume { name, .. } if dialect == Dialect::Golden => {
                match thread_of(name, of_key) {
                    Some(_) => continue,
                    None => {
                        ModelError::new(place, format!("there is no thread `{name}` to resume"))
                    }
                }
            }
            Action::Resume { name, .. }
                if of_key(name).is_none() && !names.suspended.contains(name.as_str()) =>
            {
                let message = format!(
                    "there is no task `{name}` to resume, and none suspends under that name"
                );
                let known = keys().chain(names.suspended.iter().copied());
                ModelError::new(place, message).with_help_if(did_you_mean(name, known))
            }
            Action::Fork(name) | Action::Thread(name) if of_key(name).is_none() => {
                ModelError::new(place, format!("there is no task `{name}` to fork"))
                    .with_help_if(did_you_mean(name, keys()))
            }
            _ => continue,
        };
        return Err(fault);
    }
    Ok(())
}

/// Returns the task and instance of the thread with this name (`key-0`).
pub(crate) fn thread_of<'a>(
    name: &str,
    find: impl Fn(&str) -> Option<&'a Task>,
) -> Option<(&'a Task, u32)> {
    let (key, number) = key_and_instance(name)?;
    let task = find(key)?;
    (number < task.instances).then_some((task, number))
}

/// Returns the parts of a thread's name: `key-0` is instance 0 of `key`.
pub(crate) fn key_and_instance(name: &str) -> Option<(&str, u32)> {
    let (key, instance) = name.rsplit_once('-')?;
    let number: u32 = instance.parse().ok()?;
    (number.to_string() == instance).then_some((key, number))
}

/// Checks that only tasks with a known number of threads use barriers.
fn check_barriers(number: usize, task: &Task, names: &Names<'_>) -> Result<(), ModelError> {
    let why = if task.instances == 0 {
        "has `instance` 0"
    } else if names.forked.contains(task.key.as_str()) {
        "is forked"
    } else {
        return Ok(());
    };
    match events(number, task).find(|(_, action)| matches!(action, Action::Barrier(_))) {
        None => Ok(()),
        Some((place, _)) => Err(ModelError::new(
            place,
            format!("task `{}` {why}, so it must not use barriers", task.key),
        )
        .with_help("the number of threads that the barrier waits for is unknown")),
    }
}

/// Checks that every task that names a barrier reaches it.
fn check_barriers_are_reached(model: &Model) -> Result<(), ModelError> {
    let mut waits: BTreeMap<&str, &str> = BTreeMap::new();
    let mut absent: Vec<(&str, Place)> = Vec::new();
    for (number, task) in model.tasks.iter().enumerate() {
        let reached: BTreeSet<usize> = reached(task).map(|(phase, _)| phase).collect();
        let mut mentions: BTreeMap<&str, (bool, Place)> = BTreeMap::new();
        for (place, action) in events(number, task) {
            if let Action::Barrier(name) = action {
                let comes = place.phase.is_some_and(|phase| reached.contains(&phase));
                mentions.entry(name).or_insert((false, place)).0 |= comes;
            }
        }
        for (name, (comes, place)) in mentions {
            if comes {
                waits.entry(name).or_insert(&task.key);
            } else {
                absent.push((name, place));
            }
        }
    }
    for (name, place) in absent {
        if let Some(task) = waits.get(name) {
            return Err(ModelError::new(
                place,
                format!("barrier `{name}` can never be complete: this event is never reached"),
            )
            .with_help(format!("task `{task}` would wait there forever")));
        }
    }
    Ok(())
}

/// Checks that endless loops take time, and that the run has an end.
fn check_ends(
    number: usize,
    task: &Task,
    model: &Model,
    names: &Names<'_>,
    target: &Target,
) -> Result<(), ModelError> {
    let takes_time =
        |phase: &Phase| phase.events.iter().any(|event| may_take_time(&event.action, names));
    let endless = reached(task).find(|(_, phase)| phase.loops == Loops::Forever);
    let place = match endless {
        Some((phase_number, phase)) => {
            if !takes_time(phase) {
                return Err(no_time(
                    Place::phase(number, phase_number, Spot::Whole),
                    &format!("phase `{}` of task `{}`", phase.name, task.key),
                ));
            }
            Place::phase(number, phase_number, Spot::Key("loop"))
        }
        None if task.loops == Loops::Forever => {
            if !reached(task).any(|(_, phase)| takes_time(phase)) {
                return Err(no_time(
                    Place::task(number, Spot::Whole),
                    &format!("task `{}`", task.key),
                ));
            }
            Place::task(number, Spot::Whole)
        }
        None => return Ok(()),
    };
    let starts = task.instances > 0 || names.forked.contains(task.key.as_str());
    if starts && model.global.duration_ns.is_none() && !target.limited {
        return Err(ModelError::new(
            place,
            format!("task `{}` never ends, and the run has no `duration`", task.key),
        )
        .with_help("set `duration` in `global`, `loop` in the task, or a limit for the run"));
    }
    Ok(())
}

fn no_time(place: Place, what: &str) -> ModelError {
    ModelError::new(place, format!("{what} would loop forever while no time passes"))
        .with_help("an endless loop needs an event that runs, sleeps or waits")
}

/// Whether an event computes or may block.
fn may_take_time(action: &Action, names: &Names<'_>) -> bool {
    match action {
        Action::Run(ns) | Action::Runtime(ns) | Action::Sleep(ns) => *ns > 0,
        Action::Mem(bytes) => *bytes > 0,
        Action::MemRun(run) => run.count > 0,
        Action::Barrier(name) => {
            names.barriers.get(name.as_str()).is_some_and(|&needed| needed > 1)
        }
        Action::Timer { .. }
        | Action::Lock(_)
        | Action::Wait { .. }
        | Action::Sync { .. }
        | Action::Suspend(_)
        | Action::SemWait(_)
        | Action::IoRun(_) => true,
        Action::Unlock(_)
        | Action::Signal(_)
        | Action::Broad(_)
        | Action::Resume { .. }
        | Action::SemPost(_)
        | Action::Yield
        | Action::Exec
        | Action::Fork(_)
        | Action::Thread(_) => false,
    }
}
