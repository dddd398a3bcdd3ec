//! A paused machine as `/proc` shows it.

use schedlab_core::Origin;
use schedlab_core::reason::Who;
use schedlab_lab::plan::{Contender, Prepared};
use schedlab_lab::session::Snapshot;
use schedlab_machine::TaskState;
use schedlab_trace::procfs::{self, CpuView, Entity, Kernel, TaskView, View};
use schedlab_trace::recorder::{pid, prio};

/// Returns the kernel whose formats a release uses; `None`: it is not a release of Linux.
pub fn kernel(contender: &Contender) -> Option<Kernel> {
    let choice = &contender.choice;
    let is_linux = choice.entry.origin == Origin::Linux;
    let version = choice.release.kernel.unwrap_or(choice.release.version);
    procfs::kernel(version).filter(|_| is_linux)
}

/// Returns the path of each group, by number.
pub fn group_paths(prepared: &Prepared, contender: &Contender) -> Vec<String> {
    let experiment = prepared.experiment_of(contender);
    let groups = experiment.map_or(&[][..], |experiment| experiment.groups.groups());
    std::iter::once("/".into()).chain(groups.iter().map(|group| group.path.clone())).collect()
}

/// Returns the view of `/proc` on `snapshot`.
pub fn view(
    contender: &Contender,
    prepared: &Prepared,
    kernel: Kernel,
    snapshot: &Snapshot,
) -> View {
    let hz = prepared.experiment_of(contender).and_then(|experiment| experiment.config.hz);
    let choice = &contender.choice;
    let entity = |candidate: &schedlab_core::reason::Candidate| Entity {
        pid: match candidate.who {
            Who::Task(task) => Some(pid(task)),
            Who::Group(_) | Who::Kernel(_) => None,
        },
        within: candidate.within.0,
        terms: candidate.terms.iter().map(|term| (term.name.clone(), term.value)).collect(),
    };
    let cpus = snapshot.cpus.iter().map(|cpu| CpuView {
        current: cpu.current.map(pid),
        entities: cpu.candidates.iter().map(entity).collect(),
    });
    let mut tasks = vec![];
    for (number_, task) in snapshot.tasks.iter().enumerate() {
        let state = match task.state {
            TaskState::New | TaskState::Reaped => continue,
            TaskState::Running => 'R',
            TaskState::Interruptible => 'S',
            TaskState::Uninterruptible => 'D',
            TaskState::Stopped | TaskState::Frozen => 'T',
            TaskState::Zombie => 'Z',
        };
        tasks.push(TaskView {
            pid: number_ as u32 + 1,
            name: task.name.clone(),
            state,
            policy: task.attr.policy.number(),
            prio: prio(&task.attr),
            nice: task.attr.nice,
            rt_priority: task.attr.rt_priority,
            group: task.group.0,
        });
    }
    let mut groups = vec!["/".to_string()];
    for (id, path) in &snapshot.groups {
        if groups.len() <= id.index() {
            groups.resize(id.index() + 1, "/".into());
        }
        groups[id.index()].clone_from(path);
    }
    let tunables =
        prepared.experiment_of(contender).map_or(vec![], |experiment| experiment.tunables(choice));
    let set = |name: &str| {
        let own = contender.tunables.iter().rev().find(|(set, _)| set == name);
        own.map(|(_, value)| *value)
    };
    View {
        at_ns: snapshot.at_ns,
        hz: hz.unwrap_or(choice.release.hz_default),
        kernel,
        release: choice.release.version.into(),
        is_fair: ["cfs", "eevdf"].contains(&choice.entry.name.as_ref()),
        cpus: cpus.collect(),
        tasks,
        groups,
        tunables: tunables
            .iter()
            .map(|tunable| (tunable.name.to_string(), set(&tunable.name).unwrap_or(tunable.value)))
            .collect(),
    }
}
