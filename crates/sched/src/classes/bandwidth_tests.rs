//! Quotas of task groups, checked against the rules: pools, slices, the runtime that queues keep
//! and return, and the two timers.
//!
//! The numbers come from the description of 3.2. A queue draws 5 ms at a time and keeps 1 ms when
//! it returns runtime. The slack timer takes 5 ms. Nothing is handed out in the last 2 ms before a
//! refill.

use super::bandwidth::{Bandwidth, BandwidthVersion, Expiry, Quota, is_timer};
use crate::fair_6::ids::CfsRqId;
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::platform::TimerOrder;
use schedlab_core::{CpuId, GroupId, Platform, TimerKey};

const MS: u64 = 1_000_000;
const GROUP: GroupId = GroupId(1);

/// Group 1 with a quota, and its queue on each CPU: queue number CPUs + CPU.
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
            phase_us: None,
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

    /// Returns the group's queue on a CPU.
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

    /// Times at which timers are due, ms.
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

    /// Charges the queue on `cpu` for `delta_ns`. Returns whether it may continue.
    fn runs(&mut self, cpu: u32, delta_ns: u64) -> bool {
        let (q, now_ns) = (self.q(cpu), self.platform.now_ns());
        let goes_on = self.all.account(&mut self.platform, q, now_ns, delta_ns);
        self.take_orders();
        goes_on
    }

    /// Returns the time for which the queue on `cpu` may run from now on if no other queue draws,
    /// in steps of 1 ms.
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
        let now_ns = self.platform.now_ns();
        self.all.clear_throttled(&mut self.platform, q, now_ns);
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
    // The refill brings it to 1 ns. A tick later it owes 999,999 ns and draws 5,999,999 of 20 ms.
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.due_ms(), [200.0]);
    assert_eq!(m.release(), Some(0));
    assert_eq!(m.may_run_ms(0), 20);
    let stats = m.all.stats(GROUP);
    assert_eq!((stats.nr_periods, stats.nr_throttled, stats.throttled_ns), (1, 1, 80 * MS));
}

#[test]
fn a_refill_ignores_what_remains() {
    // Another CPU finds 20 ms, no more, although 15 ms were left of the last period.
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0));
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.may_run_ms(1), 20);
    // It also finds no less if the pool was dry.
    assert_eq!(m.fire(), Expiry::Nothing);
    assert!(m.runs(1, 0));
    assert_eq!(m.may_run_ms(1), 20);
    // Without expiry, and without a burst, the result is the same. With one, up to 7 ms more are
    // saved.
    for (burst_ms, expected, bursts) in [(0, 20, 0), (7, 27, 1)] {
        let mut m = Accounts::new(BandwidthVersion::V5_14, 2, 20, burst_ms);
        assert!(m.runs(0, MS));
        m.fire();
        // 20 ms on top of the remainder. A queue may have a nanosecond to begin with.
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
    // Runtime was drawn in the first period: the timer continues, and the pool is marked idle.
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), [200.0]);
    // 4 ms are left locally but have expired. 1 ms later the queue draws, which clears the mark.
    m.at(150 * MS);
    assert!(m.runs(0, MS));
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), [300.0]);
    // Nothing is drawn between 200 and 300 ms: the timer stops.
    assert_eq!(m.fire(), Expiry::Nothing);
    assert_eq!(m.due_ms(), []);
    assert_eq!(m.all.stats(GROUP).nr_periods, 3);
    // The next draw restarts it, on the old grid: the first period is short.
    m.at(777 * MS);
    assert!(m.runs(0, 10 * MS));
    assert_eq!(m.due_ms(), [800.0]);
}

#[test]
fn the_timer_goes_on_while_somebody_is_throttled() {
    let mut m = Accounts::v3_2(1);
    assert_eq!(m.may_run_ms(0), 20);
    // An overrun of 40 ms: two refills bring it to 0 and not above.
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
    // 5 ms drawn, 1 used, 4 left: 3 are returned, so the other queue finds 18.
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.leaves(0);
    assert_eq!(m.may_run_ms(1), 18);
    // The kept runtime lasts for a millisecond less 1 ns, and then nothing is left anywhere.
    assert!(m.runs(0, MS - 1));
    assert!(!m.runs(0, 1));
    // One millisecond left: the queue keeps it.
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
    // Later releases have no expiry: 20 ms and the 3 that are returned. The pool is limited to the
    // quota only at a refill.
    let mut m = Accounts::new(BandwidthVersion::V5_14, 2, 20, 0);
    assert!(m.runs(0, MS));
    m.fire();
    m.leaves(0);
    let may_run = m.may_run_ms(1);
    assert!((22..=24).contains(&may_run), "{may_run}");
}

