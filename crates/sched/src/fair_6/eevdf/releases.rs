//! The releases, and a name for each difference between them.

use super::Eevdf;
use crate::classes::bandwidth::BandwidthVersion;
use crate::fair_6::differences::{Differences, QuestionDoc, Switchable, own_questions};
use crate::fair_6::rule_state::{
    FairVersion, SHARED_QUESTIONS, SharedQuestion, shared_answers, shared_bits,
};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

/// The default release. The others are described by their differences from it.
const DEFAULT: Release = Release {
    version: "6.18",
    also: &["6.18.15"],
    summary: "the running task is protected up to a point in virtual time",
    golden: &[("eevdf", "6.18.15"), ("eevdf", "6.18.2"), ("deadline", "6.18.15")],
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
    build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_18, config))),
};

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("eevdf"),
    title: Cow::Borrowed("Earliest eligible virtual deadline first"),
    summary: Cow::Borrowed(
        "of the tasks that are owed time, the one whose request is due first runs",
    ),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "7.3",
            also: &["7.3.4"],
            summary: "all tasks of a CPU are in one queue, and groups only give weights",
            golden: &[("eevdf", "7.3.4")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V7_3, config))),
            ..DEFAULT
        },
        Release {
            version: "7.2",
            also: &["7.2.13"],
            summary: "as 7.1; groups that run out of quota are throttled at once",
            golden: &[("eevdf", "7.2.13")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V7_2, config))),
            ..DEFAULT
        },
        Release {
            version: "7.1",
            also: &["7.1.3"],
            summary: "HRTICK ends turns when the request is served; delayed tasks keep their \
                      smallest debt",
            golden: &[("eevdf", "7.1.3")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V7_1, config))),
            ..DEFAULT
        },
        Release {
            version: "7.0",
            also: &["7.0.0"],
            summary: "lag is limited by the longest slice of the queue",
            golden: &[("eevdf", "7.0.0")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V7_0, config))),
            ..DEFAULT
        },
        Release {
            version: "6.19",
            also: &["6.19.0"],
            summary: "children preempt only with a shorter slice, woken tasks in any case end the \
                      protection sooner",
            golden: &[("eevdf", "6.19.0")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_19, config))),
            ..DEFAULT
        },
        Release {
            version: "6.14",
            also: &["6.14.0"],
            summary: "a change of weight places the entity again; balancing asks for eligibility",
            golden: &[("eevdf", "6.14.0")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_14, config))),
            ..DEFAULT
        },
        Release {
            version: "6.12",
            also: &["6.12.117"],
            summary: "delayed dequeue, custom slices",
            golden: &[("eevdf", "6.12.117")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_12, config))),
            ..DEFAULT
        },
        Release {
            version: "6.11",
            also: &["6.11.11"],
            summary: "as 6.8; wakeups compare policies and groups where the two tasks meet",
            golden: &[("eevdf", "6.11.11")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_11, config))),
            ..DEFAULT
        },
        Release {
            version: "6.8",
            also: &["6.8.1"],
            summary: "the tree is sorted by deadline",
            golden: &[("eevdf", "6.8.1")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_8, config))),
            ..DEFAULT
        },
        Release {
            version: "6.6",
            also: &["6.6.93"],
            summary: "the first EEVDF: sorted by vruntime, lag kept across sleeps of any length",
            golden: &[("eevdf", "6.6.93")],
            build: Build::Ordinary(|config| Box::new(Eevdf::new(Version::V6_6, config))),
            ..DEFAULT
        },
    ],
};

/// A version of the algorithm, the oldest first. Most changes stayed, so most questions about a
/// version are "from which on".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 6.6: the first one (read in longterm 6.6.93).
    V6_6,
    /// 6.8: the tree is sorted by deadline (read in 6.8.1, as Ubuntu 24.04 has it).
    V6_8,
    /// 6.11: wakeups compare policies like groups (read in 6.11.11).
    V6_11,
    /// 6.12: delayed dequeue, custom slices (read in longterm 6.12.117, which has some changes of
    /// later releases).
    V6_12,
    /// 6.14: a change of weight places the entity again (read in 6.14.0).
    V6_14,
    /// 6.18: protection up to a point in virtual time (read in 6.18.2 and 6.18.15).
    V6_18,
    /// 6.19: children preempt only with a shorter slice (read in 6.19.0).
    V6_19,
    /// 7.0: lag is limited by the longest slice of the queue (read in 7.0.0).
    V7_0,
    /// 7.1: `HRTICK` is on by default, and weights are no longer shifted (read in 7.1.3).
    V7_1,
    /// 7.2: minima of subtrees are exact, quotas end at once (read in 7.2.13).
    V7_2,
    /// 7.3: one tree for all groups (read in 7.3.4).
    V7_3,
}

