//! The worked examples, rules that no golden schedule covers, and long random operation with
//! consistency checks at every step.

use super::ids::EntityId;
use super::{Cfs, Version, core_2_6, wait_runtime};
use crate::classes::rt::RtVersion;
use crate::classes::testing::{Bench, Life, MS, State};
use crate::classes::{ClassList, FairClass};
use crate::random::Random;
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::topology::{Level, LevelKind, Place};
use schedlab_core::{
    Administer, BuildConfig, CpuId, CpuSet, GroupId, Parent, Policy, SchedAttr, Scheduler,
    TaskAttr, TaskId, Topology, TunableError, Waker,
};

type Machine = Bench<ClassList<Cfs>>;

fn machine(version: Version, cpus: u32) -> Machine {
    let config = BuildConfig::flat(cpus, 1000);
    Bench::new(core_2_6(version, RtVersion::V2_6_25, &config), cpus, 1000)
}

fn machine_2_6_32(cpus: u32) -> Machine {
    machine(Version::V2_6_32, cpus)
}

fn vruntime(machine: &Machine, task: TaskId) -> i64 {
    machine.sched.fair.vruntime(machine.sched.core.pid(task)).ns() as i64
}

#[test]
fn three_tasks_take_turns_as_in_the_worked_example() {
    let mut m = machine_2_6_32(1);
    let (a, b) = (m.nice(0, Life::Hog), m.nice(0, Life::Hog));
    let c = m.nice(5, Life::Periodic { run: MS, sleep: 9 * MS });
    assert_eq!([a, b, c].map(|task| vruntime(&m, task)), [3_946_546, 1_450_204, 1_099_076]);
    m.run_until(31 * MS);
    let expected: &[(u32, f64, f64)] = &[
        (2, 0., 1.),
        (1, 1., 6.),
        (0, 6., 10.),
        (2, 10., 11.),
        (1, 11., 15.),
        (0, 15., 20.),
        (2, 20., 21.),
        (1, 21., 26.),
        (0, 26., 30.),
        (2, 30., 31.),
    ];
    assert_eq!(m.slices_ms(), expected);
}

#[test]
fn two_groups_share_by_their_shares_as_in_the_worked_example() {
    let mut m = machine_2_6_32(1);
    let light = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
    let heavy = m.sched.group_new(&mut m.platform, GroupId::ROOT, 2048).unwrap();
    let a = m.in_group(light, Life::Hog);
    let b = m.in_group(heavy, Life::Hog);
    assert_eq!([a, b].map(|task| vruntime(&m, task)), [3_941_687, 2_280_430]);
    m.run_until(29 * MS);
    let expected: &[(u32, f64, f64)] = &[
        (0, 0., 2.),
        (1, 2., 10.),
        (0, 10., 13.),
        (1, 13., 19.),
        (0, 19., 22.),
        (1, 22., 28.),
        (0, 28., 29.),
    ];
    assert_eq!(m.slices_ms(), expected);
}

#[test]
fn decaying_loads_follow_the_load_as_in_the_worked_example() {
    let mut m = machine_2_6_32(1);
    m.nice(0, Life::Hog);
    m.run_until(MS + 1);
    assert_eq!(m.sched.fair.cpu_loads.means(CpuId(0))[..3], [1024, 512, 256]);
    m.run_until(2 * MS + 1);
    assert_eq!(m.sched.fair.cpu_loads.means(CpuId(0))[..3], [1024, 768, 448]);
}

