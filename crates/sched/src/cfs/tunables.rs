//! The tunables, under the kernel's names: defaults, scaling by the number of CPUs, and the values
//! that the kernel refuses.

use super::features::Feature;
use super::releases::{PeriodRule, Version};
use alloc::vec::Vec;
use schedlab_core::Tunable;

/// The parameters that an administrator can set.
#[derive(Clone, Copy, Debug)]
pub struct Tunables {
    /// `sched_latency_ns`: the period in which every entity runs once.
    pub latency_ns: u64,
    /// `sched_min_granularity_ns`: minimum length of a slice.
    pub min_granularity_ns: u64,
    /// Number of slices that fit into a latency. Recalculated whenever one of the two is written,
    /// not at boot.
    pub nr_latency: u64,
    /// `sched_wakeup_granularity_ns`: distance by which a woken task must be behind to preempt.
    pub wakeup_granularity_ns: u64,
    /// `sched_child_runs_first`.
    pub child_runs_first: bool,
    /// `sched_compat_yield`: a yielding task goes behind all others.
    pub compat_yield: bool,
    /// `sched_migration_cost`, ns: a task that ran more recently is cache-hot. -1: every task is.
    pub migration_cost_ns: i64,
    /// `sched_nr_migrate`: approximate number of tasks examined in a balancing pass.
    pub nr_migrate: u32,
    /// `sched_shares_ratelimit`, ns: minimum interval between divisions of group shares.
    pub shares_ratelimit_ns: u64,
    /// `sched_shares_thresh`: smaller changes of a group's weight are not made.
    pub shares_thresh: u64,
    /// `sched_time_avg`, ms: period over which real-time load is averaged.
    pub time_avg_ms: u64,
    /// Feature bits, by [`Feature`].
    features: u32,
}

/// `sched_init_granularity`: returns the factor by which times grow with the number of CPUs.
pub fn boot_factor(cpus: u32) -> u64 {
    1 + u64::from(cpus.ilog2())
}

/// Cap on scaled times at boot: 200 ms.
const BOOT_CAP_NS: u64 = 200_000_000;

impl Tunables {
    /// Returns the values of the release after boot on `cpus` CPUs.
    pub fn at_boot(version: &Version, cpus: u32) -> Tunables {
        let factor = boot_factor(cpus.min(version.factor_cpus_max));
        let mut features = 0;
        for &(feature, on) in version.features {
            features |= u32::from(on) << feature as u32;
        }
        Tunables {
            latency_ns: (version.latency_ns * factor).min(BOOT_CAP_NS),
            min_granularity_ns: (version.min_granularity_ns * factor).min(BOOT_CAP_NS),
            nr_latency: version.nr_latency,
            wakeup_granularity_ns: version.wakeup_granularity_ns * factor,
            child_runs_first: version.child_runs_first,
            compat_yield: false,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            shares_ratelimit_ns: 250_000 * factor,
            shares_thresh: 4,
            time_avg_ms: 1000,
            features,
        }
    }

    /// Adapts the release's times to the number of CPUs, from `before` to `after`. A value that was
    /// written stays.
    pub fn rescale(&mut self, version: &Version, before: u32, after: u32) {
        let (before, after) =
            (Tunables::at_boot(version, before), Tunables::at_boot(version, after));
        for (tunable, before, after) in [
            (&mut self.latency_ns, before.latency_ns, after.latency_ns),
            (&mut self.min_granularity_ns, before.min_granularity_ns, after.min_granularity_ns),
            (
                &mut self.wakeup_granularity_ns,
                before.wakeup_granularity_ns,
                after.wakeup_granularity_ns,
            ),
            (&mut self.shares_ratelimit_ns, before.shares_ratelimit_ns, after.shares_ratelimit_ns),
        ] {
            if *tunable == before {
                *tunable = after;
            }
        }
    }

    /// `__sched_period`: returns the period in which each of `nr_running` entities runs once, ns.
    #[inline]
    pub(super) fn sched_period(&self, nr_running: u64, rule: PeriodRule) -> u64 {
        if nr_running <= self.nr_latency {
            return self.latency_ns;
        }
        match rule {
            PeriodRule::MinGranularityEach => self.min_granularity_ns * nr_running,
            PeriodRule::StretchLatency => self.latency_ns * nr_running / self.nr_latency,
        }
    }

    /// Whether a feature is on.
    #[inline]
    pub fn has(&self, feature: Feature) -> bool {
        self.features & feature.bit() != 0
    }

    /// Whether any of a set of features is on.
    #[inline]
    pub const fn has_any(&self, features: u32) -> bool {
        self.features & features != 0
    }
}

/// Returns `sched_nr_latency`, which follows when the administrator writes the latency or the
/// minimum granularity.
pub fn nr_latency(latency_ns: u64, min_granularity_ns: u64) -> u64 {
    latency_ns.div_ceil(min_granularity_ns)
}

const SECOND_NS: i64 = 1_000_000_000;
const ANY: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