impl Version {
    /// Whether this is `first` or a later one: where a change stayed.
    pub const fn is_since(self, first: Version) -> bool {
        self as u8 >= first as u8
    }
}

own_questions! {
    for Version, of which SHARED and OWN can be switched;

    /// Whether the tree is ordered by deadline and stores the smallest vruntimes, not the other way
    /// round.
    pub const fn tree_by_deadline(self) -> bool {
        self.is_since(Version::V6_8)
    }

    /// Whether a waiting entity whose weight changes is taken out of its queue first, without a
    /// charge, so that V is that of the others; and its lag is not limited. (Only 6.8.)
    pub const fn reweights_apart(self) -> bool {
        matches!(self, Version::V6_8)
    }

    /// Whether a task preempts a `SCHED_IDLE` task at once, whatever their groups, and groups alone
    /// are compared further up. (Only 6.8.)
    pub const fn idle_tasks_give_way_first(self) -> bool {
        matches!(self, Version::V6_8)
    }

    /// Whether the running entity of the parent's queue is charged while a child is prepared,
    /// before the child's CPU is chosen. (6.8 and 6.11.)
    pub const fn fork_charges_parent(self) -> bool {
        matches!(self, Version::V6_8 | Version::V6_11)
    }

    /// Whether a child's first request is half as long (`PLACE_DEADLINE_INITIAL`). Before, the half
    /// is set when the child is prepared, and lost when it is placed again as it is queued.
    pub const fn first_request_is_half(self) -> bool {
        self.is_since(Version::V6_12)
    }

    /// Whether `sched_yield` forfeits the rest of the request: vruntime jumps to the deadline.
    /// Otherwise the deadline is only postponed. (6.12 took this over from a later release.)
    pub const fn yield_forfeits(self) -> bool {
        matches!(self, Version::V6_12) || self.is_since(Version::V6_18)
    }

    /// Whether a change of an entity's weight keeps its lag by placing it again, with inflation.
    pub const fn reweight_places(self) -> bool {
        self.is_since(Version::V6_14)
    }

    /// Whether a task that is ineligible on its own queue is at first not moved to a CPU that has
    /// other tasks.
    pub const fn balance_asks_eligibility(self) -> bool {
        self.is_since(Version::V6_14)
    }

    /// Whether an idle entity that gives way at a wakeup also loses its protection. (6.12 took
    /// this over from a later release.)
    pub const fn idle_loses_protection(self) -> bool {
        matches!(self, Version::V6_12) || self.is_since(Version::V6_18)
    }

    /// Whether the running task is protected up to a virtual time (`vprot`), not by the mark "vlag
    /// = deadline".
    pub const fn protects_until(self) -> bool {
        self.is_since(Version::V6_18)
    }

    /// Whether a child with no shorter slice preempts nothing, and neither does a task that is
    /// woken before its dequeue is finished; a wakeup that does not preempt always ends the
    /// protection of the running entity sooner; and its check returns the next buddy.
    pub const fn only_short_children_preempt(self) -> bool {
        self.is_since(Version::V6_19)
    }

    /// Whether lag is limited by the longest slice of the queue and a tick, instead of two slices
    /// of its own or a tick.
    pub const fn limits_lag_by_longest(self) -> bool {
        self.is_since(Version::V7_0)
    }

    /// Whether a running entity whose weight changes remains protected. Before, its protection was
    /// overwritten by its lag.
    pub const fn reweight_keeps_protection(self) -> bool {
        self.is_since(Version::V7_0)
    }

    /// Whether only a task that is picked starts a protection, not a running one that is put back
    /// after a change.
    pub const fn protects_only_the_picked(self) -> bool {
        self.is_since(Version::V7_0)
    }

    /// Whether a change of weight keeps V: vruntime, deadline and protection are rescaled about it.
    pub const fn reweight_keeps_v(self) -> bool {
        self.is_since(Version::V7_1)
    }

    /// Whether a delayed entity comes back with the smallest debt that it has had, whenever its lag
    /// is computed.
    pub const fn delayed_lag_only_shrinks(self) -> bool {
        self.is_since(Version::V7_1)
    }

    /// Whether a wakeup check that finds a delayed entity finishes its dequeue and looks again, and
    /// regards next buddies only where it regards protection.
    pub const fn check_finishes_delayed(self) -> bool {
        self.is_since(Version::V7_1)
    }

    /// Whether each queue of a group receives a nanosecond of runtime when its limits are set.
    pub const fn limits_give_a_nanosecond(self) -> bool {
        self.is_since(Version::V6_18)
    }

    /// Whether the running entity is charged before a delayed one is woken.
    pub const fn charges_before_requeue(self) -> bool {
        self.is_since(Version::V7_2)
    }

    /// Whether a node that takes another's place in the tree takes over all minima, which are
    /// therefore exact.
    pub const fn minima_are_exact(self) -> bool {
        self.is_since(Version::V7_2)
    }
}

