//! Load balancing: which group of a domain is busiest, and how much of what should be moved from
//! there.
//!
//! # The rules
//!
//! Each group is classified, from best to worst: it has **spare** capacity; it is **fully busy**;
//! it has a **misfit** task; it is a core whose threads share what one of them could have alone
//! (**smt**); it is **imbalanced**, because affinity has prevented balancing within it; it is
//! **overloaded**, with more tasks than CPUs and no time to spare. The worst group is the source.
//!
//! What is moved depends on both sides. A group with spare capacity evens out the *number of tasks*
//! or, if the other is overloaded and has another cache, fills itself up with *utilisation*. When
//! all are overloaded, *load* (weight times time) is evened out. Between nodes an imbalance of two
//! tasks is tolerated, so that they stay near their memory and near each other.

use super::class::Fair;
use super::domains::is_numa;
use super::ids::CfsRqId;
use super::lb_env::{CpuIdleType, LbEnv, MigrationType};
use super::lb_stats::{CAPACITY, GroupType, Stats, Survey};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::Rqs;
use crate::classes::domains::DomainLevel;
use schedlab_core::{CpuId, Platform};

/// The number of excess tasks that is tolerated between nodes.
const NUMA_IMBALANCE_MIN: u64 = 2;

/// The busiest group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Busiest {
    group: usize,
    stats: Stats,
}

impl<R: PickRule> Fair<R> {
    /// Statistics of these CPUs together. Excluded CPUs count as empty.
    fn sum_up(&self, rqs: &Rqs, cpus: &[CpuId]) -> Stats {
        Stats::sum_up(rqs, &self.cfs_rqs, &self.balance.dropped, cpus)
    }

    /// Brings the cache of all CPUs' statistics up to date.
    pub(super) fn refresh_lb_cache(&mut self, rqs: &mut Rqs) {
        self.lb_cache.refresh(rqs, &self.cfs_rqs, &self.balance.dropped);
    }

    /// `update_sg_lb_stats`: classifies the group with this number in the pass's domain, given its
    /// sums.
    fn class(
        &self,
        rqs: &Rqs,
        env: &LbEnv,
        level: &DomainLevel,
        group: usize,
        mut stats: Stats,
        is_local: bool,
    ) -> Stats {
        // A group has the flags of the domain below, as its own CPUs see it.
        let first = level.span(env.here).balancers(group)[0];
        let below = rqs.domains.child(first, env.level).map(|below| rqs.domains.level(below));
        if self.version.balances_cores() {
            stats.is_core = below.is_some_and(|below| below.params.share_cpupower);
            stats.prefers_sibling = below.is_some_and(|below| below.params.prefer_sibling);
        } else {
            // The own domain below is what counts.
            let below = rqs.domains.child(env.here, env.level);
            stats.prefers_sibling =
                below.is_some_and(|below| rqs.domains.level(below).params.prefer_sibling);
            stats.first_stays = true;
        }
        let mark = env.level + first.index() * rqs.domains.levels();
        let by_numbers = stats.type_by_numbers(level.params.imbalance_pct);
        stats.kind = if by_numbers == GroupType::Overloaded {
            GroupType::Overloaded
        } else if self.balance.imbalanced[mark] {
            GroupType::Imbalanced
        } else if !is_local
            && stats.is_core
            && env.why != CpuIdleType::NotIdle
            && stats.h_nr_runnable > 1
        {
            GroupType::SmtBalance
        } else if stats.misfit_load > 0 {
            GroupType::MisfitTask
        } else {
            by_numbers
        };
        stats
    }

