//! The releases, and a name for each difference between them.

use super::Cfs6;
use crate::classes::bandwidth::BandwidthVersion;
use crate::fair_6::differences::{Differences, QuestionDoc, Switchable, own_questions};
use crate::fair_6::rule_state::{
    FairVersion, SHARED_QUESTIONS, SharedQuestion, shared_answers, shared_bits,
};
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
    summary: "derived from 6.1 by reading, never run: no idle groups, but sysctls and SIS_PROP",
    golden: &[],
    can: Capabilities { idle_groups: false, ..V6_1.can },
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V5_10, config))),
    ..V6_1
};

/// RHEL 8.5's kernel, 4.18 by name, whose fair class is near that of 5.10.
pub const V_RHEL_8_5: Release = Release {
    version: "4.18.0-348.el8",
    also: &["rhel8.5", "4.18.0-348.2.1.el8_5"],
    summary: "RHEL 8.5: slices and sleepers of 4.18, balancing near that of 5.10",
    golden: &[("cfs", "4.18.0-348.2.1.el8_5")],
    can: Capabilities { idle_groups: false, ..V6_1.can },
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::Rhel8_5, config))),
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

/// 5.4, the base of Ubuntu 20.04.
pub const V5_4: Release = Release {
    version: "5.4",
    also: &["5.4.59"],
    summary: "no idle groups, slices without a minimum; balances by average load",
    golden: &[("cfs", "5.4.59")],
    can: Capabilities { idle_groups: false, ..V6_1.can },
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V5_4, config))),
    ..V6_1
};

/// 4.19, the base of Debian 10.
pub const V4_19: Release = Release {
    version: "4.19",
    also: &["4.19.0"],
    summary: "as 5.4, with loads of several ages (LB_BIAS) and runtime that expires",
    golden: &[("cfs", "4.19.0")],
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V4_19, config))),
    ..V5_4
};

/// 4.18. (RHEL 8 has its number, but another fair class.)
pub const V4_18: Release = Release {
    version: "4.18",
    also: &["4.18.0"],
    summary: "as 4.19, but min_vruntime is not renewed when a task leaves",
    golden: &[("cfs", "4.18.0")],
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V4_18, config))),
    ..V5_4
};

/// 4.14, the base of Amazon Linux 2.
pub const V4_14: Release = Release {
    version: "4.14",
    also: &["4.14.177"],
    summary: "load sums that carry weights, no estimated utilisation",
    golden: &[("cfs", "4.14.177")],
    build: Build::Ordinary(|config| Box::new(Cfs6::with_version(Version::V4_14, config))),
    ..V5_4
};

/// A version of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 4.14 (longterm 4.14.177).
    V4_14,
    /// 4.18 (4.18.0).
    V4_18,
    /// 4.19 (4.19.0).
    V4_19,
    /// 5.4 (longterm 5.4.59).
    V5_4,
    /// RHEL 8.5 (4.18.0-348.2.1.el8_5): 4.18 with the balancing of about 5.10.
    Rhel8_5,
    /// 5.10 (read in longterm 5.10.262; not run).
    V5_10,
    /// 5.15 (longterm 5.15.148).
    V5_15,
    /// 6.1 (longterm 6.1.192).
    V6_1,
}

