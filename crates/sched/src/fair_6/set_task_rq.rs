//! Which queue an entity belongs to: creating the queues of groups, and moving tasks between
//! queues.

use super::cfs_rq::CfsRq;
use super::class::Fair;
use super::entity::{Entity, Info};
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::rule_state::{FairTunables as _, FairVersion as _};
use super::update_shares::LEAST_WEIGHT;
use crate::classes::Pid;
use crate::classes::pelt::Average;
use schedlab_core::{CpuId, GroupId};

impl<R: PickRule> Fair<R> {
    /// Returns the queue of `group` on `cpu`. Creates it and the queues of the groups above, if
    /// they do not exist yet.
    pub(super) fn group_cfs_rq(&mut self, group: GroupId, cpu: CpuId) -> CfsRqId {
        let row = &self.groups[group.index()];
        if let Some(q) = row.cfs_rq_on(cpu) {
            return q;
        }
        let (idle, row_renewed) = (row.idle, row.renewed);
        let above = self.group_cfs_rq(row.parent.unwrap_or(GroupId::ROOT), cpu);
        // A group without activity has no load.
        let load_sum = u64::from(self.attaches_at_least_one());
        let avg = Average { load_sum, ..Average::default() };
        let mut info = Info { idle, avg, ..self.info_below(above) };
        // The kernel attaches the entity when the group is made, unless its clock stands at 0.
        // (Groups are taken to be made at time 0.)
        info.avg.update(self.clock_ns, 0, 0, false, 1);
        let mut entity = Entity::new(self.tunables.base_slice());
        if row_renewed && self.version.weighs_empty_groups() {
            let least = if self.version.weights_may_vanish() { 0 } else { 2 };
            entity.set_weight_of_at_least(least, LEAST_WEIGHT, None);
            info.load = LEAST_WEIGHT;
        }
        if self.version.tracks_runnable_load() {
            info.runnable = info.load as u32;
        }
        let owner = self.new_entity(entity, info);
        let q = self.cfs_rqs.push(CfsRq::new(cpu, group, Some(owner)));
        self.cfs_rqs[q].wide = self.version.divides_by_weight();
        self.cfs_rqs[q].h_load = (0, self.h_load_computed());
        self.cfs_rqs[q].pelt_clock = self.cfs_rqs[above].pelt_clock.below();
        self.cfs_rqs[q].avg.load_sum = self.first_load_sum(group);
        self.info[owner].my_q = Some(q);
        R::queue_made(self);
        self.limits.queue_made(group, cpu);
        self.groups[group.index()].set_cfs_rq(cpu, q);
        q
    }

    /// The data of a new entity that belongs on queue `q`.
    fn info_below(&self, q: CfsRqId) -> Info {
        let parent = self.cfs_rqs[q].owner;
        let depth = parent.map_or(0, |parent| self.info[parent].depth + 1);
        Info { parent, depth, ..Info::new(q) }
    }

    /// `set_task_rq`: assigns `task`, which is not queued, to the queue of `group` on `cpu`.
    pub(super) fn set_task_rq(&mut self, task: Pid, group: GroupId, cpu: CpuId) {
        let q = self.group_cfs_rq(group, cpu);
        let Info { parent, depth, .. } = self.info_below(q);
        self.tasks[task.index()].group = group;
        let e = self.se_of(task);
        let info = &mut self.info[e];
        info.cfs_rq = q;
        info.parent = parent;
        info.depth = depth;
    }

    /// Creates the entity of `task` on the queue of `group` on `cpu`.
    pub(super) fn new_task_entity(&mut self, task: Pid, group: GroupId, cpu: CpuId) -> EntityId {
        let q = self.group_cfs_rq(group, cpu);
        let info = Info { task: Some(task), ..self.info_below(q) };
        self.new_entity(Entity::new(self.tunables.base_slice()), info)
    }

    /// Allocates a row for an entity.
    fn new_entity(&mut self, entity: Entity, info: Info) -> EntityId {
        let mut entity = entity;
        if self.version.divides_by_weight() {
            entity.set_full_weight(info.load);
        }
        if let Some(e) = self.free.pop() {
            self.se[e] = entity;
            self.se.max_slices[e] = 0;
            self.info[e] = info;
            R::entity_made(self, e);
            return e;
        }
        self.info.push(info);
        self.cfs_tasks.make_room(self.info.len());
        let e = self.se.push(entity);
        R::entity_made(self, e);
        e
    }
}
