//! Throttling: the real-time tasks of a CPU get `sched_rt_runtime_us` of each `sched_rt_period_us`.
//!
//! Time is charged after it is used, and compared with the limit when it is charged: at ticks,
//! dequeues and puts. A CPU hog therefore overruns its runtime by up to a tick, and repays the
//! excess in the next period.

use super::{PERIOD_TIMER, RealTime};
use crate::classes::Rqs;
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform, TimerPhase, Tunable, TunableError};

/// The tunables of the class.
pub const TUNABLES: [&str; 2] = ["sched_rt_period_us", "sched_rt_runtime_us"];

/// `def_rt_bandwidth`: the runtime and its period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bandwidth {
    period_us: u64,
    /// `-1`: no limit.
    runtime_us: i64,
    timer_active: bool,
    /// Time of the timer's next expiry, real or hypothetical.
    expires_ns: u64,
}

impl Default for Bandwidth {
    fn default() -> Bandwidth {
        Bandwidth { period_us: 1_000_000, runtime_us: 950_000, timer_active: false, expires_ns: 0 }
    }
}

impl Bandwidth {
    pub(super) fn runtime_ns(&self) -> u64 {
        if self.runtime_us < 0 { u64::MAX } else { self.runtime_us as u64 * 1000 }
    }

    fn period_ns(&self) -> u64 {
        self.period_us * 1000
    }
}

impl RealTime {
    fn is_limited(&self) -> bool {
        self.version.throttling && self.bandwidth.runtime_us >= 0
    }

    /// `start_rt_bandwidth`: starts the timer, which expires at the next multiple of the period,
    /// counted from time 0. (5.x, 6.x: at once, and then every period. A timer that has stopped
    /// before its next expiry continues.)
    #[inline]
    pub(super) fn start_period_timer(&mut self, platform: &mut Platform) {
        if !self.is_limited() || self.bandwidth.timer_active {
            return;
        }
        self.bandwidth.timer_active = true;
        let (now_ns, period) = (platform.now_ns(), self.bandwidth.period_ns());
        let expires_ns = &mut self.bandwidth.expires_ns;
        if !self.version.periods_from_start {
            *expires_ns = (now_ns / period + 1) * period;
        } else if *expires_ns <= now_ns {
            *expires_ns = now_ns + 1;
        }
        platform.arm_timer(PERIOD_TIMER, TimerPhase::BeforeTicks, *expires_ns);
    }

