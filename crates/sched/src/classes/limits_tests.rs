//! Groups and their limits in all releases that have them: quotas and weights are respected, and
//! the data structures stay consistent under all operations.

use super::testing::{Bench, Life, MS, State};
use crate::random::Random;
use crate::registry::find;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use schedlab_core::{
    Administer, BuildConfig, ControlError, CpuId, CpuSet, Errno, GroupId, Parent, Policy, Quota,
    SchedAttr, Scheduler, TaskAttr, TaskId, TunableError, Waker,
};

type Machine = Bench<Box<dyn Scheduler>>;

const LIMITED: [&str; 4] = ["cfs@3.2", "eevdf@6.6", "eevdf@6.12", "eevdf@6.18"];
const GROUPED: [&str; 5] = ["cfs@2.6.32", "cfs@3.2", "eevdf@6.6", "eevdf@6.12", "eevdf@6.18"];

/// Tolerance of a group's CPU use against its quota in the long run: one slice.
const SLICE_NS: u64 = 5 * MS;

fn machine(spec: &str, cpus: u32) -> Machine {
    let (_, release) = find(spec).expect("a registered release");
    Bench::new(
        release.build(&BuildConfig::flat(cpus, 1000)).expect("a registered release"),
        cpus,
        1000,
    )
}

impl Machine {
    fn group(&mut self, parent: GroupId, shares: u64) -> GroupId {
        self.sched.group_new(&mut self.platform, parent, shares).unwrap()
    }

    /// Sets a quota in ms of each 100 ms.
    fn limit(&mut self, group: GroupId, quota_ms: u64) {
        self.set_quota(group, Some(quota_ms * 1000), 100_000, 0).unwrap();
    }

    fn set_quota(
        &mut self,
        group: GroupId,
        quota_us: Option<u64>,
        period_us: u64,
        burst_us: u64,
    ) -> Result<(), ControlError> {
        let quota = Quota { quota_us, period_us, burst_us, phase_us: None };
        self.sched.group_set_quota(&mut self.platform, group, quota)
    }

    fn pinned(&mut self, group: GroupId, cpu: u32, life: Life) -> TaskId {
        let attr = TaskAttr { group, allowed: CpuSet::only(CpuId(cpu)), ..TaskAttr::default() };
        self.start(attr, life, Parent::External)
    }

    /// Returns the CPU time of the given tasks between two times, ns.
    fn ran(&self, tasks: &[TaskId], from: u64, until: u64) -> u64 {
        self.slices
            .iter()
            .filter(|slice| tasks.contains(&TaskId(slice.3)))
            .map(|slice| slice.2.min(until).saturating_sub(slice.1.max(from)))
            .sum()
    }

    fn usage(&self, group: GroupId) -> u64 {
        self.sched.inspect().group_stats(group).unwrap().usage_ns
    }

    fn audit(&self, about: &str) {
        let books = self.sched.inspect().audit();
        books.unwrap_or_else(|wrong| panic!("{about}, at {} ns: {wrong}", self.now()));
    }
}

#[test]
fn a_hog_with_a_quota_runs_as_in_the_worked_example() {
    let mut m = machine("cfs@3.2", 1);
    let group = m.group(GroupId::ROOT, 1024);
    m.limit(group, 20);
    m.in_group(group, Life::Hog);
    m.run_until(250 * MS);
    assert_eq!(m.slices_ms(), [(0, 0., 20.), (0, 100., 120.), (0, 200., 220.)]);
    let stats = m.sched.inspect().group_stats(group).unwrap();
    assert_eq!((stats.nr_periods, stats.nr_throttled), (2, 2));
    assert_eq!((stats.usage_ns, stats.throttled_ns), (60 * MS, 160 * MS));
}

