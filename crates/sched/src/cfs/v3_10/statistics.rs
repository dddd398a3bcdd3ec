//! Which CPU is busiest, and how much weight should move: `find_busiest_group`.

use super::super::features::Feature;
use super::super::lb_env::CpuIdleType;
use super::Cfs310;
use super::balance::Env;
use super::select::is_idle_cpu;
use crate::classes::Rqs;
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuId, Platform};

const SCALE: u64 = 1024;

/// `sg_lb_stats`.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    load: u64,
    weighted: u64,
    nr: u64,
    power: u64,
    avg: u64,
    idle_cpus: u64,
    cpus: u64,
    capacity: u64,
    imbalanced: bool,
    has_capacity: bool,
}

impl Group {
    fn per_task(&self) -> u64 {
        self.weighted.checked_div(self.nr).unwrap_or(0)
    }
}

impl Cfs310 {
    /// The CPU that stands for a group.
    fn first_of(rqs: &Rqs, level: usize, cpu: CpuId, number: usize) -> CpuId {
        rqs.domains.level(level).span(cpu).balancers(number)[0]
    }

    /// The power of a group of the domain of `cpu`.
    pub(super) fn group_power(&self, rqs: &Rqs, level: usize, cpu: CpuId, number: usize) -> u64 {
        self.power[level][Self::first_of(rqs, level, cpu, number).index()].max(1)
    }

    /// `init_sched_groups_power`.
    pub(super) fn power_at_boot(&mut self, rqs: &Rqs) {
        for level in 0..rqs.domains.levels() {
            for cpu in (0..rqs.cpus()).map(CpuId) {
                if rqs.domains.of(cpu).any(|at| at == level) {
                    self.renew_power(rqs, level, cpu, 0);
                }
            }
        }
    }

    /// `update_group_power` of the own group of `cpu`.
    fn renew_power(&mut self, rqs: &Rqs, level: usize, cpu: CpuId, jiffies: u64) {
        let domain = rqs.domains.level(level);
        let power = match rqs.domains.child(cpu, level) {
            None => {
                let mut power = SCALE;
                if domain.params.share_cpupower {
                    let threads = domain.span(cpu).cpus.len() as u64;
                    power = (u64::from(domain.params.smt_gain) / threads).max(1);
                }
                let rq = &rqs.rqs[cpu.index()];
                let total = rqs.rt_avg_period_ns + rq.clock.wrapping_sub(rq.age_stamp);
                let free = total.saturating_sub(rq.rt_avg);
                let power = ((power * (free / (total.max(1024) >> 10))) >> 10).max(1);
                self.cpu_state(cpu).power = power;
                power
            }
            Some(child) => {
                let groups = rqs.domains.level(child).span(cpu).groups.len();
                (0..groups).map(|number| self.group_power(rqs, child, cpu, number)).sum()
            }
        };
        let first = Self::first_of(rqs, level, cpu, domain.group_of(cpu));
        self.power[level][first.index()] = power;
        self.power_due[level][first.index()] = jiffies;
    }

    /// `find_busiest_group` and `find_busiest_queue`. `None`: balanced.
    pub(super) fn find_busiest(
        &mut self,
        rqs: &mut Rqs,
        platform: &Platform,
        env: &mut Env,
    ) -> Option<CpuId> {
        let (level, this) = (env.level, env.dst);
        let own = rqs.domains.level(level).group_of(this);
        let jiffies = platform.jiffies();
        let first = Self::first_of(rqs, level, this, own);
        if env.idle == CpuIdleType::NewlyIdle {
            if jiffies >= self.power_due[level][first.index()] {
                self.renew(rqs, platform, level, this);
            }
        } else {
            let balancers = rqs.domains.level(level).span(this).balancers(own);
            let idle =
                |cpu: &&CpuId| self.base.candidates.contains(**cpu) && is_idle_cpu(rqs, **cpu);
            let balancer = *balancers.iter().find(idle).unwrap_or(&balancers[0]);
            if balancer != this {
                env.its_turn = false;
                return None;
            }
            self.renew(rqs, platform, level, this);
        }
        self.busiest_by_statistics(rqs, env, own)
    }

