//! 2.6.0: worked examples, and rules that no golden schedule decides.

use super::*;
use crate::o_1::load_balance::LoadHistory;
use crate::o_1::loads::Loads;
use crate::o_1::nodes::Nodes;
use crate::o_1::task::{Activated, State};
use schedlab_core::{Administer, TunableError};

fn rig(cpus: u32) -> Rig {
    Rig::new(Version::V2_6_0, cpus)
}

/// Returns a lone task that has been put to sleep, ready to be woken by hand.
fn sleeper(rig: &mut Rig) -> TaskId {
    let task = rig.hog(0);
    rig.run_to(1);
    rig.sleep(task, 0, BlockReason::Interruptible);
    task
}

// Worked examples.

#[test]
fn two_hogs_take_turns_of_a_full_slice_and_lose_their_bonus_step_by_step() {
    let mut rig = rig(1);
    let (a, _) = (rig.hog(0), rig.hog(0));
    rig.run_to(1);
    assert_eq!((rig.sched.prio(a), rig.sched.sleep_avg_ns(a)), (121, 408 * MS));
    rig.run_to(102);
    assert_eq!((rig.sched.prio(a), rig.sched.sleep_avg_ns(a)), (121, 306 * MS));
    rig.run_to(306);
    assert_eq!(rig.sched.prio(a), 122);
    rig.run_to(1020);
    assert_eq!(rig.sched.prio(a), 125);
    assert_eq!(
        rig.slices[..4],
        [(0, 0, 102, 0), (0, 102, 204, 1), (0, 204, 306, 0), (0, 306, 408, 1)]
    );
}

#[test]
fn a_task_that_sleeps_95_of_100_ms_is_at_the_ceiling_after_one_sleep() {
    let mut rig = rig(1);
    let task = rig.add(NICE_0, CpuSet::All, &[Run(5), Sleep(95)]);
    rig.programs[0].repeat = true;
    rig.run_to(100);
    let row = rig.row(task);
    assert_eq!((row.sleep_avg, row.interactive_credit, row.prio), (1020 * MS, 1, 115));
    rig.run_to(105);
    assert_eq!(rig.sched.sleep_avg_ns(task), 1015 * MS);
    rig.run_to(200);
    assert_eq!(rig.row(task).interactive_credit, 2);
    // After 101 rounds its credit is permanently high, and running costs a tenth.
    rig.run_to(100 * 102);
    assert_eq!(rig.row(task).interactive_credit, 101);
    rig.run_to(100 * 102 + 5);
    assert_eq!(rig.sched.sleep_avg_ns(task), 1020 * MS - 5 * MS / 10);
}

#[test]
fn a_long_sleep_lowers_a_task_that_was_at_the_ceiling() {
    for (slept_ms, sleep_avg_ms, prio) in [(816, 918, 116), (814, 1020, 115)] {
        let mut rig = rig(1);
        let task = sleeper(&mut rig);
        rig.row(task).sleep_avg = 1020 * MS;
        rig.pass(slept_ms * MS);
        rig.recalc(task);
        assert_eq!((rig.sched.sleep_avg_ns(task), rig.sched.prio(task)), (sleep_avg_ms * MS, prio));
    }
}

#[test]
fn how_long_a_burst_stays_interactive() {
    let mut rig = rig(1);
    let _hog = rig.hog(0);
    let burst = rig.add(NICE_0, CpuSet::All, &[Run(1), Sleep(900), Run(EVER)]);
    rig.run_to(1003);
    let row = rig.row(burst);
    assert_eq!(
        (row.sleep_avg, row.interactive_credit, row.prio, row.time_slice),
        (918 * MS, 1, 116, 101)
    );
    // At each of these times: sleep_avg, priority and rest of the slice, afterwards.
    for (ms, sleep_avg_ms, prio, left) in [
        (1012, 909, 116, 92),
        (1022, 899, 117, 82),
        (1042, 879, 117, 62),
        (1082, 839, 117, 22),
        (1104, 817, 117, 102),
        (1124, 797, 117, 82),
        (1144, 777, 118, 62),
        (1206, 715, 118, 102),
        (1246, 675, 118, 62),
        (1308, 613, 119, 102),
    ] {
        rig.run_to(ms);
        let row = rig.row(burst);
        assert_eq!(
            (row.sleep_avg, row.prio, row.time_slice),
            (sleep_avg_ms * MS, prio, left),
            "at {ms} ms"
        );
    }
    rig.run_to(1600);
    assert_eq!(
        rig.slices,
        [
            (0, 0, 102, 0),
            (0, 102, 103, 1),
            (0, 103, 1003, 0),
            (0, 1003, 1308, 1),
            (0, 1308, 1326, 0),
            (0, 1326, 1428, 1),
            (0, 1428, 1530, 0),
            (0, 1530, 1600, 1),
        ]
    );
}

