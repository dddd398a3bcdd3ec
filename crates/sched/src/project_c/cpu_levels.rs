//! The distances between CPUs: for each CPU, sets of CPUs around it, each within the next.
//!
//! These are the threads of its core, the CPUs of its last-level cache, the CPUs of its package,
//! and all CPUs. A set that adds no CPU to the one before it is left out.

use super::masks::CpuMask;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use schedlab_core::{CpuId, Topology};

/// A set of CPUs.
#[derive(Debug)]
struct Span {
    mask: CpuMask,
    /// The words of `mask` that are not 0.
    words: Range<usize>,
    cpus: u32,
}

/// Kinds of set, smallest first.
const KINDS: usize = 4;
/// The kind that holds the threads of a core.
const SMT: usize = 0;

/// The sets around each CPU.
#[derive(Debug)]
pub(super) struct CpuLevels {
    spans: Vec<Span>,
    /// For each CPU its sets, by kind. `None`: the set is left out.
    around: Vec<[Option<u32>; KINDS]>,
    all: u32,
}

impl CpuLevels {
    pub(super) fn new(topology: &Topology) -> CpuLevels {
        let cpus = topology.cpus();
        let mut numbers = BTreeMap::new();
        let mut spans: Vec<Span> = Vec::new();
        let mut around = alloc::vec![[None; KINDS]; cpus as usize];
        for cpu in topology.iter() {
            let place = topology.place(cpu);
            for (kind, part) in [place.core, place.cache, place.package, 0].into_iter().enumerate()
            {
                let number = *numbers.entry((kind, part)).or_insert(spans.len());
                if number == spans.len() {
                    let mask = CpuMask::none(cpus);
                    spans.push(Span { mask, words: cpu.index() / 64..0, cpus: 0 });
                }
                let span = &mut spans[number];
                span.mask.set(cpu, true);
                span.words.end = cpu.index() / 64 + 1;
                span.cpus += 1;
                around[cpu.index()][kind] = Some(number as u32);
            }
        }
        for levels in &mut around {
            let mut before = 1;
            for level in levels {
                // Each set contains the one before it, so equal sizes mean equal sets.
                let size = level.map_or(0, |number| spans[number as usize].cpus);
                if size <= before {
                    *level = None;
                }
                before = before.max(size);
            }
        }
        let all = numbers.get(&(KINDS - 1, 0)).map_or(0, |&number| number as u32);
        CpuLevels { spans, around, all }
    }

    /// `best_mask_cpu`: the lowest CPU of the set with these words, in the nearest level of `cpu`
    /// that has any. (`cpu` itself is no level.) `None`: the set is empty.
    #[inline]
    pub(super) fn best(&self, cpu: CpuId, set: impl Fn(usize) -> u64) -> Option<CpuId> {
        self.best_from(SMT, cpu, set)
    }

    /// Like [`best`](CpuLevels::best), beginning with the CPUs of the last-level cache.
    pub(super) fn best_beyond_core(&self, cpu: CpuId, set: impl Fn(usize) -> u64) -> Option<CpuId> {
        self.best_from(SMT + 1, cpu, set)
    }

    fn best_from(&self, kind: usize, cpu: CpuId, set: impl Fn(usize) -> u64) -> Option<CpuId> {
        let levels = &self.around[cpu.index()];
        let found = levels[kind..].iter().flatten().find_map(|&number| self.lowest(number, &set));
        // A machine of one CPU has no level at all.
        found.or_else(|| self.lowest(self.all, &set))
    }

    fn lowest(&self, span: u32, set: &impl Fn(usize) -> u64) -> Option<CpuId> {
        let Span { mask, words, .. } = &self.spans[span as usize];
        words.clone().find_map(|word| {
            let common = mask.words()[word] & set(word);
            (common != 0).then(|| CpuId(word as u32 * 64 + common.trailing_zeros()))
        })
    }

    /// The levels of `cpu`, nearest first.
    pub(super) fn count(&self, cpu: CpuId) -> usize {
        self.around[cpu.index()].iter().flatten().count()
    }

    /// Whether the level `at` of `cpu` contains `other`.
    pub(super) fn contains(&self, cpu: CpuId, at: usize, other: CpuId) -> bool {
        let level = self.around[cpu.index()].iter().flatten().nth(at);
        level.is_some_and(|&number| self.spans[number as usize].mask.contains(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::topology::Place;

    #[test]
    fn the_lowest_cpu_of_the_nearest_level() {
        // Two packages of two caches of two cores of two threads.
        let place =
            |cpu: u32| Place { core: cpu / 2, cache: cpu / 4, package: cpu / 8, node: cpu / 8 };
        let levels = CpuLevels::new(&Topology::new((0..16).map(place).collect(), &[]).unwrap());
        let best = |cpu, set: u64| levels.best(CpuId(cpu), |_| set).map(|cpu| cpu.0);
        assert_eq!(levels.count(CpuId(0)), 4);
        assert_eq!(best(5, 0xffff), Some(4), "the other thread comes first, as it is lower");
        assert_eq!(best(5, 0xff8f), Some(7));
        assert_eq!(best(5, 0xff0f), Some(0));
        assert_eq!(best(5, 0xff00), Some(8));
        assert_eq!(best(5, 0), None);
        assert_eq!(levels.best_beyond_core(CpuId(5), |_| 0xf1f0), Some(CpuId(4)));
    }

    #[test]
    fn a_flat_machine_has_one_level_and_a_single_cpu_none() {
        let levels = CpuLevels::new(&Topology::flat(70));
        assert_eq!(levels.count(CpuId(3)), 1);
        let best = levels.best(CpuId(3), |word| if word == 1 { 6 } else { 0 });
        assert_eq!(best, Some(CpuId(65)));
        let alone = CpuLevels::new(&Topology::flat(1));
        assert_eq!((alone.count(CpuId(0)), alone.best(CpuId(0), |_| 1)), (0, Some(CpuId(0))));
    }
}
