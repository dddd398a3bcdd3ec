//! Quotas of task groups by rule: pools, slices, what queues keep and give back, the two timers.
//!
//! The numbers are those of the description of 3.2: a queue draws 5 ms at a time, keeps 1 ms of
//! what it gives back; the slack timer takes 5 ms; nothing is handed out within 2 ms of a refill.

use super::bandwidth::{Bandwidth, BandwidthVersion, Expiry, Quota, is_timer};
use crate::fair_6::ids::CfsRqId;
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::platform::TimerOrder;
use schedlab_core::{CpuId, GroupId, Platform, TimerKey};

const MS: u64 = 1_000_000;
const GROUP: GroupId = GroupId(1);

/// Group 1 with a quota, and a queue of it on each CPU: queue number CPUs + CPU.
struct Accounts {
    all: Bandwidth<CfsRqId>,
    platform: Platform,
    cpus: u32,
    /// The armed timers.
    timers: Vec<(TimerKey, u64)>,
}

impl Accounts {
    fn new(version: BandwidthVersion, cpus: u32, quota_ms: u64, burst_ms: u64) -> Accounts {
        let mut all = Bandwidth::new(version, cpus, 1000);
        all.group_made(GroupId::ROOT);
        (0..cpus).for_each(|cpu| all.queue_made(GROUP, CpuId(cpu)));
        let platform = Platform::new(cpus, 1000);
        let mut accounts = Accounts { all, platform, cpus, timers: Vec::new() };
        accounts.set(Quota {
            quota_us: Some(quota_ms * 1000),
            period_us: 100_000,
            burst_us: burst_ms * 1000,
        });
        accounts
    }

    fn v3_2(cpus: u32) -> Accounts {
        Accounts::new(BandwidthVersion::V3_2, cpus, 20, 0)
    }

    fn set(&mut self, quota: Quota) {
        let queues: Vec<CfsRqId> = (0..self.cpus).map(|cpu| self.q(cpu)).collect();
        self.all.set_quota(&mut self.platform, GROUP, &quota, queues.into_iter()).unwrap();
        self.take_orders();
    }

    /// The group's queue on a CPU.
    fn q(&self, cpu: u32) -> CfsRqId {
        CfsRqId::new((self.cpus + cpu) as usize)
    }

    fn take_orders(&mut self) {
        for order in self.platform.timer_orders.drain(..) {
            match order {
                TimerOrder::Arm { key, at_ns, .. } => {
                    assert!(is_timer(key));
                    self.timers.retain(|timer| timer.0 != key);
                    self.timers.push((key, at_ns));
                }
                TimerOrder::Cancel { key } => self.timers.retain(|timer| timer.0 != key),
            }
        }
    }

    /// When timers are due, ms.
    fn due_ms(&self) -> Vec<f64> {
        let mut all: Vec<u64> = self.timers.iter().map(|timer| timer.1).collect();
        all.sort_unstable();
        all.into_iter().map(|at_ns| at_ns as f64 / MS as f64).collect()
    }

    fn at(&mut self, now_ns: u64) {
        self.platform.set_now_ns(now_ns);
    }

    /// Lets the next timer fire.
    fn fire(&mut self) -> Expiry {
        let first = (0..self.timers.len()).min_by_key(|&at| self.timers[at].1).unwrap();
        let (key, at_ns) = self.timers.remove(first);
        self.at(at_ns);
        let expiry = self.all.timer(&mut self.platform, key);
        self.take_orders();
        self.all.audit().unwrap();
        expiry
    }

    /// The queue on `cpu` has run for so long. Whether it may go on.
    fn runs(&mut self, cpu: u32, delta_ns: u64) -> bool {
        let (q, now_ns) = (self.q(cpu), self.platform.now_ns());
        let goes_on = self.all.account(&mut self.platform, q, now_ns, delta_ns);
        self.take_orders();
        goes_on
    }

    /// How long the queue on `cpu` may run from now on if nobody else draws, in steps of 1 ms.
    fn may_run_ms(&mut self, cpu: u32) -> u64 {
        (1..).find(|_| !self.runs(cpu, MS)).unwrap()
    }

