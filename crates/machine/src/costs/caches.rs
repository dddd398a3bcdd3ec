//! Caches, and the cost of finding them cold.
//!
//! The model is deliberately simple. Each task has a **footprint**: the memory that it touches
//! whenever it runs. The part of it that is no longer in a cache when the task gets the CPU is
//! fetched from the next cache (or memory) at a price per KiB. Nothing else of the memory system is
//! modelled. Of a footprint larger than the cache, only the part that fits counts: the rest was
//! never in the cache and belongs to the program's own cost.
//!
//! The part that is left in a cache follows from what other tasks have brought in since. A cache
//! keeps an odometer of the KiB fetched into it. A task remembers the reading from when it last had
//! its footprint there. If f KiB are the footprint, s the size of the cache and d the distance
//! since, then `min(f, s - d)` are left. A task that finds everything in place moves no odometer,
//! so tasks that fit together stay together. A task keeps such a reading for each level of caches.
//! Once it has run under another cache of that level, the old one no longer counts.

use schedlab_core::{CpuId, Topology};

/// Part of the machine that shares a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheOf {
    /// The threads of a core.
    Core,
    /// The CPUs to which the topology gives one cache.
    Cache,
    /// A package.
    Package,
    /// A memory node.
    Node,
}

impl CacheOf {
    /// All kinds, the smallest first.
    pub const ALL: [CacheOf; 4] = [CacheOf::Core, CacheOf::Cache, CacheOf::Package, CacheOf::Node];

    /// Returns the name in description files.
    pub const fn name(self) -> &'static str {
        match self {
            CacheOf::Core => "core",
            CacheOf::Cache => "cache",
            CacheOf::Package => "package",
            CacheOf::Node => "node",
        }
    }
}

/// A level of caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLevel {
    /// Part of the machine that shares a cache.
    pub of: CacheOf,
    /// Its size, KiB.
    pub size_kib: u32,
    /// Cost of fetching 1 KiB from the next level (from memory, for the last), picoseconds.
    pub refill_kib_ps: u64,
    /// Number of lines in a set, if known. Data at the same offset of every page then has only this
    /// number of places, times the sets that it can fall into.
    pub ways: Option<u32>,
}

/// State of a task in a level of caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Memory {
    /// Cache under which it last ran.
    cache: u32,
    /// Part of its footprint that was in the cache then, KiB.
    kib: u32,
    /// Odometer of the cache then.
    odometer: u64,
}

const NOWHERE: Memory = Memory { cache: u32::MAX, kib: 0, odometer: 0 };

/// Contents of all caches.
#[derive(Clone, Debug)]
pub struct Residency {
    levels: Vec<CacheLevel>,
    /// By level and CPU: the cache that the CPU is under.
    cache_of: Vec<Vec<u32>>,
    /// By level and cache: KiB fetched into it.
    odometers: Vec<Vec<u64>>,
    /// By task and level.
    memories: Vec<Memory>,
}

impl Residency {
    /// Creates empty caches. `levels` run from the nearest to the farthest.
    pub fn new(levels: &[CacheLevel], topology: &Topology) -> Residency {
        let number = |level: &CacheLevel| -> Vec<u32> {
            let mut seen: Vec<u32> = vec![];
            topology
                .iter()
                .map(|cpu| {
                    let place = topology.place(cpu);
                    let id = match level.of {
                        CacheOf::Core => place.core,
                        CacheOf::Cache => place.cache,
                        CacheOf::Package => place.package,
                        CacheOf::Node => place.node,
                    };
                    let known = seen.iter().position(|&other| other == id);
                    known.unwrap_or_else(|| {
                        seen.push(id);
                        seen.len() - 1
                    }) as u32
                })
                .collect()
        };
        let cache_of: Vec<Vec<u32>> = levels.iter().map(number).collect();
        let count = |numbers: &Vec<u32>| numbers.iter().max().map_or(0, |&most| most as usize + 1);
        Residency {
            odometers: cache_of.iter().map(|numbers| vec![0; count(numbers)]).collect(),
            cache_of,
            levels: levels.to_vec(),
            memories: Vec::new(),
        }
    }

