//! Rules that no golden schedule decides.

use super::*;
use crate::classes::load_balance_2_6_22::Balanced;
use schedlab_core::Administer;

const MS: u64 = 1_000_000;
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

fn attr(sched: SchedAttr, address_space: u32) -> TaskAttr {
    TaskAttr { sched, address_space, ..TaskAttr::default() }
}

fn with_policy(policy: Policy, rt_priority: u32) -> SchedAttr {
    SchedAttr { policy, rt_priority, ..SchedAttr::default() }
}

/// Returns a machine on which tasks have started at 0, each a process.
fn machine(edition: Edition, cpus: u32, tasks: &[SchedAttr]) -> (Staircase, Platform) {
    let config = BuildConfig::flat(cpus, 1000);
    let (mut sched, mut platform) = (Staircase::new(edition, &config), config.platform());
    for (number, &task) in tasks.iter().enumerate() {
        let number = number as u32;
        sched.fork(&mut platform, TaskId(number), &attr(task, number), Parent::External);
    }
    settle(&mut sched, &mut platform);
    (sched, platform)
}

/// Reschedules until no CPU requests it.
fn settle(sched: &mut Staircase, platform: &mut Platform) {
    let mut from = 0;
    while let Some(cpu) = platform.next_resched(from).or_else(|| platform.next_resched(0)) {
        platform.clear_resched(cpu);
        sched.schedule(platform, cpu);
        from = cpu.0 + 1;
    }
    sched.audit().unwrap();
}

fn tick(sched: &mut Staircase, platform: &mut Platform, ms: u64) {
    platform.set_now_ns(ms * MS);
    platform.set_jiffies(ms);
    for cpu in 0..platform.cpus() {
        sched.tick(platform, CpuId(cpu));
    }
    settle(sched, platform);
}

fn sleep(sched: &mut Staircase, platform: &mut Platform, task: u32, reason: BlockReason) {
    let cpu = sched.cpu_of(TaskId(task));
    assert_eq!(running(sched, cpu), Some(task));
    sched.block(platform, cpu, TaskId(task), reason);
    platform.resched(cpu);
    settle(sched, platform);
}

fn row(sched: &mut Staircase, task: u32) -> &mut Task {
    let p = sched.pid(TaskId(task));
    &mut sched.tasks[p]
}

fn running(sched: &Staircase, cpu: CpuId) -> Option<u32> {
    let curr = sched.cpus[cpu.index()].curr?;
    sched.task_id(curr).map(|task| task.0)
}

const NICE0: SchedAttr = SchedAttr::nice(0);

#[test]
fn impossible_times_are_charged_as_a_tick_or_a_microsecond() {
    let (mut sched, _) = machine(Edition::Sd, 1, &[NICE0]);
    for (ran_ns, from_tick, charged_us) in [
        (2 * MS, true, 2000),
        (2 * MS + 1, true, 1000),
        (0, true, 0),
        (1999, true, 1),
        (0, false, 1),
        (1, false, 0),
        (MS, false, 1000),
        (MS + 1, false, 1),
    ] {
        row(&mut sched, 0).time_slice = 5000;
        row(&mut sched, 0).last_ran = 100 * MS - ran_ns;
        sched.update_cpu_clock(100 * MS, CPU0, from_tick);
        assert_eq!(
            row(&mut sched, 0).time_slice,
            5000 - charged_us,
            "{ran_ns} ns, tick {from_tick}"
        );
    }
}

