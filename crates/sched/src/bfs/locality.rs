//! The distances between CPUs.
//!
//! BFS has one queue and therefore no domains. The structure of the machine matters only here. A
//! search for an idle CPU prefers CPUs near the one where the task last ran (both releases). In
//! 0.316, the further away a queued task last ran, the later its deadline counts.

use crate::ck::idle_map::IdleMap;
use alloc::vec::Vec;
use core::ops::Range;
use schedlab_core::{CpuId, Topology};

/// The positions of the CPUs.
#[derive(Debug)]
pub(super) struct Locality {
    topology: Topology,
    /// Whether all CPUs are equally far from each other.
    flat: bool,
    /// The CPUs, grouped by core.
    by_core: Vec<CpuId>,
    /// By CPU: the part of `by_core` that is its core.
    siblings: Vec<Range<u32>>,
}

impl Locality {
    pub(super) fn new(topology: &Topology) -> Locality {
        let core = |cpu: &CpuId| topology.place(*cpu).core;
        let mut by_core: Vec<CpuId> = topology.iter().collect();
        by_core.sort_by_key(|cpu| (core(cpu), cpu.0));
        let mut siblings = alloc::vec![0..0; by_core.len()];
        let mut start = 0;
        for threads in by_core.chunk_by(|a, b| core(a) == core(b)) {
            let end = start + threads.len() as u32;
            for cpu in threads {
                siblings[cpu.index()] = start..end;
            }
            start = end;
        }
        let first = topology.place(CpuId(0));
        let flat = topology.iter().skip(1).all(|cpu| {
            let place = topology.place(cpu);
            place.node == first.node && place.cache != first.cache
        }) && topology.levels().len() <= 1;
        Locality { topology: topology.clone(), flat, by_core, siblings }
    }

    /// Whether all CPUs are equally far from each other.
    #[inline]
    pub(super) fn is_flat(&self) -> bool {
        self.flat
    }

    /// 0.316 `cpu_locality`: returns 0 where a cache is shared, 1 in the same node, 3 elsewhere. (3
    /// is the maximum. Nearer nodes may have had less.)
    #[inline]
    pub(super) fn distance(&self, a: CpuId, b: CpuId) -> i64 {
        if a == b {
            return 0;
        }
        let (a, b) = (self.topology.place(a), self.topology.place(b));
        if a.cache == b.cache {
            0
        } else if a.node == b.node {
            1
        } else {
            3
        }
    }

    /// Returns the longest possible [`distance`](Locality::distance).
    pub(super) fn most_distant(&self) -> i64 {
        self.topology.iter().map(|cpu| self.distance(CpuId(0), cpu)).max().unwrap_or(0)
    }

    /// Returns the suitability of the idle CPU `to` for a task that last ran on `from`, the smaller
    /// the better: the same core, a shared cache, the same package, another one, another node. A
    /// thread whose core is otherwise busy is worse than any whole core of its node, and better
    /// than another node. The description leaves open how much worse.
    pub(super) fn rank(&self, from: CpuId, to: CpuId, idle: &IdleMap) -> u32 {
        const ANOTHER_NODE: u32 = 8;
        const SIBLING_BUSY: u32 = 4;
        let (a, b) = (self.topology.place(from), self.topology.place(to));
        let near = if a.node != b.node {
            ANOTHER_NODE
        } else if a.core == b.core {
            0
        } else if a.cache == b.cache {
            1
        } else if a.package == b.package {
            2
        } else {
            3
        };
        let Range { start, end } = self.siblings[to.index()];
        let threads = &self.by_core[start as usize..end as usize];
        let busy = threads.iter().any(|&thread| !idle.contains(thread));
        near + if busy { SIBLING_BUSY } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::topology::Place;

    /// Returns two nodes of two packages, each of two caches of two cores of two threads.
    fn machine() -> Topology {
        let place =
            |cpu: u32| Place { core: cpu / 2, cache: cpu / 4, package: cpu / 8, node: cpu / 16 };
        Topology::new((0..32).map(place).collect(), &[]).unwrap()
    }

    #[test]
    fn distances_of_0_316() {
        let locality = Locality::new(&machine());
        let distance = |b| locality.distance(CpuId(0), CpuId(b));
        assert_eq!([0, 1, 3, 4, 8, 16].map(distance), [0, 0, 0, 1, 1, 3]);
        let flat = Locality::new(&Topology::flat(3));
        assert_eq!([0, 1, 2].map(|b| flat.distance(CpuId(0), CpuId(b))), [0, 1, 1]);
        assert_eq!((locality.most_distant(), flat.most_distant()), (3, 1));
        assert!(flat.is_flat() && !locality.is_flat());
    }

    #[test]
    fn the_nearest_idle_cpu_is_of_the_same_core_cache_package_node() {
        let locality = Locality::new(&machine());
        let mut idle = IdleMap::all(32);
        let rank = |idle: &IdleMap, to| locality.rank(CpuId(0), CpuId(to), idle);
        let ranks = [1, 2, 4, 8, 16].map(|to| rank(&idle, to));
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        // CPU 0 itself is busy, and so is a thread of the next core. Then a whole core is better.
        idle.set(CpuId(0), false);
        idle.set(CpuId(3), false);
        assert!(rank(&idle, 4) < rank(&idle, 1) && rank(&idle, 8) < rank(&idle, 2));
        assert!(rank(&idle, 2) < rank(&idle, 16), "another node is the worst");
    }
}