    fn renew(&mut self, rqs: &mut Rqs, platform: &Platform, level: usize, this: CpuId) {
        rqs.rt_avg_decay(this);
        let interval = self.base.balancing[level][this.index()].interval_ms;
        let wait = super::super::lb_env::ms_to_jiffies(interval, platform.hz()).max(1);
        self.renew_power(rqs, level, this, platform.jiffies() + wait);
    }

    fn statistics(&self, rqs: &Rqs, env: &Env, number: usize, is_own: bool) -> Group {
        let domain = rqs.domains.level(env.level);
        let index = match env.idle {
            CpuIdleType::NotIdle => domain.params.busy_idx,
            CpuIdleType::Idle => domain.params.idle_idx,
            CpuIdleType::NewlyIdle => domain.params.newidle_idx,
        };
        let bias = self.base.tunables.has(Feature::LbBias);
        let cpus = domain.span(env.dst).group(number);
        let power = self.group_power(rqs, env.level, env.dst, number);
        let mut group = Group { power, cpus: cpus.len() as u64, ..Group::default() };
        let (mut most, mut least) = (0, u64::MAX);
        let (mut most_nr, mut least_nr) = (0, u64::MAX);
        for &cpu in cpus.iter().filter(|&&cpu| self.base.candidates.contains(cpu)) {
            let nr = u64::from(rqs.nr_running[cpu.index()]);
            let load = if is_own {
                self.base.cpu_loads.target_load(cpu, index, bias)
            } else {
                let load = self.base.cpu_loads.source_load(cpu, index, bias);
                (most, least) = (most.max(load), least.min(load));
                (most_nr, least_nr) = (most_nr.max(nr), least_nr.min(nr));
                load
            };
            group.load += load;
            group.nr += nr;
            group.weighted += self.load_of_cpu(cpu);
            group.idle_cpus += u64::from(is_idle_cpu(rqs, cpu));
        }
        group.avg = group.load * SCALE / power;
        let per_task = group.per_task();
        group.imbalanced =
            most.saturating_sub(least) >= per_task && most_nr.saturating_sub(least_nr) > 1;
        group.capacity = (power + SCALE / 2) / SCALE;
        if group.capacity == 0 && domain.params.share_cpupower {
            // `fix_small_capacity`
            let of_cpu = SCALE * group.cpus;
            let threads = domain.params.smt_gain as u64 / domain.span(env.dst).cpus.len() as u64;
            let orig = if domain.kind == LevelKind::Smt { threads * group.cpus } else { of_cpu };
            group.capacity = u64::from(power * 32 > orig * 29);
        }
        group.has_capacity = group.capacity > group.nr;
        group
    }

    fn busiest_by_statistics(&self, rqs: &Rqs, env: &mut Env, own_number: usize) -> Option<CpuId> {
        let domain = rqs.domains.level(env.level);
        let count = domain.span(env.dst).groups.len();
        let prefer_sibling = rqs
            .domains
            .child(env.dst, env.level)
            .is_some_and(|child| rqs.domains.level(child).params.prefer_sibling);
        let mut own = Group::default();
        let (mut total_load, mut total_power) = (0, 0);
        let mut busiest: Option<(Group, usize)> = None;
        for number in (own_number..count).chain(0..own_number) {
            let is_own = number == own_number;
            let mut group = self.statistics(rqs, env, number, is_own);
            total_load += group.load;
            total_power += group.power;
            if is_own {
                own = group;
                continue;
            }
            if prefer_sibling && own.has_capacity {
                group.capacity = group.capacity.min(1);
            }
            if group.avg > busiest.map_or(0, |(busiest, _)| busiest.avg)
                && (group.nr > group.capacity || group.imbalanced)
            {
                busiest = Some((group, number));
            }
        }
        let (busiest, number) = busiest?;
        if busiest.nr == 0 {
            return None;
        }
        let average = SCALE * total_load / total_power.max(1);
        let pct = u64::from(domain.params.imbalance_pct);
        let forced = busiest.imbalanced
            || (env.idle == CpuIdleType::NewlyIdle && own.has_capacity && !busiest.has_capacity);
        if !forced {
            if own.avg >= busiest.avg || own.avg >= average {
                return None;
            }
            let balanced = if env.idle == CpuIdleType::Idle {
                own.idle_cpus <= busiest.idle_cpus + 1 && busiest.nr <= busiest.cpus
            } else {
                100 * busiest.avg <= pct * own.avg
            };
            if balanced {
                return None;
            }
        }
        env.imbalance = self.amount(rqs, env.dst, &own, &busiest, average) as i64;
        self.busiest_queue(rqs, env, domain.span(env.dst).group(number))
    }