#[test]
fn the_starvation_limit_grows_with_the_number_of_tasks() {
    let mut rig = rig(1);
    rig.hog(0);
    rig.hog(0);
    rig.run_to(1);
    rig.sched.rqs[0].expired_timestamp = 10;
    for (tasks, limit) in [(2, 2041), (7, 7141)] {
        rig.sched.loads.set_for_test(CPU0, tasks);
        rig.platform.set_jiffies(10 + limit - 1);
        assert!(!rig.sched.expired_starving(&rig.platform, CPU0));
        rig.platform.set_jiffies(10 + limit);
        assert!(rig.sched.expired_starving(&rig.platform, CPU0));
    }
    rig.sched.rqs[0].expired_timestamp = 0;
    assert!(!rig.sched.expired_starving(&rig.platform, CPU0));
}

#[test]
fn three_against_two_becomes_one_against_four() {
    let mut rig = rig(2);
    for cpu in [0, 0, 0, 1, 1] {
        rig.hog_on(0, cpu);
    }
    // The first attempt of a busy CPU has no previous numbers, and only records.
    rig.run_to(399);
    assert_eq!(rig.sched.loads.all_running(), [3, 2]);
    let node = rig.sched.nodes.of(CPU0);
    assert_eq!(rig.sched.history[node].previous(CPU0), [3, 2]);
    assert_eq!(rig.sched.history[node].previous(CPU1), [3, 2]);
    assert_eq!(rig.sched.find_busiest_queue(CPU0, false, node), None);
    rig.run_to(400);
    assert_eq!(rig.sched.loads.all_running(), [1, 4]);
    // CPU 0 must see that twice. Then it takes one task at a difference of 3, and at the next
    // attempt, at a difference of 1, all of them.
    rig.run_to(799);
    assert_eq!(rig.sched.loads.all_running(), [1, 4]);
    rig.run_to(800);
    assert_eq!(rig.sched.loads.all_running(), [2, 3]);
    rig.run_to(1000);
    assert_eq!(rig.sched.loads.all_running(), [4, 1]);
}

// The estimator.

#[test]
fn low_credit_is_below_minus_100_and_caps_what_a_sleep_earns_after_multiplying() {
    for (credit, earned_ms) in [(-100, 500), (-101, 102)] {
        let mut rig = rig(1);
        let task = sleeper(&mut rig);
        let row = rig.row(task);
        (row.sleep_avg, row.interactive_credit) = (0, credit);
        rig.pass(50 * MS);
        rig.recalc(task);
        assert_eq!(rig.sched.sleep_avg_ns(task), earned_ms * MS);
    }
}

#[test]
fn credit_falls_when_the_estimate_is_exactly_used_up() {
    let mut rig = rig(1);
    let task = rig.hog(0);
    rig.run_to(1);
    let params = rig.sched.params.clone();
    let row = rig.row(task);
    row.sleep_avg = 5 * MS;
    params.charge(row, 5 * MS - 1);
    assert_eq!((row.sleep_avg, row.interactive_credit), (1, 0));
    params.charge(row, 1);
    assert_eq!((row.sleep_avg, row.interactive_credit), (0, -1));
    for _ in 0..200 {
        params.charge(row, 0);
    }
    assert_eq!(row.interactive_credit, -101);
}

