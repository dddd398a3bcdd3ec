//! Load balancing: which group of a domain is busiest, and how much of what should come from there.
//!
//! # The rules
//!
//! Each group is classed, the best first: it has **spare** capacity; it is **fully busy**; it is a
//! core whose threads share what one could have alone (**smt**); it is **imbalanced**, affinity
//! having kept it from being balanced within; it is **overloaded**, with more tasks than CPUs and
//! no time to spare. The worst is the source.
//!
//! What is moved depends on both sides. A group with spare capacity evens out the *number of
//! tasks*, or, if the other is overloaded and has another cache, fills itself up with
//! *utilisation*. When all are overloaded it is *load* (weight times time) that is evened out.
//! Between nodes two tasks are let be, so that they stay near their memory and each other.

use super::class::Fair;
use super::domains::is_numa;
use super::load_balance::{Migrate, Occasion, Pass};
use crate::classes::Rqs;
use crate::classes::domains::DomainLevel;
use schedlab_core::CpuId;

/// The capacity of one CPU.
const CAPACITY: u64 = 1024;
/// Between nodes so many tasks too many do no harm.
const NUMA_IMBALANCE_MIN: u64 = 2;

/// How busy a group is (`enum group_type`), the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Type {
    #[default]
    HasSpare,
    FullyBusy,
    SmtBalance,
    Imbalanced,
    Overloaded,
}

/// A group of CPUs as balancing sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stats {
    pub(super) kind: Type,
    /// Its CPUs (`group_weight`).
    pub(super) weight: u64,
    pub(super) load: u64,
    pub(super) util: u64,
    pub(super) runnable: u64,
    /// Threads of all classes, delayed ones included.
    pub(super) nr_running: u64,
    /// Fair tasks that really want to run.
    pub(super) h_nr_runnable: u64,
    pub(super) idle_cpus: u64,
    /// The threads of one core.
    is_core: bool,
    /// Some CPU has more than one thread.
    pub(super) has_waiting: bool,
}

/// The busiest group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Busiest {
    group: usize,
    stats: Stats,
}

/// What a look at all groups of a domain brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Survey {
    /// The own group.
    pub local: Stats,
    /// All groups together: their CPUs, load, utilisation and whether anybody waits.
    pub whole: Stats,
    /// The number of the busiest of the other groups that have something to give, and what it does.
    pub busiest: Option<(usize, Stats)>,
}

impl Fair {
    /// What these CPUs do together. CPUs that are left out count as empty.
    pub(super) fn sum_up(&self, rqs: &Rqs, cpus: &[CpuId]) -> Stats {
        let mut sum = Stats { weight: cpus.len() as u64, ..Stats::default() };
        for &cpu in cpus.iter().filter(|cpu| !self.balance.dropped[cpu.index()]) {
            let queue = &self.queues[cpu.index()];
            let nr_running = rqs.nr_running[cpu.index()];
            sum.load += queue.avg.load_avg;
            sum.util += self.cpu_util(cpu);
            sum.runnable += queue.avg.runnable_avg;
            sum.nr_running += u64::from(nr_running);
            sum.h_nr_runnable += u64::from(queue.h_nr_runnable);
            sum.has_waiting |= nr_running > 1;
            sum.idle_cpus += u64::from(self.is_idle_cpu(rqs, cpu));
        }
        sum
    }

    /// `update_sg_lb_stats`: `cpus`, a group of the pass's domain whose sums are `stats`, is
    /// classed.
    fn class(
        &self,
        rqs: &Rqs,
        pass: &Pass,
        level: &DomainLevel,
        cpus: &[CpuId],
        mut stats: Stats,
        is_local: bool,
    ) -> Stats {
        let of_threads = pass.level.checked_sub(1).map(|below| rqs.domains.level(below));
        stats.is_core =
            cpus.len() > 1 && of_threads.is_some_and(|below| below.params.share_cpupower);
        let mark = pass.level + cpus[0].index() * rqs.domains.levels();
        let by_numbers = stats.type_by_numbers(level.params.imbalance_pct);
        stats.kind = if by_numbers == Type::Overloaded {
            Type::Overloaded
        } else if self.balance.imbalanced[mark] {
            Type::Imbalanced
        } else if !is_local
            && stats.is_core
            && pass.why != Occasion::NotIdle
            && stats.h_nr_runnable > 1
        {
            Type::SmtBalance
        } else {
            by_numbers
        };
        stats
    }

