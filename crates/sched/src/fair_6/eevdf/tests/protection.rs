//! Protection of a running entity: its duration, its end, and the tasks that have to wait. Also
//! yielding, and buddies of idle groups.
//!
//! By hand: virtual time begins at -2^20 = -1,048,576, a nice-0 task's virtual time is real time,
//! and the first request of a task is half of its slice.

use super::*;

/// Where virtual time begins.
const V0: i64 = -1_048_576;

fn slice(ms: u64) -> SchedAttr {
    SchedAttr { runtime_ns: ms * MS, ..SchedAttr::default() }
}

/// The virtual time up to which the running task is protected (6.18).
fn vprot(bench: &Bench, task: TaskId) -> i64 {
    bench.entity(task).vlag
}

fn is_protected(bench: &Bench, task: TaskId) -> bool {
    bench.sched.fair.is_protected(bench.sched.fair.se_of(bench.pid(task)))
}

#[test]
fn run_to_parity_protects_for_the_shortest_waiting_request() {
    // Own slice 20 ms: request until V0 + 10 ms. If the shortest waiting slice is 20 ms: protected
    // to the end of the request; if it is 5 ms: for 5 ms.
    for (others, until) in [(&[20][..], 10_000_000), (&[20, 5], 5_000_000)] {
        let mut bench = Bench::new(Version::V6_18, 1);
        let a = bench.fork(slice(20));
        assert_eq!(bench.settle(), Some(a));
        others.iter().for_each(|&ms| _ = bench.fork(slice(ms)));
        let e = bench.sched.fair.se_of(bench.pid(a));
        bench.sched.fair.set_protection(root_rq(), e);
        assert_eq!(vprot(&bench, a), V0 + until, "{others:?}");
    }
}

#[test]
fn without_run_to_parity_the_base_slice_protects() {
    // The unscaled base slice, 2.8 ms, whatever waits, but never longer than the own request.
    for (own, other, until) in [(20, 20, 2_800_000), (20, 1, 2_800_000), (2, 20, 1_000_000)] {
        let mut bench = Bench::new(Version::V6_18, 1);
        bench.tune("RUN_TO_PARITY", 0);
        let a = bench.fork(slice(own));
        assert_eq!(bench.settle(), Some(a));
        bench.fork(slice(other));
        let e = bench.sched.fair.se_of(bench.pid(a));
        bench.sched.fair.set_protection(root_rq(), e);
        assert_eq!(vprot(&bench, a), V0 + until, "{own} ms next to {other} ms");
    }
    // And it counts in 6.18: a shorter request that is due earlier waits until then.
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.tune("RUN_TO_PARITY", 0);
    bench.tune("PREEMPT_SHORT", 0);
    let a = bench.fork(slice(20));
    bench.settle();
    bench.fork(slice(1));
    assert_eq!(bench.schedule(), Some(a));
}

#[test]
fn before_6_18_run_to_parity_is_all_the_protection_there_is() {
    // 6.12: the running task's deadline is V0 + 10 ms, the new one's V0 + 1 ms. Both are eligible.
    let mut bench = Bench::new(Version::V6_12, 1);
    bench.tune("PREEMPT_SHORT", 0);
    let a = bench.fork(slice(20));
    bench.settle();
    let b = bench.fork(slice(2));
    assert_eq!(bench.settle(), Some(a));
    assert_eq!(bench.schedule(), Some(a), "protected");
    bench.tune("RUN_TO_PARITY", 0);
    assert_eq!(bench.schedule(), Some(b));
}

#[test]
fn preempt_short_takes_protection_from_a_longer_request() {
    for version in [Version::V6_12, Version::V6_18] {
        for (on, other, preempts) in [(1, 2, true), (0, 2, false), (1, 20, false), (1, 30, false)] {
            let mut bench = Bench::new(version, 1);
            bench.tune("PREEMPT_SHORT", on);
            let a = bench.fork(slice(20));
            bench.settle();
            let b = bench.fork(slice(other));
            assert_eq!(is_protected(&bench, a), !preempts, "{version:?} {on} {other}");
            assert_eq!(bench.settle(), Some(if preempts { b } else { a }));
        }
    }
}