#[test]
fn disk_sleep_earns_up_to_the_threshold_of_interactivity() {
    let mut rig = rig(1);
    let task = sleeper(&mut rig);
    let row = rig.row(task);
    (row.sleep_avg, row.activated) = (0, Activated::Uninterruptible);
    rig.pass(900 * MS);
    rig.recalc(task);
    assert_eq!(rig.sched.sleep_avg_ns(task), 815 * MS);
}

#[test]
fn a_32_bit_kernel_wraps_what_a_sleep_earns() {
    for (bits, sleep_avg) in [(64, 1020 * MS), (32, 4_300_000_000 - (1 << 32))] {
        let mut rig = rig(1);
        rig.sched.set_tunable(&mut rig.platform, "bits_per_long", bits).unwrap();
        let task = sleeper(&mut rig);
        rig.row(task).sleep_avg = 0;
        rig.pass(430 * MS);
        rig.recalc(task);
        assert_eq!(rig.sched.sleep_avg_ns(task), sleep_avg);
    }
}

// Fork and exit.

#[test]
fn parent_and_child_share_slice_and_bonus_and_the_child_runs_first() {
    let mut rig = rig(1);
    let (parent, other) = (rig.hog(0), rig.hog(0));
    rig.run_to(1);
    rig.row(parent).sleep_avg = 615 * MS;
    let child = rig.fork(parent, 0, 9);
    assert_eq!((rig.sched.time_slice(parent), rig.sched.time_slice(child)), (50, 51));
    // Bonus 6: the parent is rounded down to it, and the child gets 6 * 95 / 100 = 5 steps.
    assert_eq!(rig.sched.sleep_avg_ns(parent), 612 * MS);
    assert_eq!(rig.sched.sleep_avg_ns(child), 510 * MS);
    assert_eq!(rig.active(0, 121), [child.0, parent.0, other.0]);
    assert_eq!(rig.sched.loads.all_running(), [3]);
    rig.reschedule();
    assert_eq!(rig.running(0), Some(child.0));
}

#[test]
fn penalties_are_in_whole_steps() {
    let steps = [10, 5, 1, 0].map(|bonus| {
        let mut rig = rig(1);
        let parent = rig.hog(0);
        rig.run_to(1);
        rig.row(parent).sleep_avg = bonus * 102 * MS;
        let child = rig.fork(parent, 0, 9);
        rig.sched.sleep_avg_ns(child) / MS
    });
    assert_eq!(steps, [918, 408, 0, 0]);
}

#[test]
fn a_parent_that_gives_its_last_jiffy_away_expires() {
    let mut rig = rig(1);
    let parent = rig.hog(0);
    rig.run_to(3);
    rig.row(parent).time_slice = 1;
    let child = rig.fork(parent, 0, 9);
    assert_eq!(rig.sched.time_slice(child), 1);
    assert_eq!(rig.sched.time_slice(parent), 102);
    assert_eq!(rig.sched.rqs[0].expired_timestamp, 3);
    // Right before its parent, also in expired.
    assert_eq!(rig.expired(0, 121), [child.0, parent.0]);
    rig.reschedule();
    assert_eq!(rig.running(0), Some(child.0));
}

#[test]
fn a_child_inherits_how_its_parent_was_woken_but_no_credit() {
    let mut rig = rig(1);
    let parent = rig.hog(0);
    rig.run_to(1);
    let row = rig.row(parent);
    (row.interactive_credit, row.activated) = (50, Activated::Interrupt);
    let child = rig.fork(parent, 0, 9);
    let row = rig.row(child);
    assert_eq!(
        (row.interactive_credit, row.activated, row.first_time_slice),
        (0, Activated::Interrupt, true)
    );
}

