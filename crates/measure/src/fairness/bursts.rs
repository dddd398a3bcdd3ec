//! Lag within a burst: what means something where tasks sleep.
//!
//! A **burst** is a stretch in which a task is runnable: from start or wakeup to the next time it
//! blocks or ends. The lag since the start of the run never forgets: a task that sleeps and is
//! served promptly is ahead a little more with every burst, and whoever shares the machine with it
//! is owed ever more. So the lag of a burst begins at 0, and who leaves takes his lag along, as the
//! literature on fair queueing with tasks that come and go has it (Stoica, Abdel-Wahab and others,
//! 1996):
//!
//! ```text
//!     a burst begins      lag = 0
//!     time passes         lag += (rate on the fluid machine - 1 if it runs) x time
//!     tasks leave         those who stay have the leavers' lag (summed up) among them, in
//!                         proportion to their rates, as far as that brings the sum of their own
//!                         nearer to 0
//! ```
//!
//! The last clause: if the machine served j instead of others, their lags sum up to what j was
//! ahead, and they are quits once it has left. If a CPU idled while j waited nobody gained by it,
//! and there is nothing to be handed on.
//!
//! The lag is looked at whenever the task goes over from waiting to running or back, and when its
//! policy makes it leave, the burst or the run ends. (If it is back in the same nanosecond nothing
//! has happened.) What those who leave in a nanosecond hand on is given at its
//! end, to those who are runnable then: who is looked at in that nanosecond still has what he was
//! owed.

use super::{Fairness, ONE, SHIFT, to_ns};
use crate::histogram::Histogram;
use schedlab_core::TaskId;

/// What is kept of a task's bursts.
#[derive(Clone, Debug, Default)]
pub(super) struct Bursts {
    /// Since when it is in one, ns; none: it is in none.
    since_ns: Option<u64>,
    /// What the fluid machine has given it in the present one, 2^-56 ns, less its class's service
    /// and jumps.
    base: i128,
    /// Its CPU time when the present one began, ns.
    cpu_ns: u64,
    /// The largest |lag| of the present one, ns.
    lag_max_ns: u64,
    /// When it last went over from waiting to running or back, ns, and its |lag| then, if that is
    /// not in `lag_max_ns` yet.
    turned: Option<(u64, u64)>,
    /// The largest |lag| of all that are over, ns.
    pub all_max_ns: u64,
    /// What the fluid machine gave it in those that are over, 2^-56 ns.
    pub due: i128,
    /// Whether one that is over took any time.
    pub any: bool,
}

/// What is kept of all bursts together.
#[derive(Clone, Debug, Default)]
pub(super) struct AllBursts {
    /// The largest |lag| of each, ns.
    pub lags: Histogram,
    /// The sum of the lags of those that are in one, as of `at_ns`, 2^-56 ns.
    open_lag: i128,
    at_ns: u64,
    /// Ordinary tasks that have a CPU.
    running: u64,
    /// The lags of those who have left at `left_at_ns` and not been handed on, 2^-56 ns.
    left: i128,
    left_at_ns: u64,
    /// The sum of the rates of all that are runnable, 2^-56 CPUs.
    pub rate_sum: i128,
}

impl Fairness {
    /// Sums up the lags up to `now_ns`. To be called before rates change, or who runs.
    #[inline]
    pub(super) fn sum_lags(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.bursts.at_ns;
        if passed_ns == 0 {
            return;
        }
        self.hand_on(now_ns);
        self.refresh_rates();
        let all = &mut self.bursts;
        let growth = all.rate_sum - (i128::from(all.running) << SHIFT);
        all.open_lag += growth * i128::from(passed_ns);
        all.at_ns = now_ns;
    }

    /// An ordinary task has got a CPU, or left one.
    #[inline]
    pub(super) fn count_running(&mut self, now_ns: u64, runs: bool) {
        self.sum_lags(now_ns);
        let running = &mut self.bursts.running;
        *running = if runs { *running + 1 } else { *running - 1 };
    }

    /// What the class of `task` has been given up to `now_ns`, with what others left it.
    fn class_share(&self, now_ns: u64, class: u32) -> i128 {
        let class = &self.classes[class as usize];
        let since_ns = i128::from(now_ns - self.at_ns);
        class.service + class.jumps + i128::from(class.rate) * since_ns
    }

    /// The CPU time of `task` up to `now_ns`, ns.
    fn cpu_so_far_ns(&self, now_ns: u64, task: TaskId) -> u64 {
        let account = &self.tasks[task];
        account.cpu_ns + account.running.map_or(0, |since_ns| now_ns - since_ns)
    }

    /// `task` has become runnable, at `now_ns`.
    pub(super) fn begin_burst(&mut self, now_ns: u64, task: TaskId) {
        let Some(class) = self.tasks[task].class else { return };
        let (base, cpu_ns) = (-self.class_share(now_ns, class), self.cpu_so_far_ns(now_ns, task));
        let bursts = &mut self.tasks[task].bursts;
        bursts.since_ns = Some(now_ns);
        (bursts.base, bursts.cpu_ns, bursts.lag_max_ns) = (base, cpu_ns, 0);
        bursts.turned = None;
    }

