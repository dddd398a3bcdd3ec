//! 2.6.22: worked examples, and rules that no golden schedule decides.

use super::*;
use crate::o_1::task::{Activated, Tasks};

fn rig(cpus: u32) -> Rig {
    Rig::new(Version::V2_6_22, cpus)
}

// Worked examples.

#[test]
fn two_hogs_take_turns_of_100_ms() {
    let mut rig = rig(1);
    rig.hog(0);
    rig.hog(0);
    rig.run_to(300);
    assert_eq!(rig.slices, [(0, 0, 100, 0), (0, 100, 200, 1), (0, 200, 300, 0)]);
}

#[test]
fn how_long_a_burst_stays_interactive() {
    let mut rig = rig(1);
    let _hog = rig.hog(0);
    let burst = rig.add(NICE_0, CpuSet::All, &[Run(1), Sleep(900), Run(EVER)]);
    rig.run_to(101);
    assert_eq!(rig.sched.sleep_avg_ns(burst), 399_750_000);
    rig.run_to(1001);
    assert_eq!((rig.sched.sleep_avg_ns(burst), rig.sched.prio(burst)), (799 * MS, 118));
    rig.run_to(2200);
    assert_eq!(
        rig.slices,
        [
            (0, 0, 100, 0),
            (0, 100, 101, 1),
            (0, 101, 1001, 0),
            (0, 1001, 1900, 1),
            (0, 1900, 2000, 0),
            (0, 2000, 2100, 1),
            (0, 2100, 2200, 0),
        ]
    );
}

#[test]
fn three_hogs_on_two_cpus_stay_two_to_one() {
    let mut rig = rig(2);
    for cpu in [0, 0, 1] {
        rig.hog_on(0, cpu);
    }
    rig.run_to(5000);
    assert_eq!(rig.sched.loads.all_running(), [2, 1]);
    assert!(rig.platform.migrations.is_empty());
}

#[test]
fn ten_nice_19_hogs_weigh_less_than_one_of_nice_0() {
    let mut rig = rig(2);
    for _ in 0..10 {
        rig.hog_on(19, 0);
    }
    rig.hog_on(0, 1);
    rig.run_to(1000);
    assert_eq!(rig.weights(), [60, 128]);
    assert_eq!(rig.sched.loads.all_running(), [10, 1]);
}

// Starvation.

#[test]
fn the_starvation_limit_must_be_exceeded() {
    let mut rig = rig(1);
    rig.hog(0);
    rig.hog(0);
    rig.run_to(1);
    rig.sched.rqs[0].expired_timestamp = 10;
    rig.platform.set_jiffies(10 + 2000);
    assert!(!rig.sched.expired_starving(&rig.platform, CPU0));
    rig.platform.set_jiffies(10 + 2001);
    assert!(rig.sched.expired_starving(&rig.platform, CPU0));
}

#[test]
fn nobody_waits_in_expired_for_one_of_worse_nice_value() {
    let mut rig = rig(1);
    rig.hog(1);
    rig.run_to(1);
    for (best, starving) in [(140, false), (121, false), (120, true)] {
        rig.sched.rqs[0].best_expired_prio = best;
        assert_eq!(rig.sched.expired_starving(&rig.platform, CPU0), starving);
    }
    rig.sched.rqs[0].swap_arrays();
    assert_eq!(rig.sched.rqs[0].best_expired_prio, 140);
}

// Fork, exit, nice, policy.

#[test]
fn a_child_process_goes_before_its_parent() {
    let mut rig = rig(1);
    let (parent, other) = (rig.hog(0), rig.hog(0));
    rig.run_to(1);
    let child = rig.fork(parent, 0, 9);
    assert_eq!(rig.active(0, 121), [child.0, parent.0, other.0]);
    assert!(rig.platform.resched_pending(CpuId(0)));
    assert_eq!((rig.sched.time_slice(parent), rig.sched.time_slice(child)), (49, 50));
}

#[test]
fn a_thread_goes_behind_and_nobody_is_asked() {
    let mut rig = rig(1);
    let (parent, other) = (rig.hog(0), rig.hog(0));
    rig.run_to(1);
    // Bonus 5, so that the child's bonus is 4, as the others' are.
    rig.row(parent).sleep_avg = 500 * MS;
    let child = rig.fork(parent, 0, parent.0);
    assert_eq!(rig.sched.sleep_avg_ns(child), 400 * MS);
    assert_eq!(rig.active(0, 121), [parent.0, other.0, child.0]);
    assert!(!rig.platform.resched_pending(CpuId(0)));
}