#[test]
fn a_child_stands_beside_its_parent_with_half_of_what_it_has() {
    for (parent_has, parent_keeps, child_gets) in
        [(5001, 2500, 2500), (1, 0, 1), (0, 0, 0), (-7, -7, 0)]
    {
        let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0]);
        for ms in 1..=13 {
            tick(&mut sched, &mut platform, ms);
        }
        assert_eq!(row(&mut sched, 0).prio, 105, "two slots down");
        row(&mut sched, 0).time_slice = parent_has;
        let parent = Parent::Task { task: TaskId(0), cpu: CPU0 };
        sched.fork(&mut platform, TaskId(1), &attr(NICE0, 1), parent);
        assert_eq!(row(&mut sched, 0).time_slice, parent_keeps, "parent of {parent_has}");
        if child_gets > 0 {
            assert_eq!((row(&mut sched, 1).time_slice, row(&mut sched, 1).prio), (child_gets, 105));
        } else {
            // There is nothing to inherit: it takes the next slot.
            assert_eq!((row(&mut sched, 1).time_slice, row(&mut sched, 1).prio), (6000, 107));
        }
        assert!(platform.resched_pending(CPU0), "a process preempts its parent");
        sched.audit().unwrap();
    }
}

#[test]
fn a_thread_does_not_interrupt_its_equal() {
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0]);
    let parent = Parent::Task { task: TaskId(0), cpu: CPU0 };
    sched.fork(&mut platform, TaskId(1), &attr(NICE0, 0), parent);
    assert!(!platform.resched_pending(CPU0));
}

#[test]
fn a_short_lived_child_returns_its_share() {
    let (mut sched, mut platform) = machine(Edition::Sd, 2, &[NICE0]);
    let parent = Parent::Task { task: TaskId(0), cpu: CPU0 };
    for (child, parent_has_then, parent_ends_with) in [(1, 2000, 5000), (2, 11_000, 12_000)] {
        row(&mut sched, 0).time_slice = 6000;
        sched.fork(&mut platform, TaskId(child), &attr(NICE0, 1), parent);
        assert_eq!(row(&mut sched, child).time_slice, 3000);
        row(&mut sched, 0).time_slice = parent_has_then;
        sched.kill(&mut platform, TaskId(child));
        assert_eq!(row(&mut sched, 0).time_slice, parent_ends_with, "a quota of 12 ms at most");
    }
    row(&mut sched, 0).time_slice = 6000;
    sched.fork(&mut platform, TaskId(3), &attr(NICE0, 1), parent);
    sched.set_affinity(&mut platform, TaskId(3), &CpuSet::only(CPU1));
    sched.kill(&mut platform, TaskId(3));
    assert_eq!(row(&mut sched, 0).time_slice, 3000, "not from another CPU");
}

#[test]
fn one_who_yields_gives_up_its_rotation_unless_alone() {
    for edition in [Edition::Sd, Edition::Rsdl] {
        let (mut sched, mut platform) = machine(edition, 1, &[NICE0]);
        sched.yield_now(&mut platform, CPU0, TaskId(0));
        assert!(platform.resched_pending(CPU0));
        let array = row(&mut sched, 0).array;
        assert_eq!(array, sched.cpus[0].active(CPU0), "alone");

        let (mut sched, mut platform) = machine(edition, 1, &[NICE0, NICE0]);
        sched.yield_now(&mut platform, CPU0, TaskId(0));
        let array = row(&mut sched, 0).array;
        assert_eq!(array, sched.cpus[0].expired(CPU0));
        settle(&mut sched, &mut platform);
        assert_eq!(running(&sched, CPU0), Some(1));
    }
}

#[test]
fn a_real_time_task_that_yields_goes_behind_its_equals() {
    let fifo = with_policy(Policy::Fifo, 20);
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[fifo, fifo, NICE0]);
    for next in [1, 0] {
        let curr = running(&sched, CPU0).unwrap();
        sched.yield_now(&mut platform, CPU0, TaskId(curr));
        settle(&mut sched, &mut platform);
        assert_eq!(running(&sched, CPU0), Some(next));
    }
}

#[test]
fn a_queued_task_keeps_its_level_when_its_nice_changes() {
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0, NICE0]);
    sched.set_attr(&mut platform, TaskId(1), &SchedAttr::nice(10), CPU0);
    let task = row(&mut sched, 1);
    assert_eq!((task.prio, task.time_slice, task.quota), (101, 6000, 3000));
    assert_eq!(sched.domains.load(CPU0).raw_weighted_load(), 4800 + 40 * 30);
    assert!(!platform.resched_pending(CPU0));
    sched.audit().unwrap();
}

