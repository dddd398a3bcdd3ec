//! What the rules of vruntime keep of queues and entities, besides what every fair class keeps.

use crate::fair_6::cfs_rq::CfsRq;
use crate::fair_6::entity::{Entity, Vruntime};
use crate::fair_6::ids::{CfsRqId, EntityId};
use schedlab_core::index::IndexVec;

/// Where every queue's virtual time begins.
pub const START: Vruntime = Vruntime(0u64.wrapping_sub(1 << 20));

/// The least vruntime runs.
#[derive(Default, Debug)]
pub struct LeastVruntime {
    /// Of each queue.
    pub(super) queues: IndexVec<CfsRqId, QueueState>,
    /// Of each entity.
    pub(super) entities: IndexVec<EntityId, EntityState>,
}

/// Of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueState {
    /// The least vruntime that the queue has had, never going back (`min_vruntime`).
    pub min_vruntime: Vruntime,
    /// The entity that was interrupted by a wakeup (`last`).
    pub last: Option<EntityId>,
    /// The entity that has yielded (`skip`).
    pub skip: Option<EntityId>,
    /// How many of the entities queued are idle ones (`idle_nr_running`).
    pub idle_nr: u32,
    /// A CPU's own queue: its running task was put away in the middle of a pick, as something was
    /// throttled, and is not to be put again.
    pub put_in_pick: bool,
}

/// Of an entity.
#[derive(Clone, Copy, Default, Debug)]
pub struct EntityState {
    /// How long it has run since it was last switched to, ns (`sum_exec_runtime -
    /// prev_sum_exec_runtime`).
    pub ran_ns: u64,
    /// Of a task: its utilisation when it last slept, and how that develops (`util_est`).
    pub util_enqueued: u32,
    /// See `util_enqueued`.
    pub util_ewma: u32,
    /// It is about to be woken on another CPU than that on which it slept.
    pub migrated: bool,
}

impl Default for QueueState {
    fn default() -> QueueState {
        QueueState { min_vruntime: START, last: None, skip: None, idle_nr: 0, put_in_pick: false }
    }
}

impl LeastVruntime {
    /// Brings the `min_vruntime` of `queue`, of number `q`, up to its entities.
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
