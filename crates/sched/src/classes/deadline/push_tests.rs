//! Global earliest deadline first: which tasks are pushed to another CPU, and which are not.

use super::rules;
use crate::classes::Class;
use crate::classes::testing::{Bench, Life, MS};
use crate::eevdf::{Eevdf, Version};
use schedlab_core::{
    BuildConfig, CpuId, Parent, Policy, SchedAttr, Scheduler, TaskAttr, TaskId, Waker,
};

fn machine(cpus: u32) -> Bench<Eevdf> {
    Bench::new(Eevdf::new(Version::V6_18, &BuildConfig::flat(cpus, 1000)), cpus, 1000)
}

/// Starts a deadline task with a budget of 10 ms and the given deadline.
fn start(m: &mut Bench<Eevdf>, deadline_ms: u64, life: Life) -> TaskId {
    let sched = SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: 10 * MS,
        deadline_ns: deadline_ms * MS,
        period_ns: deadline_ms * MS,
        ..SchedAttr::default()
    };
    let task = m.start(TaskAttr { sched, ..TaskAttr::default() }, life, Parent::External);
    m.reschedule();
    task
}

#[test]
fn an_earlier_task_takes_the_cpu_and_the_later_one_is_pushed() {
    // The sleeper's CPU runs a task of later deadline that may move, and the other CPU is free: the
    // woken task stays on its own CPU, and the task that ran there moves.
    let mut m = machine(2);
    m.run_until(MS);
    let sleeper = start(&mut m, 50, Life::Periodic { run: MS, sleep: 1000 * MS });
    m.run_until(3 * MS);
    let home = m.sched.cpu_of(sleeper);
    let later = start(&mut m, 100, Life::Hog);
    assert_eq!(m.sched.cpu_of(later), home, "the first free CPU");
    m.run_until(4 * MS);
    m.wake(sleeper, Waker::Interrupt { cpu: home });
    assert_eq!(m.sched.cpu_of(sleeper), home);
    m.reschedule();
    assert_eq!(m.current[home.index()], Some(sleeper));
    assert_eq!(m.current[1 - home.index()], Some(later));
}

#[test]
fn the_earliest_deadlines_have_the_cpus() {
    let mut m = machine(2);
    m.run_until(MS);
    let tasks = [60, 80, 40, 70, 50].map(|ms| start(&mut m, ms, Life::Hog));
    m.sched.inspect().audit().unwrap();
    // The deadlines of 40 and 50 ms.
    let mut running = [m.current[0], m.current[1]];
    running.sort_unstable();
    assert_eq!(running, [Some(tasks[2]), Some(tasks[4])]);
    // When their 10 ms are over, the deadlines of 60 and 70 ms.
    m.run_until(12 * MS);
    let mut running = [m.current[0], m.current[1]];
    running.sort_unstable();
    assert_eq!(running, [Some(tasks[0]), Some(tasks[3])]);
    assert_eq!(m.sched.cpu_of(tasks[0]).max(m.sched.cpu_of(tasks[3])), CpuId(1));
}

/// A task of 10 in 50 ms has used up its budget, and a task of 10 in 200 ms runs on its CPU when
/// the next period begins, at 51 ms. The replenished task has the earlier deadline, 101 ms: it
/// stays, and the other task, which may move, goes to CPU 1.
#[test]
fn who_is_replenished_is_not_pushed_before_a_later_one() {
    let mut m = machine(2);
    m.run_until(MS);
    let early = start(&mut m, 50, Life::Hog);
    m.run_until(45 * MS);
    assert_eq!(m.current, [None, None], "its budget was used up at 11 ms");
    let late = start(&mut m, 200, Life::Hog);
    assert_eq!(m.current, [Some(late), None]);
    m.run_until(52 * MS);
    assert_eq!(m.current, [Some(early), Some(late)]);
}

#[test]
fn a_woken_task_stays_over_a_later_one_that_may_go_elsewhere() {
    let mut m = machine(2);
    m.run_until(MS);
    let sleeper = start(&mut m, 50, Life::Periodic { run: MS, sleep: 1000 * MS });
    m.run_until(3 * MS);
    let later = start(&mut m, 100, Life::Hog);
    let [sleeper, later] = [sleeper, later].map(|task| m.sched.core.pid(task));
    let (deadline, rqs) = (&m.sched.deadline, &mut m.sched.core);
    assert_eq!(deadline.select_at_wakeup(rqs, sleeper), (CpuId(0), rules::DL_TASK_CPU));
    // (A CPU may have come online since.)
    rqs.thread_mut(later).nr_cpus_allowed = 1;
    assert_eq!(deadline.select_at_wakeup(rqs, sleeper), (CpuId(1), rules::DL_LATER_CPU));
}

#[test]
fn tasks_that_may_go_elsewhere_are_counted() {
    let mut m = machine(3);
    m.run_until(MS);
    let task = start(&mut m, 50, Life::Hog);
    let pid = m.sched.core.pid(task);
    for (nr, movable) in [(2, 1), (1, 0), (1, 0), (3, 1), (2, 1)] {
        let Eevdf { deadline, core: rqs, .. } = &mut m.sched;
        deadline.set_cpus_allowed(rqs, &mut m.platform, CpuId(0), pid, nr);
        rqs.thread_mut(pid).nr_cpus_allowed = nr;
        assert_eq!(deadline.rqs[0].nr_migratory, movable, "{nr} CPUs");
    }
}

#[test]
fn a_task_of_the_same_deadline_takes_the_cpu_only_of_one_that_may_go_elsewhere() {
    // CPU 1 is free. The running task could move there. The new one, bound by hand, could not.
    let mut m = machine(2);
    m.run_until(MS);
    let [a, b] = [0; 2].map(|_| start(&mut m, 50, Life::Hog));
    let [a, b] = [a, b].map(|task| m.sched.core.pid(task));
    let (deadline, rqs) = (&m.sched.deadline, &mut m.sched.core);
    // Both CPUs have a deadline task, so there is no destination.
    assert!(!deadline.could_swap(rqs, b, a));
    let mut m = machine(2);
    m.run_until(MS);
    let curr = start(&mut m, 50, Life::Hog);
    let curr = m.sched.core.pid(curr);
    let (deadline, rqs) = (&m.sched.deadline, &mut m.sched.core);
    for (bound, swaps) in [(true, true), (false, false)] {
        // (Any thread will do as the new one: only its affinity is examined.)
        let new = rqs.migration_thread(CpuId(1));
        rqs.thread_mut(new).nr_cpus_allowed = if bound { 1 } else { 2 };
        assert_eq!(deadline.could_swap(rqs, new, curr), swaps, "bound: {bound}");
    }
    let new = rqs.migration_thread(CpuId(1));
    rqs.thread_mut(new).nr_cpus_allowed = 1;
    rqs.thread_mut(curr).nr_cpus_allowed = 1;
    assert!(!deadline.could_swap(rqs, new, curr), "the running one is bound, too");
}
