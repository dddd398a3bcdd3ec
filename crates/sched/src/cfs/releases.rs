//! What differs from release to release, as named properties of one algorithm.
//!
//! Only releases whose rules are fully known are here. Left out: 2.6.25 to 2.6.27 (their buddies,
//! and an hrtick that is on by default), 2.6.26 in particular (group arithmetic that was half-way
//! between two designs), and 2.6.30. Before 2.6.32 only one CPU: the balancers of those releases
//! are not known well enough.

use crate::classes::bandwidth::BandwidthVersion;

/// How the inverse of a computed weight is formed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InverseRule {
    /// 2^32 over the weight plus one.
    OfNext,
    /// 2^32 over the weight.
    OfSame,
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
    /// Less the longer the running one has run, the sooner the woken one wakes others; in the
    /// virtual time of the woken entity.
    Adaptive,
}

/// Which entities are nominated to be picked out of turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buddies {
    /// None.
    None,
    /// The woken one (`next`) and the running one (`last`), at every wakeup; `next` is preferred.
    EveryWakeup,
    /// The preempted one (`last`), if there are many; `next` only with `NEXT_BUDDY`. `last` is
    /// preferred.
    Preempted,
}

/// A release's rules and defaults.
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
    /// A wakeup tries each level from the common one upward until one says yes; otherwise the
    /// common one only.
    pub tries_levels_upward: bool,
    /// The wakeup check stops where a reschedule is pending, and asks nothing of tasks in the order
    /// of 2.6.32.
    pub checks_pending: bool,
    /// A fork always makes its CPU reschedule.
    pub resched_after_fork: bool,
    /// The tick also reschedules for an entity that is far behind.
    pub tick_compares_leftmost: bool,
    /// A slice that is over clears the buddies.
    pub tick_clears_buddies: bool,
    /// A running `SCHED_IDLE` task gives way to every woken one.
    pub idle_policy_gives_way: bool,
    /// A woken `SCHED_IDLE` task never preempts.
    pub idle_policy_never_preempts: bool,
    /// `min_vruntime` moves on only when time is charged, and then also when none has passed;
    /// otherwise at dequeues too.
    pub floor_moves_on_charge_only: bool,
    /// The weight of `SCHED_IDLE` is 2, its inverse a slip.
    pub old_idle_weight: bool,
    /// Task groups.
    pub groups: bool,
    /// Limits on the CPU time of groups, and which.
    pub bandwidth: Option<BandwidthVersion>,
    /// Makes CPU-bound tasks less nice ([`interactive`](super::interactive)).
    pub interactive: bool,
    /// Balances many CPUs, and divides the groups' shares over them.
    pub many_cpus: bool,
    /// The boot factor counts no more CPUs than this.
    pub factor_cpus_max: u32,
    /// Times that nobody has written follow the number of CPUs on line when one comes or goes.
    pub rescales: bool,
    /// The balancer counts what it moves as nothing when no group exists (2.6.32 to 2.6.34).
    pub over_pulls: bool,
}

/// The scheduler's feature bits, by the kernel's names.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Feature {
    FairSleepers,
    NewFairSleepers,
    GentleFairSleepers,
    NormalizedSleeper,
    StartDebit,
    WakeupPreempt,
    AdaptiveGran,
    AsymGran,
    WakeupSync,
    WakeupOverlap,
    WakeupRunning,
    SyncWakeups,
    AffineWakeups,
    SyncLess,
    SyncMore,
    NextBuddy,
    LastBuddy,
    CacheHotBuddy,
    LbBias,
    LbSharesUpdate,
    AsymEffLoad,
    HrTick,
    DoubleTick,
    ArchPower,
    OwnerSpin,
}

