//! The masks by which CPUs know of each other. They take the place of balancing.
//!
//! # Preemption masks
//!
//! "Which CPUs would a task of this level preempt?" is answered by a mask for each level, of which
//! only one is kept up as CPUs change their levels: that of the *watched* level, about which was
//! asked last. A question about another level derives that level's mask from the watched one, in
//! one direction: to a better level only CPUs enter, to a worse one only CPUs leave. So whether a
//! CPU is in a mask whose level equals its own depends on how it got there, and the schedules show
//! that.

use super::ranking::{MAX_NORMAL_LEVEL, MIN_NORMAL_LEVEL};
use super::run_queue::LEVELS;
use alloc::vec::Vec;
use schedlab_core::{CpuId, Topology};

/// A set of CPUs, 64 in a word.
#[derive(Clone, Debug)]
pub(super) struct CpuMask(Vec<u64>);

impl CpuMask {
    /// CPUs 0 to `cpus` - 1.
    pub(super) fn all(cpus: u32) -> CpuMask {
        let word = |first: u32| u64::MAX >> (64 - (cpus - first).min(64));
        CpuMask((0..cpus).step_by(64).map(word).collect())
    }

    /// No CPU, with room for `cpus`.
    pub(super) fn none(cpus: u32) -> CpuMask {
        CpuMask(alloc::vec![0; (cpus as usize).div_ceil(64)])
    }

