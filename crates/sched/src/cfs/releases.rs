//! The releases of CFS with vruntime: their differences, as named properties of one algorithm, and
//! the record of each release. [`entries`](super::entries) lists them in the registry.
//!
//! Only releases whose rules are fully known are included. Left out are 2.6.25 to 2.6.27 (their
//! buddies, and an hrtick that is on by default), 2.6.26 in particular (its group arithmetic was
//! half-way between two designs), and 2.6.30. 2.6.23 and 2.6.28 to 2.6.31 run on one CPU only,
//! because their balancers are not known well enough.

use super::features::{
    FEATURES_2_6_24, FEATURES_2_6_28, FEATURES_2_6_31, FEATURES_2_6_32, FEATURES_3_10, Feature,
};
use crate::classes::bandwidth::BandwidthVersion;

/// Formula for the inverse of a computed weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InverseRule {
    /// 2^32 / (weight + 1).
    OfNext,
    /// 2^32 / weight.
    OfSame,
    /// 2^32 / weight, rounded down.
    Floor,
}

/// Length of a queue's period, in which every task should run once, for more than `nr_latency`
/// tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeriodRule {
    /// floor(latency * tasks / nr_latency).
    StretchLatency,
    /// min_granularity * tasks.
    MinGranularityEach,
}

/// Derivation of a slice, and of a new task's initial debit, from the period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceRule {
    /// Slice: floor(period * weight / load), on the task's own level only. Debit: floor(period *
    /// 1024 / load), independent of the task's weight.
    Divide,
    /// Slice: scaled at every level of groups. Debit: the slice in virtual time.
    ScaleEveryLevel,
}

/// Placement of new tasks and of sleepers that wake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaceRule {
    /// Whether a new task is put exactly there, even if it (or its parent) was further ahead.
    pub initial_is_exact: bool,
    /// Whether groups that wake also receive credit, and not only tasks.
    pub groups_get_credit: bool,
    /// Whether the normalised credit (feature `NORMALIZED_SLEEPER`) also applies to `SCHED_IDLE`
    /// tasks.
    pub normalize_idle_too: bool,
}

/// Distance by which a woken entity must be behind the running one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GranRule {
    /// The granularity in the virtual time of the running entity, if its weight is not 1024. It is
    /// compared as an unsigned number.
    OfRunning,
    /// The granularity in the virtual time of the running entity, if it is heavier than 1024.
    OfHeavyRunning,
    /// The granularity in the virtual time of the woken entity.
    OfWoken,
    /// In the virtual time of the woken entity. It shrinks the longer the running entity has run
    /// and the sooner the woken one wakes others.
    Adaptive,
}

/// The entities that become buddies, which are picked before the leftmost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buddies {
    /// No buddies.
    None,
    /// The woken entity (`next`) and the running one (`last`), at every wakeup. `next` is
    /// preferred.
    EveryWakeup,
    /// The preempted entity (`last`), if there are many entities. `next` only with `NEXT_BUDDY`.
    /// `last` is preferred.
    Preempted,
    /// The preempted entity (`last`), if there are many entities, the preempting one (`next`), and
    /// one that yields and is to be skipped (`skip`). `next` is preferred.
    Preempting,
}

