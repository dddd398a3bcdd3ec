//! The state that a set of picking rules adds to the fair class, and the types that come with it:
//! its releases and its tunables.
//!
//! [`Fair`](super::class::Fair) is generic over a [`RuleState`]. The decisions themselves are in
//! [`PickRule`](super::pick_rule::PickRule), which extends it.

use super::balance_tunables::BalanceTunables;
use crate::classes::bandwidth::BandwidthVersion;
use alloc::vec::Vec;
use core::fmt::Debug;
use schedlab_core::Tunable;

/// State that the picking rules keep, with the types of their releases and tunables.
pub trait RuleState: Sized + Default + Debug {
    /// The releases.
    type Version: FairVersion;
    /// The tunables.
    type Tunables: FairTunables<Version = Self::Version>;
}

/// A release, as the shared half sees it: each difference has a name. What a release does not
/// mention it does as 6.18.
pub trait FairVersion: Copy + Debug {
    /// Entities ask for slices of their own, and groups take the smallest of their members.
    fn custom_slices(self) -> bool;

    /// Fair servers, in place of real-time throttling, keep real-time tasks from starving the
    /// others.
    fn has_fair_server(self) -> bool;

    /// Balancing tells cores with several threads from CPUs: an idle core is first to balance, a
    /// core with two tasks is relieved, groups are compared by their cores.
    #[inline]
    fn balances_cores(self) -> bool {
        true
    }

    /// Forks and execs add up what all CPUs of a group do, not only those that the task may use.
    #[inline]
    fn forks_count_forbidden_cpus(self) -> bool {
        true
    }

    /// A wakeup looks for an idle core, then at as many CPUs as the time that its own CPU idles
    /// pays for (`SIS_PROP`), from the target on, and last at the threads of the target's core
    /// (up to 5.18). What was used before last is forgotten only when it is chosen.
    #[inline]
    fn scans_by_idle_time(self) -> bool {
        false
    }

    /// A CPU that idles for less than a migration costs does not balance as it goes idle, whatever
    /// balancing costs; and between nodes nothing is moved as long as the busiest has two tasks at
    /// most.
    #[inline]
    fn balances_before_5_12(self) -> bool {
        false
    }

    /// What differs in quotas.
    fn quotas(self) -> BandwidthVersion {
        BandwidthVersion::V5_14
    }

    /// Where utilisation is evened out the busiest CPU is found by what runs there or waits, not
    /// only by what runs.
    #[inline]
    fn waiting_is_utilisation(self) -> bool {
        true
    }

    /// A new task's utilisation is worked out with its stored weight, and so is nearly always half
    /// of what its queue has to spare.
    #[inline]
    fn first_util_by_stored_weight(self) -> bool {
        false
    }

    /// A sleeping task's utilisation is estimated when it has left its queue, not before.
    #[inline]
    fn estimates_after_dequeue(self) -> bool {
        false
    }

    /// The tasks of a group without quota leave one by one as they are picked, and what is not
    /// picked stays queued. Otherwise the whole queue leaves at once.
    #[inline]
    fn throttles_tasks(self) -> bool {
        false
    }

    /// What a group's entity weighs is found anew whenever the kernel comes by, be its queue empty
    /// or its weight the same; and a queue tells its group of every change of its load that is
    /// large enough, not once in a millisecond.
    #[inline]
    fn renews_empty_groups(self) -> bool {
        false
    }
}

/// What an administrator can set, as the shared half sees it.
pub trait FairTunables: Copy + Debug {
    /// The release.
    type Version: FairVersion;

    /// What the release boots with on so many CPUs.
    fn new(version: Self::Version, cpus: u32) -> Self;

    /// The request length that new entities begin with, ns; 0 where there are no requests.
    fn base_slice(&self) -> u32;

    /// Those of balancing.
    fn balancing(&self) -> &BalanceTunables;

    /// `NI_RANDOM`: newly idle CPUs balance the more seldom the less comes of it.
    fn ni_random(&self) -> bool;

    /// So many CPUs are on line from now on.
    fn rescale(&mut self, online: u32);

    /// All with their values; that of the groups' quotas is `quota_slice_us`.
    fn list(&self, quota_slice_us: i64) -> Vec<Tunable>;
}