#[test]
fn a_quota_is_kept_to_within_a_slice() {
    for spec in LIMITED {
        for cpus in [1, 2, 4] {
            let mut m = machine(spec, cpus);
            let group = m.group(GroupId::ROOT, 1024);
            m.limit(group, 20);
            let limited: Vec<TaskId> = (0..5).map(|_| m.in_group(group, Life::Hog)).collect();
            let free = m.nice(0, Life::Hog);
            let periods = 30;
            m.run_until(periods * 100 * MS);
            m.audit(spec);
            let used = m.ran(&limited, 0, m.now());
            assert!(
                used.abs_diff(periods * 20 * MS) <= SLICE_NS,
                "{spec}, {cpus} CPUs: {used} ns in {periods} periods"
            );
            // In a single period on many CPUs, runtime drawn earlier can come on top.
            for period in 0..periods {
                let used = m.ran(&limited, period * 100 * MS, (period + 1) * 100 * MS);
                let limit = 20 * MS + SLICE_NS + (u64::from(cpus) - 1) * 2 * MS;
                assert!(used <= limit, "{spec}, {cpus} CPUs, period {period}: {used} ns");
            }
            let others = m.ran(&[free], 0, m.now());
            assert!(cpus > 1 || used + others == m.now(), "{spec}: the CPU never idles");
            let stats = m.sched.inspect().group_stats(group).unwrap();
            assert!(stats.nr_periods >= periods - 1 && stats.nr_throttled >= stats.nr_periods - 1);
            assert!(stats.usage_ns.abs_diff(used) <= u64::from(cpus) * MS);
        }
    }
}

#[test]
fn a_quota_of_several_cpus_is_kept_too() {
    for spec in LIMITED {
        let mut m = machine(spec, 4);
        let group = m.group(GroupId::ROOT, 1024);
        m.limit(group, 250);
        let limited: Vec<TaskId> = (0..4).map(|_| m.in_group(group, Life::Hog)).collect();
        m.run_until(2000 * MS);
        let used = m.ran(&limited, 0, m.now());
        assert!(used.abs_diff(20 * 250 * MS) <= 4 * SLICE_NS, "{spec}: {used}");
        m.audit(spec);
    }
}

#[test]
fn a_nested_quota_limits_within_its_parents() {
    for spec in LIMITED {
        for cpus in [1, 2] {
            let mut m = machine(spec, cpus);
            let outer = m.group(GroupId::ROOT, 1024);
            m.limit(outer, 30);
            let inner = [m.group(outer, 1024), m.group(outer, 1024)];
            m.limit(inner[0], 10);
            m.limit(inner[1], 30);
            let tasks =
                inner.map(|group| [m.in_group(group, Life::Hog), m.in_group(group, Life::Hog)]);
            for ms in 1..2000 {
                m.run_until(ms * MS);
                m.audit(spec);
            }
            m.run_until(2000 * MS);
            let used = tasks.map(|tasks| m.ran(&tasks, 0, m.now()));
            // A CPU keeps the last millisecond of what it has drawn. Where runtime expires, what a
            // CPU without tasks has kept is lost in every period.
            let expires = spec == "cfs@3.2";
            let lost = if expires { 20 * (u64::from(cpus) - 1) * MS } else { 0 };
            let (limit, tolerance) = (20 * 30 * MS, u64::from(cpus) * SLICE_NS);
            let both = used[0] + used[1];
            assert!(
                (limit - lost - tolerance..=limit + tolerance).contains(&both),
                "{spec}, {cpus} CPUs: {used:?}"
            );
            assert!(used[0] <= 20 * 10 * MS + SLICE_NS, "{spec}, {cpus} CPUs: {used:?}");
            assert!(used[0] >= 20 * 5 * MS, "{spec}, {cpus} CPUs: {used:?}");
            assert!(m.usage(outer).abs_diff(m.usage(inner[0]) + m.usage(inner[1])) <= 4 * MS);
        }
    }
}

