//! Statistics of groups of CPUs, which balancing and forks compare.

use super::cfs_rq::CfsRqs;
use super::ids::CfsRqId;
use crate::classes::Rqs;
use schedlab_core::CpuId;

/// The capacity of one CPU.
pub(super) const CAPACITY: u64 = 1024;
/// How busy a group is (`enum group_type`), from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum GroupType {
    /// It has spare capacity.
    #[default]
    HasSpare,
    /// It has no spare capacity, and no more tasks than CPUs.
    FullyBusy,
    /// More urgent classes have left little capacity to the only task of one of its CPUs.
    MisfitTask,
    /// It is a core whose threads share what one of them could have alone.
    SmtBalance,
    /// Affinity has prevented balancing within it.
    Imbalanced,
    /// It has more tasks than CPUs, and no time to spare.
    Overloaded,
}

/// Statistics of a group of CPUs (`sg_lb_stats`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stats {
    /// How busy it is.
    pub(super) kind: GroupType,
    /// Number of its CPUs (`group_weight`).
    pub(super) weight: u64,
    /// Capacity of its CPUs that more urgent classes use.
    pub(super) lost: u64,
    /// Load of the heaviest lone task on a CPU that has lost much capacity. `0`: there is none.
    pub(super) misfit_load: u64,
    /// Sum of load averages.
    pub(super) load: u64,
    /// Sum of utilisations.
    pub(super) util: u64,
    /// Sum of runnable averages.
    pub(super) runnable: u64,
    /// Number of threads of all classes, delayed ones included.
    pub(super) nr_running: u64,
    /// Number of runnable fair tasks, without delayed ones (6.12: with them).
    pub(super) h_nr_runnable: u64,
    /// Number of idle CPUs.
    pub(super) idle_cpus: u64,
    /// Whether it is the threads of one core.
    pub(super) is_core: bool,
    /// Whether each group of its level should get one task before any gets two.
    pub(super) prefers_sibling: bool,
    /// Whether, among fully busy groups, the first one examined is taken, not the last.
    pub(super) first_stays: bool,
    /// Whether some CPU has more than one thread.
    pub(super) has_waiting: bool,
}

/// Result of a survey of all groups of a domain (`sd_lb_stats`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Survey {
    /// The balancing CPU's own group.
    pub local: Stats,
    /// All groups together: their CPUs, load, utilisation, and whether some task waits.
    pub whole: Stats,
    /// The busiest of the other groups that have tasks to give: its number and its statistics.
    pub busiest: Option<(usize, Stats)>,
}

/// `idle_cpu`: whether `cpu` runs its idle thread and has nothing queued.
#[inline]
pub(super) fn is_idle_cpu(rqs: &Rqs, cpu: CpuId) -> bool {
    rqs.nr_running[cpu.index()] == 0 && rqs.is_idle_thread(rqs.curr(cpu))
}

impl Stats {
    /// Statistics of `cpus` together. CPUs that are `dropped` count as empty.
    pub(super) fn sum_up(
        rqs: &Rqs,
        cfs_rqs: &CfsRqs,
        dropped: &[bool],
        delayed: bool,
        cpus: &[CpuId],
    ) -> Stats {
        Stats::sum_of(rqs, cfs_rqs, cpus, delayed, |cpu| !dropped[cpu.index()])
    }

    /// Sums the statistics of all `cpus` for which `counts` holds. `delayed`: delayed tasks count,
    /// too.
    pub(super) fn sum_of(
        rqs: &Rqs,
        cfs_rqs: &CfsRqs,
        cpus: &[CpuId],
        delayed: bool,
        counts: impl Fn(CpuId) -> bool,
    ) -> Stats {
        let mut sum = Stats { weight: cpus.len() as u64, ..Stats::default() };
        for &cpu in cpus.iter().filter(|&&cpu| counts(cpu)) {
            let queue = &cfs_rqs[CfsRqId::of_cpu(cpu)];
            let nr_running = rqs.nr_running[cpu.index()];
            sum.load += queue.avg.load_avg;
            sum.util += queue.cpu_util();
            sum.runnable += queue.avg.runnable_avg;
            sum.nr_running += u64::from(nr_running);
            sum.h_nr_runnable += u64::from(queue.nr_balanced(delayed));
            sum.has_waiting |= nr_running > 1;
            sum.idle_cpus += u64::from(is_idle_cpu(rqs, cpu));
        }
        sum
    }