    /// `calculate_imbalance`.
    fn amount(&self, rqs: &Rqs, this: CpuId, own: &Group, busiest: &Group, average: u64) -> u64 {
        let mut per_task = busiest.per_task();
        if busiest.imbalanced {
            per_task = per_task.min(average);
        }
        if busiest.avg < average {
            return self.small_amount(rqs, this, own, busiest, per_task, 0);
        }
        let mut above = u64::MAX;
        if !busiest.imbalanced {
            above = busiest.nr.wrapping_sub(busiest.capacity).wrapping_mul(SCALE * SCALE)
                / busiest.power;
        }
        let pull = (busiest.avg - average).min(above);
        let amount = pull
            .wrapping_mul(busiest.power)
            .min(average.wrapping_sub(own.avg).wrapping_mul(own.power))
            / SCALE;
        if amount < per_task {
            return self.small_amount(rqs, this, own, busiest, per_task, amount);
        }
        amount
    }

    /// `fix_small_imbalance`.
    fn small_amount(
        &self,
        rqs: &Rqs,
        this: CpuId,
        own: &Group,
        busiest: &Group,
        per_task: u64,
        amount: u64,
    ) -> u64 {
        let (mine, n) = if own.nr > 0 {
            let mine = own.per_task();
            (mine, if per_task > mine { 1 } else { 2 })
        } else {
            (self.load_per_task(rqs, this), 2)
        };
        let scaled = per_task * SCALE / busiest.power;
        if busiest.avg.wrapping_sub(own.avg).wrapping_add(scaled) >= scaled * n {
            return per_task;
        }
        let now =
            (busiest.power * per_task.min(busiest.avg) + own.power * mine.min(own.avg)) / SCALE;
        let mut then = 0;
        if busiest.avg > scaled {
            then = busiest.power * per_task.min(busiest.avg - scaled);
        }
        let task = if busiest.avg * busiest.power < per_task * SCALE {
            busiest.avg * busiest.power / own.power
        } else {
            per_task * SCALE / own.power
        };
        then += own.power * mine.min(own.avg + task);
        if then / SCALE > now { per_task } else { amount }
    }

    /// `find_busiest_queue`.
    fn busiest_queue(&self, rqs: &Rqs, env: &Env, cpus: &[CpuId]) -> Option<CpuId> {
        let mut busiest: Option<(u64, CpuId)> = None;
        for &cpu in cpus.iter().filter(|&&cpu| self.base.candidates.contains(cpu)) {
            let power = self.cpus[cpu.index()].power;
            let mut capacity = (power + SCALE / 2) / SCALE;
            if capacity == 0 && rqs.domains.level(env.level).params.share_cpupower {
                capacity = u64::from(power * 32 > 589 * 29);
            }
            let weighted = self.load_of_cpu(cpu);
            if capacity > 0 && rqs.nr_running[cpu.index()] == 1 && weighted as i64 > env.imbalance {
                continue;
            }
            let load = weighted * SCALE / power;
            if load > busiest.map_or(0, |(most, _)| most) {
                busiest = Some((load, cpu));
            }
        }
        busiest.map(|(_, cpu)| cpu)
    }
}