#[test]
fn a_child_with_attributes_of_its_own_gets_them_after_the_fork() {
    let mut rig = rig(2);
    let parent = rig.hog(0);
    rig.run_to(1);
    let attr = TaskAttr {
        sched: SchedAttr::nice(5),
        allowed: CpuSet::only(CpuId(1)),
        ..TaskAttr::default()
    };
    rig.programs.push(rig.programs[0].clone());
    let from = Parent::Task { task: parent, cpu: CpuId(0) };
    rig.sched.fork(&mut rig.platform, TaskId(1), &attr, from);
    assert_eq!(rig.sched.prio(TaskId(1)), 125);
    assert_eq!(rig.sched.cpu_of(TaskId(1)), CpuId(1));
    rig.reschedule();
    assert_eq!(rig.running(1), Some(1));
}

#[test]
fn a_child_that_dies_in_its_first_slice_gives_the_rest_back() {
    for (first, left, expect) in [(true, 51, 101), (true, 180, 200), (false, 51, 50)] {
        let mut rig = rig(1);
        let parent = rig.hog(0);
        rig.run_to(1);
        let child = rig.fork(parent, 0, 9);
        let row = rig.row(child);
        (row.time_slice, row.first_time_slice) = (left, first);
        rig.sched.kill(&mut rig.platform, child);
        rig.sched.reap(&mut rig.platform, child, Some(parent));
        assert_eq!(rig.sched.time_slice(parent), expect);
    }
}

#[test]
fn a_parent_pays_a_quarter_of_the_difference_for_a_child_that_was_a_hog() {
    for (child_ms, parent_ms) in [(100, 625), (900, 800)] {
        let mut rig = rig(1);
        let parent = rig.hog(0);
        rig.run_to(1);
        let child = rig.fork(parent, 0, 9);
        rig.row(child).sleep_avg = child_ms * MS;
        rig.row(parent).sleep_avg = 800 * MS;
        rig.sched.kill(&mut rig.platform, child);
        rig.sched.reap(&mut rig.platform, child, Some(parent));
        assert_eq!(rig.sched.sleep_avg_ns(parent), parent_ms * MS);
    }
}

// Yield, nice, policy.

#[test]
fn yield_goes_behind_everybody_in_expired_and_keeps_the_slice() {
    let mut rig = rig(1);
    let (a, b) = (rig.hog(0), rig.hog(19));
    rig.run_to(10);
    rig.sched.yield_now(&mut rig.platform, CpuId(0), a);
    assert_eq!(rig.expired(0, 121), [a.0]);
    rig.reschedule();
    // Nice 19 runs, though it is much worse.
    assert_eq!(rig.running(0), Some(b.0));
    assert_eq!(rig.sched.time_slice(a), 92);
    rig.run_to(20);
    assert_eq!(rig.running(0), Some(a.0));
}

#[test]
fn a_lone_task_that_yields_goes_on_after_a_swap() {
    let mut rig = rig(1);
    let a = rig.hog(0);
    rig.run_to(10);
    let active = rig.sched.rqs[0].active();
    rig.sched.yield_now(&mut rig.platform, CpuId(0), a);
    rig.reschedule();
    assert_eq!(rig.running(0), Some(a.0));
    assert_ne!(rig.sched.rqs[0].active(), active);
}

#[test]
fn a_realtime_task_that_yields_goes_behind_its_equals() {
    let mut rig = rig(1);
    let a = rig.add(fifo(50), CpuSet::All, &[Run(EVER)]);
    let b = rig.add(fifo(50), CpuSet::All, &[Run(EVER)]);
    rig.run_to(10);
    rig.sched.yield_now(&mut rig.platform, CpuId(0), a);
    assert_eq!(rig.active(0, 49), [b.0, a.0]);
    rig.reschedule();
    assert_eq!(rig.running(0), Some(b.0));
}

#[test]
fn a_new_nice_value_takes_the_bonus_away() {
    let mut rig = rig(1);
    let (a, b) = (rig.hog(0), rig.hog(0));
    rig.run_to(10);
    // The running task, made worse.
    rig.sched.set_attr(&mut rig.platform, a, &SchedAttr::nice(5), CpuId(0));
    assert_eq!(rig.sched.prio(a), 125);
    assert_eq!(rig.sched.time_slice(a), 92);
    assert!(rig.platform.resched_pending(CpuId(0)));
    rig.reschedule();
    assert_eq!(rig.running(0), Some(b.0));
    // A waiting task made worse: no reschedule.
    rig.sched.set_attr(&mut rig.platform, a, &SchedAttr::nice(6), CpuId(0));
    assert!(!rig.platform.resched_pending(CpuId(0)));
    // From 126 to nice 1, which is 121: for the better, by the old priority.
    rig.sched.set_attr(&mut rig.platform, a, &SchedAttr::nice(1), CpuId(0));
    assert!(rig.platform.resched_pending(CpuId(0)));
    assert_eq!(rig.active(0, 121), [b.0, a.0]);
}