// Boot values of features and tunables, which are settings.
impl Version {
    /// Whether tasks that go to sleep after they have received too much stay queued, moves keep the
    /// distance to the deadline, and next buddies count.
    pub const fn has_delayed_dequeue(self) -> bool {
        self.is_since(Version::V6_12)
    }

    /// Whether `HRTICK` is on by default.
    pub const fn has_hrtick(self) -> bool {
        self.is_since(Version::V7_1)
    }

    /// `base_slice_ns` before it is scaled by the number of CPUs: 750,000 up to 6.14, 700,000
    /// since 6.15, which longterm releases took over.
    pub const fn base_slice_ns(self) -> u32 {
        match self {
            Version::V6_8 | Version::V6_11 | Version::V6_14 => 750_000,
            _ => 700_000,
        }
    }
}

/// Questions of all fair classes that can be switched. The others whose answers changed depend on
/// how the scheduler was built (fair servers, the tree of all tasks), or others rely on them:
/// timers compute with the weights that the release stores.
const SHARED: &[SharedQuestion] = &[
    SharedQuestion::custom_slices,
    SharedQuestion::throttles_tasks,
    SharedQuestion::first_util_by_stored_weight,
    SharedQuestion::estimates_after_dequeue,
    SharedQuestion::slices_follow_at_once,
    SharedQuestion::weighs_empty_groups,
    SharedQuestion::idle_policy_keeps_load,
    SharedQuestion::picked_again_is_newest,
    SharedQuestion::balances_before_pick,
    SharedQuestion::looks_until_movable,
    SharedQuestion::balances_delayed_tasks,
    SharedQuestion::moves_delayed_tasks,
    SharedQuestion::delayed_tasks_hold_waker,
    SharedQuestion::forks_count_forbidden_cpus,
    SharedQuestion::checks_moved_tasks,
    SharedQuestion::sums_never_below_averages,
    SharedQuestion::throttles_at_charge,
    SharedQuestion::idle_tasks_join_idle_tasks,
    SharedQuestion::knows_caches_by_size,
];

/// Questions of this family that can be switched: all but the order of the tree and the limits, for
/// which the scheduler is built.
const OWN: &[OwnQuestion] = &[
    OwnQuestion::reweights_apart,
    OwnQuestion::idle_tasks_give_way_first,
    OwnQuestion::fork_charges_parent,
    OwnQuestion::first_request_is_half,
    OwnQuestion::yield_forfeits,
    OwnQuestion::reweight_places,
    OwnQuestion::balance_asks_eligibility,
    OwnQuestion::idle_loses_protection,
    OwnQuestion::protects_until,
    OwnQuestion::only_short_children_preempt,
    OwnQuestion::limits_lag_by_longest,
    OwnQuestion::reweight_keeps_protection,
    OwnQuestion::protects_only_the_picked,
    OwnQuestion::reweight_keeps_v,
    OwnQuestion::delayed_lag_only_shrinks,
    OwnQuestion::check_finishes_delayed,
    OwnQuestion::charges_before_requeue,
    OwnQuestion::minima_are_exact,
];

impl FairVersion for Version {
    #[inline]
    fn custom_slices(self) -> bool {
        self.is_since(Version::V6_12)
    }

    fn has_fair_server(self) -> bool {
        self.is_since(Version::V6_12)
    }

    #[inline]
    fn throttles_tasks(self) -> bool {
        self.is_since(Version::V6_18)
    }

    #[inline]
    fn first_util_by_stored_weight(self) -> bool {
        matches!(self, Version::V6_8)
    }

    #[inline]
    fn estimates_after_dequeue(self) -> bool {
        !self.is_since(Version::V6_12) || self.is_since(Version::V7_2)
    }