    /// `sched_balance_find_src_group` and `sched_balance_find_src_rq`: the CPU to pull from. What
    /// to even out, and how much, is stored in the pass. `None`: the domain is balanced.
    pub(super) fn find_source(
        &mut self,
        rqs: &mut Rqs,
        platform: &Platform,
        env: &mut LbEnv,
    ) -> Option<CpuId> {
        if self.version.balances_by_load() {
            return self.find_source_by_load(rqs, platform, env);
        }
        self.refresh_lb_cache(rqs);
        self.update_group_capacity(rqs, platform, env);
        let rqs = &*rqs;
        let Survey { local, whole, busiest } =
            match self.lb_cache.knows(env.level) && !self.capacity.is_any_lost() {
                true => self.lb_cache.survey(env.here),
                false => self.survey(rqs, env),
            };
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        if rqs.domains.is_top(env.here, env.level) {
            self.balance.overloaded = whole.has_waiting;
        }
        // Tested by size, as in the kernel.
        let is_llc = self.caches.llc_size(&rqs.domains, env.here) as usize == span.cpus.len();
        if env.why != CpuIdleType::NewlyIdle && is_llc {
            let llc = self.caches.llc_id(env.here);
            self.balance.nr_idle_scan[llc] = idle_scan(
                span.cpus.len() as u64,
                whole.util,
                u64::from(level.params.imbalance_pct),
            );
        }
        let (group, stats) = busiest?;
        let busiest = Busiest { group, stats };
        let average = whole.avg_load();
        if !self.is_worth_while(rqs, env, &local, &busiest, average) {
            return None;
        }
        let (kind, imbalance) = self.calculate_imbalance(rqs, env, &local, &busiest, average)?;
        env.kind = kind;
        env.imbalance = imbalance as i64;
        self.busiest_queue(span.group(busiest.group), kind, imbalance, level.params.imbalance_pct)
    }

    /// Examines all groups of the pass's domain.
    pub(super) fn survey(&self, rqs: &Rqs, env: &LbEnv) -> Survey {
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        let groups = if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
        let own = level.group_of(env.here);
        let mut local = self.sum_up(rqs, span.group(own));
        self.note_lost(rqs, env, own, &mut local);
        let local = self.class(rqs, env, level, own, local, true);
        let mut whole = Stats::of_sums(0, 0, 0, false);
        whole.add(&local);
        let mut busiest: Option<(usize, Stats)> = None;
        // The ring of groups begins with the own one.
        for group in (own + 1..groups).chain(0..own) {
            let cpus = span.group(group);
            let mut stats = self.sum_up(rqs, cpus);
            self.note_lost(rqs, env, group, &mut stats);
            whole.add(&stats);
            if stats.h_nr_runnable == 0 {
                // The class of a group that has nothing to give is not needed.
                continue;
            }
            let stats = self.class(rqs, env, level, group, stats, false);
            if busiest.is_none_or(|(_, best)| stats.is_busier_than(&best)) {
                busiest = Some((group, stats));
            }
        }
        Survey { local, whole, busiest }
    }

    /// The decision of `sched_balance_find_src_group`.
    fn is_worth_while(
        &self,
        rqs: &Rqs,
        env: &LbEnv,
        local: &Stats,
        busiest: &Busiest,
        average: u64,
    ) -> bool {
        let pct = u64::from(rqs.domains.level(env.level).params.imbalance_pct);
        let (number, busiest) = (busiest.group, &busiest.stats);
        if matches!(busiest.kind, GroupType::Imbalanced | GroupType::MisfitTask) {
            return true;
        }
        if local.kind > busiest.kind {
            return false;
        }
        if local.kind == GroupType::Overloaded {
            let (own, other) = (local.avg_load(), busiest.avg_load());
            return own < other && own < average && 100 * other > pct * own;
        }
        if local.kind == GroupType::HasSpare
            && busiest.prefers_sibling
            && self.sibling_imbalance(rqs, env, local, number, busiest) > 1
        {
            return true;
        }
        busiest.kind == GroupType::Overloaded
            || (env.why != CpuIdleType::NotIdle
                && ((busiest.kind == GroupType::SmtBalance && local.is_core != busiest.is_core)
                    || ((busiest.weight == 1 || local.idle_cpus > busiest.idle_cpus + 1)
                        && busiest.h_nr_runnable > 1)))
    }

