//! The queue of an entity: creating the queues of groups, and moving tasks between queues.

use super::Cfs;
use super::cfs_rq::CfsRq;
use super::entity::{Entity, EntityKind};
use super::ids::{CfsRqId, EntityId};
use super::load_weight::LoadWeight;
use schedlab_core::index::TypedIndex;
use schedlab_core::{CpuId, GroupId};

impl Cfs {
    /// Returns the queue of a group on a CPU, if it already has one.
    #[inline]
    pub(super) fn queue_if_any(&self, group: GroupId, cpu: CpuId) -> Option<CfsRqId> {
        if group == GroupId::ROOT {
            Some(CfsRqId::root(cpu))
        } else {
            self.groups[group].queue_on(cpu)
        }
    }

    /// Returns the queue of a group on a CPU. Creates it, and the queues of the group's ancestors,
    /// if they do not exist.
    pub(super) fn queue_of(&mut self, group: GroupId, cpu: CpuId) -> CfsRqId {
        if let Some(q) = self.queue_if_any(group, cpu) {
            return q;
        }
        let parent = self.groups[group].parent.expect("the root group has queues on all CPUs");
        let parent_queue = self.queue_of(parent, cpu);
        let q = CfsRqId::new(self.queues.len());
        let row = &mut self.groups[group];
        let weight = if self.version.shares_follow_load {
            // No task has been there.
            0
        } else {
            row.absent_weight[self.leaf_of[cpu.index()]]
        };
        let load = LoadWeight::computed(weight, self.version.inverse);
        let mut entity =
            Entity::new(EntityKind::Group(q), load, parent_queue, self.queues[parent_queue].entity);
        entity.depth = row.depth - 1;
        let place = row.queues.partition_point(|&(other, _)| other < cpu);
        row.queues.insert(place, (cpu, q));
        let e = self.entities.push(entity);
        self.queues.push(CfsRq::new(cpu, group, Some(e)));
        self.limits.queue_made(group, cpu);
        let here = &mut self.queues_on[cpu.index()];
        let place = here.partition_point(|&(other, _)| other > group);
        here.insert(place, (group, q));
        q
    }

    /// `set_task_rq`: assigns the entity of a task to `group` on `cpu` from now on.
    pub(super) fn set_task_rq(&mut self, e: EntityId, group: GroupId, cpu: CpuId) {
        let q = self.queue_of(group, cpu);
        let entity = &mut self.entities[e];
        entity.cfs_rq = q;
        entity.parent = self.queues[q].entity;
        entity.depth = self.groups[group].depth;
    }

    /// Implements the fair part of `set_task_cpu`: an entity off its queue goes to another CPU and
    /// keeps its distance to `min_vruntime`.
    pub(super) fn set_task_cpu(&mut self, e: EntityId, from: CpuId, to: CpuId) {
        let group = self.group_of(e);
        let old = self.queue_of(group, from);
        let old_min = self.queues[old].min_vruntime;
        self.set_task_rq(e, group, to);
        let entity = &mut self.entities[e];
        let new_min = self.queues[entity.cfs_rq].min_vruntime;
        entity.vruntime += new_min.ahead_of(old_min) as u64;
    }
}