    #[inline]
    fn slices_follow_at_once(self) -> bool {
        !matches!(self, Version::V6_14)
    }

    #[inline]
    fn weighs_empty_groups(self) -> bool {
        matches!(self, Version::V6_8 | Version::V6_11)
    }

    #[inline]
    fn idle_policy_keeps_load(self) -> bool {
        matches!(self, Version::V6_8)
    }

    #[inline]
    fn picked_again_is_newest(self) -> bool {
        !self.is_since(Version::V6_12)
    }

    #[inline]
    fn balances_before_pick(self) -> bool {
        !self.is_since(Version::V6_19)
    }

    #[inline]
    fn looks_until_movable(self) -> bool {
        matches!(self, Version::V6_8)
    }

    #[inline]
    fn balances_delayed_tasks(self) -> bool {
        matches!(self, Version::V6_12)
    }

    #[inline]
    fn moves_delayed_tasks(self) -> bool {
        matches!(self, Version::V6_12)
    }

    #[inline]
    fn delayed_tasks_hold_waker(self) -> bool {
        matches!(self, Version::V6_14)
    }

    #[inline]
    fn forks_count_forbidden_cpus(self) -> bool {
        !self.is_since(Version::V6_19)
    }

    fn checks_moved_tasks(self) -> bool {
        self.is_since(Version::V7_0)
    }

    #[inline]
    fn sums_never_below_averages(self) -> bool {
        self.is_since(Version::V7_0)
    }

    #[inline]
    fn has_one_tree(self) -> bool {
        self.is_since(Version::V7_3)
    }

    #[inline]
    fn throttles_at_charge(self) -> bool {
        self.is_since(Version::V7_2)
    }

    #[inline]
    fn divides_by_weight(self) -> bool {
        self.is_since(Version::V7_1)
    }

    #[inline]
    fn idle_tasks_join_idle_tasks(self) -> bool {
        !self.is_since(Version::V7_1)
    }

    #[inline]
    fn knows_caches_by_size(self) -> bool {
        !self.is_since(Version::V7_1)
    }

    fn quotas(self) -> BandwidthVersion {
        match self.limits_give_a_nanosecond() {
            true => BandwidthVersion::V6_18,
            false => BandwidthVersion::V5_14,
        }
    }
}

/// `/sys/kernel/debug/sched/features`: switches under the kernel's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// A task keeps its lag over a sleep.
    pub place_lag: bool,
    /// A forked task's first deadline is half a slice away.
    pub place_deadline_initial: bool,
    /// A queued task that is moved elsewhere keeps its distance to the deadline.
    pub place_rel_deadline: bool,
    /// The running task is protected from preemption.
    pub run_to_parity: bool,
    /// A waking task with a shorter slice may break the protection.
    pub preempt_short: bool,
    /// A task that goes to sleep while ineligible stays queued until it is eligible.
    pub delay_dequeue: bool,
    /// Lag that such a task has gained in the meantime is cut off.
    pub delay_zero: bool,
    /// A woken task becomes the next buddy.
    pub next_buddy: bool,
    /// The next buddy is picked if it is eligible.
    pub pick_buddy: bool,
    /// Wakeups may preempt at all.
    pub wakeup_preemption: bool,
    /// Newly idle CPUs balance less often the less it achieves.
    pub ni_random: bool,
    /// A timer ends turns when the request is served.
    pub hrtick: bool,
}

/// A feature: its name, the first release that has it, and its switch.
pub struct Feature {
    /// The kernel's name.
    pub name: &'static str,
    /// The first release that has it.
    pub since: Version,
    /// Description in one line.
    pub help: &'static str,
    /// Its switch.
    pub switch: fn(&mut Features) -> &mut bool,
}

