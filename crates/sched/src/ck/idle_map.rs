//! The set of idle CPUs.

use alloc::vec::Vec;
use schedlab_core::{CpuId, CpuSet};

/// `cpu_idle_map`: the CPUs whose last reschedule found nothing to run.
#[derive(Debug)]
pub struct IdleMap {
    words: Vec<u64>,
    idle: u32,
}

impl IdleMap {
    /// The map in which all of `cpus` CPUs are idle.
    pub fn all(cpus: u32) -> IdleMap {
        let mut map = IdleMap { words: alloc::vec![0; (cpus as usize).div_ceil(64)], idle: 0 };
        for cpu in 0..cpus {
            map.set(CpuId(cpu), true);
        }
        map
    }

    /// Whether `cpu` is idle.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    /// Records that `cpu` is idle, or is no longer.
    #[inline]
    pub fn set(&mut self, cpu: CpuId, idle: bool) {
        if self.contains(cpu) != idle {
            self.words[cpu.index() / 64] ^= 1 << (cpu.0 % 64);
            self.idle = if idle { self.idle + 1 } else { self.idle - 1 };
        }
    }

    /// The lowest idle CPU from `from` on that is in `allowed`.
    pub fn first_from(&self, from: u32, allowed: &CpuSet) -> Option<CpuId> {
        if self.idle == 0 {
            return None;
        }
        let first = from as usize / 64;
        // (Beyond the last CPU there is none.)
        for word in first..self.words.len() {
            let mut bits = self.words[word] & allowed.word(word);
            if word == first {
                bits &= u64::MAX << (from % 64);
            }
            if bits != 0 {
                return Some(CpuId(word as u32 * 64 + bits.trailing_zeros()));
            }
        }
        None
    }

    /// The lowest idle CPU in `allowed`.
    #[inline]
    pub fn first(&self, allowed: &CpuSet) -> Option<CpuId> {
        self.first_from(0, allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cpus_are_found_from_a_point_on() {
        let mut map = IdleMap::all(130);
        assert_eq!(map.first(&CpuSet::All), Some(CpuId(0)));
        for cpu in 0..130 {
            map.set(CpuId(cpu), [3, 70, 129].contains(&cpu));
        }
        assert_eq!(
            [0, 3, 4, 71].map(|from| map.first_from(from, &CpuSet::All).map(|c| c.0)),
            [3, 3, 70, 129].map(Some)
        );
        assert_eq!(map.first(&CpuSet::from_cpus([CpuId(4), CpuId(129)])), Some(CpuId(129)));
        assert_eq!(map.first(&CpuSet::Low(!8)), None);
        for cpu in [3, 70, 129] {
            map.set(CpuId(cpu), false);
        }
        assert_eq!(map.first(&CpuSet::All), None);
    }
}
