//! Who is busiest, and by how much: the arithmetic of a balancing pass.

use super::Cfs;
use super::load_balance::{Idleness, Pass, SCALE};
use crate::classes::Rqs;
use crate::classes::domains::Domains;
use alloc::vec::Vec;
use schedlab_core::CpuId;

/// What is summed over a group of CPUs.
#[derive(Clone, Copy, Debug, Default)]
struct GroupLoad {
    /// Load that counts for the comparison.
    load: u64,
    /// The present weight of what is runnable.
    weighted: u64,
    /// Threads, of all classes.
    nr_running: u64,
    power: u64,
    /// `load` for a group of the power of one CPU.
    avg_load: u64,
    /// Its CPUs are loaded too differently.
    imbalanced: bool,
    /// How many tasks it holds without being overcommitted.
    capacity: u64,
}

impl GroupLoad {
    /// Weight of a task, on average.
    fn per_task(&self) -> u64 {
        self.weighted.checked_div(self.nr_running).unwrap_or(0)
    }
}

/// Whether the busiest has so much more than the own group that it is worth while to go on.
fn is_worthwhile(own: &GroupLoad, busiest: &GroupLoad, imbalance_pct: u32) -> bool {
    let (max, mine) = (busiest.avg_load, own.avg_load);
    mine < max
        && 100 * max > u64::from(imbalance_pct) * mine
        && (busiest.imbalanced || max > busiest.per_task())
}

/// By level and CPU: the power of the CPU's group as long as real-time tasks take nothing of it.
/// Threads of a core have their part of what the core is worth; a group of several CPUs has what
/// its parts have together.
pub(super) fn power_at_boot(domains: &Domains, is_online: impl Fn(CpuId) -> bool) -> Vec<Vec<u64>> {
    let mut power: Vec<Vec<u64>> = Vec::new();
    for number in 0..domains.levels() {
        let level = domains.level(number);
        let of_group = |cpu: CpuId| match domains.child(cpu, number) {
            None if !is_online(cpu) => SCALE,
            None if level.params.share_cpupower => {
                u64::from(level.params.smt_gain) / level.span(cpu).cpus.len() as u64
            }
            None => SCALE,
            Some(child) => {
                let groups = &domains.level(child).span(cpu).groups;
                groups.iter().map(|group| power[child][group[0].index()]).sum()
            }
        };
        let row = (0..domains.cpus()).map(CpuId).map(of_group).collect();
        power.push(row);
    }
    power
}

/// How many entries are not the power of one CPU.
pub(super) fn weak_groups(power: &[u64]) -> u32 {
    power.iter().filter(|&&power| power != SCALE).count() as u32
}

impl Cfs {
    /// The power of a group of CPUs, as of when its first CPU last looked.
    #[inline]
    pub(super) fn group_power(&self, level: usize, group: &[CpuId]) -> u64 {
        self.power[level][group[0].index()]
    }

    /// `update_group_power`: what is left of the power of `cpu`'s group for ordinary tasks, after
    /// what real-time tasks take.
    fn update_group_power(&mut self, rqs: &mut Rqs, level: usize, cpu: CpuId) {
        let power = match rqs.domains.child(cpu, level) {
            None => self.cpu_power(rqs, level, cpu),
            Some(child) => {
                let groups = &rqs.domains.level(child).span(cpu).groups;
                groups.iter().map(|group| self.group_power(child, group)).sum()
            }
        };
        let whole = |power: u64| u32::from(power == SCALE);
        let old = core::mem::replace(&mut self.power[level][cpu.index()], power);
        self.weak_groups[level] += whole(old);
        self.weak_groups[level] -= whole(power);
    }

    /// `update_cpu_power`.
    fn cpu_power(&self, rqs: &mut Rqs, level: usize, cpu: CpuId) -> u64 {
        let domain = rqs.domains.level(level);
        let mut power = SCALE;
        if domain.params.share_cpupower {
            power = u64::from(domain.params.smt_gain) / domain.span(cpu).cpus.len() as u64;
        }
        rqs.rt_avg_decay(cpu);
        let rq = &rqs.rqs[cpu.index()];
        let total = rqs.rt_avg_period_ns + rq.clock.wrapping_sub(rq.age_stamp);
        let available = total.saturating_sub(rq.rt_avg);
        let scale = available / (total >> 10).max(1);
        ((power * scale) >> 10).max(1)
    }

