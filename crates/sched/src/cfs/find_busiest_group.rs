//! `find_busiest_group` and `find_busiest_queue`: the CPU from which a balancing pass pulls, and
//! how much weight.

use super::Cfs;
use super::features::Feature;
use super::lb_env::{CpuIdleType, Pass, PassState, SCHED_LOAD_SCALE};
use super::lb_stats::{SdLbStats, SgLbStats, is_worthwhile};
use crate::classes::Rqs;
use schedlab_core::CpuId;

impl Cfs {
    /// `find_busiest_group` and `find_busiest_queue`: returns the CPU to pull from, and the weight
    /// to pull.
    pub(super) fn find_busiest(
        &mut self,
        rqs: &mut Rqs,
        pass: Pass,
        state: &mut PassState,
    ) -> Option<(CpuId, u64)> {
        let Pass { level, this, .. } = pass;
        let own_number = rqs.domains.level(level).group_of(this);
        if rqs.domains.level(level).span(this).group(own_number)[0] == this {
            self.cpu_power.update_group_power(rqs, level, this);
        }
        let rqs = &*rqs;
        let domain = rqs.domains.level(level);
        let span = domain.span(this);
        let own_group = span.group(own_number);
        if pass.idle != CpuIdleType::NewlyIdle && self.balance_cpu(rqs, own_group) != this {
            state.its_turn = false;
            return None;
        }
        let index = match pass.idle {
            CpuIdleType::NotIdle => domain.params.busy_idx,
            CpuIdleType::Idle => domain.params.idle_idx,
            CpuIdleType::NewlyIdle => domain.params.newidle_idx,
        };
        if span.single_cpu_groups && self.cpu_power.is_uniform(level) {
            return self.find_busiest_of_equals(rqs, level, this, index);
        }
        if domain.params.share_cpupower {
            let is_busy =
                |&&cpu: &&CpuId| self.candidates.contains(cpu) && rqs.nr_running[cpu.index()] > 0;
            state.busy_sibling |= span.cpus.iter().any(|cpu| is_busy(&cpu));
        }
        let stats = self.update_sd_lb_stats(rqs, level, this, index)?;
        if !is_worthwhile(&stats.this, &stats.busiest, domain.params.imbalance_pct) {
            return None;
        }
        let imbalance = self.calculate_imbalance(rqs, this, &stats)?;
        let group = span.group(stats.busiest_number);
        let queue = self.find_busiest_queue(rqs, level, group, imbalance)?;
        Some((queue, imbalance))
    }

    /// `update_sd_lb_stats`: examines all groups. `None`: no other group has too much load.
    fn update_sd_lb_stats(
        &self,
        rqs: &Rqs,
        level: usize,
        this: CpuId,
        index: u8,
    ) -> Option<SdLbStats> {
        let domain = rqs.domains.level(level);
        let groups = &domain.span(this).groups;
        let own_number = domain.group_of(this);
        let prefer_sibling = rqs
            .domains
            .child(this, level)
            .is_some_and(|child| rqs.domains.level(child).params.prefer_sibling);
        let mut own = SgLbStats::default();
        let (mut total_load, mut total_power) = (0, 0);
        let mut busiest: Option<(SgLbStats, usize)> = None;
        // The ring of groups, starting with the local one.
        for number in (own_number..groups.len()).chain(0..own_number) {
            let is_own = number == own_number;
            let mut group = self.update_sg_lb_stats(rqs, level, &groups[number], is_own, index);
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
        let (busiest, busiest_number) = busiest?;
        let avg_load = SCHED_LOAD_SCALE * total_load / total_power;
        Some(SdLbStats { this: own, busiest, busiest_number, avg_load })
    }

    /// Does the same as [`find_busiest`](Cfs::find_busiest), for a level where every group is one
    /// CPU of full power. Then only CPUs with more than one thread can be busiest. The sum over the
    /// others is needed only when a worthwhile candidate is found.
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
        let bias = self.tunables.has(Feature::LbBias);
        let domain = rqs.domains.level(level);
        let span = domain.span(this);
        let mut busiest: Option<(u64, CpuId)> = None;
        let ring = rqs.overcommitted(this.0 + 1, rqs.cpus()).chain(rqs.overcommitted(0, this.0));
        for cpu in ring {
            if domain.share(cpu, this) && self.candidates.contains(cpu) {
                let load = self.cpu_loads.source_load(cpu, index, bias);
                if load > busiest.map_or(0, |(most, _)| most) {
                    busiest = Some((load, cpu));
                }
            }
        }
        let (_, cpu) = busiest?;
        let own = self.update_sg_lb_stats(rqs, level, &[this], true, index);
        let busiest = self.update_sg_lb_stats(rqs, level, &[cpu], false, index);
        if !is_worthwhile(&own, &busiest, domain.params.imbalance_pct) {
            return None;
        }
        let others =
            span.cpus.iter().filter(|&&other| other != this && self.candidates.contains(other));
        let loads = others.map(|&other| self.cpu_loads.source_load(other, index, bias));
        let total_load = own.load + loads.sum::<u64>();
        let avg_load = SCHED_LOAD_SCALE * total_load / (SCHED_LOAD_SCALE * span.cpus.len() as u64);
        let stats = SdLbStats { this: own, busiest, busiest_number: 0, avg_load };
        let imbalance = self.calculate_imbalance(rqs, this, &stats)?;
        Some((cpu, imbalance))
    }

