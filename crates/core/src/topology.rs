//! Connections between the CPUs of a machine.
//!
//! A CPU belongs to a **core** (its CPUs are the core's hardware threads), the core to a group of
//! cores that share a **cache**, that group to a **package**, and all of it to a memory **node**.
//! The places of the CPUs are arguments of [`Topology::new`], so CPUs can be numbered as the
//! machine numbers them and packages can differ. It checks that each smaller unit lies within a
//! larger one.
//!
//! Schedulers use a topology in two ways: by **level** (which CPUs belong together, from the
//! smallest groups to the largest; scheduling domains are built from these), and by **place** (the
//! distance between two CPUs).
//!
//! A package is a place but not a level. The unit that kernels balance at their `CPU`, `DIE` or
//! `PKG` level is a memory node, of which the packages are parts.

use crate::CpuId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

/// The kernel's kinds of scheduling domain, smallest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LevelKind {
    /// Hardware threads of one core (`SMT`).
    Smt,
    /// Cores that share a cache (`MC`).
    MultiCore,
    /// All CPUs of a node: its packages, or simply all CPUs of a flat machine (`CPU`, `DIE`, `PKG`
    /// by release).
    Cpu,
    /// Memory nodes (`NODE`, `NUMA`).
    Node,
    /// All nodes of a machine with more nodes than one node domain holds (`ALLNODES`). Topologies
    /// have no such level. The releases that use it create it.
    AllNodes,
}

impl LevelKind {
    /// Returns the name that `/proc/sys/kernel/sched_domain` of 2.6.32 gives it.
    pub const fn name(self) -> &'static str {
        match self {
            LevelKind::Smt => "SMT",
            LevelKind::MultiCore => "MC",
            LevelKind::Cpu => "CPU",
            LevelKind::Node => "NODE",
            LevelKind::AllNodes => "ALLNODES",
        }
    }
}

/// One level of the machine: a division of its CPUs into groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    /// Kind of level.
    pub kind: LevelKind,
    /// For each CPU, the number of its span at this level. CPUs with equal numbers form one domain.
    /// Numbered from 0 without gaps.
    pub span_of: Vec<u32>,
}

/// Location of a CPU. The numbers are the machine's own and count across it: core 0 of package 1 is
/// not core 0 of package 0. Only equality of numbers matters, not their values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Its core. CPUs of one core are hardware threads.
    pub core: u32,
    /// The largest cache that it shares with other cores, or its own cache.
    pub cache: u32,
    /// Its package (socket).
    pub package: u32,
    /// Its memory node, from 0 without gaps.
    pub node: u32,
}

/// The distance of a node to itself, as firmware reports it (`LOCAL_DISTANCE`).
pub const LOCAL_DISTANCE: u32 = 10;
/// The distance between nodes where nothing else is known (`REMOTE_DISTANCE`).
pub const REMOTE_DISTANCE: u32 = 20;

/// The CPUs of a machine and how they are connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    cpus: u32,
    places: Vec<Place>,
    nodes: u32,
    /// The distance of each node's memory from each node, row by row.
    distances: Vec<u32>,
    levels: Vec<Level>,
    is_flat: bool,
}

/// The largest machine, in CPUs.
pub const CPUS_MAX: u32 = 4096;

/// Reason for which a description is not a valid topology.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TopologyError {
    /// The number of CPUs is `0` or more than [`CPUS_MAX`].
    Cpus(usize),
    /// Two CPUs share a unit, but not the larger unit that must contain it.
    DoesNotNest {
        /// The shared unit, with its number: `core`, `cache`, `package`.
        shared: (&'static str, u32),
        /// The larger unit, which they should share and do not.
        torn: &'static str,
        /// The two CPUs.
        cpus: (u32, u32),
    },
    /// Nodes are not numbered from 0 without gaps: this one is missing.
    NodeMissing(u32),
    /// The table of distances is not a square with one row for each node.
    DistanceTable {
        /// Number of nodes of the machine.
        nodes: u32,
        /// The first row that is wrong, or the number of rows.
        row: usize,
        /// Number of entries in that row. `None`: the number of rows is wrong.
        entries: Option<usize>,
    },
    /// A distance is invalid.
    Distance {
        /// From this node.
        from: u32,
        /// To this one.
        to: u32,
        /// The distance given.
        given: u32,
        /// Description of the error, and what would be right.
        why: &'static str,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::Cpus(cpus) => {
                write!(f, "a machine has 1 to {CPUS_MAX} CPUs, not {cpus}")
            }
            TopologyError::DoesNotNest { shared: (what, number), torn, cpus: (a, b) } => write!(
                f,
                "{what} {number} is in two {torn}s: CPUs {a} and {b} are both in it, but in \
                 different {torn}s; give them the same {torn}, or different {what}s"
            ),
            TopologyError::NodeMissing(node) => {
                write!(f, "no CPU is in node {node}: nodes are numbered from 0 without gaps")
            }
            TopologyError::DistanceTable { nodes, row, entries } => match entries {
                None => {
                    write!(f, "{row} rows of distances for {nodes} nodes: give a row for each node")
                }
                Some(entries) => write!(
                    f,
                    "row {row} of the distances has {entries} entries for {nodes} nodes: give one for each node"
                ),
            },
            TopologyError::Distance { from, to, given, why } => {
                write!(f, "the distance from node {from} to node {to} is {given}: {why}")
            }
        }
    }
}