    #[inline]
    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        self.0[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn set(&mut self, cpu: CpuId, member: bool) {
        let bit = 1 << (cpu.0 % 64);
        let word = &mut self.0[cpu.index() / 64];
        *word = if member { *word | bit } else { *word & !bit };
    }

    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    #[inline]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

/// The level of each CPU, and the masks that follow from them.
#[derive(Debug)]
pub(super) struct Masks {
    /// `rq.prio`: the best level in each CPU's queue.
    levels: Vec<u8>,
    /// `sched_idle_mask`: CPUs whose queues are empty.
    pub(super) idle: CpuMask,
    /// `sched_sg_idle_mask`: CPUs of cores of two threads that have both become idle.
    pub(super) sg_idle: CpuMask,
    /// `sched_rq_pending_mask`: CPUs whose queues have more than one task.
    pub(super) pending: CpuMask,
    /// For each CPU of a core of two threads, the other one.
    sibling: Vec<Option<CpuId>>,
    /// Number of cores of two threads.
    pairs: u32,
    /// The preemption masks by level.
    preempt: Vec<CpuMask>,
    watched: u8,
}

impl Masks {
    /// All CPUs idle.
    pub(super) fn new(topology: &Topology) -> Masks {
        let cpus = topology.cpus();
        let sibling = siblings(topology);
        let mut sg_idle = CpuMask::none(cpus);
        for (cpu, _) in topology.iter().zip(&sibling).filter(|(_, other)| other.is_some()) {
            sg_idle.set(cpu, true);
        }
        Masks {
            levels: alloc::vec![LEVELS; cpus as usize],
            idle: CpuMask::all(cpus),
            sg_idle,
            pending: CpuMask::none(cpus),
            pairs: sibling.iter().flatten().count() as u32 / 2,
            sibling,
            preempt: alloc::vec![CpuMask::all(cpus); LEVELS as usize],
            watched: 0,
        }
    }

    /// The best level in the queue of `cpu`; [`LEVELS`] if it is empty.
    #[inline]
    pub(super) fn level(&self, cpu: CpuId) -> u8 {
        self.levels[cpu.index()]
    }

    /// The other thread of the core of `cpu`, if the core has two.
    #[inline]
    pub(super) fn sibling(&self, cpu: CpuId) -> Option<CpuId> {
        self.sibling[cpu.index()]
    }

    /// Number of cores of two threads.
    #[inline]
    pub(super) fn pairs(&self) -> u32 {
        self.pairs
    }

    /// Whether every CPU has a sibling.
    #[inline]
    pub(super) fn all_are_pairs(&self) -> bool {
        2 * self.pairs as usize == self.levels.len()
    }

    /// `update_sched_preempt_mask`: the best level of `cpu` is now `new`.
    #[inline]
    pub(super) fn set_level(&mut self, cpu: CpuId, new: u8) {
        let old = core::mem::replace(&mut self.levels[cpu.index()], new);
        if old == new {
            return;
        }
        let (low, mut high) = (old.min(new), old.max(new));
        if high == LEVELS {
            high = LEVELS - 2;
            self.set_idle(cpu, new == LEVELS);
        }
        if low < self.watched && self.watched <= high {
            self.preempt[self.watched as usize].set(cpu, new > old);
        }
    }

    /// The ordinary tasks of `cpu` have come nearer by a number of levels with time. The masks do
    /// not take notice.
    pub(super) fn advance_level(&mut self, cpu: CpuId, slots: u64) {
        let level = &mut self.levels[cpu.index()];
        if (MIN_NORMAL_LEVEL..=MAX_NORMAL_LEVEL).contains(level) {
            let nearer = u64::from(*level).saturating_sub(slots);
            *level = nearer.max(MIN_NORMAL_LEVEL.into()) as u8;
        }
    }

    fn set_idle(&mut self, cpu: CpuId, idle: bool) {
        self.idle.set(cpu, idle);
        if let Some(sibling) = self.sibling(cpu)
            && self.idle.contains(sibling)
        {
            self.sg_idle.set(cpu, idle);
            self.sg_idle.set(sibling, idle);
        }
    }

    /// The CPUs that a task of `level` would preempt, as far as the masks know.
    pub(super) fn preemptible(&mut self, level: u8) -> &CpuMask {
        // The mask of the worst level has every CPU at all times.
        if level != self.watched && level != MAX_NORMAL_LEVEL {
            self.watch(level);
        }
        &self.preempt[level as usize]
    }

    /// Derives the mask of `level` from that of the watched level, and watches it.
    fn watch(&mut self, level: u8) {
        let source = self.watched as usize;
        let words = self.idle.words().len();
        for word in 0..words {
            let from = self.preempt[source].words()[word];
            let better = level < self.watched;
            // Only these can change.
            let mut open = if better { !from } else { from & !self.idle.words()[word] };
            let mut bits = from;
            while open != 0 {
                let bit = open & open.wrapping_neg();
                open ^= bit;
                let cpu = word * 64 + bit.trailing_zeros() as usize;
                let Some(&other) = self.levels.get(cpu) else { break };
                if better && level < other {
                    bits |= bit;
                } else if !better && level >= other {
                    bits &= !bit;
                }
            }
            self.preempt[level as usize].words_mut()[word] = bits;
        }
        self.watched = level;
    }
}

/// For each CPU of a core of exactly two threads, the other one.
fn siblings(topology: &Topology) -> Vec<Option<CpuId>> {
    let mut threads: Vec<CpuId> = topology.iter().collect();
    let core = |cpu: &CpuId| topology.place(*cpu).core;
    threads.sort_by_key(|cpu| (core(cpu), cpu.0));
    let mut sibling = alloc::vec![None; threads.len()];
    for of_core in threads.chunk_by(|a, b| core(a) == core(b)) {
        if let [a, b] = *of_core {
            sibling[a.index()] = Some(b);
            sibling[b.index()] = Some(a);
        }
    }
    sibling
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::topology::Place;

    fn members(mask: &CpuMask) -> Vec<u32> {
        (0..64 * mask.words().len() as u32).filter(|&cpu| mask.contains(CpuId(cpu))).collect()
    }

    fn flat(levels: &[u8]) -> Masks {
        let mut masks = Masks::new(&Topology::flat(levels.len() as u32));
        for (cpu, &level) in levels.iter().enumerate() {
            masks.set_level(CpuId(cpu as u32), level);
        }
        masks
    }

    #[test]
    fn a_mask_has_as_many_cpus_as_the_machine() {
        for cpus in [1, 63, 64, 65, 128, 130] {
            assert_eq!(members(&CpuMask::all(cpus)).len(), cpus as usize);
            assert_eq!(members(&CpuMask::none(cpus)).len(), 0);
        }
    }

    #[test]
    fn an_equal_level_counts_by_how_the_cpu_got_there() {
        let mut masks = flat(&[48, 48, 50]);
        // From the mask of level 0, which has every CPU: those that are not worse leave.
        assert_eq!(members(masks.preemptible(48)), [2]);
        // To a better level CPUs only enter.
        assert_eq!(members(masks.preemptible(47)), [0, 1, 2]);
        // CPU 1 comes up to the watched level from above and leaves; CPU 0 stays.
        masks.set_level(CpuId(1), 46);
        assert_eq!(members(masks.preemptible(47)), [0, 2]);
        masks.set_level(CpuId(1), 47);
        assert_eq!(members(masks.preemptible(47)), [0, 1, 2], "on a worse level than before");
        assert_eq!(members(masks.preemptible(48)), [2]);
    }

    #[test]
    fn the_worst_level_gets_every_cpu_and_is_not_watched() {
        let mut masks = flat(&[40, 40]);
        assert_eq!(members(masks.preemptible(45)), [0; 0]);
        assert_eq!(members(masks.preemptible(63)), [0, 1]);
        masks.set_level(CpuId(0), 50);
        assert_eq!(members(masks.preemptible(45)), [0]);
    }

    #[test]
    fn a_core_is_idle_once_both_of_its_threads_are() {
        let place = |cpu: u32| Place { core: cpu / 2, cache: 0, package: 0, node: 0 };
        let topology = Topology::new((0..4).map(place).collect(), &[]).unwrap();
        let mut masks = Masks::new(&topology);
        assert!(masks.all_are_pairs() && masks.pairs() == 2);
        assert_eq!(members(&masks.sg_idle), [0, 1, 2, 3]);
        masks.set_level(CpuId(1), 40);
        masks.set_level(CpuId(0), 40);
        assert_eq!(members(&masks.sg_idle), [2, 3]);
        masks.set_level(CpuId(1), LEVELS);
        assert_eq!(
            (members(&masks.sg_idle), members(&masks.idle)),
            ([2, 3].into(), [1, 2, 3].into())
        );
        masks.set_level(CpuId(0), LEVELS);
        assert_eq!(members(&masks.sg_idle), [0, 1, 2, 3]);
    }
}