    fn throttle(&mut self, cpu: u32) {
        let (q, now_ns) = (self.q(cpu), self.platform.now_ns());
        self.all.set_throttled(&mut self.platform, q, now_ns);
        self.take_orders();
        self.all.audit().unwrap();
    }

    fn release(&mut self) -> Option<u32> {
        let q = self.all.next_to_release(GROUP)?;
        self.all.clear_throttled(q, self.platform.now_ns());
        self.all.audit().unwrap();
        Some(q.index() as u32 - self.cpus)
    }

    fn leaves(&mut self, cpu: u32) {
        let q = self.q(cpu);
        self.all.return_slack(&mut self.platform, q);
        self.take_orders();
    }
}

#[test]
fn a_hog_draws_slices_until_the_pool_is_dry() {
    let mut m = Accounts::v3_2(1);
    assert_eq!(m.due_ms(), []);
    // The first draw starts the period: 5 ms of 20.
    assert!(m.runs(0, 0));
    assert_eq!(m.due_ms(), [100.0]);
    assert_eq!(m.may_run_ms(0), 20);
    m.at(20 * MS);
    m.throttle(0);
    assert!(m.all.is_throttled(m.q(0)));
    // The refill brings it to 1 ns; a tick later it owes 999,999 ns and draws 5,999,999 of 20 ms.
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.due_ms(), [200.0]);
    assert_eq!(m.release(), Some(0));
    assert_eq!(m.may_run_ms(0), 20);
    let stats = m.all.stats(GROUP);
    assert_eq!((stats.nr_periods, stats.nr_throttled, stats.throttled_ns), (1, 1, 80 * MS));
}

#[test]
fn a_refill_ignores_what_remains() {
    // Another CPU finds 20 ms, no more, although 15 were left of the last period.
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0));
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.may_run_ms(1), 20);
    // Nor less, when the pool was dry.
    assert_eq!(m.fire(), Expiry::Nothing);
    assert!(m.runs(1, 0));
    assert_eq!(m.may_run_ms(1), 20);
    // Without expiry, and without a burst, it is the same; with one, up to 7 ms more are saved.
    for (burst_ms, expected, bursts) in [(0, 20, 0), (7, 27, 1)] {
        let mut m = Accounts::new(BandwidthVersion::V5_14, 2, 20, burst_ms);
        assert!(m.runs(0, MS));
        m.fire();
        // 20 ms on top of what is left; a queue may have a nanosecond to begin with.
        let may_run = m.may_run_ms(1);
        assert!((expected..=expected + 1).contains(&may_run), "{may_run}");
        m.fire();
        let stats = m.all.stats(GROUP);
        assert_eq!((stats.nr_bursts, stats.burst_ns / MS), (bursts, 7 * bursts));
    }
}

#[test]
fn a_period_in_which_nothing_is_drawn_stops_the_timer() {
    let mut m = Accounts::v3_2(1);
    assert!(m.runs(0, MS));
    // Drawn from in the first period: goes on, and is marked idle.
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), [200.0]);
    // 4 ms are left locally but have expired; 1 ms later it draws, and the mark is gone.
    m.at(150 * MS);
    assert!(m.runs(0, MS));
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), [300.0]);
    // Nothing drawn between 200 and 300 ms: stopped.
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), []);
    assert_eq!(m.all.stats(GROUP).nr_periods, 3);
    // The next draw starts it again, on the old grid: the first period is short.
    m.at(777 * MS);
    assert!(m.runs(0, 10 * MS));
    assert_eq!(m.due_ms(), [800.0]);
}

#[test]
fn the_timer_goes_on_while_somebody_is_throttled() {
    let mut m = Accounts::v3_2(1);
    assert_eq!(m.may_run_ms(0), 20);
    // 40 ms too long: two refills bring it to 0 and not above.
    assert!(!m.runs(0, 40 * MS));
    m.throttle(0);
    for at_ms in [100.0, 200.0] {
        assert_eq!(m.due_ms(), [at_ms]);
        assert_eq!(m.fire(), Expiry::Distribute(GROUP));
        assert_eq!(m.release(), None);
    }
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), Some(0));
    let stats = m.all.stats(GROUP);
    assert_eq!((stats.nr_periods, stats.nr_throttled), (3, 3));
}