    /// What the fluid machine has given `task` in its present burst, and its lag, 2^-56 ns. None:
    /// it is in none.
    fn burst_now(&mut self, now_ns: u64, task: TaskId) -> Option<(i128, i128)> {
        let account = &self.tasks[task];
        let class = account.class?;
        account.bursts.since_ns?;
        if now_ns > self.at_ns {
            self.hand_on(now_ns);
            self.refresh_rates();
        }
        let bursts = &self.tasks[task].bursts;
        let share = bursts.base + self.class_share(now_ns, class);
        let cpu_ns = self.cpu_so_far_ns(now_ns, task) - bursts.cpu_ns;
        Some((share, share - (i128::from(cpu_ns) << SHIFT)))
    }

    /// `task`, in a burst, gets a CPU or leaves it: looks at its lag.
    #[inline]
    pub(super) fn look_at_burst(&mut self, now_ns: u64, task: TaskId) {
        if let Some((_, lag)) = self.burst_now(now_ns, task) {
            let bursts = &mut self.tasks[task].bursts;
            bursts.turned = match bursts.turned {
                Some((at_ns, _)) if at_ns == now_ns => None,
                turned => {
                    bursts.lag_max_ns = bursts.lag_max_ns.max(turned.map_or(0, |(_, lag)| lag));
                    Some((now_ns, to_ns(lag).unsigned_abs() as u64))
                }
            };
        }
    }

    /// The burst of `task`, which is still runnable, is over.
    pub(super) fn end_burst(&mut self, now_ns: u64, task: TaskId) {
        let Some((share, lag)) = self.burst_now(now_ns, task) else { return };
        let bursts = &mut self.tasks[task].bursts;
        let turned = bursts.turned.map_or(0, |(_, lag_ns)| lag_ns);
        let at_end = to_ns(lag).unsigned_abs() as u64;
        bursts.lag_max_ns = bursts.lag_max_ns.max(turned).max(at_end);
        bursts.due += share;
        if bursts.since_ns.take().is_some_and(|since_ns| since_ns < now_ns) {
            bursts.any = true;
            bursts.all_max_ns = bursts.all_max_ns.max(bursts.lag_max_ns);
            self.bursts.lags.note(bursts.lag_max_ns);
        }
        self.bursts.open_lag -= lag;
        self.bursts.left += lag;
        self.bursts.left_at_ns = now_ns;
    }

    /// If tasks left before `now_ns`, those who stayed are given what concerns them of their lags.
    #[inline]
    fn hand_on(&mut self, now_ns: u64) {
        if self.bursts.left != 0 && self.bursts.left_at_ns < now_ns {
            self.hand_on_now();
        }
    }

    fn hand_on_now(&mut self) {
        let lag = std::mem::take(&mut self.bursts.left);
        if self.active == 0 {
            // There may be fractions left.
            self.bursts.open_lag = 0;
            return;
        }
        let others = self.bursts.open_lag;
        let gift = if lag > 0 { lag.min((-others).max(0)) } else { lag.max((-others).min(0)) };
        if gift == 0 {
            return;
        }
        self.refresh_rates();
        if self.bursts.rate_sum == 0 {
            return;
        }
        let of_rate = gift as f64 / self.bursts.rate_sum as f64;
        for class in self.classes.iter_mut().filter(|class| class.active > 0) {
            let jump = (class.rate as f64 * of_rate) as i128;
            class.jumps += jump;
            self.bursts.open_lag += jump * i128::from(class.active);
        }
    }

    /// The sum of all rates, which have just been computed.
    pub(super) fn sum_rates(&mut self) {
        let rates = self.classes.iter().filter(|class| class.active > 0);
        self.bursts.rate_sum =
            rates.map(|class| i128::from(class.rate) * i128::from(class.active)).sum();
    }

    /// As [`sum_rates`](Fairness::sum_rates), where each has a CPU.
    pub(super) fn all_have_a_cpu(&mut self) {
        self.bursts.rate_sum = i128::from(self.active) * i128::from(ONE);
    }

    /// The burst of `task` goes on in another class, which it is in by now: what it was given
    /// before is `share`.
    pub(super) fn rebase_burst(&mut self, now_ns: u64, task: TaskId, share: i128) {
        let Some(class) = self.tasks[task].class else { return };
        self.tasks[task].bursts.base = share - self.class_share(now_ns, class);
    }

    /// What `task` was given in its present burst, if it is in one, 2^-56 ns.
    pub(super) fn burst_share(&mut self, now_ns: u64, task: TaskId) -> Option<i128> {
        self.burst_now(now_ns, task).map(|(share, _)| share)
    }

    /// The largest |lag| of every burst that took any time, ns.
    pub fn burst_lags(&self) -> &Histogram {
        &self.bursts.lags
    }
}