#[test]
fn the_rest_of_a_slice_comes_back_only_on_the_same_cpu() {
    for (cpu, expect) in [(0, 99), (1, 49)] {
        let mut rig = rig(2);
        let parent = rig.hog_on(0, 0);
        rig.run_to(1);
        let child = rig.fork(parent, 0, 9);
        rig.sched.kill(&mut rig.platform, child);
        rig.row(child).cpu = CpuId(cpu);
        rig.sched.reap(&mut rig.platform, child, Some(parent));
        assert_eq!(rig.sched.time_slice(parent), expect);
    }
}

#[test]
fn the_slice_that_comes_back_is_capped_at_the_childs_full_one() {
    let mut rig = rig(1);
    let parent = rig.hog(0);
    rig.run_to(1);
    let child = rig.fork(parent, 0, 9);
    rig.row(parent).time_slice = 90;
    rig.sched.kill(&mut rig.platform, child);
    rig.sched.reap(&mut rig.platform, child, Some(parent));
    assert_eq!(rig.sched.time_slice(parent), 100);
}

#[test]
fn a_new_nice_value_keeps_the_bonus_and_changes_the_weight() {
    let mut rig = rig(1);
    let (a, b) = (rig.hog(0), rig.hog(0));
    rig.run_to(10);
    rig.sched.set_attr(&mut rig.platform, b, &SchedAttr::nice(-10), CpuId(0));
    assert_eq!(rig.sched.prio(b), 111);
    assert_eq!(rig.weights(), [128 + 768]);
    assert!(rig.platform.resched_pending(CpuId(0)));
    rig.reschedule();
    assert_eq!(rig.running(0), Some(b.0));
    let _ = a;
    rig.sched.inspect().audit().unwrap();
}

#[test]
fn batch_tasks_wait_in_expired() {
    let mut rig = rig(1);
    let batch = SchedAttr { policy: Policy::Batch, ..NICE_0 };
    rig.hog(0);
    let task = rig.add(batch, CpuSet::All, &[Run(EVER)]);
    rig.run_to(1);
    assert_eq!(rig.expired(0, 121), [task.0]);
    rig.sched.set_attr(&mut rig.platform, task, &fifo(1), CpuId(0));
    assert_eq!(rig.active(0, 98), [task.0]);
    assert_eq!(rig.weights(), [128 + 1024 + 1]);
}

// Affinity.

#[test]
fn a_waiting_or_running_task_is_moved_and_its_wait_is_no_sleep() {
    let mut rig = rig(2);
    let a = rig.add(NICE_0, CpuSet::only(CpuId(0)), &[Run(EVER)]);
    let b = rig.add(NICE_0, CpuSet::only(CpuId(0)), &[Run(EVER)]);
    rig.run_to(10);
    rig.pass(MS / 2);
    rig.sched.set_affinity(&mut rig.platform, b, &CpuSet::only(CpuId(1)));
    rig.reschedule();
    // It leaves one list and joins another. That is no wakeup, and its wait no sleep.
    assert_eq!(rig.sched.sleep_avg_ns(b), 400 * MS);
    rig.sched.set_affinity(&mut rig.platform, a, &CpuSet::only(CpuId(1)));
    rig.reschedule();
    assert_eq!((rig.running(0), rig.running(1)), (None, Some(b.0)));
    assert_eq!(rig.sched.loads.all_running(), [0, 2]);
}

// Wakeups.

/// Sets up two tasks. `waker` runs on CPU 0. `woken` sleeps and last ran on CPU 1, which is idle.
fn two_tasks(rig: &mut Rig) -> (TaskId, TaskId) {
    let waker = rig.hog_on(0, 0);
    let woken = rig.hog_on(0, 1);
    rig.run_to(5);
    rig.sleep(woken, 1, BlockReason::Interruptible);
    rig.run_to(150);
    (waker, woken)
}

fn by(task: TaskId, cpu: u32, sync: bool) -> Waker {
    Waker::Task { task, cpu: CpuId(cpu), sync }
}

#[test]
fn a_woken_task_comes_to_a_synchronous_waker_that_is_alone() {
    for (sync, cpu) in [(true, 0), (false, 1)] {
        let mut rig = rig(2);
        let (waker, woken) = two_tasks(&mut rig);
        rig.sched.wake(&mut rig.platform, woken, by(waker, 0, sync));
        // Without the waker CPU 0 is as empty as CPU 1. With it, it is too full.
        assert_eq!(rig.sched.cpu_of(woken), CpuId(cpu));
        // It has slept nevertheless.
        assert_eq!(rig.row(woken).activated, Activated::Process);
        assert_eq!(rig.row(woken).timestamp, 150 * MS);
        // Its priority is better than that of the waker, which has announced that it will sleep.
        assert!(rig.sched.prio(woken) < rig.sched.prio(waker));
        assert!(!rig.platform.resched_pending(CpuId(0)));
    }
}

