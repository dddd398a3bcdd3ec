//! The worked examples of the algorithm's description, and single rules, driven through the
//! scheduler's hooks.

use super::{Cfs6, Version, rules};
use crate::fair_6::entity::Entity;
use schedlab_core::{
    Administer, BlockReason, BuildConfig, CpuId, CpuSet, GroupId, Parent, Platform, Policy,
    Question, SchedAttr, Scheduler, TaskAttr, TaskId, Waker,
};

const CPU: CpuId = CpuId(0);
const MS: u64 = 1_000_000;

/// A scheduler with one CPU in use and its platform, driven by hand.
struct Bench {
    sched: Cfs6,
    platform: Platform,
    tasks: u32,
}

impl Bench {
    fn new(version: Version, cpus: u32) -> Bench {
        let build = BuildConfig::flat(cpus, 1000);
        let sched = Cfs6::with_version(version, &build);
        Bench { sched, platform: build.platform(), tasks: 0 }
    }

    fn tune(&mut self, name: &str, value: i64) {
        self.sched.set_tunable(&mut self.platform, name, value).unwrap();
    }

    fn group(&mut self, shares: u64) -> GroupId {
        self.sched.group_new(&mut self.platform, GroupId::ROOT, shares).unwrap()
    }

    fn fork(&mut self, sched: SchedAttr, group: GroupId) -> TaskId {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        let attr = TaskAttr { sched, group, ..TaskAttr::default() };
        self.sched.fork(&mut self.platform, task, &attr, Parent::External);
        task
    }

    fn nice(&mut self, nice: i32) -> TaskId {
        self.fork(SchedAttr::nice(nice), GroupId::ROOT)
    }

    fn at(&mut self, now_ns: u64) {
        self.platform.set_now_ns(now_ns);
        self.platform.set_jiffies(now_ns / MS);
    }

    /// Reschedules if that was requested. Returns the task that runs then.
    fn settle(&mut self) -> TaskId {
        if self.platform.resched_pending(CPU) {
            self.platform.clear_resched(CPU);
            self.sched.schedule(&mut self.platform, CPU);
        }
        self.sched.inspect().audit().unwrap();
        self.sched.core.task(self.sched.core.curr(CPU)).expect("a task runs")
    }

    /// Ticks at each of these ms. Returns the task that runs after each tick.
    fn ticks(&mut self, ms: core::ops::RangeInclusive<u64>) -> alloc::vec::Vec<TaskId> {
        ms.map(|ms| {
            self.at(ms * MS);
            self.sched.tick(&mut self.platform, CPU);
            self.settle()
        })
        .collect()
    }

    fn entity(&self, task: TaskId) -> &Entity {
        let fair = &self.sched.fair;
        &fair.se[fair.se_of(self.sched.core.pid(task))]
    }

    fn vruntime(&self, task: TaskId) -> i64 {
        self.entity(task).vruntime.0 as i64
    }

    fn sleep(&mut self, task: TaskId) -> TaskId {
        self.sched.block(&mut self.platform, CPU, task, BlockReason::Interruptible);
        self.settle()
    }

    fn wake(&mut self, task: TaskId) -> TaskId {
        self.sched.wake(&mut self.platform, task, Waker::Interrupt { cpu: CPU });
        self.settle()
    }
}

#[test]
fn three_hogs() {
    // Example 14.1.
    let mut bench = Bench::new(Version::V6_1, 1);
    let [a, b, c] = [0; 3].map(|nice| bench.nice(nice));
    assert_eq!([a, b, c].map(|task| bench.vruntime(task)), [4_951_422, 1_951_422, 951_423]);
    assert_eq!(bench.settle(), c);
    assert_eq!(bench.ticks(1..=9), [c, b, b, c, c, b, b, a, a]);
    assert_eq!(bench.ticks(10..=10), [c], "then each runs two ms in turn");
}

