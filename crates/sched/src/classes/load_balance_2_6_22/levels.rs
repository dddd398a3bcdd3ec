//! 2.6.22 and 2.6.24 on machines that are not flat: their levels, and the comparison of groups of
//! several CPUs.
//!
//! The load of a group is the sum of its CPUs' loads in proportion to its **power**. A single CPU
//! has a power of 128 (1024 in 2.6.24), and so has a group whose CPUs share a core or a cache,
//! whether they are two or ten: such a group counts as full with one task, so that each cache, and
//! each core, receives one task before any receives two. The power of any other group is the sum
//! over its parts.

use super::{Busiest, Domains, Idle, Version};
use crate::classes::domain_levels_2_6;
use crate::classes::domains::{DomainParams, Domains as Tree};
use schedlab_core::topology::LevelKind;
use schedlab_core::{CpuId, Topology};

/// Returns the parameters of a level (`SD_SIBLING_INIT`, `SD_MC_INIT`, `SD_CPU_INIT`, and
/// `SD_NODE_INIT` of x86-64).
pub(super) fn params(version: Version, kind: LevelKind, cpus: u32) -> DomainParams {
    let params = params_2_6_22(kind, cpus);
    match (version, kind) {
        (Version::V2_6_24, LevelKind::Smt) => DomainParams { newidle_idx: 0, ..params },
        (Version::V2_6_24, LevelKind::MultiCore) => {
            DomainParams { idle_idx: 0, newidle_idx: 0, wake_idle: true, ..params }
        }
        _ => params,
    }
}

const fn params_2_6_22(kind: LevelKind, cpus: u32) -> DomainParams {
    let cpu = DomainParams {
        min_interval_ms: 1,
        max_interval_ms: 4,
        busy_factor: 64,
        imbalance_pct: 125,
        cache_nice_tries: 1,
        busy_idx: 2,
        idle_idx: 1,
        newidle_idx: 2,
        wake_idx: 1,
        forkexec_idx: 1,
        balance_newidle: true,
        balance_exec: true,
        balance_fork: false,
        balance_wake: false,
        wake_affine: true,
        wake_idle: false,
        share_cpupower: false,
        prefer_sibling: false,
        smt_gain: 1024,
    };
    match kind {
        LevelKind::Smt => DomainParams {
            max_interval_ms: 2,
            imbalance_pct: 110,
            cache_nice_tries: 0,
            busy_idx: 0,
            idle_idx: 0,
            newidle_idx: 1,
            wake_idx: 0,
            forkexec_idx: 0,
            wake_idle: true,
            share_cpupower: true,
            ..cpu
        },
        LevelKind::MultiCore | LevelKind::Cpu => cpu,
        LevelKind::Node => DomainParams {
            min_interval_ms: 8,
            max_interval_ms: 32,
            busy_factor: 32,
            cache_nice_tries: 2,
            busy_idx: 3,
            idle_idx: 2,
            newidle_idx: 0,
            balance_newidle: false,
            balance_fork: true,
            balance_wake: true,
            wake_affine: false,
            ..cpu
        },
        // (As in 2.6.32; the description of 2.6.22 does not cover this level.)
        LevelKind::AllNodes => DomainParams {
            min_interval_ms: 64,
            max_interval_ms: 64 * cpus,
            busy_factor: 128,
            imbalance_pct: 133,
            busy_idx: 3,
            idle_idx: 3,
            newidle_idx: 0,
            wake_idx: 0,
            forkexec_idx: 0,
            balance_newidle: false,
            balance_exec: false,
            wake_affine: false,
            ..cpu
        },
    }
}

/// Returns `balance_interval` of a new domain, ms. In a domain of nodes it never becomes as short
/// again.
pub(super) const fn first_interval_ms(kind: LevelKind) -> u32 {
    match kind {
        LevelKind::AllNodes => 64,
        _ => 1,
    }
}

/// Returns the domains of `topology`.
pub(super) fn build(version: Version, topology: &Topology) -> Tree {
    let params = |kind| params(version, kind, topology.cpus());
    Tree::by_flags(topology.cpus(), &domain_levels_2_6::levels(topology), true, params)
}

/// A group of CPUs as seen by balancing.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Load in proportion to the power of one CPU.
    avg_load: u64,
    load: u64,
    power: u64,
    /// Current weight of its runnable tasks.
    weighted: u64,
    nr_running: u64,
    /// 2.6.24: whether the loads of its CPUs differ by more than one ordinary task.
    imbalanced: bool,
}

impl Domains {
    /// Returns the power of the group of this level whose first CPU is `first`.
    pub(super) fn power(&self, level: usize, first: CpuId) -> u64 {
        let Some(below) = self.tree.child(first, level) else {
            return self.scale;
        };
        let domain = self.tree.level(below);
        if matches!(domain.kind, LevelKind::Smt | LevelKind::MultiCore) {
            return self.scale;
        }
        domain.span(first).groups.iter().map(|group| self.power(below, group[0])).sum()
    }