    /// `calculate_imbalance`: what to move, and how much of it. `None`: nothing.
    fn calculate_imbalance(
        &self,
        rqs: &Rqs,
        env: &LbEnv,
        local: &Stats,
        busiest: &Busiest,
        average: u64,
    ) -> Option<(MigrationType, u64)> {
        let (number, busiest) = (busiest.group, &busiest.stats);
        if matches!(busiest.kind, GroupType::SmtBalance | GroupType::Imbalanced) {
            return Some((MigrationType::Task, 1));
        }
        if busiest.kind == GroupType::MisfitTask {
            return Some((MigrationType::Load, busiest.misfit_load));
        }
        if local.kind == GroupType::HasSpare {
            if busiest.kind == GroupType::Overloaded
                && self.caches.llc_level(env.here) < Some(env.level)
            {
                let room = local.capacity().saturating_sub(local.util);
                return match room {
                    0 => (env.why != CpuIdleType::NotIdle).then_some((MigrationType::Task, 1)),
                    room => Some((MigrationType::Util, room)),
                };
            }
            if !self.version.balances_cores() {
                return self.tasks_of_6_1(rqs, env, local, busiest);
            }
            let mut tasks = if busiest.weight == 1 || busiest.prefers_sibling {
                self.sibling_imbalance(rqs, env, local, number, busiest)
            } else {
                local.idle_cpus.saturating_sub(busiest.idle_cpus)
            };
            if is_numa(rqs.domains.level(env.level).kind) {
                let allowed = self.caches.numa_imbalance(&rqs.domains, env.level, env.here);
                tasks = adjust_numa_imbalance(tasks, local.nr_running + 1, allowed);
            }
            return (tasks > 1).then_some((MigrationType::Task, tasks / 2));
        }
        let (own, other) = (local.avg_load(), busiest.known_load());
        if own >= other || (own >= average && !self.version.takes_load_above_average()) {
            return None;
        }
        // Unsigned: when the busiest group is below the average, the first difference wraps, and
        // the second one counts.
        let out = other.wrapping_sub(average).wrapping_mul(busiest.capacity());
        let into = average.wrapping_sub(own).wrapping_mul(local.capacity());
        let load = out.min(into) / CAPACITY;
        (load > 0).then_some((MigrationType::Load, load))
    }

    /// Up to 6.1: number of tasks to move to the own group, which has spare capacity. Idle CPUs are
    /// subtracted in 32 bits. If the busiest group has more of them, which happens when the own CPU
    /// is only about to go idle, the result is some 2^32 minus the difference.
    fn tasks_of_6_1(
        &self,
        rqs: &Rqs,
        env: &LbEnv,
        local: &Stats,
        busiest: &Stats,
    ) -> Option<(MigrationType, u64)> {
        let mut tasks = if busiest.weight == 1 || busiest.prefers_sibling {
            busiest.nr_running.saturating_sub(local.nr_running) as i64
        } else {
            i64::from((local.idle_cpus as u32).wrapping_sub(busiest.idle_cpus as u32))
        };
        if self.version.nodes_keep_a_quarter() {
            let half = (tasks as u64) >> 1;
            let few = is_numa(rqs.domains.level(env.level).kind)
                && local.nr_running + 1 < local.weight >> 2
                && half <= NUMA_IMBALANCE_MIN;
            return (half != 0 && !few).then_some((MigrationType::Task, half));
        }
        if self.version.nodes_keep_busiest_quarter() {
            let half = (tasks as u64) >> 1;
            let few = is_numa(rqs.domains.level(env.level).kind)
                && busiest.nr_running < busiest.weight >> 2
                && half <= NUMA_IMBALANCE_MIN;
            return (half != 0 && !few).then_some((MigrationType::Task, half));
        }
        if is_numa(rqs.domains.level(env.level).kind) {
            let allowed = self.caches.numa_imbalance(&rqs.domains, env.level, env.here);
            // From here on the number is signed.
            tasks = i64::from(tasks as i32);
            let few = match self.version.balances_before_5_12() {
                true => busiest.nr_running <= NUMA_IMBALANCE_MIN,
                false => local.nr_running < allowed && tasks <= NUMA_IMBALANCE_MIN as i64,
            };
            if few {
                tasks = 0;
            }
        }
        let half = tasks >> 1;
        (half != 0).then_some((MigrationType::Task, half as u64))
    }

