//! Rules that no golden schedule decides, and the small examples of the specification.

use super::*;
use alloc::vec;
use schedlab_core::Administer;

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

fn ordinary(nice: i32) -> TaskAttr {
    TaskAttr { sched: SchedAttr::nice(nice), ..TaskAttr::default() }
}

fn with_policy(policy: Policy, rt_priority: u32) -> SchedAttr {
    SchedAttr { policy, rt_priority, ..SchedAttr::default() }
}

/// Returns a machine on which ordinary tasks have started at 0, each a process.
fn machine(version: Version, cpus: u32, nices: &[i32]) -> (Bfs, Platform) {
    let config = BuildConfig::flat(cpus, 1000);
    let (mut bfs, mut platform) = (Bfs::new(version, &config), config.platform());
    for (number, &nice) in nices.iter().enumerate() {
        let attr = TaskAttr { address_space: number as u32, ..ordinary(nice) };
        bfs.fork(&mut platform, TaskId(number as u32), &attr, Parent::External);
    }
    settle(&mut bfs, &mut platform);
    (bfs, platform)
}

/// Reschedules until no CPU requests it.
fn settle(bfs: &mut Bfs, platform: &mut Platform) {
    let mut from = 0;
    while let Some(cpu) = platform.next_resched(from).or_else(|| platform.next_resched(0)) {
        platform.clear_resched(cpu);
        bfs.schedule(platform, cpu);
        from = cpu.0 + 1;
    }
    bfs.audit().unwrap();
}

/// Ticks all CPUs at `ms`.
fn tick(bfs: &mut Bfs, platform: &mut Platform, ms: u64) {
    platform.set_now_ns(ms * MS);
    platform.set_jiffies(ms);
    for cpu in 0..platform.cpus() {
        bfs.tick(platform, CpuId(cpu));
    }
    settle(bfs, platform);
}

fn child_of(task: u32, cpu: CpuId) -> Parent {
    Parent::Task { task: TaskId(task), cpu }
}

#[test]
fn a_second_refresh_in_an_instant_adds_a_nanosecond() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[]);
    (bfs.niffies, bfs.last_jiffy) = (4_000_001, 4);
    (bfs.cpus[0].last_niffy, bfs.cpus[0].old_clock) = (4_000_001, 4_000_000);
    platform.set_now_ns(5 * MS);
    platform.set_jiffies(5);
    bfs.refresh(&platform, CPU0);
    assert_eq!(bfs.niffies, 5_000_001);
    bfs.refresh(&platform, CPU0);
    assert_eq!(bfs.niffies, 5_000_002);
}

#[test]
fn tasks_that_start_together_have_deadlines_in_their_order() {
    let (bfs, _) = machine(Version::V0_404, 1, &[0, 0, 10]);
    let deadlines: Vec<i64> = bfs.tasks.iter().map(|(_, task)| task.deadline).collect();
    assert_eq!(deadlines, [41_091_073, 41_091_075, 106_217_477]);
}

#[test]
fn a_tick_costs_976_units_and_six_of_them_a_slice() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0]);
    for ms in 1..6 {
        tick(&mut bfs, &mut platform, ms);
        assert_eq!(
            (bfs.cpus[0].rq_time_slice, bfs.cpus[0].curr),
            (6144 - 976 * ms as i32, Some(TaskId(0)))
        );
    }
    tick(&mut bfs, &mut platform, 6);
    assert_eq!(bfs.cpus[0].curr, Some(TaskId(1)), "288 units are less than half a tick");
}

#[test]
fn the_first_charge_of_0_316_is_half_a_tick_at_least_and_a_tick_at_most() {
    let (mut bfs, _) = machine(Version::V0_316, 1, &[0]);
    for (ran_ns, charged_us) in
        [(0, 500), (1_500, 1), (999_999, 999), (1_000_001, 1000), (50 * MS, 1000)]
    {
        bfs.cpus[0].rq_time_slice = 6000;
        bfs.cpus[0].rq_last_ran = 100 * MS - ran_ns;
        bfs.charge(100 * MS, CPU0);
        assert_eq!(bfs.cpus[0].rq_time_slice, 6000 - charged_us, "ran {ran_ns} ns");
    }
}

