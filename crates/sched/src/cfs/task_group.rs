//! Task groups: the tree of groups, each of which has a queue and an entity per CPU.
//!
//! A group competes as one entity in its parent's queue, weighted by its shares, and passes its CPU
//! time on to its own members. Fairness is therefore first between groups. On several CPUs the
//! shares are divided over the CPUs ([`update_shares`](super::update_shares)).
//!
//! A queue is created when a CPU first needs it, so thousands of groups on thousands of CPUs cost
//! nothing where none of their tasks runs. The weight that the kernel would by then have given the
//! entity of such a CPU is the same for all CPUs that are balanced alike, and is stored once for
//! them (`absent_weight`).

use super::ids::CfsRqId;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut, RangeInclusive};
use schedlab_core::{CpuId, GroupId};

/// The shares that a group may have.
pub(super) const SHARES: RangeInclusive<u64> = 2..=1 << 18;

/// A task group.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// The parent group. `None` for the root.
    pub(super) parent: Option<GroupId>,
    /// `cpu.shares`.
    pub(super) shares: u64,
    /// Number of groups that contain its tasks.
    pub(super) depth: u16,
    /// Its queues by CPU, ascending. (Not for the root group.)
    pub(super) queues: Vec<(CpuId, CfsRqId)>,
    /// For each set of CPUs that are balanced alike: the weight of its entity on the CPUs without a
    /// queue so far.
    pub(super) absent_weight: Vec<u64>,
}

impl TaskGroup {
    /// Returns its queue on `cpu`, if it already has one. (Not for the root group.)
    #[inline]
    pub(super) fn queue_on(&self, cpu: CpuId) -> Option<CfsRqId> {
        self.queues
            .binary_search_by_key(&cpu, |&(cpu, _)| cpu)
            .ok()
            .map(|place| self.queues[place].1)
    }
}

/// All groups, parents before children.
#[derive(Clone, Debug)]
pub struct TaskGroups {
    rows: Vec<TaskGroup>,
    /// All but the root, children before parents.
    bottom_up: Vec<GroupId>,
    bottom_up_is_stale: bool,
}

impl TaskGroups {
    /// Creates the root group alone.
    pub fn new() -> TaskGroups {
        let root = TaskGroup {
            parent: None,
            shares: 1024,
            depth: 0,
            queues: Vec::new(),
            absent_weight: Vec::new(),
        };
        TaskGroups { rows: alloc::vec![root], bottom_up: Vec::new(), bottom_up_is_stale: false }
    }

    /// Whether the root is the only group.
    #[inline]
    pub fn only_root(&self) -> bool {
        self.rows.len() == 1
    }

    /// Whether the group exists.
    pub fn contains(&self, group: GroupId) -> bool {
        group.index() < self.rows.len()
    }

    /// Returns the group, if it exists.
    pub fn get(&self, group: GroupId) -> Option<&TaskGroup> {
        self.rows.get(group.index())
    }

    /// Returns the group, if it exists.
    pub fn get_mut(&mut self, group: GroupId) -> Option<&mut TaskGroup> {
        self.rows.get_mut(group.index())
    }

    /// Adds a group.
    pub fn push(&mut self, group: TaskGroup) -> GroupId {
        self.rows.push(group);
        self.bottom_up_is_stale = true;
        GroupId(self.rows.len() as u32 - 1)
    }

    /// Returns all groups but the root, children before their parents, the newest of siblings
    /// first.
    pub fn bottom_up(&self) -> &[GroupId] {
        debug_assert!(!self.bottom_up_is_stale);
        &self.bottom_up
    }

    /// Brings [`bottom_up`](TaskGroups::bottom_up) up to date.
    pub fn refresh_bottom_up(&mut self) {
        if !core::mem::take(&mut self.bottom_up_is_stale) {
            return;
        }
        self.bottom_up.clear();
        // A walk with parents first and the oldest of siblings first, read backwards.
        let mut first_child: Vec<Option<GroupId>> = alloc::vec![None; self.rows.len()];
        let mut next_sibling = first_child.clone();
        for (number, row) in self.rows.iter().enumerate().rev() {
            let group = GroupId(number as u32);
            if let Some(parent) = row.parent {
                next_sibling[number] = first_child[parent.index()].replace(group);
            }
        }
        let mut next = first_child[GroupId::ROOT.index()];
        while let Some(group) = next {
            self.bottom_up.push(group);
            next = first_child[group.index()];
            let mut at = Some(group);
            while let (None, Some(group)) = (next, at) {
                next = next_sibling[group.index()];
                at = self.rows[group.index()].parent;
            }
        }
        self.bottom_up.reverse();
    }
}

impl Default for TaskGroups {
    fn default() -> TaskGroups {
        TaskGroups::new()
    }
}

impl Index<GroupId> for TaskGroups {
    type Output = TaskGroup;
    #[inline]
    fn index(&self, group: GroupId) -> &TaskGroup {
        &self.rows[group.index()]
    }
}

impl IndexMut<GroupId> for TaskGroups {
    #[inline]
    fn index_mut(&mut self, group: GroupId) -> &mut TaskGroup {
        &mut self.rows[group.index()]
    }
}
