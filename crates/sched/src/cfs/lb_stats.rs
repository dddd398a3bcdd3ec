//! The sums of a balancing pass over groups of CPUs, and the decision that depends only on them.

/// `sg_lb_stats`: the sums over a group of CPUs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SgLbStats {
    /// `group_load`: the load that is compared.
    pub load: u64,
    /// `sum_weighted_load`: the current weight of its runnable threads.
    pub weighted: u64,
    /// `sum_nr_running`: threads, of all classes.
    pub nr_running: u64,
    /// `cpu_power`, in 1024ths of a CPU.
    pub power: u64,
    /// The load in proportion to the power of one CPU.
    pub avg_load: u64,
    /// `group_imb`: whether the loads of the group's CPUs differ too much.
    pub imbalanced: bool,
    /// `group_capacity`: number of tasks that it holds without being overcommitted.
    pub capacity: u64,
}

impl SgLbStats {
    /// `busiest_load_per_task`: returns the average weight of a task.
    pub fn load_per_task(&self) -> u64 {
        self.weighted.checked_div(self.nr_running).unwrap_or(0)
    }
}

/// `sd_lb_stats`: the sums over a domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct SdLbStats {
    /// The group of the CPU that balances.
    pub this: SgLbStats,
    /// The busiest other group that has too much load.
    pub busiest: SgLbStats,
    /// The number of the busiest group.
    pub busiest_number: usize,
    /// The average load of the domain, in proportion to the power of one CPU.
    pub avg_load: u64,
}

/// Whether the busiest group exceeds the load of the local one by enough to continue balancing.
pub(super) fn is_worthwhile(this: &SgLbStats, busiest: &SgLbStats, imbalance_pct: u32) -> bool {
    let (max, own) = (busiest.avg_load, this.avg_load);
    own < max
        && 100 * max > u64::from(imbalance_pct) * own
        && (busiest.imbalanced || max > busiest.load_per_task())
}
