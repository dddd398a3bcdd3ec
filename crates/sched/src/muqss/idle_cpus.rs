//! The idle CPUs, with the number of them in each core and each cache.

use super::nearness::Nearness;
use crate::ck::idle_map::IdleMap;
use alloc::vec::Vec;
use schedlab_core::{CpuId, CpuSet};

/// `cpu_idle_map`: the CPUs whose last reschedule ended idle.
#[derive(Debug)]
pub(super) struct IdleCpus {
    map: IdleMap,
    /// By last-level cache: number of its CPUs that are busy.
    busy_of_cache: Vec<u16>,
}

impl IdleCpus {
    /// All CPUs are idle.
    pub(super) fn all(cpus: u32) -> IdleCpus {
        IdleCpus { map: IdleMap::all(cpus), busy_of_cache: alloc::vec![0; cpus as usize] }
    }

    #[inline]
    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        self.map.contains(cpu)
    }

    /// The lowest idle CPU in `allowed`.
    #[inline]
    pub(super) fn first(&self, allowed: &CpuSet) -> Option<CpuId> {
        self.map.first(allowed)
    }

    /// The lowest idle CPU from `from` on that is in `allowed`.
    #[inline]
    pub(super) fn first_from(&self, from: u32, allowed: &CpuSet) -> Option<CpuId> {
        self.map.first_from(from, allowed)
    }

    #[inline]
    pub(super) fn set(&mut self, nearness: &Nearness, cpu: CpuId, idle: bool) {
        if self.map.contains(cpu) != idle {
            self.map.set(cpu, idle);
            let busy = &mut self.busy_of_cache[nearness.cache(cpu)];
            *busy = if idle { *busy - 1 } else { *busy + 1 };
        }
    }

    /// Whether all CPUs that share a last-level cache with the idle `cpu` are idle.
    #[inline]
    pub(super) fn cache_idle(&self, nearness: &Nearness, cpu: CpuId) -> bool {
        self.busy_of_cache[nearness.cache(cpu)] == 0
    }

    /// Whether the sibling threads of the idle `cpu` are idle.
    #[inline]
    pub(super) fn siblings_idle(&self, nearness: &Nearness, cpu: CpuId) -> bool {
        nearness.siblings(cpu).iter().all(|&sibling| self.contains(sibling))
    }
}