#[test]
fn three_hogs_on_two_cpus_change_places_for_ever() {
    // The small imbalance of 2 against 1: each pass moves one hog to the CPU with fewer, which then
    // is the one with more.
    let mut m = machine_2_6_32(2);
    for _ in 0..3 {
        m.nice(0, Life::Hog);
    }
    m.run_until(3000 * MS);
    for task in 0..3 {
        let cpus = [0, 1].map(|cpu| {
            let slices = m.slices.iter().filter(|slice| slice.3 == task && slice.0 == cpu);
            slices.map(|slice| slice.2 - slice.1).sum::<u64>()
        });
        let total = cpus[0] + cpus[1];
        assert!((1500 * MS..2500 * MS).contains(&total), "task {task} ran {total} ns");
        assert!(cpus[0] > 0 && cpus[1] > 0, "task {task} ran on one CPU only");
    }
}

#[test]
fn tunables_have_the_releases_defaults_and_the_kernels_limits() {
    let value = |m: &Machine, name: &str| {
        let all = m.sched.inspect().tunables();
        all.iter().find(|tunable| tunable.name == name).unwrap().value
    };
    let mut m = machine_2_6_32(4);
    assert_eq!(
        [
            "sched_latency_ns",
            "sched_min_granularity_ns",
            "sched_wakeup_granularity_ns",
            "sched_shares_ratelimit"
        ]
        .map(|name| value(&m, name)),
        [15_000_000, 3_000_000, 3_000_000, 750_000]
    );
    let mut set = |name: &str, value: i64| m.sched.set_tunable(&mut m.platform, name, value);
    assert_eq!(
        set("sched_latency_ns", 99_999),
        Err(TunableError::Range { min: 100_000, max: 1_000_000_000 })
    );
    assert!(matches!(set("sched_runtime_limit_ns", 1), Err(TunableError::Unknown { .. })));
    assert!(matches!(set("sched_rt_runtime_us", 0), Err(TunableError::Refused(_))));
    assert_eq!(set("sched_latency_ns", 400_000_000), Ok(()));
    assert_eq!(set("sched_min_granularity_ns", 100_000_000), Ok(()));
    assert_eq!(set("GENTLE_FAIR_SLEEPERS", 0), Ok(()));
    assert_eq!(m.sched.fair.tunables.nr_latency, 4);
    assert_eq!(value(&m, "GENTLE_FAIR_SLEEPERS"), 0);
    // Five hogs: a period of 500 ms, a slice of slightly less than 100 ms.
    let mut m = machine_2_6_32(1);
    m.sched.set_tunable(&mut m.platform, "sched_latency_ns", 400_000_000).unwrap();
    m.sched.set_tunable(&mut m.platform, "sched_min_granularity_ns", 100_000_000).unwrap();
    for _ in 0..5 {
        m.nice(0, Life::Hog);
    }
    let slice = m.sched.fair.sched_slice(EntityId::new(0));
    assert!((99_900_000..100_000_000).contains(&slice), "{slice}");
}

#[test]
fn a_child_inherits_its_parents_virtual_time_and_starts_a_slice_after_min_vruntime() {
    let mut m = machine_2_6_32(1);
    m.nice(0, Life::Hog);
    m.nice(0, Life::Hog);
    m.run_until(20 * MS);
    let cpu = CpuId(0);
    let running = m.current[0].unwrap();
    let child = m.start(TaskAttr::default(), Life::Hog, Parent::Task { task: running, cpu });
    // A third of 5 ms after `min_vruntime`, slightly less by the computed inverse, or at the
    // parent's vruntime, if that is later.
    let earliest = m.sched.fair.min_vruntime(cpu).ns() as i64 + 1_666_000;
    let place = vruntime(&m, child);
    assert!((earliest - 1000..earliest + 1000).contains(&place) || place == vruntime(&m, running));
    assert!(place >= earliest - 1000 && place >= vruntime(&m, running));
    assert!(m.sched.inspect().audit().is_ok());
}

