//! The rules and grounds that the deadline class reports for its decisions.

use super::rules;
use crate::classes::core_6;
use crate::classes::testing::{Bench, Life, MS};
use crate::eevdf::{Eevdf, Version};
use alloc::vec::Vec;
use schedlab_core::Scheduler;
use schedlab_core::{
    Administer, BuildConfig, CpuId, GroupId, Inspect, Parent, Policy, Question, SchedAttr,
    TaskAttr, TaskId, Who,
};

fn machine() -> Bench<Eevdf> {
    let mut m = Bench::new(Eevdf::new(Version::V6_18, &BuildConfig::flat(1, 1000)), 1, 1000);
    m.platform.ask(true);
    m
}

fn deadline_task(m: &mut Bench<Eevdf>, deadline_ns: u64) -> TaskId {
    let sched = SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: 10 * MS,
        deadline_ns,
        period_ns: deadline_ns,
        ..SchedAttr::default()
    };
    m.start(TaskAttr { sched, ..TaskAttr::default() }, Life::Hog, Parent::External)
}

#[test]
fn the_earliest_deadline_is_picked_and_accounted_for() {
    let mut m = machine();
    // At time 0 a deadline of 0 is not past.
    m.run_until(MS);
    let late = deadline_task(&mut m, 100 * MS);
    m.run_until(2 * MS);
    let later = deadline_task(&mut m, 200 * MS);
    assert_eq!(m.platform.rule(Question::Preempt), rules::DL_NOT_EARLIER);
    let early = deadline_task(&mut m, 50 * MS);
    assert_eq!(m.platform.rule(Question::Preempt), rules::DL_EARLIER);
    m.reschedule();
    assert_eq!(m.current, [Some(early)]);
    let accounts = m.platform.take_accounts();
    let pick = accounts.iter().rev().find(|account| account.question == Question::Pick).unwrap();
    assert_eq!(pick.rule, rules::DL_EARLIEST);
    let ranks: Vec<(Who, i64)> =
        pick.evidence.candidates.iter().map(|other| (other.who, other.rank[0])).collect();
    let ms = |ms: i64| ms * MS as i64;
    let expected = [(early, ms(50)), (late, ms(99)), (later, ms(200))];
    assert_eq!(ranks, expected.map(|(task, off)| (Who::Task(task), off)));
    assert_eq!(pick.evidence.best(), Ok(Some(Who::Task(early))));
}

#[test]
fn the_fair_servers_turn_names_the_fair_task() {
    let mut m = machine();
    let fair = m.nice(0, Life::Hog);
    m.realtime(Policy::Fifo, 50, None, Life::Hog);
    m.run_until(2000 * MS);
    let accounts = m.platform.take_accounts();
    let served: Vec<_> =
        accounts.iter().filter(|account| account.rule == core_6::rules::FAIR_SERVER).collect();
    assert!(!served.is_empty());
    for account in served {
        assert_eq!(account.evidence.best(), Ok(Some(Who::Task(fair))));
        assert_eq!(account.evidence.terms[0].name, "fair_server_deadline_ns");
    }
    // Now the hog runs, and the fair task is out of sight below it.
    let mut candidates = Vec::new();
    m.sched.candidates(CpuId(0), &mut candidates);
    assert_eq!(candidates.len(), 1);
}

#[test]
fn a_period_that_has_begun_less_than_a_microsecond_ago_is_not_past() {
    let mut m = machine();
    m.run_until(100 * MS);
    let task = deadline_task(&mut m, 100 * MS);
    let pid = m.sched.core.pid(task);
    // Deadline and period are equal: the next period begins at the deadline.
    for (ahead_ns, is_to_come) in [
        (-2000, false),
        (-1000, false),
        (-999, true),
        (-1, true),
        (0, true),
        (999, true),
        (5000, true),
    ] {
        let deadline = &mut m.sched.deadline;
        deadline.tasks[pid.index()].server.deadline = (100 * MS).wrapping_add_signed(ahead_ns);
        assert_eq!(deadline.start_timer(&mut m.platform, pid), is_to_come, "{ahead_ns} ns");
    }
}

