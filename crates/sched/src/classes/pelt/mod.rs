//! Per-entity load tracking (PELT, since 3.8; this arithmetic since 4.15, checked against 6.18.15):
//! how much an entity ran, waited and weighed *recently*.
//!
//! # The idea
//!
//! Time is divided into periods of 1024 us (a us here is 1024 ns, so that shifts replace
//! divisions). Activity in a period that is n periods old counts with y^n, where y^32 = 1/2: half
//! of it is forgotten after 32 ms, and almost all after a third of a second. The sum over all
//! periods of "us of activity" times y^n is a number between 0 and [`LOAD_AVG_MAX`] = 47742. A
//! single multiplication brings it up to date, however long ago the last update was:
//!
//! ```text
//!          oldest          whole periods           newest
//!   ... |----#####|##########|##########|##########|###------|
//!            d1               d2                    d3        now
//!
//!   sum = decay(old sum + d1, p)
//!         + (a full sum, less its p newest periods' worth of older ones)
//!         + d3
//! ```
//!
//! Three such sums are kept, which differ in what they count:
//!
//! | signal | of a task | of a queue |
//! |---|---|---|
//! | load | 1 while queued or running | the queued weight |
//! | runnable | 1 while queued or running (0 while delayed) | number of runnable tasks |
//! | util | 1 while running | 1 while any of its tasks runs |
//!
//! The averages are the sums divided by the values they would have if the condition had held
//! forever. They are recalculated only when a period has ended.
//!
//! All results are truncated as the kernel's integers are, and they match the vectors in `vectors/`
//! (made with the kernel's own arithmetic) to the last bit.

/// The limit of the sum of 1024 * y^n in this arithmetic.
pub const LOAD_AVG_MAX: u64 = 47742;

/// The divisor of a full sum at the start of a period: the newest period is still empty.
pub const PELT_MIN_DIVIDER: u64 = LOAD_AVG_MAX - 1024;

/// 2^32 * y^n for n = 0..31, as in the kernel's table.
const INVERSE: [u32; 32] = [
    0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
    0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
    0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
    0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
];

/// y^n for some number n of periods.
#[derive(Clone, Copy, Debug)]
struct Decay {
    /// Whole half-lives.
    shift: u32,
    /// 2^32 times the remaining factor.
    factor: u32,
}

impl Decay {
    /// Returns the decay over `periods` periods.
    #[inline]
    fn of(periods: u64) -> Decay {
        if periods > 63 * 32 {
            return Decay { shift: 0, factor: 0 };
        }
        Decay { shift: periods as u32 / 32, factor: INVERSE[(periods % 32) as usize] }
    }

    /// Decays `value`.
    #[inline]
    fn apply(self, value: u64) -> u64 {
        ((u128::from(value >> self.shift) * u128::from(self.factor)) >> 32) as u64
    }
}

/// Decays `value` over `periods` periods.
#[inline]
pub fn decay(value: u64, periods: u64) -> u64 {
    Decay::of(periods).apply(value)
}

/// The sums and averages of an entity or a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Average {
    /// Time up to which the sums are counted, ns.
    pub last_update_time: u64,
    /// us * y^n of load: for a queue times its weight.
    pub load_sum: u64,
    /// us * y^n * 1024 of being runnable.
    pub runnable_sum: u64,
    /// us * y^n * 1024 of running.
    pub util_sum: u32,
    /// Elapsed part of the newest period, us, 0..1023.
    pub period_contrib: u32,
    /// Average load, in weights.
    pub load_avg: u64,
    /// Average number of runnable tasks, times 1024.
    pub runnable_avg: u64,
    /// Average utilisation, 1024 = a whole CPU.
    pub util_avg: u64,
}

impl Average {
    /// Returns the value of a full sum now.
    #[inline]
    pub fn divider(&self) -> u64 {
        PELT_MIN_DIVIDER + u64::from(self.period_contrib)
    }

