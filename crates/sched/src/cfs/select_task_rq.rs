//! CPU selection for woken and new tasks, and for tasks that exec.
//!
//! 2.6.32 as first released does not search for an idle CPU at a wakeup: the task goes to the CPU
//! where it last ran, or to the waker's CPU if that does not upset the balance (`wake_affine`). 3.2
//! then searches for an idle CPU that shares the cache with that one.

use super::features::Feature;
use super::ids::EntityId;
use super::lb_env::SCHED_LOAD_SCALE;
use super::{Cfs, rules};
use crate::classes::domains::DomainParams;
use crate::classes::{Pid, Rqs};
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuId, Evidence, Platform, Question, Rule};

impl Cfs {
    /// Implements `select_task_rq_fair` at a wakeup.
    #[inline]
    pub(super) fn select_for_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        sync: bool,
    ) -> CpuId {
        let chosen = self.affine_for_wakeup(rqs, platform, pid, sync);
        if !self.version.idle_sibling {
            return chosen;
        }
        let idle = idle_sibling(rqs, pid, chosen);
        if idle != chosen {
            platform.by_rule(Question::SelectCpu, idle, rules::IDLE_SIBLING);
        }
        idle
    }

    /// Returns the CPU where the task last ran, or the waker's if that does not upset the balance.
    #[inline]
    fn affine_for_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        sync: bool,
    ) -> CpuId {
        let (this, prev) = (rqs.this_cpu, rqs.cpu_of(pid));
        let mut by_rule = |cpu, rule| {
            platform.by_rule(Question::SelectCpu, cpu, rule);
            cpu
        };
        if !self.tunables.has(Feature::AffineWakeups) || !rqs.is_allowed(pid, this) {
            return by_rule(prev, rules::NOT_AFFINE);
        }
        if this == prev && self.groups.only_root() {
            // There is no choice, and there are no shares to bring up to date.
            return by_rule(prev, rules::WAKER_HERE);
        }
        let affine = rqs.domains.of(this).find(|&level| {
            let level = rqs.domains.level(level);
            level.params.wake_affine && level.share(this, prev)
        });
        let Some(level) = affine else {
            return by_rule(prev, rules::NO_AFFINE_DOMAIN);
        };
        if self.tunables.has(Feature::LbSharesUpdate) {
            self.update_shares(rqs, platform, level, this);
        }
        if this == prev {
            platform.by_rule(Question::SelectCpu, prev, rules::WAKER_HERE);
            return prev;
        }
        let loads = self.affine_loads(rqs, level, pid, sync);
        let rule = loads.wake_affine();
        let chosen = if rule == rules::PREVIOUS_CPU { prev } else { this };
        platform.because(Question::SelectCpu, chosen, rule, |out| loads.account(out));
        chosen
    }

    /// Returns the operands of `wake_affine`: the loads of the waker's CPU and of the previous one.
    fn affine_loads(&self, rqs: &Rqs, level: usize, pid: Pid, sync: bool) -> AffineLoads {
        let (this, prev) = (rqs.this_cpu, rqs.cpu_of(pid));
        let params = &rqs.domains.level(level).params;
        let index = params.wake_idx;
        let bias = self.tunables.has(Feature::LbBias);
        let mut load = self.cpu_loads.source_load(prev, index, bias);
        let mut this_load = self.cpu_loads.target_load(this, index, bias);
        let asym = self.tunables.has(Feature::AsymEffLoad);
        let e = self.entity_of(pid);
        let curr = rqs.curr(this);
        let sync = self.believes_sync(curr, e, sync && self.tunables.has(Feature::SyncWakeups));
        if sync && let Some(waker) = self.entity_if_any(curr) {
            // The waker is about to sleep: it is not counted.
            let group = self.group_of(waker);
            let weight = self.entities[waker].load.weight as i64;
            this_load = this_load
                .wrapping_add(self.effective_load(group, this, -weight, -weight, asym) as u64);
            load = load.wrapping_add(self.effective_load(group, prev, 0, -weight, asym) as u64);
        }
        let group = self.group_of(e);
        let weight = self.entities[e].load.weight as i64;
        let imbalance = 100 + (u64::from(params.imbalance_pct) - 100) / 2;
        let with =
            this_load.wrapping_add(self.effective_load(group, this, weight, weight, asym) as u64);
        let without = load.wrapping_add(self.effective_load(group, prev, 0, weight, asym) as u64);
        let is_balanced =
            this_load == 0 || with.wrapping_mul(100) <= without.wrapping_mul(imbalance);
        let is_light = !is_balanced
            && this_load <= load
            && this_load.wrapping_add(self.cpu_loads.target_load(prev, index, bias))
                <= self.cpu_avg_load_per_task(rqs, this);
        AffineLoads { this_load, load, with, without, imbalance, sync, is_balanced, is_light }
    }

    /// Whether a synchronous wakeup is treated as one. It is not if the waker or the woken task
    /// usually runs for long after a wakeup that it issued.
    fn believes_sync(&self, waker: Pid, woken: EntityId, sync: bool) -> bool {
        let overlaps = [self.entity_if_any(waker), Some(woken)]
            .map(|e| e.map_or(0, |e| self.entities[e].averages.avg_overlap as i64));
        let cost = self.tunables.migration_cost_ns;
        if sync {
            !(self.tunables.has(Feature::SyncLess)
                && overlaps.iter().any(|&overlap| overlap > cost))
        } else {
            self.tunables.has(Feature::SyncMore) && overlaps.iter().all(|&overlap| overlap < cost)
        }
    }

    /// Selects the CPU of a forked task.
    pub(super) fn select_for_fork(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
    ) -> CpuId {
        let this = rqs.this_cpu;
        let chosen = self.idlest(rqs, pid, this, |params| params.balance_fork);
        let rule = if chosen == this { rules::FORK_HERE } else { rules::FORK_IDLEST };
        platform.because(Question::SelectCpu, chosen, rule, |out| {
            self.account_of_fork(this, chosen, out);
        });
        chosen
    }

    /// Implements `select_task_rq_fair` at a fork or an exec on `this`: from the largest domain
    /// downward, selects the idlest group, and in it the idlest CPU. Domains without the flag are
    /// skipped.
    pub(super) fn idlest(
        &self,
        rqs: &Rqs,
        pid: Pid,
        this: CpuId,
        flag: impl Fn(&DomainParams) -> bool,
    ) -> CpuId {
        let mut cpu = this;
        let takes_part = |&level: &usize| flag(&rqs.domains.level(level).params);
        let smaller = |cpu, than| {
            rqs.domains.of(cpu).take_while(move |&level| level < than).filter(takes_part).last()
        };
        let mut level = rqs.domains.of(cpu).filter(takes_part).last();
        while let Some(number) = level {
            if let Some(group) = self.find_idlest_group(rqs, number, cpu, pid) {
                let cpus = rqs.domains.level(number).span(cpu).group(group);
                cpu = self.find_idlest_cpu(rqs, cpus, cpu, pid).unwrap_or(cpu);
            }
            level = smaller(cpu, number);
        }
        cpu
    }

    /// `find_idlest_group`: returns the least loaded other group of the domain, if it is much less
    /// loaded than the local group.
    fn find_idlest_group(&self, rqs: &Rqs, level: usize, cpu: CpuId, pid: Pid) -> Option<usize> {
        let domain = rqs.domains.level(level);
        let span = domain.span(cpu);
        let own = domain.group_of(cpu);
        let index = domain.params.forkexec_idx;
        let bias = self.tunables.has(Feature::LbBias);
        let load_of = |number: usize| {
            let cpus = span.group(number);
            if !cpus.iter().any(|&cpu| rqs.is_allowed(pid, cpu)) {
                return None;
            }
            let load = |cpu: &CpuId| {
                if number == own {
                    self.cpu_loads.source_load(*cpu, index, bias)
                } else {
                    self.cpu_loads.target_load(*cpu, index, bias)
                }
            };
            let power = self.cpu_power.of_group(level, cpus, number == own);
            Some(cpus.iter().map(load).sum::<u64>() * SCHED_LOAD_SCALE / power)
        };
        let own_load = load_of(own).unwrap_or(0);
        let others = (own + 1..span.groups.len()).chain(0..own);
        let is_plain = span.single_cpu_groups
            && self.cpu_power.is_uniform(level)
            && rqs.thread(pid).nr_cpus_allowed == rqs.cpus();
        let least =
            if is_plain {
                // Single CPUs of full power, all allowed: only the load of each counts.
                first_least(others.map(|number| {
                    (self.cpu_loads.target_load(span.cpus[number], index, bias), number)
                }))
            } else {
                first_least(others.filter_map(|number| Some((load_of(number)?, number))))
            };
        let imbalance = 100 + (u64::from(domain.params.imbalance_pct) - 100) / 2;
        least.filter(|&(load, _)| 100 * own_load >= imbalance * load).map(|(_, group)| group)
    }

    /// `find_idlest_cpu`: returns the allowed CPU of a group with the least load; among equals the
    /// current one, else the first.
    fn find_idlest_cpu(&self, rqs: &Rqs, cpus: &[CpuId], this: CpuId, pid: Pid) -> Option<CpuId> {
        let mut best: Option<(u64, CpuId)> = None;
        for &cpu in cpus {
            if !rqs.is_allowed(pid, cpu) {
                continue;
            }
            let load = self.cpu_loads.weighted_load(cpu);
            if best.is_none_or(|(least, _)| load < least || (load == least && cpu == this)) {
                best = Some((load, cpu));
            }
        }
        best.map(|(_, cpu)| cpu)
    }
}

