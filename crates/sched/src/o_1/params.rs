//! The parameters of a release: constants by HZ, and values derived from nice.

use super::releases::{Slices, Version};
use super::task::Task;
use schedlab_core::Policy;

/// The range of the bonus: 0..10, used as -5..+5 (`MAX_BONUS`: 25 percent of the 40 nice levels).
pub(super) const MAX_BONUS: u32 = 10;
/// How far above the centre the bonus must be for a task to be interactive, apart from its nice
/// value.
const INTERACTIVE_DELTA: i32 = 2;
/// Part of its parent's bonus that a child gets, percent. (The parent keeps 100.)
pub(super) const CHILD_PENALTY: u32 = 95;
/// The weight of the parent's own estimate at a child's exit, relative to 1 for the child's.
pub(super) const EXIT_WEIGHT: u64 = 3;
/// 2.6.0: an `interactive_credit` beyond this, up or down, marks a task as interactive or as
/// CPU-bound.
const CREDIT_LIMIT: i32 = 100;
/// 2.6.22: the weight of a nice-0 task.
pub(super) const SCHED_LOAD_SCALE: u64 = 128;

/// Values derived from a nice value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NiceLevel {
    /// A full slice, jiffies (`task_timeslice`).
    pub(super) timeslice: u32,
    /// The worst priority at which a task of this nice value counts as interactive
    /// (`static_prio - DELTA`).
    pub(super) interactive_prio: u8,
    /// The sleep that makes a task just interactive, ns: `JUST_INTERACTIVE_SLEEP`, in 2.6.22
    /// `INTERACTIVE_SLEEP` (the "ceiling").
    pub(super) just_interactive_ns: u64,
    /// 2.6.22: weight of an ordinary task in balancing.
    pub(super) load_weight: u32,
}

/// The parameters of a release at one HZ, and the values that they give for a task.
#[derive(Clone, Debug)]
pub(super) struct Params {
    pub(super) version: Version,
    pub(super) hz: u32,
    /// Length of a jiffy, ns.
    pub(super) jiffy_ns: u64,
    /// `MAX_TIMESLICE` (2.6.0), jiffies.
    pub(super) max_timeslice: u32,
    /// The slice of nice 0, jiffies: `AVG_TIMESLICE` (2.6.0), `DEF_TIMESLICE` (2.6.22).
    pub(super) avg_timeslice: u32,
    /// `MIN_TIMESLICE` (2.6.0), `GRANULARITY` (2.6.22), jiffies: the unit in which interactive
    /// CPU-bound tasks take turns.
    granularity: u32,
    /// `STARVATION_LIMIT` = `MAX_SLEEP_AVG`, jiffies for each runnable task.
    pub(super) starvation_limit: u64,
    /// `NS_MAX_SLEEP_AVG`, ns.
    pub(super) ns_max_sleep_avg: u64,
    /// The sleep average that is worth one step of bonus, ns.
    pub(super) bonus_step_ns: u64,
    /// The largest value of the kernel's `unsigned long`: 32-bit kernels wrap the estimator's sums.
    pub(super) long_max: u64,
    levels: [NiceLevel; 40],
}

impl Params {
    pub(super) fn new(version: Version, hz: u32) -> Params {
        let hz = hz.max(1);
        let jiffies = |ms: u32| (ms * hz / 1000).max(1);
        let jiffy_ns = 1_000_000_000 / u64::from(hz);
        let (min_timeslice, max_timeslice) = match version.slices {
            Slices::Linear => (jiffies(10), jiffies(200)),
            // Eight times the slice of nice 0, at nice -20.
            Slices::FourTimesBelowZero => (jiffies(5), 8 * jiffies(100)),
        };
        let avg_timeslice = match version.slices {
            Slices::Linear => min_timeslice + (max_timeslice - min_timeslice) * 19 / 39,
            Slices::FourTimesBelowZero => jiffies(100),
        };
        let max_sleep_avg = avg_timeslice * MAX_BONUS;
        let mut params = Params {
            version,
            hz,
            jiffy_ns,
            max_timeslice,
            avg_timeslice,
            granularity: jiffies(10),
            starvation_limit: u64::from(max_sleep_avg),
            ns_max_sleep_avg: u64::from(max_sleep_avg) * jiffy_ns,
            // (sleep_avg in jiffies) * 10 / max_sleep_avg. The two divisions are equivalent to this
            // one, because max_sleep_avg is ten slices.
            bonus_step_ns: u64::from(avg_timeslice) * jiffy_ns,
            long_max: u64::MAX,
            levels: [NiceLevel::default(); 40],
        };
        for (number, level) in (0..40).zip(&mut params.levels) {
            let nice = number - 20;
            let static_prio = (120 + nice) as u32;
            let timeslice = match version.slices {
                Slices::Linear => {
                    min_timeslice + (max_timeslice - min_timeslice) * (139 - static_prio) / 39
                }
                Slices::FourTimesBelowZero => {
                    let unit = if nice < 0 { 4 * avg_timeslice } else { avg_timeslice };
                    (unit * (140 - static_prio) / 20).max(min_timeslice)
                }
            };
            let delta = delta(&version, nice);
            let steps = (MAX_BONUS as i32 / 2 + delta + 1) as u32;
            *level = NiceLevel {
                timeslice,
                interactive_prio: (120 + nice - delta) as u8,
                just_interactive_ns: u64::from(max_sleep_avg * steps / MAX_BONUS - 1) * jiffy_ns,
                load_weight: timeslice * SCHED_LOAD_SCALE as u32 / avg_timeslice,
            };
        }
        params
    }

