//! The releases: the record of rules of each, and how they are listed in the registry.
//!
//! Only releases whose rules are fully known are here. Left out: 2.6.25 to 2.6.27 (their buddies,
//! and an hrtick that is on by default), 2.6.26 in particular (group arithmetic that was half-way
//! between two designs), and 2.6.30. 2.6.23 and 2.6.28 to 2.6.31 run on one CPU only: their
//! balancers are not known well enough.

use super::balance_2_6_24::early_domains;
use super::features::{FEATURES_2_6_24, FEATURES_2_6_28, FEATURES_2_6_31, FEATURES_2_6_32};
use super::rules::{Buddies, GranRule, InverseRule, PeriodRule, PlaceRule, Rules, SliceRule};
use super::{Cfs, domains, wait_runtime};
use crate::classes::bandwidth::BandwidthVersion;
use crate::classes::rt::{RealTime, RtVersion};
use crate::classes::{ClassList, NoClass, Rqs};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, BuildConfig, Capabilities, Entry, Origin, Policy, Release, Scheduler};

impl Rules {
    /// 2.6.32 as first released.
    pub const V2_6_32: Rules = Rules {
        name: "2.6.32",
        latency_ns: 5_000_000,
        min_granularity_ns: 1_000_000,
        wakeup_granularity_ns: 1_000_000,
        nr_latency: 5,
        child_runs_first: false,
        features: FEATURES_2_6_32,
        inverse: InverseRule::OfNext,
        period: PeriodRule::MinGranularityEach,
        slice: SliceRule::ScaleEveryLevel,
        place: PlaceRule {
            initial_is_exact: false,
            groups_get_credit: true,
            normalize_idle_too: false,
        },
        gran: GranRule::Adaptive,
        buddies: Buddies::Preempted,
        tries_levels_upward: false,
        checks_pending: true,
        resched_after_fork: false,
        tick_compares_leftmost: true,
        tick_spares_behind: false,
        tick_clears_buddies: true,
        idle_policy_gives_way: true,
        idle_policy_never_preempts: true,
        min_vruntime_on_charge_only: false,
        old_idle_weight: false,
        groups: true,
        shares_follow_load: false,
        idle_sibling: false,
        bandwidth: None,
        interactive: false,
        many_cpus: true,
        balances_as_2_6_24: false,
        factor_cpus_max: u32::MAX,
        rescales: false,
        over_pulls: true,
    };

    /// The long-term release 2.6.32.60 as far as it is described: from 2.6.33 it has how times grow
    /// with the number of CPUs, and that they do so again when one comes or goes. What else it has
    /// from later releases is not described to us.
    pub const V2_6_32_60: Rules =
        Rules { name: "2.6.32.60", factor_cpus_max: 8, rescales: true, ..Rules::V2_6_32 };

    /// 3.2: quotas for groups, the defaults that hold since 2.6.36, and what else is known to
    /// differ on one CPU. Its balancing of several CPUs is not described to us: that is 2.6.32's.
    pub const V3_2: Rules = Rules {
        name: "3.2",
        latency_ns: 6_000_000,
        min_granularity_ns: 750_000,
        nr_latency: 8,
        inverse: InverseRule::Floor,
        gran: GranRule::OfWoken,
        buddies: Buddies::Preempting,
        tick_spares_behind: true,
        shares_follow_load: true,
        idle_sibling: true,
        bandwidth: Some(BandwidthVersion::V3_2),
        factor_cpus_max: 8,
        rescales: true,
        over_pulls: false,
        ..Rules::V2_6_32
    };

    /// 2.6.32 with the rule of [`interactive`](super::interactive).
    pub const INTERACTIVE: Rules = Rules { interactive: true, ..Rules::V2_6_32 };

    /// 2.6.31: longer times, full credit for sleepers, buddies at every wakeup.
    pub const V2_6_31: Rules = Rules {
        name: "2.6.31",
        latency_ns: 20_000_000,
        min_granularity_ns: 4_000_000,
        wakeup_granularity_ns: 5_000_000,
        child_runs_first: true,
        features: FEATURES_2_6_31,
        place: PlaceRule { initial_is_exact: true, ..Rules::V2_6_32.place },
        buddies: Buddies::EveryWakeup,
        tick_compares_leftmost: false,
        many_cpus: false,
        ..Rules::V2_6_32
    };

    /// 2.6.29: credit by weight, granularity by the running task's weight, all levels tried at a
    /// wakeup.
    pub const V2_6_29: Rules = Rules {
        name: "2.6.29",
        features: FEATURES_2_6_28,
        gran: GranRule::OfHeavyRunning,
        tries_levels_upward: true,
        ..Rules::V2_6_31
    };

    /// 2.6.28: `SCHED_IDLE` tasks are ordinary ones with a tiny (and slipped) weight.
    pub const V2_6_28: Rules = Rules {
        name: "2.6.28",
        place: PlaceRule { normalize_idle_too: true, ..Rules::V2_6_29.place },
        tick_clears_buddies: false,
        idle_policy_gives_way: false,
        idle_policy_never_preempts: false,
        old_idle_weight: true,
        ..Rules::V2_6_29
    };

