//! 2.6.0: memory nodes.
//!
//! A CPU balances with the other CPUs of its own node. Every fifth time when it is idle, and every
//! second time when it is busy, it compares the nodes first. The load of a node is 10 times its
//! number of tasks divided by its number of CPUs (in integers), plus half of the load that this CPU
//! last computed for the node. If the load of some other node exceeds that of the CPU's own node by
//! more than a quarter (`NODE_THRESHOLD`), the CPU then balances with the CPUs of that node as it
//! does within its own node.
//!
//! Each CPU decides separately, and only at its tick, whether to balance with another node. A CPU
//! that is about to go idle looks only in its own node. A task that calls `execve(2)` on a CPU with
//! at least two other tasks moves to the emptiest node.

use super::O1;
use super::loads::{Loads, NodeId};
use alloc::vec;
use alloc::vec::Vec;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{CpuId, Platform, Topology};

/// Load that another node must exceed for tasks to move, percent of the own node's load.
const NODE_THRESHOLD: u32 = 125;
/// Number of times an idle CPU balances within its own node for each time it compares nodes.
const IDLE_NODE_REBALANCE: u64 = 5;
/// The same number for a busy CPU.
const BUSY_NODE_REBALANCE: u64 = 2;

/// The nodes, and the loads that CPUs have computed for them.
#[derive(Debug)]
pub(super) struct Nodes {
    /// The node of each CPU.
    node_of: Vec<NodeId>,
    /// By CPU: number of CPUs in its node that have lower numbers.
    rank: Vec<u32>,
    /// The CPUs of each node, in ascending order.
    members: IndexVec<NodeId, Vec<CpuId>>,
    /// By CPU and node: load of the node at the CPU's last attempt (`prev_node_load`).
    prev_load: Vec<u32>,
}

impl Nodes {
    /// Returns the nodes of `topology`.
    pub(super) fn new(topology: &Topology) -> Nodes {
        let mut members: IndexVec<NodeId, Vec<CpuId>> =
            (0..topology.nodes()).map(|_| Vec::new()).collect();
        let (mut node_of, mut rank) = (Vec::new(), Vec::new());
        for cpu in topology.iter() {
            let node = NodeId::new(topology.place(cpu).node as usize);
            node_of.push(node);
            rank.push(members[node].len() as u32);
            members[node].push(cpu);
        }
        let several = if members.len() > 1 { members.len() * node_of.len() } else { 0 };
        Nodes { node_of, rank, members, prev_load: vec![0; several] }
    }

    /// Returns the number of nodes.
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    /// Returns all nodes, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = NodeId> {
        self.members.indices()
    }

    /// Returns the node of each CPU.
    pub(super) fn by_cpu(&self) -> &[NodeId] {
        &self.node_of
    }

    /// Returns the CPUs of a node, in ascending order.
    pub(super) fn cpus(&self, node: NodeId) -> &[CpuId] {
        &self.members[node]
    }

    /// Returns the node of `cpu`.
    #[inline]
    pub(super) fn of(&self, cpu: CpuId) -> NodeId {
        self.node_of[cpu.index()]
    }

    /// Returns the place of `cpu` among the CPUs of its node.
    #[inline]
    pub(super) fn rank(&self, cpu: CpuId) -> usize {
        self.rank[cpu.index()] as usize
    }

    /// `sched_best_cpu`: returns the CPU to which a task moves when it calls `execve(2)` on `this`
    /// CPU. That is the CPU with the fewest tasks in the node with the fewest tasks per CPU. Among
    /// equals, the first one wins.
    pub(super) fn emptiest_cpu(&self, this: CpuId, loads: &Loads) -> CpuId {
        if self.count() == 1 || loads.nr_running(this) <= 2 {
            return this;
        }
        let load = |&node: &NodeId| 10 * loads.node_running(node) / self.members[node].len() as u32;
        let node = self.members.indices().min_by_key(load).unwrap_or(self.of(this));
        let cpus = self.members[node].iter().copied();
        cpus.min_by_key(|&cpu| loads.nr_running(cpu)).unwrap_or(this)
    }

    /// `find_busiest_node`: returns the node with the highest load, if that load sufficiently
    /// exceeds the load of the node of `this` CPU. Among equals, the lowest number wins.
    fn find_busiest(&mut self, this: CpuId, loads: &Loads) -> Option<NodeId> {
        let (own, nodes) = (self.of(this), self.count());
        let previous = &mut self.prev_load[this.index() * nodes..][..nodes];
        let mut look = |node: NodeId| {
            let cpus = self.members[node].len() as u32;
            let load = &mut previous[node.index()];
            *load = *load / 2 + 10 * loads.node_running(node) / cpus;
            *load
        };
        let mine = look(own);
        let (mut busiest, mut most) = (None, mine);
        for node in self.members.indices().filter(|&node| node != own) {
            let load = look(node);
            if load > most && 100 * load > NODE_THRESHOLD * mine {
                (busiest, most) = (Some(node), load);
            }
        }
        busiest
    }
}

