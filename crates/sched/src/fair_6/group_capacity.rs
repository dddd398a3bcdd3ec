//! When capacities are updated, and how balancing uses them.
//!
//! The capacities themselves are in [`cpu_capacity`](super::cpu_capacity).

use super::class::Fair;
use super::domains::min_interval;
use super::ids::CfsRqId;
use super::lb_env::{CpuIdleType, LbEnv};
use super::lb_stats::Stats;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::domains::Domains;
use crate::classes::{ClassId, Rqs};
use schedlab_core::{CpuId, Platform};

impl<R: PickRule> Fair<R> {
    /// Starts over with new domains.
    pub(super) fn restart_capacity(&mut self, domains: &Domains, jiffies: u64, hz: u32) {
        let (hz, longest) = (u64::from(hz), (u64::from(hz) * u64::from(self.online) / 10).max(1));
        self.capacity.restart(domains, jiffies, |cpu, level| {
            let ms = u64::from(min_interval(domains.level(level).span(cpu)));
            (ms * hz).div_ceil(1000).clamp(1, longest)
        });
        self.capacity.compute_all(domains);
    }

    /// Accounts for a switch on `cpu` from a task of class `from` to one of class `to`.
    #[inline]
    pub(super) fn class_switch(&mut self, now_ns: u64, cpu: CpuId, from: ClassId, to: ClassId) {
        if self.cpus > 1 {
            self.capacity.switch(now_ns, cpu, from, to);
        }
    }

    /// Updates the capacity of the pass's own group. A newly idle CPU does so only if the stored
    /// one is old.
    pub(super) fn update_group_capacity(&mut self, rqs: &Rqs, platform: &Platform, env: &LbEnv) {
        let jiffies = platform.jiffies();
        let level = rqs.domains.level(env.level);
        let group = self.capacity.place(level, env.level, env.here);
        if env.why == CpuIdleType::NewlyIdle && jiffies < self.capacity.next_update[group] {
            return;
        }
        let hz = u64::from(platform.hz());
        let ms = u64::from(self.balance.domain(env.here, env.level).interval);
        let interval = (ms * hz).div_ceil(1000).clamp(1, (hz * u64::from(self.online) / 10).max(1));
        if self.version.measures_urgent_time() {
            self.capacity.note_part(env.here, rqs.rt_avg_part(env.here));
        }
        self.capacity.update_group(&rqs.domains, env.level, env.here, jiffies, interval);
    }

    /// Enters a group's lost capacity, and whether a lone task of it is a misfit, into its
    /// statistics.
    pub(super) fn note_lost(&self, rqs: &Rqs, env: &LbEnv, group: usize, stats: &mut Stats) {
        if !self.capacity.is_any_lost() {
            return;
        }
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        stats.lost = self.capacity.lost_of_group(env.level, span.balancers(group));
        if env.why == CpuIdleType::NotIdle {
            return;
        }
        let delayed = self.version.balances_delayed_tasks();
        for &cpu in span.group(group).iter().filter(|cpu| !self.balance.dropped[cpu.index()]) {
            let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
            if queue.nr_balanced(delayed) == 1
                && self.capacity.is_reduced(cpu, level.params.imbalance_pct)
            {
                stats.misfit_load = stats.misfit_load.max(queue.avg.load_avg);
            }
        }
    }

    /// Whether the only task of `source` should be pushed to the destination of the pass, which has
    /// clearly more capacity left.
    pub(super) fn is_better_here(&self, rqs: &Rqs, env: &LbEnv, source: CpuId) -> bool {
        let pct = rqs.domains.level(env.level).params.imbalance_pct;
        let queue = &self.cfs_rqs[CfsRqId::of_cpu(source)];
        env.why != CpuIdleType::NotIdle
            && queue.nr_balanced(self.version.balances_delayed_tasks()) == 1
            && self.capacity.is_reduced(source, pct)
            && self.capacity.of(source) * u64::from(pct) < self.capacity.of(env.dst) * 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair_6::eevdf::{EarliestDeadline, Eevdf, Version};
    use crate::fair_6::lb_stats::CAPACITY;
    use schedlab_core::BuildConfig;

    const CPU: CpuId = CpuId(0);
    /// 32 periods of load tracking, ns: the half-life.
    const HALF_LIFE: u64 = 32 << 20;

    /// Two CPUs: a domain is balanced every 2 ms at first, which is 2 jiffies. An idle CPU computes
    /// capacities at jiffy 100. Newly idle CPUs notice later real-time work from jiffy 102 on.
    #[test]
    fn newly_idle_cpus_take_capacities_as_they_are_until_an_interval_is_over() {
        let config = BuildConfig::flat(2, 1000);
        let Eevdf { core: rqs, fair, .. } = &mut Eevdf::new(Version::V6_18, &config);
        let level = rqs.domains.of(CPU).next().unwrap();
        let mut platform = config.platform();
        let mut look = |fair: &mut Fair<EarliestDeadline>, jiffies, why| {
            platform.set_jiffies(jiffies);
            fair.update_group_capacity(rqs, &platform, &LbEnv::new(CPU, level, why));
            fair.capacity.of(CPU)
        };
        assert_eq!(look(fair, 100, CpuIdleType::Idle), CAPACITY);
        fair.capacity.switch(HALF_LIFE, CPU, ClassId::Fair, ClassId::Rt);
        fair.capacity.update_blocked(2 * HALF_LIFE, CPU, ClassId::Rt);
        assert_eq!(look(fair, 101, CpuIdleType::NewlyIdle), CAPACITY);
        assert!(look(fair, 102, CpuIdleType::NewlyIdle) < 520, "half is used");
    }
}
