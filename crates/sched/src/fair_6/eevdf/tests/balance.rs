//! Which tasks are moved, and whether a CPU balances at all: conditions of 6.18 in addition to the
//! conditions of all releases.

use super::*;
use crate::classes::testing;
use crate::fair_6::flags::Attach;
use crate::fair_6::ids::{CfsRqId, EntityId};
use schedlab_core::Quota;

/// Two tasks on CPU 0 and one on CPU 1. At 1 ms the task that has run on CPU 0 is ahead of V by
/// half of that, and the other one is equally far behind.
fn three_on_two(version: Version) -> (Bench, [TaskId; 2]) {
    let mut bench = Bench::new(version, 2);
    let [ran, waited, _] = [0, 0, 1].map(|cpu| {
        let allowed = CpuSet::only(CpuId(cpu));
        bench.fork_with(&TaskAttr { allowed, ..TaskAttr::default() })
    });
    assert_eq!(bench.settle(), Some(ran));
    bench.at(MS);
    bench.sched.tick(&mut bench.platform, CPU);
    (bench, [ran, waited])
}

#[test]
fn who_has_had_too_much_is_not_put_behind_others_in_6_18() {
    let stays = |bench: &Bench, task, to| {
        bench.sched.fair.is_ineligible_beside_others(bench.pid(task), CpuId(to))
    };
    let (mut bench, [ran, waited]) = three_on_two(Version::V6_18);
    assert!(stays(&bench, ran, 1) && !stays(&bench, waited, 1));
    // Placement ignores lag.
    bench.tune("PLACE_LAG", 0);
    assert!(!stays(&bench, ran, 1));
    for version in [Version::V6_6, Version::V6_12] {
        let (bench, [ran, _]) = three_on_two(version);
        assert!(!stays(&bench, ran, 1), "{version:?}");
    }
    // On an empty CPU it does not matter.
    let mut bench = Bench::new(Version::V6_18, 2);
    let allowed = CpuSet::only(CPU);
    let attr = TaskAttr { allowed, ..TaskAttr::default() };
    let [ran, _] = [0; 2].map(|_| bench.fork_with(&attr));
    assert_eq!(bench.settle(), Some(ran));
    bench.at(MS);
    bench.sched.tick(&mut bench.platform, CPU);
    assert!(!stays(&bench, ran, 1));
}

/// One of two tasks waits on CPU 0 while CPU 1 is about to go idle. Its calls have achieved nothing
/// for a long time: two out of 1024 random numbers let it balance.
#[test]
fn newly_idle_cpus_rarely_look_in_vain_with_ni_random() {
    for (on, pulls) in [(0, true), (1, false)] {
        let mut bench = Bench::new(Version::V6_18, 2);
        bench.tune("NI_RANDOM", on);
        let only = TaskAttr { allowed: CpuSet::only(CPU), ..TaskAttr::default() };
        let tasks = [0; 2].map(|_| bench.fork_with(&only));
        bench.schedule();
        for task in tasks {
            bench.sched.set_affinity(&mut bench.platform, task, &CpuSet::All);
        }
        bench.at(100 * MS);
        let level = bench.sched.core.domains.of(CPU).next().unwrap();
        let newidle = &mut bench.sched.fair.balance.domain(CpuId(1), level).newidle;
        (0..20 * 512).for_each(|_| newidle.count(false));
        assert_eq!(newidle.weight(), 1);
        let pulled = bench.sched.schedule(&mut bench.platform, CpuId(1));
        assert_eq!(pulled.is_some(), pulls, "NI_RANDOM {on}");
    }
}

type Machine = testing::Bench<Eevdf>;

/// Two CPUs, and a CPU-bound task, allowed on CPU 0 only, in a group that has 10 ms of each 100 ms.
/// At 20 ms it is held back.
fn held_back(version: Version) -> (Machine, GroupId, TaskId) {
    let mut m = Machine::new(Eevdf::new(version, &BuildConfig::flat(2, 1000)), 2, 1000);
    let group = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
    let quota = Quota { quota_us: Some(10_000), period_us: 100_000, burst_us: 0, phase_us: None };
    m.sched.group_set_quota(&mut m.platform, group, quota).unwrap();
    let attr = TaskAttr { group, allowed: CpuSet::only(CPU), ..TaskAttr::default() };
    // (At time 0 averages do not show whether they were ever updated.)
    m.run_until(MS);
    let hog = m.start(attr, testing::Life::Hog, Parent::External);
    m.run_until(20 * MS);
    assert_eq!(m.current[0], None, "{version:?}");
    (m, group, hog)
}

#[test]
fn a_task_that_is_held_back_takes_its_load_along() {
    let (mut m, group, hog) = held_back(Version::V6_18);
    let load = |m: &Machine, cpu: u32| {
        let fair = &m.sched.fair;
        let q = fair.groups[group.index()].cfs_rq_on(CpuId(cpu)).unwrap();
        fair.cfs_rqs[q].avg.load_avg
    };
    assert!(load(&m, 0) > 900, "a CPU-bound task of weight 1024: {}", load(&m, 0));
    m.sched.set_affinity(&mut m.platform, hog, &CpuSet::only(CpuId(1)));
    assert_eq!(m.sched.cpu_of(hog), CpuId(1));
    assert!(load(&m, 0) < 16 && load(&m, 1) > 900, "{} {}", load(&m, 0), load(&m, 1));
}

