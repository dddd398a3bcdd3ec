//! HRTICK: turns that end between ticks.

use super::{Bench, CPU, MS, nice};
use crate::classes::deadline::INACTIVE_TIMER;
use crate::fair_6::eevdf::Version;
use schedlab_core::platform::TimerOrder;
use schedlab_core::{Scheduler, TaskId, TimerKey};

impl Bench {
    /// What was ordered of the timer last, and is forgotten with that: armed for then, or
    /// cancelled. None: nothing was ordered.
    fn timer(&mut self) -> Option<Option<u64>> {
        let own = hrtick_of(self);
        let orders = core::mem::take(&mut self.platform.timer_orders);
        orders.iter().rev().find_map(|order| match *order {
            TimerOrder::Arm { key, at_ns, .. } if key == own => Some(Some(at_ns)),
            TimerOrder::Cancel { key } if key == own => Some(None),
            _ => None,
        })
    }

    /// The timer fires at `now_ns`, and who runs after it.
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
    let mut bench = Bench::new(Version::V7_3, 1);
    let a = bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(a));
    assert_eq!(bench.timer(), None, "who is alone needs no end");
    // Somebody comes: the running one's first request, half a slice of 2.8 ms, has 1.2 ms left.
    bench.at(MS / 5);
    let b = bench.fork(nice(0));
    assert_eq!(bench.timer(), Some(Some(MS * 14 / 10)));
    assert_eq!(bench.fire(MS * 14 / 10), Some(b));
    // Half a slice is b's first request, too.
    assert_eq!(bench.timer(), Some(Some(MS * 28 / 10)));
    assert_eq!(bench.fire(MS * 28 / 10), Some(a));
    // And from then on whole ones.
    assert_eq!(bench.timer(), Some(Some(MS * 56 / 10)));
}

/// Virtual time passes slower for the heavier: real time is left to the deadline.
#[test]
fn what_is_left_is_real_time() {
    let mut bench = Bench::new(Version::V7_3, 1);
    let heavy = bench.fork(nice(-5));
    bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(heavy));
    let at_ns = bench.timer().flatten().expect("it is set");
    assert!(at_ns.abs_diff(MS * 14 / 10) < 10, "{at_ns}");
}

/// Who is picked again was not switched to, and so its next turn ends at the tick.
#[test]
fn who_is_picked_again_has_no_timer() {
    let mut bench = Bench::new(Version::V7_3, 1);
    let a = bench.fork(nice(-10));
    let b = bench.fork(nice(10));
    assert_eq!(bench.schedule(), Some(a));
    let mut now_ns = bench.timer().flatten().expect("it is set");
    let mut again = 0;
    while bench.fire(now_ns) == Some(a) {
        again += 1;
        assert_ne!(bench.timer().flatten().map(|at_ns| at_ns > now_ns), Some(true));
        now_ns += MS;
        if bench.tick(now_ns) == Some(b) {
            break;
        }
        bench.timer();
    }
    assert!(again > 0, "the heavy one is owed more than one turn");
}

#[test]
fn a_sleeper_takes_its_timer_along() {
    let mut bench = Bench::new(Version::V7_3, 1);
    let a = bench.fork(nice(0));
    let b = bench.fork(nice(0));
    assert_eq!(bench.schedule(), Some(a));
    bench.timer();
    bench.at(MS / 10);
    assert_eq!(bench.sleep(a), Some(b));
    let last = bench.timer();
    // a may be queued still, asleep; then b's turn has an end.
    match bench.sched.fair.is_delayed_task(bench.pid(a)) {
        true => assert_eq!(last, Some(Some(MS * 15 / 10))),
        false => assert_eq!(last, Some(None)),
    }
}

#[test]
fn without_the_feature_ticks_end_turns() {
    for version in [Version::V6_6, Version::V6_18, Version::V7_3] {
        let mut bench = Bench::new(version, 1);
        if version == Version::V7_3 {
            bench.tune("HRTICK", 0);
        }
        bench.fork(nice(0));
        bench.fork(nice(0));
        bench.schedule();
        assert_eq!(bench.timer(), None);
    }
}