/// `select_idle_sibling` (3.2): returns `cpu`, or if it is busy the first idle CPU that shares its
/// cache.
fn idle_sibling(rqs: &Rqs, pid: Pid, cpu: CpuId) -> CpuId {
    let is_idle = |cpu: CpuId| rqs.is_idle_thread(rqs.curr(cpu));
    if is_idle(cpu) {
        return cpu;
    }
    for level in rqs.domains.of(cpu) {
        let level = rqs.domains.level(level);
        if !matches!(level.kind, LevelKind::Smt | LevelKind::MultiCore) {
            break;
        }
        let cpus = &level.span(cpu).cpus;
        if let Some(&idle) = cpus.iter().find(|&&cpu| is_idle(cpu) && rqs.is_allowed(pid, cpu)) {
            return idle;
        }
    }
    cpu
}

/// The operands of `wake_affine`.
struct AffineLoads {
    /// The load of the waker's CPU; without the waker if the wakeup is treated as synchronous.
    this_load: u64,
    /// The load of the previous CPU.
    load: u64,
    /// The load of the waker's CPU including the task.
    with: u64,
    /// The load of the previous CPU that is compared with it.
    without: u64,
    /// Permitted load of the waker's CPU per 100 on the previous one.
    imbalance: u64,
    /// Whether the wakeup is treated as synchronous.
    sync: bool,
    /// Whether the balance is not upset by the task.
    is_balanced: bool,
    /// Whether the balance is upset, but both loads are light.
    is_light: bool,
}