#[test]
fn tasks_of_a_throttled_group_live_on_without_running() {
    for spec in LIMITED {
        let mut m = machine(spec, 2);
        let group = m.group(GroupId::ROOT, 1024);
        let other = m.group(GroupId::ROOT, 1024);
        m.limit(group, 20);
        let hogs = [0, 0, 0, 0].map(|cpu| m.pinned(group, cpu, Life::Hog));
        let life = Life::Periodic { run: MS, sleep: 30 * MS };
        let sleeper = m.pinned(group, 0, life);
        m.run_until(40 * MS);
        let all = [hogs[0], hogs[1], hogs[2], hogs[3], sleeper];
        let used = m.ran(&all, 0, m.now());
        let born = m.pinned(group, 0, Life::Hog);
        m.audit(spec);
        // One task may now move, but balancing does not move it while it is throttled.
        m.sched.set_affinity(&mut m.platform, hogs[0], &CpuSet::All);
        // One task must move, one changes its group, one changes its weight, one ends.
        m.sched.set_affinity(&mut m.platform, hogs[1], &CpuSet::only(CpuId(1)));
        m.reschedule();
        m.audit(spec);
        let mover = hogs[2];
        m.sched.set_group(&mut m.platform, mover, other).unwrap();
        let by = CpuId(1);
        m.sched.set_attr(&mut m.platform, sleeper, &SchedAttr::nice(5), by);
        m.sched.kill(&mut m.platform, hogs[3]);
        m.kill(hogs[3]);
        m.audit(spec);
        for ms in 41..99 {
            m.run_until(ms * MS);
            m.audit(spec);
            assert_eq!(m.sched.cpu_of(hogs[0]), CpuId(0), "{spec}");
        }
        assert_eq!(m.sched.cpu_of(hogs[1]), CpuId(1), "{spec}");
        let all = [hogs[0], hogs[1], hogs[3], sleeper, born, mover];
        // At its destination there was nothing left to draw.
        let meanwhile = m.ran(&[hogs[0], hogs[1], hogs[3], sleeper, born], 40 * MS, m.now());
        // (6.18 leaves 1 ns on each CPU when limits are written, which is enough for a tick.)
        let first_tick = if spec == "eevdf@6.18" { MS } else { 0 };
        assert_eq!(meanwhile, first_tick, "{spec}");
        assert!(m.ran(&[mover], 40 * MS, m.now()) >= 57 * MS, "{spec}");
        assert!(used <= 20 * MS + SLICE_NS, "{spec}: {used}");
        // It moves back into the throttled group while it runs.
        m.sched.set_group(&mut m.platform, mover, group).unwrap();
        m.reschedule();
        m.audit(spec);
        m.run_until(1000 * MS);
        m.audit(spec);
        let used = m.ran(&all, 100 * MS, m.now());
        assert!(used.abs_diff(9 * 20 * MS) <= 2 * SLICE_NS, "{spec}: {used}");
    }
}

#[test]
fn a_quota_can_be_changed_and_taken_back_at_any_time() {
    for spec in LIMITED {
        let mut m = machine(spec, 1);
        let group = m.group(GroupId::ROOT, 1024);
        let hog = m.in_group(group, Life::Hog);
        m.run_until(10 * MS);
        m.limit(group, 20);
        m.run_until(90 * MS);
        m.audit(spec);
        let used = m.ran(&[hog], 10 * MS, 90 * MS);
        // The millisecond since its last charge, before there was a quota, also counts.
        assert!((19 * MS..=20 * MS).contains(&used), "{spec}: {used}");
        m.set_quota(group, None, 100_000, 0).unwrap();
        m.audit(spec);
        m.run_until(500 * MS);
        m.audit(spec);
        assert_eq!(m.ran(&[hog], 90 * MS, 500 * MS), 410 * MS, "{spec}");
        m.limit(group, 50);
        m.run_until(2500 * MS);
        let used = m.ran(&[hog], 500 * MS, m.now());
        assert!(used.abs_diff(1000 * MS) <= 50 * MS, "{spec}: {used}");
    }
}

#[test]
fn what_a_sleeper_leaves_is_there_for_the_other_cpus() {
    for spec in LIMITED {
        let mut m = machine(spec, 2);
        let group = m.group(GroupId::ROOT, 1024);
        m.limit(group, 40);
        let brief = m.pinned(group, 0, Life::Work(MS));
        let hog = m.pinned(group, 1, Life::Hog);
        m.run_until(100 * MS);
        // The first CPU drew 5 ms, used 1 and kept 1.
        let used = [brief, hog].map(|task| m.ran(&[task], 0, m.now()));
        assert_eq!(used[0], MS, "{spec}");
        // (And 6.18 had 1 ns before, which is enough for a tick.)
        let most = if spec == "eevdf@6.18" { 39 * MS } else { 39 * MS - 1 };
        assert!((38 * MS..=most).contains(&used[1]), "{spec}: {used:?}");
    }
}

#[test]
fn unused_quota_can_be_saved_for_a_burst() {
    let run = |burst_us| {
        let mut m = machine("eevdf@6.12", 1);
        let group = m.group(GroupId::ROOT, 1024);
        m.set_quota(group, Some(20_000), 100_000, burst_us).unwrap();
        m.in_group(group, Life::Periodic { run: MS, sleep: 10_000 * MS });
        m.run_until(450 * MS);
        let hog = m.in_group(group, Life::Hog);
        m.run_until(500 * MS);
        let used = m.ran(&[hog], 450 * MS, 500 * MS);
        m.run_until(1000 * MS);
        (used, m.sched.inspect().group_stats(group).unwrap())
    };
    let (used, stats) = run(0);
    assert!((19 * MS..=22 * MS).contains(&used), "{used}");
    assert_eq!((stats.nr_bursts, stats.burst_ns), (0, 0));
    let (used, stats) = run(15_000);
    assert!((34 * MS..=37 * MS).contains(&used), "{used}");
    assert_eq!(stats.nr_bursts, 1);
    assert!(stats.burst_ns <= 15 * MS && stats.burst_ns >= 13 * MS, "{stats:?}");
}

