//! BMQ, the BitMap Queue: a boost for each task.
//!
//! The level of a task is its nice value plus its boost, halved. The boost begins at 0. It rises by
//! 1, to a worse level, whenever the task has used up a slice, and falls by 1 whenever the task
//! blocks. So a task that mostly sleeps climbs 6 levels above its nice value, and a hog sinks 6
//! levels below it.

use super::entity::Entity;
use super::ranking::{MIN_NORMAL_LEVEL, Ranking};
use schedlab_core::{Candidate, Policy};

/// `MAX_PRIORITY_ADJ`: the largest boost in either direction.
const MAX_PRIORITY_ADJ: i8 = 12;

/// The policy.
#[derive(Debug)]
pub(super) struct Bmq;

impl Bmq {
    /// Improves the boost by `steps`, but not beyond the limit of the policy. `SCHED_IDLE` and
    /// real-time tasks keep theirs.
    fn boost(task: &mut Entity, steps: i8) {
        let limit = match task.policy {
            Policy::Other => -MAX_PRIORITY_ADJ,
            Policy::Batch => 0,
            Policy::Idle | Policy::Fifo | Policy::RoundRobin | Policy::Deadline | Policy::Iso => {
                return;
            }
        };
        task.boost = (task.boost - steps).max(limit);
    }
}

impl Ranking for Bmq {
    #[inline]
    fn time_edge(_clock_ns: u64) -> u64 {
        0
    }

    #[inline]
    fn normal_level(task: &Entity, _time_edge: u64) -> u8 {
        // From 0, for nice -20 and boost -12, to 63, for nice 19 and boost 12.
        let prio = 32 + task.nice + task.boost;
        MIN_NORMAL_LEVEL + prio as u8 / 2
    }

    fn forked(task: &mut Entity, parents_boost: i8, _time_edge: u64) {
        task.boost = parents_boost;
    }

    fn renew(task: &mut Entity, _time_edge: u64) {
        task.boost = (task.boost + 1).min(MAX_PRIORITY_ADJ);
    }

    fn yields(task: &mut Entity) -> bool {
        task.boost = MAX_PRIORITY_ADJ;
        false
    }

    fn blocks(task: &mut Entity) {
        Bmq::boost(task, 1);
    }

    /// In the kernel a task that woke before, less than a slice ago, is boosted. But the time since
    /// then is shifted by 22 bits before it is compared with nanoseconds, so that none is; what is
    /// left is the limit of the policy.
    fn wakes(task: &mut Entity) {
        Bmq::boost(task, 0);
    }

    fn moved(_task: &mut Entity, _time_edge: u64) {}

    fn explain(task: &Entity, _time_edge: u64, candidate: Candidate) -> Candidate {
        candidate.with("boost_prio", task.boost.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task with a policy and a boost.
    fn task(policy: Policy, boost: i8) -> Entity {
        Entity { policy, boost, ..Entity::default() }
    }

    #[test]
    fn two_nice_values_or_two_boosts_are_one_level() {
        let level =
            |nice, boost| Bmq::normal_level(&Entity { nice, ..task(Policy::Other, boost) }, 0);
        assert_eq!([-20, -19, 0, 1, 2, 19].map(|nice| level(nice, 0)), [38, 38, 48, 48, 49, 57]);
        assert_eq!([-2, -1, 0, 1, 2].map(|boost| level(0, boost)), [47, 47, 48, 48, 49]);
        assert_eq!((level(-20, -12), level(19, 12)), (32, 63));
    }

    #[test]
    fn sleeping_improves_the_boost_down_to_the_limit_of_the_policy() {
        let after = |policy, boost| {
            let mut task = task(policy, boost);
            Bmq::blocks(&mut task);
            task.boost
        };
        assert_eq!([-12, -11, 0, 12].map(|boost| after(Policy::Other, boost)), [-12, -12, -1, 11]);
        assert_eq!([-3, 0, 1, 5].map(|boost| after(Policy::Batch, boost)), [0, 0, 0, 4]);
        for policy in [Policy::Idle, Policy::Fifo, Policy::RoundRobin] {
            assert_eq!(after(policy, 5), 5);
        }
    }

    #[test]
    fn a_wakeup_only_applies_the_limit() {
        let after = |policy, boost| {
            let mut task = task(policy, boost);
            Bmq::wakes(&mut task);
            task.boost
        };
        assert_eq!((after(Policy::Other, -5), after(Policy::Batch, 7)), (-5, 7));
        assert_eq!(after(Policy::Batch, -5), 0, "it became SCHED_BATCH while it slept");
    }

    #[test]
    fn slices_worsen_the_boost_up_to_12() {
        let mut task = task(Policy::Other, 10);
        for boost in [11, 12, 12] {
            Bmq::renew(&mut task, 0);
            assert_eq!(task.boost, boost);
        }
    }
}
