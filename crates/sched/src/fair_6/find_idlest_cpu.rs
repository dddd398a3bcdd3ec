//! Where a child starts, and where a task continues that executes another program: down the domains
//! from the largest, in each to the idlest group.
//!
//! This is the slow way of choosing a CPU. It examines every CPU of the machine, and so distributes
//! tasks to nodes first, then to caches, cores and threads. Wakeups take the fast way
//! ([`select_task_rq`](super::select_task_rq)).

use super::class::Fair;
use super::domains::is_numa;
use super::find_busiest_group::adjust_numa_imbalance;
use super::ids::CfsRqId;
use super::lb_stats::{CAPACITY, GroupType, Stats, is_idle_cpu};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use super::rules;
use crate::classes::core_6::rules as core_rules;
use crate::classes::{Pid, Rqs};
use core::cmp::Reverse;
use schedlab_core::{CpuId, CpuSet, Rule};

/// The load of one nice-0 task that always runs.
const NICE_0_LOAD: u64 = 1024;

/// A running task that executes another program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Execs {
    /// The task.
    pub task: Pid,
    /// Its contribution to its CPU's load.
    pub h_load: u64,
}

impl<R: PickRule> Fair<R> {
    /// `select_task_rq_fair` at a fork by a parent on `this`, or at an exec by `execs`, which runs
    /// there (`sched_balance_find_dst_cpu`). Also returns the rule that decided.
    pub(super) fn find_dst_cpu(
        &mut self,
        rqs: &mut Rqs,
        allowed: &CpuSet,
        this: CpuId,
        execs: Option<Execs>,
    ) -> (CpuId, Rule) {
        if !self.version.balances_by_load() {
            self.refresh_lb_cache(rqs);
        }
        let rqs = &*rqs;
        let domains = &rqs.domains;
        // (A domain that is for forks is for execs, too.)
        let takes_part = |level: &usize| domains.level(*level).params.balance_fork;
        // Up to the first domain that is not for forks.
        let mut level = domains.of(this).take_while(takes_part).last();
        let mut cpu = this;
        while let Some(at) = level {
            let found = if self.version.balances_by_load() {
                let found = self.least_loaded_group(rqs, allowed, cpu, at, execs);
                found.map(|group| self.least_loaded_cpu(rqs, allowed, group, cpu))
            } else {
                let found = self.idlest_group(rqs, allowed, cpu, at, execs);
                found.and_then(|group| self.idlest_cpu(rqs, allowed, group))
            };
            level = match found {
                Some(better) if better != cpu => {
                    cpu = better;
                    let size = |level: usize| domains.level(level).span(cpu).cpus.len();
                    let smaller =
                        domains.of(cpu).take_while(|&level| level < at && size(level) < size(at));
                    smaller.filter(takes_part).last()
                }
                _ => domains.child(cpu, at),
            };
        }
        if allowed.contains(cpu) {
            let rule = if cpu == this { rules::FORK_LOCAL } else { rules::FORK_IDLEST };
            return (cpu, rule);
        }
        (allowed.first(self.cpus).unwrap_or(this), core_rules::AFFINITY_FORCED)
    }