    /// `sibling_imbalance`: the number of tasks that the busiest group has in excess of the own
    /// one, as if both had the same number of cores.
    fn sibling_imbalance(
        &self,
        rqs: &Rqs,
        env: &LbEnv,
        local: &Stats,
        number: usize,
        busiest: &Stats,
    ) -> u64 {
        if !self.version.balances_cores() {
            return busiest.nr_running.saturating_sub(local.nr_running);
        }
        if env.why == CpuIdleType::NotIdle || busiest.nr_running == 0 {
            return 0;
        }
        let level = rqs.domains.level(env.level);
        let cores =
            |group: usize| self.caches.cores(&rqs.domains, level.span(env.here).group(group));
        let (own, other) = if self.caches.has_smt() || local.weight != busiest.weight {
            (cores(level.group_of(env.here)), cores(number))
        } else {
            (1, 1)
        };
        if own == other {
            return busiest.nr_running.saturating_sub(local.nr_running);
        }
        let more = (own * busiest.nr_running).saturating_sub(other * local.nr_running);
        let tasks = (2 * more + own + other) / (own + other);
        // An empty group may always take one of several tasks.
        if tasks <= 1 && local.nr_running == 0 && busiest.nr_running > 1 { 2 } else { tasks }
    }

    /// `sched_balance_find_src_rq`: the busiest CPU of the group.
    fn busiest_queue(
        &self,
        group: &[CpuId],
        kind: MigrationType,
        imbalance: u64,
        pct: u32,
    ) -> Option<CpuId> {
        let mut best = (0, None);
        // Loads are compared relative to the capacities.
        let mut best_capacity = 1;
        for &cpu in group.iter().filter(|cpu| !self.balance.dropped[cpu.index()]) {
            let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
            let tasks = u64::from(queue.h_nr_runnable);
            let measure = match kind {
                MigrationType::Task => tasks,
                // A CPU's only task is not moved if its load exceeds the amount to move.
                MigrationType::Load
                    if tasks == 1
                        && queue.avg.load_avg > imbalance
                        && !self.capacity.is_reduced(cpu, pct) =>
                {
                    0
                }
                MigrationType::Util if tasks == 1 => 0,
                MigrationType::Load => queue.avg.load_avg,
                // Waiting tasks count like running ones.
                MigrationType::Util if self.version.waiting_is_utilisation() => {
                    queue.cpu_util().max(queue.avg.runnable_avg).min(CAPACITY)
                }
                MigrationType::Util => queue.cpu_util(),
            };
            let capacity = if kind == MigrationType::Load { self.capacity.of(cpu) } else { 1 };
            if tasks > 0 && measure * best_capacity > best.0 * capacity {
                best = (measure, Some(cpu));
                best_capacity = capacity;
            }
        }
        best.1
    }
}

/// `adjust_numa_imbalance`: how much of an imbalance between nodes counts when the own node has
/// `running` tasks. As long as it has few, an excess of two tasks does not count.
pub(super) fn adjust_numa_imbalance(imbalance: u64, running: u64, allowed: u64) -> u64 {
    if running <= allowed && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}

