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
            Policy::Idle | Policy::Fifo | Policy::RoundRobin | Policy::Deadline => return,
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