#[test]
fn a_child_that_runs_first_changes_virtual_times_with_its_parent() {
    let mut m = machine_2_6_32(1);
    m.sched.set_tunable(&mut m.platform, "sched_child_runs_first", 1).unwrap();
    let parent = m.nice(0, Life::Hog);
    m.run_until(2 * MS);
    let before = vruntime(&m, parent);
    let by = Parent::Task { task: parent, cpu: CpuId(0) };
    let child = m.start(TaskAttr::default(), Life::Work(MS / 2), by);
    assert_eq!(vruntime(&m, child), before + MS as i64);
    assert!(vruntime(&m, parent) > vruntime(&m, child));
    m.reschedule();
    assert_eq!(m.current[0], Some(child));
}

#[test]
fn a_task_that_leaves_real_time_is_an_ordinary_one_again() {
    let mut m = machine_2_6_32(1);
    let hog = m.nice(0, Life::Hog);
    let other = m.nice(0, Life::Hog);
    m.run_until(10 * MS);
    let set = |m: &mut Machine, task, attr: SchedAttr| {
        m.sched.set_attr(&mut m.platform, task, &attr, CpuId(0));
        m.reschedule();
        m.sched.inspect().audit().unwrap();
    };
    set(&mut m, hog, SchedAttr::realtime(Policy::Fifo, 50));
    assert_eq!(m.current[0], Some(hog));
    m.run_until(100 * MS);
    assert_eq!(m.current[0], Some(hog));
    set(&mut m, hog, SchedAttr::nice(0));
    m.run_until(1000 * MS);
    let ran = |task: TaskId| -> u64 {
        let slices = m.slices.iter().filter(|slice| slice.3 == task.0 && slice.1 >= 100 * MS);
        slices.map(|slice| slice.2 - slice.1).sum()
    };
    // Its real-time run time does not count against it.
    assert!(ran(hog).abs_diff(ran(other)) <= 10 * MS, "{} {}", ran(hog), ran(other));
}

#[test]
fn affinity_moves_a_running_a_waiting_and_a_sleeping_task() {
    let mut m = machine_2_6_32(2);
    let hogs: Vec<TaskId> = (0..4).map(|_| m.nice(0, Life::Hog)).collect();
    let sleeper = m.nice(0, Life::Periodic { run: MS, sleep: 50 * MS });
    m.run_until(20 * MS);
    assert_eq!(m.tasks[sleeper.index()].state, State::Asleep);
    for &task in hogs.iter().chain([&sleeper]) {
        m.sched.set_affinity(&mut m.platform, task, &CpuSet::only(CpuId(1)));
        m.reschedule();
        m.sched.inspect().audit().unwrap();
        assert_eq!(m.sched.cpu_of(task), CpuId(1), "{task:?}");
    }
    assert_eq!(m.current[0], None);
    m.run_until(200 * MS);
    assert!(m.slices.iter().all(|&(cpu, from, ..)| cpu == 1 || from < 20 * MS));
}

#[test]
fn a_batch_task_never_preempts_and_an_idle_one_gives_way_at_once() {
    let mut m = machine_2_6_32(1);
    let batch = SchedAttr { policy: Policy::Batch, ..SchedAttr::default() };
    let attr = TaskAttr { sched: batch, ..TaskAttr::default() };
    m.nice(0, Life::Hog);
    let waker =
        m.start(attr, Life::Periodic { run: MS, sleep: 20 * MS + MS / 2 }, Parent::External);
    m.run_until(500 * MS);
    // It never gets the CPU between two ticks: only when the hog's slice is over.
    let starts = m.slices.iter().filter(|slice| slice.3 == waker.0).map(|slice| slice.1);
    assert!(starts.into_iter().all(|from| from % MS == 0));
    let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
    let mut m = machine_2_6_32(1);
    let attr = TaskAttr { sched: idle, ..TaskAttr::default() };
    let low = m.start(attr, Life::Hog, Parent::External);
    m.nice(0, Life::Periodic { run: MS, sleep: MS / 3 });
    m.run_until(10 * MS);
    let longest =
        m.slices.iter().filter(|slice| slice.3 == low.0).map(|slice| slice.2 - slice.1).max();
    assert!(longest.unwrap() <= MS / 3, "{longest:?}");
}