    #[inline]
    pub(super) fn level(&self, p: &Task) -> &NiceLevel {
        // The clamp has no effect, but lets the compiler drop the bounds check.
        &self.levels[usize::from(p.static_prio.wrapping_sub(100)).min(39)]
    }

    /// Returns a full slice for `p`, jiffies. The slices of `SCHED_RR` tasks also depend on nice.
    #[inline]
    pub(super) fn task_timeslice(&self, p: &Task) -> u32 {
        self.level(p).timeslice
    }

    /// Returns a full slice at a nice value, ns.
    pub(super) fn slice_at_nice(&self, nice: i32) -> u64 {
        u64::from(self.levels[(nice.clamp(-20, 19) + 20) as usize].timeslice) * self.jiffy_ns
    }

    /// Whether the best bonus makes tasks of a nice value interactive.
    pub(super) fn can_be_interactive(&self, nice: i32) -> bool {
        delta(&self.version, nice) <= MAX_BONUS as i32 / 2
    }

    /// Returns the bonus that an estimate gives: from 0 for a CPU-bound task to 10 for one that
    /// nearly always sleeps (`CURRENT_BONUS`).
    #[inline]
    pub(super) fn bonus(&self, sleep_avg: u64) -> u32 {
        (sleep_avg / self.bonus_step_ns) as u32
    }

    /// Returns the priority that `p` should have: its static one, from 5 better to 5 worse.
    /// Real-time tasks keep theirs.
    #[inline]
    pub(super) fn effective_prio(&self, p: &Task) -> u8 {
        if p.is_rt() {
            return p.prio;
        }
        let prio =
            i32::from(p.static_prio) - (self.bonus(p.sleep_avg) as i32 - MAX_BONUS as i32 / 2);
        prio.clamp(100, 139) as u8
    }

    /// Whether `p` returns to the active array when its slice ends (`TASK_INTERACTIVE`). This
    /// depends on the stored priority, not on the one that the estimate would now give.
    #[inline]
    pub(super) fn is_interactive(&self, p: &Task) -> bool {
        p.prio <= self.level(p).interactive_prio
    }

    /// Returns `TIMESLICE_GRANULARITY`, jiffies: the time for which interactive tasks of equal
    /// priority run at a stretch. The more interactive the task, the shorter; the more CPUs, the
    /// longer.
    #[inline]
    pub(super) fn timeslice_granularity(&self, p: &Task, cpus: u32) -> u32 {
        let steps = MAX_BONUS.saturating_sub(self.bonus(p.sleep_avg)).max(1) - 1;
        (self.granularity << steps) * cpus
    }

    /// 2.6.0: whether the credit of `p` marks it as interactive, whatever its estimate.
    #[inline]
    pub(super) fn high_credit(&self, p: &Task) -> bool {
        p.interactive_credit > CREDIT_LIMIT
    }

    /// 2.6.0: whether the credit of `p` marks it as CPU-bound.
    #[inline]
    pub(super) fn low_credit(&self, p: &Task) -> bool {
        p.interactive_credit < -CREDIT_LIMIT
    }

    /// 2.6.22: returns the weight of `p` in balancing. Real-time tasks outweigh all others.
    pub(super) fn load_weight(&self, p: &Task) -> u32 {
        match p.policy {
            Policy::Fifo | Policy::RoundRobin => self.rt_load_weight(u32::from(p.rt_priority)),
            _ => self.level(p).load_weight,
        }
    }

    /// 2.6.22: returns the weight of a real-time priority.
    pub(super) fn rt_load_weight(&self, rt_priority: u32) -> u32 {
        self.levels[0].load_weight + rt_priority * SCHED_LOAD_SCALE as u32 / self.avg_timeslice
    }

    /// Returns the value as stored in the kernel's `unsigned long`.
    #[inline]
    pub(super) fn long(&self, value: u64) -> u64 {
        value & self.long_max
    }
}