#[test]
fn preempt_short_of_6_12_asks_for_the_earlier_deadline() {
    // The running task has a slice of 5 ms and the deadline V0 + 2.5 ms, and is alone, so V moves
    // with it. At 1 ms one with a slice of 4 ms arrives: its deadline is V0 + 1 + 2 ms, which is
    // later. It is shorter, but the protection stays.
    let mut bench = Bench::new(Version::V6_12, 1);
    let a = bench.fork(slice(5));
    bench.settle();
    bench.at(MS);
    let b = bench.fork(slice(4));
    assert_eq!((bench.times(a).1, bench.times(b).1), (V0 + 2_500_000, V0 + 3_000_000));
    assert!(is_protected(&bench, a));
    // One with 2 ms: V0 + 1 + 1 ms, earlier.
    let mut bench = Bench::new(Version::V6_12, 1);
    let a = bench.fork(slice(5));
    bench.settle();
    bench.at(MS);
    let b = bench.fork(slice(2));
    assert!(!is_protected(&bench, a));
    assert_eq!(bench.settle(), Some(b));
}

#[test]
fn a_short_request_that_is_not_due_shortens_the_protection() {
    // 6.18. The running task has a slice of 5 ms, and is protected to its deadline V0 + 2.5 ms. At
    // 1 ms one of nice 19 (weight 15) arrives with a slice of 1 ms: that is 68 ms of its virtual
    // time, so it is not next. But from now on 1 ms is the shortest request: protected until V0 + 1
    // + 1 ms.
    for (on, until) in [(1, 2_000_000), (0, 2_500_000)] {
        let mut bench = Bench::new(Version::V6_18, 1);
        bench.tune("PREEMPT_SHORT", on);
        let a = bench.fork(slice(5));
        bench.settle();
        assert_eq!(vprot(&bench, a), V0 + 2_500_000);
        bench.at(MS);
        bench.fork(SchedAttr { nice: 19, ..slice(1) });
        assert_eq!(vprot(&bench, a), V0 + until);
        assert!(is_protected(&bench, a));
        assert_eq!(bench.settle(), Some(a));
    }
    // Protection is only ever shortened. 0.8 ms later, another one of 1 ms would allow V0 + 2.8:
    // not adopted.
    let mut bench = Bench::new(Version::V6_18, 1);
    let a = bench.fork(slice(5));
    bench.settle();
    for at_ns in [MS, 1_800_000] {
        bench.at(at_ns);
        bench.fork(SchedAttr { nice: 19, ..slice(1) });
    }
    assert_eq!(vprot(&bench, a), V0 + 2_000_000);
}

#[test]
fn who_yields_alone_changes_nothing() {
    for version in [Version::V6_6, Version::V6_12, Version::V6_18] {
        let mut bench = Bench::new(version, 1);
        let a = bench.fork(nice(0));
        bench.settle();
        let before = bench.times(a);
        bench.at(MS);
        bench.sched.yield_now(&mut bench.platform, CPU, a);
        // It is not even charged.
        assert_eq!(bench.times(a), before, "{version:?}");
        assert_eq!(bench.settle(), Some(a));
        // With company it is charged.
        bench.fork(nice(0));
        bench.sched.yield_now(&mut bench.platform, CPU, a);
        assert_ne!(bench.times(a), before, "{version:?}");
    }
}

#[test]
fn one_that_has_had_too_much_yields_nothing() {
    // 6.12 on: only an eligible task forfeits. At 1 ms, charged, it is ahead of V by half of that.
    for (version, forfeits) in [(Version::V6_6, true), (Version::V6_12, false)] {
        let mut bench = Bench::new(version, 1);
        let (a, _b) = (bench.fork(nice(0)), bench.fork(nice(0)));
        bench.settle();
        let deadline = bench.times(a).1;
        bench.at(MS);
        bench.sched.yield_now(&mut bench.platform, CPU, a);
        assert_eq!(bench.times(a).0, V0 + MS as i64, "charged");
        let moved = if forfeits { 2_800_000 } else { 0 };
        assert_eq!(bench.times(a).1, deadline + moved, "{version:?}");
    }
}

/// A group in a group, idle or not, with two tasks in the inner one, the second of which sleeps.
/// Returns whether the root group's queue and the outer group's then have next buddies.
fn buddies(outer_idle: bool, inner_idle: bool) -> [bool; 2] {
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.tune("DELAY_DEQUEUE", 0);
    let outer = bench.sched.group_new(&mut bench.platform, GroupId::ROOT, 1024).unwrap();
    let inner = bench.sched.group_new(&mut bench.platform, outer, 1024).unwrap();
    for (group, idle) in [(outer, outer_idle), (inner, inner_idle)] {
        bench.sched.group_set_idle(&mut bench.platform, group, idle).unwrap();
    }
    let attr = TaskAttr { group: inner, ..TaskAttr::default() };
    bench.fork_with(&attr);
    bench.fork_with(&attr);
    let running = bench.settle().unwrap();
    bench.sched.block(&mut bench.platform, CPU, running, BlockReason::Interruptible);
    let fair = &bench.sched.fair;
    let other = TaskId(1 - running.0);
    let member = fair.se_of(bench.pid(other));
    let inner_entity = fair.parent_of(member).unwrap();
    let outer_entity = fair.parent_of(inner_entity).unwrap();
    [outer_entity, inner_entity].map(|e| {
        let next = fair.cfs_rqs[fair.cfs_rq_of(e)].next;
        assert!(next.is_none() || next == Some(e));
        next.is_some()
    })
}

