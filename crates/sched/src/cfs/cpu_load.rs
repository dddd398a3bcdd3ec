//! The load of each CPU, current and as decaying averages, for balancing and wakeups.

use alloc::vec::Vec;
use schedlab_core::CpuId;

/// `weighted_cpuload` and `cpu_load[]` of all CPUs.
#[derive(Clone, Debug)]
pub struct CpuLoads {
    /// By CPU: the load of the root queue.
    weighted: Vec<u64>,
    /// By CPU: its decaying averages.
    means: Vec<[u64; 5]>,
}

impl CpuLoads {
    /// Creates loads of 0, now and earlier.
    pub fn new(cpus: u32) -> CpuLoads {
        CpuLoads {
            weighted: alloc::vec![0; cpus as usize],
            means: alloc::vec![[0; 5]; cpus as usize],
        }
    }

    /// `weighted_cpuload`: returns the current load of `cpu`.
    #[inline]
    pub fn weighted_load(&self, cpu: CpuId) -> u64 {
        self.weighted[cpu.index()]
    }

    /// Records that the load of `cpu` has changed.
    #[inline]
    pub fn set_weighted_load(&mut self, cpu: CpuId, load: u64) {
        self.weighted[cpu.index()] = load;
    }

    /// `cpu_load[]`: returns the decaying averages of `cpu`.
    #[inline]
    pub fn means(&self, cpu: CpuId) -> &[u64; 5] {
        &self.means[cpu.index()]
    }

    /// Overwrites the decaying averages of `cpu`.
    #[cfg(test)]
    pub fn set_means(&mut self, cpu: CpuId, means: [u64; 5]) {
        self.means[cpu.index()] = means;
    }

    /// `update_cpu_load`, at each tick: five decaying averages of the load, each half as fast as
    /// the one before.
    #[inline]
    pub fn update(&mut self, cpu: CpuId) {
        let load = self.weighted[cpu.index()];
        for (i, mean) in self.means[cpu.index()].iter_mut().enumerate() {
            let rest = (1 << i) - 1;
            // Rounds up while it grows, so that it finally reaches the load.
            let new = if load > *mean { load + rest } else { load };
            *mean = (*mean * rest + new) >> i;
        }
    }

    /// `source_load`: returns a low estimate of the load of a CPU from which tasks would move.
    /// `index`: 0 for the current load alone, else the average that is also used (with feature
    /// `LB_BIAS`).
    #[inline]
    pub fn source_load(&self, cpu: CpuId, index: u8, bias: bool) -> u64 {
        let present = self.weighted[cpu.index()];
        if index == 0 || !bias {
            return present;
        }
        present.min(self.means[cpu.index()][index as usize - 1])
    }

    /// `target_load`: returns a high estimate of the load of a CPU to which tasks would move.
    #[inline]
    pub fn target_load(&self, cpu: CpuId, index: u8, bias: bool) -> u64 {
        let present = self.weighted[cpu.index()];
        if index == 0 || !bias {
            return present;
        }
        present.max(self.means[cpu.index()][index as usize - 1])
    }
}