    /// Returns the cost of having the footprint of `kib` of `task` at hand when it gets `cpu`,
    /// picoseconds.
    pub fn switch_in(&mut self, cpu: CpuId, task: usize, kib: u32) -> u64 {
        let levels = self.levels.len();
        if kib == 0 || levels == 0 {
            return 0;
        }
        if self.memories.len() < (task + 1) * levels {
            self.memories.resize((task + 1).next_power_of_two() * levels, NOWHERE);
        }
        let memories = &mut self.memories[task * levels..][..levels];
        let mut ps = 0;
        for (number, level) in self.levels.iter().enumerate() {
            let cache = self.cache_of[number][cpu.index()];
            let odometer = &mut self.odometers[number][cache as usize];
            let memory = &mut memories[number];
            let wanted = kib.min(level.size_kib);
            let left = if memory.cache == cache {
                let free = u64::from(level.size_kib).saturating_sub(*odometer - memory.odometer);
                free.min(u64::from(memory.kib)).min(u64::from(wanted)) as u32
            } else {
                0
            };
            let missing = wanted - left;
            ps += u64::from(missing) * level.refill_kib_ps;
            *odometer += u64::from(missing);
            *memory = Memory { cache, kib: wanted, odometer: *odometer };
        }
        ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_level(size_kib: u32) -> Residency {
        let level = CacheLevel { of: CacheOf::Core, size_kib, refill_kib_ps: 1, ways: None };
        Residency::new(&[level], &Topology::flat(2))
    }

    /// Returns the cost of each turn when `tasks` tasks of `kib` KiB each take turns on CPU 0, once
    /// the cache is warm.
    fn turn(size_kib: u32, tasks: usize, kib: u32) -> u64 {
        let mut caches = one_level(size_kib);
        let mut cost = 0;
        for _ in 0..20 {
            for task in 0..tasks {
                cost = caches.switch_in(CpuId(0), task, kib);
            }
        }
        cost
    }

    #[test]
    fn what_fits_in_together_stays() {
        assert_eq!(turn(256, 1, 64), 0);
        assert_eq!(turn(256, 4, 64), 0);
    }

    #[test]
    fn what_does_not_fit_in_is_fetched_each_time() {
        assert_eq!(turn(256, 8, 64), 64);
        assert!(turn(256, 5, 64) > 0);
    }

    #[test]
    fn a_footprint_counts_as_far_as_it_fits() {
        assert_eq!(turn(256, 1, 1000), 0, "a single task has the cache to itself");
        assert_eq!(turn(256, 2, 1000), 256);
    }

    #[test]
    fn another_cpu_is_cold_and_so_is_the_way_back() {
        let mut caches = one_level(256);
        let seen = [0, 0, 1, 1, 0].map(|cpu| caches.switch_in(CpuId(cpu), 0, 64));
        assert_eq!(seen, [64, 0, 64, 0, 64]);
    }

    #[test]
    fn what_the_package_still_has_need_not_come_from_memory() {
        let places =
            |core: u32| schedlab_core::topology::Place { core, cache: 0, package: 0, node: 0 };
        let topology = Topology::new(vec![places(0), places(1)], &[])
            .expect("two cores of a package are a topology");
        let near = CacheLevel { of: CacheOf::Core, size_kib: 256, refill_kib_ps: 1, ways: None };
        let far =
            CacheLevel { of: CacheOf::Package, size_kib: 4096, refill_kib_ps: 100, ways: None };
        let mut caches = Residency::new(&[near, far], &topology);
        assert_eq!(caches.switch_in(CpuId(0), 0, 64), 64 * 101);
        assert_eq!(caches.switch_in(CpuId(1), 0, 64), 64);
    }

    #[test]
    fn no_footprint_costs_nothing_and_moves_nothing() {
        let mut caches = one_level(256);
        assert_eq!(caches.switch_in(CpuId(0), 7, 0), 0);
        assert!(caches.memories.is_empty());
    }
}