#[test]
fn who_is_queued_again_after_a_change_keeps_its_period() {
    let mut m = machine();
    let group = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
    m.run_until(MS);
    let task = deadline_task(&mut m, 100 * MS);
    m.run_until(4 * MS);
    let pid = m.sched.core.pid(task);
    let server = |m: &Bench<Eevdf>| {
        let server = &m.sched.deadline.tasks[pid.index()].server;
        (server.deadline, server.runtime)
    };
    // Begun at 1 ms; 3 ms of 10 are used.
    m.sched.set_group(&mut m.platform, task, group).unwrap();
    assert_eq!(server(&m), (101 * MS, 7 * MS as i64));
    // If that is past, it starts like a new one.
    m.sched.deadline.tasks[pid.index()].server.deadline = 3 * MS;
    m.sched.set_group(&mut m.platform, task, GroupId::ROOT).unwrap();
    assert_eq!(server(&m), (104 * MS, 10 * MS as i64));
}

/// A real-time hog and an ordinary one: from the last moment at which the fair class can have its
/// 50 ms of the second, its server competes, until the fair class has had them.
#[test]
fn the_fair_server_competes_while_it_serves() {
    let mut m = machine();
    m.run_until(MS);
    let fair = m.nice(0, Life::Hog);
    let urgent = m.realtime(Policy::Fifo, 50, None, Life::Hog);
    let mut competed = 0;
    for ms in 2..1100 {
        m.run_until(ms * MS + MS / 2);
        let competes = m.sched.deadline.fair_server_competes(CpuId(0));
        assert_eq!(m.current, [Some(if competes { fair } else { urgent })], "at {ms} ms");
        competed += u32::from(competes);
    }
    assert!((49..=51).contains(&competed), "{competed} ms");
}

/// A real-time hog runs from 1 ms on, and an ordinary one arrives at 1500 ms. No period of the fair
/// server is in progress then, because no task has waited: one begins, and the last 50 of its 1000
/// ms go to the ordinary task.
#[test]
fn a_period_of_the_fair_server_begins_when_somebody_begins_to_wait() {
    let mut m = machine();
    m.run_until(MS);
    let urgent = m.realtime(Policy::Fifo, 50, None, Life::Hog);
    m.run_until(1500 * MS);
    let fair = m.nice(0, Life::Hog);
    m.run_until(2449 * MS + MS / 2);
    assert_eq!(m.current, [Some(urgent)]);
    m.run_until(2450 * MS + MS / 2);
    assert_eq!(m.current, [Some(fair)]);
}

/// 8 ms of 10 from 1 ms on. At 3 ms the task sleeps and is killed. The 6 ms that are left until 11
/// ms are worth 7.5: its bandwidth is free again at 3.5 ms.
#[test]
fn who_is_killed_gives_its_bandwidth_back_at_zero_lag() {
    let mut m = machine();
    m.run_until(MS);
    let sched = SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: 8 * MS,
        deadline_ns: 10 * MS,
        period_ns: 10 * MS,
        ..SchedAttr::default()
    };
    let attr = TaskAttr { sched, ..TaskAttr::default() };
    let life = Life::Periodic { run: 2 * MS, sleep: 1000 * MS };
    let first = m.start(attr.clone(), life, Parent::External);
    m.run_until(3 * MS + 1);
    m.sched.kill(&mut m.platform, first);
    m.kill(first);
    m.sched.audit().unwrap();
    let refusals = |m: &Bench<Eevdf>| m.platform.refusals.len();
    m.run_until(3 * MS + MS / 2 - 1);
    m.start(attr.clone(), Life::Hog, Parent::External);
    assert_eq!(refusals(&m), 1, "still counted");
    m.run_until(3 * MS + MS / 2 + 1);
    m.start(attr, Life::Hog, Parent::External);
    assert_eq!(refusals(&m), 1);
    m.sched.audit().unwrap();
}
