//! Capacity: what the more urgent classes leave of each CPU.
//!
//! Real-time and deadline tasks are not balanced here, but a CPU on which they run has less time
//! for fair tasks. Their use of a CPU is averaged like the loads of [`pelt`](crate::classes::pelt),
//! with one average for each class. (Up to 4.18 their time in about the last second is summed,
//! `rt_avg`.) The rest of 1024 is the CPU's **capacity**
//! (`scale_rt_capacity`). Capacities are recomputed only when a CPU balances, and are stored for
//! its group. A newly idle CPU uses the stored ones, unless they are old. Loads are then compared
//! relative to the capacities, and a lone task on a CPU that has lost much of its capacity is a
//! **misfit**: an idle CPU takes it over, although it runs.
//!
//! As long as only fair tasks run, every CPU has 1024 and nothing is computed.

use super::domains::is_numa;
use super::lb_stats::CAPACITY;
use crate::classes::ClassId;
use crate::classes::domains::{DomainLevel, Domains};
use crate::classes::pelt::Average;
use alloc::vec::Vec;
use schedlab_core::CpuId;

/// The capacity of a core with threads up to 5.0 (`smt_gain`).
const SMT_GAIN: u64 = 1178;

/// Use of the CPUs by the more urgent classes.
#[derive(Debug)]
pub(super) struct CpuCapacity {
    /// By CPU: use by real-time tasks (`avg_rt`) and by deadline tasks (`avg_dl`).
    urgent: Vec<[Average; 2]>,
    /// By CPU: their use as last measured by their time, of 1024. Empty: the averages count.
    by_time: Vec<u64>,
    /// By CPU: capacity that it has lost of 1024 (`cpu_capacity`), as last computed.
    lost: Vec<u64>,
    /// By the first of a group's balancing CPUs and by level: capacity that the group has lost, as
    /// last computed.
    lost_of_group: Vec<u64>,
    /// In the same order: the jiffy from which a newly idle CPU recomputes it.
    pub(super) next_update: Vec<u64>,
    levels: usize,
    /// By CPU: its capacity if nothing used it. Empty if that is 1024.
    originals: Vec<u64>,
    /// Number of entries of `lost` and `lost_of_group` that are not 0.
    losses: usize,
}

/// The index of a class among the averages, if it has one.
#[inline]
fn place_of(class: ClassId) -> Option<usize> {
    match class {
        ClassId::Rt => Some(0),
        ClassId::Deadline => Some(1),
        ClassId::Fair | ClassId::Idle => None,
    }
}

impl CpuCapacity {
    /// The state in which no urgent task has run.
    pub(super) fn new(domains: &Domains) -> CpuCapacity {
        let cpus = domains.cpus() as usize;
        let groups = cpus * domains.levels();
        CpuCapacity {
            urgent: alloc::vec![[Average::default(); 2]; cpus],
            by_time: Vec::new(),
            lost: alloc::vec![0; cpus],
            lost_of_group: alloc::vec![0; groups],
            next_update: alloc::vec![0; groups],
            levels: domains.levels(),
            originals: Vec::new(),
            losses: 0,
        }
    }

    /// Whether any CPU or group has lost capacity.
    #[inline]
    pub(super) fn is_any_lost(&self) -> bool {
        self.losses > 0
    }

    /// `capacity_of`.
    #[inline]
    pub(super) fn of(&self, cpu: CpuId) -> u64 {
        CAPACITY - self.lost[cpu.index()]
    }

    /// `capacity_orig_of`: the capacity of `cpu` if nothing used it.
    #[inline]
    pub(super) fn original(&self, cpu: CpuId) -> u64 {
        self.originals.get(cpu.index()).copied().unwrap_or(CAPACITY)
    }

    /// From now on the threads of a core have 1178 together (up to 5.0).
    pub(super) fn divide_cores(&mut self) {
        self.originals = alloc::vec![CAPACITY; self.lost.len()];
    }

    /// From now on the use of the CPUs by urgent tasks is measured by their time (up to 4.18).
    pub(super) fn measure_by_time(&mut self) {
        self.by_time = alloc::vec![0; self.lost.len()];
    }

    /// Records the part of the time of `cpu` that urgent tasks have used, of 1024.
    pub(super) fn note_part(&mut self, cpu: CpuId, part: u64) {
        self.by_time[cpu.index()] = part;
    }