#[test]
fn what_counts_as_better_is_the_priority_before_and_after() {
    // From nice 0 with bonus -5 (125) to nice 4 (124): the static priority became worse, the task
    // better.
    let mut rig = rig(1);
    let (_, b) = (rig.hog(0), rig.hog(0));
    rig.run_to(1100);
    assert_eq!((rig.running(0), rig.sched.prio(b)), (Some(0), 125));
    rig.sched.set_attr(&mut rig.platform, b, &SchedAttr::nice(4), CpuId(0));
    assert_eq!(rig.sched.prio(b), 124);
    assert!(rig.platform.resched_pending(CpuId(0)));
}

#[test]
fn a_realtime_tasks_nice_value_waits_for_its_return() {
    let mut rig = rig(1);
    let a = rig.add(fifo(50), CpuSet::All, &[Run(EVER)]);
    rig.run_to(10);
    let attr = SchedAttr { nice: 7, ..fifo(50) };
    rig.sched.set_attr(&mut rig.platform, a, &attr, CpuId(0));
    assert_eq!(rig.sched.prio(a), 49);
    assert!(!rig.platform.resched_pending(CpuId(0)));
    rig.sched.set_attr(&mut rig.platform, a, &SchedAttr::nice(7), CpuId(0));
    assert_eq!(rig.sched.prio(a), 127);
    // Running, and worse.
    assert!(rig.platform.resched_pending(CpuId(0)));
}

#[test]
fn a_new_policy_brings_a_task_to_the_active_array() {
    let mut rig = rig(1);
    let (a, b) = (rig.hog(0), rig.hog(0));
    rig.run_to(102);
    assert_eq!(rig.expired(0, 121), [a.0]);
    rig.sched.set_attr(&mut rig.platform, a, &fifo(10), CpuId(0));
    assert_eq!(rig.active(0, 89), [a.0]);
    assert!(rig.platform.resched_pending(CpuId(0)), "better than {b:?}");
    rig.reschedule();
    assert_eq!(rig.running(0), Some(a.0));
    // Running and better still: no reschedule.
    rig.sched.set_attr(&mut rig.platform, a, &fifo(20), CpuId(0));
    assert_eq!(rig.sched.prio(a), 79);
    assert!(!rig.platform.resched_pending(CpuId(0)));
}

// Affinity.

#[test]
fn a_running_task_is_moved_before_anything_else_runs() {
    for attr in [NICE_0, fifo(99)] {
        let mut rig = rig(3);
        let a = rig.add(attr, CpuSet::only(CpuId(0)), &[Run(EVER)]);
        let b = rig.add(attr, CpuSet::only(CpuId(0)), &[Run(EVER)]);
        rig.run_to(10);
        let sleep_avg = rig.sched.sleep_avg_ns(a);
        let allowed = CpuSet::from_cpus([CpuId(2), CpuId(1)]);
        rig.sched.set_affinity(&mut rig.platform, a, &allowed);
        rig.reschedule();
        assert_eq!((rig.running(0), rig.running(1)), (Some(b.0), Some(a.0)));
        assert_eq!(rig.sched.cpu_of(a), CpuId(1));
        // It is charged for the time it ran, and has not slept.
        assert_eq!(rig.sched.sleep_avg_ns(a), sleep_avg - 10 * MS);
        assert_eq!(rig.platform.migrations.len(), 1);
    }
}

