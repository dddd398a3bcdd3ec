//! The releases of CFS with vruntime: their differences, as named properties of one algorithm, and
//! the record of each. [`entries`](super::entries) lists them in the registry.
//!
//! Only releases whose rules are fully known are included. Left out are 2.6.25 to 2.6.27 (their
//! buddies, and an hrtick that is on by default), 2.6.26 in particular (its group arithmetic was
//! half-way between two designs), and 2.6.30. 2.6.23 and 2.6.28 to 2.6.31 run on one CPU only,
//! because their balancers are not known well enough.

use super::features::{
    FEATURES_2_6_24, FEATURES_2_6_28, FEATURES_2_6_31, FEATURES_2_6_32, Feature,
};
use crate::classes::bandwidth::BandwidthVersion;

/// How the inverse of a computed weight is formed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InverseRule {
    /// 2^32 over the weight plus one.
    OfNext,
    /// 2^32 over the weight.
    OfSame,
    /// The same, rounded down.
    Floor,
}

/// What a queue's period, in which everybody is to run once, is with more than `nr_latency` tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeriodRule {
    /// floor(latency * tasks / nr_latency).
    StretchLatency,
    /// min_granularity * tasks.
    MinGranularityEach,
}

/// How a slice, and a newcomer's first debit, are computed from the period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceRule {
    /// Slice: floor(period * weight / load), the own level only. Debit: floor(period * 1024 /
    /// load), whatever the own weight.
    Divide,
    /// Slice: scaled at every level of groups. Debit: the slice in virtual time.
    ScaleEveryLevel,
}

/// Where a newcomer, and a sleeper that wakes, is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceRule {
    /// A newcomer is put exactly there, even if it (or its parent) was further on.
    pub initial_is_exact: bool,
    /// Groups that wake get credit too, not only tasks.
    pub groups_get_credit: bool,
    /// The normalised credit (feature `NORMALIZED_SLEEPER`) is for `SCHED_IDLE` tasks too.
    pub normalize_idle_too: bool,
}

/// By how much a woken entity must be behind the running one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GranRule {
    /// The granularity in the virtual time of the running entity, if its weight is not 1024.
    /// Compared as unsigned.
    OfRunning,
    /// The same, only if it is heavier than 1024.
    OfHeavyRunning,
    /// The granularity in the virtual time of the woken entity.
    OfWoken,
    /// Less the longer the running one has run, the sooner the woken one wakes others; in the
    /// virtual time of the woken entity.
    Adaptive,
}

/// Which entities become buddies, to be picked before the leftmost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buddies {
    /// None.
    None,
    /// The woken one (`next`) and the running one (`last`), at every wakeup; `next` is preferred.
    EveryWakeup,
    /// The preempted one (`last`), if there are many; `next` only with `NEXT_BUDDY`. `last` is
    /// preferred.
    Preempted,
    /// The preempted one (`last`), if there are many; the one that preempts (`next`); the one that
    /// yields, which is to be skipped (`skip`). `next` is preferred.
    Preempting,
}