#[test]
fn a_tick_compares_virtual_with_real_time() {
    // Example 14.2: nice 5 is a slice ahead after 1 ms of its 1.479 ms.
    let mut bench = Bench::new(Version::V6_1, 1);
    let (a, b) = (bench.nice(0), bench.nice(5));
    assert_eq!((bench.vruntime(a), bench.vruntime(b)), (4_951_422, 3_472_393));
    assert_eq!(bench.settle(), b);
    assert_eq!(bench.ticks(1..=8), [a, a, a, a, a, b, b, a]);
    assert_eq!(bench.vruntime(b), 12_642_541);
}

#[test]
fn a_sleeper_gets_half_of_the_latency() {
    // Example 14.3.
    let mut bench = Bench::new(Version::V6_1, 1);
    let (h, s) = (bench.nice(0), bench.nice(0));
    assert_eq!(bench.settle(), s);
    bench.at(MS);
    assert_eq!(bench.sleep(s), h);
    assert_eq!(bench.vruntime(s), 2_951_422);
    bench.ticks(2..=9);
    bench.at(10 * MS);
    assert_eq!(bench.wake(s), s);
    assert_eq!(bench.vruntime(s), 10_951_422);
    assert_eq!(bench.platform.rule(Question::Preempt), rules::FAR_BEHIND);
}

#[test]
fn groups_by_shares_with_stale_first_weights() {
    // Example 14.4.
    let mut bench = Bench::new(Version::V6_1, 1);
    let (a, b) = (bench.group(1024), bench.group(2048));
    let first = bench.fork(SchedAttr::nice(0), a);
    let second = bench.fork(SchedAttr::nice(0), b);
    assert_eq!((bench.vruntime(first), bench.vruntime(second)), (4_951_420, 0));
    assert_eq!(bench.settle(), first);
    let ran = bench.ticks(1..=19);
    let expected = [(1, first), (5, second), (2, first), (4, second), (2, first), (4, second)];
    let expected = expected.iter().flat_map(|&(ms, task)| core::iter::repeat_n(task, ms));
    assert_eq!(ran[..18], expected.collect::<alloc::vec::Vec<_>>());
}

#[test]
fn times_grow_with_cpus_and_only_scaling_recomputes_nr_latency() {
    // Example 14.5.
    let now = |bench: &Bench| {
        let tunables = &bench.sched.fair.tunables;
        let us = [tunables.latency_ns, tunables.min_granularity_ns, tunables.wakeup_granularity_ns];
        (us.map(|ns| ns / 1000), tunables.nr_latency)
    };
    let mut bench = Bench::new(Version::V6_1, 4);
    assert_eq!(now(&bench), ([18_000, 2_250, 3_000], 8));
    bench.tune("latency_ns", 10_000_000);
    bench.tune("min_granularity_ns", 4_000_000);
    assert_eq!(now(&bench), ([10_000, 4_000, 3_000], 8));
    bench.tune("tunable_scaling", 1);
    assert_eq!(now(&bench), ([10_000, 4_000, 3_000], 3));
    // The sysctls of 5.10 recompute at each write.
    let mut old = Bench::new(Version::V5_10, 4);
    old.tune("sched_min_granularity_ns", 4_000_000);
    assert_eq!(now(&old), ([18_000, 4_000, 3_000], 5));
}

#[test]
fn slices_follow_all_tasks_of_the_cpu_and_are_never_too_short() {
    let mut bench = Bench::new(Version::V6_1, 1);
    let nine: alloc::vec::Vec<TaskId> = (0..9).map(|_| bench.nice(0)).collect();
    let slow = bench.nice(19);
    bench.settle();
    let fair = &bench.sched.fair;
    let slice = |task: TaskId| {
        let e = fair.se_of(bench.sched.core.pid(task));
        fair.sched_slice(fair.cfs_rq_of(e), e)
    };
    // The period is 7.5 ms, and this slice 1024 / 9231 of it.
    assert_eq!(slice(nine[0]) / 1000, 831);
    assert_eq!(slice(slow), 750_000, "BASE_SLICE");
}

