//! The scheduling domains of 6.x, and which CPUs are close to each other.
//!
//! From the smallest up: **SMT**, the threads of a core; **MC**, the cores that share a cache (the
//! kernel calls the largest domain that shares a cache `sd_llc`); **PKG**, the rest of a memory
//! node; **NUMA**, the nodes. Each is divided into groups, the domains of the level below.
//! Balancing goes up from the smallest, forks come down from the largest, and wakeups stay within
//! the shared cache.
//!
//! On the flat machine of the golden schedules all CPUs share one cache. Where every core has a
//! last-level cache of its own, no cache is shared.
//!
//! A node may be close to two nodes that are not close to each other. Then their domains overlap,
//! and so do the groups of the domains above ([`Reach::Overlapping`]).

use crate::classes::domains::{DomainLevel, DomainParams, Domains, Reach, Span};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::cpu_set::CpuSet;
use schedlab_core::topology::{LOCAL_DISTANCE, LevelKind};
use schedlab_core::{CpuId, Topology};

/// Factor by which a busy CPU waits longer between two balancings.
pub(super) const BUSY_FACTOR: u64 = 16;
/// The same before 5.10.
pub(super) const BUSY_FACTOR_5_4: u64 = 32;
/// The largest distance of nodes for forks and affine wakeups (`node_reclaim_distance`).
const FAR: u32 = 30;

/// Parameters of a level: the flags and numbers that the fair class reads. The other fields are
/// unused here, because intervals depend on the size of each domain ([`min_interval`]) and loads
/// are averages.
fn params(kind: LevelKind) -> DomainParams {
    let far = kind == LevelKind::AllNodes;
    DomainParams {
        min_interval_ms: 0,
        max_interval_ms: 0,
        busy_factor: BUSY_FACTOR as u32,
        imbalance_pct: if kind == LevelKind::Smt { 110 } else { 117 },
        cache_nice_tries: match kind {
            LevelKind::Smt => 0,
            LevelKind::MultiCore | LevelKind::Cpu => 1,
            LevelKind::Node | LevelKind::AllNodes => 2,
        },
        busy_idx: 0,
        idle_idx: 0,
        newidle_idx: 0,
        wake_idx: 0,
        forkexec_idx: 0,
        balance_newidle: true,
        balance_exec: !far,
        balance_fork: !far,
        balance_wake: false,
        wake_affine: !far,
        wake_idle: false,
        share_cpupower: kind == LevelKind::Smt,
        prefer_sibling: !is_numa(kind),
        smt_gain: 1024,
    }
}

/// Whether a level consists of memory nodes.
pub(super) const fn is_numa(kind: LevelKind) -> bool {
    matches!(kind, LevelKind::Node | LevelKind::AllNodes)
}

/// Whether the CPUs of a domain of this level share a cache.
pub(super) const fn shares_cache(kind: LevelKind) -> bool {
    matches!(kind, LevelKind::Smt | LevelKind::MultiCore)
}

/// Returns the shortest time between two balancings of a domain, ms: the number of its CPUs. The
/// longest time is twice that.
pub(super) fn min_interval(span: &Span) -> u32 {
    span.cpus.len() as u32
}

/// The domains of the releases up to 5.4. They differ from later ones in larger tolerances between
/// caches and between nodes, and in the ages of the loads that balancing compares (up to 5.2).
pub fn build_5_4(topology: &Topology) -> Domains {
    build_with(topology, params_5_4)
}

fn params_5_4(kind: LevelKind) -> DomainParams {
    DomainParams {
        busy_factor: BUSY_FACTOR_5_4 as u32,
        imbalance_pct: match kind {
            LevelKind::Smt => 110,
            LevelKind::MultiCore => 117,
            LevelKind::Cpu | LevelKind::Node | LevelKind::AllNodes => 125,
        },
        busy_idx: match kind {
            LevelKind::Smt => 0,
            LevelKind::MultiCore | LevelKind::Cpu => 2,
            LevelKind::Node | LevelKind::AllNodes => 3,
        },
        idle_idx: match kind {
            LevelKind::Smt | LevelKind::MultiCore => 0,
            LevelKind::Cpu => 1,
            LevelKind::Node | LevelKind::AllNodes => 2,
        },
        ..params(kind)
    }
}