own_questions! {
    for Version, of which SHARED and OWN can be switched;

    /// Whether groups may be idle, and idle entities are tested for on every level, not only tasks.
    pub const fn has_idle_groups(self) -> bool {
        self as u8 >= Version::V5_15 as u8
    }

    /// Whether idle entities have a minimum slice and a sleeper's credit of their own (since 5.16).
    pub const fn has_idle_granularity(self) -> bool {
        matches!(self, Version::V6_1)
    }

    /// Whether wakeups limit their search by the utilisation of the cache's CPUs (`SIS_UTIL`: 5.19,
    /// back-ported to 5.15.y), not by idle time (`SIS_PROP`).
    pub const fn scans_by_utilisation(self) -> bool {
        self as u8 >= Version::V5_15 as u8
    }

    /// Whether idle entities are never the `last` buddy. (The text on 5.10 does not say so.)
    pub const fn spares_idle_last_buddies(self) -> bool {
        !matches!(self, Version::V5_10 | Version::Rhel8_5)
    }

    /// Whether the period depends on all tasks of the CPU (`ALT_PERIOD`), and slices are at least
    /// the minimum granularity (`BASE_SLICE`): 5.13, back-ported to 5.10.y.
    pub const fn has_base_slice(self) -> bool {
        self as u8 > Version::Rhel8_5 as u8
    }

    /// Whether a task that has not run for years loses its vruntime (6.3, back-ported).
    pub const fn forgets_long_sleepers(self) -> bool {
        self as u8 > Version::Rhel8_5 as u8
    }

    /// Whether a pick drops the buddy marks of the picked entity, even if that is the running one.
    pub const fn pick_clears_buddies(self) -> bool {
        self as u8 <= Version::Rhel8_5 as u8
    }

    /// Whether the moving average of the estimated utilisation follows an increase at once
    /// (`UTIL_EST_FASTUP`, 5.5).
    pub const fn has_fast_estimates(self) -> bool {
        self as u8 >= Version::Rhel8_5 as u8
    }

    /// Whether a queue renews its `min_vruntime` when an entity leaves only if the entity comes
    /// back at once, instead of only if it does not (a bug of 4.10 to 4.18).
    pub const fn inverts_min_vruntime(self) -> bool {
        matches!(self, Version::V4_18)
    }

    /// Whether runtime that a queue has drawn expires when its group's is refilled (up to 5.3).
    pub const fn runtime_expires(self) -> bool {
        matches!(self, Version::V4_18 | Version::V4_19)
    }

    /// Whether a queue about to be throttled first asks for runtime once more (since 5.8).
    pub const fn asks_before_throttling(self) -> bool {
        self as u8 >= Version::Rhel8_5 as u8
    }

    /// Whether groups may save quota for bursts (5.14 on).
    pub const fn has_bursts(self) -> bool {
        self as u8 >= Version::V5_15 as u8
    }

    /// Whether the tunables are sysctls, each write of which recomputes the values that depend on
    /// it, and not plain files of debugfs.
    pub const fn tunes_by_sysctl(self) -> bool {
        (self as u8) < Version::V5_15 as u8
    }

    /// Whether the lowest bit of an estimated utilisation is a mark, and counts (up to 5.12).
    pub const fn marks_estimates_in_bit_0(self) -> bool {
        matches!(self, Version::Rhel8_5)
    }
}

/// Questions of all fair classes that can be switched. The others whose answers changed are those
/// on which the averages of load depend, and what is computed when the scheduler is built.
const SHARED: &[SharedQuestion] = &[
    SharedQuestion::sums_have_no_limits,
    SharedQuestion::nodes_keep_busiest_quarter,
    SharedQuestion::takes_load_above_average,
    SharedQuestion::forks_count_forbidden_cpus,
    SharedQuestion::newidle_needs_idle_time,
    SharedQuestion::sums_follow_averages,
    SharedQuestion::attaches_outside_queueing,
    SharedQuestion::decays_on_idle_cpus,
    SharedQuestion::idle_policy_keeps_load,
    SharedQuestion::nodes_keep_a_quarter,
    SharedQuestion::never_moves_too_much_util,
    SharedQuestion::scans_by_idle_time,
    SharedQuestion::estimates_util,
    SharedQuestion::execs_keep_estimates,
    SharedQuestion::blocked_entities_are_quiet,
    SharedQuestion::searches_sched_idle,
    SharedQuestion::renice_reschedules,
    SharedQuestion::searches_without_amount,
    SharedQuestion::cools_between_threads,
    SharedQuestion::push_respects_heat,
    SharedQuestion::pushes_for_any_reason,
    SharedQuestion::busy_cpus_are_out_of_step,
    SharedQuestion::moves_weightless_tasks,
    SharedQuestion::newly_idle_waits_longer,
    SharedQuestion::idle_wakers_attract,
    SharedQuestion::tries_recent_cpu,
    SharedQuestion::weights_may_vanish,
    SharedQuestion::move_reschedules,
    SharedQuestion::throttling_refreshes,
    SharedQuestion::movers_leave_like_sleepers,
    SharedQuestion::moves_from_the_head,
    SharedQuestion::balances_before_5_12,
];