#[test]
fn the_kernels_limits_on_limits_hold() {
    let mut m = machine("cfs@3.2", 1);
    let outer = m.group(GroupId::ROOT, 1024);
    let inner = m.group(outer, 1024);
    for (quota_us, period_us, burst_us) in [
        (Some(999), 100_000, 0),
        (Some((1 << 44) + 1), 100_000, 0),
        (Some(20_000), 999, 0),
        (Some(20_000), 1_000_001, 0),
        (Some(20_000), 100_000, 1),
    ] {
        assert!(m.set_quota(outer, quota_us, period_us, burst_us).is_err());
    }
    assert!(m.set_quota(GroupId::ROOT, Some(20_000), 100_000, 0).is_err());
    assert!(m.set_quota(GroupId(7), Some(20_000), 100_000, 0).is_err());
    // 3.2: no group may have a larger fraction than its parent.
    m.set_quota(outer, Some(50_000), 100_000, 0).unwrap();
    assert!(m.set_quota(inner, Some(50_001), 100_000, 0).is_err());
    m.set_quota(inner, Some(500_000), 1_000_000, 0).unwrap();
    assert!(m.set_quota(outer, Some(49_999), 100_000, 0).is_err());
    m.set_quota(outer, None, 100_000, 0).unwrap();
    m.set_quota(inner, Some(400_000), 100_000, 0).unwrap();
    assert!(m.set_quota(outer, Some(399_999), 100_000, 0).is_err());
    // In later releases the limit of the outer group simply also applies.
    let mut m = machine("eevdf", 1);
    let outer = m.group(GroupId::ROOT, 1024);
    let inner = m.group(outer, 1024);
    m.limit(outer, 50);
    m.limit(inner, 60);
    assert!(m.set_quota(inner, Some(60_000), 100_000, 60_001).is_err());
    m.set_quota(inner, Some(60_000), 100_000, 60_000).unwrap();
    // Before 3.2 there are no quotas.
    let mut m = machine("cfs@2.6.32", 1);
    let group = m.group(GroupId::ROOT, 1024);
    let refusal = m.set_quota(group, Some(20_000), 100_000, 0).unwrap_err();
    assert_eq!(refusal.errno(), Errno::NotSupported);
    let unknown = m.set_quota(GroupId(9), Some(20_000), 100_000, 0).unwrap_err();
    assert_eq!(unknown.errno(), Errno::NotSupported, "there are no quotas for any group");
    let refusal = refusal.to_string();
    assert!(refusal.contains("cfs@3.2"), "{refusal}");
    let tunable = "sched_cfs_bandwidth_slice_us";
    let unknown = m.sched.set_tunable(&mut m.platform, tunable, 1000);
    assert!(matches!(unknown, Err(TunableError::Unknown { .. })));
}

#[test]
fn a_smaller_slice_is_drawn_more_often() {
    // The first CPU's task ends with almost all of its slice undrawn, so that more is left for the
    // other CPU.
    let used = |slice_us| {
        let mut m = machine("cfs@3.2", 2);
        let tunable = "sched_cfs_bandwidth_slice_us";
        m.sched.set_tunable(&mut m.platform, tunable, slice_us).unwrap();
        let group = m.group(GroupId::ROOT, 1024);
        m.limit(group, 20);
        m.pinned(group, 0, Life::Hog);
        let hog = m.pinned(group, 1, Life::Hog);
        m.run_until(100 * MS);
        m.ran(&[hog], 0, m.now())
    };
    assert_eq!([5_000, 20_000].map(used), [10 * MS, 0]);
}