impl core::error::Error for TopologyError {}

impl Topology {
    /// Returns `cpus` equal CPUs, all equally far from each other: one level of kind
    /// [`LevelKind::Cpu`] that spans them all, or no level for a single CPU.
    ///
    /// # Panics
    /// If `cpus` is 0 or above [`CPUS_MAX`].
    pub fn flat(cpus: u32) -> Topology {
        let place = |cpu| Place { core: cpu, cache: cpu, package: cpu, node: 0 };
        match Topology::new((0..cpus).map(place).collect(), &[]) {
            Ok(topology) => Topology { is_flat: true, ..topology },
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates the machine whose CPU i is at `places[i]`. `distances` has a row for each node with
    /// its distance to each node. If it is empty, all nodes are [`REMOTE_DISTANCE`] from each
    /// other.
    ///
    /// # Errors
    /// If a smaller unit does not lie within a larger one (core in cache, cache in package and in
    /// node. Packages and nodes may contain each other, but not overlap), or the distances do not
    /// match the nodes.
    pub fn new(places: Vec<Place>, distances: &[Vec<u32>]) -> Result<Topology, TopologyError> {
        if places.is_empty() || places.len() > CPUS_MAX as usize {
            return Err(TopologyError::Cpus(places.len()));
        }
        let nodes = check_nesting(&places)?;
        let distances = check_distances(nodes, distances)?;
        let mut topology = Topology {
            cpus: places.len() as u32,
            places,
            nodes,
            distances,
            levels: Vec::new(),
            is_flat: false,
        };
        topology.levels = topology.make_levels();
        Ok(topology)
    }

    /// Returns `cpus` CPUs that are connected as `levels` specifies, smallest level first. Places
    /// are derived from the levels.
    ///
    /// # Panics
    /// If `cpus` is 0 or above [`CPUS_MAX`], or a level does not name a span for every CPU.
    pub fn with_levels(cpus: u32, levels: Vec<Level>) -> Topology {
        assert!((1..=CPUS_MAX).contains(&cpus), "a machine has 1 to {CPUS_MAX} CPUs, not {cpus}");
        assert!(levels.iter().all(|level| level.span_of.len() == cpus as usize));
        let span = |kind, cpu: u32| {
            let level = levels.iter().find(|level| level.kind == kind)?;
            Some(level.span_of[cpu as usize])
        };
        let has_nodes = levels.iter().any(|level| level.kind == LevelKind::Node);
        let places: Vec<Place> = (0..cpus)
            .map(|cpu| {
                let core = span(LevelKind::Smt, cpu).unwrap_or(cpu);
                let cache = span(LevelKind::MultiCore, cpu).unwrap_or(core);
                let node = span(LevelKind::Cpu, cpu).filter(|_| has_nodes).unwrap_or(0);
                Place { core, cache, package: cache, node }
            })
            .collect();
        let nodes = places.iter().map(|place| place.node).max().map_or(1, |max| max + 1);
        let distances = uniform_distances(nodes);
        Topology { cpus, places, nodes, distances, levels, is_flat: false }
    }

    /// Returns the machine reduced to its first `cpus` CPUs, as `maxcpus=` does. Nodes left without
    /// CPUs disappear. `None`: the machine has fewer CPUs, or `cpus` is 0.
    pub fn first(&self, cpus: u32) -> Option<Topology> {
        let left = self.places.get(..cpus as usize).filter(|left| !left.is_empty())?;
        let mut nodes: Vec<u32> = left.iter().map(|place| place.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let renumbered = |node| nodes.iter().take_while(|&&other| other < node).count() as u32;
        let places = left.iter().map(|place| Place { node: renumbered(place.node), ..*place });
        let row = |&from: &u32| nodes.iter().map(|&to| self.distance(from, to)).collect();
        let distances: Vec<Vec<u32>> = nodes.iter().map(row).collect();
        // A part of a valid topology is valid.
        let topology = Topology::new(places.collect(), &distances).ok()?;
        Some(Topology { is_flat: self.is_flat, ..topology })
    }

    /// Returns the number of CPUs.
    #[inline]
    pub const fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Whether nothing is known about the connections of the CPUs ([`Topology::flat`]). Where it
    /// matters, such CPUs share one cache. On other machines, CPUs with separate caches share none.
    #[inline]
    pub const fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Returns the CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.cpus).map(CpuId)
    }

    /// Returns the levels, smallest first. A level at which CPUs share nothing new is left out: a
    /// machine without hardware threads has no [`LevelKind::Smt`]. Each node distance that divides
    /// the nodes cleanly is a level of kind [`LevelKind::Node`]; the largest always does.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Returns the place of `cpu`.
    #[inline]
    pub fn place(&self, cpu: CpuId) -> Place {
        self.places[cpu.index()]
    }

    /// Returns the number of memory nodes.
    #[inline]
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Returns the distance of node `to`'s memory from node `from`; [`LOCAL_DISTANCE`] from itself.
    #[inline]
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        self.distances[(from * self.nodes + to) as usize]
    }

