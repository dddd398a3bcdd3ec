//! CPUs of groups and the freezer, and random actions on random workloads with groups, limits, and
//! CPUs that go offline and come back.

mod support;

use schedlab_core::{
    Administer, BlockReason, CpuId, CpuSet, Errno, GroupId, Quota, Release, SchedAttr, TaskId,
};
use schedlab_machine::{Action, ActionError, MachineGroup, RunEnd, SplitMix64, TaskState};
use schedlab_sched::registry;
use support::*;

/// Returns the releases that have task groups.
fn with_groups() -> impl Iterator<Item = (String, &'static Release)> {
    registry::ALL.iter().flat_map(|entry| {
        let releases = entry.releases.iter().filter(|release| release.can.groups);
        releases.map(|release| (format!("{}@{}", entry.name, release.version), release))
    })
}

fn cpus(list: &[u32]) -> CpuSet {
    CpuSet::from_cpus(list.iter().map(|&cpu| CpuId(cpu)))
}

fn group(parent: u32, cpus: Option<CpuSet>) -> MachineGroup {
    MachineGroup { parent: GroupId(parent), cpus, frozen: false }
}

/// Returns a machine with groups, and tasks in them that are not born yet.
fn grouped(
    release: &Release,
    cpus: u32,
    groups: &[MachineGroup],
    tasks: &[(Habit, u32, CpuSet)],
) -> support::Running {
    let habits =
        tasks.iter().map(|(habit, _, allowed)| (SchedAttr::nice(0), allowed.clone(), *habit));
    let mut machine = machine(release, cpus, World::new(habits.collect()));
    machine.administer(|scheduler, platform| {
        for (group, number) in groups.iter().zip(1..) {
            assert_eq!(scheduler.group_new(platform, group.parent, 1024), Ok(GroupId(number)));
        }
    });
    machine.describe_groups(groups.to_vec());
    for ((_, group, _), task) in tasks.iter().zip(0..) {
        machine
            .act(&Action::SetGroup { task: TaskId(task), group: GroupId(*group) })
            .expect("the scheduler creates the group");
    }
    machine
}

/// Returns the time for which each of `cpus` CPUs was busy between now and `until_ns`, ms.
fn busy_ms(machine: &mut support::Running, cpus: u32, until_ns: u64) -> Vec<u64> {
    let from = machine.now_ns();
    let busy = |machine: &support::Running, at| {
        (0..cpus)
            .map(move |cpu| (cpu, at))
            .map(|(cpu, at)| machine.observer().busy(cpu, at))
            .collect::<Vec<_>>()
    };
    let before = busy(machine, from);
    machine.run_to(until_ns).unwrap();
    let after = busy(machine, until_ns);
    after.iter().zip(before).map(|(after, before)| (after - before) / MS).collect()
}

#[test]
fn tasks_use_the_cpus_that_their_group_their_owner_and_the_machine_have() {
    for (name, release) in with_groups().filter(|(_, release)| release.cpus_max >= 4) {
        let groups = [group(0, Some(cpus(&[1, 2]))), group(1, Some(cpus(&[2, 3]))), group(0, None)];
        // In the second group CPU 2 is left. The owner of the third task allows none of its group's
        // CPUs.
        let tasks = [
            (Habit::Hog, 2, CpuSet::All),
            (Habit::Hog, 2, CpuSet::All),
            (Habit::Hog, 1, cpus(&[0])),
        ];
        let mut machine = grouped(release, 4, &groups, &tasks);
        let busy = busy_ms(&mut machine, 4, SECOND);
        assert_eq!((busy[0], busy[3]), (0, 0), "{name}: {busy:?}");
        assert!(busy[2] > 990, "{name}: {busy:?}");
        // The group gets other CPUs, at once.
        let action = Action::SetGroupCpus { group: GroupId(1), cpus: Some(cpus(&[3])) };
        machine.act(&action).expect("the CPUs exist");
        assert_eq!(busy_ms(&mut machine, 4, 2 * SECOND), [0, 0, 0, 1000], "{name}");
        // One task moves to a group with all CPUs: the affinity set by its owner applies again.
        machine
            .act(&Action::SetGroup { task: TaskId(2), group: GroupId(3) })
            .expect("the group exists");
        assert_eq!(busy_ms(&mut machine, 4, 3 * SECOND), [1000, 0, 0, 1000], "{name}");
        // The group's last CPU goes offline: its tasks use its parent's CPUs (the root's) until the
        // CPU is back.
        machine.act(&Action::Offline(CpuId(3))).expect("other CPUs are online");
        let busy = busy_ms(&mut machine, 3, 4 * SECOND);
        assert!(busy[1] + busy[2] > 900, "{name}: {busy:?}");
        machine.act(&Action::Online(CpuId(3))).expect("the CPU was offline");
        assert_eq!(busy_ms(&mut machine, 4, 5 * SECOND), [1000, 0, 0, 1000], "{name}");
        audit(&machine, &name);
    }
}