    /// Implements the second half of `update_curr_rt`: charges `delta_ns` to the CPU's allowance.
    #[inline]
    pub(super) fn account_bandwidth(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        delta_ns: u64,
    ) {
        if !self.is_limited() {
            return;
        }
        self.rqs[cpu.index()].rt_time += delta_ns;
        if self.runtime_exceeded(rqs, cpu) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// Implements Implements `sched_rt_runtime_exceeded`.
    fn runtime_exceeded(&mut self, rqs: &mut Rqs, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        if rq.offline {
            return false;
        }
        if rq.throttled {
            return true;
        }
        if rq.rt_runtime >= self.bandwidth.period_ns() {
            return false;
        }
        self.borrow_runtime(cpu);
        let rq = &mut self.rqs[cpu.index()];
        rq.throttled = rq.rt_time > rq.rt_runtime;
        if rq.throttled && self.version.throttled_uncounted {
            rqs.sub_nr_running(cpu, rq.rt_nr_running);
        }
        rq.throttled
    }

    /// Whether the real-time tasks of `cpu` count as running. For balancing, a throttled CPU has
    /// ordinary tasks only.
    pub fn counts(&self, cpu: CpuId) -> bool {
        !(self.version.throttled_uncounted && self.rqs[cpu.index()].throttled)
    }

    /// `balance_runtime`: before a CPU is throttled it takes from each other CPU a part of that
    /// CPU's unused runtime. Borrowed runtime is not returned automatically.
    fn borrow_runtime(&mut self, cpu: CpuId) {
        let own = &self.rqs[cpu.index()];
        if !self.version.runtime_share || own.rt_time <= own.rt_runtime {
            return;
        }
        let cpus = self.rqs.iter().filter(|rq| !rq.offline).count() as u64;
        let period = self.bandwidth.period_ns();
        let mut runtime = own.rt_runtime;
        for (number, other) in self.rqs.iter_mut().enumerate() {
            if number == cpu.index() || other.offline || other.rt_runtime <= other.rt_time {
                continue;
            }
            let part = ((other.rt_runtime - other.rt_time) / cpus).min(period - runtime);
            other.rt_runtime -= part;
            runtime += part;
            if runtime == period {
                break;
            }
        }
        self.rqs[cpu.index()].rt_runtime = runtime;
    }

    /// `__disable_runtime`: `cpu` goes offline. It reclaims the runtime that it has lent: from the
    /// lowest CPU up, at most what each has. The runtime that it has borrowed goes to the lowest
    /// CPU. From now on it is not limited, so that its tasks can leave.
    pub fn cpu_offline(&mut self, rqs: &mut Rqs, cpu: CpuId) {
        let fair_part = self.bandwidth.runtime_ns();
        let mut own = self.rqs[cpu.index()].rt_runtime;
        for (number, other) in self.rqs.iter_mut().enumerate() {
            if number == cpu.index() || other.offline {
                continue;
            }
            if own == fair_part {
                break;
            }
            if own < fair_part {
                let back = other.rt_runtime.min(fair_part - own);
                other.rt_runtime -= back;
                own += back;
            } else {
                other.rt_runtime += own - fair_part;
                own = fair_part;
            }
        }
        let rq = &mut self.rqs[cpu.index()];
        rq.offline = true;
        if core::mem::take(&mut rq.throttled) && self.version.throttled_uncounted {
            rqs.add_nr_running(cpu, rq.rt_nr_running);
        }
        rq.rt_runtime = fair_part;
    }

    /// `__enable_runtime`: gives `cpu`, which is back online, a fresh allowance.
    pub fn cpu_online(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu.index()];
        rq.offline = false;
        rq.throttled = false;
        rq.rt_time = 0;
        rq.rt_runtime = self.bandwidth.runtime_ns();
    }

