//! `cfs_rq`: the entities of one group on one CPU.

use super::entity::Entity;
use super::ids::EntityId;
use super::load_weight;
use super::releases::InverseRule;
use super::timeline::Timeline;
use super::vruntime::Vruntime;
use schedlab_core::{CpuId, GroupId};

/// `cfs_rq`: the entities of one group on one CPU. The queue of the root group on CPU c is queue
/// number c.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Sum of the weights of all entities, including the running one.
    pub load: u64,
    /// The inverse of `load`; 0 until it is needed.
    pub load_inverse: u64,
    /// The reference for placing new tasks and sleepers. It never goes back.
    pub min_vruntime: Vruntime,
    /// Waiting entities by virtual time. **The running entity is not in it.**
    pub timeline: Timeline,
    /// The running entity, or the group whose member runs.
    pub curr: Option<EntityId>,
    /// Buddy: an entity that was woken and should run next.
    pub next: Option<EntityId>,
    /// Buddy: an entity that was preempted by a wakeup and should continue.
    pub last: Option<EntityId>,
    /// An entity that has yielded and should not run next (3.2).
    pub skip: Option<EntityId>,
    /// Number of entities, including the running one.
    pub nr_running: u32,
    /// Number of tasks here and below, without the tasks of throttled queues below.
    pub h_nr_running: u32,
    /// Total run time charged here, ns.
    pub exec_clock: u64,
    /// The CPU.
    pub cpu: CpuId,
    /// The group.
    pub group: GroupId,
    /// The group's entity on this CPU. `None` for the root group.
    pub entity: Option<EntityId>,
    /// The tasks directly in it, the most recently queued first.
    pub newest_task: Option<EntityId>,
    /// The part of the group's shares that this CPU received when they were last divided.
    pub shares: u64,
    /// `exec_clock` at that time (3.2).
    pub shares_at: u64,
    /// `load` at that time.
    pub rq_weight: u64,
    /// The weight of this queue's tasks as seen by the CPU.
    pub h_load: u64,
}

impl CfsRq {
    /// Creates an empty queue.
    pub fn new(cpu: CpuId, group: GroupId, entity: Option<EntityId>) -> CfsRq {
        CfsRq {
            load: 0,
            load_inverse: 0,
            min_vruntime: Vruntime::INIT,
            timeline: Timeline::new(),
            curr: None,
            next: None,
            last: None,
            skip: None,
            nr_running: 0,
            h_nr_running: 0,
            exec_clock: 0,
            cpu,
            group,
            entity,
            newest_task: None,
            shares: 0,
            shares_at: 0,
            rq_weight: 0,
            h_load: 0,
        }
    }

    /// Returns the inverse of the load, kept until the load changes.
    #[inline]
    pub fn load_inverse(&mut self, rule: InverseRule) -> u64 {
        if self.load_inverse == 0 {
            self.load_inverse = load_weight::inverse(self.load, rule);
        }
        self.load_inverse
    }

    /// `account_entity_enqueue`: adds `entity` to the counts.
    #[inline]
    pub(super) fn account_enqueue(&mut self, entity: &mut Entity) {
        self.load += entity.load.weight;
        self.load_inverse = 0;
        self.nr_running += 1;
        entity.on_rq = true;
    }

    /// `account_entity_dequeue`: removes `entity` from the counts.
    #[inline]
    pub(super) fn account_dequeue(&mut self, entity: &mut Entity) {
        self.load -= entity.load.weight;
        self.load_inverse = 0;
        self.nr_running -= 1;
        entity.on_rq = false;
    }

    /// `update_min_vruntime`: follows the entity that is furthest behind, and never goes back.
    /// `curr` is the running entity's virtual time. An entity that has just left the queue, but not
    /// yet the CPU, still counts.
    #[inline]
    pub fn update_min_vruntime(&mut self, curr: Option<Vruntime>) {
        let candidate = match (curr, self.timeline.leftmost_vruntime()) {
            (Some(curr), Some(leftmost)) => curr.min(leftmost),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return,
        };
        self.min_vruntime = self.min_vruntime.max(candidate);
    }
}
