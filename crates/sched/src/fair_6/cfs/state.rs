//! State of queues and entities that the vruntime rules add to that of every fair class.

use crate::fair_6::cfs_rq::CfsRq;
use crate::fair_6::entity::{Entity, Vruntime};
use crate::fair_6::ids::{CfsRqId, EntityId};
use schedlab_core::index::IndexVec;

/// The initial virtual time of every queue.
pub const START: Vruntime = Vruntime(0u64.wrapping_sub(1 << 20));

/// The rule of CFS: the entity with the smallest vruntime runs.
#[derive(Default, Debug)]
pub struct LeastVruntime {
    /// By queue.
    pub(super) queues: IndexVec<CfsRqId, QueueState>,
    /// By entity.
    pub(super) entities: IndexVec<EntityId, EntityState>,
}

/// State of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueState {
    /// The smallest vruntime of the queue, never decreasing (`min_vruntime`).
    pub min_vruntime: Vruntime,
    /// The entity that was preempted by a wakeup (`last`).
    pub last: Option<EntityId>,
    /// The entity that has yielded (`skip`).
    pub skip: Option<EntityId>,
    /// Number of queued entities that are idle ones (`idle_nr_running`).
    pub idle_nr: u32,
    /// Root group's queue: whether `put_prev` has been called for its running task during a pick,
    /// because a queue was throttled, and must not be called again.
    pub put_in_pick: bool,
}

/// State of an entity.
#[derive(Clone, Copy, Default, Debug)]
pub struct EntityState {
    /// Time for which it has run since it was last switched to, ns (`sum_exec_runtime -
    /// prev_sum_exec_runtime`).
    pub ran_ns: u64,
    /// Task: its utilisation when it last slept, and the moving average of that (`util_est`).
    pub util_enqueued: u32,
    /// See `util_enqueued`.
    pub util_ewma: u32,
    /// It is about to be woken on another CPU than the one on which it slept.
    pub migrated: bool,
}

impl Default for QueueState {
    fn default() -> QueueState {
        QueueState { min_vruntime: START, last: None, skip: None, idle_nr: 0, put_in_pick: false }
    }
}

impl LeastVruntime {
    /// Advances the `min_vruntime` of `queue`, whose index is `q`, to its entities.
    pub(super) fn follow(&mut self, q: CfsRqId, queue: &CfsRq, se: &IndexVec<EntityId, Entity>) {
        let curr = queue.competing_curr(se).map(|curr| se[curr].vruntime);
        let leftmost = queue.tree.leftmost().map(|leftmost| se[leftmost].vruntime);
        let least = match (curr, leftmost) {
            (Some(curr), Some(leftmost)) => curr.earlier(leftmost),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        let min = &mut self.queues[q].min_vruntime;
        if min.is_before(least) {
            *min = least;
        }
    }
}