#[test]
fn a_change_of_policy_counts_at_once() {
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0, NICE0]);
    sched.set_attr(&mut platform, TaskId(1), &with_policy(Policy::RoundRobin, 5), CPU0);
    assert!(platform.resched_pending(CPU0), "a queued task became real-time");
    settle(&mut sched, &mut platform);
    assert_eq!(running(&sched, CPU0), Some(1));
    sched.set_attr(&mut platform, TaskId(1), &with_policy(Policy::RoundRobin, 50), CPU0);
    assert!(!platform.resched_pending(CPU0), "the running task became better");
    sched.set_attr(&mut platform, TaskId(1), &NICE0, CPU0);
    assert!(platform.resched_pending(CPU0), "it became worse");
    sched.audit().unwrap();
}

#[test]
fn tasks_leave_a_forbidden_cpu_whatever_they_do() {
    let (mut sched, mut platform) = machine(Edition::Sd, 2, &[NICE0; 5]);
    assert_eq!([0, 2, 4].map(|task| sched.cpu_of(TaskId(task))), [CPU0; 3]);
    assert_eq!(running(&sched, CPU0), Some(0));
    sched.set_affinity(&mut platform, TaskId(2), &CpuSet::only(CPU1));
    assert_eq!(sched.cpu_of(TaskId(2)), CPU1, "queued");
    sched.set_affinity(&mut platform, TaskId(0), &CpuSet::only(CPU1));
    assert_eq!(sched.cpu_of(TaskId(0)), CPU0, "running: its CPU must reschedule first");
    settle(&mut sched, &mut platform);
    assert_eq!((sched.cpu_of(TaskId(0)), running(&sched, CPU0)), (CPU1, Some(4)));
    sleep(&mut sched, &mut platform, 4, BlockReason::Interruptible);
    sched.set_affinity(&mut platform, TaskId(4), &CpuSet::only(CPU1));
    assert_eq!(sched.cpu_of(TaskId(4)), CPU1, "asleep");
    sched.wake(&mut platform, TaskId(4), Waker::Interrupt { cpu: CPU1 });
    settle(&mut sched, &mut platform);
}

#[test]
fn a_synchronous_wakeup_on_the_own_cpu_interrupts_nobody() {
    for sync in [false, true] {
        let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0, NICE0]);
        sleep(&mut sched, &mut platform, 0, BlockReason::Interruptible);
        for ms in 1..=7 {
            tick(&mut sched, &mut platform, ms);
        }
        let waker = Waker::Task { task: TaskId(1), cpu: CPU0, sync };
        sched.wake(&mut platform, TaskId(0), waker);
        assert_eq!(platform.resched_pending(CPU0), !sync);
        assert_eq!(row(&mut sched, 0).prio, 101, "it slept within the rotation");
    }
}

#[test]
fn a_task_may_come_to_its_waker() {
    // CPU 0: task 0 alone. CPU 1: task 1 asleep, task 3 running; task 2 with task 0.
    for (averaged, woken_on) in [(0, CPU1), (9600, CPU0)] {
        let (mut sched, mut platform) = machine(Edition::Sd, 2, &[NICE0, NICE0]);
        assert_eq!(sched.cpu_of(TaskId(1)), CPU1);
        sleep(&mut sched, &mut platform, 1, BlockReason::Interruptible);
        // CPU 1's recent load decides: if it is less than that of the waker's CPU, the task stays.
        for task in [2, 3, 4] {
            let task_attr = TaskAttr { allowed: CpuSet::only(CPU1), ..attr(NICE0, task) };
            sched.fork(&mut platform, TaskId(task), &task_attr, Parent::External);
        }
        settle(&mut sched, &mut platform);
        if averaged > 0 {
            sched.domains.update_cpu_load(CPU1);
        }
        let waker = Waker::Task { task: TaskId(0), cpu: CPU0, sync: false };
        sched.wake(&mut platform, TaskId(1), waker);
        assert_eq!(sched.cpu_of(TaskId(1)), woken_on);
    }
}