/// Returns the groups' fractions of the CPU time after `seconds`, in millionths.
fn parts(m: &mut Machine, groups: &[GroupId], seconds: u64) -> Vec<u64> {
    let from: Vec<u64> = groups.iter().map(|&group| m.usage(group)).collect();
    let start = m.now();
    m.run_until(start + seconds * 1000 * MS);
    m.audit("shares");
    let all = seconds * 1000 * MS * m.current.len() as u64;
    let used = groups.iter().zip(from).map(|(&group, from)| m.usage(group) - from);
    used.map(|ns| ns / (all / 1_000_000)).collect()
}

fn assert_parts(about: &str, found: &[u64], expected: &[u64]) {
    for (&found, &expected) in found.iter().zip(expected) {
        assert!(
            found.abs_diff(expected) <= 10_000,
            "{about}: {found} where {expected} was due, of a million"
        );
    }
}

#[test]
fn nested_groups_get_what_their_shares_say_on_one_cpu() {
    for spec in GROUPED {
        let mut m = machine(spec, 1);
        let a = m.group(GroupId::ROOT, 1024);
        let b = m.group(GroupId::ROOT, 3072);
        let (ba, bb) = (m.group(b, 512), m.group(b, 1536));
        let movable = m.in_group(a, Life::Hog);
        for group in [a, ba, ba, bb] {
            m.in_group(group, Life::Hog);
        }
        let all = [a, b, ba, bb];
        let found = parts(&mut m, &all, 20);
        assert_parts(spec, &found, &[250_000, 750_000, 187_500, 562_500]);
        // The shares change during the run.
        m.sched.group_set_shares(&mut m.platform, a, 9216).unwrap();
        let found = parts(&mut m, &all, 20);
        assert_parts(spec, &found, &[750_000, 250_000, 62_500, 187_500]);
        // A group is emptied and filled again.
        m.sched.set_group(&mut m.platform, movable, bb).unwrap();
        m.reschedule();
        let stays = TaskId(1);
        m.sched.set_group(&mut m.platform, stays, GroupId::ROOT).unwrap();
        m.reschedule();
        // A task of 2.6.32 keeps its virtual time when it changes its group, where it may be far
        // ahead or meaningless.
        let settled = m.now() + 20_000 * MS;
        m.run_until(settled);
        let found = parts(&mut m, &all, 20);
        assert_parts(spec, &found, &[0, 750_000, 187_500, 562_500]);
        m.sched.set_group(&mut m.platform, movable, a).unwrap();
        m.reschedule();
        let settled = m.now() + 20_000 * MS;
        m.run_until(settled);
        let found = parts(&mut m, &all, 20);
        let total = 1024 + 9216 + 3072;
        let part = |shares: u64| shares * 1_000_000 / total;
        assert_parts(spec, &found, &[part(9216), part(3072), part(768), part(2304)]);
    }
}

#[test]
fn groups_get_what_their_shares_say_on_several_cpus() {
    for spec in GROUPED {
        let mut m = machine(spec, 4);
        let a = m.group(GroupId::ROOT, 1024);
        let b = m.group(GroupId::ROOT, 3072);
        let (ba, bb) = (m.group(b, 1024), m.group(b, 3072));
        for cpu in 0..4 {
            for group in [a, ba, bb] {
                m.pinned(group, cpu, Life::Hog);
            }
        }
        let found = parts(&mut m, &[a, b, ba, bb], 20);
        assert_parts(spec, &found, &[250_000, 750_000, 187_500, 562_500]);
    }
}

#[test]
fn an_idle_group_gets_what_three_in_a_thousand_are() {
    for spec in ["eevdf@6.6", "eevdf@6.12", "eevdf@6.18"] {
        let mut m = machine(spec, 1);
        let (a, b) = (m.group(GroupId::ROOT, 1024), m.group(GroupId::ROOT, 4096));
        let below = m.group(b, 1024);
        for group in [a, b, below] {
            m.in_group(group, Life::Hog);
        }
        m.run_until(55 * MS);
        m.sched.group_set_idle(&mut m.platform, b, true).unwrap();
        m.audit(spec);
        let found = parts(&mut m, &[a, b], 20);
        assert_parts(spec, &found, &[1_000_000 * 1024 / 1027, 1_000_000 * 3 / 1027]);
        assert!(found[1] < 6_000, "{spec}: {found:?}");
        assert!(m.sched.group_set_shares(&mut m.platform, b, 1024).is_err());
        m.sched.group_set_idle(&mut m.platform, b, false).unwrap();
        m.audit(spec);
        let found = parts(&mut m, &[a, b], 20);
        assert_parts(spec, &found, &[500_000, 500_000]);
        assert!(m.sched.group_set_idle(&mut m.platform, GroupId::ROOT, true).is_err());
    }
    let mut m = machine("cfs@3.2", 1);
    let group = m.group(GroupId::ROOT, 1024);
    assert!(m.sched.group_set_idle(&mut m.platform, group, true).is_err());
}

