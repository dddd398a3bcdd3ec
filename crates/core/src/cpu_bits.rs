//! A set of CPUs that is changed and scanned constantly.

use crate::CpuId;
use alloc::vec::Vec;
use core::ops::Range;

/// A set of CPUs that is changed and scanned constantly. It has two levels of words, so that a
/// single test shows that a set of 4096 CPUs is empty.
#[derive(Clone, Debug)]
pub struct CpuBits {
    words: Vec<u64>,
    /// Bit w is set if `words[w]` is not 0.
    summary: u64,
}

impl CpuBits {
    /// Creates an empty set for CPUs 0 to `cpus` - 1.
    ///
    /// # Panics
    /// If `cpus` is above 4096.
    pub fn new(cpus: u32) -> CpuBits {
        assert!(cpus as usize <= 64 * 64);
        CpuBits { words: alloc::vec![0; (cpus as usize).div_ceil(64)], summary: 0 }
    }

    /// Adds `cpu`.
    #[inline]
    pub fn insert(&mut self, cpu: CpuId) {
        let Some(word) = self.words.get_mut(cpu.index() / 64) else { no_such_cpu(cpu) };
        *word |= 1 << (cpu.0 % 64);
        self.summary |= 1 << (cpu.0 / 64);
    }

    /// Removes `cpu`.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId) {
        let word = &mut self.words[cpu.index() / 64];
        *word &= !(1 << (cpu.0 % 64));
        if *word == 0 {
            self.summary &= !(1 << (cpu.0 / 64));
        }
    }

    /// Whether `cpu` is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    /// Returns the lowest member at or above `from`.
    #[inline]
    pub fn next(&self, from: u32) -> Option<CpuId> {
        if self.summary == 0 {
            return None;
        }
        let word = from / 64;
        if word as usize >= self.words.len() {
            return None;
        }
        let rest = self.words[word as usize] & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(CpuId(word * 64 + rest.trailing_zeros()));
        }
        let above = if word == 63 { 0 } else { self.summary & (u64::MAX << (word + 1)) };
        if above == 0 {
            return None;
        }
        let word = above.trailing_zeros();
        Some(CpuId(word * 64 + self.words[word as usize].trailing_zeros()))
    }

    /// Returns the members within a range, ascending. Each word is read once, however many members
    /// it has.
    #[inline]
    pub fn range(&self, range: Range<u32>) -> impl Iterator<Item = CpuId> + '_ {
        let mut word = range.start as usize / 64;
        let mut bits = self.words.get(word).map_or(0, |all| all & (u64::MAX << (range.start % 64)));
        core::iter::from_fn(move || {
            if bits == 0 {
                let above =
                    if word >= 63 { 0 } else { self.summary & (u64::MAX << (word as u32 + 1)) };
                if above == 0 {
                    return None;
                }
                word = above.trailing_zeros() as usize;
                bits = self.words[word];
            }
            let cpu = word as u32 * 64 + bits.trailing_zeros();
            bits &= bits - 1;
            (cpu < range.end).then_some(CpuId(cpu))
        })
    }
}

/// Panics: the scheduler named a CPU that the machine does not have.
#[cold]
fn no_such_cpu(cpu: CpuId) -> ! {
    panic!("the scheduler named CPU {}, which the machine does not have", cpu.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_members_in_order() {
        let mut set = CpuBits::new(4096);
        for cpu in [0, 5, 63, 64, 700, 4032, 4095] {
            set.insert(CpuId(cpu));
        }
        let members = |range| set.range(range).map(|cpu| cpu.0).collect::<Vec<u32>>();
        assert_eq!(members(0..4096), [0, 5, 63, 64, 700, 4032, 4095]);
        assert_eq!(members(1..64), [5, 63]);
        assert_eq!(members(64..64), []);
        assert_eq!(members(65..4095), [700, 4032]);
        assert_eq!(members(701..4000), []);
        assert_eq!(members(4095..4096), [4095]);
        assert_eq!(CpuBits::new(8).range(0..8).count(), 0);
    }
}
