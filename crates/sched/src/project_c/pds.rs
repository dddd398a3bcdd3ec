//! PDS, Priority and Deadline based Skiplist: virtual deadlines, counted in slots.
//!
//! A slot is 2^23 ns, two slices. A task gets a deadline when it starts, and a new one whenever it
//! has used up a slice or yields: 12 to 31 slots from now, by its nice value. Its level is the
//! number of slots until then, so that all waiting tasks come nearer as time passes. A sleeper
//! keeps its deadline, and is on the best level when that lies in the past.
//!
//! (The skip list is gone since the policy shares a core with BMQ; the name stayed.)

use super::entity::Entity;
use super::ranking::{MAX_NORMAL_LEVEL, MIN_NORMAL_LEVEL, Ranking};
use schedlab_core::Candidate;

/// A slot is 1 << 23 ns.
const SLOT_SHIFT: u32 = 23;
/// The most distant slot that has a level of its own.
const FARTHEST: u64 = (MAX_NORMAL_LEVEL - MIN_NORMAL_LEVEL) as u64;

/// The policy.
#[derive(Debug)]
pub(super) struct Pds;

/// Number of slots from now to the deadline of a full slice: 12 for nice -20, 22 for nice 0, 31 for
/// nice 19.
const fn slots(nice: i8) -> u64 {
    12 + (20 + nice) as u64 / 2
}

impl Ranking for Pds {
    #[inline]
    fn time_edge(clock_ns: u64) -> u64 {
        clock_ns >> SLOT_SHIFT
    }

    #[inline]
    fn normal_level(task: &Entity, time_edge: u64) -> u8 {
        let ahead = task.deadline.saturating_sub(time_edge).min(FARTHEST);
        MIN_NORMAL_LEVEL + ahead as u8
    }

    fn forked(task: &mut Entity, _parents_boost: i8, time_edge: u64) {
        Pds::renew(task, time_edge);
    }

    fn renew(task: &mut Entity, time_edge: u64) {
        if !task.is_realtime() {
            task.deadline = time_edge + slots(task.nice);
        }
    }

    fn yields(_task: &mut Entity) -> bool {
        true
    }

    fn blocks(_task: &mut Entity) {}

    fn wakes(_task: &mut Entity) {}

    fn moved(task: &mut Entity, time_edge: u64) {
        task.deadline = task.deadline.min(time_edge + FARTHEST);
    }

    fn explain(task: &Entity, time_edge: u64, candidate: Candidate) -> Candidate {
        candidate
            .with("deadline_slot", task.deadline as i64)
            .with("time_edge_slot", time_edge as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_lie_12_to_31_slots_ahead() {
        assert_eq!([-20, -19, -18, 0, 1, 2, 19].map(slots), [12, 12, 13, 22, 22, 23, 31]);
    }

    #[test]
    fn a_level_is_the_distance_of_the_deadline_and_what_lies_in_the_past_is_the_best() {
        let mut task = Entity::default();
        Pds::renew(&mut task, 100);
        let levels = [100, 101, 121, 122, 123, 1000].map(|edge| Pds::normal_level(&task, edge));
        assert_eq!(levels, [54, 53, 33, 32, 32, 32]);
        Pds::moved(&mut task, 80);
        assert_eq!(task.deadline, 111, "no more than 31 slots ahead of the new CPU");
    }
}