    fn make_levels(&self) -> Vec<Level> {
        let mut levels = Vec::new();
        if self.cpus == 1 {
            return levels;
        }
        let spans = |number_of: &dyn Fn(&Place) -> u32| renumber(self.places.iter().map(number_of));
        let (cores, caches) = (spans(&|place| place.core), spans(&|place| place.cache));
        if cores.iter().max() != Some(&(self.cpus - 1)) {
            levels.push(Level { kind: LevelKind::Smt, span_of: cores.clone() });
        }
        if caches != cores {
            levels.push(Level { kind: LevelKind::MultiCore, span_of: caches });
        }
        levels.push(Level { kind: LevelKind::Cpu, span_of: spans(&|place| place.node) });
        let mut reaches: Vec<u32> = self.distances.clone();
        reaches.sort_unstable();
        reaches.dedup();
        for &reach in &reaches[1..] {
            if let Some(nodes) = self.nodes_within(reach) {
                levels.push(Level {
                    kind: LevelKind::Node,
                    span_of: spans(&|place| nodes[place.node as usize]),
                });
            }
        }
        levels
    }

    /// Returns, for each node, the number of the set of nodes within `reach` of each other that
    /// contains it. `None`: these sets overlap instead of dividing the machine (in a ring each node
    /// is near two others, which are not near each other).
    fn nodes_within(&self, reach: u32) -> Option<Vec<u32>> {
        let near = |a, b| self.distance(a, b) <= reach;
        let first: Vec<u32> = (0..self.nodes)
            .map(|node| (0..self.nodes).find(|&other| near(node, other)).unwrap_or(node))
            .collect();
        let all = |a: u32| (0..self.nodes).map(move |b| (a, b));
        (0..self.nodes)
            .flat_map(all)
            .all(|(a, b)| near(a, b) == (first[a as usize] == first[b as usize]))
            .then(|| renumber(first.iter().copied()))
    }
}

/// Returns the same division, numbered from 0 in order of first appearance.
fn renumber(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut known = BTreeMap::new();
    numbers
        .map(|number| {
            let next = known.len() as u32;
            *known.entry(number).or_insert(next)
        })
        .collect()
}

