//! HRTICK: turns that end between ticks.

use super::{Bench, CPU, MS, nice};
use crate::classes::deadline::INACTIVE_TIMER;
use crate::fair_6::eevdf::Version;
use schedlab_core::platform::TimerOrder;
use schedlab_core::{Scheduler, TaskId, TimerKey};

impl Bench {
    /// The last order for the timer, which is consumed: armed for a time, or cancelled. `None`:
    /// there was no order.
    fn timer(&mut self) -> Option<Option<u64>> {
        let own = hrtick_of(self);
        let orders = core::mem::take(&mut self.platform.timer_orders);
        orders.iter().rev().find_map(|order| match *order {
            TimerOrder::Arm { key, at_ns, .. } if key == own => Some(Some(at_ns)),
            TimerOrder::Cancel { key } if key == own => Some(None),
            _ => None,
        })
    }

    /// Lets the timer fire at `now_ns`. Returns the task that runs after it.
    fn fire(&mut self, now_ns: u64) -> Option<TaskId> {
        self.at(now_ns);
        let key = hrtick_of(self);
        self.sched.timer(&mut self.platform, key);
        self.settle()
    }
}

fn hrtick_of(bench: &Bench) -> TimerKey {
    TimerKey(INACTIVE_TIMER + 4 * bench.sched.core.idle_thread(CPU).0)
}

#[test]
fn a_turn_ends_when_the_request_is_served() {
    let mut bench = Bench::new(Version::V7_1, 1);
    let a = bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(a));
    assert_eq!(bench.timer(), None, "a task that is alone needs no timer");
    // A task arrives: the running one's first request, half a slice of 2.8 ms, has 1.2 ms left.
    bench.at(MS / 5);
    let b = bench.fork(nice(0));
    assert_eq!(bench.timer(), Some(Some(MS * 14 / 10)));
    assert_eq!(bench.fire(MS * 14 / 10), Some(b));
    // b's first request is half a slice, too.
    assert_eq!(bench.timer(), Some(Some(MS * 28 / 10)));
    assert_eq!(bench.fire(MS * 28 / 10), Some(a));
    // From then on requests are whole slices.
    assert_eq!(bench.timer(), Some(Some(MS * 56 / 10)));
}

/// Virtual time passes more slowly for a heavier task. The timer counts the real time that is left
/// until the deadline.
#[test]
fn what_is_left_is_real_time() {
    let mut bench = Bench::new(Version::V7_1, 1);
    let heavy = bench.fork(nice(-5));
    bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(heavy));
    let at_ns = bench.timer().flatten().expect("the timer is set");
    assert!(at_ns.abs_diff(MS * 14 / 10) < 10, "{at_ns}");
}

/// A task that is picked again was not switched to, and so its next turn ends at the tick.
#[test]
fn who_is_picked_again_has_no_timer() {
    let mut bench = Bench::new(Version::V7_1, 1);
    let a = bench.fork(nice(-10));
    let b = bench.fork(nice(10));
    assert_eq!(bench.schedule(), Some(a));
    for next in [b, a] {
        let at_ns = bench.timer().flatten().expect("the timer is set");
        assert_eq!(bench.fire(at_ns), Some(next));
    }
    // The light one has had its request, and is far ahead: the heavy one continues.
    let at_ns = bench.timer().flatten().expect("the timer is set");
    assert_eq!(bench.fire(at_ns), Some(a));
    assert_eq!(bench.timer(), None, "it has fired, and is not set again");
    // A tick without a switch does not set it either, but a task that arrives does.
    let tick_ns = at_ns.next_multiple_of(MS);
    assert_eq!(bench.tick(tick_ns), Some(a));
    assert_eq!(bench.timer(), None);
    bench.fork(nice(19));
    assert!(bench.timer().flatten().is_some_and(|at_ns| at_ns > tick_ns));
}

/// The timer of a turn that ends early is moved to the end of the next one, unless that is within
/// 5 us of it.
#[test]
fn a_timer_is_moved_and_not_cancelled() {
    let mut bench = Bench::new(Version::V7_1, 1);
    let a = bench.fork(nice(0));
    let b = bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(a));
    assert_eq!(bench.timer(), Some(Some(MS * 14 / 10)));
    bench.at(MS / 10);
    assert_eq!(bench.sleep(a), Some(b));
    assert_eq!(bench.timer(), Some(Some(MS * 15 / 10)));
}

#[test]
fn an_idle_cpu_cancels_its_timer() {
    let mut bench = Bench::new(Version::V7_2, 1);
    let a = bench.fork(nice(0));
    let b = bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(a));
    // From 7.2 on it is not delayed.
    bench.at(MS / 10);
    assert_eq!(bench.sleep(a), Some(b));
    bench.timer();
    bench.at(MS / 5);
    assert_eq!(bench.sleep(b), None);
    assert_eq!(bench.timer(), Some(None));
}

#[test]
fn without_the_feature_ticks_end_turns() {
    for version in [Version::V6_6, Version::V6_18, Version::V7_1] {
        let mut bench = Bench::new(version, 1);
        if version == Version::V7_1 {
            bench.tune("HRTICK", 0);
        }
        bench.fork(nice(0));
        bench.fork(nice(0));
        bench.schedule();
        assert_eq!(bench.timer(), None);
    }
}
