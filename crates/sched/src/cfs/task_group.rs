//! Task groups: a tree of groups, each a queue and an entity per CPU.
//!
//! A group competes as one entity in its parent's queue, with its shares as weight, and hands what
//! it gets to its own members. So fairness is between groups first. On several CPUs the shares are
//! divided over the CPUs ([`update_shares`](super::update_shares)).
//!
//! Queues are made when a CPU first needs one: thousands of groups on thousands of CPUs cost
//! nothing where nobody runs. What the kernel would by then have written into the entity of such a
//! CPU is the same for all CPUs that are balanced alike, and kept once ([`Group::absent_weight`]).

use super::Cfs;
use super::cfs_rq::CfsRq;
use super::entity::{Entity, Load};
use crate::classes::rbtree::NIL;
use crate::classes::{Pid, Rqs};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{CpuId, GroupId, Platform};

/// The root group.
pub(super) const ROOT: u32 = 0;

/// The shares that a group may have.
pub(super) const SHARES: core::ops::RangeInclusive<u64> = 2..=1 << 18;

/// A task group.
#[derive(Clone, Debug)]
pub struct Group {
    pub(super) parent: u32,
    /// `cpu.shares`.
    pub(super) shares: u64,
    depth: u16,
    /// Its queues by CPU, rising.
    pub(super) queues: Vec<(CpuId, u32)>,
    /// For each set of CPUs that are balanced alike: the weight of its entity on those that have no
    /// queue yet.
    pub(super) absent_weight: Vec<u64>,
}

impl Group {
    pub(super) fn root() -> Group {
        Group { parent: NIL, shares: 1024, depth: 0, queues: Vec::new(), absent_weight: Vec::new() }
    }

    /// Its queue on `cpu`, if it has one already. (Not for the root group.)
    #[inline]
    pub(super) fn queue_on(&self, cpu: CpuId) -> Option<u32> {
        self.queues
            .binary_search_by_key(&cpu, |&(cpu, _)| cpu)
            .ok()
            .map(|place| self.queues[place].1)
    }
}

impl Cfs {
    /// The queue of a group on a CPU, if it has one already.
    #[inline]
    pub(super) fn queue_if_any(&self, group: u32, cpu: CpuId) -> Option<u32> {
        if group == ROOT { Some(cpu.0) } else { self.groups[group as usize].queue_on(cpu) }
    }

    /// The queue of a group on a CPU. Makes it, and those of the groups it is in, if they are not
    /// there yet.
    pub(super) fn queue_of(&mut self, group: u32, cpu: CpuId) -> u32 {
        if let Some(q) = self.queue_if_any(group, cpu) {
            return q;
        }
        let parent_queue = self.queue_of(self.groups[group as usize].parent, cpu);
        let q = self.queues.len() as u32;
        let leaf = self.leaf_of[cpu.index()] as usize;
        let row = &mut self.groups[group as usize];
        let load = Load::computed(row.absent_weight[leaf], self.version.inverse);
        let mut entity = Entity::new(load, parent_queue, self.queues[parent_queue as usize].entity);
        entity.my_q = q;
        entity.depth = row.depth - 1;
        let place = row.queues.partition_point(|&(other, _)| other < cpu);
        row.queues.insert(place, (cpu, q));
        let e = self.new_entity(entity);
        self.queues.push(CfsRq::new(cpu, group, e));
        self.limits.queue_made(GroupId(group));
        let here = &mut self.queues_on[cpu.index()];
        let place = here.partition_point(|&(other, _)| other > group);
        here.insert(place, (group, q));
        q
    }

    /// A row for a new entity.
    pub(super) fn new_entity(&mut self, entity: Entity) -> u32 {
        let e = self.entities.len() as u32;
        self.entities.push(entity);
        e
    }

    /// Makes an entity of a task a member of `group` on `cpu`.
    pub(super) fn join_queue(&mut self, e: u32, group: u32, cpu: CpuId) {
        let q = self.queue_of(group, cpu);
        let entity = &mut self.entities[e as usize];
        entity.cfs_rq = q;
        entity.parent = self.queues[q as usize].entity;
        entity.depth = self.groups[group as usize].depth;
    }

    pub(super) fn make_group(&mut self, parent: GroupId, shares: u64) -> Result<GroupId, String> {
        if !self.version.groups {
            return Err(alloc::format!(
                "CFS of {} is built without task groups here",
                self.version.name
            ));
        }
        let Some(above) = self.groups.get(parent.index()) else {
            return Err("the parent group does not exist".into());
        };
        let Some(depth) = above.depth.checked_add(1) else {
            return Err("groups are nested too deeply".into());
        };
        let shares = shares.clamp(*SHARES.start(), *SHARES.end());
        self.groups.push(Group {
            parent: parent.0,
            shares,
            depth,
            queues: Vec::new(),
            absent_weight: alloc::vec![shares; self.leaf_cpus.len()],
        });
        self.limits.group_made(parent);
        self.bottom_up_is_stale = true;
        Ok(GroupId(self.groups.len() as u32 - 1))
    }

    /// `sched_group_set_shares`: every CPU's entity gets the full shares, until they are next
    /// divided.
    pub(super) fn write_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), String> {
        if group == GroupId::ROOT {
            return Err("the root group has no shares".into());
        }
        let Some(row) = self.groups.get_mut(group.index()) else {
            return Err("no such group".into());
        };
        let shares = shares.clamp(*SHARES.start(), *SHARES.end());
        if row.shares == shares {
            return Ok(());
        }
        row.shares = shares;
        row.absent_weight.fill(shares);
        for place in 0..row.queues.len() {
            let q = self.groups[group.index()].queues[place].1;
            self.queues[q as usize].shares = 0;
            let e = self.queues[q as usize].entity;
            self.reweight_entity(rqs, platform, e, Load::computed(shares, self.version.inverse));
        }
        Ok(())
    }

    /// `moved_group_fair`: a task, off its queue, joins another group, as a newcomer there.
    pub(super) fn move_to_group(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        group: GroupId,
    ) -> Result<(), String> {
        if group.index() >= self.groups.len() {
            return Err("no such group".into());
        }
        let e = self.entity_of(pid);
        self.join_queue(e, group.0, rqs.cpu_of(pid));
        let q = self.entities[e as usize].cfs_rq;
        self.update_curr(rqs, platform, q);
        self.place_entity(q, e, true);
        Ok(())
    }

    /// All groups but the root, children before their parents, the newest of siblings first.
    pub(super) fn refresh_bottom_up(&mut self) {
        if !core::mem::take(&mut self.bottom_up_is_stale) {
            return;
        }
        self.bottom_up.clear();
        // A walk that takes parents first and the oldest of siblings first, read backwards.
        let mut first_child = alloc::vec![NIL; self.groups.len()];
        let mut next_sibling = alloc::vec![NIL; self.groups.len()];
        for group in (1..self.groups.len()).rev() {
            let parent = self.groups[group].parent as usize;
            next_sibling[group] = first_child[parent];
            first_child[parent] = group as u32;
        }
        let mut group = first_child[0];
        while group != NIL {
            self.bottom_up.push(group);
            let mut next = first_child[group as usize];
            let mut at = group;
            while next == NIL && at != ROOT {
                next = next_sibling[at as usize];
                at = self.groups[at as usize].parent;
            }
            group = next;
        }
        self.bottom_up.reverse();
    }
}
