//! Quotas of 6.18, in which the tasks of a throttled group leave one by one: cases that can be
//! calculated by hand, with ticks of 1 ms.

use super::testing::{Bench, Life, MS};
use crate::registry::find;
use alloc::boxed::Box;
use alloc::vec::Vec;
use schedlab_core::{Administer, BuildConfig, GroupId, Quota, Scheduler, TaskId};

type Machine = Bench<Box<dyn Scheduler>>;

fn machine(cpus: u32) -> Machine {
    let (_, release) = find("eevdf@6.18").expect("a registered release");
    Bench::new(
        release.build(&BuildConfig::flat(cpus, 1000)).expect("a registered release"),
        cpus,
        1000,
    )
}

impl Machine {
    /// Returns a group with a quota in ms of each 100 ms. `None`: no limit.
    fn limited(&mut self, quota_ms: Option<u64>) -> GroupId {
        let group = self.sched.group_new(&mut self.platform, GroupId::ROOT, 1024).unwrap();
        self.write_limit(group, quota_ms);
        group
    }

    fn write_limit(&mut self, group: GroupId, quota_ms: Option<u64>) {
        let quota_us = quota_ms.map(|ms| ms * 1000);
        let quota = Quota { quota_us, period_us: 100_000, burst_us: 0, phase_us: None };
        self.sched.group_set_quota(&mut self.platform, group, quota).unwrap();
        self.sched.inspect().audit().unwrap();
    }

    /// Returns the spans from `from_ms` on in which the given tasks run, ms. Adjacent spans are
    /// joined.
    fn turns(&self, tasks: &[TaskId], from_ms: u64) -> Vec<(f64, f64)> {
        let mut turns: Vec<(f64, f64)> = Vec::new();
        for &(_, start, end, task) in &self.slices {
            if !tasks.contains(&TaskId(task)) || end <= from_ms * MS {
                continue;
            }
            let ms = |ns: u64| ns as f64 / MS as f64;
            match turns.last_mut() {
                Some(last) if last.1 == ms(start) => last.1 = ms(end),
                _ => turns.push((ms(start), ms(end))),
            }
        }
        turns
    }
}

#[test]
fn the_first_nanosecond_is_worth_a_tick_and_is_paid_for_by_nobody_else() {
    // 1 ns and 20 ms last for 20 ticks and one more. The next quota pays for the overrun.
    let mut m = machine(1);
    let group = m.limited(Some(20));
    m.in_group(group, Life::Hog);
    m.run_until(250 * MS);
    assert_eq!(m.slices_ms(), [(0, 0., 21.), (0, 100., 120.), (0, 200., 220.)]);
    let stats = m.sched.inspect().group_stats(group).unwrap();
    assert_eq!((stats.nr_periods, stats.nr_throttled), (2, 2));
}

#[test]
fn who_comes_back_preempts_nobody() {
    let mut m = machine(1);
    let group = m.limited(Some(20));
    let limited = m.in_group(group, Life::Hog);
    let hog = m.nice(0, Life::Hog);
    m.run_until(150 * MS);
    let back = m.turns(&[limited], 60)[0];
    assert_eq!(back.0, 101., "not at 100, when the quota is refilled");
    assert!(m.turns(&[hog], 60)[0].1 == 101.);
}

#[test]
fn tasks_leave_one_by_one_and_all_come_back() {
    let mut m = machine(1);
    let group = m.limited(Some(10));
    let hogs: Vec<TaskId> = (0..3).map(|_| m.in_group(group, Life::Hog)).collect();
    let free = m.nice(0, Life::Hog);
    for ms in 1..400 {
        m.run_until(ms * MS);
        m.sched.inspect().audit().unwrap();
    }
    for &task in &hogs {
        assert!(!m.turns(&[task], 300).is_empty(), "{task:?} has come back each time");
    }
    // In each period the group had its quota, and the hog the rest.
    let sum = |turns: Vec<(f64, f64)>| turns.iter().map(|turn| turn.1 - turn.0).sum::<f64>();
    let used = sum(m.turns(&hogs, 0));
    assert!((40. ..=41.).contains(&used), "{used}");
    assert_eq!(used + sum(m.turns(&[free], 0)), 399.);
}

#[test]
fn without_a_limit_they_are_back_at_once() {
    let mut m = machine(1);
    let group = m.limited(Some(10));
    m.in_group(group, Life::Hog);
    m.run_until(60 * MS);
    assert_eq!(m.slices_ms(), [(0, 0., 11.)]);
    m.write_limit(group, None);
    m.reschedule();
    m.run_until(90 * MS);
    // The limit is written again: 1 ns in hand, and the quota is in the pool at once. It also pays
    // for the tick that is due at that moment.
    m.write_limit(group, Some(5));
    m.run_until(120 * MS);
    assert_eq!(m.slices_ms()[1..], [(0, 60., 95.), (0, 100., 105.)]);
}

#[test]
fn what_wakes_in_a_throttled_group_waits_too() {
    let mut m = machine(1);
    let group = m.limited(Some(10));
    m.in_group(group, Life::Hog);
    let sleeper = m.in_group(group, Life::Periodic { run: MS / 2, sleep: 4 * MS });
    for ms in 1..200 {
        m.run_until(ms * MS);
        m.sched.inspect().audit().unwrap();
    }
    let all = m.turns(&[sleeper, TaskId(0)], 0);
    assert!(all[0].1 <= 11., "{all:?}");
    assert!(all[1].0 == 100., "{all:?}");
}

#[test]
fn a_timer_that_has_stopped_keeps_its_grid() {
    let mut m = machine(1);
    let group = m.limited(Some(20));
    // Two periods in which nothing is drawn stop the timer.
    m.run_until(350 * MS);
    assert_eq!(m.sched.inspect().group_stats(group).unwrap().nr_periods, 2);
    m.in_group(group, Life::Hog);
    m.run_until(450 * MS);
    assert_eq!(m.slices_ms(), [(0, 350., 371.), (0, 400., 420.)]);
}

#[test]
fn siblings_and_parents_come_back_together() {
    let mut m = machine(1);
    let outer = m.limited(Some(10));
    let inner = [(); 2].map(|()| m.sched.group_new(&mut m.platform, outer, 1024).unwrap());
    let tasks = inner.map(|group| m.in_group(group, Life::Hog));
    let own = m.in_group(outer, Life::Hog);
    for ms in 1..150 {
        m.run_until(ms * MS);
        m.sched.inspect().audit().unwrap();
    }
    let all = [tasks[0], tasks[1], own];
    assert_eq!(m.turns(&all, 0), [(0., 11.), (100., 110.)]);
    for task in all {
        assert!(!m.turns(&[task], 100).is_empty(), "{task:?}");
    }
}
