//! The fluid machine's rules, with shares added up by hand: groups that empty and fill, tasks that
//! change group or policy, and what a task is owed when the run ends.

use schedlab_core::{
    BlockReason, CpuId, Event, GroupId, Observer, Policy, SchedAttr, TaskAttr, TaskId, Waker,
};
use schedlab_measure::fairness::{Fairness, Group, Weights};

/// One second, ns.
const S: u64 = 1_000_000_000;
const CPU: CpuId = CpuId(0);

/// Returns a machine on which every nice value weighs 1024, and `SCHED_IDLE` 3.
fn machine(cpus: u32, groups: &[Group]) -> Fairness {
    Fairness::new(cpus, Weights::new(&[1024; 40], 3), groups, 0)
}

fn below(parent: u32, shares: u64) -> Group {
    Group { parent: GroupId(parent), shares }
}

fn start(fairness: &mut Fairness, now_ns: u64, task: u32, group: u32, sched: SchedAttr) {
    let task = TaskId(task);
    let attr = TaskAttr { sched, group: GroupId(group), ..TaskAttr::default() };
    fairness.on(now_ns, Event::Born { task, parent: None, attr: &attr });
    fairness.on(now_ns, Event::started(task, CPU));
}

fn sleep(fairness: &mut Fairness, now_ns: u64, task: u32) {
    fairness.on(now_ns, Event::blocked(TaskId(task), CPU, BlockReason::Interruptible));
}

fn wake(fairness: &mut Fairness, now_ns: u64, task: u32) {
    fairness.on(now_ns, Event::woken(TaskId(task), CPU, Waker::Interrupt { cpu: CPU }));
}

fn switch(fairness: &mut Fairness, now_ns: u64, prev: Option<u32>, next: Option<u32>) {
    let [prev, next] = [prev, next].map(|task| task.map(TaskId));
    fairness.on(now_ns, Event::switched(CPU, prev, true, next));
}

fn regroup(fairness: &mut Fairness, now_ns: u64, task: u32, group: u32) {
    fairness.on(now_ns, Event::GroupChanged { task: TaskId(task), group: GroupId(group) });
}

/// Returns what each of `tasks` tasks would have been given.
fn shares(mut fairness: Fairness, end_ns: u64, tasks: u32) -> Vec<u64> {
    fairness.on(end_ns, Event::Finished);
    (0..tasks)
        .map(|task| fairness.task(TaskId(task)).expect("the task is ordinary").share_ns)
        .collect()
}

#[test]
fn a_group_whose_last_task_sleeps_leaves_its_parent() {
    // Root: task 0, and group 1 with task 1 and group 2, which contains task 2 alone.
    let mut fairness = machine(1, &[below(0, 1024), below(1, 1024)]);
    for (task, group) in [(0, 0), (1, 1), (2, 2)] {
        start(&mut fairness, 0, task, group, SchedAttr::nice(0));
    }
    // First second: 1/2, 1/4, 1/4. Group 2 empties: 1/2, 1/2.
    sleep(&mut fairness, S, 2);
    // Group 1 empties too: task 0 has all.
    sleep(&mut fairness, 2 * S, 1);
    // Task 2 brings both groups back: 1/2 for it.
    wake(&mut fairness, 3 * S, 2);
    assert_eq!(
        shares(fairness, 4 * S, 3),
        [S / 2 + S / 2 + S + S / 2, S / 4 + S / 2, S / 4 + S / 2]
    );
}