/// The domains of 4.14: cores that share a cache do not prefer siblings.
pub fn build_4_14(topology: &Topology) -> Domains {
    build_with(topology, |kind| DomainParams {
        prefer_sibling: matches!(kind, LevelKind::Smt | LevelKind::Cpu),
        ..params_5_4(kind)
    })
}

/// The domains of `topology`. [`LevelKind::AllNodes`] contains nodes that are far from each other.
pub fn build(topology: &Topology) -> Domains {
    build_with(topology, params)
}

/// The domains of `topology`, where each level has the parameters `params`.
fn build_with(topology: &Topology, params: impl Fn(LevelKind) -> DomainParams) -> Domains {
    let mut levels = Vec::new();
    for level in topology.levels() {
        let kind = match level.kind {
            // Overlapping nodes are not levels of the topology.
            LevelKind::Node | LevelKind::AllNodes => continue,
            LevelKind::Cpu if topology.is_flat() => LevelKind::MultiCore,
            kind => kind,
        };
        levels.push((kind, params(kind), Reach::Divided(level.span_of.clone())));
    }
    let nodes = || 0..topology.nodes();
    let mut distances: Vec<u32> =
        nodes().flat_map(|a| nodes().map(move |b| topology.distance(a, b))).collect();
    distances.sort_unstable();
    distances.dedup();
    for &distance in distances.iter().filter(|&&distance| distance > LOCAL_DISTANCE) {
        let kind = if distance > FAR { LevelKind::AllNodes } else { LevelKind::Node };
        levels.push((kind, params(kind), nodes_within(topology, distance)));
    }
    Domains::of_reaches(topology.cpus(), levels)
}

/// The CPUs of all nodes within `distance` of each CPU's own.
pub(crate) fn nodes_within(topology: &Topology, distance: u32) -> Reach {
    let node_of = |cpu: CpuId| topology.place(cpu).node;
    let row = |node: u32| -> Vec<CpuId> {
        topology.iter().filter(|&cpu| topology.distance(node, node_of(cpu)) <= distance).collect()
    };
    let rows: Vec<Vec<CpuId>> = (0..topology.nodes()).map(row).collect();
    // For each node, the first node that reaches the same CPUs.
    let first: Vec<u32> = rows
        .iter()
        .map(|row| (0..).zip(&rows).find(|(_, other)| *other == row))
        .map(|found| found.map_or(0, |(node, _)| node))
        .collect();
    let owners: Vec<u32> = topology.iter().map(|cpu| first[node_of(cpu) as usize]).collect();
    let in_own_class = |cpu: CpuId| {
        let row = &rows[owners[cpu.index()] as usize];
        row.iter().all(|other| owners[other.index()] == owners[cpu.index()])
    };
    if topology.iter().all(in_own_class) {
        Reach::Divided(renumber(&owners))
    } else {
        Reach::Overlapping(owners, rows)
    }
}

/// The same division, with numbers from 0 without gaps.
fn renumber(numbers: &[u32]) -> Vec<u32> {
    let mut known: Vec<u32> = numbers.to_vec();
    known.sort_unstable();
    known.dedup();
    numbers.iter().map(|number| known.partition_point(|other| other < number) as u32).collect()
}

