//! Admission: deadline tasks are promised their budgets, so no more are taken than can be served.

use super::cbs::to_ratio;

/// What of the machine is given out.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Bandwidth of all admitted tasks, in parts of 2^20 of a CPU.
    total_bw: u64,
    /// How much of each CPU may be given out; none = no limit.
    per_cpu: Option<u64>,
    cpus: u64,
    /// What that follows from: so much of every period, us; negative = no limit.
    runtime_us: i64,
    period_us: u64,
}

impl Admission {
    /// Nothing is given out. `runtime_us` of every `period_us` may be (`sched_rt_runtime_us`);
    /// negative: no limit.
    pub fn new(cpus: u32, runtime_us: i64, period_us: u64) -> Admission {
        Admission {
            total_bw: 0,
            per_cpu: per_cpu(runtime_us, period_us),
            cpus: u64::from(cpus),
            runtime_us,
            period_us,
        }
    }

    /// Runtime and period that the limit follows from, us.
    pub fn limit_us(&self) -> (i64, u64) {
        (self.runtime_us, self.period_us)
    }

    /// Whether what is given out would be within another limit.
    pub fn would_fit(&self, runtime_us: i64, period_us: u64) -> bool {
        let per_cpu = per_cpu(runtime_us, period_us);
        per_cpu.is_none_or(|limit| limit * self.cpus >= self.total_bw)
    }

    /// Another limit.
    pub fn set_limit(&mut self, runtime_us: i64, period_us: u64) {
        self.per_cpu = per_cpu(runtime_us, period_us);
        self.runtime_us = runtime_us;
        self.period_us = period_us;
    }

    /// A CPU is to go off line, and `own` of bandwidth that is its own: whether it may. It may not
    /// if less would be left than is given out.
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

    /// A CPU has come back, with `own` of bandwidth.
    pub fn cpu_online(&mut self, own: u64) {
        self.cpus += 1;
        self.replace(0, own);
    }

    /// How many CPUs are on line.
    pub fn cpus(&self) -> u64 {
        self.cpus
    }

    /// Whether `new` fits in place of `old` (0: nothing).
    pub fn fits(&self, old: u64, new: u64) -> bool {
        self.per_cpu.is_none_or(|limit| limit * self.cpus >= self.total_bw - old + new)
    }

    /// `new` takes the place of `old`.
    pub fn replace(&mut self, old: u64, new: u64) {
        self.total_bw = self.total_bw - old + new;
    }

    /// What is given out.
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
        // Changing its own parameters a task gives up the old ones.
        assert!(one.fits(half, 996_147) && !one.fits(half, 996_148));
        // A fair server of 50 ms a second takes its part.
        one.replace(0, to_ratio(1000 * MS, 50 * MS));
        assert!(!one.fits(0, fits));
    }

    #[test]
    fn minus_one_is_no_limit() {
        assert!(Admission::new(1, -1, 1_000_000).fits(0, 5 << 20));
    }
}