#[test]
fn a_group_counts_once_however_many_tasks_it_has() {
    // Group 1 has three tasks next to task 0. They fall asleep one after the other. The group keeps
    // its half.
    let mut fairness = machine(1, &[below(0, 1024)]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    for task in 1..4 {
        start(&mut fairness, 0, task, 1, SchedAttr::nice(0));
    }
    sleep(&mut fairness, 3 * S, 1);
    sleep(&mut fairness, 5 * S, 2);
    // 1/6 for 3 s; 1/4 for 2 s; 1/2 for 1 s.
    let (third, pair) = (S / 2, S / 2);
    let expected = [3 * S, third, third + pair, third + pair + S / 2];
    for (found, expected) in shares(fairness, 6 * S, 4).iter().zip(expected) {
        assert!(found.abs_diff(expected) <= 1, "{found}, not {expected}");
    }
}

#[test]
fn a_task_that_changes_group_takes_its_account_along() {
    // Groups 1 and 2 of equal shares: tasks 0 and 1 in the first, 2 in the second.
    let mut fairness = machine(1, &[below(0, 1024), below(0, 1024)]);
    for (task, group) in [(0, 1), (1, 1), (2, 2)] {
        start(&mut fairness, 0, task, group, SchedAttr::nice(0));
    }
    // First second: 1/4, 1/4, 1/2. Then 1/4, 1/2, 1/4.
    regroup(&mut fairness, S, 0, 2);
    // Then both of the second group have half each: the first group is empty.
    sleep(&mut fairness, 2 * S, 1);
    // Task 1 moves to the second group while asleep, and wakes in it: a third each.
    regroup(&mut fairness, 3 * S, 1, 2);
    wake(&mut fairness, 3 * S, 1);
    let expected = [S / 4 + S / 4 + S / 2 + S, S / 4 + S / 2 + S, S / 2 + S / 4 + S / 2 + S];
    assert_eq!(shares(fairness, 6 * S, 3), expected);
}

#[test]
fn a_running_task_that_changes_group_keeps_its_cpu_time() {
    let mut fairness = machine(1, &[below(0, 1024)]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    regroup(&mut fairness, 100, 0, 1);
    switch(&mut fairness, 300, Some(0), Some(1));
    fairness.on(400, Event::Finished);
    let [a, b] = [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    assert_eq!((a.cpu_ns, a.share_ns), (300, 200));
    assert_eq!((b.cpu_ns, b.share_ns), (100, 200));
}

#[test]
fn sched_idle_weighs_three() {
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
    start(&mut fairness, 0, 1, 0, idle);
    // 1024 : 3. Then the second turns to SCHED_BATCH: half each.
    let batch = SchedAttr { policy: Policy::Batch, ..SchedAttr::default() };
    fairness.on(1_027_000, Event::AttrChanged { task: TaskId(1), attr: &batch });
    assert_eq!(shares(fairness, 2_027_000, 2), [1_024_000 + 500_000, 3_000 + 500_000]);
}

#[test]
fn the_lag_at_the_end_is_what_is_owed_then() {
    // Two hogs on one CPU, 300 and 100 of 400: each was due 200.
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    switch(&mut fairness, 300, Some(0), Some(1));
    fairness.on(400, Event::Finished);
    let [a, b] = [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    assert_eq!((a.lag_end_ns, b.lag_end_ns), (-100, 100));
    // Most ahead and most owed when they changed places.
    assert_eq!((a.ahead_max_ns, a.owed_max_ns), (150, 0));
    assert_eq!((b.ahead_max_ns, b.owed_max_ns), (0, 150));
    let report = fairness.report();
    assert_eq!(report.owed_end, Some((100, TaskId(1))));
    assert_eq!(
        (report.owed_max, report.ahead_max),
        (Some((150, TaskId(1))), Some((150, TaskId(0))))
    );
    assert_eq!(report.lag_max_ns, 150);
}

#[test]
fn the_lag_of_one_that_went_early_stays() {
    // Task 1 waits for 100, due 50 of them, and sleeps until the end. The time after that is task
    // 0's.
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    sleep(&mut fairness, 100, 1);
    fairness.on(500, Event::Finished);
    let [a, b] = [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    assert_eq!((a.share_ns, a.lag_end_ns), (450, -50));
    assert_eq!((b.share_ns, b.lag_end_ns), (50, 50));
    // A task that is killed while it waits.
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    fairness.on(60, Event::Killed { task: TaskId(1) });
    fairness.on(100, Event::Finished);
    assert_eq!(fairness.task(TaskId(1)).expect("the task was ordinary").lag_end_ns, 30);
    assert_eq!(fairness.report().owed_end, Some((30, TaskId(1))));
}

#[test]
fn with_a_cpu_for_everybody_nothing_is_owed() {
    let mut fairness = machine(2, &[below(0, 1)]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 1, SchedAttr::nice(0));
    // Shares of 1 and 1024, and yet a whole CPU each.
    assert_eq!(shares(fairness, S, 2), [S, S]);
}

/// Returns the largest |lag| of each burst that is over, sorted.
fn burst_lags(fairness: &Fairness) -> Vec<(u64, u64)> {
    fairness.burst_lags().filled().map(|(least, _, count)| (least, count)).collect()
}

#[test]
fn who_was_served_before_its_time_is_quits_once_the_others_had_theirs() {
    // A hog, and a task that is served at once for 100 of every 200.
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    for round in 0..10 {
        let now_ns = round * 200;
        if round > 0 {
            wake(&mut fairness, now_ns, 1);
        }
        switch(&mut fairness, now_ns, (round > 0).then_some(0), Some(1));
        sleep(&mut fairness, now_ns + 100, 1);
        switch(&mut fairness, now_ns + 100, Some(1), Some(0));
    }
    fairness.on(2000, Event::Finished);
    let [hog, other] =
        [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    // So far the hog was owed 50 more each time ...
    assert_eq!((hog.owed_max_ns, other.ahead_max_ns), (500, 500));
    // ... within a burst 50 at most, when it gets the CPU back. 100 later the fluid machine has
    // also finished the other's burst, and the hog had half of the CPU in the meantime.
    assert_eq!((hog.burst_lag_max_ns, other.burst_lag_max_ns), (50, 50));
    assert_eq!(burst_lags(&fairness), [(50, 11)]);
    // 1000 were due to the hog, and it had them. The other had twice what was due.
    assert_eq!((hog.cpu_ns, hog.due_ns), (1000, Some(1000)));
    assert_eq!((other.cpu_ns, other.due_ns), (1000, Some(500)));
    assert_eq!(fairness.report().jain_backlogged, Some(1.0));
}

#[test]
fn one_that_is_made_to_wait_was_due_more_than_it_had() {
    // A hog has the CPU while the other waits for 300. The other then runs 100, and sleeps.
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    switch(&mut fairness, 300, Some(0), Some(1));
    sleep(&mut fairness, 400, 1);
    switch(&mut fairness, 400, Some(1), Some(0));
    fairness.on(500, Event::Finished);
    let [hog, other] =
        [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    // Owed 150 at 300, and 100 when it leaves. Those go to the hog, which was 100 ahead, because
    // the burst took 100 and not 200.
    assert_eq!((hog.burst_lag_max_ns, other.burst_lag_max_ns), (150, 150));
    assert_eq!((other.cpu_ns, other.due_ns), (100, Some(200)));
    assert_eq!((hog.cpu_ns, hog.due_ns), (400, Some(400)));
    // (1 + 1/2)^2 / 2 (1 + 1/4).
    assert_eq!(fairness.report().jain_backlogged, Some(0.9));
}

#[test]
fn one_that_sleeps_too_little_is_ever_more_ahead() {
    // It runs at once for 90 of every 100, and the hog has the rest.
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    for round in 0..10 {
        let now_ns = round * 100;
        if round > 0 {
            wake(&mut fairness, now_ns, 1);
        }
        switch(&mut fairness, now_ns, (round > 0).then_some(0), Some(1));
        sleep(&mut fairness, now_ns + 90, 1);
        switch(&mut fairness, now_ns + 90, Some(1), Some(0));
    }
    fairness.on(1000, Event::Finished);
    let [hog, other] =
        [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    // The fluid machine never finishes its burst, and gives each half. At 990: 495, against 90 and
    // 900.
    assert_eq!((hog.burst_lag_max_ns, other.burst_lag_max_ns), (405, 405));
    assert_eq!((hog.cpu_ns, hog.due_ns), (100, Some(500)));
    assert_eq!((other.cpu_ns, other.due_ns), (900, Some(450)));
    // (0.2 + 1)^2 / 2 (0.04 + 1).
    let jain = fairness.report().jain_backlogged.expect("both tasks were runnable");
    assert!((jain - 1.44 / 2.08).abs() < 1e-12, "{jain}");
}

#[test]
fn one_that_sleeps_leaves_when_it_has_been_served() {
    // Three on two CPUs: each is given 2/3. Task 2 runs from 0 to 30 and sleeps, 10 ahead: served
    // at 45. From then on the other two have a CPU each.
    let mut fairness = machine(2, &[]);
    for task in 0..3 {
        start(&mut fairness, 0, task, 0, SchedAttr::nice(0));
    }
    let other = CpuId(1);
    switch(&mut fairness, 0, None, Some(2));
    fairness.on(0, Event::switched(other, None, false, Some(TaskId(1))));
    sleep(&mut fairness, 30, 2);
    switch(&mut fairness, 30, Some(2), Some(0));
    fairness.on(145, Event::Finished);
    let [a, b, c] =
        [0, 1, 2].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    // Owed 20 when it gets its CPU; 15 x 1/3 less than its due from 30 to 45.
    assert_eq!((a.due_ns, a.cpu_ns, a.burst_lag_max_ns), (Some(130), 115, 20));
    assert_eq!((b.due_ns, b.cpu_ns, b.burst_lag_max_ns), (Some(130), 145, 15));
    assert_eq!((c.due_ns, c.cpu_ns, c.burst_lag_max_ns), (Some(20), 30, 10));
}

#[test]
fn what_an_idle_cpu_cost_is_handed_on_to_nobody() {
    // Two CPUs: a hog on one. The other task waits 200 for the idle one every time.
    let mut fairness = machine(2, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    let other = CpuId(1);
    for round in 0..5 {
        let now_ns = round * 1000;
        if round > 0 {
            wake(&mut fairness, now_ns, 1);
        }
        fairness.on(now_ns + 200, Event::switched(other, None, false, Some(TaskId(1))));
        sleep(&mut fairness, now_ns + 500, 1);
        fairness.on(now_ns + 500, Event::switched(other, Some(TaskId(1)), false, None));
    }
    fairness.on(5000, Event::Finished);
    let [hog, late] = [0, 1].map(|task| fairness.task(TaskId(task)).expect("the task is ordinary"));
    assert_eq!((hog.burst_lag_max_ns, hog.due_ns), (0, Some(5000)));
    assert_eq!((late.burst_lag_max_ns, late.due_ns), (200, Some(2500)));
    assert_eq!(late.owed_max_ns, 1000);
}

#[test]
fn a_burst_goes_on_through_a_change_of_nice_and_ends_with_the_policy() {
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    start(&mut fairness, 0, 1, 0, SchedAttr::nice(0));
    switch(&mut fairness, 0, None, Some(0));
    let idle = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() };
    // Owed 100 by then; 3 of 1027 from then on.
    fairness.on(200, Event::AttrChanged { task: TaskId(1), attr: &idle });
    let rt = SchedAttr::realtime(Policy::Fifo, 1);
    fairness.on(1227, Event::AttrChanged { task: TaskId(1), attr: &rt });
    fairness.on(2000, Event::Finished);
    assert_eq!(fairness.task(TaskId(1)), None);
    // 103. The hog was as much ahead, but a task that just runs on is not sampled.
    assert_eq!(burst_lags(&fairness), [(0, 1), (103, 1)]);
}

#[test]
fn who_was_never_runnable_for_any_time_is_in_no_figure() {
    let mut fairness = machine(1, &[]);
    start(&mut fairness, 0, 0, 0, SchedAttr::nice(0));
    sleep(&mut fairness, 0, 0);
    fairness.on(100, Event::Finished);
    assert_eq!(fairness.task(TaskId(0)).expect("the task is ordinary").due_ns, None);
    assert_eq!((burst_lags(&fairness), fairness.report().jain_backlogged), (vec![], None));
}