#[test]
fn a_task_alone_keeps_the_deadline_of_the_last_switch() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0]);
    for ms in 1..=20 {
        tick(&mut bfs, &mut platform, ms);
    }
    assert_eq!(bfs.running[0].rq_deadline, 41_091_073);
    assert!(bfs.tasks[TaskId(0)].deadline > 60_000_000, "its own is renewed at every tick");
    assert_eq!(bfs.cpus[0].rq_time_slice, 0, "that of the copy is not renewed");
}

#[test]
fn a_child_shares_what_is_left_of_the_slice() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0]);
    bfs.cpus[0].rq_time_slice = 201;
    bfs.fork(&mut platform, TaskId(1), &ordinary(0), child_of(0, CPU0));
    assert_eq!((bfs.cpus[0].rq_time_slice, bfs.tasks[TaskId(1)].time_slice), (100, 100));
    assert_eq!(bfs.tasks[TaskId(1)].deadline, bfs.tasks[TaskId(0)].deadline);
    assert!(!platform.resched_pending(CPU0), "a thread with an equal deadline does not preempt");

    bfs.cpus[0].rq_time_slice = 199;
    bfs.fork(&mut platform, TaskId(2), &ordinary(0), child_of(0, CPU0));
    assert_eq!((bfs.cpus[0].rq_time_slice, bfs.tasks[TaskId(2)].time_slice), (0, 6144));
    assert!(bfs.tasks[TaskId(2)].deadline > bfs.tasks[TaskId(0)].deadline);
    assert!(platform.resched_pending(CPU0));
}

#[test]
fn a_forked_process_interrupts_its_parent_unless_a_cpu_idles() {
    for (cpus, asked) in [(1, CPU0), (2, CPU1)] {
        let (mut bfs, mut platform) = machine(Version::V0_404, cpus, &[0]);
        let attr = TaskAttr { address_space: 7, ..ordinary(0) };
        bfs.fork(&mut platform, TaskId(1), &attr, child_of(0, CPU0));
        assert_eq!(platform.next_resched(0), Some(asked));
    }
}

#[test]
fn in_0_316_a_child_that_ends_at_once_returns_its_share() {
    let (mut bfs, mut platform) = machine(Version::V0_316, 1, &[0]);
    bfs.cpus[0].rq_time_slice = 5001;
    bfs.fork(&mut platform, TaskId(1), &ordinary(0), child_of(0, CPU0));
    assert_eq!((bfs.cpus[0].rq_time_slice, bfs.tasks[TaskId(1)].time_slice), (2500, 2500));
    bfs.kill(&mut platform, TaskId(1));
    assert_eq!(bfs.cpus[0].rq_time_slice, 5000);

    bfs.fork(&mut platform, TaskId(2), &ordinary(0), child_of(0, CPU0));
    bfs.cpus[0].rq_time_slice = 5900;
    bfs.kill(&mut platform, TaskId(2));
    assert_eq!(bfs.cpus[0].rq_time_slice, 6000, "a full slice at most");

    bfs.fork(&mut platform, TaskId(3), &ordinary(0), child_of(0, CPU0));
    bfs.refill(&platform, TaskId(3));
    bfs.kill(&mut platform, TaskId(3));
    assert_eq!(bfs.cpus[0].rq_time_slice, 3000, "not after a refill");
}

#[test]
fn a_task_that_yields_is_often_picked_again() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0]);
    platform.set_now_ns(2 * MS);
    bfs.yield_now(&mut platform, CPU0, TaskId(0));
    settle(&mut bfs, &mut platform);
    assert_eq!(bfs.cpus[0].curr, Some(TaskId(0)), "its deadline is still the earlier one");
}

