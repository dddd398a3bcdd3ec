//! Where a child starts, and where a task continues that executes another program, before 5.5: on
//! each level of the domains, to the group with the least load.

use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::domains::is_numa;
use crate::fair_6::find_idlest_cpu::Execs;
use crate::fair_6::ids::CfsRqId;
use crate::fair_6::lb_stats::{CAPACITY, is_idle_cpu};
use crate::fair_6::pick_rule::PickRule;
use crate::fair_6::rule_state::FairVersion as _;
use schedlab_core::{CpuId, CpuSet};

/// Values of a group that are compared.
#[derive(Clone, Copy)]
struct Loads {
    /// Load of what is queued, relative to capacity.
    runnable: u64,
    /// Load average, relative to capacity.
    load: u64,
    /// The largest spare capacity of its CPUs.
    spare: u64,
}

impl<R: PickRule> Fair<R> {
    /// `find_idlest_group`: a group of the domain that is idler than the own group of `cpu` by a
    /// sufficient margin. `None`: it is best to stay.
    #[cold]
    pub(in crate::fair_6) fn least_loaded_group<'a>(
        &self,
        rqs: &'a Rqs,
        allowed: &CpuSet,
        cpu: CpuId,
        number: usize,
        execs: Option<Execs>,
    ) -> Option<&'a [CpuId]> {
        let level = rqs.domains.level(number);
        let span = level.span(cpu);
        let groups = if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
        let number_own = level.group_of(cpu);
        let pct = u64::from(level.params.imbalance_pct);
        let margin = CAPACITY * (pct - 100) / 100;
        let scale = 100 + (pct - 100) / 2;
        let early = self.version.sums_carry_weights();
        let nothing = if early { 0 } else { u64::MAX };
        let survey = |group: usize| -> Option<Loads> {
            let usable = span.group(group).iter().any(|&cpu| allowed.contains(cpu));
            usable.then(|| {
                let lost = self.capacity.lost_of_group(number, span.balancers(group));
                self.loads_of(rqs, span.group(group), lost, execs)
            })
        };
        let own =
            survey(number_own).unwrap_or(Loads { runnable: nothing, load: nothing, spare: 0 });
        let mut found = None;
        let (mut runnable, mut load) = (u64::MAX, u64::MAX);
        let mut roomiest = (0, None);
        for group in (number_own + 1..groups).chain(0..number_own) {
            let Some(stats) = survey(group) else {
                continue;
            };
            if runnable > stats.runnable.saturating_add(margin) {
                (runnable, load, found) = (stats.runnable, stats.load, Some(group));
            } else if stats.runnable < runnable.saturating_add(margin)
                && load.saturating_mul(100) > scale * stats.load
            {
                (load, found) = (stats.load, Some(group));
            }
            if stats.spare > roomiest.0 {
                roomiest = (stats.spare, Some(group));
            }
        }
        if let Some(execs) = execs {
            let needs = self.info[self.se_of(execs.task)].avg.util_avg / 2;
            if own.spare > needs && scale * own.spare > 100 * roomiest.0 {
                return None;
            }
            if roomiest.0 > needs {
                return roomiest.1.map(|group| span.group(group));
            }
        }
        let group = found?;
        if !early && is_numa(level.kind) && runnable.saturating_add(margin) >= own.runnable {
            return None;
        }
        if runnable > own.runnable.saturating_add(margin) {
            return None;
        }
        if own.runnable < runnable.saturating_add(margin)
            && own.load.saturating_mul(100) < scale.saturating_mul(load)
        {
            return None;
        }
        Some(span.group(group))
    }

    fn loads_of(&self, rqs: &Rqs, cpus: &[CpuId], lost: u64, execs: Option<Execs>) -> Loads {
        let (mut runnable, mut load, mut spare) = (0, 0, 0);
        for &cpu in cpus {
            let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
            runnable += self.cpu_load(cpu);
            load += queue.avg.load_avg;
            spare = self.spare_without(rqs, cpu, execs).max(spare);
        }
        let capacity = CAPACITY * cpus.len() as u64 - lost;
        Loads { runnable: runnable * CAPACITY / capacity, load: load * CAPACITY / capacity, spare }
    }

    /// `capacity_spare_without`: the capacity of `cpu` that tasks other than `execs` do not use.
    fn spare_without(&self, rqs: &Rqs, cpu: CpuId, execs: Option<Execs>) -> u64 {
        let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
        let mut util = queue.cpu_util();
        if let Some(Execs { task, .. }) = execs
            && rqs.cpu_of(task) == cpu
            && self.info[self.se_of(task)].avg.last_update_time != 0
        {
            let info = &self.info[self.se_of(task)];
            let without = queue.avg.util_avg.saturating_sub(info.avg.util_avg);
            let estimate = match self.version.execs_keep_estimates() {
                true => 0,
                false => u64::from(info.util_est),
            };
            util = without.max(queue.util_est.saturating_sub(estimate));
        }
        let original = self.capacity.original(cpu);
        let capacity = match self.version.sums_carry_weights() {
            true => original,
            false => self.capacity.of(cpu),
        };
        capacity.saturating_sub(util.min(original))
    }

    /// `find_idlest_group_cpu`: of these CPUs the idle one that went idle most recently; else the
    /// first with `SCHED_IDLE` tasks only; else the one with the least load.
    #[cold]
    pub(in crate::fair_6) fn least_loaded_cpu(
        &self,
        rqs: &Rqs,
        allowed: &CpuSet,
        group: &[CpuId],
        this: CpuId,
    ) -> CpuId {
        if let &[only] = group {
            return only;
        }
        let mut idle: Option<(u64, CpuId)> = None;
        let mut sched_idle = None;
        let mut least: Option<(u64, CpuId)> = None;
        let early = self.version.sums_carry_weights();
        for &cpu in group.iter().filter(|&&cpu| allowed.contains(cpu)) {
            if is_idle_cpu(rqs, cpu) {
                let since = self.balance.idle_since_ns[cpu.index()];
                if since > idle.map_or(0, |(since, _)| since) {
                    idle = Some((since, cpu));
                }
            } else if idle.is_none() && sched_idle.is_none() {
                if self.version.searches_sched_idle() && self.is_sched_idle_rq(rqs, cpu) {
                    sched_idle = Some(cpu);
                    continue;
                }
                let load = self.cpu_load(cpu);
                if least.is_none_or(|(least, _)| {
                    load < least || (early && load == least && cpu == this)
                }) {
                    least = Some((load, cpu));
                }
            }
        }
        let chosen = idle.map(|(_, cpu)| cpu).or(sched_idle);
        chosen.or(least.map(|(_, cpu)| cpu)).unwrap_or(this)
    }
}
