//! The hierarchy of task groups: where entities belong, and what the entity that stands for a group
//! on a CPU weighs.
//!
//! A group of `shares` has that weight as a whole; each CPU's entity has the part of it that its
//! load is of the group's load everywhere. With one CPU that is exactly `shares`.

use super::cfs_rq::{CfsRq, CfsRqId};
use super::class::Fair;
use super::entity::{Entity, EntityId, Info, unscaled};
use super::flags::Attach;
use super::task_group::{TaskGroup, stored_shares};
use crate::classes::pelt::Average;
use crate::classes::weights::WEIGHT_IDLEPRIO;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, GroupId, Platform};

impl Fair {
    /// A new group below `parent`.
    pub(super) fn new_group(&mut self, parent: GroupId, shares: u64) -> GroupId {
        self.limits.group_made(parent);
        self.groups.push(TaskGroup::new(self.cpus, Some(parent), shares));
        GroupId(self.groups.len() as u32 - 1)
    }

    /// `sched_group_set_shares`: writes a group's shares; its entities get their new weights at
    /// once.
    pub(super) fn set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) {
        self.groups[group.index()].shares = stored_shares(shares);
        for cpu in (0..self.cpus).map(CpuId) {
            if let Some(q) = self.groups[group.index()].cfs_rq_on(cpu)
                && let Some(e) = self.cfs_rqs[q].owner
            {
                self.update_load_avg(platform.now_ns(), e, Attach::No);
                self.update_cfs_group(rqs, platform, e);
            }
        }
    }

    /// `sched_group_set_idle`: the group counts as `SCHED_IDLE` beside its siblings, or no longer
    /// does.
    pub(super) fn set_idle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) {
        if core::mem::replace(&mut self.groups[group.index()].idle, idle) == idle {
            return;
        }
        for cpu in (0..self.cpus).map(CpuId) {
            if let Some(q) = self.groups[group.index()].cfs_rq_on(cpu)
                && let Some(owner) = self.cfs_rqs[q].owner
            {
                self.info[owner].idle = idle;
                self.recount_idle(q, idle);
            }
        }
        let weight = if idle { u64::from(WEIGHT_IDLEPRIO) } else { 1024 };
        self.set_shares(rqs, platform, group, weight);
    }

    /// The tasks below queue `q` that are not idle by themselves count as idle above it, or no
    /// longer do; as far up as they did not count so already.
    fn recount_idle(&mut self, q: CfsRqId, idle: bool) {
        let queue = &self.cfs_rqs[q];
        let others = queue.h_nr_queued - queue.h_nr_idle;
        let mut next = queue.owner;
        while let Some(e) = next
            && self.se[e].on_rq
        {
            let above = self.cfs_rq_of(e);
            let queue = &mut self.cfs_rqs[above];
            if idle {
                queue.h_nr_idle += others;
            } else {
                queue.h_nr_idle -= others;
            }
            if self.groups[queue.group.index()].idle || self.limits.is_throttled(above) {
                return;
            }
            next = self.parent_of(e);
        }
    }

    /// The queue of `group` on `cpu`. Makes it, and those of the groups it is in, if they are not
    /// there yet.
    pub(super) fn group_cfs_rq(&mut self, group: GroupId, cpu: CpuId) -> CfsRqId {
        let row = &self.groups[group.index()];
        if let Some(q) = row.cfs_rq_on(cpu) {
            return q;
        }
        let idle = row.idle;
        let above = self.group_cfs_rq(row.parent.unwrap_or(GroupId::ROOT), cpu);
        // A group that has done nothing yet has no load.
        let info = Info { idle, avg: Average::default(), ..self.info_below(above) };
        let owner = self.new_entity(Entity::new(self.tunables.base_slice), info);
        let q = self.cfs_rqs.push(CfsRq::new(cpu, group, Some(owner)));
        self.info[owner].my_q = Some(q);
        self.limits.queue_made(group);
        self.groups[group.index()].set_cfs_rq(cpu, q);
        q
    }

    /// Of a new entity that belongs on queue `q`.
    fn info_below(&self, q: CfsRqId) -> Info {
        let parent = self.cfs_rqs[q].owner;
        let depth = parent.map_or(0, |parent| self.info[parent].depth + 1);
        Info { parent, depth, ..Info::new(q) }
    }

    /// `set_task_rq`: `task`, queued nowhere, belongs on the queue of `group` on `cpu`.
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

    /// A new entity of `task` on the queue of `group` on `cpu`.
    pub(super) fn new_task_entity(&mut self, task: Pid, group: GroupId, cpu: CpuId) -> EntityId {
        let q = self.group_cfs_rq(group, cpu);
        let info = Info { task: Some(task), ..self.info_below(q) };
        self.new_entity(Entity::new(self.tunables.base_slice), info)
    }

    /// Room for an entity.
    fn new_entity(&mut self, entity: Entity, info: Info) -> EntityId {
        if let Some(e) = self.free.pop() {
            self.se[e] = entity;
            self.info[e] = info;
            return e;
        }
        self.info.push(info);
        self.se.push(entity)
    }

    /// `calc_group_shares`: the part of the group's shares that its load on this CPU is of its load
    /// everywhere.
    fn calc_group_shares(&self, q: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[q];
        let group = &self.groups[queue.group.index()];
        let load = unscaled(queue.load).max(queue.avg.load_avg);
        // What the other CPUs last published, and what this one really has.
        let everywhere = (group.load_avg + load).saturating_sub(queue.published);
        let mut shares = u128::from(group.shares) * u128::from(load);
        if everywhere != 0 {
            shares /= u128::from(everywhere);
        }
        shares.clamp(2, u128::from(group.shares)) as u64
    }

    /// `update_cfs_group`: the group entity `e` gets the weight that its group's shares give it
    /// now. A queue that has become empty keeps its old one.
    #[inline]
    pub(super) fn update_cfs_group(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: EntityId) {
        if let Some(q) = self.info[e].my_q
            && self.cfs_rqs[q].load != 0
        {
            let shares = self.calc_group_shares(q);
            if shares != self.info[e].load {
                self.reweight(rqs, platform, e, shares, None);
            }
        }
    }

    /// `update_tg_load_avg`: the group's queue tells its group what load it has, when that has
    /// changed by more than a 64th and it has not done so for a millisecond.
    #[inline]
    pub(super) fn update_tg_load_avg(&mut self, now_ns: u64, q: CfsRqId) {
        let queue = &mut self.cfs_rqs[q];
        if queue.group == GroupId::ROOT || now_ns - queue.published_at < 1_000_000 {
            return;
        }
        let (load, told) = (queue.avg.load_avg, queue.published);
        if load.abs_diff(told) > told / 64 {
            let group = &mut self.groups[queue.group.index()];
            group.load_avg = group.load_avg + load - told;
            queue.published = load;
            queue.published_at = now_ns;
        }
    }
}