#[test]
fn a_queue_that_empties_keeps_a_millisecond() {
    let mut m = Accounts::v3_2(2);
    // 5 ms drawn, 1 used, 4 left: 3 go back, so the other finds 18.
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.leaves(0);
    assert_eq!(m.may_run_ms(1), 18);
    // What was kept is good for a millisecond less 1 ns, and then nothing is left anywhere.
    assert!(m.runs(0, MS - 1));
    assert!(!m.runs(0, 1));
    // One millisecond left: it is kept.
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0) && m.runs(0, 4 * MS));
    m.leaves(0);
    assert_eq!(m.may_run_ms(1), 15);
    assert!(m.runs(0, MS - 1));
}

#[test]
fn what_was_drawn_in_an_earlier_period_is_not_given_back() {
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.fire();
    m.leaves(0);
    assert_eq!(m.may_run_ms(1), 20);
    // Later releases have no expiry: 20 ms and the 3 that are given back; the pool holds no more
    // than the quota only at a refill.
    let mut m = Accounts::new(BandwidthVersion::V5_14, 2, 20, 0);
    assert!(m.runs(0, MS));
    m.fire();
    m.leaves(0);
    let may_run = m.may_run_ms(1);
    assert!((22..=24).contains(&may_run), "{may_run}");
}

#[test]
fn drawn_runtime_expires_with_its_period() {
    // After the refill 4 ms of the old period are void: it draws 5 of the new 20.
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.fire();
    m.at(101 * MS);
    assert!(m.runs(0, 0));
    assert_eq!(m.may_run_ms(1), 15);
    // Where this CPU's clock is ahead of the timer the old ones last another tick.
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.at(100 * MS);
    assert!(m.runs(0, 0));
    m.fire();
    assert!(m.runs(0, 0), "until 101 ms");
    assert_eq!(m.may_run_ms(1), 20);
}

#[test]
fn the_slack_timer_hands_out_what_is_given_back() {
    // A quota of 10 ms, drawn by the first two CPUs; the third is throttled.
    let drawn = || {
        let mut m = Accounts::new(BandwidthVersion::V3_2, 3, 10, 0);
        assert!(m.runs(0, 0) && m.runs(1, 0) && !m.runs(2, 0));
        m.throttle(2);
        m
    };
    let mut m = drawn();
    m.at(10 * MS);
    // 4 ms in the pool are not more than a slice; 8 are.
    m.leaves(0);
    assert_eq!(m.due_ms(), [100.0]);
    m.leaves(1);
    assert_eq!(m.due_ms(), [15.0, 100.0]);
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), Some(2));
    assert_eq!(m.release(), None);
    // 1 ns of the 8 ms is there, the rest it draws.
    assert!(m.runs(2, 0));
    assert_eq!(m.may_run_ms(2), 8);
    // The period must be at least 7 ms from its end.
    for (at_ns, due_ms) in [(93 * MS, &[98.0, 100.0][..]), (93 * MS + 1, &[100.0][..])] {
        let mut m = drawn();
        m.at(at_ns);
        m.leaves(0);
        m.leaves(1);
        assert_eq!(m.due_ms(), due_ms);
    }
    // With nobody throttled there is none.
    let mut m = Accounts::new(BandwidthVersion::V3_2, 2, 10, 0);
    assert!(m.runs(0, 0) && m.runs(1, 0));
    m.leaves(0);
    m.leaves(1);
    assert_eq!(m.due_ms(), [100.0]);
}

#[test]
fn the_slack_timer_gives_way_to_the_refill() {
    // Armed at 93 ms it fires at 98, 2 ms before the refill: good. What was given back may be gone
    // by then: not more than a slice, nothing is handed out.
    let mut m = Accounts::new(BandwidthVersion::V3_2, 3, 10, 0);
    assert!(m.runs(0, 0) && m.runs(1, 0) && !m.runs(2, 0));
    m.throttle(2);
    m.at(93 * MS);
    m.leaves(0);
    m.leaves(1);
    // The first, which kept 1 ms, draws 4: 4 are left.
    assert!(m.runs(0, MS));
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), [100.0]);
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), Some(2));
}