/// Questions of this family that can be switched: all but limits and the form of the tunables, for
/// which the scheduler is built.
const OWN: &[OwnQuestion] = &[
    OwnQuestion::has_idle_groups,
    OwnQuestion::has_idle_granularity,
    OwnQuestion::scans_by_utilisation,
    OwnQuestion::spares_idle_last_buddies,
    OwnQuestion::has_base_slice,
    OwnQuestion::forgets_long_sleepers,
    OwnQuestion::pick_clears_buddies,
    OwnQuestion::has_fast_estimates,
    OwnQuestion::inverts_min_vruntime,
    OwnQuestion::marks_estimates_in_bit_0,
];

impl FairVersion for Version {
    #[inline]
    fn sums_have_no_limits(self) -> bool {
        self == Version::Rhel8_5
    }

    #[inline]
    fn nodes_keep_busiest_quarter(self) -> bool {
        self == Version::Rhel8_5
    }

    #[inline]
    fn takes_load_above_average(self) -> bool {
        self == Version::Rhel8_5
    }

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
        self <= Version::V5_10
    }

    #[inline]
    fn tracks_runnable_load(self) -> bool {
        self <= Version::V5_4
    }

    #[inline]
    fn sums_carry_weights(self) -> bool {
        self <= Version::V4_14
    }

    #[inline]
    fn estimates_util(self) -> bool {
        self > Version::V4_14
    }

    #[inline]
    fn balances_by_load(self) -> bool {
        self <= Version::V5_4
    }

    #[inline]
    fn searches_sched_idle(self) -> bool {
        self >= Version::V5_4
    }

    #[inline]
    fn renice_reschedules(self) -> bool {
        self <= Version::V5_4
    }

    fn searches_without_amount(self) -> bool {
        self <= Version::V4_18
    }

    #[inline]
    fn cools_between_threads(self) -> bool {
        self > Version::V5_4
    }

    fn push_respects_heat(self) -> bool {
        self <= Version::V5_4
    }

    fn pushes_for_any_reason(self) -> bool {
        self <= Version::V5_4
    }

    #[inline]
    fn busy_cpus_are_out_of_step(self) -> bool {
        self > Version::V5_4
    }

    #[inline]
    fn moves_weightless_tasks(self) -> bool {
        self <= Version::V4_19
    }

    fn newly_idle_waits_longer(self) -> bool {
        matches!(self, Version::V4_18 | Version::V4_19)
    }

    #[inline]
    fn idle_wakers_attract(self) -> bool {
        self <= Version::V4_14
    }

    #[inline]
    fn tries_recent_cpu(self) -> bool {
        self > Version::V4_14
    }

    #[inline]
    fn weights_may_vanish(self) -> bool {
        matches!(self, Version::V4_18 | Version::V4_19)
    }

    fn move_reschedules(self) -> bool {
        self > Version::V4_19
    }

    #[inline]
    fn throttling_refreshes(self) -> bool {
        self > Version::V5_4
    }

    #[inline]
    fn movers_leave_like_sleepers(self) -> bool {
        self <= Version::V4_14
    }

    #[inline]
    fn blocked_entities_are_quiet(self) -> bool {
        self <= Version::Rhel8_5
    }

    fn loads_of_several_ages(self) -> bool {
        self <= Version::V4_19
    }

    fn threads_have_less_capacity(self) -> bool {
        self <= Version::V4_19
    }

    #[inline]
    fn execs_keep_estimates(self) -> bool {
        matches!(self, Version::V4_18 | Version::V4_19)
    }

    #[inline]
    fn measures_urgent_time(self) -> bool {
        self <= Version::V4_18
    }

    #[inline]
    fn moves_from_the_head(self) -> bool {
        self <= Version::V4_14
    }

    #[inline]
    fn balances_before_5_12(self) -> bool {
        self == Version::V5_10
    }

    fn quotas(self) -> BandwidthVersion {
        match (self.runtime_expires(), self.asks_before_throttling(), self.has_bursts()) {
            (true, ..) => BandwidthVersion::V4_18,
            (_, false, _) => BandwidthVersion::V5_4,
            (_, _, false) => BandwidthVersion::V5_8,
            (_, _, true) => BandwidthVersion::V5_14,
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
    fn picked_again_is_newest(self) -> bool {
        true
    }

    #[inline]
    fn distributes_first(self) -> bool {
        false
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
    /// A task may wake on its waker's CPU because that has less load.
    pub wa_weight: bool,
    /// A wakeup examines fewer CPUs the busier the cache's CPUs are.
    pub sis_util: bool,
    /// A wakeup examines the fewer CPUs the shorter the waker's CPU idles.
    pub sis_prop: bool,
    /// Balancing compares loads of several ages (up to 5.2).
    pub lb_bias: bool,
    /// Balancing does not move tasks of little load (not on at boot; up to 5.4).
    pub lb_min: bool,
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
pub static FEATURES: [Feature; 15] = [
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
        help: "where many tasks wait, a woken task is picked next",
        switch: |features| &mut features.next_buddy,
    },
    Feature {
        name: "LAST_BUDDY",
        help: "where many tasks wait, a preempted task is picked soon",
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
        help: "the less newly idle balancing achieves, the less often it is tried",
        switch: |features| &mut features.ni_random,
    },
    Feature {
        name: "WA_IDLE",
        help: "a task may wake on its waker's CPU because that is idle, or about to be",
        switch: |features| &mut features.wa_idle,
    },
    Feature {
        name: "WA_WEIGHT",
        help: "a task may wake on its waker's CPU because that has less load",
        switch: |features| &mut features.wa_weight,
    },
    Feature {
        name: "SIS_UTIL",
        help: "the busier the cache's CPUs are, the fewer of them a wakeup examines",
        switch: |features| &mut features.sis_util,
    },
    Feature {
        name: "SIS_PROP",
        help: "the shorter the waker's CPU idles, the fewer CPUs a wakeup examines",
        switch: |features| &mut features.sis_prop,
    },
    Feature {
        name: "LB_BIAS",
        help: "balancing compares loads of several ages",
        switch: |features| &mut features.lb_bias,
    },
    Feature {
        name: "LB_MIN",
        help: "balancing does not move tasks of a load below 16 unless it has failed before",
        switch: |features| &mut features.lb_min,
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
            alt_period: version.has_base_slice(),
            base_slice: version.has_base_slice(),
            ni_random: false,
            wa_idle: true,
            wa_weight: true,
            sis_util: version.scans_by_utilisation(),
            sis_prop: !version.scans_by_utilisation(),
            lb_bias: true,
            lb_min: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_switched_is_known() {
        let all = [
            Version::V4_14,
            Version::V4_18,
            Version::V4_19,
            Version::V5_4,
            Version::Rhel8_5,
            Version::V5_10,
            Version::V5_15,
            Version::V6_1,
        ];
        let [fixed, needless] = crate::fair_6::differences::unswitched(&all);
        // Limits, the form of the tunables, the sums and averages of load, and what is computed at
        // boot.
        let built = [
            "runtime_expires",
            "asks_before_throttling",
            "has_bursts",
            "tunes_by_sysctl",
            "tracks_runnable_load",
            "sums_carry_weights",
            "balances_by_load",
            "loads_of_several_ages",
            "threads_have_less_capacity",
            "measures_urgent_time",
        ];
        assert_eq!(fixed, built, "add a new question to SHARED or OWN, or here with the reason");
        assert!(needless.is_empty(), "{needless:?}");
    }
}