    /// Returns the CPU of a group that balances for it: the first idle one, or else the first.
    fn balance_cpu(&self, rqs: &Rqs, group: &[CpuId]) -> CpuId {
        let idles =
            |cpu: &&CpuId| self.candidates.contains(**cpu) && rqs.is_idle_thread(rqs.curr(**cpu));
        *group.iter().find(idles).unwrap_or(&group[0])
    }

    /// Implements `update_sg_lb_stats`.
    #[inline]
    fn update_sg_lb_stats(
        &self,
        rqs: &Rqs,
        level: usize,
        cpus: &[CpuId],
        is_own: bool,
        index: u8,
    ) -> SgLbStats {
        let bias = self.tunables.has(Feature::LbBias);
        let power = self.cpu_power.of_group(level, cpus, is_own);
        let mut group = SgLbStats { power, ..SgLbStats::default() };
        let (mut most, mut least) = (0, u64::MAX);
        let mut per_task = 0;
        for &cpu in cpus {
            if !self.candidates.contains(cpu) {
                continue;
            }
            let load = if is_own {
                self.cpu_loads.target_load(cpu, index, bias)
            } else {
                self.cpu_loads.source_load(cpu, index, bias)
            };
            group.load += load;
            group.weighted += self.cpu_loads.weighted_load(cpu);
            group.nr_running += u64::from(rqs.nr_running[cpu.index()]);
            if cpus.len() > 1 && !is_own {
                most = most.max(load);
                least = least.min(load);
                per_task += self.cpu_avg_load_per_task(rqs, cpu);
            }
        }
        group.avg_load = if power == SCHED_LOAD_SCALE {
            group.load
        } else {
            group.load * SCHED_LOAD_SCALE / power
        };
        if cpus.len() > 1 && !is_own {
            group.imbalanced =
                most.saturating_sub(least) > 2 * (per_task * SCHED_LOAD_SCALE / power);
        }
        group.capacity = (power + SCHED_LOAD_SCALE / 2) / SCHED_LOAD_SCALE;
        group
    }

    /// `calculate_imbalance`: returns the weight to move. `None`: the average of the domain shows
    /// that it is balanced well enough.
    fn calculate_imbalance(&self, rqs: &Rqs, this: CpuId, stats: &SdLbStats) -> Option<u64> {
        let SdLbStats { this: own, busiest, avg_load: average, .. } = stats;
        let (max, mine) = (busiest.avg_load, own.avg_load);
        let mut per_task = busiest.load_per_task();
        if busiest.imbalanced {
            per_task = per_task.min(*average);
        }
        if mine >= *average || max <= per_task {
            return None;
        }
        if max < *average {
            return Some(self.fix_small_imbalance(rqs, this, stats, per_task, 0));
        }
        let pull = (max - average).min(max - per_task);
        let imbalance = (pull * busiest.power).min((average - mine) * own.power) / SCHED_LOAD_SCALE;
        if imbalance < per_task {
            return Some(self.fix_small_imbalance(rqs, this, stats, per_task, imbalance));
        }
        Some(imbalance)
    }

