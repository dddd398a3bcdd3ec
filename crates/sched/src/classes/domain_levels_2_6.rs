//! The levels at which 2.6.22 to 2.6.32 build scheduling domains.
//!
//! From the smallest: the hardware threads of a core (SMT), the cores that share their last cache
//! (MC), the CPUs of a node (CPU), up to 16 nodes (NODE), and, on larger machines, all nodes
//! (ALLNODES). Every CPU has a domain at each level. Redundant domains are dropped
//! ([`Dropping::NoNewFlags`](super::domains::Dropping)).
//!
//! Node distances decide only which nodes share a NODE domain on a machine of more than 16. The
//! kernel takes the 16 nearest as seen from each node, so that spans may overlap. Here the largest
//! distance that divides the nodes cleanly into parts of at most 16 is used. If there is no such
//! distance, there is no NODE level. (No kernel was run on more than 16 nodes for comparison.)

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use schedlab_core::Topology;
use schedlab_core::topology::{Level, LevelKind, Place};

/// Maximum number of nodes of a NODE domain (`SD_NODES_PER_DOMAIN`).
const NODES_PER_DOMAIN: u32 = 16;

/// Returns the levels of a machine. A machine of one CPU has none.
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

/// Returns the number of nodes of the largest span of a level.
fn most_nodes(topology: &Topology, level: &Level) -> u32 {
    let mut nodes: Vec<(u32, u32)> =
        topology.iter().map(|cpu| (level.span_of[cpu.index()], topology.place(cpu).node)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.chunk_by(|a, b| a.0 == b.0).map(|span| span.len() as u32).max().unwrap_or(0)
}
