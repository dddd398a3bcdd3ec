//! Servers whose deadline is not the end of their period, checked against the rules.

use super::cbs::Server;
use crate::classes::testing::{Bench, Life, MS};
use crate::eevdf::{Eevdf, Version};
use alloc::vec::Vec;
use schedlab_core::{BuildConfig, Parent, Policy, SchedAttr, TaskAttr, TaskId};

fn attr(runtime_ms: u64, deadline_ms: u64, period_ms: u64) -> SchedAttr {
    SchedAttr {
        policy: Policy::Deadline,
        runtime_ns: runtime_ms * MS,
        deadline_ns: deadline_ms * MS,
        period_ns: period_ms * MS,
        ..SchedAttr::default()
    }
}

fn server(runtime_ms: u64, deadline_ms: u64, period_ms: u64) -> Server {
    Server::new(&attr(runtime_ms, deadline_ms, period_ms), (100, 1 << 22)).unwrap()
}

#[test]
fn zero_lag_is_counted_by_the_period() {
    // z = deadline - runtime x P / Q. Q 2, P 10, any D: 1 ms left is worth 5 ms.
    for deadline_ms in [2, 5, 10] {
        let mut task = server(2, deadline_ms, 10);
        (task.deadline, task.runtime) = (100 * MS, MS as i64);
        assert_eq!(task.zero_lag_ns(), 95 * MS, "D {deadline_ms}");
        // An overrun delays it.
        task.runtime = -(MS as i64);
        assert_eq!(task.zero_lag_ns(), 105 * MS, "D {deadline_ms}");
    }
    // Q 4, D 8, P 20: 3 ms left are worth 15 ms.
    let mut task = server(4, 8, 20);
    (task.deadline, task.runtime) = (100 * MS, 3 * MS as i64);
    assert_eq!(task.zero_lag_ns(), 85 * MS);
}

#[test]
fn periods_begin_a_period_after_the_last_and_not_at_the_deadline() {
    // T = deadline - D + P.
    let mut task = server(2, 5, 10);
    task.deadline = 25 * MS;
    assert_eq!(task.next_period(), 30 * MS);
    // If it is replenished there, the deadline is P later and the budget is Q.
    task.runtime = 0;
    task.replenish(30 * MS);
    assert_eq!((task.deadline, task.runtime), (35 * MS, 2 * MS as i64));
    // Bandwidth by the period, density by the deadline: 2^20 x 2/10 and x 2/5.
    assert_eq!((task.bw, task.density), (209_715, 419_430));
}

fn machine() -> Bench<Eevdf> {
    Bench::new(Eevdf::new(Version::V6_18, &BuildConfig::flat(1, 1000)), 1, 1000)
}

fn start(m: &mut Bench<Eevdf>, sched: SchedAttr, life: Life) -> TaskId {
    m.start(TaskAttr { sched, ..TaskAttr::default() }, life, Parent::External)
}

#[test]
fn a_dead_tasks_bandwidth_is_free_at_zero_lag() {
    // Q 6, D 9, P 12, from 10 ms on: deadline 19 ms. It ends after 3 ms with 3 left: z = 19 - 3 x
    // 12/6 = 13 ms, which is now, so half of the CPU is free at once. (By D it would be 14.5 ms.)
    // With 4 left, at 12 ms: z = 19 - 8 = 11 ms, past.
    for (runs_ms, free_at) in [(3, 13), (2, 12), (1, 11)] {
        let mut m = machine();
        m.run_until(10 * MS);
        start(&mut m, attr(6, 9, 12), Life::Work(runs_ms * MS));
        m.run_until(free_at * MS + 1);
        start(&mut m, attr(6, 9, 12), Life::Hog);
        assert!(m.platform.refusals.is_empty(), "{runs_ms} ms: {:?}", m.platform.refusals);
    }
    // Q 6, D 11, P 12: the deadline is 21. After 5 ms, 1 is left: z = 21 - 2 = 19 ms. Until then
    // the bandwidth counts.
    for (at_ns, refused) in [(19 * MS - 1, 1), (19 * MS + 1, 0)] {
        let mut m = machine();
        m.run_until(10 * MS);
        start(&mut m, attr(6, 11, 12), Life::Work(5 * MS));
        m.run_until(at_ns);
        start(&mut m, attr(6, 11, 12), Life::Hog);
        assert_eq!(m.platform.refusals.len(), refused, "at {at_ns} ns");
    }
}

#[test]
fn who_wakes_between_deadline_and_period_waits_for_the_period() {
    // Q 2, D 4, P 10 from 10 ms: it runs 1, sleeps 5, and wakes at 16 ms, after the deadline at 14
    // ms and before the period's end at 20 ms. It runs at 20, and its next 1 ms is over at 21.
    let mut m = machine();
    m.run_until(10 * MS);
    let task = start(&mut m, attr(2, 4, 10), Life::Periodic { run: MS, sleep: 5 * MS });
    m.run_until(22 * MS);
    let ran: Vec<(f64, f64)> = m
        .slices_ms()
        .into_iter()
        .filter(|slice| slice.0 == task.0)
        .map(|slice| (slice.1, slice.2))
        .collect();
    assert_eq!(ran, [(10., 11.), (20., 21.)]);
}
