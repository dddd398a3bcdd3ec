//! Changes that are tried: [`candidates`].

use super::change::{self, Change, GroupFacts, Tasks, autogroup_off, tunable};
use super::work::Work;
use crate::limits::Limit;
use schedlab_core::{Policy, release};
use schedlab_lab::select;
use schedlab_replay::Step;
use schedlab_replay::trace::Origin;
use schedlab_workload::groups;

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nice values of tasks and sessions.
    Nice,
    /// `SCHED_BATCH` and `SCHED_IDLE`.
    Policy,
    /// Slices of tasks.
    Slice,
    /// CPUs of tasks.
    Affinity,
    /// Weights of groups.
    Weight,
    /// Limits of groups.
    Limit,
    /// Autogroup off.
    Autogroup,
    /// Tunables of the scheduler, such as the base slice.
    Tunable,
}

/// Changes of one subject.
pub(super) struct Ladder {
    /// Changes that are tried first.
    pub first: Vec<Change>,
    /// Changes that are tried if one of the first is promising.
    pub more: Vec<Change>,
}

/// Maximum number of names of tasks, and of groups, that are changed.
const NAMES_MAX: usize = 10;

/// Part of the CPU time of all tasks below which tasks are not changed, unless an aim names them.
const LEAST_PART: f64 = 0.01;

/// Nice values that are tried first.
const NICE: [i32; 2] = [-10, 10];

/// Nice values that are tried if one of the first is promising.
const MORE_NICE: [i32; 6] = [-20, -5, -2, 2, 5, 19];

/// Part of a CPU that a group must use for a limit on it to be tried.
const LIMITED_CPUS: f64 = 0.1;

/// Returns the changes to try on `work`, the most promising subjects first: the tasks of the aim,
/// and the others by CPU time.
pub(super) fn candidates(
    work: &Work,
    in_aim: &[String],
    kinds: &[Kind],
    releases: &[String],
) -> Result<Vec<Ladder>, String> {
    let mut ladders = vec![];
    let is_wanted = |kind: Kind| kinds.is_empty() || kinds.contains(&kind);
    let scheduler = work.base.recorded_scheduler();
    let cpus = work.base.trace().cpus;
    let mut add = |first: Vec<Option<Change>>, more: Vec<Option<Change>>| {
        let first: Vec<Change> = first.into_iter().flatten().collect();
        let more: Vec<Change> = more.into_iter().flatten().collect();
        if !first.is_empty() {
            ladders.push(Ladder { first, more });
        }
    };
    for name in releases {
        select::find(name).map_err(|error| format!("--releases: {error}"))?;
        add(vec![Some(change::release(&scheduler.to_string(), name))], vec![]);
    }
    let groups = groups(work)?;
    if is_wanted(Kind::Autogroup) && groups.iter().any(GroupFacts::is_session) {
        add(vec![Some(autogroup_off())], vec![]);
    }
    if is_wanted(Kind::Tunable) {
        for it in work.base.recorded_tunables() {
            let name = it.name.as_ref();
            let is_known =
                ["base_slice_ns", "min_granularity_ns", "latency_ns", "wakeup_granularity_ns"]
                    .contains(&name.strip_prefix("sched_").unwrap_or(name));
            let (least, most) = it.range;
            let with = |factor: f64| {
                let now = ((it.value as f64 * factor) as i64).clamp(least, most);
                (is_known && now != it.value).then(|| tunable(name, it.value, now))
            };
            add(vec![with(0.25), with(4.0)], vec![with(0.5), with(2.0)]);
        }
    }
    let has = |policy: Policy| scheduler.release.policies.contains(&policy);
    // Slices of tasks came with 6.12.
    let has_slices =
        scheduler.entry.name == "eevdf" && release::numbers(scheduler.release.version).ge([6, 12]);
    for tasks in tasks(work, in_aim) {
        if is_wanted(Kind::Nice) {
            let nice = |nice: &i32| tasks.renice(*nice);
            add(NICE.iter().map(nice).collect(), MORE_NICE.iter().map(nice).collect());
        }
        if is_wanted(Kind::Policy) {
            let policy = |kind, name| if has(kind) { tasks.policy(name) } else { None };
            let other = tasks.policy("other");
            add(vec![other, policy(Policy::Batch, "batch"), policy(Policy::Idle, "idle")], vec![]);
        }
        if is_wanted(Kind::Slice) && has_slices && tasks.policy != "idle" {
            let slice = |us| Some(tasks.slice(us));
            add(vec![slice(100), slice(20_000)], vec![slice(500), slice(5_000), slice(100_000)]);
        }
        if is_wanted(Kind::Affinity) && cpus > 1 && scheduler.release.can.affinity {
            add(sets(cpus).iter().map(|set| tasks.bind(set, cpus)).collect(), vec![]);
        }
    }
    let span_ns = work.base.trace().span_ns.max(1);
    for (group, cpu_ns) in groups.iter().map(|group| (group, cpu_ns(work, group))) {
        if group.is_session() {
            if is_wanted(Kind::Nice) {
                let nice = |nice: &i32| group.session_nice(*nice);
                add(NICE.iter().map(nice).collect(), MORE_NICE.iter().map(nice).collect());
            }
            continue;
        }
        if is_wanted(Kind::Affinity) {
            add(vec![group.free(cpus)], vec![]);
        }
        if is_wanted(Kind::Weight) && scheduler.release.can.groups {
            let weight = |factor| group.weight(factor);
            add(vec![weight(0.25), weight(4.0)], vec![weight(0.0625), weight(16.0)]);
        }
        if is_wanted(Kind::Limit) && scheduler.release.can.quotas {
            let period_us = group.quota.period_us;
            let limit = |quota_us: f64, burst_us: u64| {
                let quota_us = Some((quota_us as u64).max(1000));
                Some(group.limit(&Limit { quota_us, period_us, burst_us }))
            };
            if let Some(quota_us) = group.quota.quota_us {
                let without = group.limit(&Limit { quota_us: None, period_us, burst_us: 0 });
                let quota = quota_us as f64;
                add(
                    vec![
                        Some(without),
                        limit(1.5 * quota, group.quota.burst_us),
                        limit(quota, quota_us),
                    ],
                    vec![limit(1.25 * quota, group.quota.burst_us), limit(2.0 * quota, 0)],
                );
            } else {
                let demand = cpu_ns as f64 / span_ns as f64;
                if demand >= LIMITED_CPUS {
                    let of = |part: f64| limit(part * demand * period_us as f64, 0);
                    add(vec![of(0.75), of(0.4)], vec![of(0.9), of(0.6), of(0.25)]);
                }
            }
        }
    }
    Ok(ladders)
}