#[test]
fn idle_priority_out_of_an_uninterruptible_sleep_is_the_last_of_the_ordinary() {
    let idle = with_policy(Policy::Idle, 0);
    for (reason, level) in [(BlockReason::Interruptible, 140), (BlockReason::Uninterruptible, 139)]
    {
        let (mut sched, mut platform) = machine(Edition::Sd, 1, &[idle]);
        sleep(&mut sched, &mut platform, 0, reason);
        sched.wake(&mut platform, TaskId(0), Waker::Interrupt { cpu: CPU0 });
        settle(&mut sched, &mut platform);
        assert_eq!(row(&mut sched, 0).prio, level, "{reason:?}");
    }
}

#[test]
fn a_level_from_which_nobody_was_picked_counts_as_100() {
    // Tasks of nice 0 and nice 5 have run here, but none of nice 10. It enters at the level that
    // nice 5 has reached.
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0, SchedAttr::nice(5)]);
    sched.cpus[0].prio_level = [0; 40];
    (sched.cpus[0].prio_level[20], sched.cpus[0].prio_level[25]) = (103, 109);
    sched.fork(&mut platform, TaskId(2), &attr(SchedAttr::nice(10), 2), Parent::External);
    assert_eq!(row(&mut sched, 2).prio, 111, "its first slot from 109 on");
    assert_eq!(sched.cpus[0].prio_level[21], 100);
}

#[test]
fn a_cpu_that_becomes_idle_takes_a_waiting_task() {
    // Its weight is so small that CPU 1 has almost no load without it.
    let light = SchedAttr { policy: Policy::Idle, ..SchedAttr::nice(19) };
    let (mut sched, mut platform) = machine(Edition::Sd, 2, &[NICE0, light, NICE0]);
    sched.set_tunable(&mut platform, "cache_hot_time_ns", 0).unwrap();
    // Until the load averages include the two CPU-bound tasks of CPU 0.
    for ms in 1..=20 {
        tick(&mut sched, &mut platform, ms);
    }
    assert_eq!((running(&sched, CPU0), running(&sched, CPU1)), (Some(2), Some(1)));
    sleep(&mut sched, &mut platform, 1, BlockReason::Interruptible);
    assert_eq!((running(&sched, CPU0), running(&sched, CPU1)), (Some(2), Some(0)));
    assert_eq!(platform.migrations.len(), 1);
}

#[test]
fn the_migration_thread_pushes_the_task_that_never_waits() {
    let (mut sched, mut platform) = machine(Edition::Sd, 2, &[NICE0, NICE0]);
    sleep(&mut sched, &mut platform, 1, BlockReason::Interruptible);
    let stays = TaskAttr { allowed: CpuSet::only(CPU0), ..attr(NICE0, 2) };
    sched.fork(&mut platform, TaskId(2), &stays, Parent::External);
    settle(&mut sched, &mut platform);
    assert_eq!(running(&sched, CPU0), Some(0), "task 2 waits, but is pinned");
    for ms in 1..=60 {
        tick(&mut sched, &mut platform, ms);
    }
    assert_eq!((running(&sched, CPU0), running(&sched, CPU1)), (Some(2), Some(0)));
    assert!(sched.domains().take_push_cpu(CPU0).is_none());
}