#[test]
fn drawn_runtime_expires_with_its_period() {
    // After the refill 4 ms of the old period are void: the queue draws 5 of the new 20.
    let mut m = Accounts::v3_2(2);
    assert!(m.runs(0, 0) && m.runs(0, MS));
    m.fire();
    m.at(101 * MS);
    assert!(m.runs(0, 0));
    assert_eq!(m.may_run_ms(1), 15);
    // Where this CPU's clock is ahead of the timer, the old runtime lasts another tick.
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
    // A quota of 10 ms, drawn by the first two CPUs. The third is throttled.
    let drawn = || {
        let mut m = Accounts::new(BandwidthVersion::V3_2, 3, 10, 0);
        assert!(m.runs(0, 0) && m.runs(1, 0) && !m.runs(2, 0));
        m.throttle(2);
        m
    };
    let mut m = drawn();
    m.at(10 * MS);
    // 4 ms in the pool are not more than a slice. 8 ms are.
    m.leaves(0);
    assert_eq!(m.due_ms(), [100.0]);
    m.leaves(1);
    assert_eq!(m.due_ms(), [15.0, 100.0]);
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), Some(2));
    assert_eq!(m.release(), None);
    // 1 ns of the 8 ms is already there. The queue draws the rest.
    assert!(m.runs(2, 0));
    assert_eq!(m.may_run_ms(2), 8);
    // It keeps to a grid of 5 ms. The end of the period must be at least 7 ms away.
    for (at_ns, due_ms) in [
        (12 * MS, &[15.0, 100.0][..]),
        (15 * MS, &[20.0, 100.0][..]),
        (93 * MS, &[95.0, 100.0][..]),
        (93 * MS + 1, &[100.0][..]),
    ] {
        let mut m = drawn();
        m.at(at_ns);
        m.leaves(0);
        m.leaves(1);
        assert_eq!(m.due_ms(), due_ms);
    }
    // Without a throttled queue there is no slack timer.
    let mut m = Accounts::new(BandwidthVersion::V3_2, 2, 10, 0);
    assert!(m.runs(0, 0) && m.runs(1, 0));
    m.leaves(0);
    m.leaves(1);
    assert_eq!(m.due_ms(), [100.0]);
}

#[test]
fn the_slack_timer_gives_way_to_the_refill() {
    // Armed at 93 ms it fires at 95, long enough before the refill. The returned runtime may be
    // used up by then: if the pool has no more than a slice, nothing is handed out.
    let mut m = Accounts::new(BandwidthVersion::V3_2, 3, 10, 0);
    assert!(m.runs(0, 0) && m.runs(1, 0) && !m.runs(2, 0));
    m.throttle(2);
    m.at(93 * MS);
    m.leaves(0);
    m.leaves(1);
    // The first queue, which kept 1 ms, draws 4: 4 are left.
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
    // The middle queue leaves the list, as if its group had been given another quota there.
    let middle = m.q(3);
    m.all.clear_throttled(&mut m.platform, middle, 0);
    m.all.audit().unwrap();
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!([m.release(), m.release(), m.release()], [Some(2), Some(0), Some(1)]);
    assert_eq!(m.release(), None);
    assert_eq!(m.all.first_throttled(GROUP), None);
}

#[test]
fn the_last_of_the_pool_goes_to_the_first_in_line() {
    // A quota of 1 ms. Each of three queues owes 0.6 ms.
    let mut m = Accounts::new(BandwidthVersion::V3_2, 3, 1, 0);
    assert!(!m.runs(0, 2 * MS), "the pool's millisecond does not bring it above 0");
    for cpu in 0..3 {
        assert!(!m.runs(cpu, 600_000));
        m.throttle(cpu);
    }
    // The first owes 1.6 ms, receives the whole refill and stays throttled.
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), None);
    // Then it receives 0.6 ms and 1 ns. The rest brings the second to -200,001 ns.
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!(m.release(), Some(0));
    assert_eq!(m.release(), None);
    assert_eq!(m.fire(), Expiry::Distribute(GROUP));
    assert_eq!((m.release(), m.release(), m.release()), (Some(1), Some(2), None));
}

#[test]
fn the_least_is_a_nanosecond_above_zero() {
    // The attempt that later releases make before they throttle.
    let mut m = Accounts::new(BandwidthVersion::V5_14, 2, 20, 0);
    let q = m.q(0);
    m.all.account(&mut m.platform, q, 0, 5 * MS);
    assert!(m.all.gets_the_least(&mut m.platform, q));
    m.take_orders();
    assert!(m.runs(0, 0));
    // If the pool is dry it receives nothing.
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
    m.set(Quota { quota_us: Some(30_000), period_us: 80_000, burst_us: 0, phase_us: None });
    // All of it is in the pool. The timer stays set for its old time.
    assert_eq!(m.due_ms(), [100.0]);
    assert_eq!(m.may_run_ms(1), 30);
    assert!(!m.runs(0, 0), "4 ms of the old quota are gone");
    // Without a limit every queue may run, and no timer is left.
    m.set(Quota { quota_us: None, period_us: 80_000, burst_us: 0, phase_us: None });
    assert_eq!(m.due_ms(), []);
    assert!(!m.all.is_used() && m.all.was_ever_used());
    assert!(m.runs(0, 1000 * MS));
}

#[test]
fn what_is_drawn_at_the_very_end_of_a_period_is_good_for_a_tick_more() {
    // 3.2: at 100 ms, before the pool is refilled, a queue has used up exactly what it had, and
    // draws 5 ms. Half a millisecond later, after the refill, it has run for 1 ms of them: it has
    // the other 4, and 20 in the pool.
    let mut m = Accounts::v3_2(1);
    assert!(m.runs(0, 0));
    m.at(100 * MS);
    assert!(m.runs(0, 5 * MS));
    m.fire();
    m.at(100 * MS + MS / 2);
    assert!(m.runs(0, MS));
    assert_eq!(m.may_run_ms(0), 4 + 20);
}