#[test]
fn nice_moves_the_deadline_but_not_the_running_copy() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0]);
    let (row, copy) = (bfs.tasks[TaskId(0)].deadline, bfs.running[0].rq_deadline);
    bfs.set_attr(&mut platform, TaskId(0), &SchedAttr::nice(-5), CPU0);
    assert!(!platform.resched_pending(CPU0), "it is better, and runs in any case");
    bfs.set_attr(&mut platform, TaskId(0), &SchedAttr::nice(10), CPU0);
    assert!(platform.resched_pending(CPU0));
    let moved = bfs.deadline_distance(10) - bfs.deadline_distance(0);
    assert_eq!((bfs.tasks[TaskId(0)].deadline, bfs.running[0].rq_deadline), (row + moved, copy));
}

#[test]
fn a_queued_task_made_better_may_preempt() {
    for (nice, asks) in [(-10, true), (5, false)] {
        let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0]);
        bfs.set_attr(&mut platform, TaskId(1), &SchedAttr::nice(nice), CPU0);
        assert_eq!(platform.resched_pending(CPU0), asks, "nice {nice}");
        // A task that was made worse does not try, though it would have succeeded.
        platform.clear_resched(CPU0);
        bfs.running[0].rq_deadline = i64::MAX;
        bfs.set_attr(&mut platform, TaskId(1), &SchedAttr::nice(nice + 1), CPU0);
        assert!(!platform.resched_pending(CPU0));
        bfs.audit().unwrap();
    }
}

#[test]
fn a_change_of_policy_counts_at_once() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0]);
    bfs.set_attr(&mut platform, TaskId(1), &with_policy(Policy::Fifo, 1), CPU0);
    assert!(platform.resched_pending(CPU0), "a queued task became real-time");
    settle(&mut bfs, &mut platform);
    assert_eq!((bfs.cpus[0].curr, bfs.running[0].rq_prio), (Some(TaskId(1)), 98));
    bfs.set_attr(&mut platform, TaskId(1), &with_policy(Policy::Fifo, 50), CPU0);
    assert!(!platform.resched_pending(CPU0), "the running task became better");
    bfs.set_attr(&mut platform, TaskId(1), &with_policy(Policy::Idle, 0), CPU0);
    assert!(platform.resched_pending(CPU0), "it became worse");
    assert_eq!((bfs.running[0].rq_prio, bfs.cpus[0].rq_policy), (IDLE_PRIO, Policy::Idle));
}

#[test]
fn a_running_task_leaves_a_forbidden_cpu_for_an_idle_one() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 2, &[0]);
    bfs.set_affinity(&mut platform, TaskId(0), &CpuSet::only(CPU1));
    assert!(platform.resched_pending(CPU0));
    settle(&mut bfs, &mut platform);
    assert_eq!((bfs.cpus[0].curr, bfs.cpus[1].curr), (None, Some(TaskId(0))));
    assert_eq!(bfs.cpu_of(TaskId(0)), CPU1);
}

#[test]
fn a_queued_task_is_renumbered_when_its_cpu_is_forbidden() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 2, &[0, 0, 0, 0]);
    assert_eq!(bfs.cpu_of(TaskId(2)), CPU0);
    bfs.set_affinity(&mut platform, TaskId(2), &CpuSet::only(CPU1));
    assert_eq!((bfs.cpu_of(TaskId(2)), platform.migrations.len()), (CPU1, 1));
    bfs.audit().unwrap();
}