    /// `find_busiest_group` and `find_busiest_queue`: from which CPU to pull, and how much weight.
    /// `its_turn` becomes false if another CPU of the own group is to balance for it.
    pub(super) fn find_busiest(
        &mut self,
        rqs: &mut Rqs,
        pass: Pass,
        its_turn: &mut bool,
    ) -> Option<(CpuId, u64)> {
        let Pass { level, this, .. } = pass;
        let own_number = rqs.domains.level(level).group_of(this);
        if rqs.domains.level(level).span(this).groups[own_number][0] == this {
            self.update_group_power(rqs, level, this);
        }
        let rqs = &*rqs;
        let domain = rqs.domains.level(level);
        let span = domain.span(this);
        let own_group = &span.groups[own_number];
        if pass.idleness != Idleness::NewlyIdle && self.balancer_of(rqs, own_group) != this {
            *its_turn = false;
            return None;
        }
        let index = match pass.idleness {
            Idleness::NotIdle => domain.params.busy_idx,
            Idleness::Idle => domain.params.idle_idx,
            Idleness::NewlyIdle => domain.params.newidle_idx,
        };
        if span.single_cpu_groups && self.weak_groups[level] == 0 {
            return self.find_busiest_of_equals(rqs, level, this, index);
        }
        let (own, busiest, number, average) = self.survey_groups(rqs, level, this, index)?;
        if !is_worthwhile(&own, &busiest, domain.params.imbalance_pct) {
            return None;
        }
        let imbalance = self.imbalance(rqs, this, &own, &busiest, average)?;
        let queue = self.find_busiest_queue(rqs, level, &span.groups[number], imbalance)?;
        Some((queue, imbalance))
    }

    /// Looks at all groups: the own one, the busiest of those that have too much, its number, and
    /// the average over the domain.
    fn survey_groups(
        &self,
        rqs: &Rqs,
        level: usize,
        this: CpuId,
        index: u8,
    ) -> Option<(GroupLoad, GroupLoad, usize, u64)> {
        let domain = rqs.domains.level(level);
        let groups = &domain.span(this).groups;
        let own_number = domain.group_of(this);
        let prefer_sibling = rqs
            .domains
            .child(this, level)
            .is_some_and(|child| rqs.domains.level(child).params.prefer_sibling);
        let mut own = GroupLoad::default();
        let (mut total_load, mut total_power) = (0, 0);
        let mut busiest: Option<(GroupLoad, usize)> = None;
        // The ring of groups, from the own one on.
        for number in (own_number..groups.len()).chain(0..own_number) {
            let is_own = number == own_number;
            let mut group = self.sum_group(rqs, level, &groups[number], is_own, index);
            if prefer_sibling {
                group.capacity = group.capacity.min(1);
            }
            total_load += group.load;
            total_power += group.power;
            if is_own {
                own = group;
            } else if group.avg_load > busiest.map_or(0, |(busiest, _)| busiest.avg_load)
                && (group.nr_running > group.capacity || group.imbalanced)
            {
                busiest = Some((group, number));
            }
        }
        let (busiest, number) = busiest?;
        Some((own, busiest, number, SCALE * total_load / total_power))
    }

    /// The same, where every group is one CPU of full power: then only CPUs with more than one
    /// thread can be busiest, and the others need not be looked at until one is found that is worth
    /// it.
    fn find_busiest_of_equals(
        &self,
        rqs: &Rqs,
        level: usize,
        this: CpuId,
        index: u8,
    ) -> Option<(CpuId, u64)> {
        if !rqs.any_overcommitted() {
            return None;
        }
        let domain = rqs.domains.level(level);
        let span = domain.span(this);
        let mut busiest: Option<(u64, CpuId)> = None;
        let ring = rqs.overcommitted(this.0 + 1, rqs.cpus()).chain(rqs.overcommitted(0, this.0));
        for cpu in ring {
            if domain.share(cpu, this) && self.candidates.contains(cpu) {
                let load = self.source_load(cpu, index);
                if load > busiest.map_or(0, |(most, _)| most) {
                    busiest = Some((load, cpu));
                }
            }
        }
        let (_, cpu) = busiest?;
        let own = self.sum_group(rqs, level, &[this], true, index);
        let busiest = self.sum_group(rqs, level, &[cpu], false, index);
        if !is_worthwhile(&own, &busiest, domain.params.imbalance_pct) {
            return None;
        }
        let others =
            span.cpus.iter().filter(|&&other| other != this && self.candidates.contains(other));
        let total_load =
            own.load + others.map(|&other| self.source_load(other, index)).sum::<u64>();
        let average = SCALE * total_load / (SCALE * span.cpus.len() as u64);
        let imbalance = self.imbalance(rqs, this, &own, &busiest, average)?;
        Some((cpu, imbalance))
    }

    /// Which CPU of a group balances for it: the first that idles, or else the first.
    fn balancer_of(&self, rqs: &Rqs, group: &[CpuId]) -> CpuId {
        let idles =
            |cpu: &&CpuId| self.candidates.contains(**cpu) && rqs.is_idle_thread(rqs.curr(**cpu));
        *group.iter().find(idles).unwrap_or(&group[0])
    }

