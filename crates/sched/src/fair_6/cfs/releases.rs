//! The releases, and a name for each difference between them.

use super::Cfs6;
use crate::classes::bandwidth::BandwidthVersion;
use crate::fair_6::rule_state::FairVersion;
use alloc::boxed::Box;
use schedlab_core::{Build, Capabilities, Policy, Release};

/// 6.1, the last long-term release with CFS.
pub const V6_1: Release = Release {
    version: "6.1",
    also: &["6.1.192"],
    summary: "the last CFS: per-entity load tracking, slices of at least min_granularity",
    golden: &[("cfs", "6.1.192")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: 4096,
    policies: Policy::MAINLINE,
    can: Capabilities {
        groups: true,
        quotas: true,
        idle_groups: true,
        nohz: true,
        ..Capabilities::BASIC
    },
    kernel: None,
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V6_1, config))),
};

/// 5.10, derived from 6.1.
pub const V5_10: Release = Release {
    version: "5.10",
    also: &["5.10.262"],
    summary: "derived from 6.1 by reading, not run: no idle groups, sysctls, SIS_PROP",
    golden: &[],
    can: Capabilities { idle_groups: false, ..V6_1.can },
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V5_10, config))),
    ..V6_1
};

/// 5.15, the base of Ubuntu 22.04 and (much changed) of RHEL 9.
pub const V5_15: Release = Release {
    version: "5.15",
    also: &["5.15.148"],
    summary: "idle groups, bursts; newly idle CPUs balance only if they idle for long",
    golden: &[("cfs", "5.15.148")],
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V5_15, config))),
    ..V6_1
};

/// A version of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 5.10 (read in longterm 5.10.262; not run).
    V5_10,
    /// 5.15 (longterm 5.15.148).
    V5_15,
    /// 6.1 (longterm 6.1.192).
    V6_1,
}

impl Version {
    /// Whether groups may be idle, and idle entities are tested for on every level, not only tasks.
    pub const fn has_idle_groups(self) -> bool {
        matches!(self, Version::V5_15 | Version::V6_1)
    }

    /// Whether idle entities have a minimum slice and a sleeper's credit of their own (since 5.16).
    pub const fn has_idle_granularity(self) -> bool {
        matches!(self, Version::V6_1)
    }

    /// Whether wakeups limit their search by the utilisation of the cache's CPUs (`SIS_UTIL`: 5.19,
    /// back-ported to 5.15.y), not by idle time (`SIS_PROP`).
    pub const fn scans_by_utilisation(self) -> bool {
        matches!(self, Version::V5_15 | Version::V6_1)
    }

    /// Whether the tunables are sysctls, each write of which recomputes the values that depend on
    /// it, and not plain files of debugfs.
    pub const fn tunes_by_sysctl(self) -> bool {
        !matches!(self, Version::V5_15 | Version::V6_1)
    }
}

impl FairVersion for Version {
    #[inline]
    fn custom_slices(self) -> bool {
        false
    }

    fn has_fair_server(self) -> bool {
        false
    }

    #[inline]
    fn balances_cores(self) -> bool {
        false
    }

    #[inline]
    fn forks_count_forbidden_cpus(self) -> bool {
        self <= Version::V5_15
    }

    #[inline]
    fn newidle_needs_idle_time(self) -> bool {
        self <= Version::V5_15
    }

    #[inline]
    fn sums_follow_averages(self) -> bool {
        self <= Version::V5_15
    }

    #[inline]
    fn attaches_outside_queueing(self) -> bool {
        self <= Version::V5_15
    }

    #[inline]
    fn decays_on_idle_cpus(self) -> bool {
        self > Version::V5_15
    }

    #[inline]
    fn idle_policy_keeps_load(self) -> bool {
        self <= Version::V5_15
    }

    #[inline]
    fn nodes_keep_a_quarter(self) -> bool {
        self == Version::V5_15
    }

    #[inline]
    fn never_moves_too_much_util(self) -> bool {
        self <= Version::V5_15
    }

    #[inline]
    fn scans_by_idle_time(self) -> bool {
        matches!(self, Version::V5_10)
    }

    #[inline]
    fn balances_before_5_12(self) -> bool {
        matches!(self, Version::V5_10)
    }

    fn quotas(self) -> BandwidthVersion {
        match self {
            Version::V5_10 => BandwidthVersion::V5_4,
            Version::V5_15 | Version::V6_1 => BandwidthVersion::V5_14,
        }
    }

    #[inline]
    fn waiting_is_utilisation(self) -> bool {
        false
    }

