//! The constant bandwidth server of one task: its budget, its deadline, and their renewal. This
//! module is independent of CPUs.

use schedlab_core::SchedAttr;

/// Bandwidths are in units of 2^-20: a whole CPU is 2^20.
pub const BW_UNIT_SHIFT: u32 = 20;

/// The smallest budget, ns.
const RUNTIME_MIN_NS: u64 = 1024;

/// Whether `a` comes before `b` on the circle of `u64` values.
#[inline]
pub fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// `to_ratio`: returns runtime divided by period, in units of 2^-20.
pub fn to_ratio(period_ns: u64, runtime_ns: u64) -> u64 {
    ((u128::from(runtime_ns) << BW_UNIT_SHIFT) / u128::from(period_ns.max(1))) as u64
}

/// The deadline parameters and state of a task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    /// Q: budget in each period, ns.
    pub dl_runtime: u64,
    /// D: time from the beginning of a period to its deadline, ns.
    pub dl_deadline: u64,
    /// P, ns.
    pub dl_period: u64,
    /// Q / P.
    pub bw: u64,
    /// Q / D.
    pub density: u64,
    /// Budget left, ns. Negative: overrun, to be paid back.
    pub runtime: i64,
    /// Absolute deadline, ns; `0`: never set.
    pub deadline: u64,
    /// Whether it is out of budget and waits for its replenishment timer.
    pub throttled: bool,
    /// Whether it gave up the rest of this period.
    pub yielded: bool,
}

/// Reason for which parameters are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invalid;

impl Server {
    /// Creates the server that `attr` requests, without a deadline and budget so far. A period of 0
    /// means that the period equals the deadline.
    ///
    /// # Errors
    /// If the kernel would return `EINVAL`. Periods must lie within `period_us`.
    pub fn new(attr: &SchedAttr, period_us: (u64, u64)) -> Result<Server, Invalid> {
        let (runtime, deadline) = (attr.runtime_ns, attr.deadline_ns);
        let period = if attr.period_ns == 0 { deadline } else { attr.period_ns };
        let good = runtime >= RUNTIME_MIN_NS
            && deadline != 0
            && deadline >> 63 == 0
            && period >> 63 == 0
            && runtime <= deadline
            && deadline <= period
            && (period_us.0 * 1000..=period_us.1 * 1000).contains(&period);
        if !good {
            return Err(Invalid);
        }
        Ok(Server {
            dl_runtime: runtime,
            dl_deadline: deadline,
            dl_period: period,
            bw: to_ratio(period, runtime),
            density: to_ratio(deadline, runtime),
            ..Server::default()
        })
    }

    /// Whether its deadline is the end of its period.
    #[inline]
    pub fn is_implicit(&self) -> bool {
        self.dl_deadline == self.dl_period
    }

    /// Returns the time at which the next period begins.
    #[inline]
    pub fn next_period(&self) -> u64 {
        self.deadline.wrapping_sub(self.dl_deadline).wrapping_add(self.dl_period)
    }

    /// Whether it has never had a deadline. (The clock does not show that: at time 0 a deadline of
    /// 0 is not past.)
    #[inline]
    pub fn is_unset(&self) -> bool {
        self.deadline == 0
    }

    /// Whether its deadline, if it has one, is past.
    #[inline]
    pub fn is_past(&self, now_ns: u64) -> bool {
        self.is_unset() || before(self.deadline, now_ns)
    }

    /// Starts a new period now.
    pub fn renew(&mut self, now_ns: u64) {
        self.deadline = now_ns.wrapping_add(self.dl_deadline);
        self.runtime = self.dl_runtime as i64;
    }

    /// `replenish_dl_entity`: replenishes the budget, because the timer has fired or was due long
    /// ago.
    pub fn replenish(&mut self, now_ns: u64) {
        if self.is_unset() {
            self.renew(now_ns);
        }
        // Budget that was given up does not come back.
        if self.yielded && self.runtime > 0 {
            self.runtime = 0;
        }
        // An overrun is paid back, over several periods if necessary.
        while self.runtime <= 0 {
            self.deadline = self.deadline.wrapping_add(self.dl_period);
            self.runtime += self.dl_runtime as i64;
        }
        if before(self.deadline, now_ns) {
            self.renew(now_ns);
        }
        self.yielded = false;
        self.throttled = false;
    }

    /// Whether the remaining budget is more than its bandwidth allows in the remaining time.
    pub fn overflows(&self, now_ns: u64) -> bool {
        let left = (self.dl_deadline >> 10).wrapping_mul((self.runtime >> 10) as u64);
        let right = (self.deadline.wrapping_sub(now_ns) >> 10).wrapping_mul(self.dl_runtime >> 10);
        before(right, left)
    }

    /// `update_dl_entity`, the CBS rule: a woken task keeps its budget and deadline if that harms
    /// no other task.
    pub fn wake(&mut self, now_ns: u64) {
        let past = self.is_past(now_ns);
        if !past && !self.overflows(now_ns) {
            return;
        }
        if !self.is_implicit() && !past {
            // Constrained, with the deadline still ahead: as much as its density allows until then.
            let left = self.deadline.wrapping_sub(now_ns);
            self.runtime = (self.density.wrapping_mul(left) >> BW_UNIT_SHIFT) as i64;
            return;
        }
        self.renew(now_ns);
    }