#[test]
fn older_releases_give_sleepers_a_whole_latency() {
    // 2.6.31 on one CPU: after a long sleep, 20 ms before `min_vruntime`. 2.6.28 does the same, by
    // weight.
    for (version, nice, credit) in [
        (Version::V2_6_31, 0, 20_000_000),
        (Version::V2_6_31, 5, 20_000_000),
        (Version::V2_6_28, 5, 61_134_328),
        (Version::V2_6_24, 5, 20_000_000),
        (Version::V2_6_32, 5, 2_500_000),
    ] {
        let mut m = machine(version, 1);
        m.nice(0, Life::Hog);
        let sleeper = m.nice(nice, Life::Periodic { run: MS, sleep: 300 * MS });
        m.run_until(290 * MS);
        let woken_at = m.slices.iter().find(|slice| slice.3 == sleeper.0).unwrap().2 + 300 * MS;
        m.run_until(woken_at + 1);
        let min_vruntime = m.sched.fair.min_vruntime(CpuId(0)).ns() as i64;
        let behind = min_vruntime - vruntime(&m, sleeper);
        assert!((credit - 1..=credit + 1).contains(&behind), "{}: {behind}", version.name);
    }
}

#[test]
fn groups_can_be_reshared_and_tasks_moved_between_them() {
    let mut m = machine_2_6_32(2);
    let one = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
    let two = m.sched.group_new(&mut m.platform, one, 512).unwrap();
    assert!(m.sched.group_new(&mut m.platform, GroupId(9), 1).is_err());
    let tasks: Vec<TaskId> =
        [one, two, two, GroupId::ROOT].map(|group| m.in_group(group, Life::Hog)).into();
    for step in 1..60u64 {
        m.run_until(step * 7 * MS);
        let task = tasks[step as usize % 4];
        let group = [GroupId::ROOT, one, two][step as usize % 3];
        m.sched.set_group(&mut m.platform, task, group).unwrap();
        m.sched.inspect().audit().unwrap();
        m.sched.group_set_shares(&mut m.platform, one, 100 * step).unwrap();
        m.reschedule();
        m.sched.inspect().audit().unwrap();
    }
}

