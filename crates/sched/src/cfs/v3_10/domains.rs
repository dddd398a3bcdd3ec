//! The scheduling domains of 3.10.

use crate::classes::domains::{DomainParams, Domains, Reach};
use crate::fair_6::domains::nodes_within;
use alloc::vec::Vec;
use schedlab_core::Topology;
use schedlab_core::topology::{LOCAL_DISTANCE, LevelKind};

/// The domains of `topology`.
pub fn build(topology: &Topology) -> Domains {
    let mut levels = Vec::new();
    for level in topology.levels() {
        let kind = match level.kind {
            LevelKind::Node | LevelKind::AllNodes => continue,
            LevelKind::Cpu if topology.is_flat() => LevelKind::MultiCore,
            kind => kind,
        };
        levels.push((kind, params(kind), Reach::Divided(level.span_of.clone())));
    }
    // A level of packages with a single group, that of the cores, is of use only below nodes.
    if topology.nodes() == 1
        && let [.., (_, _, Reach::Divided(cores)), (LevelKind::Cpu, _, Reach::Divided(packages))] =
            levels.as_slice()
        && cores == packages
    {
        levels.pop();
    }
    let nodes = || 0..topology.nodes();
    let mut distances: Vec<u32> =
        nodes().flat_map(|a| nodes().map(move |b| topology.distance(a, b))).collect();
    distances.sort_unstable();
    distances.dedup();
    for &distance in distances.iter().filter(|&&distance| distance > LOCAL_DISTANCE) {
        let kind = if distance > 30 { LevelKind::AllNodes } else { LevelKind::Node };
        levels.push((kind, params(kind), nodes_within(topology, distance)));
    }
    Domains::of_reaches_by_flags(topology.cpus(), levels)
}

/// The parameters of a level. The intervals of nodes depend on the number of CPUs.
fn params(kind: LevelKind) -> DomainParams {
    let node = matches!(kind, LevelKind::Node | LevelKind::AllNodes);
    let far = kind == LevelKind::AllNodes;
    DomainParams {
        min_interval_ms: 1,
        max_interval_ms: if kind == LevelKind::Smt { 2 } else { 4 },
        busy_factor: if node { 32 } else { 64 },
        imbalance_pct: if kind == LevelKind::Smt { 110 } else { 125 },
        cache_nice_tries: match kind {
            LevelKind::Smt => 0,
            LevelKind::MultiCore | LevelKind::Cpu => 1,
            LevelKind::Node | LevelKind::AllNodes => 2,
        },
        busy_idx: match kind {
            LevelKind::Smt => 0,
            LevelKind::MultiCore | LevelKind::Cpu => 2,
            LevelKind::Node | LevelKind::AllNodes => 3,
        },
        idle_idx: match kind {
            LevelKind::Smt | LevelKind::MultiCore => 0,
            LevelKind::Cpu => 1,
            LevelKind::Node | LevelKind::AllNodes => 2,
        },
        newidle_idx: 0,
        wake_idx: 0,
        forkexec_idx: 0,
        balance_newidle: true,
        balance_exec: !far,
        balance_fork: !far,
        balance_wake: false,
        wake_affine: !far,
        wake_idle: false,
        share_cpupower: kind == LevelKind::Smt,
        prefer_sibling: kind == LevelKind::Cpu,
        smt_gain: 1178,
    }
}