    /// `update_sg_lb_stats`.
    #[inline]
    fn sum_group(
        &self,
        rqs: &Rqs,
        level: usize,
        cpus: &[CpuId],
        is_own: bool,
        index: u8,
    ) -> GroupLoad {
        let mut group = GroupLoad { power: self.group_power(level, cpus), ..GroupLoad::default() };
        let (mut most, mut least) = (0, u64::MAX);
        let mut per_task = 0;
        for &cpu in cpus {
            if !self.candidates.contains(cpu) {
                continue;
            }
            let load =
                if is_own { self.target_load(cpu, index) } else { self.source_load(cpu, index) };
            group.load += load;
            group.weighted += self.weighted_load[cpu.index()];
            group.nr_running += u64::from(rqs.nr_running[cpu.index()]);
            if cpus.len() > 1 && !is_own {
                most = most.max(load);
                least = least.min(load);
                per_task += self.avg_load_per_task(rqs, cpu);
            }
        }
        group.avg_load =
            if group.power == SCALE { group.load } else { group.load * SCALE / group.power };
        if cpus.len() > 1 && !is_own {
            group.imbalanced = most.saturating_sub(least) > 2 * (per_task * SCALE / group.power);
        }
        group.capacity = (group.power + SCALE / 2) / SCALE;
        group
    }

    /// How much weight should move, or that things are balanced well enough: here because of how
    /// the domain's average stands.
    fn imbalance(
        &self,
        rqs: &Rqs,
        this: CpuId,
        own: &GroupLoad,
        busiest: &GroupLoad,
        average: u64,
    ) -> Option<u64> {
        let (max, mine) = (busiest.avg_load, own.avg_load);
        let mut per_task = busiest.per_task();
        if busiest.imbalanced {
            per_task = per_task.min(average);
        }
        if mine >= average || max <= per_task {
            return None;
        }
        if max < average {
            return Some(self.small_imbalance(rqs, this, own, busiest, per_task, 0));
        }
        let pull = (max - average).min(max - per_task);
        let imbalance = (pull * busiest.power).min((average - mine) * own.power) / SCALE;
        if imbalance < per_task {
            return Some(self.small_imbalance(rqs, this, own, busiest, per_task, imbalance));
        }
        Some(imbalance)
    }

    /// `fix_small_imbalance`: less than a task is too much. Is it worth while to move one all the
    /// same?
    fn small_imbalance(
        &self,
        rqs: &Rqs,
        this: CpuId,
        own: &GroupLoad,
        busiest: &GroupLoad,
        per_task: u64,
        imbalance: u64,
    ) -> u64 {
        let (max, mine) = (busiest.avg_load, own.avg_load);
        let (mine_per_task, n) = if own.nr_running > 0 {
            let mine_per_task = own.per_task();
            (mine_per_task, if per_task > mine_per_task { 1 } else { 2 })
        } else {
            (self.avg_load_per_task(rqs, this), 2)
        };
        if max - mine + per_task >= per_task * n {
            return per_task;
        }
        let (busy_power, own_power) = (busiest.power, own.power);
        let now = (busy_power * per_task.min(max) + own_power * mine_per_task.min(mine)) / SCALE;
        let task = per_task * SCALE / busy_power;
        let mut then = if max > task { busy_power * per_task.min(max - task) } else { 0 };
        let task = if max * busy_power < per_task * SCALE {
            max * busy_power / own_power
        } else {
            per_task * SCALE / own_power
        };
        then += own_power * mine_per_task.min(mine + task);
        if then / SCALE > now { per_task } else { imbalance }
    }

    /// `find_busiest_queue`: the busiest CPU of a group.
    fn find_busiest_queue(
        &self,
        rqs: &Rqs,
        level: usize,
        cpus: &[CpuId],
        imbalance: u64,
    ) -> Option<CpuId> {
        let mut busiest: Option<(u64, CpuId)> = None;
        for &cpu in cpus {
            if !self.candidates.contains(cpu) {
                continue;
            }
            let power = self.lowest_power(rqs, level, cpu);
            let load = self.weighted_load[cpu.index()] * SCALE / power;
            let capacity = (power + SCALE / 2) / SCALE;
            if capacity > 0 && rqs.nr_running[cpu.index()] == 1 && load > imbalance {
                continue;
            }
            if load > busiest.map_or(0, |(most, _)| most) {
                busiest = Some((load, cpu));
            }
        }
        busiest.map(|(_, cpu)| cpu)
    }

    /// The power of a single CPU: that of its group in its smallest domain.
    #[inline]
    fn lowest_power(&self, rqs: &Rqs, level: usize, cpu: CpuId) -> u64 {
        let lowest = rqs.domains.of(cpu).next().unwrap_or(level);
        self.power[lowest][cpu.index()]
    }
}