#[test]
fn affinity_outside_the_group_is_refused() {
    let release = registry::find("eevdf").unwrap().1;
    let groups = [group(0, Some(cpus(&[1])))];
    let mut machine = grouped(release, 2, &groups, &[(Habit::Hog, 1, CpuSet::All)]);
    machine.run_to(MS).unwrap();
    let bind = |cpu| Action::SetAffinity { task: TaskId(0), allowed: cpus(&[cpu]) };
    assert_eq!(machine.act(&bind(0)), Err(ActionError::Refused(Errno::Invalid)));
    assert_eq!(machine.act(&bind(1)), Ok(()));
    let none = Action::SetGroupCpus { group: GroupId(1), cpus: Some(cpus(&[7])) };
    assert_eq!(machine.act(&none), Err(ActionError::Refused(Errno::Invalid)));
    let unknown = Action::FreezeGroup(GroupId(9));
    assert_eq!(machine.act(&unknown), Err(ActionError::NoSuchGroup(GroupId(9))));
    assert!(machine.act(&Action::FreezeGroup(GroupId::ROOT)).is_err());
}

#[test]
fn a_frozen_group_stops_with_all_below_it_and_whoever_comes_to_it() {
    for (name, release) in with_groups() {
        let groups = [
            MachineGroup { frozen: true, ..group(0, None) },
            MachineGroup { frozen: true, ..group(1, None) },
            group(0, None),
        ];
        let job = Habit::Job(50 * MS);
        let tasks = [(job, 1, CpuSet::All), (job, 2, CpuSet::All), (Habit::Hog, 3, CpuSet::All)];
        let mut machine = grouped(release, 1, &groups, &tasks);
        machine.run_to(100 * MS).unwrap();
        assert_eq!(machine.observer().ran(2, 100 * MS), 100 * MS, "{name}");
        assert_eq!(machine.task_state(TaskId(1)), TaskState::Frozen, "{name}");
        // The outer group is thawed: the inner one stays frozen.
        machine.act(&Action::ThawGroup(GroupId(1))).unwrap();
        machine.act(&Action::SetGroup { task: TaskId(2), group: GroupId(2) }).unwrap();
        machine.run_to(200 * MS).unwrap();
        assert_eq!(machine.observer().ran(0, 200 * MS), 50 * MS, "{name}");
        assert_eq!(
            machine.observer().ran(2, 200 * MS),
            100 * MS,
            "{name}: it moved to a frozen group"
        );
        assert_eq!(machine.task_state(TaskId(2)), TaskState::Frozen, "{name}");
        // One task leaves the group and continues. The other stays forever, if no one is expected
        // to thaw it.
        machine.act(&Action::SetGroup { task: TaskId(1), group: GroupId(3) }).unwrap();
        machine.set_releases_expected(false);
        assert_eq!(machine.run_to(SECOND), Ok(RunEnd::Stuck), "{name}");
        assert_eq!(machine.now_ns(), 250 * MS, "{name}");
        audit(&machine, &name);
    }
}