    /// Computes the capacities of all CPUs and groups, where threads have less than 1024.
    pub(super) fn compute_all(&mut self, domains: &Domains) {
        if self.originals.is_empty() {
            return;
        }
        for level in 0..domains.levels() {
            for cpu in (0..domains.cpus()).map(CpuId) {
                if domains.of(cpu).any(|other| other == level) {
                    let group = self.place(domains.level(level), level, cpu);
                    let next_update = self.next_update[group];
                    self.update_group(domains, level, cpu, next_update, 0);
                }
            }
        }
    }

    /// `check_cpu_capacity`: whether `cpu` has lost more of its capacity than a domain tolerates.
    pub(super) fn is_reduced(&self, cpu: CpuId, imbalance_pct: u32) -> bool {
        self.of(cpu) * u64::from(imbalance_pct) < self.original(cpu) * 100
    }

    /// Accounts for the time on `cpu` up to now, which tasks of `class` did or did not use.
    #[inline]
    fn pass(&mut self, now_ns: u64, cpu: CpuId, class: usize, used: bool) {
        let avg = &mut self.urgent[cpu.index()][class];
        // (An average of 0 stays 0 however much time passes.)
        if used || avg.util_sum > 0 {
            avg.update(now_ns, u64::from(used), u64::from(used), used, 1);
        }
    }

    /// Accounts for a switch on `cpu` from a task of class `from` to one of class `to`.
    #[inline]
    pub(super) fn switch(&mut self, now_ns: u64, cpu: CpuId, from: ClassId, to: ClassId) {
        if !self.by_time.is_empty() {
            return;
        }
        if let Some(class) = place_of(from) {
            self.pass(now_ns, cpu, class, true);
        }
        if to != from
            && let Some(class) = place_of(to)
        {
            // Its use begins now, rounded to the 1024 ns in which time is counted.
            self.urgent[cpu.index()][class].update(now_ns, 0, 0, false, 1);
        }
    }

    /// `__update_blocked_others`: brings the averages of `cpu`, which runs a task of class `curr`,
    /// up to now.
    pub(super) fn update_blocked(&mut self, now_ns: u64, cpu: CpuId, curr: ClassId) {
        if !self.by_time.is_empty() {
            return;
        }
        for class in 0..2 {
            self.pass(now_ns, cpu, class, place_of(curr) == Some(class));
        }
    }

    /// `scale_rt_capacity`: the capacity that `cpu` lacks at present. At least 1 is always left.
    fn used(&self, cpu: CpuId) -> u64 {
        let averages = || self.urgent[cpu.index()].iter().map(|avg| avg.util_avg).sum();
        let used: u64 = self.by_time.get(cpu.index()).copied().unwrap_or_else(averages);
        used.min(CAPACITY - 1)
    }

    fn put(&mut self, place: impl FnOnce(&mut CpuCapacity) -> &mut u64, lost: u64) {
        let before = core::mem::replace(place(self), lost);
        self.losses = self.losses + usize::from(lost > 0) - usize::from(before > 0);
    }

    /// Starts over with new domains, and hence new groups. `interval` returns the initial balancing
    /// interval of a CPU's domain of a level, in jiffies.
    pub(super) fn restart(
        &mut self,
        domains: &Domains,
        jiffies: u64,
        interval: impl Fn(CpuId, usize) -> u64,
    ) {
        self.lost_of_group.fill(0);
        self.losses = self.lost.iter().filter(|&&lost| lost > 0).count();
        for cpu in (0..domains.cpus()).map(CpuId) {
            for level in domains.of(cpu) {
                let group = self.place(domains.level(level), level, cpu);
                self.next_update[group] = jiffies + interval(cpu, level);
            }
        }
    }

    /// The index of the group of `cpu` at this level.
    pub(super) fn place(&self, level: &DomainLevel, number: usize, cpu: CpuId) -> usize {
        let first = level.span(cpu).balancers(level.group_of(cpu))[0];
        first.index() * self.levels + number
    }

    /// Capacity lost by the group for which the CPUs in `balancers` balance.
    #[inline]
    pub(super) fn lost_of_group(&self, level: usize, balancers: &[CpuId]) -> u64 {
        self.lost_of_group[balancers[0].index() * self.levels + level]
    }

