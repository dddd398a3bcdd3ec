//! Global earliest deadline first: who is pushed to another CPU, and who is not.

use crate::classes::testing::{Bench, Life, MS};
use crate::eevdf::{Eevdf, Version};
use schedlab_core::{
    BuildConfig, CpuId, Parent, Policy, SchedAttr, Scheduler, TaskAttr, TaskId, Waker,
};

fn machine(cpus: u32) -> Bench<Eevdf> {
    Bench::new(Eevdf::new(Version::V6_18, &BuildConfig::flat(cpus, 1000)), cpus, 1000)
}

/// A deadline task of 10 ms in so many.
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
    // The sleeper's CPU runs a task of later deadline that may go elsewhere, and the other CPU is
    // free: the woken one stays on its own, and who ran there goes.
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
    // 40 and 50 ms.
    let mut running = [m.current[0], m.current[1]];
    running.sort_unstable();
    assert_eq!(running, [Some(tasks[2]), Some(tasks[4])]);
    // When their 10 ms are over, those of 60 and 70.
    m.run_until(12 * MS);
    let mut running = [m.current[0], m.current[1]];
    running.sort_unstable();
    assert_eq!(running, [Some(tasks[0]), Some(tasks[3])]);
    assert_eq!(m.sched.cpu_of(tasks[0]).max(m.sched.cpu_of(tasks[3])), CpuId(1));
}