/// `update_idle_cpu_scan`: the number of CPUs worth examining in a search for an idle one. It
/// shrinks as they get busier.
fn idle_scan(cpus: u64, total_util: u64, pct: u64) -> u32 {
    let mean = total_util / cpus;
    let busy = (mean * mean * pct * pct / (10_000 * 1024)).min(1024);
    ((1024 - busy) * cpus / 1024) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair_6::eevdf::tests::scramble;
    use crate::fair_6::eevdf::{EarliestDeadline, Eevdf, Version};
    use crate::random::Random;
    use alloc::vec::Vec;
    use schedlab_core::BuildConfig;
    use schedlab_core::topology::{Place, Topology};

    /// The plain way: every group is summed up and classified, even if it is empty. Then the groups
    /// that have tasks to give are compared.
    fn full_survey(fair: &Fair<EarliestDeadline>, rqs: &Rqs, env: &LbEnv) -> Survey {
        let level = rqs.domains.level(env.level);
        let span = level.span(env.here);
        let (own, groups) = (level.group_of(env.here), span.groups.len());
        let classed: Vec<Stats> = (0..groups)
            .map(|group| {
                let stats = fair.sum_up(rqs, &span.groups[group]);
                fair.class(rqs, env, level, group, stats, group == own)
            })
            .collect();
        let sum = |of: fn(&Stats) -> u64| classed.iter().map(of).sum::<u64>();
        let whole = Stats::of_sums(
            span.cpus.len() as u64,
            sum(|group| group.load),
            sum(|group| group.util),
            span.cpus
                .iter()
                .any(|cpu| rqs.nr_running[cpu.index()] > 1 && !fair.balance.dropped[cpu.index()]),
        );
        let mut busiest: Option<(usize, Stats)> = None;
        for group in (1..groups).map(|step| (own + step) % groups) {
            let stats = classed[group];
            let is_better = busiest.is_none_or(|(_, best)| stats.is_busier_than(&best));
            if is_better && stats.h_nr_runnable > 0 {
                busiest = Some((group, stats));
            }
        }
        Survey { local: classed[own], whole, busiest }
    }

    #[test]
    fn classing_only_groups_that_have_something_to_give_finds_what_classing_all_finds() {
        // Two nodes of two caches of three cores of two threads; and single CPUs.
        let place =
            |cpu: u32| Place { core: cpu / 2, cache: cpu / 6, package: cpu / 12, node: cpu / 12 };
        let nested = Topology::new((0..24).map(place).collect(), &[]).unwrap();
        let mut random = Random(7);
        let (mut found, mut empty, mut kinds_found) = (0, 0, [0; 6]);
        for topology in [nested, Topology::flat(24)] {
            let Eevdf { core: rqs, fair, .. } =
                &mut Eevdf::new(Version::V6_18, &BuildConfig { topology, hz: 1000 });
            for round in 0..400 {
                for _ in 0..1 + random.below(24) {
                    let cpu = CpuId(random.below(24) as u32);
                    scramble(fair, rqs, &mut random, cpu, 1 + round % 5);
                }
                let levels = rqs.domains.levels();
                let marks = fair.balance.imbalanced.iter_mut();
                marks.for_each(|mark| *mark = levels > 1 && random.below(12) == 0);
                fair.balance
                    .dropped
                    .iter_mut()
                    .for_each(|dropped| *dropped = random.below(10) == 0);
                let why = [CpuIdleType::NotIdle, CpuIdleType::Idle, CpuIdleType::NewlyIdle]
                    [round as usize % 3];
                for here in (0..24).map(CpuId) {
                    for level in rqs.domains.of(here) {
                        let env = LbEnv::new(here, level, why);
                        let short = fair.survey(rqs, &env);
                        assert_eq!(short, full_survey(fair, rqs, &env), "round {round}, {env:?}");
                        found += u32::from(short.busiest.is_some());
                        empty += u32::from(short.busiest.is_none());
                        if let Some((_, stats)) = short.busiest {
                            kinds_found[stats.kind as usize] += 1;
                        }
                    }
                }
            }
        }
        // (No CPU lacks capacity here.)
        kinds_found[GroupType::MisfitTask as usize] += 101;
        assert!(
            found > 10_000 && empty > 500 && kinds_found.iter().all(|&n| n > 100),
            "{found} {empty} {kinds_found:?}"
        );
    }

    /// Two nodes of four CPUs with a cache each. Returns the scheduler, and a pass of the idle CPU
    /// 0 over the nodes.
    fn two_nodes() -> (Eevdf, LbEnv) {
        let place = |cpu: u32| Place { core: cpu, cache: cpu / 4, package: cpu / 4, node: cpu / 4 };
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        let sched = Eevdf::new(Version::V6_18, &BuildConfig { topology, hz: 1000 });
        let top = sched.core.domains.of(CpuId(0)).last().unwrap();
        (sched, LbEnv::new(CpuId(0), top, CpuIdleType::Idle))
    }

    #[test]
    fn siblings_even_out_two_tasks_if_the_own_one_has_spare_capacity() {
        let (Eevdf { core: rqs, fair, .. }, env) = two_nodes();
        let stats = |kind, nr_running, idle_cpus, prefers_sibling| Stats {
            kind,
            nr_running,
            h_nr_runnable: nr_running,
            idle_cpus,
            prefers_sibling,
            weight: 4,
            ..Stats::default()
        };
        let is_worth = |kind, own, other, prefers_sibling| {
            let local = stats(kind, own, 4 - own.min(4), prefers_sibling);
            // With one idle CPU less than the own group, if possible: that alone is no reason.
            let idle = local.idle_cpus.saturating_sub(1);
            let busiest = Busiest { group: 1, stats: stats(kind, other, idle, prefers_sibling) };
            fair.is_worth_while(&rqs, &env, &local, &busiest, 0)
        };
        use GroupType::{FullyBusy, HasSpare};
        assert!(is_worth(HasSpare, 2, 4, true));
        assert!(!is_worth(HasSpare, 2, 3, true), "one more is not enough");
        assert!(!is_worth(HasSpare, 2, 4, false), "these groups need not be even");
        assert!(!is_worth(FullyBusy, 4, 6, true), "nothing to spare");
    }

    /// The own group has four CPUs and a load of 500 a CPU, the other group two and 1500. The
    /// average is 1000. The other group has 2 x 500 too much, the own one lacks 4 x 500: 1000 are
    /// moved.
    #[test]
    fn the_load_to_move_is_what_one_has_too_much_or_the_other_lacks() {
        let (Eevdf { core: rqs, fair, .. }, env) = two_nodes();
        let group = |weight, avg_load| Stats {
            kind: GroupType::Overloaded,
            weight,
            load: weight * avg_load,
            ..Stats::default()
        };
        let moved = |local: Stats, stats: Stats| {
            let busiest = Busiest { group: 1, stats };
            fair.calculate_imbalance(&rqs, &env, &local, &busiest, 1000)
        };
        let load = |amount| Some((MigrationType::Load, amount));
        assert_eq!(moved(group(4, 500), group(2, 1500)), load(1000));
        assert_eq!(moved(group(2, 500), group(4, 1500)), load(1000));
        assert_eq!(moved(group(4, 900), group(4, 1500)), load(400));
        assert_eq!(moved(group(4, 1000), group(4, 1500)), None);
    }

    /// Two caches in a package, of two and of four cores. The own one, of two, runs one task and
    /// the other one six: 2 x 6 - 4 x 1 = 8 too many, multiplied by both numbers of cores, of which
    /// 8 / 3 = 2.67, rounded 3, count.
    #[test]
    fn siblings_of_other_sizes_are_compared_by_their_cores() {
        let place = |cpu: u32| Place { core: cpu, cache: cpu.min(2) / 2, package: 0, node: 0 };
        let topology = Topology::new((0..6).map(place).collect(), &[]).unwrap();
        let sched = Eevdf::new(Version::V6_18, &BuildConfig { topology, hz: 1000 });
        let Eevdf { core: rqs, fair, .. } = &sched;
        let top = rqs.domains.of(CpuId(0)).last().unwrap();
        let env = LbEnv::new(CpuId(0), top, CpuIdleType::Idle);
        let stats = |weight, nr_running| Stats { weight, nr_running, ..Stats::default() };
        let tasks =
            |own, other| fair.sibling_imbalance(rqs, &env, &stats(2, own), 1, &stats(4, other));
        assert_eq!(tasks(1, 6), 3);
        assert_eq!(tasks(1, 2), 1, "no excess, rounded up");
        assert_eq!(tasks(0, 2), 2, "two, because the own group has none");
        assert_eq!(tasks(0, 1), 1);
    }
}