/// Performs all operations on tasks in random order, and checks consistency after each.
fn random_life<F: FairClass>(mut m: Bench<ClassList<F>>, seed: u64, groups: bool) {
    let cpus = m.current.len() as u64;
    let mut random = Random(seed);
    let mut known = alloc::vec![GroupId::ROOT];
    let audit = |m: &Bench<ClassList<F>>| {
        m.sched
            .inspect()
            .audit()
            .unwrap_or_else(|what| panic!("seed {seed}, at {}: {what}", m.now()));
    };
    let attr = |random: &mut Random| match random.below(8) {
        0 => SchedAttr::realtime(Policy::Fifo, 1 + random.below(99) as u32),
        1 => SchedAttr::realtime(Policy::RoundRobin, 1 + random.below(3) as u32),
        2 => SchedAttr { policy: Policy::Batch, ..SchedAttr::default() },
        3 => SchedAttr { policy: Policy::Idle, ..SchedAttr::default() },
        _ => SchedAttr::nice(random.below(40) as i32 - 20),
    };
    let allowed = |random: &mut Random| match random.below(3) {
        0 => CpuSet::All,
        1 => CpuSet::only(CpuId(random.below(cpus) as u32)),
        _ => {
            CpuSet::from_cpus([CpuId(random.below(cpus) as u32), CpuId(random.below(cpus) as u32)])
        }
    };
    for _ in 0..1500 {
        let until = m.now() + random.below(3 * MS);
        m.run_until(until);
        audit(&m);
        let cpu = random.below(cpus) as u32;
        let task = (!m.tasks.is_empty()).then(|| TaskId(random.below(m.tasks.len() as u64) as u32));
        let alive = task.filter(|task| m.tasks[task.index()].state != State::Dead);
        match (random.below(10), alive) {
            (0 | 1, _) => {
                let life = match random.below(4) {
                    0 => Life::Work(1 + random.below(20 * MS)),
                    1 => Life::Hog,
                    _ => Life::Periodic {
                        run: 1 + random.below(4 * MS),
                        sleep: 1 + random.below(20 * MS),
                    },
                };
                let attr = TaskAttr {
                    sched: attr(&mut random),
                    allowed: allowed(&mut random),
                    group: known[random.below(known.len() as u64) as usize],
                    address_space: random.below(3) as u32,
                };
                let parent = match m.current[cpu as usize] {
                    Some(task)
                        if random.below(2) == 0
                            && m.tasks[task.index()].state == State::Running =>
                    {
                        Parent::Task { task, cpu: CpuId(cpu) }
                    }
                    _ => Parent::External,
                };
                m.start(attr, life, parent);
            }
            (2, _) if groups && known.len() < 12 => {
                let parent = known[random.below(known.len() as u64) as usize];
                known.push(
                    m.sched.group_new(&mut m.platform, parent, random.below(300_000)).unwrap(),
                );
            }
            (3, Some(task)) => {
                m.sched.set_attr(&mut m.platform, task, &attr(&mut random), CpuId(cpu))
            }
            (4, Some(task)) => m.sched.set_affinity(&mut m.platform, task, &allowed(&mut random)),
            (5, Some(task)) if groups => {
                let group = known[random.below(known.len() as u64) as usize];
                m.sched.set_group(&mut m.platform, task, group).unwrap();
            }
            (6, _) => {
                if let Some(task) = m.current[cpu as usize]
                    && m.tasks[task.index()].state == State::Running
                {
                    if random.below(2) == 0 {
                        m.sched.yield_now(&mut m.platform, CpuId(cpu), task);
                    } else {
                        // The task blocks, and is woken before it is switched away.
                        m.block(cpu, task, false, u64::MAX);
                        audit(&m);
                        m.wake(task, Waker::Interrupt { cpu: CpuId(cpu) });
                    }
                }
            }
            (7, Some(task)) if m.tasks[task.index()].state == State::Asleep => {
                let waker = match m.current[cpu as usize] {
                    Some(task) => Waker::Task { task, cpu: CpuId(cpu), sync: random.below(2) == 0 },
                    None => Waker::Process { cpu: CpuId(cpu) },
                };
                m.wake(task, waker);
            }
            (8, Some(task)) if !m.current.contains(&Some(task)) => {
                m.sched.kill(&mut m.platform, task);
                m.kill(task);
            }
            (9, _) if groups && known.len() > 1 => {
                let group = known[1 + random.below(known.len() as u64 - 1) as usize];
                let shares = random.below(5000);
                m.sched.group_set_shares(&mut m.platform, group, shares).unwrap();
            }
            _ => {}
        }
        audit(&m);
        m.reschedule();
        audit(&m);
    }
}

#[test]
fn hrtick_ends_turns_between_ticks() {
    let mut m = machine_2_6_32(1);
    m.sched.set_tunable(&mut m.platform, "HRTICK", 1).unwrap();
    for _ in 0..3 {
        m.nice(0, Life::Hog);
    }
    m.run_until(200 * MS);
    // A third of 5 ms for each, apart from the computed inverse.
    let turns: Vec<u64> = m.slices.iter().skip(6).map(|slice| slice.2 - slice.1).collect();
    let exact = turns.iter().filter(|&&turn| (1_664_000..1_668_000).contains(&turn)).count();
    assert!(turns.len() > 100 && exact * 10 > turns.len() * 9, "{turns:?}");
    random_life(
        {
            let mut m = machine_2_6_32(3);
            m.sched.set_tunable(&mut m.platform, "HRTICK", 1).unwrap();
            m
        },
        77,
        true,
    );
}

