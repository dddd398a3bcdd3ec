//! Task groups: on each CPU an entity stands for the group, with its queue below it.
//!
//! A group of `shares` has that weight as a whole; each CPU's entity has the part of it that its
//! load is of the group's load everywhere. With one CPU that is exactly `shares`.
//!
//! A group's queue on a CPU comes into being when the first of its tasks comes there, so that
//! thousands of groups on thousands of CPUs cost what is used of them.

use super::cfs_rq::Queue;
use super::class::Fair;
use super::entity::{Entity, Info, NONE, WEIGHT_SHIFT, unscaled};
use crate::classes::pelt::Average;
use crate::classes::weights::WEIGHT_IDLEPRIO;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform};

/// A task group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The group above.
    pub(super) parent: u32,
    /// Its weight as a whole, stored (shifted); 2 to 262144 before shifting.
    shares: u64,
    /// `cpu.idle`: it counts as `SCHED_IDLE` beside its siblings.
    pub(super) idle: bool,
    /// By CPU: its queue.
    pub(super) queues: Vec<u32>,
    /// Sum of what its queues have published of their load.
    load_avg: u64,
}

/// `cpu.shares` as the kernel clamps it, stored.
fn stored_shares(shares: u64) -> u64 {
    shares.clamp(2, 262_144) << WEIGHT_SHIFT
}

impl Group {
    /// The root: its queues are the CPUs' own.
    pub fn root(cpus: u32) -> Group {
        Group {
            parent: NONE,
            shares: stored_shares(1024),
            idle: false,
            queues: (0..cpus).collect(),
            load_avg: 0,
        }
    }

    /// Its queue on `cpu`, if it has come into being.
    pub fn queue_on(&self, cpu: CpuId) -> u32 {
        self.queues[cpu.index()]
    }
}

impl Fair {
    /// A new group below `parent`.
    pub(super) fn group_new(&mut self, parent: u32, shares: u64) -> u32 {
        self.limits.group_made(parent);
        self.groups.push(Group {
            parent,
            shares: stored_shares(shares),
            idle: false,
            queues: alloc::vec![NONE; self.cpus as usize],
            load_avg: 0,
        });
        self.groups.len() as u32 - 1
    }

    /// Writes a group's shares; its entities get their new weights at once.
    pub(super) fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: u32,
        shares: u64,
    ) {
        self.groups[group as usize].shares = stored_shares(shares);
        for cpu in 0..self.cpus {
            let q = self.groups[group as usize].queues[cpu as usize];
            if q != NONE {
                let e = self.queues[q as usize].owner;
                self.update_load_avg(platform.now_ns(), e, super::load_avg::Attach::No);
                self.update_group_weight(rqs, platform, e);
            }
        }
    }

    /// `sched_group_set_idle`: the group counts as `SCHED_IDLE` beside its siblings, or no longer
    /// does.
    pub(super) fn group_set_idle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: u32,
        idle: bool,
    ) {
        if core::mem::replace(&mut self.groups[group as usize].idle, idle) == idle {
            return;
        }
        for cpu in 0..self.cpus as usize {
            let q = self.groups[group as usize].queues[cpu];
            if q != NONE {
                self.info[self.queues[q as usize].owner as usize].idle = idle;
                self.recount_idle(q, idle);
            }
        }
        let weight = if idle { u64::from(WEIGHT_IDLEPRIO) } else { 1024 };
        self.group_set_shares(rqs, platform, group, weight);
    }

    /// The tasks below queue `q` that are not idle by themselves count as idle above it, or no
    /// longer do; as far up as they did not count so already.
    fn recount_idle(&mut self, q: u32, idle: bool) {
        let queue = &self.queues[q as usize];
        let others = queue.h_nr_queued - queue.h_nr_idle;
        let mut e = queue.owner;
        while e != NONE && self.se[e as usize].on_rq {
            let above = self.queue_of(e);
            let queue = &mut self.queues[above as usize];
            if idle {
                queue.h_nr_idle += others;
            } else {
                queue.h_nr_idle -= others;
            }
            if self.groups[queue.group as usize].idle || self.limits.is_throttled(above) {
                return;
            }
            e = self.parent_of(e);
        }
    }

    /// The queue of `group` on `cpu`.
    pub(super) fn group_queue(&mut self, group: u32, cpu: CpuId) -> u32 {
        let q = self.groups[group as usize].queues[cpu.index()];
        if q != NONE {
            return q;
        }
        let above = self.group_queue(self.groups[group as usize].parent, cpu);
        let parent = self.queues[above as usize].owner;
        let depth = if parent == NONE { 0 } else { self.info[parent as usize].depth + 1 };
        let q = self.queues.len() as u32;
        let mut info = Info::of_task(Pid(0));
        info.task = None;
        info.my_q = q;
        info.queue = above;
        info.parent = parent;
        info.depth = depth;
        info.idle = self.groups[group as usize].idle;
        // A group that has done nothing yet has no load.
        info.avg = Average::default();
        let owner = self.new_entity(Entity::new(self.base_slice), info);
        self.queues.push(Queue::new(cpu, group, owner));
        self.limits.queue_made(group);
        self.groups[group as usize].queues[cpu.index()] = q;
        q
    }

    /// `task`, queued nowhere, belongs on the queue of `group` on `cpu`.
    pub(super) fn set_task_rq(&mut self, task: Pid, group: u32, cpu: CpuId) {
        let q = self.group_queue(group, cpu);
        let parent = self.queues[q as usize].owner;
        let depth = if parent == NONE { 0 } else { self.info[parent as usize].depth + 1 };
        self.tasks[task.index()].group = group;
        let info = &mut self.info[self.tasks[task.index()].se as usize];
        info.queue = q;
        info.parent = parent;
        info.depth = depth;
    }

    /// Room for an entity.
    pub(super) fn new_entity(&mut self, entity: Entity, info: Info) -> u32 {
        if let Some(e) = self.free.pop() {
            self.se[e as usize] = entity;
            self.info[e as usize] = info;
            return e;
        }
        self.se.push(entity);
        self.info.push(info);
        self.nodes.make_room(self.se.len());
        self.se.len() as u32 - 1
    }

    /// `calc_group_shares`: the part of the group's shares that its load on this CPU is of its load
    /// everywhere.
    fn calc_group_shares(&self, q: u32) -> u64 {
        let queue = &self.queues[q as usize];
        let group = &self.groups[queue.group as usize];
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
    pub(super) fn update_group_weight(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: u32) {
        let q = self.info[e as usize].my_q;
        if q == NONE || self.queues[q as usize].load == 0 {
            return;
        }
        let shares = self.calc_group_shares(q);
        if shares != self.info[e as usize].load {
            self.reweight(rqs, platform, e, shares, None);
        }
    }

    /// `update_tg_load_avg`: the group's queue tells its group what load it has, when that has
    /// changed by more than a 64th and it has not done so for a millisecond.
    pub(super) fn publish_load(&mut self, now_ns: u64, q: u32) {
        let queue = &mut self.queues[q as usize];
        if queue.group == 0 || now_ns - queue.published_at < 1_000_000 {
            return;
        }
        let (load, told) = (queue.avg.load_avg, queue.published);
        if load.abs_diff(told) > told / 64 {
            let group = &mut self.groups[queue.group as usize];
            group.load_avg = group.load_avg + load - told;
            queue.published = load;
            queue.published_at = now_ns;
        }
    }
}
