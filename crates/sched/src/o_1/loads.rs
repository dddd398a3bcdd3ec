//! Number of tasks on the CPUs' queues.
//!
//! The numbers are kept apart from the queues, because 2.6.0's balancing scans the whole machine
//! for them. A set of the CPUs with tasks to give makes most of the kernel's full scans unnecessary
//! here. The results are exactly the same.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{CpuBits, CpuId, define_index};

define_index! {
    /// A memory node.
    pub(super) struct NodeId;
}

/// Number of tasks on each CPU's queue.
#[derive(Debug)]
pub(super) struct Loads {
    /// By CPU: number of tasks in both arrays, the running one included.
    nr_running: Vec<u32>,
    /// The CPUs with more than one task: the others have none to give.
    overloaded: CpuBits,
    /// Counts the changes to `nr_running`.
    version: u64,
    /// By CPU: its memory node.
    node_of: Vec<NodeId>,
    /// Number of tasks on the node's CPUs (`node_nr_running`).
    node_running: IndexVec<NodeId, u32>,
}

impl Loads {
    /// Creates empty queues of CPUs in these nodes.
    pub(super) fn new(node_of: Vec<NodeId>) -> Loads {
        let cpus = node_of.len();
        let nodes = node_of.iter().max().map_or(0, |&max| max.index() + 1);
        Loads {
            nr_running: vec![0; cpus],
            overloaded: CpuBits::new(cpus as u32),
            version: 1,
            node_of,
            node_running: (0..nodes).map(|_| 0).collect(),
        }
    }

    /// Returns the number of tasks on the CPUs of a node.
    pub(super) fn node_running(&self, node: NodeId) -> u32 {
        self.node_running[node]
    }

    /// Returns the number of tasks on the queue of `cpu`, the running one included.
    #[inline]
    pub(super) fn nr_running(&self, cpu: CpuId) -> u32 {
        self.nr_running[cpu.index()]
    }

    /// Returns `nr_running` of all CPUs.
    pub(super) fn all_running(&self) -> &[u32] {
        &self.nr_running
    }

    /// Returns a number that changes with each change to a `nr_running`.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the CPUs from `first` to `last` that have more than one task, in ascending order.
    pub(super) fn overloaded(&self, first: CpuId, last: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        self.overloaded.range(first.0..last.0 + 1)
    }

    /// Counts one more task on `cpu`.
    #[inline]
    pub(super) fn add(&mut self, cpu: CpuId) {
        let running = &mut self.nr_running[cpu.index()];
        *running += 1;
        if *running == 2 {
            self.overloaded.insert(cpu);
        }
        self.node_running[self.node_of[cpu.index()]] += 1;
        self.version += 1;
    }

    /// Counts one task less on `cpu`.
    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) {
        let running = &mut self.nr_running[cpu.index()];
        *running -= 1;
        if *running == 1 {
            self.overloaded.remove(cpu);
        }
        self.node_running[self.node_of[cpu.index()]] -= 1;
        self.version += 1;
    }

    /// Checks the derived values.
    pub(super) fn audit(&self) -> Result<(), String> {
        for (cpu, &running) in (0..).map(CpuId).zip(&self.nr_running) {
            if self.overloaded.contains(cpu) != (running > 1) {
                return Err(alloc::format!("CPU {} has {running} tasks and the wrong mark", cpu.0));
            }
        }
        if self.node_running.iter().sum::<u32>() != self.nr_running.iter().sum::<u32>() {
            return Err("the nodes' tasks are miscounted".into());
        }
        Ok(())
    }

    /// For tests: gives `cpu` this number of tasks.
    #[cfg(test)]
    pub(super) fn set_for_test(&mut self, cpu: CpuId, running: u32) {
        while self.nr_running(cpu) < running {
            self.add(cpu);
        }
        while self.nr_running(cpu) > running {
            self.remove(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloaded_cpus_of_a_range() {
        let mut loads = Loads::new(vec![NodeId::new(0); 200]);
        for cpu in [0, 63, 64, 130, 199] {
            loads.set_for_test(CpuId(cpu), 2);
        }
        let members = |first, last| {
            loads.overloaded(CpuId(first), CpuId(last)).map(|cpu| cpu.0).collect::<Vec<_>>()
        };
        assert_eq!(members(0, 199), [0, 63, 64, 130, 199]);
        assert_eq!(members(1, 198), [63, 64, 130]);
        assert_eq!(members(64, 129), [64]);
        assert_eq!(members(65, 65), []);
    }
}