#[test]
fn a_synchronous_wakeup_disturbs_nobody_but_an_idle_cpu() {
    for (cpus, sync, asked) in [(1, true, None), (1, false, Some(CPU0)), (2, true, Some(CPU0))] {
        let (mut bfs, mut platform) = machine(Version::V0_404, cpus, &[0, 19]);
        bfs.block(&mut platform, CPU0, TaskId(0), BlockReason::Interruptible);
        platform.resched(CPU0);
        settle(&mut bfs, &mut platform);
        let waker = Waker::Task { task: TaskId(1), cpu: bfs.cpu_of(TaskId(1)), sync };
        bfs.wake(&mut platform, TaskId(0), waker);
        assert_eq!(platform.next_resched(0), asked, "{cpus} CPUs, sync {sync}");
    }
}

#[test]
fn an_equal_deadline_does_not_preempt_and_the_first_cpu_is_the_victim() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 2, &[0, 0]);
    bfs.running[0].rq_deadline = 50;
    bfs.running[1].rq_deadline = 50;
    bfs.fork(&mut platform, TaskId(2), &ordinary(0), Parent::External);
    for (deadline, asked) in [(50, None), (49, Some(CPU0))] {
        platform.clear_resched(CPU0);
        bfs.tasks[TaskId(2)].deadline = deadline;
        bfs.try_preempt(&mut platform, TaskId(2));
        assert_eq!(platform.next_resched(0), asked);
    }
}

#[test]
fn idle_priority_waits_for_all_others_unless_it_may_hold_what_they_need() {
    for (reason, level) in
        [(BlockReason::Interruptible, IDLE_PRIO), (BlockReason::Uninterruptible, NORMAL_PRIO)]
    {
        let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[]);
        let attr = TaskAttr { sched: with_policy(Policy::Idle, 0), ..TaskAttr::default() };
        bfs.fork(&mut platform, TaskId(0), &attr, Parent::External);
        settle(&mut bfs, &mut platform);
        bfs.block(&mut platform, CPU0, TaskId(0), reason);
        platform.resched(CPU0);
        settle(&mut bfs, &mut platform);
        bfs.wake(&mut platform, TaskId(0), Waker::Interrupt { cpu: CPU0 });
        settle(&mut bfs, &mut platform);
        assert_eq!(bfs.running[0].rq_prio, level, "{reason:?}");
        // Once it has queued again it is in its former state.
        bfs.fork(&mut platform, TaskId(1), &ordinary(-20), Parent::External);
        settle(&mut bfs, &mut platform);
        assert_eq!(bfs.tasks[TaskId(0)].prio, IDLE_PRIO, "{reason:?}");
    }
}

#[test]
fn the_former_sticky_task_is_offered_to_an_idle_cpu() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0, 0]);
    bfs.swap_sticky(&mut platform, CPU0, TaskId(1));
    assert!(bfs.tasks[TaskId(1)].sticky);
    bfs.swap_sticky(&mut platform, CPU0, TaskId(2));
    let sticky =
        |bfs: &Bfs| -> Vec<bool> { bfs.tasks.iter().map(|(_, task)| task.sticky).collect() };
    assert_eq!(
        (sticky(&bfs), bfs.cpus[0].sticky_task),
        (vec![false, false, true], Some(TaskId(2)))
    );
    bfs.tasks[TaskId(0)].prio = 10;
    bfs.swap_sticky(&mut platform, CPU0, TaskId(0));
    assert_eq!(
        (sticky(&bfs), bfs.cpus[0].sticky_task),
        (vec![false; 3], None),
        "real-time tasks are never sticky"
    );
}

#[test]
fn in_0_316_an_equal_offset_is_won_by_the_own_cpu() {
    let (mut bfs, mut platform) = machine(Version::V0_316, 2, &[0, 0]);
    bfs.fork(&mut platform, TaskId(2), &ordinary(0), Parent::External);
    let distance = bfs.version.task_timeslice(0, bfs.rr_interval);
    bfs.tasks[TaskId(2)].cpu = CPU1;
    bfs.tasks[TaskId(2)].deadline = 100;
    (bfs.running[0].rq_deadline, bfs.running[1].rq_deadline) = (200 + distance, 200);
    bfs.try_preempt(&mut platform, TaskId(2));
    assert_eq!(platform.next_resched(0), Some(CPU1));
}

