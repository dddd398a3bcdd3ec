//! The worked examples of the real-time class, and rules that no golden schedule covers.

use super::{RtVersion, rules};
use crate::cfs::{Cfs, Version, core_2_6};
use crate::classes::ClassList;
use crate::classes::testing::{Bench, Life, MS};
use alloc::vec::Vec;
use schedlab_core::reason::Term;
use schedlab_core::{
    Administer, BuildConfig, CpuId, CpuSet, Policy, Question, SchedAttr, Scheduler, TaskId, Who,
};

type Machine = Bench<ClassList<Cfs>>;

fn machine(cpus: u32, period_us: i64, runtime_us: i64) -> Machine {
    let config = BuildConfig::flat(cpus, 1000);
    let mut m = Bench::new(core_2_6(Version::V2_6_32, RtVersion::V2_6_25, &config), cpus, 1000);
    let mut set = |name, value| m.sched.set_tunable(&mut m.platform, name, value).unwrap();
    set("sched_rt_period_us", period_us);
    set("sched_rt_runtime_us", runtime_us);
    m
}

/// Returns the spans in which `task` ran, in µs.
fn spans(m: &Machine, task: TaskId) -> Vec<(u64, u64)> {
    let slices = m.slices.iter().filter(|slice| slice.3 == task.0);
    slices.map(|slice| (slice.1 / 1000, slice.2 / 1000)).collect()
}

/// Returns a real-time CPU hog that arrives at `start_us` and preempts an ordinary hog.
fn hog_from(m: &mut Machine, start_us: u64) -> TaskId {
    m.nice(0, Life::Hog);
    m.run_until(start_us * 1000);
    m.realtime(Policy::Fifo, 50, None, Life::Hog)
}

#[test]
fn a_hog_gets_its_runtime_of_each_period_and_pays_back_what_it_overran() {
    let mut m = machine(1, 1_000_000, 950_000);
    let hog = hog_from(&mut m, 500);
    m.run_until(4000 * MS);
    assert_eq!(
        spans(&m, hog),
        [(500, 951_000), (1_000_000, 1_950_000), (2_000_000, 2_950_000), (3_000_000, 3_950_000)]
    );
    let mut m = machine(1, 100_000, 60_000);
    let hog = hog_from(&mut m, 100_300);
    m.run_until(400 * MS);
    assert_eq!(spans(&m, hog), [(100_300, 161_000), (200_000, 260_000), (300_000, 360_000)]);
    let mut m = machine(1, 1_000_000, 500_000);
    let hog = hog_from(&mut m, 100_300);
    m.run_until(3000 * MS);
    assert_eq!(
        spans(&m, hog),
        [(100_300, 601_000), (1_000_000, 1_500_000), (2_000_000, 2_500_000)]
    );
    // The hog arrives in the middle of a period: the first period is not limited at all.
    let mut m = machine(1, 1_000_000, 950_000);
    let hog = hog_from(&mut m, 300_000);
    m.run_until(3000 * MS);
    assert_eq!(spans(&m, hog), [(300_000, 1_950_000), (2_000_000, 2_950_000)]);
}

#[test]
fn a_cpu_borrows_what_others_do_not_use() {
    let mut m = machine(2, 1_000_000, 950_000);
    let hog = m.realtime(Policy::Fifo, 50, Some(0), Life::Hog);
    m.run_until(5000 * MS);
    assert_eq!(spans(&m, hog), [(0, 5_000_000)]);
    assert_eq!(m.sched.rt.rqs[0].rt_runtime, 1_000_000_000);
    assert_eq!(m.sched.rt.rqs[1].rt_runtime, 900_000_000);
}

#[test]
fn without_a_limit_nobody_is_throttled() {
    let mut m = machine(1, 1_000_000, -1);
    let hog = hog_from(&mut m, 500);
    m.run_until(3000 * MS);
    assert_eq!(spans(&m, hog), [(500, 3_000_000)]);
}

#[test]
fn round_robin_tasks_take_turns_of_100_ms() {
    let mut m = machine(1, 1_000_000, 950_000);
    let fair = m.nice(0, Life::Hog);
    // Just after the tick of 10 ms, which is charged to the ordinary hog.
    m.run_until(10 * MS + 1);
    let tasks: Vec<TaskId> = [1, 0, 0]
        .map(|late| m.realtime(Policy::RoundRobin, 10, None, Life::Work(300 * MS - late)))
        .into();
    m.run_until(1000 * MS);
    for (number, &task) in tasks.iter().enumerate() {
        let turn = |round: u64| {
            let from = 10_000 + (3 * round + number as u64) * 100_000;
            (from, from + 100_000)
        };
        assert_eq!(spans(&m, task), [turn(0), turn(1), turn(2)]);
    }
    assert_eq!(spans(&m, fair), [(0, 10_000), (910_000, 1_000_000)]);
}