/// A description of the domains.
pub(super) fn describe(domains: &Domains) -> String {
    domains.describe_as(|level: &DomainLevel, span: &Span| {
        let DomainParams { busy_factor, imbalance_pct, cache_nice_tries, .. } = level.params;
        let (min, max) = (min_interval(span), 2 * min_interval(span));
        let name = match level.kind {
            LevelKind::Smt => "SMT",
            LevelKind::MultiCore => "MC",
            LevelKind::Cpu => "PKG",
            LevelKind::Node | LevelKind::AllNodes => "NUMA",
        };
        let mut text = alloc::format!(
            "{name}: min_interval {min} max_interval {max} ms, busy_factor {busy_factor}, \
             imbalance_pct {imbalance_pct}, cache_nice_tries {cache_nice_tries}, \
             flags BALANCE_NEWIDLE"
        );
        let flags = [
            (level.params.balance_exec, "BALANCE_EXEC"),
            (level.params.balance_fork, "BALANCE_FORK"),
            (level.params.wake_affine, "WAKE_AFFINE"),
            (level.params.share_cpupower, "SHARE_CPUCAPACITY"),
            (shares_cache(level.kind), "SHARE_LLC"),
            (level.params.prefer_sibling, "PREFER_SIBLING"),
            (is_numa(level.kind), "SERIALIZE NUMA"),
        ];
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            text.push(' ');
            text.push_str(flag);
        }
        text
    })
}

/// Which CPUs share a core, and which share a cache.
#[derive(Debug)]
pub struct CacheSharing {
    /// By CPU: the lowest CPU with which it shares the last-level cache (`sd_llc_id`).
    llc_id: Vec<u32>,
    /// By CPU: the level of the largest domain that shares a cache (`sd_llc`). `None`: the CPU has
    /// a cache of its own.
    llc_level: Vec<Option<usize>>,
    /// The level of hardware threads, if the machine has any.
    smt_level: Option<usize>,
    /// By `llc_id`: whether there may be a core whose threads are all idle (`has_idle_cores`).
    pub(super) has_idle_cores: Vec<bool>,
}

impl CacheSharing {
    /// Derived from `domains`.
    pub(super) fn new(domains: &Domains) -> CacheSharing {
        let cpus = || (0..domains.cpus()).map(CpuId);
        let llc_level =
            |cpu| domains.of(cpu).rfind(|&level| shares_cache(domains.level(level).kind));
        let llc_id = |cpu| match llc_level(cpu) {
            Some(level) => domains.level(level).span(cpu).cpus[0].0,
            None => cpu.0,
        };
        CacheSharing {
            llc_id: cpus().map(llc_id).collect(),
            llc_level: cpus().map(llc_level).collect(),
            smt_level: (0..domains.levels())
                .find(|&level| domains.level(level).kind == LevelKind::Smt),
            has_idle_cores: alloc::vec![false; domains.cpus() as usize],
        }
    }

    /// The lowest CPU that shares the last-level cache of `cpu`: the cache's number.
    #[inline]
    pub(super) fn llc_id(&self, cpu: CpuId) -> usize {
        self.llc_id[cpu.index()] as usize
    }