    /// `sched_balance_find_dst_group`: a group of the domain that is idler than the own group of
    /// `cpu` by a sufficient margin. The contribution of `execs` to its present CPU does not count.
    /// `None`: it is best to stay.
    pub(super) fn idlest_group<'a>(
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
        let own = level.group_of(cpu);
        let pct = level.params.imbalance_pct;
        let survey = |group: usize| -> Option<Stats> {
            let cpus = span.group(group);
            let usable = cpus.iter().any(|&cpu| allowed.contains(cpu));
            usable.then(|| {
                let all = self.version.forks_count_forbidden_cpus();
                let mut stats =
                    Stats::sum_of(rqs, &self.cfs_rqs, cpus, |cpu| all || allowed.contains(cpu));
                if let Some(execs) = execs
                    && cpus.contains(&rqs.cpu_of(execs.task))
                    && (all || allowed.contains(rqs.cpu_of(execs.task)))
                {
                    self.take_out(rqs, execs, &mut stats);
                }
                if self.capacity.is_any_lost() {
                    stats.lost = self.capacity.lost_of_group(number, span.balancers(group));
                }
                stats.kind = stats.type_by_numbers(pct);
                let mark = number + span.balancers(group)[0].index() * rqs.domains.levels();
                if stats.kind != GroupType::Overloaded && self.balance.imbalanced[mark] {
                    stats.kind = GroupType::Imbalanced;
                }
                stats
            })
        };
        if self.lb_cache.knows(number)
            && !self.capacity.is_any_lost()
            && allowed.count(self.cpus) == self.cpus
            && execs.is_none_or(|execs| rqs.cpu_of(execs.task) == cpu)
        {
            let idlest = self.lb_cache.idlest(cpu)?;
            let there = self.lb_cache.row(idlest);
            let own = execs.and_then(|_| survey(own));
            let here = own.as_ref().unwrap_or(self.lb_cache.row(cpu));
            return is_worth_going(here, there, u64::from(pct), None)
                .then(|| span.group(idlest.index()));
        }
        let mut idlest: Option<(usize, Stats)> = None;
        for group in (own + 1..groups).chain(0..own) {
            if let (Some((_, best)), &[cpu]) = (&idlest, span.group(group))
                && best.no_cpu_of_util_is_idler(self.cfs_rqs[CfsRqId::of_cpu(cpu)].cpu_util())
            {
                // Its other properties do not matter.
                continue;
            }
            if let Some(stats) = survey(group)
                && idlest.is_none_or(|(_, best)| stats.is_idler_than(&best))
            {
                idlest = Some((group, stats));
            }
        }
        let (group, there) = idlest?;
        let worth = survey(own).is_none_or(|here| {
            let mut allowed_imbalance = None;
            if is_numa(level.kind)
                && self.version.nodes_keep_a_quarter()
                && (here.kind, there.kind) == (GroupType::HasSpare, GroupType::HasSpare)
            {
                if here.nr_running + 1 < here.weight >> 2 {
                    return false;
                }
            } else if is_numa(level.kind) && self.version.nodes_keep_busiest_quarter() {
                let has_spare =
                    (here.kind, there.kind) == (GroupType::HasSpare, GroupType::HasSpare);
                if has_spare && here.nr_running < span.cpus.len() as u64 >> 2 {
                    return false;
                }
                // Nothing else keeps it.
                allowed_imbalance = Some(0);
            } else if is_numa(level.kind) {
                let usable = span.group(own).iter().filter(|&&cpu| allowed.contains(cpu)).count();
                let few = self.caches.numa_imbalance(&rqs.domains, number, cpu);
                allowed_imbalance = Some(few.min(usable as u64));
            }
            is_worth_going(&here, &there, u64::from(pct), allowed_imbalance)
        });
        worth.then(|| span.group(group))
    }

    /// Subtracts the contribution of a running task from the sums over CPUs that include its own.
    fn take_out(&self, rqs: &Rqs, Execs { task, h_load }: Execs, stats: &mut Stats) {
        let cpu = rqs.cpu_of(task);
        let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
        let info = &self.info[self.se_of(task)];
        let avg = &info.avg;
        let less = |sum: &mut u64, whole: u64, part: u64| *sum -= part.min(whole).min(*sum);
        if avg.last_update_time != 0 {
            less(&mut stats.load, queue.avg.load_avg, h_load);
            less(&mut stats.runnable, queue.avg.runnable_avg, avg.runnable_avg);
            let util = queue.avg.util_avg.saturating_sub(avg.util_avg);
            let util_est = queue.util_est.saturating_sub(u64::from(info.util_est));
            let util = util.max(util_est).min(CAPACITY);
            stats.util = stats.util - queue.cpu_util() + util;
        }
        // A task whose group has just been throttled still runs, but is no longer counted.
        stats.nr_running = stats.nr_running.saturating_sub(1);
        stats.h_nr_runnable = stats.h_nr_runnable.saturating_sub(1);
        stats.idle_cpus += u64::from(rqs.nr_running[cpu.index()] == 1);
    }

    /// `sched_balance_find_dst_group_cpu`: among these CPUs one with `SCHED_IDLE` tasks only; else
    /// the one that went idle most recently; else the busy one with the smallest load. An idle CPU
    /// that has been woken since it ran out of work is skipped.
    fn idlest_cpu(&self, rqs: &Rqs, allowed: &CpuSet, group: &[CpuId]) -> Option<CpuId> {
        if let &[only] = group {
            return Some(only);
        }
        let usable = || group.iter().copied().filter(|&cpu| allowed.contains(cpu));
        if let Some(cpu) = usable().find(|&cpu| self.is_sched_idle_rq(rqs, cpu)) {
            return Some(cpu);
        }
        let since = |cpu: &CpuId| self.balance.idle_since_ns[cpu.index()];
        let idle = usable().filter(|cpu| is_idle_cpu(rqs, *cpu) && since(cpu) != 0);
        let busy = usable().filter(|&cpu| !is_idle_cpu(rqs, cpu));
        let load = |cpu: &CpuId| self.cfs_rqs[CfsRqId::of_cpu(*cpu)].avg.load_avg;
        idle.min_by_key(|cpu| Reverse(since(cpu))).or_else(|| busy.min_by_key(load))
    }
}