    /// Overloaded, fully busy, or with spare capacity.
    pub(super) fn type_by_numbers(&self, imbalance_pct: u32) -> GroupType {
        let pct = u64::from(imbalance_pct);
        let capacity = self.capacity();
        let crowded = capacity * pct < self.runnable * 100;
        let (has, uses) = (capacity * 100, self.util * pct);
        if self.nr_running > self.weight && (has < uses || crowded) {
            GroupType::Overloaded
        } else if self.nr_running >= self.weight && (crowded || has <= uses) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// Sums over several groups.
    pub(super) fn of_sums(weight: u64, load: u64, util: u64, has_waiting: bool) -> Stats {
        Stats { weight, load, util, has_waiting, ..Stats::default() }
    }

    /// Adds the sums of `other`.
    pub(super) fn add(&mut self, other: &Stats) {
        self.weight += other.weight;
        self.load += other.load;
        self.util += other.util;
        self.lost += other.lost;
        self.has_waiting |= other.has_waiting;
    }

    /// Load relative to capacity, as if it were one CPU.
    pub(super) fn avg_load(&self) -> u64 {
        self.load * CAPACITY / self.capacity()
    }

    /// Capacity of its CPUs for fair tasks.
    #[inline]
    pub(super) fn capacity(&self) -> u64 {
        CAPACITY * self.weight - self.lost
    }

    /// [`avg_load`](Stats::avg_load) if the kernel has computed it, which it does only for
    /// overloaded groups; else 0.
    pub(super) fn known_load(&self) -> u64 {
        if self.kind == GroupType::Overloaded { self.avg_load() } else { 0 }
    }

    /// Whether this group is a better source of tasks than `best`, found earlier.
    pub(super) fn is_busier_than(&self, best: &Stats) -> bool {
        if self.kind != best.kind {
            return self.kind > best.kind;
        }
        let by_spare = || {
            if self.is_core != best.is_core {
                // A core with several threads and one with a single thread are not compared by idle
                // CPUs.
                return !self.is_core || self.h_nr_runnable > 1;
            }
            self.idle_cpus < best.idle_cpus
                || (self.idle_cpus == best.idle_cpus && self.nr_running > best.nr_running)
        };
        match self.kind {
            GroupType::Overloaded => self.avg_load() > best.avg_load(),
            // Affinity is the problem: no such group is better than another.
            GroupType::Imbalanced => false,
            GroupType::MisfitTask => self.misfit_load >= best.misfit_load,
            GroupType::SmtBalance if self.idle_cpus != 0 || best.idle_cpus != 0 => by_spare(),
            // Their average loads are not computed and all count as 0: the last group examined is
            // taken, or a core with several threads.
            GroupType::SmtBalance | GroupType::FullyBusy => !best.is_core && !self.first_stays,
            GroupType::HasSpare => by_spare(),
        }
    }

    /// Whether this group is idler than `best`, found earlier.
    pub(super) fn is_idler_than(&self, best: &Stats) -> bool {
        match self.kind {
            kind if kind != best.kind => kind < best.kind,
            GroupType::HasSpare => {
                self.idle_cpus > best.idle_cpus
                    || (self.idle_cpus == best.idle_cpus && self.util < best.util)
            }
            // These are not distinguished.
            GroupType::Imbalanced | GroupType::SmtBalance | GroupType::MisfitTask => false,
            _ => self.avg_load() < best.avg_load(),
        }
    }
}
