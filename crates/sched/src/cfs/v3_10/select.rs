//! The CPU of a woken, forked or executing task.

use super::super::ids::CfsRqId;
use super::super::rules;
use super::Cfs310;
use crate::classes::domains::DomainParams;
use crate::classes::{Pid, Rqs};
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuId, CpuSet, GroupId, Platform, Question, Rule};

/// `idle_cpu`: the idle thread runs, and nothing is queued.
pub(super) fn is_idle_cpu(rqs: &Rqs, cpu: CpuId) -> bool {
    rqs.is_idle_thread(rqs.curr(cpu)) && rqs.nr_running[cpu.index()] == 0
}

impl Cfs310 {
    /// `weighted_cpuload`.
    pub(super) fn load_of_cpu(&self, cpu: CpuId) -> u64 {
        self.weight_of(CfsRqId::root(cpu))
    }

    /// `cpu_avg_load_per_task`.
    pub(super) fn load_per_task(&self, rqs: &Rqs, cpu: CpuId) -> u64 {
        self.load_of_cpu(cpu).checked_div(u64::from(rqs.nr_running[cpu.index()])).unwrap_or(0)
    }

    /// `select_task_rq_fair` at a wakeup by `this` CPU.
    pub(super) fn select_for_wakeup(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
        sync: bool,
    ) -> CpuId {
        let (this, prev) = (rqs.this_cpu, rqs.cpu_of(pid));
        let (chosen, rule) = self.choose(rqs, pid, this, prev, sync);
        platform.by_rule(Question::SelectCpu, chosen, rule);
        chosen
    }

    fn choose(&self, rqs: &Rqs, pid: Pid, this: CpuId, prev: CpuId, sync: bool) -> (CpuId, Rule) {
        if rqs.thread(pid).nr_cpus_allowed == 1 || !rqs.is_allowed(pid, this) {
            return (prev, rules::NOT_AFFINE);
        }
        let affine = rqs.domains.of(this).find(|&level| {
            let level = rqs.domains.level(level);
            level.params.wake_affine && level.share(this, prev)
        });
        // Without domains, on a machine of one CPU, there is no choice.
        let Some(level) = affine else { return (prev, rules::NO_AFFINE_DOMAIN) };
        let (mut target, mut rule) = (prev, rules::WAKER_HERE);
        if this != prev {
            rule = self.wake_affine(rqs, level, pid, sync);
            if rule != rules::PREVIOUS_CPU {
                target = this;
            }
        }
        let chosen = self.idle_sibling(rqs, pid, target);
        (chosen, if chosen == target { rule } else { rules::IDLE_SIBLING })
    }

    /// `effective_load`: the change of the load of `cpu` if `own` weight joined `group` there, and
    /// `all` joined the group as a whole.
    fn effective_load(&self, group: GroupId, cpu: CpuId, own: i64, all: i64) -> i64 {
        let (mut own, mut all) = (own, all);
        let mut row = &self.base.groups[group];
        let mut group = group;
        while let Some(parent) = row.parent {
            let q = row.queue_on(cpu);
            let (total, load, weight) = q.map_or_else(
                || (self.group_avgs[group.index()].load, 0, 0),
                |q| {
                    let e = self.base.queues[q].entity;
                    let weight = e.map_or(0, |e| self.base.entities[e].load.weight);
                    (self.tg_weight(group, q), self.weight_of(q), weight)
                },
            );
            let total = all + total;
            let with = load as i64 + own;
            own = if total > 0 && with < total {
                with * row.shares as i64 / total
            } else {
                row.shares as i64
            };
            own = own.max(2) - weight as i64;
            all = 0;
            group = parent;
            row = &self.base.groups[parent];
        }
        own
    }

    /// `wake_affine`.
    fn wake_affine(&self, rqs: &Rqs, level: usize, pid: Pid, sync: bool) -> Rule {
        let (this, prev) = (rqs.this_cpu, rqs.cpu_of(pid));
        let mut load = self.load_of_cpu(prev) as i64;
        let mut this_load = self.load_of_cpu(this) as i64;
        if sync && let Some(waker) = self.entity_if_any(rqs.curr(this)) {
            let group = self.base.group_of(waker);
            let weight = self.base.entities[waker].load.weight as i64;
            this_load += self.effective_load(group, this, -weight, -weight);
            load += self.effective_load(group, prev, 0, -weight);
        }
        let e = self.base.entity_of(pid);
        let group = self.base.group_of(e);
        let weight = self.base.entities[e].load.weight as i64;
        let pct = i64::from(rqs.domains.level(level).params.imbalance_pct);
        let balanced = this_load <= 0 || {
            let power = |cpu: CpuId| self.cpus[cpu.index()].power as i64;
            let here =
                100 * power(prev) * (this_load + self.effective_load(group, this, weight, weight));
            let there = (100 + (pct - 100) / 2)
                * power(this)
                * (load + self.effective_load(group, prev, 0, weight));
            here <= there
        };
        if sync && balanced {
            return rules::AFFINE_SYNC;
        }
        if balanced {
            return rules::AFFINE_BALANCED;
        }
        let target = self.load_of_cpu(prev) as i64;
        if this_load <= load && this_load + target <= self.load_per_task(rqs, this) as i64 {
            return rules::AFFINE_LIGHT;
        }
        rules::PREVIOUS_CPU
    }

