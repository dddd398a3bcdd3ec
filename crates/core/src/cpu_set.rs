//! A set of CPUs: an affinity mask.

use crate::CpuId;
use crate::topology::CPUS_MAX;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

/// A set of CPUs, of any size that schedlab supports (4096). Copies are cheap: a set within the
/// first 64 CPUs is one word, a larger one is shared.
#[derive(Clone, Debug, Default)]
pub enum CpuSet {
    /// Every CPU.
    #[default]
    All,
    /// CPUs 0 to 63, one bit each.
    Low(u64),
    /// 64 CPUs a word, the lowest first.
    High(Arc<[u64]>),
}

impl CpuSet {
    /// Returns the set of exactly these CPUs.
    pub fn from_cpus(cpus: impl IntoIterator<Item = CpuId>) -> CpuSet {
        let mut words: Vec<u64> = vec![0];
        for cpu in cpus {
            let word = cpu.index() / 64;
            if word >= words.len() {
                words.resize(word + 1, 0);
            }
            words[word] |= 1 << (cpu.0 % 64);
        }
        if words.len() == 1 { CpuSet::Low(words[0]) } else { CpuSet::High(words.into()) }
    }

    /// Returns the set of one CPU.
    pub fn only(cpu: CpuId) -> CpuSet {
        CpuSet::from_cpus([cpu])
    }

    /// Whether `cpu` is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        match self {
            CpuSet::All => true,
            CpuSet::Low(bits) => cpu.0 < 64 && bits >> cpu.0 & 1 == 1,
            CpuSet::High(words) => {
                words.get(cpu.index() / 64).is_some_and(|word| word >> (cpu.0 % 64) & 1 == 1)
            }
        }
    }

    /// Returns the number of members among the CPUs 0 to `cpus` - 1.
    pub fn count(&self, cpus: u32) -> u32 {
        match self {
            CpuSet::All => cpus,
            _ => self.iter(cpus).count() as u32,
        }
    }

    /// Returns the members among the CPUs 0 to `cpus` - 1, ascending.
    pub fn iter(&self, cpus: u32) -> impl Iterator<Item = CpuId> + '_ {
        (0..cpus).map(CpuId).filter(|&cpu| self.contains(cpu))
    }

    /// Returns the lowest member among the CPUs 0 to `cpus` - 1.
    pub fn first(&self, cpus: u32) -> Option<CpuId> {
        self.iter(cpus).next()
    }

    /// Returns the members among the CPUs 64 * `index` to 64 * `index` + 63, one bit each.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        match self {
            CpuSet::All => u64::MAX,
            CpuSet::Low(bits) => {
                if index == 0 {
                    *bits
                } else {
                    0
                }
            }
            CpuSet::High(words) => words.get(index).copied().unwrap_or(0),
        }
    }
}

impl PartialEq for CpuSet {
    /// Two sets are equal if they have the same members; [`CpuSet::All`] is equal only to itself.
    fn eq(&self, other: &CpuSet) -> bool {
        match (self, other) {
            (CpuSet::All, CpuSet::All) => true,
            (CpuSet::All, _) | (_, CpuSet::All) => false,
            _ => (0..64).all(|index| self.word(index) == other.word(index)),
        }
    }
}

impl Eq for CpuSet {}

/// Formats a list of CPUs as the kernel does: `0-3,8`.
pub fn cpu_list(cpus: &[CpuId]) -> String {
    let mut text = String::new();
    for run in cpus.chunk_by(|a, b| a.0 + 1 == b.0) {
        let separator = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = match *run {
            [one] => write!(text, "{separator}{}", one.0),
            [first, .., last] => write!(text, "{separator}{}-{}", first.0, last.0),
            [] => Ok(()),
        };
    }
    text
}

/// Parses such a list. The CPUs are returned in the order written. Blanks around numbers are
/// ignored. `None`: the text is not a list, a range runs backwards, or a number exceeds the largest
/// machine ([`CPUS_MAX`]).
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_on_both_sides_of_a_word() {
        let set = CpuSet::from_cpus([CpuId(1), CpuId(63), CpuId(64), CpuId(4095)]);
        let members: Vec<u32> = set.iter(4096).map(|cpu| cpu.0).collect();
        assert_eq!(members, [1, 63, 64, 4095]);
        assert_eq!(set.count(64), 2);
        assert!(!set.contains(CpuId(0)));
        assert_eq!(CpuSet::only(CpuId(5)).first(8), Some(CpuId(5)));
        assert_eq!(CpuSet::only(CpuId(9)).first(8), None);
        assert_eq!(CpuSet::All.count(12), 12);
    }

    #[test]
    fn equality_looks_at_members_not_at_form() {
        assert_eq!(CpuSet::Low(0b101), CpuSet::from_cpus([CpuId(2), CpuId(0)]));
        assert_eq!(CpuSet::High(alloc::vec![0b101, 0].into()), CpuSet::Low(0b101));
        assert_ne!(CpuSet::Low(u64::MAX), CpuSet::All);
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        assert_eq!(parse_cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_cpu_list(" 4 - 5 , 1"), Some(vec![4, 5, 1]));
        for wrong in ["", "a", "1,", "3-1", "4096", "0-4096", "1-2-3"] {
            assert_eq!(parse_cpu_list(wrong), None, "{wrong}");
        }
    }
}