    fn survey(&self, level: usize, cpus: &[CpuId], index: u8, is_own: bool) -> Group {
        let mut group = Group { power: self.power(level, cpus[0]), ..Group::default() };
        let (mut most, mut least) = (0, u64::MAX);
        for &cpu in cpus.iter().filter(|cpu| !self.excluded[cpu.index()]) {
            let load = self.load(cpu);
            let seen = match (index.checked_sub(1), is_own) {
                (None, _) => load.raw_weighted_load,
                (Some(average), true) => load.target_load(average.into()),
                (Some(average), false) => load.source_load(average.into()),
            };
            group.load += seen;
            (most, least) = (most.max(seen), least.min(seen));
            group.weighted += load.raw_weighted_load;
            group.nr_running += u64::from(load.nr_running);
        }
        group.avg_load = group.load * self.scale / group.power;
        group.imbalanced = !is_own && self.version == Version::V2_6_24 && {
            most.saturating_sub(least) > self.scale
        };
        group
    }

    /// Implements `find_busiest_group` and `find_busiest_queue` over groups of several CPUs.
    pub(super) fn find_busiest_of_groups(
        &self,
        this: CpuId,
        level: usize,
        idle: Idle,
    ) -> Option<Busiest> {
        let domain = self.tree.level(level);
        let index = match idle {
            Idle::Idle => domain.params.idle_idx,
            Idle::Busy => domain.params.busy_idx,
            Idle::NewlyIdle => domain.params.newidle_idx,
        };
        let (span, own_number) = (domain.span(this), domain.group_of(this));
        let groups = if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
        let own = self.survey(level, span.group(own_number), index, true);
        let (mut total_load, mut total_power) = (own.load, own.power);
        let mut busiest: Option<(usize, Group)> = None;
        for number in (own_number + 1..groups).chain(0..own_number) {
            let group = self.survey(level, span.group(number), index, false);
            total_load += group.load;
            total_power += group.power;
            let most = busiest.map_or(0, |(_, best)| best.avg_load);
            let is_full = group.nr_running > group.power / self.scale || group.imbalanced;
            if group.avg_load > most && is_full {
                busiest = Some((number, group));
            }
        }
        let (number, busiest) = busiest?;
        let average = self.scale * total_load / total_power;
        let pct = u64::from(domain.params.imbalance_pct);
        let imbalance = self.imbalance(&own, &busiest, average, pct)?;
        let weight = |cpu: CpuId| self.load(cpu).raw_weighted_load;
        let mut queue = None;
        for &cpu in span.group(number).iter().filter(|cpu| !self.excluded[cpu.index()]) {
            let too_heavy = self.load(cpu).nr_running() == 1 && weight(cpu) > imbalance;
            if !too_heavy && weight(cpu) > queue.map_or(0, weight) {
                queue = Some(cpu);
            }
        }
        queue.map(|cpu| Busiest { cpu, imbalance })
    }