    /// `cpus_share_cache`.
    #[inline]
    pub(super) fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.llc_id[a.index()] == self.llc_id[b.index()]
    }

    /// `sd_llc`: the level of the largest domain of `cpu` that shares a cache.
    #[inline]
    pub(super) fn llc_level(&self, cpu: CpuId) -> Option<usize> {
        self.llc_level[cpu.index()]
    }

    /// `sd_llc_size`.
    #[inline]
    pub(super) fn llc_size(&self, domains: &Domains, cpu: CpuId) -> u32 {
        self.llc_level(cpu).map_or(1, |level| domains.level(level).span(cpu).cpus.len() as u32)
    }

    /// Whether the machine has hardware threads.
    #[inline]
    pub(super) fn has_smt(&self) -> bool {
        self.smt_level.is_some()
    }

    /// The threads of the core of `cpu`, `cpu` included (`cpu_smt_mask`). Empty if it is the only
    /// one.
    #[inline]
    pub(super) fn threads<'a>(&self, domains: &'a Domains, cpu: CpuId) -> &'a [CpuId] {
        self.smt_level.map_or(&[], |level| &domains.level(level).span(cpu).cpus)
    }

    /// Number of cores, complete or in part, to which these CPUs belong. Threads of one core must
    /// be in ascending order.
    pub(super) fn cores(&self, domains: &Domains, cpus: &[CpuId]) -> u64 {
        let is_first_of_core = |cpu: &&CpuId| {
            let mut before = self.threads(domains, **cpu).iter().take_while(|other| other < cpu);
            !before.any(|other| cpus.contains(other))
        };
        cpus.iter().filter(is_first_of_core).count() as u64
    }

    /// `imb_numa_nr`: number of tasks that a node may run before other nodes pull from it, as seen
    /// from `cpu` in a domain of nodes. It is an eighth of the node's CPUs if they share one cache,
    /// else one for each cache, multiplied by the number of times that the domain contains the
    /// smallest domain of nodes.
    pub(super) fn numa_imbalance(&self, domains: &Domains, level: usize, cpu: CpuId) -> u64 {
        let size = |level: usize| domains.level(level).span(cpu).cpus.len() as u64;
        let is_node = |&number: &usize| is_numa(domains.level(number).kind);
        let node = domains.of(cpu).rfind(|number| !is_node(number)).map_or(1, size);
        let caches = node / u64::from(self.llc_size(domains, cpu));
        let within_node = if caches <= 1 { node >> 3 } else { caches };
        let smallest = domains.of(cpu).find(is_node).map_or(1, size);
        within_node.max(1) * (size(level) / smallest).max(1)
    }
}