    /// `do_sched_rt_period_timer`: handles the end of a period. The running task is not charged
    /// first: `rt_time` as of the last charge counts.
    pub fn period_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform) {
        let mut idle = true;
        for number in 0..self.rqs.len() {
            let cpu = CpuId(number as u32);
            if self.rqs[number].offline {
                continue;
            }
            if self.rqs[number].rt_time > 0 {
                if self.rqs[number].throttled {
                    self.borrow_runtime(cpu);
                }
                let rq = &mut self.rqs[number];
                rq.rt_time -= rq.rt_time.min(rq.rt_runtime);
                let released = rq.throttled && rq.rt_time < rq.rt_runtime;
                idle &= rq.rt_time == 0 && rq.rt_nr_running == 0;
                if released {
                    rq.throttled = false;
                    if self.version.throttled_uncounted {
                        rqs.add_nr_running(cpu, rq.rt_nr_running);
                    }
                    if rq.rt_nr_running > 0 {
                        rqs.resched_curr(platform, cpu);
                    }
                }
            } else if self.rqs[number].rt_nr_running > 0 {
                idle = false;
            }
        }
        self.bandwidth.timer_active = false;
        self.bandwidth.expires_ns += self.bandwidth.period_ns();
        if !idle {
            self.start_period_timer(platform);
        }
    }

    /// Returns the tunables with their values.
    pub fn tunables(&self) -> Vec<Tunable> {
        if !self.version.throttling {
            return Vec::new();
        }
        alloc::vec![
            Tunable {
                name: TUNABLES[0].into(),
                value: self.bandwidth.period_us as i64,
                range: (1, i64::from(i32::MAX)),
                help: "period of the limit on real-time CPU time, us",
            },
            Tunable {
                name: TUNABLES[1].into(),
                value: self.bandwidth.runtime_us,
                range: (-1, i64::from(i32::MAX)),
                help: "real-time CPU time in each period, us; -1 = no limit",
            },
        ]
    }

    /// Writes a tunable. Its range has been checked.
    ///
    /// # Errors
    /// A runtime of 0 is refused: the migration threads are real-time tasks too.
    pub fn set_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        if name == TUNABLES[0] {
            self.bandwidth.period_us = value as u64;
        } else if value == 0 {
            return Err(TunableError::Refused(
                "the migration threads are real-time tasks and need some time".into(),
            ));
        } else {
            self.bandwidth.runtime_us = value;
        }
        for rq in &mut self.rqs {
            rq.rt_runtime = self.bandwidth.runtime_ns();
        }
        if core::mem::take(&mut self.bandwidth.timer_active) {
            platform.cancel_timer(PERIOD_TIMER);
            self.bandwidth.expires_ns = 0;
            self.start_period_timer(platform);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::rt::RtVersion;
    use schedlab_core::Topology;

    const MS: u64 = 1_000_000;

    fn runtimes(rt: &RealTime) -> Vec<u64> {
        rt.rqs.iter().map(|rq| rq.rt_runtime / MS).collect()
    }

    /// Returns three CPUs of 950 ms each, where CPU 0 has borrowed.
    fn borrowed() -> RealTime {
        let mut rt = RealTime::new(RtVersion::V2_6_25, 3, 1000);
        rt.rqs[0].rt_time = 951 * MS;
        rt.borrow_runtime(CpuId(0));
        assert_eq!(runtimes(&rt), [1000, 900, 950]);
        rt
    }

    #[test]
    fn a_cpu_that_goes_off_line_settles_what_was_lent() {
        let mut rqs = Rqs::new(crate::cfs::domains(&Topology::flat(3)));
        let mut rt = borrowed();
        rt.cpu_offline(&mut rqs, CpuId(1));
        assert_eq!(runtimes(&rt), [950, 950, 950], "the lender takes it back");
        let mut rt = borrowed();
        rt.cpu_offline(&mut rqs, CpuId(0));
        assert_eq!(runtimes(&rt), [950, 950, 950], "the borrower gives it back");
    }

    /// Two real-time tasks and an ordinary one: while the CPU is throttled, balancing sees one
    /// running task, and all three again afterwards. In old kernels always all three.
    #[test]
    fn tasks_of_a_throttled_cpu_are_not_counted() {
        for uncounted in [false, true] {
            let rules = RtVersion {
                throttled_uncounted: uncounted,
                runtime_share: false,
                ..RtVersion::V2_6_25
            };
            let mut rt = RealTime::new(rules, 2, 1000);
            let mut rqs = Rqs::new(crate::cfs::domains(&Topology::flat(2)));
            let mut platform = Platform::new(2, 1000);
            rqs.add_nr_running(CpuId(0), 3);
            rt.rqs[0].rt_nr_running = 2;
            rt.rqs[0].rt_time = 951 * MS;
            assert!(rt.runtime_exceeded(&mut rqs, CpuId(0)));
            assert_eq!(rqs.nr_running[0], if uncounted { 1 } else { 3 });
            assert_eq!(rt.counts(CpuId(0)), !uncounted);
            assert!(
                rt.runtime_exceeded(&mut rqs, CpuId(0)),
                "it stays exceeded, and is counted once"
            );
            rt.period_timer(&mut rqs, &mut platform);
            assert_eq!((rqs.nr_running[0], rt.counts(CpuId(0))), (3, true));
            rt.rqs[0].rt_time = 951 * MS;
            assert!(rt.runtime_exceeded(&mut rqs, CpuId(0)));
            rt.cpu_offline(&mut rqs, CpuId(0));
            assert_eq!(rqs.nr_running[0], 3, "an offline CPU is not limited");
        }
    }

    #[test]
    fn a_cpu_that_is_off_line_neither_lends_nor_is_limited() {
        let mut rt = RealTime::new(RtVersion::V2_6_25, 3, 1000);
        let mut rqs = Rqs::new(crate::cfs::domains(&Topology::flat(3)));
        rt.cpu_offline(&mut rqs, CpuId(1));
        rt.rqs[1].rt_time = 2000 * MS;
        assert!(!rt.runtime_exceeded(&mut rqs, CpuId(1)));
        rt.rqs[0].rt_time = 951 * MS;
        rt.borrow_runtime(CpuId(0));
        assert_eq!(runtimes(&rt), [1000, 950, 900]);
        rt.cpu_online(CpuId(1));
        assert_eq!((rt.rqs[1].rt_time, runtimes(&rt)[1]), (0, 950));
    }
}