/// Performs all operations on tasks and groups in random order, and checks consistency after each.
fn random_life(spec: &str, cpus: u32, seed: u64, steps: u32) {
    let about = alloc::format!("{spec}, seed {seed}");
    let mut m = machine(spec, cpus);
    let mut random = Random(seed);
    let mut groups = alloc::vec![GroupId::ROOT];
    let allowed = |random: &mut Random| match random.below(3) {
        0 => CpuSet::only(CpuId(random.below(u64::from(cpus)) as u32)),
        _ => CpuSet::All,
    };
    let attr = |random: &mut Random| match random.below(8) {
        0 => SchedAttr::realtime(Policy::Fifo, 1 + random.below(99) as u32),
        1 => SchedAttr { policy: Policy::Idle, ..SchedAttr::default() },
        _ => SchedAttr::nice(random.below(40) as i32 - 20),
    };
    for _ in 0..steps {
        let until = m.now() + random.below(3 * MS);
        m.run_until(until);
        m.audit(&about);
        let cpu = CpuId(random.below(u64::from(cpus)) as u32);
        let task = (!m.tasks.is_empty()).then(|| TaskId(random.below(m.tasks.len() as u64) as u32));
        let alive = task.filter(|task| m.tasks[task.index()].state != State::Dead);
        let group = random.of(&groups);
        match (random.below(12), alive) {
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
                    group,
                    ..TaskAttr::default()
                };
                let parent = match m.current[cpu.index()] {
                    Some(task)
                        if random.below(2) == 0
                            && m.tasks[task.index()].state == State::Running =>
                    {
                        Parent::Task { task, cpu }
                    }
                    _ => Parent::External,
                };
                m.start(attr, life, parent);
            }
            (2, _) if groups.len() < 10 => {
                let shares = random.below(20_000);
                groups.push(m.group(group, shares));
            }
            (2 | 3, _) => {
                let (quota_us, period_us) = match random.below(4) {
                    0 => (None, 100_000),
                    _ => (Some(1_000 + random.below(10_000)), 1_000 * (5 + random.below(30))),
                };
                // Some are refused.
                let _ = m.set_quota(group, quota_us, period_us, 0);
            }
            (4, Some(task)) => m.sched.set_attr(&mut m.platform, task, &attr(&mut random), cpu),
            (5, Some(task)) => m.sched.set_affinity(&mut m.platform, task, &allowed(&mut random)),
            (6 | 7, Some(task)) => m.sched.set_group(&mut m.platform, task, group).unwrap(),
            (8, _) => {
                if let Some(task) = m.current[cpu.index()]
                    && m.tasks[task.index()].state == State::Running
                {
                    if random.below(2) == 0 {
                        m.sched.yield_now(&mut m.platform, cpu, task);
                    } else {
                        // The task blocks, and is woken before it is switched away.
                        m.block(cpu.0, task, false, u64::MAX);
                        m.audit(&about);
                        m.wake(task, Waker::Interrupt { cpu });
                    }
                }
            }
            (9, Some(task)) if m.tasks[task.index()].state == State::Asleep => {
                m.wake(task, Waker::Process { cpu });
            }
            (10, Some(task)) if !m.current.contains(&Some(task)) && random.below(2) == 0 => {
                m.sched.kill(&mut m.platform, task);
                m.kill(task);
            }
            (11, _) if group != GroupId::ROOT => {
                // Refused where there are no idle groups, and for the shares of idle groups.
                let idle = random.below(2) == 0;
                let _ = m.sched.group_set_idle(&mut m.platform, group, idle);
                let shares = random.below(5000);
                let _ = m.sched.group_set_shares(&mut m.platform, group, shares);
            }
            _ => {}
        }
        m.audit(&about);
        m.reschedule();
        m.audit(&about);
    }
}

#[test]
fn a_long_random_life_with_limits_leaves_the_books_in_order() {
    for spec in LIMITED {
        for (seed, cpus) in [(1, 1), (2, 2), (3, 4), (4, 4), (5, 1), (6, 9)] {
            random_life(spec, cpus, seed, 1500);
        }
    }
}