impl Feature {
    /// Name and what it does.
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Feature::FairSleepers => ("FAIR_SLEEPERS", "sleepers are placed behind the others"),
            Feature::NewFairSleepers => {
                ("NEW_FAIR_SLEEPERS", "sleepers are placed behind the others")
            }
            Feature::GentleFairSleepers => ("GENTLE_FAIR_SLEEPERS", "sleepers get half the credit"),
            Feature::NormalizedSleeper => {
                ("NORMALIZED_SLEEPER", "sleepers' credit goes by their weight")
            }
            Feature::StartDebit => ("START_DEBIT", "newcomers start a slice later"),
            Feature::WakeupPreempt => ("WAKEUP_PREEMPT", "woken tasks may preempt"),
            Feature::AdaptiveGran => {
                ("ADAPTIVE_GRAN", "less granularity for tasks that wake others soon")
            }
            Feature::AsymGran => {
                ("ASYM_GRAN", "granularity in the woken task's virtual time, not the running one's")
            }
            Feature::WakeupSync => ("WAKEUP_SYNC", "a synchronous wakeup always preempts"),
            Feature::WakeupOverlap => {
                ("WAKEUP_OVERLAP", "tasks that overlap little always preempt")
            }
            Feature::WakeupRunning => {
                ("WAKEUP_RUNNING", "a task that runs shorter always preempts")
            }
            Feature::SyncWakeups => ("SYNC_WAKEUPS", "the hint of synchronous wakeups is heeded"),
            Feature::AffineWakeups => {
                ("AFFINE_WAKEUPS", "a wakeup may pull the task to the waker's CPU")
            }
            Feature::SyncLess => {
                ("SYNC_LESS", "the sync hint is not believed of tasks that overlap much")
            }
            Feature::SyncMore => {
                ("SYNC_MORE", "tasks that overlap little are taken as synchronous")
            }
            Feature::NextBuddy => ("NEXT_BUDDY", "a woken task is nominated"),
            Feature::LastBuddy => ("LAST_BUDDY", "a preempted task is nominated"),
            Feature::CacheHotBuddy => ("CACHE_HOT_BUDDY", "nominated tasks count as cache hot"),
            Feature::LbBias => {
                ("LB_BIAS", "the balancer compares decayed loads, biased against moving")
            }
            Feature::LbSharesUpdate => {
                ("LB_SHARES_UPDATE", "group shares are refreshed at wakeups")
            }
            Feature::HrTick => ("HRTICK", "a timer ends turns between ticks"),
            Feature::DoubleTick => ("DOUBLE_TICK", "with HRTICK the tick looks too"),
            Feature::ArchPower => {
                ("ARCH_POWER", "CPU power as the architecture says; all are equal here")
            }
            Feature::OwnerSpin => ("OWNER_SPIN", "mutexes spin; without effect here"),
            Feature::AsymEffLoad => {
                ("ASYM_EFF_LOAD", "no load added means none, whatever the shares")
            }
        }
    }
}

const FEATURES_2_6_32: &[(Feature, bool)] = &[
    (Feature::FairSleepers, true),
    (Feature::GentleFairSleepers, true),
    (Feature::NormalizedSleeper, false),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
    (Feature::AdaptiveGran, true),
    (Feature::AsymGran, true),
    (Feature::WakeupSync, false),
    (Feature::WakeupOverlap, false),
    (Feature::WakeupRunning, false),
    (Feature::SyncWakeups, true),
    (Feature::AffineWakeups, true),
    (Feature::SyncLess, true),
    (Feature::SyncMore, false),
    (Feature::NextBuddy, false),
    (Feature::LastBuddy, true),
    (Feature::CacheHotBuddy, true),
    (Feature::ArchPower, false),
    (Feature::HrTick, false),
    (Feature::DoubleTick, false),
    (Feature::LbBias, true),
    (Feature::LbSharesUpdate, true),
    (Feature::AsymEffLoad, true),
    (Feature::OwnerSpin, true),
];

const FEATURES_2_6_31: &[(Feature, bool)] = &[
    (Feature::FairSleepers, true),
    (Feature::NormalizedSleeper, false),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
    (Feature::AdaptiveGran, true),
    (Feature::AsymGran, true),
];

const FEATURES_2_6_28: &[(Feature, bool)] = &[
    (Feature::NewFairSleepers, true),
    (Feature::NormalizedSleeper, true),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
];

const FEATURES_2_6_24: &[(Feature, bool)] = &[
    (Feature::NewFairSleepers, true),
    (Feature::StartDebit, true),
    (Feature::WakeupPreempt, true),
];

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
        tick_clears_buddies: true,
        idle_policy_gives_way: true,
        idle_policy_never_preempts: true,
        floor_moves_on_charge_only: false,
        old_idle_weight: false,
        groups: true,
        bandwidth: None,
        interactive: false,
        many_cpus: true,
        factor_cpus_max: u32::MAX,
        rescales: false,
        over_pulls: true,
    };

    /// The long-term release 2.6.32.60 as far as it is described: from 2.6.33 it has how times grow
    /// with the number of CPUs, and that they do so again when one comes or goes. What else it has
    /// from later releases is not described to us.
    pub const V2_6_32_60: Version =
        Version { name: "2.6.32.60", factor_cpus_max: 8, rescales: true, ..Version::V2_6_32 };

    /// 3.2 as far as it is described: the rules of 2.6.32 with the defaults that hold since 2.6.36,
    /// and quotas for groups. What else changed in the fair class between 2.6.33 and 3.2 is not
    /// described to us.
    pub const V3_2: Version = Version {
        name: "3.2",
        latency_ns: 6_000_000,
        min_granularity_ns: 750_000,
        nr_latency: 8,
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
        floor_moves_on_charge_only: true,
        groups: false,
        ..Version::V2_6_28
    };
}