    /// Whether there is anything to count up to `now_ns`: at least 1 us, or a clock that went back.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns.wrapping_sub(self.last_update_time) >= 1024
    }

    /// Counts the time up to `now_ns`, during which the signals had the values `load`, `runnable`
    /// and `running`. Returns whether a period has ended, so that the averages must be
    /// recalculated.
    #[inline]
    pub fn accumulate(&mut self, now_ns: u64, load: u64, runnable: u64, running: bool) -> bool {
        self.accumulate_shifted::<10>(now_ns, load, runnable, running)
    }

    /// [`accumulate`](Average::accumulate), where the runnable sum has this many additional bits.
    #[inline]
    fn accumulate_shifted<const SHIFT: u32>(
        &mut self,
        now_ns: u64,
        load: u64,
        runnable: u64,
        running: bool,
    ) -> bool {
        // A remainder of less than 1 us is left for the next call.
        if !self.is_due(now_ns) {
            return false;
        }
        let delta = now_ns.wrapping_sub(self.last_update_time);
        if (delta as i64) < 0 {
            self.last_update_time = now_ns;
            return false;
        }
        let delta = delta >> 10;
        self.last_update_time += delta << 10;
        let total = delta + u64::from(self.period_contrib);
        let periods = total / 1024;
        let mut contrib = delta;
        if periods > 0 {
            let decay = Decay::of(periods);
            self.load_sum = decay.apply(self.load_sum);
            self.runnable_sum = decay.apply(self.runnable_sum);
            self.util_sum = decay.apply(u64::from(self.util_sum)) as u32;
            // d1 decayed, the whole periods in between, and d3.
            contrib = decay.apply(u64::from(1024 - self.period_contrib))
                + (LOAD_AVG_MAX - decay.apply(LOAD_AVG_MAX) - 1024)
                + total % 1024;
        }
        self.period_contrib = (total % 1024) as u32;
        // An entity without load neither waits nor runs.
        if load > 0 {
            self.load_sum += load * contrib;
            self.runnable_sum += (runnable * contrib) << SHIFT;
            if running {
                self.util_sum = self.util_sum.wrapping_add((contrib << 10) as u32);
            }
        }
        periods > 0
    }

    /// Recalculates the averages from the sums. `weight` is the entity's unscaled weight, or 1 for
    /// a queue, whose load sum includes its weights.
    #[inline]
    pub fn renew(&mut self, weight: u64) {
        let divider = self.divider();
        self.load_avg = weight * self.load_sum / divider;
        self.runnable_avg = self.runnable_sum / divider;
        self.util_avg = u64::from(self.util_sum) / divider;
    }

    /// As [`update`](Average::update), where the signal "runnable" is **runnable load** (4.2 to
    /// 5.6), the weight of what is queued: its sum is one of us * y^n, like that of the load, and
    /// its average is in weights. `weights`: of the load and of the runnable load.
    pub fn update_runnable_load(
        &mut self,
        now_ns: u64,
        load: u64,
        runnable: u64,
        running: bool,
        weights: [u64; 2],
    ) -> bool {
        let ended = self.accumulate_shifted::<0>(now_ns, load, runnable, running);
        if ended {
            let divider = self.divider();
            self.load_avg = weights[0] * self.load_sum / divider;
            self.runnable_avg = weights[1] * self.runnable_sum / divider;
            self.util_avg = u64::from(self.util_sum) / divider;
        }
        ended
    }

    /// Calls [`accumulate`](Average::accumulate), then [`renew`](Average::renew) if a period has
    /// ended. Returns whether one has ended.
    pub fn update(
        &mut self,
        now_ns: u64,
        load: u64,
        runnable: u64,
        running: bool,
        weight: u64,
    ) -> bool {
        let ended = self.accumulate(now_ns, load, runnable, running);
        if ended {
            self.renew(weight);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn worked_examples_of_decay() {
        assert_eq!(decay(47742, 1), 46718);
        assert_eq!(decay(1024, 32), 511);
        assert_eq!(decay(1000, 0), 999);
        assert_eq!(decay(u64::MAX >> 20, 2017), 0);
    }

    #[test]
    fn a_new_task_after_one_period() {
        let mut average = Average::default();
        assert!(average.update(1_048_576, 1, 1, true, 1024));
        assert_eq!(average.load_sum, 1002);
        assert_eq!((average.load_avg, average.util_avg), (21, 21));
    }

    #[test]
    fn half_after_32_periods_and_all_in_the_end() {
        let mut average = Average::default();
        for k in 1..=400 {
            average.update(k * 1_048_576, 1, 1, true, 1024);
            if k == 32 {
                assert!((510..=514).contains(&average.util_avg), "{}", average.util_avg);
            }
        }
        assert!((1022..=1024).contains(&average.util_avg), "{}", average.util_avg);
    }

    #[test]
    fn time_that_goes_back_is_taken_note_of_and_else_ignored() {
        let mut average =
            Average { last_update_time: 5_000_000, load_sum: 7, ..Average::default() };
        assert!(!average.update(4_000_000, 1, 1, true, 1024));
        assert_eq!((average.last_update_time, average.load_sum), (4_000_000, 7));
    }

    /// Each line has now, load, runnable, running and weight, then the expected results: whether
    /// the averages were recalculated, last_update_time, period_contrib, the three sums, the three
    /// averages. The first line is the initial state, in the order of the last eight columns.
    fn check(vectors: &str) {
        let mut average = Average::default();
        let mut steps = 0;
        for (number, line) in vectors.lines().enumerate() {
            let row: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let state = |row: &[u64]| Average {
                last_update_time: row[0],
                period_contrib: row[1] as u32,
                load_sum: row[2],
                runnable_sum: row[3],
                util_sum: row[4] as u32,
                load_avg: row[5],
                runnable_avg: row[6],
                util_avg: row[7],
            };
            if number == 0 {
                average = state(&row);
                continue;
            }
            let renewed = average.update(row[0], row[1], row[2], row[3] != 0, row[4]);
            assert_eq!(
                (renewed, average),
                (row[5] != 0, state(&row[6..])),
                "line {}: {line}",
                number + 1
            );
            steps += 1;
        }
        assert!(steps > 70);
    }

    #[test]
    fn vectors_of_a_running_task() {
        check(include_str!("vectors/task-always-running.txt"));
    }

    #[test]
    fn vectors_of_a_blocked_task() {
        check(include_str!("vectors/task-decay.txt"));
    }

    #[test]
    fn vectors_of_random_states() {
        check(include_str!("vectors/entity-random.txt"));
    }

    #[test]
    fn vectors_of_a_queue() {
        check(include_str!("vectors/runqueue-random.txt"));
    }
}