    /// `fix_small_imbalance`: the imbalance is less than a task. Decides whether moving a task
    /// still pays.
    fn fix_small_imbalance(
        &self,
        rqs: &Rqs,
        this: CpuId,
        stats: &SdLbStats,
        per_task: u64,
        imbalance: u64,
    ) -> u64 {
        const SCALE: u64 = SCHED_LOAD_SCALE;
        let SdLbStats { this: own, busiest, .. } = stats;
        let (max, mine) = (busiest.avg_load, own.avg_load);
        let (mine_per_task, n) = if own.nr_running > 0 {
            let mine_per_task = own.load_per_task();
            (mine_per_task, if per_task > mine_per_task { 1 } else { 2 })
        } else {
            (self.cpu_avg_load_per_task(rqs, this), 2)
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

    /// `find_busiest_queue`: returns the busiest CPU of a group.
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
            let power = self.cpu_power.of_cpu(&rqs.domains, level, cpu);
            let load = self.cpu_loads.weighted_load(cpu) * SCHED_LOAD_SCALE / power;
            let capacity = (power + SCHED_LOAD_SCALE / 2) / SCHED_LOAD_SCALE;
            if capacity > 0 && rqs.nr_running[cpu.index()] == 1 && load > imbalance {
                continue;
            }
            if load > busiest.map_or(0, |(most, _)| most) {
                busiest = Some((load, cpu));
            }
        }
        busiest.map(|(_, cpu)| cpu)
    }

    /// Implements `cpu_avg_load_per_task`.
    #[inline]
    pub(super) fn cpu_avg_load_per_task(&self, rqs: &Rqs, cpu: CpuId) -> u64 {
        let load = self.cpu_loads.weighted_load(cpu);
        load.checked_div(u64::from(rqs.nr_running[cpu.index()])).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Version, domains};
    use schedlab_core::Topology;

    /// Less than a task should move. The work that both groups do, now and with one task moved, in
    /// tasks of 1277:
    ///
    /// * the busiest has a power of 1024 and a load of 1278: it does 1277, and with a task less it
    ///   does 1;
    /// * the local one has 2048 and a load of 100 (its own tasks weigh 4096, so that all of it
    ///   counts): 2 x 100, and with a task more 2 x (100 + 1277 / 2) = 2 x 738.
    ///
    /// That is 1477 now, and 1 + 1476 = 1477 then: no more, so nothing moves. With 1279 it would be
    /// 2 + 1476.
    #[test]
    fn less_than_a_task_moves_one_if_more_is_done_then() {
        let rqs = Rqs::new(domains(&Topology::flat(2)));
        let fair = Cfs::new(Version::V2_6_32, &rqs, 1000);
        let group = |avg_load, weighted, power| SgLbStats {
            avg_load,
            load: avg_load,
            weighted,
            nr_running: 1,
            power,
            ..SgLbStats::default()
        };
        for (max, moved) in [(1278, 0), (1279, 1277)] {
            let stats = SdLbStats {
                this: group(100, 4096, 2048),
                busiest: group(max, 1277, 1024),
                busiest_number: 1,
                avg_load: 1300,
            };
            assert_eq!(fair.fix_small_imbalance(&rqs, CpuId(0), &stats, 1277, 0), moved, "{max}");
        }
    }

    #[test]
    fn a_quarter_more_is_not_yet_worthwhile() {
        let group =
            |avg_load| SgLbStats { avg_load, weighted: 10, nr_running: 1, ..SgLbStats::default() };
        assert!(!is_worthwhile(&group(400), &group(500), 125));
        assert!(is_worthwhile(&group(400), &group(501), 125));
    }
}