#[test]
fn a_preempted_task_stays_first_of_its_priority_and_a_yielding_one_becomes_last() {
    let mut m = machine(1, 1_000_000, -1);
    let first = m.realtime(Policy::Fifo, 10, None, Life::Hog);
    let second = m.realtime(Policy::Fifo, 10, None, Life::Hog);
    m.run_until(5 * MS);
    m.realtime(Policy::Fifo, 20, None, Life::Work(2 * MS));
    m.run_until(20 * MS);
    assert_eq!(spans(&m, first), [(0, 5_000), (7_000, 20_000)]);
    m.sched.yield_now(&mut m.platform, CpuId(0), first);
    m.run_until(30 * MS);
    assert_eq!(spans(&m, second), [(20_000, 30_000)]);
}

#[test]
fn the_most_urgent_tasks_get_the_cpus() {
    let mut m = machine(2, 1_000_000, -1);
    let low = m.realtime(Policy::Fifo, 10, None, Life::Hog);
    let middle = m.realtime(Policy::Fifo, 20, None, Life::Hog);
    m.run_until(5 * MS);
    assert_eq!(m.current, [Some(low), Some(middle)]);
    // It starts on the CPU with the fewest threads, CPU 0; the task that it preempts finds no
    // better CPU.
    let high = m.realtime(Policy::Fifo, 30, None, Life::Work(5 * MS));
    m.run_until(7 * MS);
    assert_eq!(m.current, [Some(high), Some(middle)]);
    // Bound to CPU 1: the middle task is pushed to the CPU on which the low one waits.
    let bound = m.realtime(Policy::Fifo, 40, Some(1), Life::Hog);
    m.run_until(8 * MS);
    assert_eq!(m.current, [Some(high), Some(bound)]);
    m.run_until(12 * MS);
    // The high task is done: the better of the two waiting ones has been pulled.
    assert_eq!(m.current, [Some(middle), Some(bound)]);
    m.sched.inspect().audit().unwrap();
}

#[test]
fn a_wakeup_looks_for_a_cpu_that_runs_something_less_urgent() {
    let mut m = machine(4, 1_000_000, -1);
    let bound = [0, 1, 2].map(|cpu| m.realtime(Policy::Fifo, 50, Some(cpu), Life::Work(8 * MS)));
    let life = Life::Periodic { run: MS, sleep: 10 * MS };
    let sleeper = m.realtime(Policy::Fifo, 40, None, life);
    m.run_until(5 * MS);
    assert_eq!(m.sched.cpu_of(sleeper), CpuId(3));
    // Its own CPU is taken while it sleeps, and the others are free when it wakes.
    let better = m.realtime(Policy::Fifo, 60, Some(3), Life::Hog);
    m.run_until(11 * MS + 1);
    assert_eq!(m.current, [Some(sleeper), None, None, Some(better)]);
    assert!(bound.iter().all(|&task| spans(&m, task).len() == 1));
}

#[test]
fn a_pick_is_the_head_of_the_best_priority_and_says_so() {
    let mut m = machine(1, 1_000_000, 950_000);
    m.nice(0, Life::Hog);
    let low = m.realtime(Policy::Fifo, 10, None, Life::Hog);
    let first = m.realtime(Policy::RoundRobin, 20, None, Life::Hog);
    let second = m.realtime(Policy::Fifo, 20, None, Life::Hog);
    m.platform.ask(true);
    m.run_until(MS);
    let accounts = m.platform.take_accounts();
    let pick = accounts.iter().rev().find(|account| account.question == Question::Pick).unwrap();
    assert_eq!((pick.rule, pick.cpu), (rules::RT_HIGHEST, CpuId(0)));
    let ranks: Vec<(Who, [i64; 2])> = pick
        .evidence
        .candidates
        .iter()
        .map(|candidate| (candidate.who, [candidate.rank[0], candidate.rank[1]]))
        .collect();
    let expected = [(first, [79, 0]), (second, [79, 1]), (low, [89, 0])];
    assert_eq!(ranks, expected.map(|(task, rank)| (Who::Task(task), rank)));
    assert_eq!(pick.evidence.best(), Ok(Some(Who::Task(first))));
    let slice = Term { name: "time_slice_ticks".into(), value: 100 };
    assert_eq!(pick.evidence.candidates[0].terms[2], slice);
    // Another task of the same priority waits behind both. One of a better priority does not.
    m.realtime(Policy::Fifo, 20, None, Life::Hog);
    assert_eq!(m.platform.rule(Question::Preempt), rules::RT_EQUAL);
    m.realtime(Policy::Fifo, 5, None, Life::Hog);
    assert_eq!(m.platform.rule(Question::Preempt), rules::RT_LOWER);
    m.realtime(Policy::Fifo, 30, None, Life::Hog);
    assert_eq!(m.platform.rule(Question::Preempt), rules::RT_HIGHER);
    // They have used up their runtime: no task of the class is a candidate.
    m.run_until(960 * MS);
    let accounts = m.platform.take_accounts();
    let throttled = accounts.iter().find(|account| account.rule == rules::RT_THROTTLED).unwrap();
    assert_eq!(throttled.evidence.candidates, []);
    let runtime = Term { name: "rt_runtime_ns".into(), value: 950 * MS as i64 };
    assert_eq!(throttled.evidence.terms[2], runtime);
}