#[test]
fn a_machine_of_many_levels_keeps_its_books() {
    let level = |kind, size: u32| Level { kind, span_of: (0..16).map(|cpu| cpu / size).collect() };
    let levels = [
        level(LevelKind::Smt, 2),
        level(LevelKind::MultiCore, 4),
        level(LevelKind::Cpu, 8),
        level(LevelKind::Node, 16),
    ];
    let config = BuildConfig { topology: Topology::with_levels(16, levels.into()), hz: 1000 };
    for seed in 0..3 {
        let sched = core_2_6(Version::V2_6_32, RtVersion::V2_6_25, &config);
        random_life(Bench::new(sched, 16, 1000), 50 + seed, seed > 0);
    }
    // Hogs that start on one CPU get one CPU each. (Not one core each: with hardware threads of
    // power 589 each, a lone task counts as more than the imbalance, and 2.6.32 does not take it.)
    let sched = core_2_6(Version::V2_6_32, RtVersion::V2_6_25, &config);
    let mut m = Bench::new(sched, 16, 1000);
    let bound = TaskAttr { allowed: CpuSet::only(CpuId(0)), ..TaskAttr::default() };
    let hogs: Vec<TaskId> =
        (0..8).map(|_| m.start(bound.clone(), Life::Hog, Parent::External)).collect();
    for &task in &hogs {
        m.sched.set_affinity(&mut m.platform, task, &CpuSet::All);
    }
    m.run_until(3000 * MS);
    assert_eq!(m.current.iter().flatten().count(), 8);
}

#[test]
fn what_one_cpu_promises_is_kept() {
    for nices in [&[0, 0, 0][..], &[-5, 0, 5, 19], &[-20, 19], &[0; 12]] {
        let mut m = machine_2_6_32(1);
        for (number, &nice) in nices.iter().enumerate() {
            let life = match number % 2 {
                0 => Life::Hog,
                _ => Life::Periodic { run: 3 * MS, sleep: 2 * MS },
            };
            m.nice(nice, life);
        }
        let load = schedlab_core::Load {
            tasks: nices.len() as u32,
            cpus: 1,
            nice_max: *nices.iter().max().unwrap(),
            nice_min: *nices.iter().min().unwrap(),
        };
        let limit = m.sched.inspect().promises(&load).wait_ns.unwrap();
        m.run_until(20_000 * MS);
        let first = m.slices.iter().filter(|slice| slice.3 == 0);
        let starts: Vec<u64> = first.map(|slice| slice.1).collect();
        let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        assert!(longest <= limit, "{nices:?}: {longest} > {limit}");
    }
}

#[test]
fn a_long_random_life_leaves_the_books_in_order() {
    for (seed, cpus) in [(1, 1), (2, 2), (3, 5), (4, 8), (5, 70)] {
        random_life(machine_2_6_32(cpus), seed, true);
        random_life(machine_2_6_32(cpus), seed + 100, false);
    }
    for version in [Version::V2_6_31, Version::V2_6_29, Version::V2_6_28] {
        random_life(machine(version, 1), 6, true);
    }
    random_life(machine(Version::V2_6_24, 1), 7, false);
    let config = BuildConfig::flat(1, 1000);
    random_life(Bench::new(wait_runtime::core_2_6(&config), 1, 1000), 8, false);
}