/// All features.
pub static FEATURES: [Feature; 12] = [
    Feature {
        name: "PLACE_LAG",
        since: Version::V6_6,
        help: "a task keeps its lag across a sleep",
        switch: |features| &mut features.place_lag,
    },
    Feature {
        name: "PLACE_DEADLINE_INITIAL",
        since: Version::V6_6,
        help: "a forked task's first deadline is half a slice away",
        switch: |features| &mut features.place_deadline_initial,
    },
    Feature {
        name: "PLACE_REL_DEADLINE",
        since: Version::V6_12,
        help: "a queued task that is moved keeps its distance to the deadline",
        switch: |features| &mut features.place_rel_deadline,
    },
    Feature {
        name: "RUN_TO_PARITY",
        since: Version::V6_6,
        help: "the running task is protected from preemption",
        switch: |features| &mut features.run_to_parity,
    },
    Feature {
        name: "PREEMPT_SHORT",
        since: Version::V6_12,
        help: "a waking task with a shorter slice may break the protection",
        switch: |features| &mut features.preempt_short,
    },
    Feature {
        name: "DELAY_DEQUEUE",
        since: Version::V6_12,
        help: "a task that goes to sleep while ineligible stays queued until it is eligible",
        switch: |features| &mut features.delay_dequeue,
    },
    Feature {
        name: "DELAY_ZERO",
        since: Version::V6_12,
        help: "lag that a delayed task has gained by waiting is cut off",
        switch: |features| &mut features.delay_zero,
    },
    Feature {
        name: "NEXT_BUDDY",
        since: Version::V6_6,
        help: "a woken task becomes the next buddy",
        switch: |features| &mut features.next_buddy,
    },
    Feature {
        name: "PICK_BUDDY",
        since: Version::V6_12,
        help: "the next buddy is picked if it is eligible",
        switch: |features| &mut features.pick_buddy,
    },
    Feature {
        name: "WAKEUP_PREEMPTION",
        since: Version::V6_6,
        help: "wakeups may preempt",
        switch: |features| &mut features.wakeup_preemption,
    },
    Feature {
        name: "NI_RANDOM",
        since: Version::V6_18,
        help: "the less newly idle balancing achieves, the less often it is tried",
        switch: |features| &mut features.ni_random,
    },
    Feature {
        name: "HRTICK",
        since: Version::V7_1,
        help: "a timer ends turns when the request is served, not the next tick",
        switch: |features| &mut features.hrtick,
    },
];

impl Features {
    /// The boot values of the release.
    pub const fn of(version: Version) -> Features {
        let later = version.has_delayed_dequeue();
        Features {
            place_lag: true,
            place_deadline_initial: true,
            place_rel_deadline: later,
            run_to_parity: true,
            preempt_short: later,
            delay_dequeue: later,
            delay_zero: later,
            next_buddy: false,
            pick_buddy: later,
            wakeup_preemption: true,
            ni_random: version.is_since(Version::V7_0),
            hrtick: version.has_hrtick(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_cannot_be_switched_is_known() {
        let all = [
            Version::V6_6,
            Version::V6_8,
            Version::V6_11,
            Version::V6_12,
            Version::V6_14,
            Version::V6_18,
            Version::V6_19,
            Version::V7_0,
            Version::V7_1,
            Version::V7_2,
            Version::V7_3,
        ];
        let [fixed, needless] = crate::fair_6::differences::unswitched(&all);
        // Built at boot: the trees, the fair server, the limits. And the unit of weights.
        let built = [
            "tree_by_deadline",
            "limits_give_a_nanosecond",
            "has_fair_server",
            "has_one_tree",
            "divides_by_weight",
        ];
        assert_eq!(fixed, built, "add a new question to SHARED or OWN, or here with the reason");
        assert!(needless.is_empty(), "{needless:?}");
    }

    #[test]
    fn most_changes_stayed_and_some_were_taken_over_early() {
        let since = |question: fn(Version) -> bool| {
            let all = [Version::V6_6, Version::V6_8, Version::V6_11, Version::V6_12];
            let later = [Version::V6_14, Version::V6_18, Version::V6_19, Version::V7_3];
            [all, later].concat().into_iter().map(|v| u8::from(question(v))).collect::<Vec<_>>()
        };
        assert_eq!(since(Version::tree_by_deadline), [0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(since(Version::has_delayed_dequeue), [0, 0, 0, 1, 1, 1, 1, 1]);
        assert_eq!(since(Version::reweight_places), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(since(Version::protects_until), [0, 0, 0, 0, 0, 1, 1, 1]);
        assert_eq!(since(Version::only_short_children_preempt), [0, 0, 0, 0, 0, 0, 1, 1]);
        // 6.12.117 has them, and 6.14 has them not.
        assert_eq!(since(Version::yield_forfeits), [0, 0, 0, 1, 0, 1, 1, 1]);
        assert_eq!(since(Version::idle_loses_protection), [0, 0, 0, 1, 0, 1, 1, 1]);
        assert_eq!(since(|v| v.base_slice_ns() == 700_000), [1, 0, 0, 1, 0, 1, 1, 1]);
    }
}