#[test]
fn affinity_and_priority_changes_keep_the_books() {
    let mut m = machine(3, 1_000_000, 950_000);
    let tasks: Vec<TaskId> = (0..7)
        .map(|number| m.realtime(Policy::RoundRobin, 10 + number % 3, None, Life::Hog))
        .collect();
    for step in 0..60u32 {
        m.run_until(u64::from(step + 1) * 37 * MS / 10);
        let task = tasks[step as usize % 7];
        if step % 2 == 0 {
            let attr = SchedAttr::realtime(Policy::RoundRobin, 1 + step);
            m.sched.set_attr(&mut m.platform, task, &attr, CpuId(0));
        } else {
            let allowed = if step % 3 == 0 { CpuSet::All } else { CpuSet::only(CpuId(step % 3)) };
            m.sched.set_affinity(&mut m.platform, task, &allowed);
        }
        m.sched.inspect().audit().unwrap();
        m.reschedule();
        m.sched.inspect().audit().unwrap();
    }
}

/// Returns a machine whose CPU 1 is occupied. On CPU 0 a task of priority 49 runs, and tasks of 69
/// and 79 wait and could be pulled.
fn two_wait() -> (Machine, [TaskId; 2]) {
    let mut m = machine(2, 1_000_000, -1);
    m.realtime(Policy::Fifo, 99, Some(1), Life::Hog);
    m.realtime(Policy::Fifo, 50, None, Life::Hog);
    m.reschedule();
    let waiting = [30, 20].map(|prio| m.realtime(Policy::Fifo, prio, Some(0), Life::Hog));
    m.reschedule();
    for task in waiting {
        m.sched.set_affinity(&mut m.platform, task, &CpuSet::All);
        assert_eq!(m.sched.cpu_of(task), CpuId(0));
    }
    m.sched.rt.rqs[0].highest_next = 69;
    (m, waiting)
}

#[test]
fn who_is_next_is_looked_for_anew_only_when_one_as_urgent_leaves() {
    let (mut m, [better, worse]) = two_wait();
    // As if the better task had been running when the value was last calculated: 75 is stale.
    m.sched.rt.rqs[0].highest_next = 75;
    m.sched.kill(&mut m.platform, worse);
    m.kill(worse);
    assert_eq!(m.sched.rt.rqs[0].highest_next, 75, "79 is worse than 75");
    m.sched.kill(&mut m.platform, better);
    m.kill(better);
    assert_eq!(m.sched.rt.rqs[0].highest_next, 100, "no task waits any more");
}

#[test]
fn the_audit_finds_what_does_not_add_up() {
    let (m, [waits, _]) = two_wait();
    let (rt, rqs) = (&m.sched.rt, &m.sched.core);
    assert_eq!(rt.audit(rqs), Ok(()));
    let corruptions: [fn(&mut super::RtRq); 5] = [
        |rq| rq.rt_nr_running += 1,
        |rq| rq.rt_nr_running -= 1,
        |rq| rq.rt_nr_migratory += 1,
        |rq| rq.rt_nr_migratory -= 1,
        |rq| rq.highest_curr += 1,
    ];
    for (number, corrupt) in corruptions.iter().enumerate() {
        let mut wrong = rt.clone();
        corrupt(&mut wrong.rqs[0]);
        assert!(wrong.audit(rqs).is_err(), "corruption {number}");
    }
    let mut elsewhere = rqs.clone();
    let pid = rqs.pid(waits);
    elsewhere.thread_mut(pid).cpu = CpuId(1);
    assert!(rt.audit(&elsewhere).is_err());
}

#[test]
fn in_2_6_24_one_that_becomes_less_urgent_gives_way() {
    let config = BuildConfig::flat(1, 1000);
    let mut m: Machine =
        Bench::new(core_2_6(Version::V2_6_24, RtVersion::V2_6_23, &config), 1, 1000);
    let first = m.realtime(Policy::Fifo, 50, None, Life::Hog);
    let second = m.realtime(Policy::Fifo, 40, None, Life::Hog);
    m.run_until(MS);
    let set = |m: &mut Machine, task, prio| {
        let attr = SchedAttr::realtime(Policy::Fifo, prio);
        m.sched.set_attr(&mut m.platform, task, &attr, CpuId(0));
        m.platform.resched_pending(CpuId(0))
    };
    assert!(!set(&mut m, first, 60), "more urgent than before");
    assert!(set(&mut m, first, 30));
    m.reschedule();
    assert_eq!(m.current, [Some(second)]);
}