#[test]
fn times_follow_the_cpus_that_are_on_line_from_2_6_33_on() {
    let latency_ms = |m: &Machine| m.sched.fair.tunables.latency_ns / MS;
    let config = |cpus| BuildConfig::flat(cpus, 1000);
    for (version, expected) in [
        // The times are not scaled again after boot, and 64 CPUs count.
        (Version::V2_6_32, [35, 20, 20, 20, 20]),
        // A CPU that goes offline is still counted: 8, 7, ... down to 4 of them leave three.
        (Version::V2_6_32_60, [20, 20, 20, 15, 15]),
        (Version::V3_2, [24, 24, 24, 18, 18]),
    ] {
        assert_eq!(latency_ms(&machine(version, 64)), expected[0], "{}", version.name);
        let mut m = machine(version, 8);
        let mut platform = config(8).platform();
        let mut seen = alloc::vec![latency_ms(&m)];
        for (gone, look) in [(7, true), (6, false), (5, false), (4, false), (3, true)] {
            m.sched.cpu_offline(&mut platform, CpuId(gone)).expect("another CPU is online");
            if look {
                seen.push(latency_ms(&m));
            }
        }
        m.sched.cpu_online(&mut platform, CpuId(3)).expect("the CPU is offline");
        seen.push(latency_ms(&m));
        assert_eq!(seen, expected[1..], "{}", version.name);
    }
    let mut m = machine(Version::V3_2, 8);
    let mut platform = config(8).platform();
    m.sched.set_tunable(&mut platform, "sched_latency_ns", 7_000_000).expect("in range");
    for gone in [7, 6, 5, 4, 3] {
        m.sched.cpu_offline(&mut platform, CpuId(gone)).expect("another CPU is online");
    }
    assert_eq!(latency_ms(&m), 7, "a written value stays");
}

/// Nodes of two CPUs that share a cache.
fn nodes(count: u32) -> Topology {
    let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: cpu / 2, node: cpu / 2 };
    Topology::new((0..2 * count).map(place).collect(), &[]).unwrap()
}

fn machine_of(version: Version, topology: Topology) -> Machine {
    let cpus = topology.cpus();
    let config = BuildConfig { topology, ..BuildConfig::flat(cpus, 1000) };
    Bench::new(core_2_6(version, RtVersion::V2_6_25, &config), cpus, 1000)
}

