//! Which scheduling domains 2.6.32 builds of a machine, and what it gives them.
//!
//! From the smallest: the hardware threads of a core (SMT), the cores that share a cache (MC), the
//! CPUs of a node (CPU), up to 16 nodes (NODE), and all nodes where there are more (ALLNODES).
//! Levels that add nothing are dropped.
//!
//! The distances of nodes decide only which of them share a NODE domain on a machine of more than
//! 16. The kernel takes the nearest 16 as each node sees them, spans that may overlap; here the
//! largest distance that divides the nodes cleanly into parts of at most 16 is taken, and none of
//! them if there is no such distance.
//!
//! The releases before 2.6.32 run on one CPU only here and have no domain. Their CPU level is known
//! (`newidle_idx` 2, `wake_idx` 1, `forkexec_idx` 1, other flags), what their balancers did with it
//! is not.

use crate::classes::domains::{DomainParams, Domains};
use alloc::vec::Vec;
use schedlab_core::Topology;
use schedlab_core::topology::{Level, LevelKind};

/// How many nodes a NODE domain has at most (`SD_NODES_PER_DOMAIN`).
const NODES_PER_DOMAIN: u32 = 16;

/// The domains of 2.6.32.
pub fn domains(topology: &Topology) -> Domains {
    let params = |kind| domain_params(kind, topology.cpus());
    Domains::of_levels(topology.cpus(), &levels(topology), params)
}

/// The levels as 2.6.32 sees them.
fn levels(topology: &Topology) -> Vec<Level> {
    let is_node = |level: &&Level| level.kind == LevelKind::Node;
    let mut levels: Vec<Level> =
        topology.levels().iter().filter(|level| !is_node(level)).cloned().collect();
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

/// The parameters of 2.6.32's domains, on a machine of so many CPUs.
pub fn domain_params(kind: LevelKind, cpus: u32) -> DomainParams {
    let cpu = DomainParams {
        min_interval_ms: 1,
        max_interval_ms: 4,
        busy_factor: 64,
        imbalance_pct: 125,
        cache_nice_tries: 1,
        busy_idx: 2,
        idle_idx: 1,
        newidle_idx: 0,
        wake_idx: 0,
        forkexec_idx: 0,
        balance_newidle: true,
        balance_exec: true,
        balance_fork: true,
        balance_wake: false,
        wake_affine: true,
        share_cpupower: false,
        prefer_sibling: true,
        smt_gain: 1178,
    };
    match kind {
        LevelKind::Smt => DomainParams {
            max_interval_ms: 2,
            imbalance_pct: 110,
            cache_nice_tries: 0,
            busy_idx: 0,
            idle_idx: 0,
            share_cpupower: true,
            prefer_sibling: false,
            ..cpu
        },
        LevelKind::MultiCore => DomainParams { idle_idx: 0, ..cpu },
        LevelKind::Cpu => cpu,
        LevelKind::Node => DomainParams {
            min_interval_ms: 8,
            max_interval_ms: 32,
            busy_factor: 32,
            cache_nice_tries: 2,
            busy_idx: 3,
            idle_idx: 2,
            prefer_sibling: false,
            ..cpu
        },
        LevelKind::AllNodes => DomainParams {
            min_interval_ms: 64,
            max_interval_ms: 64 * cpus,
            busy_factor: 128,
            imbalance_pct: 133,
            busy_idx: 3,
            idle_idx: 3,
            balance_exec: false,
            balance_fork: false,
            wake_affine: false,
            prefer_sibling: false,
            ..cpu
        },
    }
}
