//! The list of a CPU's fair tasks (`cfs_tasks`), with the task last queued or run at its head.
//! Balancing takes from its tail.

use super::ids::EntityId;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::CpuId;
use schedlab_core::index::{IndexVec, TypedIndex};

/// The lists of all CPUs.
#[derive(Debug)]
pub struct CfsTasks {
    /// By CPU.
    lists: Vec<List>,
    /// By entity. Small, and separate from other data of an entity, because a task's neighbours are
    /// tasks that the current operation does not otherwise touch.
    links: IndexVec<EntityId, Links>,
}

/// The ends of a list.
#[derive(Clone, Copy, Default, Debug)]
struct List {
    newest: Option<EntityId>,
    oldest: Option<EntityId>,
}

/// An entity's neighbours.
#[derive(Clone, Copy, Default, Debug)]
struct Links {
    newer: Option<EntityId>,
    older: Option<EntityId>,
}

impl CfsTasks {
    /// Empty lists.
    pub fn new(cpus: u32) -> CfsTasks {
        CfsTasks { lists: alloc::vec![List::default(); cpus as usize], links: IndexVec::new() }
    }

    /// Makes room for `entities` entities.
    pub fn make_room(&mut self, entities: usize) {
        self.links.resize_with(entities, Links::default);
    }

    /// The task that has been on the list of `cpu` for longest.
    pub fn oldest(&self, cpu: CpuId) -> Option<EntityId> {
        self.lists[cpu.index()].oldest
    }

    /// The task that was last put on the list of `cpu`.
    pub fn newest(&self, cpu: CpuId) -> Option<EntityId> {
        self.lists[cpu.index()].newest
    }

    /// The next older neighbour of `e`.
    pub fn older(&self, e: EntityId) -> Option<EntityId> {
        self.links[e].older
    }

    /// Moves `e`, which is on the list of `cpu`, to its tail.
    pub fn to_tail(&mut self, cpu: CpuId, e: EntityId) {
        if self.lists[cpu.index()].oldest == Some(e) {
            return;
        }
        self.remove(cpu, e);
        let list = &mut self.lists[cpu.index()];
        let tail = list.oldest.replace(e);
        match tail {
            None => list.newest = Some(e),
            Some(tail) => self.links[tail].older = Some(e),
        }
        self.links[e] = Links { newer: tail, older: None };
    }

    /// The next newer neighbour of `e`.
    pub fn newer(&self, e: EntityId) -> Option<EntityId> {
        self.links[e].newer
    }

    /// Adds `e`, which is on no list, as the newest of `cpu`.
    #[inline]
    pub fn add(&mut self, cpu: CpuId, e: EntityId) {
        let list = &mut self.lists[cpu.index()];
        let head = list.newest.replace(e);
        match head {
            None => list.oldest = Some(e),
            Some(head) => self.links[head].newer = Some(e),
        }
        self.links[e] = Links { newer: None, older: head };
    }

    /// Removes `e` from the list of `cpu`.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId, e: EntityId) {
        let list = &mut self.lists[cpu.index()];
        let Links { newer, older } = self.links[e];
        match newer {
            None => list.newest = older,
            Some(newer) => self.links[newer].older = older,
        }
        match older {
            None => list.oldest = newer,
            Some(older) => self.links[older].newer = newer,
        }
    }

    /// Moves `e`, which is on the list of `cpu`, to its head.
    #[inline]
    pub fn to_head(&mut self, cpu: CpuId, e: EntityId) {
        if self.lists[cpu.index()].newest != Some(e) {
            self.remove(cpu, e);
            self.add(cpu, e);
        }
    }

    /// Checks the lists against the tasks that should be on them. For tests.
    ///
    /// # Errors
    ///
    /// The inconsistency found.
    pub fn audit(&self, queued: impl Iterator<Item = (EntityId, CpuId)>) -> Result<(), String> {
        let mut cpu_of: Vec<Option<CpuId>> = alloc::vec![None; self.links.len()];
        let mut expected = 0;
        for (e, cpu) in queued {
            cpu_of[e.index()] = Some(cpu);
            expected += 1;
        }
        let mut found = 0;
        for (cpu, list) in self.lists.iter().enumerate() {
            let mut next = list.oldest;
            let mut last = None;
            while let Some(e) = next {
                let on = cpu_of[e.index()];
                if self.links[e].older != last || on.is_none_or(|on| on.index() != cpu) {
                    return Err(alloc::format!("CPU {cpu}: its list of tasks is broken at {e:?}"));
                }
                found += 1;
                last = next;
                next = self.links[e].newer;
            }
            if last != list.newest {
                return Err(alloc::format!("CPU {cpu}: the tail of its list of tasks is wrong"));
            }
        }
        if found != expected {
            return Err(alloc::format!("{expected} tasks are queued, {found} are on lists"));
        }
        Ok(())
    }
}