    /// Whether it is constrained and woken between its deadline and the next period, where it would
    /// exceed its bandwidth. (Shortly after time 0 the unset deadline of a new server looks like a
    /// past one. The kernel does not check that, and the golden schedules agree.)
    pub fn wakes_too_early(&self, now_ns: u64) -> bool {
        !self.is_implicit() && before(self.deadline, now_ns) && before(now_ns, self.next_period())
    }

    /// Returns the time at which its remaining budget would be used up at its bandwidth. Until then
    /// the bandwidth stays allocated.
    pub fn zero_lag_ns(&self) -> u64 {
        let used = i128::from(self.runtime) * i128::from(self.dl_period)
            / i128::from(self.dl_runtime.max(1));
        self.deadline.wrapping_sub(used as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::Policy;

    const MS: u64 = 1_000_000;

    fn server(runtime_us: u64, deadline_us: u64, period_us: u64) -> Server {
        let attr = SchedAttr {
            policy: Policy::Deadline,
            runtime_ns: runtime_us * 1000,
            deadline_ns: deadline_us * 1000,
            period_ns: period_us * 1000,
            ..SchedAttr::default()
        };
        Server::new(&attr, (100, 1 << 22)).unwrap()
    }

    #[test]
    fn parameters_are_checked() {
        let with = |runtime_ns, deadline_ns, period_ns| {
            let policy = Policy::Deadline;
            let attr =
                SchedAttr { policy, runtime_ns, deadline_ns, period_ns, ..SchedAttr::default() };
            Server::new(&attr, (100, 1 << 22)).is_ok()
        };
        assert!(with(2 * MS, 10 * MS, 0));
        assert!(with(1024, 100_000, 100_000));
        assert!(!with(1023, 100_000, 100_000));
        assert!(!with(2 * MS, 0, 10 * MS));
        assert!(!with(11 * MS, 10 * MS, 10 * MS));
        assert!(!with(2 * MS, 10 * MS, 9 * MS));
        assert!(!with(1024, 99_999, 99_999));
        assert!(!with(MS, 10 * MS, 4_194_304_001));
        assert!(with(MS, 10 * MS, 4_194_304_000));
    }

    #[test]
    fn an_overrun_is_paid_back() {
        // Q 2 ms, P 10 ms, charged only at 4 ms: paying back -2 ms takes two periods.
        let mut task = server(2000, 10_000, 10_000);
        (task.deadline, task.runtime) = (10 * MS, -2 * MS as i64);
        task.replenish(10 * MS);
        assert_eq!((task.deadline, task.runtime), (30 * MS, 2 * MS as i64));
        // Q 3 ms: paying back -1 ms takes one period, and 2 ms are left.
        let mut task = server(3000, 10_000, 10_000);
        (task.deadline, task.runtime) = (10 * MS, -(MS as i64));
        task.replenish(10 * MS);
        assert_eq!((task.deadline, task.runtime), (20 * MS, 2 * MS as i64));
    }

    #[test]
    fn one_that_lags_begins_anew() {
        let mut task = server(2000, 10_000, 10_000);
        (task.deadline, task.runtime) = (10 * MS, 0);
        task.replenish(35 * MS);
        assert_eq!((task.deadline, task.runtime), (45 * MS, 2 * MS as i64));
    }

    #[test]
    fn what_was_given_up_is_lost() {
        let mut task = server(2000, 10_000, 10_000);
        (task.deadline, task.runtime, task.yielded) = (10 * MS, MS as i64, true);
        task.replenish(10 * MS);
        assert_eq!((task.deadline, task.runtime, task.yielded), (20 * MS, 2 * MS as i64, false));
    }

    #[test]
    fn a_server_that_was_never_used_begins_its_first_period_when_it_wakes() {
        // This also holds at time 0, where a deadline of 0 looks as if it were ahead.
        for at in [0, 1, MS, 50 * MS] {
            let mut implicit = server(3000, 10_000, 10_000);
            implicit.wake(at);
            assert_eq!((implicit.deadline, implicit.runtime), (at + 10 * MS, 3 * MS as i64));
            let mut constrained = server(2000, 5000, 100_000);
            constrained.wake(at);
            assert_eq!((constrained.deadline, constrained.runtime), (at + 5 * MS, 2 * MS as i64));
        }
    }

    #[test]
    fn the_wakeup_rule() {
        // Q 4, P 10: 3 ms left until 10 ms. At 3 ms that is too much, at 2 ms it is not.
        let woken_at = |at: u64| {
            let mut task = server(4000, 10_000, 10_000);
            (task.deadline, task.runtime) = (10 * MS, 3 * MS as i64);
            task.wake(at);
            (task.deadline, task.runtime)
        };
        assert_eq!(woken_at(3 * MS), (13 * MS, 4 * MS as i64));
        assert_eq!(woken_at(2 * MS), (10 * MS, 3 * MS as i64));
        assert_eq!(woken_at(10 * MS + 1), (20 * MS + 1, 4 * MS as i64));
    }

    #[test]
    fn the_revised_rule_of_constrained_tasks() {
        let mut task = server(2000, 5000, 10_000);
        (task.deadline, task.runtime) = (5 * MS, MS as i64);
        task.wake(3_500_000);
        assert_eq!((task.deadline, task.runtime), (5 * MS, 599_999));
        assert!(!task.wakes_too_early(4 * MS));
        assert!(task.wakes_too_early(6 * MS));
        assert!(!task.wakes_too_early(10 * MS));
    }

    #[test]
    fn zero_lag() {
        let mut task = server(2000, 10_000, 10_000);
        (task.deadline, task.runtime) = (10 * MS, MS as i64);
        assert_eq!(task.zero_lag_ns(), 5 * MS);
    }
}
