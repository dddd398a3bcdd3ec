//! Checks of a timetable before the run: names that do not exist.

use super::{Change, Tasks, Timetable};
use crate::cgroups::GroupPlan;
use crate::cgroups::write::Write;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::model::{Action as Step, Model};
use crate::pattern::matches;
use std::collections::HashSet;

/// Objects that names in a timetable can refer to.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Workload.
    pub model: &'a Model,
    /// Groups of the workload.
    pub groups: &'a GroupPlan,
    /// Number of CPUs of the machine.
    pub cpus: u32,
    /// Tunables of the schedulers under which the workload runs.
    pub tunables: &'a [&'a str],
    /// Whether the run is stopped after some time if the workload does not end before.
    pub limited: bool,
}

impl Timetable {
    /// Checks that every task, group, CPU and tunable that it names exists.
    ///
    /// # Errors
    /// The first unknown name, with its position and what may have been meant.
    pub fn check(&self, around: &Surroundings<'_>) -> Result<(), Diagnostic> {
        let forked = forked_keys(around.model);
        for entry in &self.entries {
            let origin = &entry.origin;
            if entry.when.period_ns.is_some() && entry.when.until_ns == u64::MAX && !around.limited
            {
                return Err(origin
                    .error(usize::MAX, "this never ends, because the run has no duration")
                    .with_help("add `until`, or give the run a duration"));
            }
            let tasks = |tasks: &Tasks| match tasks {
                Tasks::InGroup(path) => group(around.groups, path)
                    .map_err(|(message, help)| origin.error(0, message).with_help_if(help)),
                Tasks::Named(names) => names.iter().try_for_each(|name| {
                    task(around.model, &forked, name)
                        .map_err(|(message, help)| origin.error(0, message).with_help_if(help))
                }),
            };
            let cpus = |number: usize, cpus: &[schedlab_core::CpuId]| match cpus
                .iter()
                .find(|cpu| cpu.0 >= around.cpus)
            {
                None => Ok(()),
                Some(cpu) => {
                    let message = match around.cpus {
                        1 => format!("there is no CPU {}: the machine has only CPU 0", cpu.0),
                        cpus => {
                            format!(
                                "there is no CPU {}: the machine has CPUs 0 to {}",
                                cpu.0,
                                cpus - 1
                            )
                        }
                    };
                    Err(origin.error(number, message))
                }
            };
            match &entry.change {
                Change::Nice(targets, _)
                | Change::Policy(targets, _)
                | Change::Stop(targets)
                | Change::Continue(targets)
                | Change::Kill(targets)
                | Change::Freeze(targets)
                | Change::Thaw(targets) => tasks(targets)?,
                Change::Affinity(targets, _, list) => {
                    tasks(targets)?;
                    cpus(1, list)?;
                }
                Change::Move(targets, path) => {
                    tasks(targets)?;
                    group(around.groups, path)
                        .map_err(|(message, help)| origin.error(1, message).with_help_if(help))?;
                }
                Change::Group(path, writes) => {
                    if path.is_empty() {
                        return Err(origin.error(0, "the root group has no settings"));
                    }
                    for (number, (_, write)) in writes.iter().enumerate() {
                        if let Write::Cpus(list) = write {
                            list.check_exist(around.cpus).map_err(|fault| {
                                origin.error(number + 1, fault.message).with_help_if(fault.help)
                            })?;
                        }
                    }
                    group(around.groups, path)
                        .map_err(|(message, help)| origin.error(0, message).with_help_if(help))?;
                }
                Change::Tunable(name, _) => {
                    if !around.tunables.contains(&name.as_str()) {
                        let help =
                            did_you_mean(name, around.tunables.iter().copied()).or_else(|| {
                                Some("`schedlab list NAME` shows the existing ones".into())
                            });
                        return Err(origin
                            .error(0, format!("unknown tunable `{name}`"))
                            .with_help_if(help));
                    }
                }
                Change::Offline(list) | Change::Online(list) => cpus(0, list)?,
            }
        }
        Ok(())
    }
}

/// Returns the keys of tasks that a `fork` starts.
fn forked_keys(model: &Model) -> HashSet<&str> {
    let phases = model.tasks.iter().flat_map(|task| &task.phases);
    let events = phases.flat_map(|phase| &phase.events);
    events
        .filter_map(|event| match &event.action {
            Step::Fork(key) | Step::Thread(key) => Some(key.as_str()),
            _ => None,
        })
        .collect()
}

type Wrong = (String, Option<String>);

fn group(plan: &GroupPlan, path: &str) -> Result<(), Wrong> {
    let mut paths = plan.groups().iter().map(|group| group.path.as_str());
    if path.is_empty() || paths.clone().any(|known| known == path) {
        return Ok(());
    }
    let help = did_you_mean(path, &mut paths)
        .or_else(|| Some("add it to a file of groups, or to the workload's `taskgroup`".into()));
    Err((format!("unknown group `{path}`"), help))
}

fn task(model: &Model, forked: &HashSet<&str>, name: &str) -> Result<(), Wrong> {
    for task in &model.tasks {
        if matches(name, &task.key) {
            return Ok(());
        }
        // A pattern may match any of its threads.
        let threads = u64::from(task.instances);
        if (0..threads).any(|instance| matches(name, &format!("{}-{instance}", task.key))) {
            return Ok(());
        }
        let of_key = name.strip_prefix(&task.key).and_then(|rest| rest.strip_prefix('-'));
        if forked.contains(task.key.as_str())
            && of_key.is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'*')
            })
        {
            return Ok(());
        }
        if let Some(number) = of_key
            && number.parse::<u64>().is_ok()
        {
            let help = format!("`{}` has {threads}, from {}-0 on", task.key, task.key);
            return Err((format!("there is no thread `{name}`"), Some(help)));
        }
    }
    let help = did_you_mean(name, model.tasks.iter().map(|task| task.key.as_str()));
    Err((format!("unknown task `{name}`"), help))
}
