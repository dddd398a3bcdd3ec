//! What the CPUs see of each other's queues when they balance.
//!
//! Kept apart from the queues, because whole machines are scanned for it, and with sums and sets kept up to date, so that the
//! scans the kernel makes are rarely made in full here. What they find is the same to the number.

use super::rules::SCHED_LOAD_SCALE;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// How many of the averages are ever looked at on a flat machine: index 1 and 2.
const LOOKED_AT: usize = 2;

/// How much is on each CPU's queue.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    /// Tasks in both arrays, the running one included.
    nr_running: Vec<u32>,
    /// 2.6.22: the weight of those tasks.
    raw_weighted_load: Vec<u32>,
    /// 2.6.22: its averages over about 1, 2 and 4 ticks.
    cpu_load: [Vec<u32>; 3],
    /// 2.6.22: the [source loads](Loads::source_load) of all CPUs together, for index 1 and 2.
    source_totals: [u64; LOOKED_AT],
    /// The CPUs that have more than one task: nobody else has any to give.
    overloaded: CpuBits,
    /// Counts the changes of `nr_running`.
    version: u64,
}

impl Loads {
    /// Empty queues.
    pub(super) fn new(cpus: usize) -> Loads {
        let zeros = || vec![0; cpus];
        Loads {
            nr_running: zeros(),
            raw_weighted_load: zeros(),
            cpu_load: [zeros(), zeros(), zeros()],
            source_totals: [0; LOOKED_AT],
            overloaded: CpuBits::new(cpus),
            version: 1,
        }
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

    #[inline]
    pub(super) fn raw_weighted_load(&self, cpu: usize) -> u32 {
        self.raw_weighted_load[cpu]
    }

    /// The CPUs among `range` that have more than one task, rising.
    pub(super) fn overloaded(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        self.overloaded.members(range)
    }

    /// Whether a CPU other than `cpu` has more than one task.
    #[inline]
    pub(super) fn others_overloaded(&self, cpu: usize) -> bool {
        self.overloaded.count > u32::from(self.nr_running[cpu] > 1)
    }

    /// A task of this weight more on `cpu`.
    #[inline]
    pub(super) fn add(&mut self, cpu: usize, weight: u32) {
        self.nr_running[cpu] += 1;
        self.version += 1;
        if self.nr_running[cpu] == 2 {
            self.overloaded.insert(cpu);
        }
        self.set_weight(cpu, self.raw_weighted_load[cpu] + weight);
    }

    /// A task of this weight less.
    #[inline]
    pub(super) fn remove(&mut self, cpu: usize, weight: u32) {
        self.nr_running[cpu] -= 1;
        self.version += 1;
        if self.nr_running[cpu] == 1 {
            self.overloaded.remove(cpu);
        }
        self.set_weight(cpu, self.raw_weighted_load[cpu] - weight);
    }

    #[inline]
    fn set_weight(&mut self, cpu: usize, weight: u32) {
        let old = core::mem::replace(&mut self.raw_weighted_load[cpu], weight);
        for (total, averages) in self.source_totals.iter_mut().zip(&self.cpu_load) {
            let average = averages[cpu];
            *total = *total + u64::from(weight.min(average)) - u64::from(old.min(average));
        }
    }

    /// The averages of the load of `cpu` take note of its tick. Rising ones round up, so that they arrive.
    #[inline]
    pub(super) fn update_cpu_load(&mut self, cpu: usize) {
        let weight = self.raw_weighted_load[cpu];
        for (index, averages) in self.cpu_load.iter_mut().enumerate() {
            let old = averages[cpu];
            if old == weight {
                continue;
            }
            let others = (1 << index) - 1;
            let rounding = if weight > old { others } else { 0 };
            let new = (u64::from(old) * others + u64::from(weight) + rounding) >> index;
            averages[cpu] = new as u32;
            if let Some(total) = self.source_totals.get_mut(index) {
                *total = *total + new.min(u64::from(weight)) - u64::from(old.min(weight));
            }
        }
    }

    /// What may be expected to be taken from `cpu`: the smaller of its load and of average `index` (1 to 3).
    #[inline]
    pub(super) fn source_load(&self, cpu: usize, index: usize) -> u64 {
        u64::from(self.cpu_load[index - 1][cpu].min(self.raw_weighted_load[cpu]))
    }

    /// What must be expected at `cpu` if something is added: the larger of both.
    #[inline]
    pub(super) fn target_load(&self, cpu: usize, index: usize) -> u64 {
        u64::from(self.cpu_load[index - 1][cpu].max(self.raw_weighted_load[cpu]))
    }

    /// The source loads of all CPUs together, for `index` 1 or 2.
    #[inline]
    pub(super) fn source_total(&self, index: usize) -> u64 {
        self.source_totals[index - 1]
    }

    /// The average weight of a task on `cpu` (`cpu_avg_load_per_task`); that of a nice-0 task if there is none.
    #[inline]
    pub(super) fn avg_load_per_task(&self, cpu: usize) -> u64 {
        match self.nr_running[cpu] {
            0 => SCHED_LOAD_SCALE,
            running => u64::from(self.raw_weighted_load[cpu] / running),
        }
    }

    /// Checks what is kept up to date.
    pub(super) fn audit(&self) -> Result<(), String> {
        for (index, &kept) in (1..).zip(&self.source_totals) {
            let cpus = 0..self.nr_running.len();
            let total: u64 = cpus.map(|cpu| self.source_load(cpu, index)).sum();
            if total != kept {
                return Err(alloc::format!("source loads {index}: {total}, counted {kept}"));
            }
        }
        for (cpu, &running) in self.nr_running.iter().enumerate() {
            if self.overloaded.contains(cpu) != (running > 1) {
                return Err(alloc::format!("CPU {cpu} has {running} tasks and the wrong mark"));
            }
        }
        if self.overloaded.members(0..self.nr_running.len()).count() != self.overloaded.count as usize {
            return Err("the CPUs with more than one task are miscounted".into());
        }
        Ok(())
    }

    /// For tests: `cpu` has so many tasks, of so much weight together, and has had them for long (or its averages are as
    /// given).
    #[cfg(test)]
    pub(super) fn set_for_test(&mut self, cpu: usize, running: u32, weight: u32, averages: u32) {
        while self.nr_running[cpu] < running {
            self.add(cpu, 0);
        }
        while self.nr_running[cpu] > running {
            self.remove(cpu, 0);
        }
        for (index, total) in self.source_totals.iter_mut().enumerate() {
            let old = self.cpu_load[index][cpu].min(self.raw_weighted_load[cpu]);
            *total = *total + u64::from(averages.min(weight)) - u64::from(old);
        }
        self.raw_weighted_load[cpu] = weight;
        for loads in &mut self.cpu_load {
            loads[cpu] = averages;
        }
    }

    /// For tests: average `index` of `cpu`.
    #[cfg(test)]
    pub(super) fn cpu_load(&self, cpu: usize, index: usize) -> u32 {
        self.cpu_load[index][cpu]
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

    #[test]
    fn averages_of_the_load_follow_it_at_three_speeds() {
        let mut loads = Loads::new(2);
        loads.add(0, 128);
        let averages = |loads: &Loads| [0, 1, 2].map(|index| loads.cpu_load(0, index));
        let mut seen = vec![];
        for _ in 0..3 {
            loads.update_cpu_load(0);
            seen.push(averages(&loads));
        }
        // Rising ones round up.
        assert_eq!(seen, [[128, 64, 32], [128, 96, 56], [128, 112, 74]]);
        loads.remove(0, 128);
        loads.update_cpu_load(0);
        assert_eq!(averages(&loads), [0, 56, 55]);
        loads.audit().unwrap();
    }
}