/// A group with two groups below it. The entities of all three are attached when the groups are
/// made: each has a load sum of 1, and adds 1024 times that to the queue above.
#[test]
fn a_new_group_is_attached_with_a_load_sum_of_one() {
    for version in [Version::V6_6, Version::V6_18, Version::V7_1] {
        let mut m = Machine::new(Eevdf::new(version, &BuildConfig::flat(2, 1000)), 2, 1000);
        let mut below = |parent| m.sched.group_new(&mut m.platform, parent, 1024).unwrap();
        let outer = below(GroupId::ROOT);
        let [used, _] = [0; 2].map(|_| below(outer));
        assert_eq!(m.sched.fair.cfs_rqs[CfsRqId::of_cpu(CPU)].avg.load_sum, 1024, "{version:?}");
        let fair = &mut m.sched.fair;
        let [q, inner] = [outer, used].map(|group| fair.group_cfs_rq(group, CPU));
        let entity = fair.cfs_rqs[inner].owner.unwrap();
        assert_eq!(fair.info[entity].avg.load_sum, 1);
        assert_eq!((fair.cfs_rqs[q].avg.load_sum, fair.cfs_rqs[inner].avg.load_sum), (2048, 0));
        // At 63 ms a task comes whose load average is 727, so that its load sum is 33226. With the
        // 1 that is there the entity's average is 727, too (1024 x 33227 / 46801), not 726.
        fair.cfs_rqs[inner].pending.add(33_226);
        fair.update_load_avg(63 * MS, entity, Attach::No);
        assert_eq!(fair.info[entity].avg.load_avg, 727, "{version:?}");
    }
}

#[test]
fn nobody_is_balanced_to_a_cpu_on_which_its_group_is_throttled() {
    for version in [Version::V6_6, Version::V6_12, Version::V6_18] {
        let (mut m, group, hog) = held_back(version);
        // In the same group, on CPU 1, where its queue has got no runtime and is not throttled; and
        // in no group.
        let attr = TaskAttr { group, allowed: CpuSet::only(CpuId(1)), ..TaskAttr::default() };
        let same = m.start(attr, testing::Life::Hog, Parent::External);
        let free = m.nice(0, testing::Life::Hog);
        let stays = |m: &Machine, task, to| {
            let pid = m.sched.core.pid(task);
            m.sched.fair.is_throttled_pair(pid, CpuId(to))
        };
        assert!(stays(&m, same, 0) && stays(&m, hog, 1), "{version:?}");
        assert!(!stays(&m, free, 0) && !stays(&m, free, 1), "{version:?}");
    }
}

#[test]
fn the_audit_finds_what_does_not_add_up() {
    let bench = || {
        let mut bench = Bench::new(Version::V6_18, 2);
        let only = TaskAttr { allowed: CpuSet::only(CPU), ..TaskAttr::default() };
        let tasks = [0; 3].map(|_| bench.fork_with(&only));
        bench.settle();
        (bench, tasks)
    };
    let (good, _) = bench();
    assert_eq!(good.sched.inspect().audit(), Ok(()));
    type Corrupt<'a> = &'a dyn Fn(&mut Fair<EarliestDeadline>, EntityId);
    let corruptions: [Corrupt<'_>; 8] = [
        &|fair, _| fair.cfs_rqs[root_rq()].nr_queued += 1,
        &|fair, _| fair.cfs_rqs[root_rq()].load += 1,
        &|fair, _| fair.cfs_rqs[root_rq()].h_nr_queued += 1,
        &|fair, _| fair.cfs_rqs[root_rq()].h_nr_runnable -= 1,
        &|fair, _| fair.cfs_rqs[root_rq()].h_nr_idle += 1,
        &|fair, e| fair.info[e].load += 1,
        &|fair, e| fair.se[e].on_rq = false,
        &|fair, e| fair.info[e].cfs_rq = CfsRqId::of_cpu(CpuId(1)),
    ];
    for (number, corrupt) in corruptions.iter().enumerate() {
        let (mut bench, tasks) = bench();
        let e = bench.sched.fair.se_of(bench.pid(tasks[2]));
        corrupt(&mut bench.sched.fair, e);
        assert!(bench.sched.inspect().audit().is_err(), "corruption {number}");
    }
}

#[test]
fn the_audit_finds_a_broken_limbo() {
    let (m, _, hog) = held_back(Version::V6_18);
    let (rqs, pid) = (&m.sched.core, m.sched.core.pid(hog));
    let limbo = m.sched.fair.cfs_rq_of(m.sched.fair.se_of(pid));
    assert_eq!((m.sched.fair.limbo_len(limbo), m.sched.fair.recount(rqs)), (Some(1), Ok(())));
    type Corrupt<'a> = &'a dyn Fn(&mut Fair<EarliestDeadline>);
    let corruptions: [Corrupt<'_>; 4] = [
        &|fair| fair.tasks[pid.index()].limbo_after = Some(pid),
        &|fair| fair.tasks[pid.index()].in_limbo = false,
        &|fair| {
            let e = fair.se_of(pid);
            fair.info[e].cfs_rq = root_rq();
        },
        &|fair| fair.cfs_rqs[limbo].limbo = None,
    ];
    for (number, corrupt) in corruptions.iter().enumerate() {
        let (mut m, ..) = held_back(Version::V6_18);
        corrupt(&mut m.sched.fair);
        let found = m.sched.fair.recount(&m.sched.core).expect_err("the state is corrupt");
        let complaint = match number {
            0 => "its limbo list is broken",
            3 => "a task in limbo is in no limbo list",
            _ => "",
        };
        assert!(found.contains(complaint), "corruption {number}: {found}");
    }
}