/// Whether a child is better off in the group `there` than `here`. `numa`: they are nodes, and this
/// is the number of tasks that may stay together.
fn is_worth_going(here: &Stats, there: &Stats, pct: u64, numa: Option<u64>) -> bool {
    if here.kind != there.kind {
        return here.kind > there.kind;
    }
    match here.kind {
        GroupType::Overloaded | GroupType::FullyBusy => {
            let margin = NICE_0_LOAD * (pct - 100) / 100;
            let (own, other) = (here.avg_load(), there.avg_load());
            (numa.is_none() || other + margin < own)
                && other < own + margin
                && 100 * own > pct * other
        }
        GroupType::Imbalanced | GroupType::SmtBalance | GroupType::MisfitTask => false,
        GroupType::HasSpare => {
            if let Some(allowed) = numa {
                let imbalance = here.idle_cpus.abs_diff(there.idle_cpus);
                if adjust_numa_imbalance(imbalance, here.nr_running + 1, allowed) == 0 {
                    return false;
                }
            }
            there.idle_cpus > here.idle_cpus
        }
    }
}

impl Stats {
    /// Whether a single CPU of this utilisation, whatever its other values, cannot be
    /// [idler](Stats::is_idler_than) than this group. As this group has spare capacity and an idle
    /// CPU, the CPU would have to be less utilised.
    fn no_cpu_of_util_is_idler(&self, util: u64) -> bool {
        self.kind == GroupType::HasSpare && self.idle_cpus > 0 && util >= self.util
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::core_6::Core6;
    use crate::fair_6::cfs::{self, Cfs6};
    use crate::fair_6::eevdf::{self, Eevdf};
    use crate::random::Random;
    use alloc::vec::Vec;
    use schedlab_core::BuildConfig;
    use schedlab_core::topology::{Place, Topology};

    /// Two caches of two CPUs. CPU 0 forks. CPU 1 and CPU 2 are idle. CPU 3 has three tasks. The
    /// child may run on CPU 0 and 2.
    fn child_of_a_task_with_affinity<R: PickRule>(sched: &mut Core6<Fair<R>>) -> CpuId {
        let Core6 { core: rqs, fair, .. } = sched;
        for (cpu, tasks) in [(0, 1), (3, 3)] {
            fair.count_running(rqs, CpuId(cpu), tasks);
            fair.cfs_rqs[CfsRqId::of_cpu(CpuId(cpu))].h_nr_runnable = tasks;
        }
        let allowed = CpuSet::from_cpus([CpuId(0), CpuId(2)]);
        fair.find_dst_cpu(rqs, &allowed, CpuId(0), None).0
    }

    #[test]
    fn forks_of_6_1_count_what_the_child_may_use_and_those_of_6_18_all() {
        let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: 0, node: 0 };
        let topology = Topology::new((0..4).map(place).collect(), &[]).unwrap();
        let config = BuildConfig { topology, ..BuildConfig::flat(4, 1000) };
        // One idle CPU in each cache, or none in the own one.
        let of_6_18 = &mut Eevdf::new(eevdf::Version::V6_18, &config);
        assert_eq!(child_of_a_task_with_affinity(of_6_18), CpuId(0));
        let of_6_1 = &mut Cfs6::with_version(cfs::Version::V6_1, &config);
        assert_eq!(child_of_a_task_with_affinity(of_6_1), CpuId(2));
    }

    fn busy(kind: GroupType, load: u64) -> Stats {
        Stats { kind, load, weight: 1, ..Stats::default() }
    }