#[test]
fn rsdl_a_used_up_level_sinks_as_a_whole() {
    let (mut sched, mut platform) = machine(Edition::Rsdl, 1, &[NICE0; 3]);
    // Two quotas less than were handed out: the level has used up its quota after the first task's.
    sched.cpus[0].active_mut().level_quota[20] = 6000;
    for ms in 1..=6 {
        tick(&mut sched, &mut platform, ms);
    }
    assert_eq!([0, 1, 2].map(|task| row(&mut sched, task).prio), [121; 3]);
    assert_eq!([1, 2].map(|task| row(&mut sched, task).time_slice), [6000; 2], "with time left");
    assert_eq!(sched.cpus[0].level_reached, 121);
    assert_eq!(running(&sched, CPU0), Some(0), "it was there first");
}

#[test]
fn rsdl_the_next_level_is_reached_as_soon_as_one_has_sunk() {
    let (mut sched, mut platform) = machine(Edition::Rsdl, 1, &[NICE0; 3]);
    sched.cpus[0].active_mut().level_quota[20] = 1000;
    platform.set_now_ns(MS);
    platform.set_jiffies(1);
    sched.tick(&mut platform, CPU0);
    // Before any task is picked: a task that wakes at that instant enters there.
    assert_eq!(sched.cpus[0].level_reached, 121);
}

#[test]
fn rsdl_a_level_that_sinks_brings_its_quotas_along() {
    // The first task moves down by itself, with a new quota of 6 ms. The level follows with the two
    // others, which have not used any of theirs: 18 ms, minus the microsecond that is charged for a
    // switch in no time. Nothing is recorded anywhere else.
    let (mut sched, mut platform) = machine(Edition::Rsdl, 1, &[NICE0; 3]);
    sched.cpus[0].active_mut().level_quota[20] = 6000;
    for (until, level) in [(6, 21), (12, 22)] {
        for ms in until - 5..=until {
            tick(&mut sched, &mut platform, ms);
        }
        let quota = &mut sched.cpus[0].active_mut().level_quota;
        assert!((17_998..=18_000).contains(&quota[level]), "level {level}: {quota:?}");
        assert_eq!(quota.iter().filter(|&&left| left != 0).count(), 1, "{quota:?}");
        quota[level] = 6000;
    }
    assert_eq!(sched.cpus[0].level_reached, 122);
}

#[test]
fn rsdl_quotas_are_whole_ticks() {
    use super::rsdl::whole_ticks_us;
    for (hz, ms, us) in [
        (1000, 6, 6000),
        (250, 6, 8000),
        (300, 6, 6666),
        (100, 6, 10_000),
        (100, 10, 10_000),
        (250, 60, 60_000),
    ] {
        assert_eq!(whole_ticks_us(ms * 1000, 1_000_000_000 / hz), us, "{ms} ms at HZ {hz}");
    }
}

#[test]
fn rsdl_nobody_enters_above_the_level_that_is_reached() {
    let (mut sched, mut platform) = machine(Edition::Rsdl, 1, &[NICE0, NICE0]);
    for ms in 1..=20 {
        tick(&mut sched, &mut platform, ms);
        if ms == 7 {
            sleep(&mut sched, &mut platform, 1, BlockReason::Interruptible);
        }
    }
    assert_eq!((row(&mut sched, 0).prio, row(&mut sched, 1).prio), (123, 120));
    sched.wake(&mut platform, TaskId(1), Waker::Interrupt { cpu: CPU0 });
    assert_eq!(row(&mut sched, 1).prio, 123);
    assert!(!platform.resched_pending(CPU0), "an equal does not preempt");
    sched.fork(&mut platform, TaskId(2), &attr(NICE0, 2), Parent::External);
    assert_eq!(row(&mut sched, 2).prio, 123, "a new task does not preempt either");
}

