//! Real-time tasks under the kernels of 5.x and 6.x: where they start and wake, and where they are
//! pushed to.

use super::rt;
use super::testing::{Bench, Life, MS};
use crate::eevdf::{Eevdf, Version};
use crate::fair_6::cfs::{self, Cfs6};
use alloc::vec::Vec;
use schedlab_core::{
    BuildConfig, CpuId, CpuSet, Parent, Policy, Question, SchedAttr, Scheduler, TaskAttr, TaskId,
    Waker,
};

fn machine(cpus: u32) -> Bench<Eevdf> {
    Bench::new(Eevdf::new(Version::V6_18, &BuildConfig::flat(cpus, 1000)), cpus, 1000)
}

fn fifo(priority: u32, allowed: CpuSet) -> TaskAttr {
    let sched = SchedAttr::realtime(Policy::Fifo, priority);
    TaskAttr { sched, allowed, ..TaskAttr::default() }
}

/// Lets a real-time task that runs on CPU 0 fork while CPU 1 is idle.
fn forks(priority: u32, allowed: CpuSet) -> (Bench<Eevdf>, TaskId) {
    let mut m = machine(2);
    let parent = m.realtime(Policy::Fifo, 50, None, Life::Hog);
    m.run_until(MS);
    assert_eq!(m.current, [Some(parent), None]);
    let parent = Parent::Task { task: parent, cpu: CpuId(0) };
    let child = m.start(fifo(priority, allowed), Life::Hog, parent);
    (m, child)
}

#[test]
fn a_real_time_child_that_has_to_wait_is_pushed_at_once() {
    let (m, child) = forks(40, CpuSet::All);
    assert_eq!(m.sched.cpu_of(child), CpuId(1));
    assert!(m.platform.resched_pending(CpuId(1)));
    // A bound child stays and waits. A more urgent child runs here.
    let (m, child) = forks(40, CpuSet::only(CpuId(0)));
    assert_eq!(m.sched.cpu_of(child), CpuId(0));
    let (m, child) = forks(60, CpuSet::All);
    assert_eq!(m.sched.cpu_of(child), CpuId(0));
}

#[test]
fn a_real_time_child_starts_where_it_may_run() {
    let (mut m, child) = forks(60, CpuSet::only(CpuId(1)));
    assert_eq!(m.sched.cpu_of(child), CpuId(1));
    m.reschedule();
    assert_eq!(m.current[1], Some(child));
}

/// A task of priority 10 wakes on CPU 0, where another task runs; CPU 1 is idle.
#[test]
fn a_woken_task_stays_only_over_a_lesser_one() {
    use rt::rules::{RT_LOWEST_CPU, RT_TASK_CPU};
    for (running, cpu, rule) in
        [(9, 0, RT_TASK_CPU), (10, 1, RT_LOWEST_CPU), (11, 1, RT_LOWEST_CPU)]
    {
        let mut m = machine(2);
        let life = Life::Periodic { run: MS, sleep: 1000 * MS };
        let sleeper = m.realtime(Policy::Fifo, 10, None, life);
        m.run_until(3 * MS);
        let other = m.realtime(Policy::Fifo, running, None, Life::Hog);
        m.run_until(4 * MS);
        assert_eq!(m.current, [Some(other), None]);
        m.wake(sleeper, Waker::Interrupt { cpu: CpuId(0) });
        assert_eq!(m.sched.cpu_of(sleeper), CpuId(cpu), "priority {running} runs");
        assert_eq!(m.platform.rule(Question::SelectCpu), rule, "priority {running} runs");
    }
}

/// Two bound tasks on CPU 0, of which one waits, and an ordinary task that becomes a real-time
/// task: it is the first that can be pushed, and goes to the idle CPU 1.
#[test]
fn only_what_may_go_elsewhere_is_in_the_way_of_a_push() {
    let mut m = machine(2);
    let attr = TaskAttr { allowed: CpuSet::only(CpuId(0)), ..TaskAttr::default() };
    let ordinary = m.start(attr, Life::Hog, Parent::External);
    for priority in [60, 50] {
        m.realtime(Policy::Fifo, priority, Some(0), Life::Hog);
    }
    m.reschedule();
    m.sched.set_affinity(&mut m.platform, ordinary, &CpuSet::All);
    assert_eq!(m.sched.cpu_of(ordinary), CpuId(0));
    let attr = SchedAttr::realtime(Policy::Fifo, 40);
    m.sched.set_attr(&mut m.platform, ordinary, &attr, CpuId(0));
    assert_eq!(m.sched.cpu_of(ordinary), CpuId(1));
}

/// Returns a machine of 6.1, which limits real-time tasks. On it a task has run for 950 ms and is
/// throttled.
fn throttled() -> (Bench<Cfs6>, TaskId) {
    let sched = Cfs6::with_version(cfs::Version::V6_1, &BuildConfig::flat(1, 1000));
    let mut m = Bench::new(sched, 1, 1000);
    m.run_until(MS);
    let hog = m.realtime(Policy::Fifo, 50, None, Life::Hog);
    m.run_until(960 * MS);
    assert_eq!(m.current, [None]);
    (m, hog)
}

#[test]
fn a_cpu_idles_when_nobody_is_held_back_any_more() {
    let (mut m, hog) = throttled();
    let pick = |m: &mut Bench<Cfs6>| {
        m.sched.schedule(&mut m.platform, CpuId(0));
        m.platform.rule(Question::Pick)
    };
    assert_eq!(pick(&mut m), rt::rules::RT_THROTTLED);
    m.sched.kill(&mut m.platform, hog);
    m.kill(hog);
    assert_eq!(pick(&mut m), super::core_6::rules::IDLE);
}

/// The limit's periods begin again with the first real-time task after a pause in which the timer
/// has stopped. It stops when it finds that no real-time task has run and none waits. From 5.5 s on
/// there are 950 ms until the hog is throttled at 6.45 s. (Counted from the first task it could
/// have the rest of a period and the next.)
#[test]
fn periods_begin_anew_after_a_pause() {
    // The task before the pause has run for 10 ms, or was killed before it could run.
    for kills in [false, true] {
        let sched = Cfs6::with_version(cfs::Version::V6_1, &BuildConfig::flat(1, 1000));
        let mut m = Bench::new(sched, 1, 1000);
        m.run_until(MS);
        let first = m.realtime(Policy::Fifo, 50, None, Life::Work(10 * MS));
        if kills {
            m.sched.kill(&mut m.platform, first);
            m.kill(first);
        }
        m.run_until(5500 * MS);
        let hog = m.realtime(Policy::Fifo, 50, None, Life::Hog);
        m.run_until(8000 * MS);
        let slices = m.slices.iter().filter(|slice| slice.3 == hog.0);
        let ms: Vec<(u64, u64)> = slices.map(|slice| (slice.1 / MS, slice.2 / MS)).collect();
        assert_eq!(ms[0].0, 5500);
        assert!((6450..=6451).contains(&ms[0].1), "{ms:?}");
    }
}