/// The CPUs of a span that are allowed to `task`, in the order of a search: behind `after` and
/// around to the start.
pub(super) fn round<'a>(
    cpus: &'a [CpuId],
    after: CpuId,
    allowed: &'a CpuSet,
) -> impl Iterator<Item = CpuId> + 'a {
    let (before, behind) = cpus.split_at(cpus.partition_point(|&cpu| cpu <= after));
    behind.iter().chain(before).copied().filter(|&cpu| allowed.contains(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use schedlab_core::topology::Place;

    /// A machine of `nodes` nodes of `caches` caches of `cores` cores of two threads each, siblings
    /// adjacent, with these node distances.
    fn machine(nodes: u32, caches: u32, cores: u32, distances: &[Vec<u32>]) -> Topology {
        let cpus = nodes * caches * cores * 2;
        let place = |cpu: u32| {
            let core = cpu / 2;
            let cache = core / cores;
            Place { core, cache, package: cache / caches, node: cache / caches }
        };
        Topology::new((0..cpus).map(place).collect(), distances).unwrap()
    }

    #[test]
    fn the_flat_machine_shares_one_cache() {
        let domains = build(&Topology::flat(4));
        assert_eq!(domains.level(0).kind, LevelKind::MultiCore);
        let caches = CacheSharing::new(&domains);
        assert!(caches.share_cache(CpuId(0), CpuId(3)) && !caches.has_smt());
        assert_eq!(caches.llc_size(&domains, CpuId(2)), 4);
        assert_eq!(CacheSharing::new(&build(&Topology::flat(1))).llc_level(CpuId(0)), None);
    }

    #[test]
    fn caches_end_where_they_end() {
        let domains = build(&machine(2, 2, 2, &[]));
        let kinds: Vec<LevelKind> =
            domains.of(CpuId(0)).map(|level| domains.level(level).kind).collect();
        assert_eq!(kinds, [LevelKind::Smt, LevelKind::MultiCore, LevelKind::Cpu, LevelKind::Node]);
        let caches = CacheSharing::new(&domains);
        assert!(caches.share_cache(CpuId(0), CpuId(3)) && !caches.share_cache(CpuId(3), CpuId(4)));
        assert_eq!(caches.threads(&domains, CpuId(5)), [CpuId(4), CpuId(5)]);
        assert_eq!(caches.cores(&domains, &domains.level(1).span(CpuId(0)).cpus), 2);
    }

    #[test]
    fn a_node_may_keep_a_few_tasks_to_itself() {
        let imbalance = |topology: &Topology, level| {
            let domains = build(topology);
            CacheSharing::new(&domains).numa_imbalance(&domains, level, CpuId(0))
        };
        // SMT, MC, NUMA: 32 CPUs around one cache; 8 of them.
        assert_eq!(imbalance(&machine(2, 1, 16, &[]), 3), 4);
        assert_eq!(imbalance(&machine(2, 1, 4, &[]), 3), 1);
        // Four caches in each node.
        assert_eq!(imbalance(&machine(2, 4, 2, &[]), 3), 4);
    }

    #[test]
    fn far_nodes_are_not_for_forks() {
        let pairs = [[10, 15, 40, 40], [15, 10, 40, 40], [40, 40, 10, 15], [40, 40, 15, 10]];
        let domains = build(&machine(4, 1, 1, &pairs.map(Vec::from)));
        let forks: Vec<bool> =
            domains.of(CpuId(0)).map(|level| domains.level(level).params.balance_fork).collect();
        assert_eq!(forks, [true, true, false]);
        // Nodes farther apart than 30 are far.
        for (distance, is_for_forks) in [(30, true), (31, false)] {
            let pair = [[10, distance], [distance, 10]];
            let domains = build(&machine(2, 1, 1, &pair.map(Vec::from)));
            let top = domains.of(CpuId(0)).last().unwrap();
            assert_eq!(domains.level(top).params.balance_fork, is_for_forks, "{distance}");
        }
    }

    /// Nodes of caches of cores of threads, siblings adjacent.
    fn regular([nodes, caches, cores, threads]: [u32; 4], distances: &[Vec<u32>]) -> Topology {
        let place = |cpu: u32| {
            let core = cpu / threads;
            let cache = core / cores;
            Place { core, cache, package: cache / caches, node: cache / caches }
        };
        let cpus = nodes * caches * cores * threads;
        Topology::new((0..cpus).map(place).collect(), distances).unwrap()
    }

    /// The domains of `cpu`: name, span and, for nodes, the tolerated imbalance.
    fn table(topology: &Topology, cpu: u32) -> Vec<String> {
        let domains = build(topology);
        let caches = CacheSharing::new(&domains);
        let cpu = CpuId(cpu);
        let row = |number: usize| {
            let level = domains.level(number);
            let name = match level.kind {
                LevelKind::Smt => "SMT",
                LevelKind::MultiCore => "MC",
                LevelKind::Cpu => "PKG",
                LevelKind::Node | LevelKind::AllNodes => "NUMA",
            };
            let span = schedlab_core::cpu_set::cpu_list(&level.span(cpu).cpus);
            let mut text = alloc::format!("{name} {span}");
            if is_numa(level.kind) {
                text += &alloc::format!(" ({})", caches.numa_imbalance(&domains, number, cpu));
            }
            text
        };
        domains.of(cpu).map(row).collect()
    }

    /// Four nodes in a ring with two distances.
    fn ring() -> Topology {
        let distances = [[10, 16, 16, 22], [16, 10, 22, 16], [16, 22, 10, 16], [22, 16, 16, 10]];
        regular([4, 1, 2, 1], &distances.map(Vec::from))
    }

    #[test]
    fn domains_of_the_machines_of_the_specification() {
        let pairs = [[10, 21, 31, 31], [21, 10, 31, 31], [31, 31, 10, 21], [31, 31, 21, 10]];
        let cases: [(Topology, &[&str]); 8] = [
            (Topology::flat(4), &["MC 0-3"]),
            (regular([1, 1, 2, 2], &[]), &["SMT 0-1", "MC 0-3"]),
            (regular([1, 2, 2, 2], &[]), &["SMT 0-1", "MC 0-3", "PKG 0-7"]),
            (regular([2, 1, 4, 2], &[]), &["SMT 0-1", "MC 0-7", "NUMA 0-15 (1)"]),
            (regular([2, 2, 2, 1], &[]), &["MC 0-1", "PKG 0-3", "NUMA 0-7 (2)"]),
            (ring(), &["MC 0-1", "NUMA 0-5 (1)", "NUMA 0-7 (1)"]),
            (
                regular([4, 1, 2, 1], &pairs.map(Vec::from)),
                &["MC 0-1", "NUMA 0-3 (1)", "NUMA 0-7 (2)"],
            ),
            // Every core has a cache of its own: none is shared.
            (regular([1, 4, 1, 1], &[]), &["PKG 0-3"]),
        ];
        for (topology, expected) in cases {
            assert_eq!(table(&topology, 0), expected);
        }
        let far = build(&regular([4, 1, 2, 1], &pairs.map(Vec::from)));
        let top = far.of(CpuId(0)).last().unwrap();
        assert!(far.level(top).params.balance_newidle && !far.level(top).params.balance_exec);
        let apart = build(&regular([1, 4, 1, 1], &[]));
        assert_eq!(CacheSharing::new(&apart).llc_size(&apart, CpuId(0)), 1);
    }

    #[test]
    fn cores_with_and_without_threads_are_groups_of_their_own_kind() {
        let place = |(core, cpu): (u32, u32)| (cpu, Place { core, cache: 0, package: 0, node: 0 });
        let cores = [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (3, 5)];
        let places = cores.map(|pair| place(pair).1).to_vec();
        let topology = Topology::new(places, &[]).unwrap();
        assert_eq!(table(&topology, 0), ["SMT 0-1", "MC 0-5"]);
        assert_eq!(table(&topology, 4), ["MC 0-5"]);
        let domains = build(&topology);
        let mc = domains.of(CpuId(4)).last().unwrap();
        let groups = &domains.level(mc).span(CpuId(4)).groups;
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1, 1]);
        // Threads of two cores, one of a third, and a core of its own. A single thread of a core is
        // part of one core.
        let caches = CacheSharing::new(&domains);
        let cores = |cpus: &[u32]| {
            caches.cores(&domains, &cpus.iter().copied().map(CpuId).collect::<Vec<_>>())
        };
        assert_eq!(cores(&[0, 1, 2, 3, 4]), 3);
        assert_eq!((cores(&[0]), cores(&[1]), cores(&[5])), (1, 1, 1));
        // The group of a core with threads has the flags of the domain below; the other has none.
        assert!(domains.child(CpuId(0), mc).is_some() && domains.child(CpuId(4), mc).is_none());
    }

    #[test]
    fn nodes_that_overlap_form_groups_that_overlap() {
        let domains = build(&ring());
        let groups = |level: usize, cpu: u32| -> Vec<Vec<u32>> {
            let span = domains.level(level).span(CpuId(cpu));
            span.groups.iter().map(|group| group.iter().map(|cpu| cpu.0).collect()).collect()
        };
        let levels: Vec<usize> = domains.of(CpuId(0)).collect();
        assert_eq!(groups(levels[1], 0), [[0, 1], [2, 3], [4, 5]]);
        assert_eq!(groups(levels[2], 0), [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]);
        let top = domains.level(levels[2]).span(CpuId(0));
        assert_eq!(top.balancers(0), [CpuId(0), CpuId(1)]);
        assert_eq!(top.balancers(1), [CpuId(6), CpuId(7)]);
        assert_eq!(domains.level(levels[2]).group_of(CpuId(0)), 0);
        let near = domains.level(levels[1]);
        assert!(near.share(CpuId(0), CpuId(5)) && !near.share(CpuId(0), CpuId(6)));
    }

    #[test]
    fn a_search_begins_behind_and_goes_round() {
        let cpus: Vec<CpuId> = [0, 1, 4, 5].map(CpuId).to_vec();
        let order =
            |after| round(&cpus, CpuId(after), &CpuSet::All).map(|cpu| cpu.0).collect::<Vec<_>>();
        assert_eq!(order(1), [4, 5, 0, 1]);
        assert_eq!(order(5), [0, 1, 4, 5]);
    }
}
