//! The differences between the two policies: the level of an ordinary task, and its changes.

use super::entity::Entity;
use core::fmt::Debug;
use schedlab_core::Candidate;

/// `MIN_SCHED_NORMAL_PRIO`: the best level of ordinary tasks. The levels below are for real-time
/// tasks.
pub(super) const MIN_NORMAL_LEVEL: u8 = 32;
/// The worst level of ordinary tasks.
pub(super) const MAX_NORMAL_LEVEL: u8 = 63;

/// One of the two policies.
pub(super) trait Ranking: Debug + 'static {
    /// The CPU's `time_edge` at a time of its clock: the number of a slot. Levels are counted from
    /// there. Always 0 where they do not depend on the time.
    fn time_edge(clock_ns: u64) -> u64;

    /// The level of an ordinary task in the queue of a CPU with this `time_edge`.
    fn normal_level(task: &Entity, time_edge: u64) -> u8;

    /// A task starts, or a child of a task that has this boost. The child's deadline is still its
    /// parent's.
    fn forked(task: &mut Entity, parents_boost: i8, time_edge: u64);

    /// A task has used up its slice.
    fn renew(task: &mut Entity, time_edge: u64);

    /// An ordinary task yields. Returns whether that is the end of its slice.
    fn yields(task: &mut Entity) -> bool;

    /// A task blocks or exits, and is about to leave its queue.
    fn blocks(task: &mut Entity);

    /// A sleeping task is woken.
    fn wakes(task: &mut Entity);

    /// A task moves to the queue of a CPU with this `time_edge`, other than by a wakeup.
    fn moved(task: &mut Entity, time_edge: u64);

    /// Adds to a candidate the numbers from which its level follows.
    fn explain(task: &Entity, time_edge: u64, candidate: Candidate) -> Candidate;
}

/// The level of a task: that of its real-time priority, four of which share one, or what the policy
/// makes it.
#[inline]
pub(super) fn level<R: Ranking>(task: &Entity, time_edge: u64) -> u8 {
    if task.is_realtime() {
        (99 - task.rt_priority.min(99)) >> 2
    } else {
        R::normal_level(task, time_edge)
    }
}
