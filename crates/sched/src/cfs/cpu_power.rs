//! CPU power: the capacity of a group of CPUs for ordinary tasks.
//!
//! All CPUs see the same groups, except in a NODE domain: each node has its own copies, and updates
//! only its own group's. A node never learns how much real-time tasks take on other nodes.

use super::lb_env::SCHED_LOAD_SCALE;
use crate::classes::Rqs;
use crate::classes::domains::Domains;
use alloc::vec::Vec;
use schedlab_core::CpuId;
use schedlab_core::topology::LevelKind;

/// The power of all groups of all domains.
#[derive(Clone, Debug)]
pub struct CpuPower {
    /// By level: the power of each group, at its first CPU.
    power: Vec<Vec<u64>>,
    /// By level of nodes: the power at boot; empty for other levels.
    at_boot: Vec<Vec<u64>>,
    /// By level: number of CPUs whose power is not that of one CPU.
    weak_groups: Vec<u32>,
}

impl CpuPower {
    /// Returns the power at boot, when real-time tasks take none of it. The threads of a core share
    /// its power. A group of several CPUs has the sum of its parts.
    pub fn at_boot(domains: &Domains, is_online: impl Fn(CpuId) -> bool) -> CpuPower {
        let mut power: Vec<Vec<u64>> = Vec::new();
        for number in 0..domains.levels() {
            let level = domains.level(number);
            let of_group = |cpu: CpuId| match domains.child(cpu, number) {
                None if !is_online(cpu) => SCHED_LOAD_SCALE,
                None if level.params.share_cpupower => {
                    (u64::from(level.params.smt_gain) / level.span(cpu).cpus.len() as u64).max(1)
                }
                None => SCHED_LOAD_SCALE,
                Some(child) => {
                    let groups = &domains.level(child).span(cpu).groups;
                    groups.iter().map(|group| power[child][group[0].index()]).sum()
                }
            };
            let row = (0..domains.cpus()).map(CpuId).map(of_group).collect();
            power.push(row);
        }
        let is_weak = |power: &&u64| **power != SCHED_LOAD_SCALE;
        let weak_groups =
            power.iter().map(|level| level.iter().filter(is_weak).count() as u32).collect();
        let copies = |(number, row): (usize, &Vec<u64>)| {
            let has_copies = domains.level(number).kind == LevelKind::Node;
            if has_copies { row.clone() } else { Vec::new() }
        };
        let at_boot = power.iter().enumerate().map(copies).collect();
        CpuPower { power, at_boot, weak_groups }
    }

    /// Returns the power of a group of CPUs, as of the last update by its first CPU; for another
    /// node's group, as of boot. `is_own`: the CPU that asks is in the group.
    #[inline]
    pub fn of_group(&self, level: usize, group: &[CpuId], is_own: bool) -> u64 {
        let first = group[0].index();
        match self.at_boot[level].get(first) {
            Some(&at_boot) if !is_own => at_boot,
            _ => self.power[level][first],
        }
    }

    /// Returns the power of a single CPU: that of its group in its smallest domain (or at `level`,
    /// if it has none).
    #[inline]
    pub fn of_cpu(&self, domains: &Domains, level: usize, cpu: CpuId) -> u64 {
        let lowest = domains.of(cpu).next().unwrap_or(level);
        self.power[lowest][cpu.index()]
    }

    /// Whether every group of a level has the power of one CPU.
    #[inline]
    pub fn is_uniform(&self, level: usize) -> bool {
        self.weak_groups[level] == 0
    }

    /// Pretends that a number of groups of a level are weak. Returns the previous number.
    #[cfg(test)]
    pub fn replace_weak_groups(&mut self, level: usize, weak: u32) -> u32 {
        core::mem::replace(&mut self.weak_groups[level], weak)
    }