    /// The level of the largest domain of `cpu` that shares a cache.
    fn llc(rqs: &Rqs, cpu: CpuId) -> Option<usize> {
        let shares = |kind| matches!(kind, LevelKind::Smt | LevelKind::MultiCore);
        rqs.domains.of(cpu).rfind(|&level| shares(rqs.domains.level(level).kind))
    }

    /// `select_idle_sibling`.
    fn idle_sibling(&self, rqs: &Rqs, pid: Pid, target: CpuId) -> CpuId {
        if is_idle_cpu(rqs, target) {
            return target;
        }
        let prev = rqs.cpu_of(pid);
        let llc = Self::llc(rqs, target);
        let near = |cpu| llc.is_some_and(|level| rqs.domains.level(level).share(target, cpu));
        if prev != target && near(prev) && is_idle_cpu(rqs, prev) {
            return prev;
        }
        let Some(llc) = llc else { return target };
        for level in rqs.domains.of(target).rev().filter(|&level| level <= llc) {
            let domain = rqs.domains.level(level);
            let span = domain.span(target);
            let own = domain.group_of(target);
            for number in (own..span.groups.len()).chain(0..own) {
                let group = span.group(number);
                let usable = |&&cpu: &&CpuId| rqs.is_allowed(pid, cpu);
                let Some(&first) = group.iter().find(usable) else { continue };
                if group.iter().all(|&cpu| cpu != target && is_idle_cpu(rqs, cpu)) {
                    return first;
                }
            }
        }
        target
    }

    /// `select_task_rq_fair` at a fork or an exec on `this`.
    pub(super) fn idlest(
        &self,
        rqs: &Rqs,
        allowed: &CpuSet,
        this: CpuId,
        flag: impl Fn(&DomainParams) -> bool,
    ) -> CpuId {
        let mut cpu = this;
        let takes_part = |&level: &usize| flag(&rqs.domains.level(level).params);
        let mut level = rqs.domains.of(cpu).rfind(takes_part);
        while let Some(number) = level {
            if let Some(group) = self.idlest_group(rqs, number, cpu, allowed) {
                let cpus = rqs.domains.level(number).span(cpu).group(group);
                cpu = self.idlest_cpu(cpus, this, allowed).unwrap_or(cpu);
            }
            level = rqs.domains.of(cpu).rfind(|level| *level < number && takes_part(level));
        }
        cpu
    }

    fn idlest_group(&self, rqs: &Rqs, level: usize, cpu: CpuId, allowed: &CpuSet) -> Option<usize> {
        let domain = rqs.domains.level(level);
        let span = domain.span(cpu);
        let own = domain.group_of(cpu);
        let (mut own_load, mut least) = (0, None);
        for number in (own..span.groups.len()).chain(0..own) {
            let cpus = span.group(number);
            if !cpus.iter().any(|&cpu| allowed.contains(cpu)) {
                continue;
            }
            let load: u64 = cpus.iter().map(|&cpu| self.load_of_cpu(cpu)).sum();
            let load = load * 1024 / self.group_power(rqs, level, cpu, number);
            if number == own {
                own_load = load;
            } else if least.is_none_or(|(least, _)| load < least) {
                least = Some((load, number));
            }
        }
        let pct = 100 + (u64::from(domain.params.imbalance_pct) - 100) / 2;
        least.filter(|&(load, _)| 100 * own_load >= pct * load).map(|(_, number)| number)
    }

    fn idlest_cpu(&self, cpus: &[CpuId], this: CpuId, allowed: &CpuSet) -> Option<CpuId> {
        let mut best: Option<(u64, CpuId)> = None;
        for &cpu in cpus.iter().filter(|&&cpu| allowed.contains(cpu)) {
            let load = self.load_of_cpu(cpu);
            if best.is_none_or(|(least, _)| load < least || (load == least && cpu == this)) {
                best = Some((load, cpu));
            }
        }
        best.map(|(_, cpu)| cpu)
    }
}