    #[test]
    fn a_child_leaves_a_busy_group_only_for_one_that_is_clearly_idler() {
        use GroupType::{FullyBusy, HasSpare, Imbalanced, Overloaded};
        // The margin is 1024 x 17 / 100 = 174.
        let goes = |own, other, numa| {
            is_worth_going(&busy(Overloaded, own), &busy(Overloaded, other), 117, numa)
        };
        assert!(goes(1000, 854, None) && !goes(1000, 855, None), "100 x own > 117 x other");
        assert!(!goes(900, 1074, None), "own + margin is too much");
        assert!(
            goes(1000, 825, Some(1)) && !goes(1000, 826, Some(1)),
            "leaving a node requires more"
        );
        let kinds = |own, other| is_worth_going(&busy(own, 0), &busy(other, 0), 117, None);
        assert!(kinds(FullyBusy, HasSpare) && !kinds(HasSpare, FullyBusy));
        assert!(!kinds(Imbalanced, Imbalanced));
    }

    #[test]
    fn a_child_stays_in_a_node_that_has_few_tasks() {
        let spare =
            |idle_cpus, nr_running| Stats { idle_cpus, nr_running, weight: 4, ..Stats::default() };
        let goes = |own, numa| is_worth_going(&own, &spare(4, 0), 117, numa);
        // One more task than it has is still within what it may keep, and two more idle CPUs are
        // few.
        assert!(!goes(spare(2, 1), Some(2)) && goes(spare(1, 1), Some(2)));
        assert!(goes(spare(2, 2), Some(2)) && goes(spare(3, 1), None));
        assert!(!goes(spare(4, 0), None));
    }

    #[test]
    fn a_cpu_that_is_passed_over_for_its_utilisation_would_not_have_been_chosen() {
        let mut random = Random(1);
        let mut passed_over = 0;
        for _ in 0..2_000 {
            let mut cpu = || {
                let nr_running = random.below(3);
                let mut stats = Stats {
                    weight: 1,
                    load: random.below(2048),
                    util: random.below(3) * random.below(512),
                    runnable: random.below(2) * random.below(2048),
                    nr_running,
                    h_nr_runnable: nr_running,
                    idle_cpus: u64::from(nr_running == 0),
                    ..Stats::default()
                };
                stats.kind = stats.type_by_numbers(117);
                stats
            };
            let cpus: Vec<Stats> = (0..8).map(|_| cpu()).collect();
            let search = |shortened: bool| {
                let mut found: Option<(usize, Stats)> = None;
                let mut skipped = 0;
                for (number, stats) in cpus.iter().enumerate() {
                    if shortened
                        && found.is_some_and(|(_, best)| best.no_cpu_of_util_is_idler(stats.util))
                    {
                        skipped += 1;
                    } else if found.is_none_or(|(_, best)| stats.is_idler_than(&best)) {
                        found = Some((number, *stats));
                    }
                }
                (found.map(|(number, _)| number), skipped)
            };
            let (found, skipped) = search(true);
            assert_eq!(found, search(false).0, "{cpus:?}");
            passed_over += skipped;
        }
        assert!(passed_over > 1_000, "{passed_over}");
    }

    /// Three nodes of two CPUs in a row. From CPU 0, whose largest domain has all six, a child goes
    /// to the idlest CPU of nodes 1 and 2: CPU 2, which is idle next to a crowded CPU 3. The domain
    /// of CPU 2 that has all six is not searched again, although node 2 is entirely idle: the next
    /// one has fewer CPUs, 2 and 3.
    #[test]
    fn a_search_goes_on_in_a_domain_of_fewer_cpus() {
        let distances = [[10, 20, 30], [20, 10, 20], [30, 20, 10]].map(Vec::from);
        let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: cpu / 2, node: cpu / 2 };
        let topology = Topology::new((0..6).map(place).collect(), &distances).unwrap();
        let config = BuildConfig { topology, ..BuildConfig::flat(6, 1000) };
        let Core6 { core: rqs, fair, .. } = &mut Eevdf::new(eevdf::Version::V6_18, &config);
        for (cpu, tasks) in [(0, 2), (1, 2), (3, 3)] {
            fair.count_running(rqs, CpuId(cpu), tasks);
            fair.cfs_rqs[CfsRqId::of_cpu(CpuId(cpu))].h_nr_runnable = tasks;
        }
        fair.balance.idle_since_ns = alloc::vec![0, 0, 30, 0, 20, 10];
        assert_eq!(fair.find_dst_cpu(rqs, &CpuSet::All, CpuId(0), None).0, CpuId(2));
    }
}