impl AffineLoads {
    /// `wake_affine`: returns the rule by which the task moves to the waker's CPU;
    /// [`rules::PREVIOUS_CPU`] if it does not.
    #[inline]
    fn wake_affine(&self) -> Rule {
        if self.is_balanced {
            if self.sync {
                rules::AFFINE_SYNC
            } else if self.this_load == 0 {
                rules::AFFINE_IDLE
            } else {
                rules::AFFINE_BALANCED
            }
        } else if self.is_light {
            rules::AFFINE_LIGHT
        } else {
            rules::PREVIOUS_CPU
        }
    }

    /// Records the grounds.
    #[cold]
    #[inline(never)]
    fn account(&self, out: &mut Evidence) {
        out.term("this_load", self.this_load as i64)
            .term("load", self.load as i64)
            .term("this_load_with_task", self.with as i64)
            .term("load_compared", self.without as i64)
            .term("imbalance_pct", self.imbalance as i64)
            .term("sync", i64::from(self.sync));
    }
}

/// Returns the first of the items with the least load. No load is less than 0, so the search ends
/// at the first load of 0, and while there are idle CPUs a fork does not examine the whole machine.
fn first_least(loads: impl Iterator<Item = (u64, usize)>) -> Option<(u64, usize)> {
    let mut least: Option<(u64, usize)> = None;
    for (load, number) in loads {
        if least.is_none_or(|(least, _)| load < least) {
            least = Some((load, number));
            if load == 0 {
                break;
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Version, core_2_6};
    use crate::classes::rt::RtVersion;
    use crate::random::Random;
    use alloc::vec::Vec;
    use schedlab_core::BuildConfig;

    #[test]
    fn where_every_group_is_a_cpu_the_short_way_to_the_idlest_finds_what_the_long_one_finds() {
        const CPUS: u32 = 70;
        let mut random = Random(3);
        let config = BuildConfig::flat(CPUS, 1000);
        let mut list = core_2_6(Version::V2_6_32, RtVersion::V2_6_25, &config);
        let (rqs, fair) = (&mut list.core, &mut list.fair);
        let anywhere = rqs.idle_thread(CpuId(0));
        rqs.thread_mut(anywhere).nr_cpus_allowed = CPUS;
        let (mut left, mut stayed) = (0, 0);
        for round in 0..200 {
            // Forks that compare the current load or a decaying one; few or many loads, and all or
            // hardly any of them 0.
            let bound = 1 + round % 4;
            for cpu in (0..CPUS).map(CpuId) {
                let load = 1024 * (round % 3 + random.below(bound));
                fair.cpu_loads.set_weighted_load(cpu, load);
                let means = [0; 5].map(|_: u64| random.below(2) * random.below(1500));
                fair.cpu_loads.set_means(cpu, means);
            }
            for cpu in (0..CPUS).map(CpuId) {
                let short = fair.find_idlest_group(rqs, 0, cpu, anywhere);
                // As if some CPU had less power.
                let strong = fair.cpu_power.replace_weak_groups(0, 1);
                assert_eq!(
                    short,
                    fair.find_idlest_group(rqs, 0, cpu, anywhere),
                    "round {round}, {cpu:?}"
                );
                fair.cpu_power.replace_weak_groups(0, strong);
                left += u32::from(short.is_some());
                stayed += u32::from(short.is_none());
            }
        }
        assert!(left > 1_000 && stayed > 1_000, "{left} {stayed}");
    }

    #[test]
    fn the_shortened_search_for_the_least_load_finds_what_a_full_one_finds() {
        let mut random = Random(1);
        for round in 0..2_000 {
            // From hardly any idle CPU to many, and with all loads equal.
            let bound = 1 + round % 7;
            let loads: Vec<(u64, usize)> =
                (0..random.below(40) as usize).map(|cpu| (random.below(bound), cpu)).collect();
            // `min_by_key` takes the first among equals.
            let full = loads.iter().copied().min_by_key(|&(load, _)| load);
            assert_eq!(first_least(loads.iter().copied()), full, "{loads:?}");
        }
    }
}
