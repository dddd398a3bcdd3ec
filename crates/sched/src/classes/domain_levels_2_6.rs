//! The levels at which 2.6.22 to 2.6.32 build scheduling domains.
//!
//! From the smallest: the hardware threads of a core (SMT), the cores that share their last cache
//! (MC), the CPUs of a node (CPU), up to 16 nodes (NODE), and all nodes where there are more
//! (ALLNODES). Every CPU gets a domain at each; those that bring nothing are dropped
//! ([`Dropping::NoNewFlags`](super::domains::Dropping)).
//!
//! The distances of nodes decide only which of them share a NODE domain on a machine of more than
//! 16. The kernel takes the nearest 16 as each node sees them, spans that may overlap; here the
//! largest distance that divides the nodes cleanly into parts of at most 16 is taken, and none of
//! them if there is no such distance. (No kernel was driven on so many.)

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use schedlab_core::Topology;
use schedlab_core::topology::{Level, LevelKind, Place};

/// How many nodes a NODE domain has at most (`SD_NODES_PER_DOMAIN`).
const NODES_PER_DOMAIN: u32 = 16;

/// The levels of a machine; none if it has one CPU.
pub fn levels(topology: &Topology) -> Vec<Level> {
    if topology.cpus() == 1 {
        return Vec::new();
    }
    let level = |kind, of: fn(&Place) -> u32| {
        let mut known = BTreeMap::new();
        let number = |cpu| {
            let next = known.len() as u32;
            *known.entry(of(&topology.place(cpu))).or_insert(next)
        };
        Level { kind, span_of: topology.iter().map(number).collect() }
    };
    let mut levels = alloc::vec![
        level(LevelKind::Smt, |place| place.core),
        level(LevelKind::MultiCore, |place| place.cache),
        level(LevelKind::Cpu, |place| place.node),
    ];
    let is_node = |level: &&Level| level.kind == LevelKind::Node;
    let mut node_levels: Vec<&Level> = topology.levels().iter().filter(is_node).collect();
    let Some(all) = node_levels.last().copied() else {
        return levels;
    };
    if topology.nodes() > NODES_PER_DOMAIN {
        node_levels.retain(|level| most_nodes(topology, level) <= NODES_PER_DOMAIN);
    }
    levels.extend(node_levels.last().copied().cloned());
    if topology.nodes() > NODES_PER_DOMAIN {
        levels.push(Level { kind: LevelKind::AllNodes, ..all.clone() });
    }
    levels
}

/// How many nodes the largest span of a level has.
fn most_nodes(topology: &Topology, level: &Level) -> u32 {
    let mut nodes: Vec<(u32, u32)> =
        topology.iter().map(|cpu| (level.span_of[cpu.index()], topology.place(cpu).node)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.chunk_by(|a, b| a.0 == b.0).map(|span| span.len() as u32).max().unwrap_or(0)
}