/// Checks that smaller units lie within larger ones. Returns the number of nodes.
fn check_nesting(places: &[Place]) -> Result<u32, TopologyError> {
    type Part = (&'static str, fn(&Place) -> u32);
    const CORE: Part = ("core", |place| place.core);
    const CACHE: Part = ("cache", |place| place.cache);
    const PACKAGE: Part = ("package", |place| place.package);
    const NODE: Part = ("node", |place| place.node);
    // Cores first: where no cache is given, the cache number has no meaning of its own.
    for (small, large) in
        [(CORE, PACKAGE), (CORE, NODE), (CORE, CACHE), (CACHE, PACKAGE), (CACHE, NODE)]
    {
        check_within(places, small, large)?;
    }
    let package_in_node = check_within(places, PACKAGE, NODE);
    if package_in_node.is_err() && check_within(places, NODE, PACKAGE).is_err() {
        package_in_node?;
    }
    let mut nodes: Vec<u32> = places.iter().map(|place| place.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    match (0..).zip(&nodes).find(|&(expected, &node)| expected != node) {
        Some((missing, _)) => Err(TopologyError::NodeMissing(missing)),
        None => Ok(nodes.len() as u32),
    }
}

/// Checks that CPUs with equal numbers of the small unit have equal numbers of the large one.
fn check_within(
    places: &[Place],
    (shared, small): (&'static str, fn(&Place) -> u32),
    (torn, large): (&'static str, fn(&Place) -> u32),
) -> Result<(), TopologyError> {
    // The first CPU with each number.
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    for (cpu, place) in (0..).zip(places) {
        let other = *first.entry(small(place)).or_insert(cpu);
        if large(&places[other as usize]) != large(place) {
            return Err(TopologyError::DoesNotNest {
                shared: (shared, small(place)),
                torn,
                cpus: (other, cpu),
            });
        }
    }
    Ok(())
}

fn uniform_distances(nodes: u32) -> Vec<u32> {
    let all =
        |from| (0..nodes).map(move |to| if from == to { LOCAL_DISTANCE } else { REMOTE_DISTANCE });
    (0..nodes).flat_map(all).collect()
}

/// Checks a table of distances and returns it with its rows concatenated.
fn check_distances(nodes: u32, table: &[Vec<u32>]) -> Result<Vec<u32>, TopologyError> {
    if table.is_empty() {
        return Ok(uniform_distances(nodes));
    }
    let bad_table = |row, entries| TopologyError::DistanceTable { nodes, row, entries };
    if table.len() != nodes as usize {
        return Err(bad_table(table.len(), None));
    }
    if let Some(row) = table.iter().position(|row| row.len() != nodes as usize) {
        return Err(bad_table(row, Some(table[row].len())));
    }
    for (from, row) in table.iter().enumerate() {
        for (to, &given) in row.iter().enumerate() {
            let why = if from == to && given != LOCAL_DISTANCE {
                "a node is at 10 from itself"
            } else if from != to && !(LOCAL_DISTANCE + 1..=254).contains(&given) {
                "other nodes are at 11 to 254"
            } else if given != table[to][from] {
                "the distance back differs; give both the same"
            } else {
                continue;
            };
            return Err(TopologyError::Distance { from: from as u32, to: to as u32, given, why });
        }
    }
    Ok(table.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn place(core: u32, cache: u32, package: u32, node: u32) -> Place {
        Place { core, cache, package, node }
    }

    fn spans(topology: &Topology) -> Vec<(LevelKind, Vec<u32>)> {
        let level = |level: &Level| (level.kind, level.span_of.clone());
        topology.levels().iter().map(level).collect()
    }

    #[test]
    fn a_flat_machine_is_one_level() {
        assert_eq!(spans(&Topology::flat(1)), []);
        assert_eq!(spans(&Topology::flat(3)), [(LevelKind::Cpu, vec![0, 0, 0])]);
        assert_eq!(Topology::flat(3).nodes(), 1);
    }

    #[test]
    fn the_first_cpus_of_a_machine_keep_their_places_and_distances() {
        // Three nodes in the order 0, 2, 1. The distance from a to b is 20 + a + b.
        let places = [0, 0, 2, 2, 1, 1].iter().enumerate();
        let places = places.map(|(cpu, &node)| place(cpu as u32, node, node, node)).collect();
        let distances = [vec![10, 21, 22], vec![21, 10, 23], vec![22, 23, 10]];
        let machine = Topology::new(places, &distances).unwrap();
        let four = machine.first(4).unwrap();
        assert_eq!((four.cpus(), four.nodes()), (4, 2));
        assert_eq!((four.place(CpuId(3)).node, four.distance(0, 1)), (1, 22));
        assert_eq!(machine.first(6), Some(machine.clone()));
        assert_eq!(machine.first(1).unwrap().levels(), []);
        assert_eq!((machine.first(7), machine.first(0)), (None, None));
    }

    #[test]
    fn levels_come_from_places_however_cpus_are_numbered() {
        // Two nodes of one package each, two cores of two threads. Siblings are i and i + 4,
        // packages alternate.
        let places = (0..8).map(|cpu| place(cpu % 4, cpu % 2 + 10, cpu % 2, cpu % 2));
        let topology = Topology::new(places.collect(), &[]).unwrap();
        assert_eq!(
            spans(&topology),
            [
                (LevelKind::Smt, vec![0, 1, 2, 3, 0, 1, 2, 3]),
                (LevelKind::MultiCore, vec![0, 1, 0, 1, 0, 1, 0, 1]),
                (LevelKind::Cpu, vec![0, 1, 0, 1, 0, 1, 0, 1]),
                (LevelKind::Node, vec![0; 8]),
            ]
        );
        assert_eq!((topology.distance(0, 0), topology.distance(1, 0)), (10, 20));
    }

    #[test]
    fn cores_may_have_different_numbers_of_threads() {
        // Two cores of two threads, four of one, one cache.
        let cores = [0, 0, 1, 1, 2, 3, 4, 5];
        let topology = Topology::new(cores.map(|core| place(core, 0, 0, 0)).to_vec(), &[]).unwrap();
        assert_eq!(topology.levels()[0].span_of, cores);
        assert_eq!(topology.levels().len(), 3);
    }

    #[test]
    fn each_distance_that_divides_the_nodes_is_a_level() {
        let four = || (0..4).map(|cpu| place(cpu, cpu, cpu, cpu)).collect::<Vec<_>>();
        let pairs = [[10, 15, 30, 30], [15, 10, 30, 30], [30, 30, 10, 15], [30, 30, 15, 10]];
        let topology = Topology::new(four(), &pairs.map(Vec::from)).unwrap();
        assert_eq!(
            spans(&topology)[1..],
            [(LevelKind::Node, vec![0, 0, 1, 1]), (LevelKind::Node, vec![0; 4])]
        );
        // In a ring no two neighbours have the same neighbours.
        let ring = [[10, 15, 30, 15], [15, 10, 15, 30], [30, 15, 10, 15], [15, 30, 15, 10]];
        let topology = Topology::new(four(), &ring.map(Vec::from)).unwrap();
        assert_eq!(spans(&topology)[1..], [(LevelKind::Node, vec![0; 4])]);
    }

    #[test]
    fn what_does_not_nest_is_refused_with_the_two_cpus_that_show_it() {
        let refuse =
            |places: &[Place]| Topology::new(places.to_vec(), &[]).unwrap_err().to_string();
        assert_eq!(
            refuse(&[place(0, 0, 0, 0), place(1, 1, 0, 0), place(1, 2, 0, 0)]),
            "core 1 is in two caches: CPUs 1 and 2 are both in it, but in different caches; give them the same cache, or different \
             cores"
        );
        let torn_cache = refuse(&[place(0, 0, 0, 0), place(1, 0, 1, 0)]);
        assert!(torn_cache.starts_with("cache 0 is in two packages: CPUs 0 and 1"), "{torn_cache}");
        let overlap = refuse(&[place(0, 0, 0, 0), place(1, 1, 0, 1), place(2, 2, 1, 1)]);
        assert!(overlap.starts_with("package 0 is in two nodes"), "{overlap}");
        assert_eq!(
            refuse(&[place(0, 0, 0, 0), place(1, 1, 1, 2)]),
            "no CPU is in node 1: nodes are numbered from 0 without gaps"
        );
        assert_eq!(refuse(&[]), "a machine has 1 to 4096 CPUs, not 0");
    }

    #[test]
    fn packages_may_lie_in_nodes_and_nodes_in_packages() {
        assert!(Topology::new(vec![place(0, 0, 0, 0), place(1, 1, 1, 0)], &[]).is_ok());
        assert!(Topology::new(vec![place(0, 0, 0, 0), place(1, 1, 0, 1)], &[]).is_ok());
    }

    #[test]
    fn distances_are_those_of_the_nodes() {
        let refuse = |table: &[&[u32]]| {
            let table: Vec<Vec<u32>> = table.iter().map(|row| row.to_vec()).collect();
            let places = vec![place(0, 0, 0, 0), place(1, 1, 1, 1)];
            Topology::new(places, &table).unwrap_err().to_string()
        };
        assert_eq!(refuse(&[&[10]]), "1 rows of distances for 2 nodes: give a row for each node");
        assert_eq!(
            refuse(&[&[10, 20], &[20]]),
            "row 1 of the distances has 1 entries for 2 nodes: give one for each node"
        );
        assert_eq!(
            refuse(&[&[11, 20], &[20, 10]]),
            "the distance from node 0 to node 0 is 11: a node is at 10 from itself"
        );
        assert!(refuse(&[&[10, 10], &[10, 10]]).ends_with("other nodes are at 11 to 254"));
        assert!(refuse(&[&[10, 20], &[21, 10]]).ends_with("give both the same"));
    }
}