#[test]
fn tunables_are_checked() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[]);
    assert!(matches!(
        bfs.set_tunable(&mut platform, "rr_interval", 0),
        Err(TunableError::Range { min: 1, max: 1000 })
    ));
    assert!(matches!(
        bfs.set_tunable(&mut platform, "rr_interval", 52),
        Err(TunableError::Refused(_))
    ));
    assert!(matches!(
        bfs.set_tunable(&mut platform, "sched_latency_ns", 1),
        Err(TunableError::Unknown { .. })
    ));
    bfs.set_tunable(&mut platform, "rr_interval", 20).unwrap();
    assert_eq!(bfs.tunables()[0].value, 20);
    assert_eq!((bfs.slice, bfs.deadline_distance(0)), (20 << 10, 836 * 20 * 8192));
}

#[test]
fn an_account_of_a_pick_has_each_queued_deadline() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0, 5]);
    platform.ask(true);
    // The running task's slice ends: it queues with its own deadline, behind the others.
    bfs.cpus[0].rq_time_slice = 0;
    let next = bfs.schedule(&mut platform, CPU0);
    let account = platform.take_accounts().pop().expect("an account was requested");
    assert_eq!((next, account.rule), (Some(TaskId(1)), rules::EARLIEST_DEADLINE));
    let candidates = &account.evidence.candidates;
    assert_eq!(account.evidence.best(), Ok(Some(schedlab_core::Who::Task(TaskId(1)))));
    let deadline = |task: u32| bfs.tasks[TaskId(task)].deadline;
    let ranks: Vec<_> = candidates.iter().map(|other| other.rank).collect();
    assert_eq!(
        ranks,
        [[101, 0, deadline(1), 0], [101, 0, deadline(2), 1], [101, 0, deadline(0), 2]]
    );
    assert_eq!(candidates[0].terms[1].name, "deadline_ns");
    // When candidates are listed between decisions, the running task is listed as if its CPU
    // switched away from it now.
    let mut now = Vec::new();
    bfs.candidates(CPU0, &mut now);
    assert_eq!(now.last().map(|other| other.rank[2]), Some(deadline(1)));
}

#[test]
fn who_is_due_just_now_is_not_overdue() {
    // 0.316 counts in jiffies: nice 0 is due in this number of them. The running task has the
    // earlier deadline.
    for (late, rule) in [(0, rules::EARLIEST_DEADLINE), (1, rules::FIRST_OVERDUE)] {
        let (mut bfs, mut platform) = machine(Version::V0_316, 1, &[0]);
        bfs.block(&mut platform, CPU0, TaskId(0), BlockReason::Interruptible);
        platform.resched(CPU0);
        settle(&mut bfs, &mut platform);
        bfs.wake(&mut platform, TaskId(0), Waker::Interrupt { cpu: CPU0 });
        let due = bfs.tasks[TaskId(0)].deadline as u64;
        platform.set_jiffies(due + late);
        platform.set_now_ns((due + late) * MS);
        bfs.schedule(&mut platform, CPU0);
        assert_eq!(platform.rule(Question::Pick), rule, "{late} jiffies late");
    }
}

#[test]
fn who_has_used_its_slice_up_stands_in_the_account_with_its_next_deadline() {
    let (mut bfs, mut platform) = machine(Version::V0_404, 1, &[0, 0]);
    tick(&mut bfs, &mut platform, 3);
    bfs.cpus[0].rq_time_slice = 0;
    let expected = bfs.niffies as i64 + bfs.deadline_distance(0);
    let mut now = Vec::new();
    bfs.candidates(CPU0, &mut now);
    let task = schedlab_core::Who::Task(TaskId(0));
    let runs = now.iter().find(|other| other.who == task).expect("the task is a candidate");
    assert!(runs.rank.contains(&expected), "{expected}: {runs:?}");
}