    /// `sched_balance_find_src_group` and `sched_balance_find_src_rq`: the CPU to take from; what
    /// to even out, and how much, goes into the pass. None: all is well.
    pub(super) fn find_source(&mut self, rqs: &mut Rqs, pass: &mut Pass) -> Option<CpuId> {
        self.tally_up(rqs);
        let rqs = &*rqs;
        let Survey { local, whole, busiest } = match self.lb_cache.knows(pass.level) {
            true => self.lb_cache.survey(pass.here),
            false => self.survey(rqs, pass),
        };
        let level = rqs.domains.level(pass.level);
        let span = level.span(pass.here);
        if rqs.domains.is_top(pass.here, pass.level) {
            self.balance.overloaded = whole.has_waiting;
        }
        if pass.why != Occasion::NewlyIdle && self.near.llc_level(pass.here) == Some(pass.level) {
            let llc = self.near.llc_id(pass.here);
            self.balance.nr_idle_scan[llc] = idle_scan(
                span.cpus.len() as u64,
                whole.util,
                u64::from(level.params.imbalance_pct),
            );
        }
        let (group, stats) = busiest?;
        let busiest = Busiest { group, stats };
        let average = whole.load / whole.weight;
        if !self.is_worth_while(rqs, pass, &local, &busiest, average) {
            return None;
        }
        let (kind, imbalance) = self.calculate_imbalance(rqs, pass, &local, &busiest, average)?;
        pass.kind = kind;
        pass.imbalance = imbalance as i64;
        self.busiest_queue(span.group(busiest.group), kind, imbalance)
    }

    /// Looks at all groups of the pass's domain.
    pub(super) fn survey(&self, rqs: &Rqs, pass: &Pass) -> Survey {
        let level = rqs.domains.level(pass.level);
        let span = level.span(pass.here);
        let groups = if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
        let own = level.group_of(pass.here);
        let local = span.group(own);
        let local = self.class(rqs, pass, level, local, self.sum_up(rqs, local), true);
        let mut whole = Stats::of_sums(local.weight, local.load, local.util, local.has_waiting);
        let mut busiest: Option<(usize, Stats)> = None;
        // The ring of groups begins with the own one.
        for group in (own + 1..groups).chain(0..own) {
            let cpus = span.group(group);
            let stats = self.sum_up(rqs, cpus);
            whole.add(&stats);
            if stats.h_nr_runnable == 0 {
                // Of one that has nothing to give nobody need know the class.
                continue;
            }
            let stats = self.class(rqs, pass, level, cpus, stats, false);
            if busiest.is_none_or(|(_, best)| stats.is_busier_than(&best)) {
                busiest = Some((group, stats));
            }
        }
        Survey { local, whole, busiest }
    }

    /// The verdict of `sched_balance_find_src_group`.
    fn is_worth_while(
        &self,
        rqs: &Rqs,
        pass: &Pass,
        local: &Stats,
        busiest: &Busiest,
        average: u64,
    ) -> bool {
        let pct = u64::from(rqs.domains.level(pass.level).params.imbalance_pct);
        let (number, busiest) = (busiest.group, &busiest.stats);
        if busiest.kind == Type::Imbalanced {
            return true;
        }
        if local.kind > busiest.kind {
            return false;
        }
        if local.kind == Type::Overloaded {
            let (own, other) = (local.avg_load(), busiest.avg_load());
            return own < other && own < average && 100 * other > pct * own;
        }
        if local.kind == Type::HasSpare
            && self.prefers_sibling(rqs, pass)
            && self.sibling_imbalance(rqs, pass, local, number, busiest) > 1
        {
            return true;
        }
        busiest.kind == Type::Overloaded
            || (pass.why != Occasion::NotIdle
                && (busiest.weight == 1 || local.idle_cpus > busiest.idle_cpus + 1)
                && busiest.h_nr_runnable > 1)
    }