#[test]
fn a_sleepers_groups_are_buddies_as_far_up_as_they_are_not_idle() {
    assert_eq!(buddies(false, false), [true, true]);
    assert_eq!(buddies(true, false), [false, true]);
    assert_eq!(
        buddies(false, true),
        [false, false],
        "entities above an idle one are not \
        considered"
    );
    assert_eq!(buddies(true, true), [false, false]);
}

#[test]
fn lag_is_remembered_up_to_two_slices_or_a_tick() {
    // A CPU-bound task with a waiting nice-0 task: V is half-way between them. Slice 2.8 ms: at
    // most 5.6 ms of lag are kept; with a slice of 0.1 ms a tick: 1 ms (HZ 1000).
    for (slice_us, kept) in [(2_800, 5_600_000), (100, 1_000_000)] {
        let mut bench = Bench::new(Version::V6_18, 1);
        let attr = SchedAttr { runtime_ns: slice_us * 1000, ..SchedAttr::default() };
        bench.fork(attr);
        bench.fork(attr);
        let running = bench.settle().unwrap();
        // It runs 100 ms without a tick: V moves by 50 ms.
        bench.at(100 * MS);
        bench.sched.block(&mut bench.platform, CPU, running, BlockReason::Dead);
        let fair = &bench.sched.fair;
        assert_eq!(fair.se[fair.se_of(bench.pid(running))].vlag, -kept);
    }
}

#[test]
fn a_check_says_why_the_woken_task_waits() {
    // 6.12 without protection. The running task's deadline is V0 + 1.4 ms. A new one requests 10
    // ms: eligible, but not the earliest.
    let mut bench = Bench::new(Version::V6_12, 1);
    bench.tune("RUN_TO_PARITY", 0);
    bench.fork(nice(0));
    bench.settle();
    let long = SchedAttr { runtime_ns: 20 * MS, ..SchedAttr::default() };
    bench.fork(long);
    assert_eq!(bench.platform.rule(Question::Preempt), rules::NOT_EARLIEST);
    assert!(!bench.platform.resched_pending(CPU));
    // The task that ran has received too much when it comes back from a short sleep.
    let mut bench = Bench::new(Version::V6_12, 1);
    bench.tune("RUN_TO_PARITY", 0);
    bench.tune("DELAY_DEQUEUE", 0);
    let (a, b) = (bench.fork(nice(0)), bench.fork(nice(0)));
    bench.settle();
    bench.at(2 * MS);
    assert_eq!(bench.sleep(a), Some(b));
    bench.wake(a);
    assert!(bench.platform.rule(Question::Preempt) == rules::NOT_ELIGIBLE);
}

#[test]
fn while_a_reschedule_is_due_nothing_is_checked() {
    // A request of 10 ms runs, and one of 1 ms preempts it. Until that has happened, another one of
    // 1 ms is not even compared.
    use crate::fair_6::rules::RESCHED_PENDING;
    let slice = |ms: u64| SchedAttr { runtime_ns: 2 * ms * MS, ..SchedAttr::default() };
    let mut bench = Bench::new(Version::V6_18, 1);
    bench.fork(slice(10));
    bench.settle();
    bench.fork(slice(1));
    assert_eq!(bench.platform.rule(Question::Preempt), rules::PREEMPT_SHORT);
    assert!(bench.platform.resched_pending(CPU));
    bench.fork(slice(1));
    assert_eq!(bench.platform.rule(Question::Preempt), RESCHED_PENDING);
    // Without WAKEUP_PREEMPTION no task is compared.
    bench.settle();
    bench.tune("WAKEUP_PREEMPTION", 0);
    bench.fork(slice(1));
    assert_eq!(bench.platform.rule(Question::Preempt), rules::NEVER_PREEMPTS);
    assert!(!bench.platform.resched_pending(CPU));
}
