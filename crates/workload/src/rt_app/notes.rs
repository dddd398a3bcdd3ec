//! Notes on a workload: nothing is wrong, but the user should know.

use crate::model::{Action, Loops, Model, Phase, Task};
use crate::seconds::format_s;
use std::collections::BTreeSet;

/// Virtual time of a run that takes a long time, ns.
const LONG_NS: u64 = 10_000_000_000_000;

/// Returns what the user should know about `model` in a run that is stopped at `until_ns` at the
/// latest: tasks that never start, phases that are never reached, runs that take a long time.
pub fn notes(model: &Model, until_ns: Option<u64>) -> Vec<String> {
    let mut notes = vec![];
    let started = started(model, until_ns);
    for (number, task) in model.tasks.iter().enumerate() {
        if !started.contains(&number) {
            notes.push(format!("task `{}` never starts: {}", task.key, why_not(task, until_ns)));
            continue;
        }
        let endless = |phase: &&Phase| phase.loops == Loops::Forever;
        if let Some(at) = task.phases.iter().position(|phase| endless(&phase))
            && at + 1 < task.phases.len()
        {
            notes.push(format!(
                "task `{}`: the phases after `{}` are never reached, because that phase is repeated forever",
                task.key, task.phases[at].name
            ));
        }
    }
    let length_ns = until_ns.or_else(|| model.tasks.iter().map(least_ns).max()).unwrap_or(0);
    if length_ns >= LONG_NS {
        let least = if until_ns.is_some() { "" } else { "at least " };
        notes.push(format!("this run lasts {least}{} of virtual time", format_s(length_ns)));
    }
    notes
}

/// Returns the numbers of the tasks of which a thread starts, by itself or by a fork.
fn started(model: &Model, until_ns: Option<u64>) -> BTreeSet<usize> {
    let in_time = |task: &Task| until_ns.is_none_or(|until_ns| task.delay_ns < until_ns);
    let tasks = || model.tasks.iter().enumerate().filter(|(_, task)| in_time(task));
    let mut started: BTreeSet<usize> =
        tasks().filter(|(_, task)| task.instances > 0).map(|(number, _)| number).collect();
    loop {
        let forked: BTreeSet<&str> = started
            .iter()
            .flat_map(|&number| &model.tasks[number].phases)
            .flat_map(|phase| &phase.events)
            .filter_map(|event| match &event.action {
                Action::Fork(name) | Action::Thread(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let before = started.len();
        started.extend(
            tasks()
                .filter(|(_, task)| forked.contains(task.key.as_str()))
                .map(|(number, _)| number),
        );
        if started.len() == before {
            return started;
        }
    }
}

fn why_not(task: &Task, until_ns: Option<u64>) -> String {
    let start_ns = task.delay_ns;
    match until_ns {
        Some(until_ns) if start_ns >= until_ns => {
            format!(
                "its `delay` is {}, and the run ends at {}",
                format_s(start_ns),
                format_s(until_ns)
            )
        }
        _ => "its `instance` is 0, and no task that starts forks it".into(),
    }
}

/// Returns the minimum time that a thread of `task` needs with its own CPU, ns; 0 for an endless
/// task.
fn least_ns(task: &Task) -> u64 {
    let times = |ns: u64, loops: Loops| match loops {
        Loops::Forever => 0,
        Loops::Times(times) => ns.saturating_mul(times),
    };
    let of_phase = |phase: &Phase| {
        let ns = phase.events.iter().map(|event| match event.action {
            Action::Run(ns) | Action::Runtime(ns) | Action::Sleep(ns) => ns,
            _ => 0,
        });
        times(ns.fold(0, u64::saturating_add), phase.loops)
    };
    let round_ns = task.phases.iter().map(of_phase).fold(0, u64::saturating_add);
    times(round_ns, task.loops).saturating_add(task.delay_ns)
}
