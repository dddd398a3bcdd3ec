//! Entities, which compete for a CPU: an [`Entity`] is a task, or a group on one CPU.

use super::averages::Averages;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::LoadWeight;
use super::vruntime::Vruntime;
use crate::classes::Pid;

/// Kind of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntityKind {
    /// A task.
    Task(Pid),
    /// A group on one CPU, by the queue of its members there (`my_q`).
    Group(CfsRqId),
}

/// `sched_entity`. It occupies two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Entity {
    /// Its weighted run time.
    pub vruntime: Vruntime,
    /// Its weight.
    pub load: LoadWeight,
    /// Clock of its CPU when it was last charged or picked, ns.
    pub exec_start: u64,
    /// `sum_exec_runtime`: total run time, ns.
    pub sum_exec: u64,
    /// `prev_sum_exec_runtime`: value of `sum_exec` when it was last picked, ns.
    pub prev_sum_exec: u64,
    /// The queue in which it competes.
    pub cfs_rq: CfsRqId,
    /// The entity of the group to which this queue belongs. `None` at the top.
    pub parent: Option<EntityId>,
    /// Its kind.
    pub kind: EntityKind,
    /// Its arrival number in the timeline, while it waits.
    pub arrival: u32,
    /// The task queued after it in the queue's list of tasks.
    pub newer: Option<EntityId>,
    /// The task queued before it in the queue's list of tasks.
    pub older: Option<EntityId>,
    /// Number of groups that contain it.
    pub depth: u16,
    /// Whether it is queued or running.
    pub on_rq: bool,
    /// Whether it counts as a task of policy `SCHED_IDLE`.
    pub is_idle_policy: bool,
    /// Averages of its behaviour. All zero for a group.
    pub averages: Averages,
}

const _: () = assert!(size_of::<Entity>() == 128);

impl Entity {
    /// Creates a task or a group that has never run.
    pub fn new(
        kind: EntityKind,
        load: LoadWeight,
        cfs_rq: CfsRqId,
        parent: Option<EntityId>,
    ) -> Entity {
        Entity {
            vruntime: Vruntime::from_ns(0),
            load,
            exec_start: 0,
            sum_exec: 0,
            prev_sum_exec: 0,
            cfs_rq,
            parent,
            kind,
            arrival: 0,
            newer: None,
            older: None,
            depth: 0,
            on_rq: false,
            is_idle_policy: false,
            averages: Averages::default(),
        }
    }

    /// Begins the slice of the picked entity, at `clock` by its CPU.
    #[inline]
    pub(super) fn begin_turn(&mut self, clock: u64) {
        self.exec_start = clock;
        self.prev_sum_exec = self.sum_exec;
    }

    /// Whether it is a task.
    #[inline]
    pub fn is_task(&self) -> bool {
        matches!(self.kind, EntityKind::Task(_))
    }

    /// `task_of`: returns the task of this entity.
    ///
    /// # Panics
    /// If it is a group.
    #[inline]
    pub fn task(&self) -> Pid {
        match self.kind {
            EntityKind::Task(pid) => pid,
            EntityKind::Group(_) => unreachable!("the entity of a group is not a task"),
        }
    }
}
