//! The distances between CPUs, the CPUs that share a queue, and the orders in which a CPU visits
//! the others.

use alloc::vec::Vec;
use schedlab_core::{CpuId, Topology};

/// Number of CPUs of the largest machine. (The table of orders grows with its square.)
pub(super) const CPUS_MAX: u32 = 1024;

/// `LOCALITY_DISTANT`: the locality of CPUs on different nodes.
const DISTANT: u8 = 5;

/// CPUs that share a queue: the boot parameter `rqshare`. The tunable has these numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RqShare {
    /// No CPUs: each has a queue of its own.
    None = 0,
    /// The threads of a core.
    Smt = 1,
    /// The CPUs of a package. The default.
    Mc = 2,
    /// The CPUs that share the last level of cache.
    Llc = 3,
    /// The CPUs of a node.
    Smp = 4,
    /// The CPUs of a node, too. (By its name it should join nodes, but it does not.)
    All = 5,
}

impl RqShare {
    /// The value with this number.
    pub(super) fn from_number(number: i64) -> Option<RqShare> {
        let all =
            [RqShare::None, RqShare::Smt, RqShare::Mc, RqShare::Llc, RqShare::Smp, RqShare::All];
        all.into_iter().find(|value| *value as i64 == number)
    }

    /// The largest locality of two CPUs that share a queue.
    fn reach(self) -> u8 {
        match self {
            RqShare::None => 0,
            RqShare::Smt => 1,
            RqShare::Llc => 2,
            RqShare::Mc => 3,
            RqShare::Smp | RqShare::All => 4,
        }
    }
}

/// How near two CPUs are: 0 the same, 1 the same core, 2 the same last-level cache, 3 the same
/// package, 4 the same node, [`DISTANT`] different nodes.
fn locality(topology: &Topology, a: CpuId, b: CpuId) -> u8 {
    if a == b {
        return 0;
    }
    if topology.is_flat() {
        // One package, whose CPUs share a cache.
        return 2;
    }
    let (a, b) = (topology.place(a), topology.place(b));
    match () {
        () if a.core == b.core => 1,
        () if a.cache == b.cache => 2,
        () if a.package == b.package => 3,
        () if a.node == b.node => 4,
        () => DISTANT,
    }
}

/// The machine as seen by the scheduler.
#[derive(Debug)]
pub(super) struct Nearness {
    cpus: usize,
    topology: Topology,
    /// By CPU: all CPUs in the order in which it looks for one to preempt. One row after the other.
    cpu_orders: Vec<u16>,
    /// By CPU: the leader of its queue.
    leaders: Vec<CpuId>,
    /// By CPU: the leaders in the order in which it looks for a task. One row after the other.
    queue_orders: Vec<u16>,
    queues: usize,
    /// By CPU: the other threads of its core.
    siblings: Vec<Vec<CpuId>>,
    /// By CPU: the number of its last-level cache, from 0.
    caches: Vec<u16>,
    has_threads: bool,
}

impl Nearness {
    pub(super) fn new(topology: &Topology, share: RqShare) -> Nearness {
        let cpus = topology.cpus() as usize;
        let near = |a, b| locality(topology, a, b);
        let all = || topology.iter();
        let siblings: Vec<Vec<CpuId>> =
            all().map(|cpu| all().filter(|&other| near(cpu, other) == 1).collect()).collect();
        let least = if siblings.iter().any(|others| !others.is_empty()) { 1 } else { 2 };
        let cpu_orders = all().flat_map(|cpu| cpu_order(topology, cpu, least)).collect();
        let first_within = |cpu, reach| all().find(|&other| near(cpu, other) <= reach);
        let caches = all().map(|cpu| first_within(cpu, 2).unwrap_or(cpu).0 as u16).collect();
        let mut nearness = Nearness {
            cpus,
            topology: topology.clone(),
            cpu_orders,
            leaders: Vec::new(),
            queue_orders: Vec::new(),
            queues: 0,
            has_threads: least == 1,
            siblings,
            caches,
        };
        nearness.share(share);
        nearness
    }

    /// Joins the CPUs' queues.
    pub(super) fn share(&mut self, share: RqShare) {
        let topology = &self.topology;
        let leads =
            |cpu| topology.iter().find(|&other| locality(topology, cpu, other) <= share.reach());
        self.leaders = topology.iter().map(|cpu| leads(cpu).unwrap_or(cpu)).collect();
        self.queue_orders.clear();
        for cpu in topology.iter() {
            let own = self.leaders[cpu.index()];
            self.queue_orders.push(own.0 as u16);
            for &other in &self.cpu_orders[cpu.index() * self.cpus..][..self.cpus] {
                let other = CpuId(other.into());
                if self.leaders[other.index()] == other && other != own {
                    self.queue_orders.push(other.0 as u16);
                }
            }
        }
        self.queues = self.queue_orders.len() / self.cpus;
    }

    /// How near two CPUs are; see [`locality`].
    #[inline]
    pub(super) fn locality(&self, a: CpuId, b: CpuId) -> u8 {
        locality(&self.topology, a, b)
    }

    /// Whether two CPUs are on different nodes.
    #[inline]
    pub(super) fn is_distant(&self, a: CpuId, b: CpuId) -> bool {
        self.locality(a, b) == DISTANT
    }

    /// Whether some core has several threads.
    #[inline]
    pub(super) fn has_threads(&self) -> bool {
        self.has_threads
    }

    /// Number of queues.
    #[inline]
    pub(super) fn queues(&self) -> usize {
        self.queues
    }