/// `DELTA`: returns the number of steps above the centre that the bonus must be for tasks of a nice
/// value to be interactive. It rises with nice. Nice 16 to 19 would need 11 of 10.
fn delta(version: &Version, nice: i32) -> i32 {
    let bonus = MAX_BONUS as i32;
    let scaled = if version.delta_rounds_toward_zero {
        nice * bonus / 40
    } else {
        (nice + 20) * bonus / 40 - bonus / 2
    };
    scaled + INTERACTIVE_DELTA
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(params: &Params, nice: i32) -> NiceLevel {
        params.levels[(nice + 20) as usize]
    }

    #[test]
    fn slices_of_nice_values() {
        let params = Params::new(Version::V2_6_0, 1000);
        let slices = [-20, -10, -5, 0, 5, 10, 15, 19].map(|nice| level(&params, nice).timeslice);
        assert_eq!(slices, [200, 151, 126, 102, 78, 53, 29, 10]);
        let params = Params::new(Version::V2_6_22, 1000);
        let slices =
            [-20, -10, -1, 0, 1, 5, 10, 15, 18, 19].map(|nice| level(&params, nice).timeslice);
        assert_eq!(slices, [800, 600, 420, 100, 95, 75, 50, 25, 10, 5]);
    }

    #[test]
    fn the_threshold_of_interactivity_rounds_toward_zero_in_2_6_0_and_down_in_2_6_22() {
        let needs = |version| {
            move |nice| {
                let params = Params::new(version, 1000);
                120 + nice - i32::from(level(&params, nice).interactive_prio)
            }
        };
        assert_eq!(
            [-20, -19, -16, -15, -12, -11, -8, -7, -4, -3, 3, 4, 7, 8, 11, 12, 15, 16, 19]
                .map(needs(Version::V2_6_0)),
            [-3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
        );
        assert_eq!(
            [-20, -17, -16, -13, -12, -9, -8, -5, -4, -1, 0, 3, 4, 7, 8, 11, 12, 15, 16, 19]
                .map(needs(Version::V2_6_22)),
            [-3, -3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
        );
    }

    #[test]
    fn sleeps_that_make_interactive() {
        let params = Params::new(Version::V2_6_0, 1000);
        let ms = [0, -20, 19].map(|nice| level(&params, nice).just_interactive_ns / 1_000_000);
        assert_eq!(ms, [815, 305, 1223]);
        let params = Params::new(Version::V2_6_22, 1000);
        assert_eq!(level(&params, 0).just_interactive_ns, 799_000_000);
    }

    #[test]
    fn bonus_is_exact_at_its_steps() {
        for (version, hz) in [
            (Version::V2_6_0, 1000),
            (Version::V2_6_22, 1000),
            (Version::V2_6_0, 1024),
            (Version::V2_6_22, 100),
            (Version::V2_6_22, 250),
        ] {
            let params = Params::new(version, hz);
            let max = u64::from(params.avg_timeslice * MAX_BONUS);
            for step in 0..=10 {
                for off in [-1i64, 0, 1] {
                    let Some(sleep_avg) = (step * params.bonus_step_ns).checked_add_signed(off)
                    else {
                        continue;
                    };
                    let by_two_divisions = sleep_avg / params.jiffy_ns * 10 / max;
                    assert_eq!(u64::from(params.bonus(sleep_avg)), by_two_divisions);
                }
            }
        }
    }

    #[test]
    fn granularity_halves_with_each_step_of_bonus() {
        let params = Params::new(Version::V2_6_0, 1000);
        let at = |bonus: u64, cpus| {
            let task = Task { sleep_avg: bonus * 102_000_000, ..Task::default() };
            params.timeslice_granularity(&task, cpus)
        };
        assert_eq!(
            [10, 9, 8, 7, 6, 5, 0].map(|bonus| at(bonus, 1)),
            [10, 10, 20, 40, 80, 160, 5120]
        );
        assert_eq!(at(8, 4), 80);
        assert_eq!(at(0, 4096), 5120 * 4096);
    }

    #[test]
    fn weights() {
        let params = Params::new(Version::V2_6_22, 1000);
        let weights = [0, 19, -20, 10, 5, -10].map(|nice| level(&params, nice).load_weight);
        assert_eq!(weights, [128, 6, 1024, 64, 96, 768]);
        assert_eq!(params.rt_load_weight(50), 1024 + 64);
        assert_eq!(params.rt_load_weight(100), 1152);
    }

    #[test]
    fn numbers_at_other_tick_rates() {
        let params = Params::new(Version::V2_6_0, 100);
        assert_eq!((params.avg_timeslice, params.max_timeslice), (10, 20));
        assert_eq!(params.ns_max_sleep_avg, 1_000_000_000);
        let params = Params::new(Version::V2_6_22, 250);
        assert_eq!(params.avg_timeslice, 25);
        assert_eq!(level(&params, 19).timeslice, 1);
        assert_eq!(level(&params, 0).load_weight, 128);
    }
}