impl Tunables {
    /// Returns the tunables of a release with their values. `others` come before the feature bits.
    pub fn list(&self, version: &Version, others: impl Iterator<Item = Tunable>) -> Vec<Tunable> {
        let mut all = Vec::new();
        let mut add = |name: &'static str, value: i64, range, help| {
            all.push(Tunable { name: name.into(), value, range, help });
        };
        add(
            "sched_latency_ns",
            self.latency_ns as i64,
            (100_000, SECOND_NS),
            "period in which each runnable task runs once",
        );
        add(
            "sched_min_granularity_ns",
            self.min_granularity_ns as i64,
            (100_000, SECOND_NS),
            "minimum length of a slice",
        );
        add(
            "sched_wakeup_granularity_ns",
            self.wakeup_granularity_ns as i64,
            (0, SECOND_NS),
            "distance by which a woken task must be behind to preempt, virtual ns",
        );
        add(
            "sched_child_runs_first",
            i64::from(self.child_runs_first),
            ANY,
            "a forked child runs before its parent",
        );
        add(
            "sched_compat_yield",
            i64::from(self.compat_yield),
            ANY,
            "a yielding task goes behind all others",
        );
        add(
            "sched_migration_cost",
            self.migration_cost_ns,
            ANY,
            "a task that ran more recently is cache hot, ns; -1 = every task is",
        );
        if version.groups {
            add(
                "sched_nr_migrate",
                i64::from(self.nr_migrate),
                (0, i64::from(i32::MAX)),
                "approximate number of tasks examined in a balancing pass",
            );
        }
        if version.many_cpus {
            add(
                "sched_shares_ratelimit",
                self.shares_ratelimit_ns as i64,
                (0, i64::from(u32::MAX)),
                "minimum interval between divisions of group shares over the CPUs, ns",
            );
            add(
                "sched_shares_thresh",
                self.shares_thresh as i64,
                (0, i64::from(i32::MAX)),
                "smaller changes of a group's weight on a CPU are skipped",
            );
            add(
                "sched_time_avg",
                self.time_avg_ms as i64,
                (1, i64::from(i32::MAX)),
                "time over which real-time load is averaged, ms",
            );
        }
        all.extend(others);
        let mut add = |name: &'static str, value: i64, range, help| {
            all.push(Tunable { name: name.into(), value, range, help });
        };
        for &(feature, _) in version.features {
            let (name, help) = feature.describe();
            add(name, i64::from(self.has(feature)), (0, 1), help);
        }
        all
    }

    /// Writes a tunable whose range has been checked. Returns `false` if it is not one of these.
    pub fn write(&mut self, version: &Version, name: &str, value: i64) -> bool {
        match name {
            "sched_latency_ns" => self.latency_ns = value as u64,
            "sched_min_granularity_ns" => self.min_granularity_ns = value as u64,
            "sched_wakeup_granularity_ns" => self.wakeup_granularity_ns = value as u64,
            "sched_child_runs_first" => self.child_runs_first = value != 0,
            "sched_compat_yield" => self.compat_yield = value != 0,
            "sched_migration_cost" => self.migration_cost_ns = value,
            "sched_nr_migrate" => self.nr_migrate = value as u32,
            "sched_shares_ratelimit" => self.shares_ratelimit_ns = value as u64,
            "sched_shares_thresh" => self.shares_thresh = value as u64,
            "sched_time_avg" => self.time_avg_ms = value as u64,
            _ => {
                let feature =
                    version.features.iter().find(|(feature, _)| feature.describe().0 == name);
                let Some(&(feature, _)) = feature else {
                    return false;
                };
                let bit = feature.bit();
                self.features = if value != 0 { self.features | bit } else { self.features & !bit };
            }
        }
        if matches!(name, "sched_latency_ns" | "sched_min_granularity_ns") {
            self.nr_latency = nr_latency(self.latency_ns, self.min_granularity_ns);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_the_logarithm_of_the_cpus() {
        let at = |version: &Version, cpus| {
            let tunables = Tunables::at_boot(version, cpus);
            [tunables.latency_ns, tunables.min_granularity_ns, tunables.wakeup_granularity_ns]
                .map(|ns| ns / 1_000_000)
        };
        assert_eq!(at(&Version::V2_6_32, 1), [5, 1, 1]);
        assert_eq!(at(&Version::V2_6_32, 3), [10, 2, 2]);
        assert_eq!(at(&Version::V2_6_32, 4), [15, 3, 3]);
        assert_eq!(at(&Version::V2_6_32, 16), [25, 5, 5]);
        assert_eq!(at(&Version::V2_6_24, 1), [20, 4, 10]);
        let tunables = Tunables::at_boot(&Version::V2_6_32, 4);
        assert_eq!((tunables.nr_latency, tunables.shares_ratelimit_ns), (5, 750_000));
        // The cap of 200 ms applies only to latency and granularity.
        assert_eq!(at(&Version::V2_6_31, 4096), [200, 52, 65]);
    }

    #[test]
    fn so_many_fit_into_a_latency() {
        assert_eq!(nr_latency(400_000_000, 100_000_000), 4);
        assert_eq!(nr_latency(20_000_000, 6_000_000), 4);
    }
}