    /// `calculate_imbalance`: what to move, and how much of it. None: nothing.
    fn calculate_imbalance(
        &self,
        rqs: &Rqs,
        pass: &Pass,
        local: &Stats,
        busiest: &Busiest,
        average: u64,
    ) -> Option<(Migrate, u64)> {
        let (number, busiest) = (busiest.group, &busiest.stats);
        if matches!(busiest.kind, Type::SmtBalance | Type::Imbalanced) {
            return Some((Migrate::Task, 1));
        }
        if local.kind == Type::HasSpare {
            if busiest.kind == Type::Overloaded && self.near.llc_level(pass.here) < Some(pass.level)
            {
                let room = (CAPACITY * local.weight).saturating_sub(local.util);
                return match room {
                    0 => (pass.why != Occasion::NotIdle).then_some((Migrate::Task, 1)),
                    room => Some((Migrate::Util, room)),
                };
            }
            let mut tasks = if busiest.weight == 1 || self.prefers_sibling(rqs, pass) {
                self.sibling_imbalance(rqs, pass, local, number, busiest)
            } else {
                local.idle_cpus.saturating_sub(busiest.idle_cpus)
            };
            if is_numa(rqs.domains.level(pass.level).kind) {
                let allowed = self.near.numa_imbalance(&rqs.domains, pass.level, pass.here);
                tasks = numa_tasks(tasks, local.nr_running + 1, allowed);
            }
            return (tasks > 1).then_some((Migrate::Task, tasks / 2));
        }
        let (own, other) = (local.avg_load(), busiest.known_load());
        if own >= other || own >= average {
            return None;
        }
        // Unsigned: when the busiest is below the average the first wraps, and the second counts.
        let out = other.wrapping_sub(average).wrapping_mul(CAPACITY * busiest.weight);
        let into = (average - own) * CAPACITY * local.weight;
        let load = out.min(into) / CAPACITY;
        (load > 0).then_some((Migrate::Load, load))
    }

    /// Whether each group of the domain should have one task before any has two: the domains below
    /// say so, but for nodes.
    fn prefers_sibling(&self, rqs: &Rqs, pass: &Pass) -> bool {
        let below = rqs.domains.child(pass.here, pass.level);
        below.is_some_and(|below| rqs.domains.level(below).params.prefer_sibling)
    }

    /// `sibling_imbalance`: how many tasks the busiest group has more than the own one, as if both
    /// had as many cores.
    fn sibling_imbalance(
        &self,
        rqs: &Rqs,
        pass: &Pass,
        local: &Stats,
        number: usize,
        busiest: &Stats,
    ) -> u64 {
        if pass.why == Occasion::NotIdle || busiest.nr_running == 0 {
            return 0;
        }
        let level = rqs.domains.level(pass.level);
        let cores =
            |group: usize| self.near.cores(&rqs.domains, level.span(pass.here).group(group));
        let (own, other) = if self.near.has_smt() || local.weight != busiest.weight {
            (cores(level.group_of(pass.here)), cores(number))
        } else {
            (1, 1)
        };
        if own == other {
            return busiest.nr_running.saturating_sub(local.nr_running);
        }
        let more = (own * busiest.nr_running).saturating_sub(other * local.nr_running);
        let tasks = (2 * more + own + other) / (own + other);
        // An empty group may always have one of several.
        if tasks <= 1 && local.nr_running == 0 && busiest.nr_running > 1 { 2 } else { tasks }
    }

    /// `sched_balance_find_src_rq`: the busiest CPU of the group.
    fn busiest_queue(&self, group: &[CpuId], kind: Migrate, imbalance: u64) -> Option<CpuId> {
        let mut best = (0, None);
        for &cpu in group.iter().filter(|cpu| !self.balance.dropped[cpu.index()]) {
            let queue = &self.queues[cpu.index()];
            let tasks = u64::from(queue.h_nr_runnable);
            let measure = match kind {
                Migrate::Task => tasks,
                // A CPU's only task is not to be moved if it is more than what is to be moved.
                Migrate::Load if tasks == 1 && queue.avg.load_avg > imbalance => 0,
                Migrate::Util if tasks == 1 => 0,
                Migrate::Load => queue.avg.load_avg,
                Migrate::Util => self.cpu_util(cpu),
            };
            if tasks > 0 && measure > best.0 {
                best = (measure, Some(cpu));
            }
        }
        best.1
    }
}

/// `adjust_numa_imbalance`: how much of an imbalance between nodes counts, the own one having so
/// many tasks: not two tasks, as long as it has few.
pub(super) fn numa_tasks(imbalance: u64, running: u64, allowed: u64) -> u64 {
    if running <= allowed && imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}