#[test]
fn a_woken_task_comes_if_12_percent_are_not_exceeded() {
    // 100 * (this_load + weight) <= 112 * load.
    for (load, cpu) in [(228, 1), (229, 0)] {
        let mut rig = rig(2);
        let (waker, woken) = two_tasks(&mut rig);
        rig.sched.domains.set_for_test(CpuId(1), 2, load, load);
        let p = rig.sched.tasks.pid(woken);
        rig.sched.wake_affine(&mut rig.platform, p, by(waker, 0, false));
        assert_eq!(rig.sched.cpu_of(woken), CpuId(cpu));
    }
}

#[test]
fn a_woken_task_stays_where_the_wakers_cpu_is_forbidden() {
    let mut rig = rig(2);
    let (waker, woken) = two_tasks(&mut rig);
    rig.sched.set_affinity(&mut rig.platform, woken, &CpuSet::only(CpuId(1)));
    rig.sched.wake(&mut rig.platform, woken, by(waker, 0, true));
    assert_eq!(rig.sched.cpu_of(woken), CpuId(1));
}

#[test]
fn realtime_tasks_wake_without_the_estimator() {
    let mut rig = rig(1);
    let task = rig.add(fifo(5), CpuSet::All, &[Run(5), Sleep(100), Run(EVER)]);
    rig.run_to(5);
    let before = rig.row(task).clone();
    rig.run_to(104);
    rig.sched.wake(&mut rig.platform, task, Waker::Interrupt { cpu: CpuId(0) });
    let after = rig.row(task);
    assert_eq!(
        (after.sleep_avg, after.timestamp, after.activated),
        (before.sleep_avg, before.timestamp, before.activated)
    );
}

// Balancing.

/// Returns the result that CPU 0 finds, as an idle CPU, given the number of tasks and the total
/// weight on each CPU.
fn find(loads: &[(u32, u64)]) -> Option<(u32, u64)> {
    let mut rig = rig(loads.len() as u32);
    for (cpu, &(tasks, weight)) in (0..).zip(loads) {
        rig.sched.domains.set_for_test(CpuId(cpu), tasks, weight, weight);
    }
    rig.sched.domains.busiest_for_test(CpuId(0))
}

fn found(busiest: u32, imbalance: u64) -> Option<(u32, u64)> {
    Some((busiest, imbalance))
}

#[test]
fn a_quarter_more_is_not_enough() {
    assert_eq!(find(&[(8, 1024), (10, 1280)]), None);
    assert_eq!(find(&[(8, 1024), (11, 1408)]), found(1, 192));
}

#[test]
fn a_load_that_does_not_exceed_a_task_is_left() {
    // This CPU's only task has no weight, so the last rule would move one.
    assert_eq!(find(&[(1, 0), (2, 256)]), found(1, 128));
    let mut rig = rig(2);
    let all = &mut rig.sched.domains;
    all.set_for_test(CpuId(0), 1, 0, 0);
    all.set_for_test(CpuId(1), 2, 256, 128);
    assert_eq!(rig.sched.domains.busiest_for_test(CpuId(0)), None);
}

#[test]
fn below_the_average_no_more_than_a_task_is_taken() {
    // CPUs 1 and 3 have the largest weights, but only one task each.
    assert_eq!(find(&[(0, 0), (1, 1024), (3, 384), (1, 1024)]), found(2, 128));
}

#[test]
fn the_first_in_ring_order_wins_among_equals() {
    assert_eq!(find(&[(0, 0), (4, 512), (4, 512)]), found(1, 171));
    let mut rig = rig(3);
    let all = &mut rig.sched.domains;
    all.set_for_test(CpuId(0), 4, 512, 512);
    all.set_for_test(CpuId(2), 4, 512, 512);
    let found = rig.sched.domains.busiest_for_test(CpuId(1));
    assert_eq!(found.map(|(busiest, _)| busiest), Some(2));
}

#[test]
fn active_balancing_moves_even_the_heaviest_task() {
    let mut rig = rig(2);
    // The task that runs on CPU 1 is better, so only weight decides.
    rig.hog_on(0, 1);
    rig.reschedule();
    let p = rig.sched.tasks.pid(TaskId(0));
    rig.sched.set_attr(&mut rig.platform, TaskId(0), &fifo(99), CpuId(1));
    let task = rig.add(fifo(98), CpuSet::only(CpuId(0)), &[Run(EVER)]);
    rig.start(task);
    rig.reschedule();
    rig.sched.tasks.set_allowed(task, CpuSet::All);
    assert_eq!(rig.sched.tasks[rig.sched.tasks.pid(task)].load_weight, 1149);
    rig.sched.domains.ask_push_for_test(CpuId(0), CpuId(1));
    rig.sched.wake_migration_thread(&mut rig.platform, CPU0);
    assert_eq!(rig.sched.loads.all_running(), [2, 1]);
    rig.reschedule();
    assert_eq!(rig.sched.cpu_of(task), CpuId(1));
    assert_eq!(rig.sched.loads.all_running(), [0, 2]);
    assert!(!rig.sched.tasks[Tasks::migration_thread(CPU0)].is_queued());
    let _ = p;
}