/// The properties and defaults of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// Version number.
    pub name: &'static str,
    /// `sched_latency_ns` before scaling by the number of CPUs.
    pub latency_ns: u64,
    /// `sched_min_granularity_ns` before scaling.
    pub min_granularity_ns: u64,
    /// `sched_wakeup_granularity_ns` before scaling.
    pub wakeup_granularity_ns: u64,
    /// `nr_latency` until the latency or the granularity is written.
    pub nr_latency: u64,
    /// `sched_child_runs_first`.
    pub child_runs_first: bool,
    /// Feature bits that can be set, and their defaults.
    pub features: &'static [(Feature, bool)],
    /// Formula for inverses.
    pub inverse: InverseRule,
    /// Formula for periods.
    pub period: PeriodRule,
    /// Formula for slices.
    pub slice: SliceRule,
    /// Placement.
    pub place: PlaceRule,
    /// Wakeup granularity.
    pub gran: GranRule,
    /// Buddies.
    pub buddies: Buddies,
    /// Whether a wakeup tries each level of groups, from the common one upward, until one preempts.
    /// Otherwise only the common one.
    pub tries_levels_upward: bool,
    /// Whether the wakeup check stops where a reschedule is pending, and follows the order of
    /// 2.6.32 otherwise.
    pub checks_pending: bool,
    /// Whether a fork always makes its CPU reschedule.
    pub resched_after_fork: bool,
    /// Whether the tick also reschedules for an entity that is far behind.
    pub tick_compares_leftmost: bool,
    /// Whether that test spares an entity that is behind all others. Otherwise it counts as
    /// infinitely far ahead.
    pub tick_spares_behind: bool,
    /// Whether the end of a slice clears the buddies.
    pub tick_clears_buddies: bool,
    /// Whether a running `SCHED_IDLE` task gives way to every woken task.
    pub idle_policy_gives_way: bool,
    /// Whether a woken `SCHED_IDLE` task never preempts.
    pub idle_policy_never_preempts: bool,
    /// Whether `min_vruntime` advances only when time is charged, and then even if none has passed.
    /// If not, it also advances at dequeues.
    pub min_vruntime_on_charge_only: bool,
    /// Whether the weight of `SCHED_IDLE` is 2, with an inverse that is wrong by mistake.
    pub old_idle_weight: bool,
    /// Whether a task that changes its policy to `SCHED_IDLE` keeps the weight of its nice value,
    /// so that only a task that starts with that policy has the weight of it. (Derived from a
    /// golden schedule of 2.6.24. The reason is unknown.)
    pub change_to_idle_keeps_weight: bool,
    /// Whether there are task groups.
    pub groups: bool,
    /// Whether the weight of a group's entity follows the load of its queue at every enqueue and
    /// dequeue. Otherwise shares are divided again from time to time.
    pub shares_follow_load: bool,
    /// Whether `wake_up_new_task` chooses the CPU of a new task, which `sched_fork` did until
    /// 2.6.33.
    pub chooses_cpu_at_first_wakeup: bool,
    /// Whether a wakeup searches for an idle CPU that shares the cache.
    pub idle_sibling: bool,
    /// Limits on the CPU time of groups, if any, and their version.
    pub bandwidth: Option<BandwidthVersion>,
    /// Whether CPU-bound tasks are made less nice ([`interactive`](super::interactive)).
    pub interactive: bool,
    /// Whether many CPUs are balanced, and the groups' shares divided over them.
    pub many_cpus: bool,
    /// Whether several CPUs are balanced as in 2.6.22, by weight, and each reads only its own
    /// clock.
    pub balances_as_2_6_24: bool,
    /// Maximum number of CPUs counted by the boot factor.
    pub factor_cpus_max: u32,
    /// Whether times that were never written follow the number of CPUs online at hotplug events.
    pub rescales: bool,
    /// Whether the balancer counts the tasks that it moves as nothing when no group exists (2.6.32
    /// to 2.6.34).
    pub over_pulls: bool,
    /// Whether the queued tasks of all groups are in one list for each CPU (`cfs_tasks`).
    pub lists_tasks_by_cpu: bool,
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
        change_to_idle_keeps_weight: false,
        groups: true,
        shares_follow_load: false,
        chooses_cpu_at_first_wakeup: false,
        idle_sibling: false,
        bandwidth: None,
        interactive: false,
        many_cpus: true,
        balances_as_2_6_24: false,
        factor_cpus_max: u32::MAX,
        rescales: false,
        over_pulls: true,
        lists_tasks_by_cpu: false,
    };

    /// The long-term release 2.6.32.60, to the extent that it is described. From 2.6.33 it has the
    /// growth of times with the number of CPUs, repeated at hotplug events. Its other changes from
    /// later releases are unknown.
    pub const V2_6_32_60: Version =
        Version { name: "2.6.32.60", factor_cpus_max: 8, rescales: true, ..Version::V2_6_32 };

    /// 3.2: quotas for groups, the defaults that hold since 2.6.36, and the other known differences
    /// on one CPU. No description of its balancing of several CPUs is available. That of 2.6.32 is
    /// used.
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
        chooses_cpu_at_first_wakeup: true,
        idle_sibling: true,
        bandwidth: Some(BandwidthVersion::V3_2),
        factor_cpus_max: 8,
        rescales: true,
        over_pulls: false,
        ..Version::V2_6_32
    };

    /// 3.10, whose balancing is in [`v3_10`](super::v3_10).
    pub const V3_10: Version = Version {
        name: "3.10",
        features: FEATURES_3_10,
        lists_tasks_by_cpu: true,
        ..Version::V3_2
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

    /// 2.6.28: `SCHED_IDLE` tasks are ordinary ones with a tiny weight (and its wrong inverse).
    pub const V2_6_28: Version = Version {
        name: "2.6.28",
        place: PlaceRule { normalize_idle_too: true, ..Version::V2_6_29.place },
        tick_clears_buddies: false,
        idle_policy_gives_way: false,
        idle_policy_never_preempts: false,
        old_idle_weight: true,
        ..Version::V2_6_29
    };

    /// 2.6.24: the first release with vruntime. It has no buddies, no hierarchy in slices, and
    /// plain divisions.
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
        change_to_idle_keeps_weight: true,
        groups: false,
        ..Version::V2_6_28
    };
}