    /// The leader of the queue that `cpu` belongs to.
    #[inline]
    pub(super) fn leader(&self, cpu: CpuId) -> CpuId {
        self.leaders[cpu.index()]
    }

    /// The leader of the queue that `cpu` visits after `visited` others when it looks for a task.
    /// It visits its own queue first.
    #[inline]
    pub(super) fn queue_at(&self, cpu: CpuId, visited: usize) -> CpuId {
        CpuId(self.queue_orders[cpu.index() * self.queues + visited].into())
    }

    /// All CPUs in the order in which `cpu` looks for one to preempt, itself first.
    #[inline]
    pub(super) fn cpu_order(&self, cpu: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        let row = &self.cpu_orders[cpu.index() * self.cpus..][..self.cpus];
        row.iter().map(|&other| CpuId(other.into()))
    }

    /// The other threads of the core of `cpu`.
    #[inline]
    pub(super) fn siblings(&self, cpu: CpuId) -> &[CpuId] {
        &self.siblings[cpu.index()]
    }

    /// The number of the last-level cache of `cpu`.
    #[inline]
    pub(super) fn cache(&self, cpu: CpuId) -> usize {
        self.caches[cpu.index()].into()
    }
}

/// All CPUs in the order in which `cpu` visits them: locality by locality. Within one, the first in
/// number from `cpu` on (upwards in the lower half of the machine, downwards in the upper one),
/// then always the one that is nearest to the last. `least` is the least locality of two CPUs.
fn cpu_order(topology: &Topology, cpu: CpuId, least: u8) -> Vec<u16> {
    let cpus = topology.cpus();
    let mut order: Vec<u16> = Vec::with_capacity(cpus as usize);
    for distance in 0..=DISTANT {
        let mut listed: Vec<(usize, CpuId)> = (0..cpus)
            .map(|step| match cpu.0 < cpus / 2 {
                true => CpuId((cpu.0 + step) % cpus),
                false => CpuId((cpu.0 + cpus - step) % cpus),
            })
            .filter(|&other| locality(topology, cpu, other) == distance)
            .enumerate()
            .collect();
        let mut taken = 0;
        let mut last = None;
        while !listed.is_empty() {
            let place = match last {
                None => 0,
                Some(last) => nearest(topology, &listed, last, least).unwrap_or_else(|| {
                    // The one whose place in the list is the number taken. (If it has been taken,
                    // the kernel reads outside its arrays; here the first that is left comes next.)
                    listed.iter().position(|&(place, _)| place == taken).unwrap_or(0)
                }),
            };
            let (_, next) = listed.remove(place);
            order.push(next.0 as u16);
            last = Some(next);
            taken += 1;
        }
    }
    order
}

/// The place of the CPU in `listed` that is nearest to `last`; `None` if all are on other nodes.
fn nearest(
    topology: &Topology,
    listed: &[(usize, CpuId)],
    last: CpuId,
    least: u8,
) -> Option<usize> {
    let (mut best, mut found) = (DISTANT, None);
    for (place, &(_, other)) in listed.iter().enumerate() {
        let distance = locality(topology, last, other);
        if distance < best {
            (best, found) = (distance, Some(place));
            if distance == least {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use schedlab_core::topology::Place;

    fn orders(nearness: &Nearness, cpu: u32) -> (Vec<u32>, Vec<u32>) {
        let numbers = |cpus: &mut dyn Iterator<Item = CpuId>| cpus.map(|cpu| cpu.0).collect();
        (
            numbers(&mut nearness.cpu_order(CpuId(cpu))),
            numbers(&mut (0..nearness.queues()).map(|at| nearness.queue_at(CpuId(cpu), at))),
        )
    }

    #[test]
    fn the_lower_half_goes_upwards_and_the_upper_half_downwards() {
        let mut nearness = Nearness::new(&Topology::flat(4), RqShare::Mc);
        assert_eq!(orders(&nearness, 1), (vec![1, 2, 3, 0], vec![0]));
        assert_eq!(orders(&nearness, 2), (vec![2, 1, 0, 3], vec![0]));
        nearness.share(RqShare::None);
        assert_eq!(orders(&nearness, 2).1, [2, 1, 0, 3]);
        assert_eq!(nearness.queues(), 4);
    }

    #[test]
    fn near_cpus_come_first_and_next_to_each_other() {
        // Two nodes of two cores of two threads; the threads of a core are two apart.
        let place = |cpu: u32| {
            let (node, core) = (cpu / 4, cpu / 4 * 2 + cpu % 2);
            Place { core, cache: node, package: node, node }
        };
        let topology =
            Topology::new((0..8).map(place).collect(), &[]).expect("the machine is valid");
        let mut nearness = Nearness::new(&topology, RqShare::Smt);
        assert!(nearness.has_threads());
        assert_eq!(nearness.siblings(CpuId(5)), [CpuId(7)]);
        assert_eq!(orders(&nearness, 0), (vec![0, 2, 1, 3, 4, 6, 5, 7], vec![0, 1, 4, 5]));
        assert_eq!(orders(&nearness, 7), (vec![7, 5, 6, 4, 3, 1, 2, 0], vec![5, 4, 1, 0]));
        nearness.share(RqShare::All);
        assert_eq!(orders(&nearness, 7).1, [4, 0], "nodes are not joined");
        assert_eq!(nearness.leader(CpuId(6)), CpuId(4));
        let localities = [0, 2, 1, 4].map(|other| nearness.locality(CpuId(0), CpuId(other)));
        assert_eq!(localities, [0, 1, 2, 5]);
    }
}
