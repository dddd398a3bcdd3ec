//! `cpupri`: the priority level of each CPU, by which a CPU that runs something less urgent is
//! found for a pushed task (2.6.27).
//!
//! Levels: 1 = no real-time task queued, 101 - prio for the best queued one (2..=101). Each level
//! has a set of the CPUs at that level.

use super::super::Pid;
use super::super::Rqs;
use alloc::vec::Vec;
use schedlab_core::CpuId;

const LEVELS: usize = 102;

/// The levels of all CPUs.
#[derive(Clone, Debug)]
pub struct CpuPri {
    /// Level by CPU.
    level_of: Vec<u8>,
    /// Sets of CPUs, by level, `words` words each.
    sets: Vec<u64>,
    words: usize,
    /// Number of CPUs at each level.
    counts: [u32; LEVELS],
    /// Bit l is set if level l has a CPU.
    occupied: u128,
}

const NORMAL: u8 = 1;

impl CpuPri {
    /// Creates the state in which all CPUs are at the level "normal".
    pub fn new(cpus: u32) -> CpuPri {
        let words = (cpus as usize).div_ceil(64);
        let mut all = CpuPri {
            level_of: alloc::vec![NORMAL; cpus as usize],
            sets: alloc::vec![0; LEVELS * words],
            words,
            counts: [0; LEVELS],
            occupied: 0,
        };
        for cpu in 0..cpus {
            all.join(CpuId(cpu), NORMAL);
        }
        all
    }

    fn join(&mut self, cpu: CpuId, level: u8) {
        self.sets[level as usize * self.words + cpu.index() / 64] |= 1 << (cpu.0 % 64);
        self.counts[level as usize] += 1;
        self.occupied |= 1 << level;
        self.level_of[cpu.index()] = level;
    }

    /// `cpupri_set`: records that the best queued priority of `cpu` is now `prio` (100: none).
    pub fn set(&mut self, cpu: CpuId, prio: u8) {
        let level = 101 - prio;
        let old = self.level_of[cpu.index()];
        if level == old {
            return;
        }
        self.sets[old as usize * self.words + cpu.index() / 64] &= !(1 << (cpu.0 % 64));
        self.counts[old as usize] -= 1;
        if self.counts[old as usize] == 0 {
            self.occupied &= !(1 << old);
        }
        self.join(cpu, level);
    }

    /// `cpupri_find`: returns the lowest level below that of `pid` with a CPU on which it may run.
    pub fn find(&self, rqs: &Rqs, pid: Pid) -> Option<LowestMask> {
        let own = 101 - rqs.thread(pid).prio as u32;
        let mut below = self.occupied & ((1 << own) - 1);
        while below != 0 {
            let level = below.trailing_zeros() as usize;
            let mask = LowestMask { level };
            if self.first(rqs, pid, mask, |_| true).is_some() {
                return Some(mask);
            }
            below &= below - 1;
        }
        None
    }

    /// Whether `cpu` is in the mask.
    pub fn holds(&self, rqs: &Rqs, pid: Pid, mask: LowestMask, cpu: CpuId) -> bool {
        self.level_of[cpu.index()] as usize == mask.level && rqs.is_allowed(pid, cpu)
    }

    /// Returns the lowest CPU of the mask that `also` accepts.
    pub fn first(
        &self,
        rqs: &Rqs,
        pid: Pid,
        mask: LowestMask,
        also: impl Fn(CpuId) -> bool,
    ) -> Option<CpuId> {
        let allowed = &rqs.settings[pid.index()].allowed;
        for word in 0..self.words {
            let mut bits = self.sets[mask.level * self.words + word] & allowed.word(word);
            while bits != 0 {
                let cpu = CpuId(word as u32 * 64 + bits.trailing_zeros());
                if also(cpu) {
                    return Some(cpu);
                }
                bits &= bits - 1;
            }
        }
        None
    }
}

/// The CPUs of the lowest level on which the task may run for which they were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LowestMask {
    level: usize,
}