/// The rules and defaults of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The release.
    pub name: &'static str,
    /// `sched_latency_ns` before scaling by the number of CPUs.
    pub latency_ns: u64,
    /// `sched_min_granularity_ns` before scaling.
    pub min_granularity_ns: u64,
    /// `sched_wakeup_granularity_ns` before scaling.
    pub wakeup_granularity_ns: u64,
    /// `nr_latency` until latency or granularity is written.
    pub nr_latency: u64,
    /// `sched_child_runs_first`.
    pub child_runs_first: bool,
    /// Feature bits that can be set, with their defaults.
    pub features: &'static [(Feature, bool)],
    /// Inverses.
    pub inverse: InverseRule,
    /// Periods.
    pub period: PeriodRule,
    /// Slices.
    pub slice: SliceRule,
    /// Placing.
    pub place: PlaceRule,
    /// Wakeup granularity.
    pub gran: GranRule,
    /// Buddies.
    pub buddies: Buddies,
    /// A wakeup tries each level from the common one upward until one preempts; otherwise the
    /// common one only.
    pub tries_levels_upward: bool,
    /// The wakeup check stops where a reschedule is pending, and follows the order of 2.6.32
    /// otherwise.
    pub checks_pending: bool,
    /// A fork always makes its CPU reschedule.
    pub resched_after_fork: bool,
    /// The tick also reschedules for an entity that is far behind.
    pub tick_compares_leftmost: bool,
    /// That test leaves an entity alone that is behind all others; otherwise such a one counts as
    /// infinitely far ahead.
    pub tick_spares_behind: bool,
    /// A slice that is over clears the buddies.
    pub tick_clears_buddies: bool,
    /// A running `SCHED_IDLE` task gives way to every woken one.
    pub idle_policy_gives_way: bool,
    /// A woken `SCHED_IDLE` task never preempts.
    pub idle_policy_never_preempts: bool,
    /// `min_vruntime` moves on only when time is charged, and then also when none has passed;
    /// otherwise at dequeues too.
    pub min_vruntime_on_charge_only: bool,
    /// The weight of `SCHED_IDLE` is 2, its inverse a slip.
    pub old_idle_weight: bool,
    /// Task groups.
    pub groups: bool,
    /// The weight of a group's entity follows the load of its queue at every enqueue and dequeue;
    /// otherwise it is divided anew now and then.
    pub shares_follow_load: bool,
    /// A wakeup looks for an idle CPU that shares the cache.
    pub idle_sibling: bool,
    /// Limits on the CPU time of groups, and which.
    pub bandwidth: Option<BandwidthVersion>,
    /// Makes CPU-bound tasks less nice ([`interactive`](super::interactive)).
    pub interactive: bool,
    /// Balances many CPUs, and divides the groups' shares over them.
    pub many_cpus: bool,
    /// Several CPUs are balanced as in 2.6.22, with weights, and each reads its own clock only.
    pub balances_as_2_6_24: bool,
    /// The boot factor counts no more CPUs than this.
    pub factor_cpus_max: u32,
    /// Times that were never written follow the number of CPUs on line when one comes or goes.
    pub rescales: bool,
    /// The balancer counts what it moves as nothing when no group exists (2.6.32 to 2.6.34).
    pub over_pulls: bool,
}

impl Version {
    /// 2.6.32 as first released.
    pub const V2_6_32: Version = Version {
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
    pub const V2_6_32_60: Version =
        Version { name: "2.6.32.60", factor_cpus_max: 8, rescales: true, ..Version::V2_6_32 };

    /// 3.2: quotas for groups, the defaults that hold since 2.6.36, and what else is known to
    /// differ on one CPU. Its balancing of several CPUs is not described to us: that is 2.6.32's.
    pub const V3_2: Version = Version {
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
        ..Version::V2_6_32
    };

    /// 2.6.32 with the rule of [`interactive`](super::interactive).
    pub const INTERACTIVE: Version = Version { interactive: true, ..Version::V2_6_32 };

    /// 2.6.31: longer times, full credit for sleepers, buddies at every wakeup.
    pub const V2_6_31: Version = Version {
        name: "2.6.31",
        latency_ns: 20_000_000,
        min_granularity_ns: 4_000_000,
        wakeup_granularity_ns: 5_000_000,
        child_runs_first: true,
        features: FEATURES_2_6_31,
        place: PlaceRule { initial_is_exact: true, ..Version::V2_6_32.place },
        buddies: Buddies::EveryWakeup,
        tick_compares_leftmost: false,
        many_cpus: false,
        ..Version::V2_6_32
    };

    /// 2.6.29: credit by weight, granularity by the running task's weight, all levels tried at a
    /// wakeup.
    pub const V2_6_29: Version = Version {
        name: "2.6.29",
        features: FEATURES_2_6_28,
        gran: GranRule::OfHeavyRunning,
        tries_levels_upward: true,
        ..Version::V2_6_31
    };

    /// 2.6.28: `SCHED_IDLE` tasks are ordinary ones with a tiny (and slipped) weight.
    pub const V2_6_28: Version = Version {
        name: "2.6.28",
        place: PlaceRule { normalize_idle_too: true, ..Version::V2_6_29.place },
        tick_clears_buddies: false,
        idle_policy_gives_way: false,
        idle_policy_never_preempts: false,
        old_idle_weight: true,
        ..Version::V2_6_29
    };

    /// 2.6.24: the first with vruntime. No buddies, no hierarchy in slices, plain divisions.
    pub const V2_6_24: Version = Version {
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
        ..Version::V2_6_28
    };
}
