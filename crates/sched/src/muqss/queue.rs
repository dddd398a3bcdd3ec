//! The queues: waiting tasks, sorted by key.
//!
//! The kernel keeps a skip list for each queue. Here a queue is a pair of red-black trees, which
//! order the same: a task goes behind all others of the same key. There are two of them since the
//! trees compare keys by their difference, and the keys of idle-priority tasks are more than half
//! of all numbers away from the others.

use crate::classes::rbtree::{Nodes, Root};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::{CpuId, TaskId, TaskTable, define_index};

/// The key of an empty queue: later than every other.
pub(super) const NO_KEY: u64 = u64::MAX;

define_index! {
    /// A task's place in the trees.
    struct Entry;
}

/// The waiting tasks of some CPUs.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The tasks whose keys have the top bit clear, and those whose keys have it set.
    trees: [Root<Entry>; 2],
    entries: u32,
}

/// All queues. Each is named after its leader, the lowest CPU that it belongs to.
#[derive(Debug)]
pub(super) struct Queues {
    nodes: Nodes<Entry>,
    queued: TaskTable<bool>,
    queues: Vec<Queue>,
}

fn tree_of(key: u64) -> usize {
    (key >> 63) as usize
}

impl Queues {
    pub(super) fn new(cpus: u32) -> Queues {
        Queues {
            nodes: Nodes::new(),
            queued: TaskTable::new(),
            queues: alloc::vec![Queue::default(); cpus as usize],
        }
    }

    /// Makes room for a new task, so that queueing never has to allocate.
    pub(super) fn admit(&mut self, task: TaskId) {
        self.queued.insert(task, false);
        self.nodes.make_room(task.index() + 1);
    }

    #[inline]
    pub(super) fn is_queued(&self, task: TaskId) -> bool {
        self.queued[task]
    }

    /// Number of tasks in the queue of `leader`.
    #[inline]
    pub(super) fn len(&self, leader: CpuId) -> u32 {
        self.queues[leader.index()].entries
    }

    /// The key of the first task in the queue of `leader`; [`NO_KEY`] if there is none.
    #[inline]
    pub(super) fn first_key(&self, leader: CpuId) -> u64 {
        let [low, high] = &self.queues[leader.index()].trees;
        let first = low.leftmost().or_else(|| high.leftmost());
        first.map_or(NO_KEY, |entry| self.nodes.key(entry))
    }

    /// Puts `task` into the queue of `leader`, behind all tasks of the same key.
    pub(super) fn push(&mut self, leader: CpuId, task: TaskId, key: u64) {
        debug_assert!(!self.queued[task], "task {} is queued already", task.0);
        self.queued[task] = true;
        let queue = &mut self.queues[leader.index()];
        queue.entries += 1;
        self.nodes.insert(&mut queue.trees[tree_of(key)], Entry::new(task.index()), key);
    }

    /// Removes `task` from the queue of `leader`.
    pub(super) fn remove(&mut self, leader: CpuId, task: TaskId) {
        debug_assert!(self.queued[task], "task {} is not queued", task.0);
        self.queued[task] = false;
        let entry = Entry::new(task.index());
        let queue = &mut self.queues[leader.index()];
        queue.entries -= 1;
        self.nodes.remove(&mut queue.trees[tree_of(self.nodes.key(entry))], entry);
    }

    /// The tasks in the queue of `leader` with their keys, in order.
    pub(super) fn iter(&self, leader: CpuId) -> impl Iterator<Item = (u64, TaskId)> + '_ {
        let trees = &self.queues[leader.index()].trees;
        trees.iter().flat_map(|tree| {
            core::iter::successors(tree.leftmost(), |&entry| self.nodes.next(entry))
                .map(|entry| (self.nodes.key(entry), TaskId(entry.index() as u32)))
        })
    }

    /// Checks trees, counts and marks against each other.
    pub(super) fn audit(&self) -> Result<(), String> {
        let mut queued = 0;
        for (number, queue) in self.queues.iter().enumerate() {
            let mut entries = 0;
            for tree in &queue.trees {
                let audited = self.nodes.audit(tree);
                entries += audited.map_err(|what| format!("queue of CPU {number}: {what}"))? as u32;
            }
            if entries != queue.entries {
                let counted = queue.entries;
                return Err(format!(
                    "queue of CPU {number}: {entries} tasks are queued, {counted} are counted"
                ));
            }
            queued += entries as usize;
        }
        let marked = self.queued.iter().filter(|(_, queued)| **queued).count();
        if marked != queued {
            return Err(format!("{queued} tasks are queued, {marked} are marked so"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_keep_their_order_and_keys_are_unsigned() {
        let mut queues = Queues::new(2);
        let keys = [7, 0xF000_0000_0000_0007, 7, 1 << 63, 3];
        for (task, key) in (0..).map(TaskId).zip(keys) {
            queues.admit(task);
            queues.push(CpuId(1), task, key);
        }
        let order = |queues: &Queues| queues.iter(CpuId(1)).map(|(_, task)| task.0).collect();
        let all: Vec<u32> = order(&queues);
        assert_eq!(all, [4, 0, 2, 3, 1]);
        assert_eq!((queues.first_key(CpuId(1)), queues.first_key(CpuId(0))), (3, NO_KEY));
        queues.remove(CpuId(1), TaskId(0));
        queues.push(CpuId(1), TaskId(0), 7);
        queues.remove(CpuId(1), TaskId(4));
        let all: Vec<u32> = order(&queues);
        assert_eq!(all, [2, 0, 3, 1], "it is behind its equal");
        assert_eq!((queues.len(CpuId(1)), queues.is_queued(TaskId(4))), (4, false));
        queues.audit().expect("the queues are in order");
    }
}
