//! Statistics of the groups of a domain, and the busiest one.

use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use crate::fair_6::lb_env::{CpuIdleType, LbEnv};
use crate::fair_6::lb_stats::{CAPACITY, is_idle_cpu};
use crate::fair_6::pick_rule::PickRule;

/// How busy a group is (`enum group_type`), from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Kind {
    /// Neither of the others.
    #[default]
    Other,
    /// Affinity has prevented balancing within it.
    Imbalanced,
    /// It has more tasks than CPUs, and no time to spare.
    Overloaded,
}

/// Statistics of a group (`sg_lb_stats`).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct GroupLoad {
    pub kind: Kind,
    /// Sum of the loads of its CPUs.
    pub load: u64,
    /// Load relative to capacity, as if it were one CPU.
    pub avg: u64,
    /// Load of a task on average. `0` if it has none.
    pub per_task: u64,
    /// Number of fair tasks.
    pub tasks: u64,
    /// Number of its CPUs.
    pub cpus: u64,
    pub idle_cpus: u64,
    pub capacity: u64,
    /// More tasks than CPUs, and no time to spare (`group_is_overloaded`).
    pub no_capacity: bool,
    /// Fewer tasks than CPUs, or time to spare (`group_has_capacity`).
    pub has_capacity: bool,
}

/// Result of a survey of all groups of a domain (`sd_lb_stats`).
#[derive(Debug)]
pub(super) struct LoadSurvey {
    pub own: GroupLoad,
    /// The busiest of the other groups, and its number.
    pub busiest: Option<(usize, GroupLoad)>,
    /// Average load of the domain.
    pub average: u64,
}

impl<R: PickRule> Fair<R> {
    /// `update_sg_lb_stats`: statistics of the group with this number in the pass's domain. Sets
    /// `overloaded` if some CPU has more than one task.
    fn group_load(
        &self,
        rqs: &Rqs,
        env: &LbEnv,
        group: usize,
        own: bool,
        overloaded: &mut bool,
    ) -> GroupLoad {
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        let age = match env.why {
            CpuIdleType::NotIdle => level.params.busy_idx,
            CpuIdleType::Idle => level.params.idle_idx,
            CpuIdleType::NewlyIdle => level.params.newidle_idx,
        };
        let mut sum = GroupLoad { cpus: span.group(group).len() as u64, ..GroupLoad::default() };
        let (mut util, mut present) = (0, 0);
        for &cpu in span.group(group).iter().filter(|cpu| !self.balance.dropped[cpu.index()]) {
            let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
            sum.load += self.biased_load(cpu, age as u32, own);
            present += self.cpu_load(cpu);
            util += queue.cpu_util().min(self.capacity.original(cpu));
            sum.tasks += u64::from(queue.h_nr_runnable);
            sum.idle_cpus += u64::from(is_idle_cpu(rqs, cpu));
            *overloaded |= rqs.nr_running[cpu.index()] > 1;
        }
        let lost = self.capacity.lost_of_group(env.level, span.balancers(group));
        sum.capacity = CAPACITY * sum.cpus - lost;
        sum.avg = sum.load * CAPACITY / sum.capacity;
        sum.per_task = present.checked_div(sum.tasks).unwrap_or(0);
        let (has, uses) = (sum.capacity * 100, util * u64::from(level.params.imbalance_pct));
        sum.no_capacity = sum.tasks > sum.cpus && has < uses;
        sum.has_capacity = sum.tasks < sum.cpus || has > uses;
        let mark = env.level + span.balancers(group)[0].index() * rqs.domains.levels();
        sum.kind = if sum.no_capacity {
            Kind::Overloaded
        } else if self.balance.imbalanced[mark] {
            Kind::Imbalanced
        } else {
            Kind::Other
        };
        sum
    }

    /// `update_sd_lb_stats`: examines all groups of the pass's domain.
    pub(super) fn survey_loads(&mut self, rqs: &Rqs, env: &LbEnv) -> LoadSurvey {
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        let groups = if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
        let number = level.group_of(env.here);
        let below = rqs.domains.child(env.here, env.level);
        let prefers_sibling =
            below.is_some_and(|below| rqs.domains.level(below).params.prefer_sibling);
        let mut overloaded = false;
        let own = self.group_load(rqs, env, number, true, &mut overloaded);
        let (mut load, mut capacity) = (own.load, own.capacity);
        let mut busiest: Option<(usize, GroupLoad)> = None;
        let mut best = (Kind::Other, 0);
        for group in (number + 1..groups).chain(0..number) {
            let mut stats = self.group_load(rqs, env, group, false, &mut overloaded);
            // Groups should have one task each before any has two.
            if prefers_sibling && own.has_capacity && stats.tasks > own.tasks + 1 {
                stats.no_capacity = true;
                stats.kind = Kind::Overloaded;
            }
            load += stats.load;
            capacity += stats.capacity;
            if (stats.kind, stats.avg) > best {
                best = (stats.kind, stats.avg);
                busiest = Some((group, stats));
            }
        }
        if rqs.domains.is_top(env.here, env.level) {
            self.balance.overloaded = overloaded;
        }
        LoadSurvey { own, busiest, average: CAPACITY * load / capacity }
    }
}