#[test]
fn a_cpu_that_finds_all_balanced_looks_less_and_less() {
    let mut rig = rig(2);
    let mut intervals = vec![];
    for ms in [0, 1, 2, 3, 4, 8] {
        rig.run_to(ms);
        intervals.push(rig.sched.domains.balance_interval(CpuId(1)));
    }
    assert_eq!(intervals, [1, 2, 2, 4, 4, 4]);
}

// sched_setscheduler.

#[test]
fn the_policy_that_a_task_has_already_makes_it_active_again() {
    let mut rig = rig(1);
    let a = rig.add(NICE_0, CpuSet::All, &[Run(EVER)]);
    rig.add(NICE_0, CpuSet::All, &[Run(EVER)]);
    rig.run_to(150);
    let p = rig.sched.tasks.pid(a);
    let expired = rig.sched.rqs[0].expired();
    assert_eq!(rig.sched.tasks[p].array, Some(expired), "its slice of 100 ms is over");
    let slice = rig.sched.time_slice(a);
    rig.sched.set_same_attr(&mut rig.platform, a, CpuId(0));
    assert_eq!(rig.sched.tasks[p].array, Some(rig.sched.rqs[0].active()));
    assert_eq!(rig.sched.time_slice(a), slice);
}

#[test]
fn a_change_of_policy_keeps_the_bonus_and_batch_clears_the_estimate() {
    let mut rig = rig(1);
    let a = rig.add(NICE_0, CpuSet::All, &[Run(EVER)]);
    rig.run_to(10);
    // 400 ms: bonus 4, one step worse than the middle.
    assert_eq!(rig.sched.prio(a), 121);
    let batch = SchedAttr { policy: Policy::Batch, ..NICE_0 };
    rig.sched.set_attr(&mut rig.platform, a, &batch, CpuId(0));
    assert_eq!((rig.sched.prio(a), rig.sched.sleep_avg_ns(a)), (121, 0));
}

#[test]
fn a_sleep_lifts_to_the_ceiling_only_who_was_below_it() {
    // The ceiling of nice 0 is 799 ms. A sleep of 900 ms is longer than that.
    for (before, after) in [(798, 799), (799, 1000), (800, 1000)] {
        let mut rig = rig(1);
        let task = rig.hog(0);
        rig.run_to(1);
        rig.sleep(task, 0, BlockReason::Interruptible);
        rig.row(task).sleep_avg = before * MS;
        rig.pass(900 * MS);
        rig.row(task).timestamp = rig.platform.now_ns() - 900 * MS;
        rig.recalc(task);
        assert_eq!(rig.sched.sleep_avg_ns(task), after * MS, "{before} ms");
    }
}

#[test]
fn arrays_swapped_and_clocks_read_are_counted() {
    // Two CPU-bound tasks: a turn of 100 ms each, then the arrays are swapped. Each schedule()
    // reads the clock.
    let mut rig = rig(1);
    rig.hog(0);
    rig.hog(0);
    rig.run_to(150);
    assert_eq!(rig.platform.work.swaps, 0);
    let reads = rig.platform.work.clock_reads;
    rig.run_to(250);
    assert_eq!(rig.platform.work.swaps, 1);
    assert!(rig.platform.work.clock_reads > reads);
}

#[test]
fn the_audit_finds_what_does_not_add_up() {
    let good = || {
        let mut rig = rig(2);
        for cpu in [0, 0, 1] {
            rig.hog_on(0, cpu);
        }
        rig.run_to(10);
        rig.sched
    };
    let p = good().tasks.pid(TaskId(0));
    let corruptions: [&dyn Fn(&mut O1); 6] = [
        &|sched| sched.tasks[p].cpu = CPU1,
        &|sched| sched.tasks[p].prio += 1,
        &|sched| {
            let other = sched.rqs[0].expired();
            let here = sched.tasks[p].array;
            sched.tasks[p].array = if here == Some(other) { None } else { Some(other) };
        },
        &|sched| sched.tasks[p].load_weight += 1,
        &|sched| sched.rqs[0].curr = Some(Tasks::migration_thread(CPU0)),
        &|sched| sched.tasks[p].sleep_avg = sched.params.ns_max_sleep_avg + 1,
    ];
    assert_eq!(good().inspect().audit(), Ok(()));
    for (number, corrupt) in corruptions.iter().enumerate() {
        let mut wrong = good();
        corrupt(&mut wrong);
        assert!(wrong.inspect().audit().is_err(), "corruption {number}");
    }
}