    /// 2.6.24: the first with vruntime. No buddies, no hierarchy in slices, plain divisions.
    pub const V2_6_24: Rules = Rules {
        name: "2.6.24",
        wakeup_granularity_ns: 10_000_000,
        features: FEATURES_2_6_24,
        inverse: InverseRule::OfSame,
        period: PeriodRule::StretchLatency,
        slice: SliceRule::Divide,
        place: PlaceRule {
            initial_is_exact: true,
            groups_get_credit: false,
            normalize_idle_too: false,
        },
        gran: GranRule::OfRunning,
        buddies: Buddies::None,
        tries_levels_upward: false,
        checks_pending: false,
        resched_after_fork: true,
        balances_as_2_6_24: true,
        min_vruntime_on_charge_only: true,
        groups: false,
        ..Rules::V2_6_28
    };
}

const POLICIES: &[Policy] =
    &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin];

/// The default release. The others are described by what differs.
const DEFAULT: Release = Release {
    version: "2.6.32",
    also: &[],
    summary: "latency 5 ms, gentle sleepers, group shares over CPUs, real-time push and pull",
    golden: &[("cfs", "2.6.32")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: CPUS_MAX,
    policies: POLICIES,
    can: Capabilities { groups: true, user_groups: true, nohz: true, ..Capabilities::BASIC },
    kernel: None,
    build: Build::Ordinary(|config| build(Rules::V2_6_32, RtVersion::V2_6_25, config)),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("cfs"),
    title: Cow::Borrowed("CFS, the Completely Fair Scheduler"),
    summary: Cow::Borrowed("runs the task that has had the least weighted CPU time"),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        crate::fair_6::cfs::releases::V6_1,
        crate::fair_6::cfs::releases::V5_10,
        Release {
            version: "2.6.32.60",
            summary: "as 2.6.32, but its times grow up to 8 CPUs only and follow CPUs that come \
                and go; what else this long-term release has from later ones is not described to \
                us",
            golden: &[],
            build: Build::Ordinary(|config| build(Rules::V2_6_32_60, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "3.2",
            summary: "latency 6 ms, quotas for groups, weights of groups that follow their load; \
                checked on one CPU and with tasks bound to CPUs; its balancing of several CPUs is \
                not described to us, and is 2.6.32's here",
            golden: &[("cfs", "3.2")],
            can: Capabilities { quotas: true, user_groups: false, ..DEFAULT.can },
            build: Build::Ordinary(|config| build(Rules::V3_2, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.31",
            summary: "latency 20 ms, full credit for sleepers; one CPU; from the list of \
                differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: Build::Ordinary(|config| build(Rules::V2_6_31, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.29",
            summary: "sleepers' credit by weight; one CPU; from the list of differences, not \
                checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: Build::Ordinary(|config| build(Rules::V2_6_29, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.28",
            summary: "as 2.6.29, SCHED_IDLE with weight 2; one CPU; from the list of \
                differences, not checked against a kernel",
            golden: &[],
            cpus_max: 1,
            build: Build::Ordinary(|config| build(Rules::V2_6_28, RtVersion::V2_6_25, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.24",
            summary: "the first with vruntime: latency 20 ms, no buddies, every fork \
                reschedules; several CPUs balanced by weight",
            golden: &[("cfs", "2.6.24")],
            can: Capabilities { nohz: true, ..Capabilities::BASIC },
            build: Build::Ordinary(|config| build(Rules::V2_6_24, RtVersion::V2_6_23, config)),
            ..DEFAULT
        },
        Release {
            version: "2.6.23",
            summary: "no vruntime yet: fair_clock and wait_runtime; one CPU",
            golden: &[("cfs", "2.6.23")],
            cpus_max: 1,
            can: Capabilities::BASIC,
            build: Build::Ordinary(|config| Box::new(wait_runtime::core_2_6(config))),
            ..DEFAULT
        },
    ],
};

/// CFS with the rule of [`interactive`](super::interactive) in the registry.
pub static INTERACTIVE: Entry = Entry {
    name: Cow::Borrowed("cfs_interactive"),
    title: Cow::Borrowed("CFS with a rule for interactivity"),
    summary: Cow::Borrowed(
        "CFS of 2.6.32 that makes tasks less nice which hardly ever sleep; proposed, never \
        in Linux",
    ),
    origin: Origin::Linux,
    releases: &[Release {
        version: "2.6.32",
        also: &[],
        summary: "on the rules and defaults of cfs@2.6.32; no kernel has it, so no golden \
            schedules",
        golden: &[],
        hz_default: 1000,
        hz_range: (100, 1000),
        cpus_max: CPUS_MAX,
        policies: POLICIES,
        can: Capabilities { groups: true, nohz: true, ..Capabilities::BASIC },
        kernel: None,
        build: Build::Ordinary(|config| build(Rules::INTERACTIVE, RtVersion::V2_6_25, config)),
    }],
};

fn build(rules: Rules, rt: RtVersion, config: &BuildConfig) -> Box<dyn Scheduler> {
    Box::new(core_2_6(rules, rt, config))
}

/// A release with its classes.
pub fn core_2_6(rules: Rules, rt: RtVersion, config: &BuildConfig) -> ClassList<Cfs> {
    let early = rules.balances_as_2_6_24.then(|| early_domains(&config.topology, config.hz));
    let mut rqs = Rqs::new(match &early {
        None => domains(&config.topology),
        Some(early) => early.tree().clone(),
    });
    rqs.own_clocks_only = rules.balances_as_2_6_24;
    let fair = Cfs { early, ..Cfs::new(rules, &rqs, config.hz) };
    let rt = RealTime::new(rt, rqs.cpus(), config.hz);
    ClassList { deadline: NoClass, rt, fair, core: rqs }
}