#[test]
fn nodes_are_first_balanced_after_one_ms_and_then_after_eight() {
    let m = machine_of(Version::V2_6_32, nodes(2));
    let levels: Vec<_> = m.sched.core.domains.of(CpuId(0)).collect();
    let params = levels.iter().map(|&level| m.sched.core.domains.level(level).params);
    assert_eq!(params.map(|params| params.min_interval_ms).collect::<Vec<_>>(), [1, 8]);
    let intervals = levels.iter().map(|&level| m.sched.fair.balancing[level][0].interval_ms);
    assert_eq!(intervals.collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn what_real_time_tasks_take_of_another_node_is_never_learnt() {
    let mut m = machine_of(Version::V2_6_32, nodes(2));
    m.realtime(Policy::Fifo, 10, Some(0), Life::Hog);
    m.run_until(700 * MS);
    let level = m.sched.core.domains.of(CpuId(0)).last().unwrap();
    let group = [CpuId(0), CpuId(1)];
    let power = |is_own| m.sched.fair.cpu_power.of_group(level, &group, is_own);
    assert_eq!(power(false), 2048, "as of boot");
    assert!(power(true) < 1600, "as the node itself sees it: {}", power(true));
}

#[test]
fn the_policy_that_a_task_has_already_restarts_its_turn() {
    let mut m = machine_2_6_32(1);
    let (a, b) = (m.nice(0, Life::Hog), m.nice(0, Life::Hog));
    m.run_until(10 * MS + MS / 2);
    let first = m.current[0].unwrap();
    let turn = |m: &Machine, task| {
        let e = m.sched.fair.entity_of(m.sched.core.pid(task));
        let entity = &m.sched.fair.entities[e];
        entity.sum_exec - entity.prev_sum_exec
    };
    let others = [a, b].map(|task| vruntime(&m, task));
    m.sched.set_same_attr(&mut m.platform, first, CpuId(0));
    assert_eq!(turn(&m, first), 0);
    let waiting = if first == a { 1 } else { 0 };
    assert_eq!(vruntime(&m, [a, b][waiting]), others[waiting]);
    m.sched.inspect().audit().unwrap();
}

#[test]
fn an_exec_moves_a_task_away_from_others_but_not_from_an_empty_cpu() {
    // When it is alone, it is sent to the idle CPU, and comes straight back: the CPU that it left
    // has no load.
    let mut m = machine_2_6_32(2);
    let a = m.nice(0, Life::Hog);
    m.run_until(3 * MS);
    m.sched.exec(&mut m.platform, CpuId(0), a);
    m.reschedule();
    assert_eq!(m.current, [Some(a), None]);
    // Next to another task it leaves permanently, and arrives like a sleeper.
    let mut m = machine_2_6_32(2);
    let on_cpu_0 = TaskAttr { allowed: CpuSet::only(CpuId(0)), ..TaskAttr::default() };
    let pinned = m.start(on_cpu_0, Life::Hog, Parent::External);
    let b = m.nice(0, Life::Hog);
    assert_eq!(m.sched.cpu_of(b), CpuId(1));
    m.run_until(2 * MS);
    m.sched.set_affinity(&mut m.platform, b, &CpuSet::only(CpuId(0)));
    m.reschedule();
    m.sched.set_affinity(&mut m.platform, b, &CpuSet::All);
    assert_eq!(m.sched.cpu_of(b), CpuId(0));
    if m.current[0] == Some(b) {
        m.sched.exec(&mut m.platform, CpuId(0), b);
    } else {
        m.sched.exec(&mut m.platform, CpuId(0), pinned);
        assert_eq!(m.platform.next_resched(0), None, "it may not run elsewhere");
        m.sched.block(&mut m.platform, CpuId(0), pinned, schedlab_core::BlockReason::Dead);
        m.kill(pinned);
        return;
    }
    m.reschedule();
    assert_eq!(m.current, [Some(pinned), Some(b)]);
    m.sched.inspect().audit().unwrap();
}

#[test]
fn a_group_of_3_2_weighs_two_without_tasks_and_its_shares_with_them() {
    let mut m = machine(Version::V3_2, 1);
    let group = m.sched.group_new(&mut m.platform, GroupId::ROOT, 3000).unwrap();
    let weight = |m: &Machine| {
        let fair = &m.sched.fair;
        let q = fair.queue_if_any(group, CpuId(0))?;
        Some(fair.entities[fair.queues[q].entity?].load.weight)
    };
    assert_eq!(weight(&m), None);
    m.in_group(group, Life::Periodic { run: MS, sleep: 5 * MS });
    m.nice(0, Life::Hog);
    assert_eq!(weight(&m), Some(3000));
    while m.tasks[0].state == State::Running {
        let now = m.now();
        m.run_until(now + MS);
    }
    assert_eq!(weight(&m), Some(2));
}

#[test]
fn the_tick_of_3_2_leaves_a_task_alone_that_is_catching_up() {
    // 2.6.32 treats an entity that is behind all others as one that is far ahead.
    let asks = |version: Version| {
        let mut m = machine(version, 1);
        m.nice(0, Life::Hog);
        m.nice(0, Life::Hog);
        m.run_until(MS + MS / 2);
        let (fair, rqs) = (&mut m.sched.fair, &mut m.sched.core);
        let e = fair.entity_of(rqs.pid(m.current[0].unwrap()));
        let q = fair.entities[e].cfs_rq;
        // It has run for longer than the minimum granularity, but not for its slice.
        fair.entities[e].prev_sum_exec = 0;
        fair.entities[e].sum_exec = 1_200_000;
        fair.entities[e].vruntime = fair.queues[q].min_vruntime - 50_000_000;
        fair.check_preempt_tick(rqs, &mut m.platform, q, e);
        m.platform.next_resched(0).is_some()
    };
    assert!(asks(Version::V2_6_32));
    assert!(asks(Version { tick_spares_behind: false, ..Version::V3_2 }));
    assert!(!asks(Version::V3_2));
}