    #[inline]
    fn first_util_by_stored_weight(self) -> bool {
        true
    }

    #[inline]
    fn estimates_after_dequeue(self) -> bool {
        true
    }

    #[inline]
    fn renews_empty_groups(self) -> bool {
        true
    }
}

/// `/sys/kernel/debug/sched/features`: switches under the kernel's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// Sleepers get half of the latency as credit, not all of it.
    pub gentle_fair_sleepers: bool,
    /// A forked task starts a slice behind the others.
    pub start_debit: bool,
    /// A woken entity is picked next.
    pub next_buddy: bool,
    /// A preempted entity is picked after the next buddy.
    pub last_buddy: bool,
    /// Buddies count as cache hot.
    pub cache_hot_buddy: bool,
    /// Wakeups may preempt at all.
    pub wakeup_preemption: bool,
    /// The period depends on all tasks of the CPU, not only on the tasks of the queue.
    pub alt_period: bool,
    /// No slice is shorter than the minimum granularity.
    pub base_slice: bool,
    /// Newly idle CPUs balance less often the less it achieves (a back-port to 6.1).
    pub ni_random: bool,
    /// A task may wake on its waker's CPU because that is idle, or about to be.
    pub wa_idle: bool,
    /// A task may wake on its waker's CPU because less load is there.
    pub wa_weight: bool,
    /// A wakeup examines fewer CPUs the busier the cache's CPUs are.
    pub sis_util: bool,
    /// A wakeup examines the fewer CPUs the shorter the waker's CPU idles.
    pub sis_prop: bool,
}

/// A feature: its name and its switch.
pub struct Feature {
    /// The kernel's name.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Its switch.
    pub switch: fn(&mut Features) -> &mut bool,
}

/// All features.
pub static FEATURES: [Feature; 13] = [
    Feature {
        name: "GENTLE_FAIR_SLEEPERS",
        help: "sleepers get half of the latency as credit, not all of it",
        switch: |features| &mut features.gentle_fair_sleepers,
    },
    Feature {
        name: "START_DEBIT",
        help: "a forked task starts a slice behind the others",
        switch: |features| &mut features.start_debit,
    },
    Feature {
        name: "NEXT_BUDDY",
        help: "a woken task is picked next where there are many",
        switch: |features| &mut features.next_buddy,
    },
    Feature {
        name: "LAST_BUDDY",
        help: "a preempted task is picked soon where there are many",
        switch: |features| &mut features.last_buddy,
    },
    Feature {
        name: "CACHE_HOT_BUDDY",
        help: "buddies count as cache hot",
        switch: |features| &mut features.cache_hot_buddy,
    },
    Feature {
        name: "WAKEUP_PREEMPTION",
        help: "wakeups may preempt",
        switch: |features| &mut features.wakeup_preemption,
    },
    Feature {
        name: "ALT_PERIOD",
        help: "the period depends on all tasks of the CPU, not only on the tasks of the queue",
        switch: |features| &mut features.alt_period,
    },
    Feature {
        name: "BASE_SLICE",
        help: "no slice is shorter than min_granularity",
        switch: |features| &mut features.base_slice,
    },
    Feature {
        name: "NI_RANDOM",
        help: "newly idle CPUs balance less often the less it achieves",
        switch: |features| &mut features.ni_random,
    },
    Feature {
        name: "WA_IDLE",
        help: "a task may wake on its waker's CPU because that is idle, or about to be",
        switch: |features| &mut features.wa_idle,
    },
    Feature {
        name: "WA_WEIGHT",
        help: "a task may wake on its waker's CPU because less load is there",
        switch: |features| &mut features.wa_weight,
    },
    Feature {
        name: "SIS_UTIL",
        help: "a wakeup examines fewer CPUs the busier the cache's CPUs are",
        switch: |features| &mut features.sis_util,
    },
    Feature {
        name: "SIS_PROP",
        help: "a wakeup examines the fewer CPUs the shorter the waker's CPU idles",
        switch: |features| &mut features.sis_prop,
    },
];

impl Features {
    /// The boot values of the release.
    pub const fn of(version: Version) -> Features {
        Features {
            gentle_fair_sleepers: true,
            start_debit: true,
            next_buddy: false,
            last_buddy: true,
            cache_hot_buddy: true,
            wakeup_preemption: true,
            alt_period: true,
            base_slice: true,
            ni_random: false,
            wa_idle: true,
            wa_weight: true,
            sis_util: version.scans_by_utilisation(),
            sis_prop: !version.scans_by_utilisation(),
        }
    }
}
