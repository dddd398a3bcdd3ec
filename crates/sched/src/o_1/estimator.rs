//! The interactivity estimator: one number, `sleep_avg`, for how much a task sleeps.
//!
//! Sleep raises it, running lowers it, and a tenth of its range is one step of priority. This file
//! contains all rules by which the scheduler classifies tasks as interactive.
//!
//! The two releases weigh sleep and running differently. A task should be able to run for a while
//! and still count as interactive, so sleep must count for more than running. 2.6.0 multiplies the
//! gain from sleep, by up to 10 for tasks with a low estimate ([`Params::recalc_2_6_0`]), and has a
//! second, slow memory, `interactive_credit`, for tasks whose behaviour is settled. 2.6.22 divides
//! the cost of running, by up to 10 for tasks with a high estimate ([`Params::run_time`]), and has
//! no credit.

use super::params::{MAX_BONUS, Params};
use super::releases::Estimator;
use super::task::{Activated, Task};

impl Params {
    /// `recalc_task_prio`: updates the estimate and the priority of `p`, which has slept, or waited
    /// in a way that counts, from its `timestamp` until `now`.
    pub(super) fn recalc_task_prio(&self, p: &mut Task, now: u64) {
        match self.version.estimator {
            Estimator::InteractiveCredit => self.recalc_2_6_0(p, now),
            Estimator::DividedCost => self.recalc_2_6_22(p, now),
        }
        p.prio = self.effective_prio(p);
    }

    fn recalc_2_6_0(&self, p: &mut Task, now: u64) {
        let mut slept = now.wrapping_sub(p.timestamp).min(self.ns_max_sleep_avg);
        if slept == 0 {
            return;
        }
        let just_interactive = self.level(p).just_interactive_ns;
        let from_disk = p.activated == Activated::Uninterruptible;

        // One very long sleep proves little (a daemon on its daily round may be CPU-bound next).
        // The task becomes just interactive, even if its estimate was higher before.
        if !from_disk && slept > just_interactive {
            p.sleep_avg = self.ns_max_sleep_avg - self.bonus_step_ns;
            self.earn_credit(p);
            return;
        }

        // The lower the estimate, the faster it rises.
        let factor = MAX_BONUS.saturating_sub(self.bonus(p.sleep_avg)).max(1);
        slept = self.long(slept * u64::from(factor));
        if self.low_credit(p) {
            slept = slept.min(u64::from(self.task_timeslice(p)) * self.jiffy_ns);
        }
        if from_disk && !self.high_credit(p) {
            slept = self.limit_disk_sleep(p, slept, just_interactive);
        }
        p.sleep_avg = self.long(p.sleep_avg + slept);
        if p.sleep_avg > self.ns_max_sleep_avg {
            p.sleep_avg = self.ns_max_sleep_avg;
            self.earn_credit(p);
        }
    }

    fn recalc_2_6_22(&self, p: &mut Task, now: u64) {
        if p.is_batch() {
            return;
        }
        // No cap. A 32-bit kernel sees only the last 4.29 s of it.
        let mut slept = self.long(now.wrapping_sub(p.timestamp));
        if slept == 0 {
            return;
        }
        let ceiling = self.level(p).just_interactive_ns;
        if slept > ceiling && p.sleep_avg < ceiling {
            p.sleep_avg = ceiling;
            // This keeps its wait for the CPU from also counting as sleep.
            p.activated = Activated::Uninterruptible;
        } else {
            if p.activated == Activated::Uninterruptible {
                slept = self.limit_disk_sleep(p, slept, ceiling);
            }
            p.sleep_avg = self.long(p.sleep_avg.wrapping_add(slept));
        }
        p.sleep_avg = p.sleep_avg.min(self.ns_max_sleep_avg);
    }

    /// Returns the amount that is still to be added. Waiting for a disk does not indicate a user:
    /// it earns up to the threshold of interactivity and no more.
    fn limit_disk_sleep(&self, p: &mut Task, slept: u64, threshold: u64) -> u64 {
        if p.sleep_avg >= threshold {
            return 0;
        }
        if self.long(p.sleep_avg.wrapping_add(slept)) >= threshold {
            p.sleep_avg = threshold;
            return 0;
        }
        slept
    }

    /// Returns the amount that `schedule()` subtracts from the estimate of `p`, which has run from
    /// its `timestamp` until `now`. It is measured at the beginning of `schedule()` and subtracted
    /// at the end ([`charge`](Params::charge)).
    pub(super) fn run_time(&self, p: &Task, now: u64) -> u64 {
        let run = (now.wrapping_sub(p.timestamp) as i64).max(0) as u64;
        let run = run.min(self.ns_max_sleep_avg);
        if self.version.estimator == Estimator::DividedCost || self.high_credit(p) {
            run / u64::from(self.bonus(p.sleep_avg).max(1))
        } else {
            run
        }
    }

    /// Subtracts `run_time` from the estimate. The priority follows only at the next wakeup or end
    /// of slice.
    pub(super) fn charge(&self, p: &mut Task, run_time: u64) {
        p.sleep_avg = p.sleep_avg.saturating_sub(run_time);
        if self.version.estimator == Estimator::InteractiveCredit
            && p.sleep_avg == 0
            && !self.high_credit(p)
            && !self.low_credit(p)
        {
            p.interactive_credit -= 1;
        }
    }

    /// Returns the part of a wait of `waited` ns that counts as sleep when the task is finally
    /// picked: all of it if an interrupt woke the task, `ON_RUNQUEUE_WEIGHT` of it (30 percent, in
    /// 128ths) if a process did.
    pub(super) fn wait_that_counts(&self, p: &Task, waited: u64) -> u64 {
        const ON_RUNQUEUE_WEIGHT: u64 = 30;
        if p.activated == Activated::Process {
            waited * (ON_RUNQUEUE_WEIGHT * 128 / 100) / 128
        } else {
            waited
        }
    }

    fn earn_credit(&self, p: &mut Task) {
        if !self.high_credit(p) {
            p.interactive_credit += 1;
        }
    }
}