    /// Returns the weight that should move from the busiest group to the local one. `None`: they
    /// are balanced.
    fn imbalance(&self, own: &Group, busiest: &Group, average: u64, pct: u64) -> Option<u64> {
        let (max, mine) = (busiest.avg_load, own.avg_load);
        let mut per_task = busiest.weighted / busiest.nr_running;
        if busiest.imbalanced {
            per_task = per_task.min(average);
        }
        if mine >= max || mine >= average || 100 * max <= pct * mine || max <= per_task {
            return None;
        }
        let mut imbalance = 0;
        if max >= average {
            let pull = (max - average).min(max - per_task) * busiest.power;
            imbalance = pull.min((average - mine) * own.power) / self.scale;
            if imbalance >= per_task {
                return Some(imbalance);
            }
        }
        // Less than a task. Moving a task may still help.
        let own_per_task = own.weighted.checked_div(own.nr_running).unwrap_or(self.scale);
        let factor = if own.nr_running > 0 && per_task > own_per_task { 1 } else { 2 };
        let fuzz = match self.version {
            Version::V2_6_22 => 0,
            Version::V2_6_24 => self.scale,
        };
        if max - mine + fuzz >= per_task * factor {
            return Some(per_task);
        }
        let now = busiest.power * per_task.min(max) + own.power * own_per_task.min(mine);
        let left = max.saturating_sub(per_task * self.scale / busiest.power);
        let added = (max * busiest.power).min(per_task * self.scale) / own.power;
        let then = busiest.power * per_task.min(left) + own.power * own_per_task.min(mine + added);
        match self.version {
            _ if then / self.scale > now / self.scale => Some(per_task),
            Version::V2_6_22 => None,
            Version::V2_6_24 => Some(imbalance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::topology::Place;

    /// Returns two nodes of one package of two cores of two threads each, with a task of weight 128
    /// for each occurrence of a CPU in `tasks`.
    fn machine(tasks: &[u32]) -> Domains {
        let place =
            |cpu: u32| Place { core: cpu / 2, cache: cpu / 4, package: cpu / 4, node: cpu / 4 };
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        let mut domains = Domains::new(&topology, 1000);
        for &cpu in tasks {
            domains.inc_nr_running(CpuId(cpu), 128);
        }
        for cpu in 0..8 {
            for _ in 0..64 {
                domains.update_cpu_load(CpuId(cpu));
            }
        }
        domains
    }

    fn from(domains: &Domains, this: u32, level: usize) -> Option<u32> {
        domains.find_busiest_of_groups(CpuId(this), level, Idle::Idle).map(|busiest| busiest.cpu.0)
    }

    #[test]
    fn cores_and_nodes_are_full_with_one_task() {
        // Both threads of the first core are busy. Another core, and the other node, should have
        // one of the two tasks.
        let domains = machine(&[0, 1]);
        assert_eq!(from(&domains, 2, 1), Some(0));
        assert_eq!(from(&domains, 4, 2), Some(0));
        // A lone task may stay where it is.
        let domains = machine(&[0]);
        assert_eq!(
            (from(&domains, 1, 0), from(&domains, 2, 1), from(&domains, 4, 2)),
            (None, None, None)
        );
    }

    #[test]
    fn a_package_of_two_caches_has_the_power_of_both() {
        let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: cpu / 4, node: cpu / 4 };
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        let domains = Domains::new(&topology, 1000);
        // MC, CPU, NODE: SMT has one CPU each and is dropped.
        assert_eq!([0, 1, 2].map(|level| domains.power(level, CpuId(0))), [128, 128, 256]);
    }

    #[test]
    fn domains_begin_at_one_ms_whatever_their_least_interval() {
        let domains = machine(&[]);
        // Levels SMT, MC, NODE: the CPUs of a node share a cache, so the CPU level is redundant.
        assert_eq!(domains.tree.levels(), 3);
        assert_eq!(domains.tree.level(2).params.min_interval_ms, 8);
        assert!(domains.domains.iter().all(|domain| domain.balance_interval == 1));
    }

    #[test]
    fn groups_of_2_6_24_count_as_full_if_their_cpus_differ() {
        let place = |cpu: u32| Place { core: cpu, cache: cpu / 2, package: cpu / 4, node: cpu / 4 };
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        let survey = |version: Version, loads: [u64; 2]| {
            let mut domains = Domains::of(version, &topology, 1000);
            for (cpu, load) in (0..).map(CpuId).zip(loads) {
                domains.set_load(cpu, load, u32::from(load > 0));
            }
            domains.survey(1, &[CpuId(0), CpuId(1)], 0, false).imbalanced
        };
        let (v22, v24) = (Version::V2_6_22, Version::V2_6_24);
        assert!(survey(v24, [1025, 0]) && !survey(v24, [1024, 0]) && !survey(v22, [4096, 0]));
    }

    #[test]
    fn the_small_imbalance_of_2_6_24_is_generous_by_one_task() {
        let group = |load, nr_running, power| Group {
            avg_load: load,
            load,
            power,
            weighted: load,
            nr_running,
            imbalanced: false,
        };
        // Three CPU hogs on two CPUs: a load of 1 against an average of 1.5.
        let imbalance = |version: Version| {
            let one = version.load_scale();
            let domains = Domains::of(version, &Topology::flat(2), 1000);
            let (own, busiest) = (group(one, 1, one), group(2 * one, 2, one));
            domains.imbalance(&own, &busiest, one + one / 2, 125)
        };
        assert_eq!(imbalance(Version::V2_6_22), None);
        assert_eq!(imbalance(Version::V2_6_24), Some(1024));
    }

    /// Single CPUs in 2.6.22, tasks of 128: one moves if the other CPU has two more such tasks, or
    /// one more, if the local tasks are lighter.
    #[test]
    fn less_than_a_task_moves_one_if_two_more_are_there() {
        let domains = Domains::of(Version::V2_6_22, &Topology::flat(2), 1000);
        let group = |avg_load, nr_running, weighted| Group {
            avg_load,
            load: avg_load,
            power: 128,
            weighted,
            nr_running,
            imbalanced: false,
        };
        let moved = |own: Group, max: u64| {
            // Half of the difference would move: less than a task.
            let average = own.avg_load + (max - own.avg_load).min(254) / 2;
            domains.imbalance(&own, &group(max, 3, 3 * 128), average, 125)
        };
        let as_heavy = |avg_load| group(avg_load, 1, 128);
        assert_eq!((moved(as_heavy(128), 383), moved(as_heavy(128), 384)), (None, Some(128)));
        assert_eq!(moved(as_heavy(128), 300), None, "128 + 2 is not twice 128");
        let lighter = group(64, 1, 64);
        assert_eq!(moved(lighter, 64 + 128), Some(128));
    }
}
