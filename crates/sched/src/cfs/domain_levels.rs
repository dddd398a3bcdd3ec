//! The parameters of the scheduling domains of 2.6.32. ([`domain_levels_2_6`] defines the levels.)

use crate::classes::domain_levels_2_6;
use crate::classes::domains::{DomainParams, Domains};
use schedlab_core::Topology;
use schedlab_core::topology::LevelKind;

/// Returns the domains of 2.6.32.
pub fn domains(topology: &Topology) -> Domains {
    let params = |kind| domain_params(kind, topology.cpus());
    Domains::by_flags(topology.cpus(), &domain_levels_2_6::levels(topology), false, params)
}

/// Returns `balance_interval` of a new domain, ms. In a domain of nodes it never becomes as short
/// again.
pub(super) const fn first_interval_ms(kind: LevelKind) -> u64 {
    match kind {
        LevelKind::AllNodes => 64,
        _ => 1,
    }
}

/// Returns the parameters of 2.6.32's domains on a machine of `cpus` CPUs.
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
        wake_idle: false,
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