    /// `update_group_power`: computes the power of `cpu`'s group that real-time tasks leave.
    pub fn update_group_power(&mut self, rqs: &mut Rqs, level: usize, cpu: CpuId) {
        let power = match rqs.domains.child(cpu, level) {
            None => update_cpu_power(rqs, level, cpu),
            Some(child) => {
                let child_level = rqs.domains.level(child);
                let own = child_level.group_of(cpu);
                let groups = child_level.span(cpu).groups.iter().enumerate();
                groups.map(|(number, group)| self.of_group(child, group, number == own)).sum()
            }
        };
        let whole = |power: u64| u32::from(power == SCHED_LOAD_SCALE);
        let old = core::mem::replace(&mut self.power[level][cpu.index()], power);
        self.weak_groups[level] += whole(old);
        self.weak_groups[level] -= whole(power);
    }
}

/// Implements `update_cpu_power`.
fn update_cpu_power(rqs: &mut Rqs, level: usize, cpu: CpuId) -> u64 {
    let domain = rqs.domains.level(level);
    let mut power = SCHED_LOAD_SCALE;
    if domain.params.share_cpupower {
        power = (u64::from(domain.params.smt_gain) / domain.span(cpu).cpus.len() as u64).max(1);
    }
    rqs.rt_avg_decay(cpu);
    let rq = &rqs.rqs[cpu.index()];
    let total = rqs.rt_avg_period_ns + rq.clock.wrapping_sub(rq.age_stamp);
    let available = total.saturating_sub(rq.rt_avg);
    let scale = available / (total >> 10).max(1);
    ((power * scale) >> 10).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::domains;
    use schedlab_core::Topology;
    use schedlab_core::topology::{Level, LevelKind, Place};

    /// A core of two threads has a power of 1178, each thread half of that. A CPU that is offline
    /// counts fully.
    #[test]
    fn threads_share_what_a_core_is_worth() {
        let place = |cpu: u32| Place { core: cpu / 2, cache: 0, package: 0, node: 0 };
        let topology = Topology::new((0..4).map(place).collect(), &[]).unwrap();
        let domains = domains(&topology);
        let power = CpuPower::at_boot(&domains, |_| true);
        let levels: Vec<usize> = domains.of(CpuId(0)).collect();
        assert_eq!(power.of_group(levels[0], &[CpuId(0)], true), 589);
        assert_eq!(power.of_group(levels[1], &[CpuId(0), CpuId(1)], true), 1178);
        assert_eq!(power.of_cpu(&domains, 0, CpuId(3)), 589);
        let mut fewer = domains.clone();
        fewer.rebuild(|cpu| cpu != CpuId(3));
        let power = CpuPower::at_boot(&fewer, |cpu| cpu != CpuId(3));
        assert_eq!(power.of_cpu(&fewer, levels[0], CpuId(3)), 1024);
        assert_eq!(power.of_cpu(&fewer, levels[0], CpuId(0)), 589);
    }

    /// Two nodes of two CPUs each in a domain of nodes, which is half of a domain of all nodes. A
    /// node sees its own group with 1000 left of 2048, or 500; for the other group, the 2048 at
    /// boot count.
    #[test]
    fn of_its_own_node_a_group_counts_what_is_left_of_others_what_was_there_at_boot() {
        let level =
            |kind, size: u32| Level { kind, span_of: (0..8).map(|cpu| cpu / size).collect() };
        let levels =
            [level(LevelKind::Cpu, 2), level(LevelKind::Node, 4), level(LevelKind::AllNodes, 8)];
        let topology = Topology::with_levels(8, levels.into());
        let params = |kind| crate::cfs::domain_levels::domain_params(kind, 8);
        let domains = Domains::new(&topology, params);
        let mut power = CpuPower::at_boot(&domains, |_| true);
        let mut rqs = Rqs::new(domains);
        let of: Vec<usize> = rqs.domains.of(CpuId(0)).collect();
        let [node, all] = [of[1], of[2]];
        (power.power[node][0], power.power[node][2]) = (1000, 500);
        power.update_group_power(&mut rqs, all, CpuId(0));
        assert_eq!(power.power[all][0], 1000 + 2048);
        power.update_group_power(&mut rqs, all, CpuId(2));
        assert_eq!(power.power[all][2], 2048 + 500);
    }
}