impl O1 {
    /// Balances with another node at the tick of `this` CPU, if it is time. `every` is the interval
    /// of balancing within its own node, jiffies.
    pub(super) fn rebalance_nodes(
        &mut self,
        platform: &mut Platform,
        this: CpuId,
        idle: bool,
        every: u64,
    ) {
        let factor = if idle { IDLE_NODE_REBALANCE } else { BUSY_NODE_REBALANCE };
        if self.nodes.count() == 1 || !platform.jiffies().is_multiple_of(every.max(1) * factor) {
            return;
        }
        if let Some(node) = self.nodes.find_busiest(this, &self.loads) {
            self.balance_with(platform, this, idle, node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::topology::Place;

    /// Nodes of two CPUs each, with the given numbers of tasks on the lower one of each.
    fn nodes(tasks: &[u32]) -> (Nodes, Loads) {
        let cpus = 2 * tasks.len() as u32;
        let place = |cpu| Place { core: cpu, cache: cpu, package: cpu, node: cpu / 2 };
        let topology = Topology::new((0..cpus).map(place).collect(), &[]).unwrap();
        let nodes = Nodes::new(&topology);
        let mut loads = Loads::new(nodes.by_cpu().to_vec());
        for (node, &tasks) in tasks.iter().enumerate() {
            loads.set_for_test(CpuId(2 * node as u32), tasks);
        }
        (nodes, loads)
    }

    /// Returns the busiest node as CPU `this` sees it.
    fn busiest(nodes: &mut Nodes, this: u32, loads: &Loads) -> Option<usize> {
        nodes.find_busiest(CpuId(this), loads).map(TypedIndex::index)
    }

    #[test]
    fn a_node_must_have_a_quarter_more() {
        // 10 * 8 / 2 = 40 against 10 * 10 / 2 = 50: not more than 125 %. 55 is.
        let (mut at_most, loads) = nodes(&[8, 10]);
        assert_eq!(busiest(&mut at_most, 0, &loads), None);
        let (mut more, loads) = nodes(&[8, 11]);
        assert_eq!(busiest(&mut more, 0, &loads), Some(1));
        assert_eq!(busiest(&mut more, 2, &loads), None, "from there it is the own node");
    }

    #[test]
    fn the_busiest_counts_and_the_lowest_among_equals() {
        let (mut nodes, loads) = nodes(&[0, 2, 6, 6]);
        assert_eq!(busiest(&mut nodes, 1, &loads), Some(2));
    }

    #[test]
    fn an_exec_beside_two_others_goes_to_the_emptiest_node() {
        let (nodes, mut loads) = nodes(&[3, 1, 0, 0]);
        assert_eq!(nodes.emptiest_cpu(CpuId(0), &loads), CpuId(4), "the first among equals");
        loads.set_for_test(CpuId(4), 1);
        loads.set_for_test(CpuId(6), 1);
        // 10 * 1 / 2 = 5 on each. In the first of them the other CPU is empty.
        assert_eq!(nodes.emptiest_cpu(CpuId(0), &loads), CpuId(3));
        loads.set_for_test(CpuId(0), 2);
        assert_eq!(nodes.emptiest_cpu(CpuId(0), &loads), CpuId(0), "two are not enough");
    }

    #[test]
    fn what_was_seen_fades_by_half_for_each_cpu_by_itself() {
        let (mut nodes, mut loads) = nodes(&[2, 4]);
        assert_eq!(busiest(&mut nodes, 0, &loads), Some(1));
        loads.set_for_test(CpuId(2), 2);
        // 10/2 + 10 here, 20/2 + 10 there.
        assert_eq!(busiest(&mut nodes, 0, &loads), Some(1));
        assert_eq!(busiest(&mut nodes, 1, &loads), None, "this CPU had not looked before");
    }
}