#[test]
fn the_longest_throttled_is_released_first_and_any_can_leave_the_list() {
    let mut m = Accounts::new(BandwidthVersion::V3_2, 4, 10, 0);
    assert_eq!(m.may_run_ms(0), 10);
    for cpu in [2, 0, 3, 1] {
        assert!(!m.runs(cpu, 0));
        m.throttle(cpu);
    }
    // The one in the middle goes: its group has been given another quota there, say.
    let middle = m.q(3);
    m.all.clear_throttled(middle, 0);
    m.all.audit().unwrap();
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!([m.release(), m.release(), m.release()], [Some(2), Some(0), Some(1)]);
    assert_eq!(m.release(), None);
    assert_eq!(m.all.first_throttled(GROUP), None);
}

#[test]
fn the_last_of_the_pool_goes_to_the_first_in_line() {
    // A quota of 1 ms; each of three owes 0.6 ms.
    let mut m = Accounts::new(BandwidthVersion::V3_2, 3, 1, 0);
    assert!(!m.runs(0, 2 * MS), "the pool's millisecond does not bring it above 0");
    for cpu in 0..3 {
        assert!(!m.runs(cpu, 600_000));
        m.throttle(cpu);
    }
    // The first owes 1.6 ms, gets the whole refill and stays.
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), None);
    // Then 0.6 ms and 1 ns; what is left brings the second to -200,001 ns.
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), Some(0));
    assert_eq!(m.release(), None);
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!((m.release(), m.release(), m.release()), (Some(1), Some(2), None));
}

#[test]
fn the_least_is_a_nanosecond_above_zero() {
    // What later releases try before they throttle.
    let mut m = Accounts::new(BandwidthVersion::V5_14, 2, 20, 0);
    let q = m.q(0);
    m.all.account(&mut m.platform, q, 0, 5 * MS);
    assert!(m.all.gets_the_least(&mut m.platform, q));
    m.take_orders();
    assert!(m.runs(0, 0));
    // When the pool is dry it gets nothing.
    while m.runs(1, MS) {}
    while m.runs(0, MS) {}
    assert!(!m.all.gets_the_least(&mut m.platform, q));
    assert!(m.all.has_run_out(q));
    m.throttle(0);
    assert!(!m.all.has_run_out(q), "it is throttled already");
}

#[test]
fn another_quota_voids_what_was_drawn() {
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.at(50 * MS);
    m.set(Quota { quota_us: Some(30_000), period_us: 80_000, burst_us: 0 });
    // All of it is in the pool; the timer stays set for what it was.
    assert_eq!(m.due_ms(), [100.0]);
    assert_eq!(m.may_run_ms(1), 30);
    assert!(!m.runs(0, 0), "4 ms of the old quota are gone");
    // And none at all: everybody may run, no timer is left.
    m.set(Quota { quota_us: None, period_us: 80_000, burst_us: 0 });
    assert_eq!(m.due_ms(), []);
    assert!(!m.all.is_used() && m.all.was_ever_used());
    assert!(m.runs(0, 1000 * MS));
}

#[test]
fn what_is_drawn_at_the_very_end_of_a_period_is_good_for_a_tick_more() {
    // 3.2: at 100 ms, the pool not yet refilled, a queue has used up just what it had, and draws 5
    // ms. Half a ms later, after the refill, it has run for 1 ms of them: it has the other 4, and
    // 20 in the pool.
    let mut m = Accounts::v3_2(1);
    assert!(m.runs(0, 0));
    m.at(100 * MS);
    assert!(m.runs(0, 5 * MS));
    m.fire();
    m.at(100 * MS + MS / 2);
    assert!(m.runs(0, MS));
    assert_eq!(m.may_run_ms(0), 4 + 20);
}
