//! How many tasks the CPUs have on their queues.
//!
//! Kept apart from the queues, because whole machines are scanned for it when 2.6.0 balances, with
//! a set of the CPUs that have any to give, so that the scans the kernel makes are rarely made in
//! full here. What they find is the same to the number.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// How much is on each CPU's queue.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    /// Tasks in both arrays, the running one included.
    nr_running: Vec<u32>,
    /// The CPUs that have more than one task: nobody else has any to give.
    overloaded: CpuBits,
    /// Counts the changes of `nr_running`.
    version: u64,
    /// By CPU: its memory node.
    node_of: Vec<u32>,
    /// By node: tasks on its CPUs (`node_nr_running`).
    node_running: Vec<u32>,
}

impl Loads {
    /// Empty queues of CPUs in these nodes.
    pub(super) fn new(node_of: Vec<u32>) -> Loads {
        let cpus = node_of.len();
        let nodes = node_of.iter().max().map_or(0, |&max| max as usize + 1);
        Loads {
            nr_running: vec![0; cpus],
            overloaded: CpuBits::new(cpus),
            version: 1,
            node_of,
            node_running: vec![0; nodes],
        }
    }

    /// Tasks on the CPUs of a node.
    pub(super) fn node_running(&self, node: usize) -> u32 {
        self.node_running[node]
    }

    #[inline]
    pub(super) fn nr_running(&self, cpu: usize) -> u32 {
        self.nr_running[cpu]
    }

    /// `nr_running` of all CPUs.
    pub(super) fn all_running(&self) -> &[u32] {
        &self.nr_running
    }

    /// Changes with each change of a `nr_running`.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The CPUs among `range` that have more than one task, rising.
    pub(super) fn overloaded(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        self.overloaded.members(range)
    }

    /// A task more on `cpu`.
    #[inline]
    pub(super) fn add(&mut self, cpu: usize) {
        self.nr_running[cpu] += 1;
        self.node_running[self.node_of[cpu] as usize] += 1;
        self.version += 1;
        if self.nr_running[cpu] == 2 {
            self.overloaded.insert(cpu);
        }
    }

    /// A task less.
    #[inline]
    pub(super) fn remove(&mut self, cpu: usize) {
        self.nr_running[cpu] -= 1;
        self.node_running[self.node_of[cpu] as usize] -= 1;
        self.version += 1;
        if self.nr_running[cpu] == 1 {
            self.overloaded.remove(cpu);
        }
    }

    /// Checks what is kept up to date.
    pub(super) fn audit(&self) -> Result<(), String> {
        for (cpu, &running) in self.nr_running.iter().enumerate() {
            if self.overloaded.contains(cpu) != (running > 1) {
                return Err(alloc::format!("CPU {cpu} has {running} tasks and the wrong mark"));
            }
        }
        if self.node_running.iter().sum::<u32>() != self.nr_running.iter().sum::<u32>() {
            return Err("the nodes' tasks are miscounted".into());
        }
        if self.overloaded.members(0..self.nr_running.len()).count()
            != self.overloaded.count as usize
        {
            return Err("the CPUs with more than one task are miscounted".into());
        }
        Ok(())
    }

    /// For tests: `cpu` has so many tasks.
    #[cfg(test)]
    pub(super) fn set_for_test(&mut self, cpu: usize, running: u32) {
        while self.nr_running[cpu] < running {
            self.add(cpu);
        }
        while self.nr_running[cpu] > running {
            self.remove(cpu);
        }
    }
}

/// A set of CPUs that is changed and walked all the time.
#[derive(Clone, Debug)]
struct CpuBits {
    words: Vec<u64>,
    count: u32,
}

impl CpuBits {
    fn new(cpus: usize) -> CpuBits {
        CpuBits { words: vec![0; cpus.div_ceil(64)], count: 0 }
    }

    /// Adds `cpu`, which is not in the set.
    #[inline]
    fn insert(&mut self, cpu: usize) {
        self.words[cpu / 64] |= 1 << (cpu % 64);
        self.count += 1;
    }

    /// Takes out `cpu`, which is in the set.
    #[inline]
    fn remove(&mut self, cpu: usize) {
        self.words[cpu / 64] &= !(1 << (cpu % 64));
        self.count -= 1;
    }

    fn contains(&self, cpu: usize) -> bool {
        self.words[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// The members in `range`, rising.
    #[inline]
    fn members(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let words = range.start / 64..range.end.div_ceil(64);
        let each = words.flat_map(move |word| {
            let mut bits = self.words[word];
            if word == range.start / 64 {
                bits &= u64::MAX << (range.start % 64);
            }
            core::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits.checked_sub(1)?;
                Some(word * 64 + bit)
            })
        });
        each.take_while(move |&cpu| cpu < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_range() {
        let mut set = CpuBits::new(200);
        for cpu in [0, 63, 64, 130, 199] {
            set.insert(cpu);
        }
        let members = |range| set.members(range).collect::<Vec<_>>();
        assert_eq!(members(0..200), [0, 63, 64, 130, 199]);
        assert_eq!(members(1..199), [63, 64, 130]);
        assert_eq!(members(64..130), [64]);
        assert_eq!(members(65..65), []);
        assert_eq!(members(200..200), []);
    }
}