/// Returns a random action on groups 1 to 3, one of `tasks` tasks, or one of `cpus` CPUs.
fn any_action(random: &mut SplitMix64, cpus: u32, tasks: u32) -> Action {
    let task = TaskId(random.below(u64::from(tasks)) as u32);
    let cpu = CpuId(random.below(u64::from(cpus)) as u32);
    let group = GroupId(1 + random.below(3) as u32);
    match random.below(10) {
        0 | 1 => Action::Offline(cpu),
        2 | 3 => Action::Online(cpu),
        4 => Action::SetGroup { task, group: GroupId(random.below(4) as u32) },
        5 => Action::SetGroupCpus {
            group,
            cpus: (random.below(3) > 0).then(|| CpuSet::from_cpus((cpu.0..cpus).map(CpuId))),
        },
        6 => Action::FreezeGroup(group),
        7 => Action::ThawGroup(group),
        8 => Action::SetAffinity { task, allowed: CpuSet::from_cpus((0..=cpu.0).map(CpuId)) },
        _ => Action::SetQuota {
            group,
            quota: Quota {
                quota_us: (random.below(4) > 0).then(|| 1_000 + random.below(30_000)),
                period_us: 5_000 + random.below(60_000),
                burst_us: 0,
                phase_us: None,
            },
        },
    }
}

#[test]
fn whatever_is_done_to_groups_and_cpus_nobody_is_lost() {
    for (name, release) in with_groups() {
        let cpus = release.cpus_max.min(4);
        for seed in 0..8 {
            let mut random = SplitMix64::new(seed);
            let tasks: Vec<(Habit, u32, CpuSet)> = (0..12)
                .map(|_| {
                    let habit = match random.below(4) {
                        0 => Habit::Hog,
                        1 => Habit::Sleeper(3 * MS, 5 * MS, BlockReason::Interruptible),
                        2 => Habit::Sleeper(MS, 4 * MS, BlockReason::Uninterruptible),
                        _ => Habit::Restless,
                    };
                    (habit, random.below(4) as u32, CpuSet::All)
                })
                .collect();
            let groups = [group(0, None), group(1, None), group(0, None)];
            let mut machine = grouped(release, cpus, &groups, &tasks);
            let what = format!("{name} seed {seed}");
            let mut now = 0;
            for _ in 0..150 {
                now += random.below(6 * MS);
                machine.run_to(now).unwrap();
                let action = any_action(&mut random, cpus, machine.task_count() as u32);
                match (&action, machine.act(&action)) {
                    (Action::Offline(cpu), Ok(())) => {
                        machine.observer_mut().offline[cpu.index()] = true
                    }
                    (Action::Online(cpu), Ok(())) => {
                        machine.observer_mut().offline[cpu.index()] = false
                    }
                    _ => {}
                }
                audit(&machine, &what);
            }
            for group in (1..=3).map(GroupId) {
                machine.act(&Action::ThawGroup(group)).unwrap();
                let quota =
                    Quota { quota_us: None, period_us: 100_000, burst_us: 0, phase_us: None };
                let _ = machine.act(&Action::SetQuota { group, quota });
            }
            for cpu in 0..cpus {
                if machine.act(&Action::Online(CpuId(cpu))).is_ok() {
                    machine.observer_mut().offline[cpu as usize] = false;
                }
            }
            let before: Vec<u64> = (0..machine.task_count() as u32)
                .map(|task| machine.observer().ran(task, now))
                .collect();
            let until = now + 10 * SECOND;
            machine.run_to(until).unwrap();
            audit(&machine, &what);
            let books = machine.observer();
            let busy: u64 = (0..cpus).map(|cpu| books.busy(cpu, until)).sum();
            assert_eq!(books.all_ran(until), busy, "{what}");
            for (task, &before) in before.iter().enumerate() {
                let state = machine.task_state(TaskId(task as u32));
                let ended = matches!(state, TaskState::Zombie | TaskState::Reaped);
                let ran = machine.observer().ran(task as u32, until);
                assert!(
                    ended || ran > before,
                    "{what}: task {task}, {state:?}, has not run for 10 s"
                );
            }
        }
    }
}