#[test]
fn a_waiting_task_that_is_moved_is_taken_to_have_slept() {
    let mut rig = rig(2);
    let _a = rig.add(NICE_0, CpuSet::only(CpuId(0)), &[Run(EVER)]);
    let b = rig.add(NICE_0, CpuSet::only(CpuId(0)), &[Run(EVER)]);
    rig.run_to(10);
    rig.sched.set_affinity(&mut rig.platform, b, &CpuSet::only(CpuId(1)));
    rig.reschedule();
    assert_eq!(rig.running(1), Some(b.0));
    // 10 ms at bonus 4: six times as much.
    assert_eq!(rig.sched.sleep_avg_ns(b), (408 + 60) * MS);
}

#[test]
fn a_sleeping_task_is_told_where_to_wake() {
    let mut rig = rig(4);
    let task = sleeper(&mut rig);
    let allowed = CpuSet::from_cpus([CpuId(3), CpuId(2)]);
    rig.sched.set_affinity(&mut rig.platform, task, &allowed);
    assert_eq!(rig.sched.cpu_of(task), CpuId(2));
    assert!(!rig.platform.resched_pending(CpuId(0)));
    // A mask that contains its CPU changes nothing.
    rig.sched.set_affinity(&mut rig.platform, task, &CpuSet::All);
    assert_eq!(rig.sched.cpu_of(task), CpuId(2));
}

// Wakeups.

/// Sets up two CPUs. `waker` runs on CPU 0, `other` on CPU 1. `woken` sleeps and last ran on CPU 1.
fn three_tasks(rig: &mut Rig) -> (TaskId, TaskId, TaskId) {
    let waker = rig.hog_on(0, 0);
    let woken = rig.hog_on(0, 1);
    rig.run_to(5);
    rig.sleep(woken, 1, BlockReason::Interruptible);
    let other = rig.hog_on(0, 1);
    rig.run_to(50);
    assert_eq!((rig.running(0), rig.running(1)), (Some(waker.0), Some(other.0)));
    (waker, other, woken)
}

fn by(task: TaskId, cpu: u32, sync: bool) -> Waker {
    Waker::Task { task, cpu: CpuId(cpu), sync }
}

#[test]
fn a_synchronous_waker_takes_the_task_to_its_own_cpu_without_a_preemption() {
    let mut rig = rig(2);
    let (waker, _, woken) = three_tasks(&mut rig);
    let before = rig.row(woken).clone();
    rig.sched.wake(&mut rig.platform, woken, by(waker, 0, true));
    assert_eq!(rig.sched.cpu_of(woken), CpuId(0));
    assert!(!rig.platform.resched_pending(CpuId(0)));
    let after = rig.row(woken);
    // As if it had not slept.
    assert_eq!(
        (after.sleep_avg, after.timestamp, after.activated, after.prio),
        (before.sleep_avg, before.timestamp, before.activated, before.prio)
    );
}

#[test]
fn a_synchronous_waker_whose_cpu_is_forbidden_wakes_like_any_other() {
    let mut rig = rig(2);
    let (waker, _, woken) = three_tasks(&mut rig);
    rig.sched.set_affinity(&mut rig.platform, woken, &CpuSet::only(CpuId(1)));
    rig.sched.wake(&mut rig.platform, woken, by(waker, 0, true));
    assert_eq!(rig.sched.cpu_of(woken), CpuId(1));
    assert!(rig.platform.resched_pending(CpuId(1)));
    assert_eq!(rig.row(woken).activated, Activated::Process);
    assert_eq!(rig.row(woken).timestamp, 50 * MS);
}

#[test]
fn any_other_waker_leaves_the_task_where_it_slept() {
    let mut rig = rig(2);
    let (waker, _, woken) = three_tasks(&mut rig);
    rig.sched.wake(&mut rig.platform, woken, by(waker, 0, false));
    assert_eq!(rig.sched.cpu_of(woken), CpuId(1));
    assert!(rig.platform.resched_pending(CpuId(1)));
}