#[test]
fn a_yielder_lets_pass_who_is_near() {
    let mut bench = Bench::new(Version::V6_1, 1);
    let (_, b) = (bench.nice(0), bench.nice(0));
    assert_eq!(bench.settle(), b);
    bench.sched.yield_now(&mut bench.platform, CPU, b);
    assert_eq!(bench.settle(), b, "the other is 3 ms ahead: too far");
    bench.ticks(1..=2);
    bench.at(2_500_000);
    bench.sched.yield_now(&mut bench.platform, CPU, b);
    let a = bench.settle();
    assert_ne!(a, b, "half a ms ahead");
    assert_eq!(bench.platform.rule(Question::Pick), rules::SKIP_BUDDY);
}

#[test]
fn idle_policy_gives_way_and_never_interrupts() {
    let mut bench = Bench::new(Version::V6_1, 1);
    let idle = bench.fork(SchedAttr { policy: Policy::Idle, ..SchedAttr::nice(0) }, GroupId::ROOT);
    assert_eq!(bench.settle(), idle);
    let task = bench.nice(0);
    assert_eq!(bench.settle(), task);
    assert_eq!(bench.platform.rule(Question::Preempt), rules::IDLE_GIVES_WAY);
    let second =
        bench.fork(SchedAttr { policy: Policy::Idle, ..SchedAttr::nice(0) }, GroupId::ROOT);
    assert_eq!(bench.settle(), task);
    assert_ne!(second, task);
    assert_eq!(bench.platform.rule(Question::Preempt), rules::NEVER_PREEMPTS);
}

/// Two tasks on CPU 0, of which one waits, and CPU 1, which is about to go idle and has this
/// average idle time. Returns whether CPU 1 pulls the waiting one.
fn pulls_newly_idle(version: Version, avg_idle_ns: u64) -> bool {
    let mut bench = Bench::new(version, 2);
    let only = TaskAttr { allowed: CpuSet::only(CPU), ..TaskAttr::default() };
    for task in [0, 1].map(TaskId) {
        bench.sched.fork(&mut bench.platform, task, &only, Parent::External);
    }
    bench.platform.clear_resched(CPU);
    bench.sched.schedule(&mut bench.platform, CPU);
    for task in [0, 1].map(TaskId) {
        bench.sched.set_affinity(&mut bench.platform, task, &CpuSet::All);
    }
    bench.at(100 * MS);
    bench.sched.fair.balance.avg_idle_ns[1] = avg_idle_ns;
    bench.sched.schedule(&mut bench.platform, CpuId(1)).is_some()
}

#[test]
fn who_idles_briefly_does_not_balance_before_in_5_10() {
    assert!(!pulls_newly_idle(Version::V5_10, 499_999));
    assert!(pulls_newly_idle(Version::V5_10, 500_000));
    assert!(pulls_newly_idle(Version::V6_1, 0));
}

#[test]
fn idle_times_are_averaged_by_eighths_in_5_10() {
    let mut bench = Bench::new(Version::V5_10, 2);
    let fair = &mut bench.sched.fair;
    fair.balance.idle_since_ns[1] = MS;
    fair.ends_idling(MS + 100_000, CpuId(1));
    assert_eq!(fair.balance.avg_idle_ns[1], 1_000_000 - 900_000 / 8);
    fair.balance.idle_since_ns[1] = 2 * MS;
    fair.ends_idling(90 * MS, CpuId(1));
    assert_eq!(fair.balance.avg_idle_ns[1], 1_000_000, "at most twice the cost of a migration");
    fair.ends_idling(91 * MS, CpuId(1));
    assert_eq!(fair.balance.avg_idle_ns[1], 1_000_000, "it was not idle");
}

#[test]
fn who_is_bound_twice_before_it_can_leave_goes_where_it_may_be() {
    let mut bench = Bench::new(Version::V6_1, 3);
    let task = bench.nice(0);
    assert_eq!(bench.settle(), task);
    for only in [1, 2].map(CpuId) {
        bench.sched.set_affinity(&mut bench.platform, task, &CpuSet::only(only));
    }
    bench.platform.clear_resched(CPU);
    bench.sched.schedule(&mut bench.platform, CPU);
    assert_eq!(bench.sched.cpu_of(task), CpuId(2));
}