/// Returns the sets of CPUs to which tasks are bound: each of up to four CPUs, halves of more, and
/// all.
fn sets(cpus: u32) -> Vec<Vec<u32>> {
    let mut sets: Vec<Vec<u32>> = match cpus {
        ..=4 => (0..cpus).map(|cpu| vec![cpu]).collect(),
        _ => vec![(0..cpus / 2).collect(), (cpus / 2..cpus).collect(), vec![cpus - 1]],
    };
    sets.push((0..cpus).collect());
    sets
}

/// Returns the tasks that are changed, by name.
pub(super) fn tasks(work: &Work, in_aim: &[String]) -> Vec<Tasks> {
    let names = work.names();
    let all_ns: u64 = names.iter().map(|(_, cpu_ns)| cpu_ns).sum();
    let is_large = |cpu_ns: u64| cpu_ns as f64 >= LEAST_PART * all_ns as f64;
    let in_aim = |name: &String| in_aim.contains(name);
    let (first, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|(name, _)| in_aim(name));
    let others = others.into_iter().filter(|(_, cpu_ns)| is_large(*cpu_ns));
    // Names with signs that a selection of tasks gives a meaning are left out.
    let is_plain = |name: &String| !name.contains([',', '*', '?', '[']) && !name.is_empty();
    let chosen = first.into_iter().chain(others).map(|(name, _)| name).filter(is_plain);
    chosen.take(NAMES_MAX).filter_map(|name| facts(work, &name)).collect()
}

/// Returns the facts about the tasks with a name. `None`: their policies differ.
pub(super) fn facts(work: &Work, name: &str) -> Option<Tasks> {
    let trace = work.base.trace();
    let programs = work.base.workload().tasks.iter().filter(|it| it.name == name);
    let mut found: Option<Tasks> = None;
    for program in programs {
        let task = &trace.tasks[program.task as usize];
        // A task may have been reniced after its start.
        let prio = program.steps.iter().rev().find_map(|step| match step {
            Step::Prio(prio) => Some(*prio),
            _ => None,
        });
        let nice = prio.unwrap_or(program.prio) - 120;
        let own = Tasks {
            name: name.into(),
            nice: Some(program.set.priority.unwrap_or(nice)),
            policy: match program.set.policy {
                Some(Policy::Batch) => "batch",
                Some(Policy::Idle) => "idle",
                None | Some(Policy::Other) => "other",
                Some(_) => return None,
            },
            cpus: program.set.cpus.clone(),
            is_brief: task.origin == Origin::Forked
                && task.last_burst().is_some_and(|it| it.state.is_some_and(|it| it.is_gone())),
        };
        match &mut found {
            None => found = Some(own),
            Some(all) => {
                if all.policy != own.policy || all.cpus != own.cpus {
                    return None;
                }
                all.nice = all.nice.filter(|_| all.nice == own.nice);
                all.is_brief |= own.is_brief;
            }
        }
    }
    found
}

/// CPU time of the tasks of a group and of those below it, ns.
fn cpu_ns(work: &Work, group: &GroupFacts) -> u64 {
    let trace = work.base.trace();
    let programs = work.base.workload().tasks.iter();
    let is_in = |path: &String| groups::is_within(path, &group.path);
    let own = programs.filter(|it| it.set.taskgroup.as_ref().is_some_and(is_in));
    own.map(|it| trace.tasks[it.task as usize].cpu_ns()).sum()
}

/// Returns the groups that contain reported tasks.
pub(super) fn groups(work: &Work) -> Result<Vec<GroupFacts>, String> {
    let selected = work.base.selected();
    let count = work.base.trace().cpus;
    let programs = &work.base.workload().tasks;
    let source = |source: &Option<schedlab_lab::plan::Source>, part: &str| {
        source.as_ref().is_some_and(|source| source.text.contains(part))
    };
    let replay = work.replay();
    let is_v1 = ["cpu.shares", "cpu.cfs_quota_us"]
        .iter()
        .any(|part| source(&replay.groups, part) || source(&replay.side, part));
    let mut found = vec![];
    for group in work.base.recorded_groups().map_err(|error| error.to_string())? {
        let own = programs.iter().filter(|it| {
            selected[it.task as usize]
                && it
                    .set
                    .taskgroup
                    .as_ref()
                    .is_some_and(|path| groups::is_within(path, &group.path))
        });
        let mut tasks: Vec<String> = own.map(|it| it.name.clone()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        if tasks.is_empty() {
            continue;
        }
        let cpus = group.own_cpus.map(|cpus| cpus.iter(count).map(|cpu| cpu.0).collect());
        let (path, quota, shares) = (group.path, group.quota, group.shares);
        found.push(GroupFacts { path, is_v1, shares, quota, cpus, tasks });
    }
    found.truncate(NAMES_MAX);
    Ok(found)
}
