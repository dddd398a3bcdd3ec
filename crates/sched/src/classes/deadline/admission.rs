//! Admission control: deadline tasks are guaranteed their budgets, so only as many tasks are
//! admitted as can be served.

use super::cbs::to_ratio;

/// Bandwidth of the machine that has been allocated.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Bandwidth of all admitted tasks, in units of 2^-20 of a CPU.
    total_bw: u64,
    /// Bandwidth of each CPU that may be allocated. `None`: no limit.
    per_cpu: Option<u64>,
    cpus: u64,
    /// The runtime in every period from which that limit follows, us. Negative: no limit.
    runtime_us: i64,
    period_us: u64,
}

impl Admission {
    /// Creates the state in which no bandwidth is allocated. The limit is `runtime_us` of every
    /// `period_us` (`sched_rt_runtime_us`); negative: no limit.
    pub fn new(cpus: u32, runtime_us: i64, period_us: u64) -> Admission {
        Admission {
            total_bw: 0,
            per_cpu: per_cpu(runtime_us, period_us),
            cpus: u64::from(cpus),
            runtime_us,
            period_us,
        }
    }

    /// Returns the runtime and period from which the limit follows, us.
    pub fn limit_us(&self) -> (i64, u64) {
        (self.runtime_us, self.period_us)
    }

    /// Whether the allocated bandwidth would be within a different limit.
    pub fn would_fit(&self, runtime_us: i64, period_us: u64) -> bool {
        let per_cpu = per_cpu(runtime_us, period_us);
        per_cpu.is_none_or(|limit| limit * self.cpus >= self.total_bw)
    }

    /// Sets the limit.
    pub fn set_limit(&mut self, runtime_us: i64, period_us: u64) {
        self.per_cpu = per_cpu(runtime_us, period_us);
        self.runtime_us = runtime_us;
        self.period_us = period_us;
    }

    /// Takes a CPU offline, with `own` of bandwidth that belongs to it, if that is possible.
    /// Returns `false` if less would remain than has been allocated.
    pub fn cpu_offline(&mut self, own: u64) -> bool {
        self.cpus -= 1;
        let enough = self.fits(own, 0);
        if enough {
            self.replace(own, 0);
        } else {
            self.cpus += 1;
        }
        enough
    }

    /// Brings a CPU back online, with `own` of bandwidth.
    pub fn cpu_online(&mut self, own: u64) {
        self.cpus += 1;
        self.replace(0, own);
    }

    /// Returns the number of CPUs online.
    pub fn cpus(&self) -> u64 {
        self.cpus
    }

    /// Whether `new` fits in place of `old` (`0`: nothing).
    pub fn fits(&self, old: u64, new: u64) -> bool {
        self.per_cpu.is_none_or(|limit| limit * self.cpus >= self.total_bw - old + new)
    }

    /// Replaces `old` by `new`.
    pub fn replace(&mut self, old: u64, new: u64) {
        self.total_bw = self.total_bw - old + new;
    }

    /// Returns the allocated bandwidth.
    pub fn total_bw(&self) -> u64 {
        self.total_bw
    }
}

fn per_cpu(runtime_us: i64, period_us: u64) -> Option<u64> {
    u64::try_from(runtime_us).ok().map(|runtime_us| to_ratio(period_us, runtime_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_examples() {
        const MS: u64 = 1_000_000;
        let mut one = Admission::new(1, 950_000, 1_000_000);
        assert_eq!(one.per_cpu, Some(996_147));
        let [half, fits, refused] =
            [5 * MS, 4_500_000, 4_600_000].map(|runtime| to_ratio(10 * MS, runtime));
        assert_eq!((half, fits, refused), (524_288, 471_859, 482_344));
        one.replace(0, half);
        assert!(one.fits(0, fits) && !one.fits(0, refused));
        // A task that changes its parameters gives up the old ones.
        assert!(one.fits(half, 996_147) && !one.fits(half, 996_148));
        // A fair server of 50 ms a second takes its share.
        one.replace(0, to_ratio(1000 * MS, 50 * MS));
        assert!(!one.fits(0, fits));
    }

    #[test]
    fn minus_one_is_no_limit() {
        assert!(Admission::new(1, -1, 1_000_000).fits(0, 5 << 20));
    }
}