/// At 10 ms a sleeper of the root group's queue is moved to another group; 6.1. It is placed as if
/// it woke, 3 ms behind the queue that it leaves, and equally far behind the one that it joins.
#[test]
fn a_sleeper_that_changes_group_is_as_far_behind_there() {
    let mut bench = Bench::new(Version::V6_1, 1);
    let group = bench.group(1024);
    let (hog, sleeper) = (bench.nice(0), bench.nice(0));
    assert_eq!(bench.settle(), sleeper);
    bench.at(MS);
    assert_eq!(bench.sleep(sleeper), hog);
    bench.ticks(2..=20);
    let min = |bench: &Bench| {
        let fair = &bench.sched.fair;
        let q = fair.cfs_rq_of(fair.se_of(bench.sched.core.pid(sleeper)));
        fair.rule.queues[q].min_vruntime.0 as i64
    };
    let asleep = bench.vruntime(sleeper);
    assert!(
        asleep < min(&bench) - 3_000_000,
        "it has slept for longer than the limit of the \
        credit"
    );
    let before = min(&bench);
    bench.sched.set_group(&mut bench.platform, sleeper, group).unwrap();
    assert!(min(&bench) < before, "a queue on which no task has run");
    assert_eq!(bench.vruntime(sleeper), min(&bench) - 3_000_000);
}

/// The virtual times of a queue and of a task that has slept for longer than 2^63 / 1024 ns can no
/// longer be compared. The task is placed like any sleeper, 3 ms behind, even if it seems to be
/// ahead.
#[test]
fn who_has_slept_for_104_days_keeps_nothing() {
    const LONG: u64 = (1 << 63) / 1024;
    for (slept, keeps) in [(LONG - 1, true), (LONG, true), (LONG + 1, false), (2 * LONG, false)] {
        let mut bench = Bench::new(Version::V6_1, 1);
        let task = bench.nice(0);
        let fair = &mut bench.sched.fair;
        let e = fair.se_of(bench.sched.core.pid(task));
        let q = fair.cfs_rq_of(e);
        let min = fair.rule.queues[q].min_vruntime;
        fair.info[e].exec_start = 1;
        fair.se[e].vruntime = min.plus(MS);
        fair.place_entity(1 + slept, q, e, false);
        let ahead = fair.se[e].vruntime.since(min);
        assert_eq!(ahead, if keeps { MS as i64 } else { -3_000_000 }, "{slept} ns");
    }
}

/// Nice -5, 0 and 5 weigh 3121, 1024 and 335: the last gets 335 / 4480 of the 6 ms.
#[test]
fn slices_of_rhel_8_5_have_no_minimum() {
    for (version, least) in
        [(Version::Rhel8_5, 448_000..449_000), (Version::V5_15, 750_000..750_001)]
    {
        let mut bench = Bench::new(version, 1);
        let tasks = [-5, 0, 5].map(|nice| bench.nice(nice));
        bench.settle();
        let fair = &bench.sched.fair;
        let e = fair.se_of(bench.sched.core.pid(tasks[2]));
        let slice = fair.sched_slice(fair.cfs_rq_of(e), e);
        assert!(least.contains(&slice), "{version:?}: {slice}");
    }
}

/// Three tasks on one of two CPUs. The one that runs was listed first of all. It is picked again:
/// now another one is the oldest.
#[test]
fn a_task_that_is_picked_again_is_the_newest_of_its_cpu() {
    use crate::classes::core_6::FairClass6 as _;
    let mut bench = Bench::new(Version::V5_15, 2);
    let only = CpuSet::from_cpus([CPU]);
    let tasks = [0, 1, 2].map(|task| {
        let attr = TaskAttr { allowed: only.clone(), ..TaskAttr::default() };
        let task = TaskId(task);
        bench.sched.fork(&mut bench.platform, task, &attr, Parent::External);
        task
    });
    let e = |bench: &Bench, task: TaskId| bench.sched.fair.se_of(bench.sched.core.pid(task));
    assert_eq!(bench.sched.fair.cfs_tasks.oldest(CPU), Some(e(&bench, tasks[0])));
    let pid = bench.sched.core.pid(tasks[0]);
    bench.sched.fair.picked_again(&bench.sched.core, pid);
    assert_eq!(bench.sched.fair.cfs_tasks.oldest(CPU), Some(e(&bench, tasks[1])));
}