#[test]
fn tunables_are_checked() {
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[]);
    for (name, wrong) in [
        ("rr_interval", 0),
        ("rr_interval", 1001),
        ("sched_interactive", 2),
        ("sched_iso_cpu", 101),
        ("sched_iso_period", 0),
        ("cache_hot_time_ns", -1),
    ] {
        let error = sched.set_tunable(&mut platform, name, wrong).unwrap_err();
        assert!(matches!(error, TunableError::Range { .. }), "{name} {wrong}");
    }
    sched.set_tunable(&mut platform, "rr_interval", 20).unwrap();
    sched.fork(&mut platform, TaskId(0), &attr(NICE0, 0), Parent::External);
    assert_eq!(row(&mut sched, 0).time_slice, 20_000);
    let (mut rsdl, mut platform) = machine(Edition::Rsdl, 1, &[]);
    let error = rsdl.set_tunable(&mut platform, "rr_interval", 6).unwrap_err();
    assert!(matches!(error, TunableError::Unknown { .. }));
}

#[test]
fn an_account_of_a_pick_has_each_level_and_place() {
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0, NICE0, SchedAttr::nice(10)]);
    platform.ask(true);
    // The first task steps down from 101 to its next slot, 103.
    row(&mut sched, 0).time_slice = 0;
    let next = sched.schedule(&mut platform, CPU0);
    let account = platform.take_accounts().pop().expect("an account was requested");
    assert_eq!((next, account.rule), (Some(TaskId(1)), rules::BEST_SLOT));
    let ranks: Vec<_> = account.evidence.candidates.iter().map(|other| other.rank).collect();
    assert_eq!(ranks, [[0, 103, 1, 0], [0, 101, 0, 0], [0, 103, 0, 0]]);
    assert_eq!(account.evidence.best(), Ok(Some(schedlab_core::Who::Task(TaskId(1)))));
    assert_eq!(account.evidence.candidates[1].terms[1].name, "prio");
}

#[test]
fn who_falls_asleep_before_a_change_of_affinity_moves_it_wakes_where_it_may() {
    let (mut sched, mut platform) = machine(Edition::Sd, 2, &[SchedAttr::default()]);
    assert_eq!(running(&sched, CPU0), Some(0));
    sched.set_affinity(&mut platform, TaskId(0), &CpuSet::only(CPU1));
    sleep(&mut sched, &mut platform, 0, BlockReason::Interruptible);
    let waker = Waker::Interrupt { cpu: CPU0 };
    sched.wake(&mut platform, TaskId(0), waker);
    settle(&mut sched, &mut platform);
    assert_eq!((running(&sched, CPU0), running(&sched, CPU1)), (None, Some(0)));
}

/// CPU 0 runs the waker, CPU 1 another task. The sleeper was last on CPU 1. A waker that is about
/// to sleep itself (a synchronous wakeup) leaves its CPU empty: the woken task moves there.
#[test]
fn a_waker_that_leaves_does_not_count() {
    for (sync, woken_on) in [(false, CPU1), (true, CPU0)] {
        let (mut sched, mut platform) = machine(Edition::Sd, 2, &[NICE0, NICE0]);
        assert_eq!(sched.cpu_of(TaskId(1)), CPU1);
        sleep(&mut sched, &mut platform, 1, BlockReason::Interruptible);
        let only = TaskAttr { allowed: CpuSet::only(CPU1), ..attr(NICE0, 2) };
        sched.fork(&mut platform, TaskId(2), &only, Parent::External);
        settle(&mut sched, &mut platform);
        for _ in 0..64 {
            [CPU0, CPU1].into_iter().for_each(|cpu| sched.domains.update_cpu_load(cpu));
        }
        let waker = Waker::Task { task: TaskId(0), cpu: CPU0, sync };
        sched.wake(&mut platform, TaskId(1), waker);
        assert_eq!(sched.cpu_of(TaskId(1)), woken_on, "synchronous: {sync}");
    }
}

#[test]
fn what_leaves_the_queue_is_counted() {
    let (mut sched, mut platform) = machine(Edition::Sd, 1, &[NICE0, NICE0]);
    assert_eq!(platform.work.dequeues, 0);
    sleep(&mut sched, &mut platform, 0, BlockReason::Interruptible);
    assert_eq!(platform.work.dequeues, 1);
}