    /// `update_group_capacity`: recomputes the capacity of the group of `cpu` at this level. Newly
    /// idle CPUs do not recompute it for the next `interval` jiffies.
    pub(super) fn update_group(
        &mut self,
        domains: &Domains,
        number: usize,
        cpu: CpuId,
        jiffies: u64,
        interval: u64,
    ) {
        let group = self.place(domains.level(number), number, cpu);
        self.next_update[group] = jiffies + interval;
        let lost = match domains.child(cpu, number) {
            None => {
                let mut lost = self.used(cpu);
                if !self.originals.is_empty() {
                    let level = domains.level(number);
                    let original = match level.params.share_cpupower {
                        true => SMT_GAIN / level.span(cpu).cpus.len() as u64,
                        false => CAPACITY,
                    };
                    self.originals[cpu.index()] = original;
                    lost = CAPACITY - (original * (CAPACITY - lost) / CAPACITY).max(1);
                }
                if lost == 0 && self.losses == 0 {
                    return;
                }
                self.put(|all| &mut all.lost[cpu.index()], lost);
                lost
            }
            Some(_) if self.losses == 0 => return,
            Some(below) => {
                let span = domains.level(below).span(cpu);
                let groups =
                    if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
                match is_numa(domains.level(below).kind) {
                    // Its groups may overlap: sum over CPUs.
                    true => span.cpus.iter().map(|cpu| self.lost[cpu.index()]).sum::<u64>(),
                    false => (0..groups)
                        .map(|group| self.lost_of_group(below, span.balancers(group)))
                        .sum::<u64>(),
                }
            }
        };
        self.put(|all| &mut all.lost_of_group[group], lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair_6::domains::build;
    use crate::fair_6::lb_stats::{GroupType, Stats};
    use schedlab_core::topology::Topology;

    const CPU: CpuId = CpuId(0);
    /// 32 periods of load tracking, ns: the half-life.
    const HALF_LIFE: u64 = 32 << 20;

    #[test]
    fn half_of_a_cpu_is_lost_after_a_half_life_of_real_time_work_and_comes_back() {
        let domains = build(&Topology::flat(2));
        let level = domains.of(CPU).next().unwrap();
        let mut capacity = CpuCapacity::new(&domains);
        capacity.switch(HALF_LIFE, CPU, ClassId::Fair, ClassId::Rt);
        capacity.update_blocked(2 * HALF_LIFE, CPU, ClassId::Rt);
        assert_eq!(capacity.of(CPU), CAPACITY, "not computed yet");
        capacity.update_group(&domains, level, CPU, 0, 1);
        assert!((510..=516).contains(&capacity.of(CPU)), "{}", capacity.of(CPU));
        assert_eq!(capacity.lost_of_group(level, &[CPU]), CAPACITY - capacity.of(CPU));
        assert!(capacity.is_any_lost() && capacity.is_reduced(CPU, 117));
        assert_eq!(capacity.of(CpuId(1)), CAPACITY);
        capacity.switch(2 * HALF_LIFE, CPU, ClassId::Rt, ClassId::Idle);
        // 512 / 2^3 = 64: 960 x 117 > 102400.
        capacity.update_blocked(5 * HALF_LIFE, CPU, ClassId::Idle);
        capacity.update_group(&domains, level, CPU, 0, 1);
        assert!((958..=962).contains(&capacity.of(CPU)), "{}", capacity.of(CPU));
        assert!(!capacity.is_reduced(CPU, 117));
        capacity.update_blocked(100 * HALF_LIFE, CPU, ClassId::Idle);
        capacity.update_group(&domains, level, CPU, 0, 1);
        assert!(!capacity.is_any_lost() && capacity.of(CPU) == CAPACITY);
    }

    #[test]
    fn deadline_and_real_time_tasks_together_leave_at_least_1() {
        let domains = build(&Topology::flat(2));
        let level = domains.of(CPU).next().unwrap();
        let mut capacity = CpuCapacity::new(&domains);
        capacity.switch(0, CPU, ClassId::Idle, ClassId::Rt);
        capacity.switch(40 * HALF_LIFE, CPU, ClassId::Rt, ClassId::Deadline);
        capacity.update_blocked(41 * HALF_LIFE, CPU, ClassId::Deadline);
        capacity.update_group(&domains, level, CPU, 0, 1);
        assert!(capacity.of(CPU) <= 4, "{}", capacity.of(CPU));
        let crowded =
            Stats { weight: 1, lost: 512, util: 600, nr_running: 2, load: 500, ..Stats::default() };
        assert_eq!((crowded.capacity(), crowded.avg_load()), (512, 1000));
        assert_eq!(crowded.type_by_numbers(117), GroupType::Overloaded);
        let whole = Stats { lost: 0, ..crowded };
        assert_eq!(whole.type_by_numbers(117), GroupType::HasSpare);
    }
}