#[test]
fn a_task_still_on_its_cpu_is_only_marked_runnable() {
    let mut rig = rig(1);
    let task = rig.hog(0);
    rig.run_to(5);
    rig.sched.block(&mut rig.platform, CpuId(0), task, BlockReason::Uninterruptible);
    rig.sched.wake(&mut rig.platform, task, Waker::Interrupt { cpu: CpuId(0) });
    assert_eq!(rig.row(task).state, State::Running);
    assert_eq!(rig.row(task).activated, Activated::No);
    assert!(!rig.platform.resched_pending(CpuId(0)));
    rig.sched.inspect().audit().unwrap();
}

// Balancing.

#[test]
fn the_cache_hot_test_wraps_on_32_bit_kernels() {
    for (bits, taken) in [(64, true), (32, false)] {
        let mut rig = rig(2);
        rig.sched.set_tunable(&mut rig.platform, "bits_per_long", bits).unwrap();
        for _ in 0..3 {
            rig.hog_on(0, 0);
        }
        rig.hog_on(0, 1);
        rig.reschedule();
        // The waiting tasks last ran at 0. In 32 bits that was just now.
        rig.pass((1 << 32) + MS / 2);
        for _ in 0..2 {
            rig.sched.load_balance(&mut rig.platform, CPU1, false);
        }
        assert_eq!(rig.sched.loads.all_running() == [2, 2], taken);
    }
}

#[test]
fn an_idle_cpu_takes_one_hot_task_and_only_from_two_or_more() {
    let mut rig = rig(2);
    for _ in 0..3 {
        rig.hog_on(0, 0);
    }
    rig.reschedule();
    assert_eq!(rig.sched.loads.all_running(), [3, 0]);
    rig.sched.load_balance(&mut rig.platform, CPU1, true);
    assert_eq!(rig.sched.loads.all_running(), [2, 1]);
    // The tail of the list.
    assert_eq!(rig.sched.cpu_of(TaskId(2)), CpuId(1));
    rig.sched.load_balance(&mut rig.platform, CPU0, true);
    assert_eq!(rig.sched.loads.all_running(), [2, 1]);
}

#[test]
fn shared_views_of_the_machine_are_what_each_cpu_would_have_written_down() {
    let cpus: usize = 5;
    let nodes = Nodes::new(&schedlab_core::Topology::flat(cpus as u32));
    let mut history = LoadHistory::new(cpus as u32, nodes.cpus(nodes.of(CpuId(0))));
    let mut own = vec![vec![0; cpus]; cpus];
    let mut loads = Loads::new(nodes.by_cpu().to_vec());
    let mut state = 1u64;
    for _ in 0..2000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        let random = (state >> 33) as usize;
        let cpu = random % cpus;
        if (random / 8).is_multiple_of(3) {
            loads.set_for_test(CpuId(cpu as u32), (random / 64 % 4) as u32);
        }
        let this = CpuId(cpu as u32);
        history.look(this, &loads);
        own[cpu] = loads.all_running().to_vec();
        for (cpu, own) in own.iter().enumerate() {
            assert_eq!(history.previous(CpuId(cpu as u32)), own);
        }
        let running = loads.all_running();
        let alone = (0..cpus)
            .filter(|&other| other != cpu && running[other] > 1)
            .max_by_key(|&other| (running[other], core::cmp::Reverse(other)));
        let longest = history.longest(this, &loads, &nodes);
        assert_eq!(longest.map(CpuId::index), alone);
    }
}

// Tunables.

#[test]
fn tunables_are_checked_and_fixed_at_boot() {
    let mut rig = rig(1);
    let mut set = |name, value| rig.sched.set_tunable(&mut rig.platform, name, value);
    assert_eq!(set("cache_decay_ticks", 10), Ok(()));
    assert!(matches!(set("bits_per_long", 48), Err(TunableError::Refused(_))));
    assert!(matches!(set("bits_per_long", 16), Err(TunableError::Range { .. })));
    assert!(matches!(set("cache_hot_time_ns", 1), Err(TunableError::Unknown { .. })));
    rig.hog(0);
    rig.run_to(1);
    let late = rig.sched.set_tunable(&mut rig.platform, "bits_per_long", 32);
    assert!(matches!(late, Err(TunableError::Refused(_))));
}