impl Stats {
    /// Overloaded, fully busy, or with spare capacity.
    pub(super) fn type_by_numbers(&self, imbalance_pct: u32) -> Type {
        let pct = u64::from(imbalance_pct);
        let capacity = CAPACITY * self.weight;
        let crowded = capacity * pct < self.runnable * 100;
        let (has, uses) = (capacity * 100, self.util * pct);
        if self.nr_running > self.weight && (has < uses || crowded) {
            Type::Overloaded
        } else if self.nr_running >= self.weight && (crowded || has <= uses) {
            Type::FullyBusy
        } else {
            Type::HasSpare
        }
    }

    /// Sums over several groups.
    pub(super) fn of_sums(weight: u64, load: u64, util: u64, has_waiting: bool) -> Stats {
        Stats { weight, load, util, has_waiting, ..Stats::default() }
    }

    /// The sums of both.
    fn add(&mut self, other: &Stats) {
        self.weight += other.weight;
        self.load += other.load;
        self.util += other.util;
        self.has_waiting |= other.has_waiting;
    }

    /// Load as if it were one CPU.
    pub(super) fn avg_load(&self) -> u64 {
        self.load / self.weight
    }

    /// The same, where the kernel has worked it out.
    fn known_load(&self) -> u64 {
        if self.kind == Type::Overloaded { self.avg_load() } else { 0 }
    }

    /// Whether this group is a better source than `best`, found earlier.
    pub(super) fn is_busier_than(&self, best: &Stats) -> bool {
        if self.kind != best.kind {
            return self.kind > best.kind;
        }
        let by_spare = || {
            self.idle_cpus < best.idle_cpus
                || (self.idle_cpus == best.idle_cpus && self.nr_running > best.nr_running)
        };
        match self.kind {
            Type::Overloaded => self.avg_load() > best.avg_load(),
            // Affinity is the trouble: one is as good as another.
            Type::Imbalanced => false,
            Type::SmtBalance if self.idle_cpus != 0 || best.idle_cpus != 0 => by_spare(),
            // Their average loads are not worked out and all count as 0: the last one looked at, or
            // a core of threads.
            Type::SmtBalance | Type::FullyBusy => !best.is_core,
            Type::HasSpare => by_spare(),
        }
    }
}

/// `update_idle_cpu_scan`: how many CPUs are worth looking at for an idle one, the fewer the busier
/// they are.
fn idle_scan(cpus: u64, total_util: u64, pct: u64) -> u32 {
    let mean = total_util / cpus;
    let busy = (mean * mean * pct * pct / (10_000 * 1024)).min(1024);
    ((1024 - busy) * cpus / 1024) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eevdf::tests::scramble;
    use crate::eevdf::{Eevdf, Version};
    use crate::random::Random;
    use alloc::vec::Vec;
    use schedlab_core::BuildConfig;
    use schedlab_core::topology::{Place, Topology};

    /// The plain way: every group is summed up and classed, be it empty; then those are compared
    /// that have something to give.
    fn full_pass(fair: &Fair, rqs: &Rqs, pass: &Pass) -> Survey {
        let level = rqs.domains.level(pass.level);
        let span = level.span(pass.here);
        let (own, groups) = (level.group_of(pass.here), span.groups.len());
        let classed: Vec<Stats> = (0..groups)
            .map(|group| {
                let cpus = &span.groups[group];
                fair.class(rqs, pass, level, cpus, fair.sum_up(rqs, cpus), group == own)
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
        let (mut found, mut empty, mut kinds_found) = (0, 0, [0; 5]);
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
                let why =
                    [Occasion::NotIdle, Occasion::Idle, Occasion::NewlyIdle][round as usize % 3];
                for here in (0..24).map(CpuId) {
                    for level in rqs.domains.of(here) {
                        let pass = Pass::new(here, level, why);
                        let short = fair.survey(rqs, &pass);
                        assert_eq!(short, full_pass(fair, rqs, &pass), "round {round}, {pass:?}");
                        found += u32::from(short.busiest.is_some());
                        empty += u32::from(short.busiest.is_none());
                        if let Some((_, stats)) = short.busiest {
                            kinds_found[stats.kind as usize] += 1;
                        }
                    }
                }
            }
        }
        assert!(
            found > 10_000 && empty > 500 && kinds_found.iter().all(|&n| n > 100),
            "{found} {empty} {kinds_found:?}"
        );
    }
}
