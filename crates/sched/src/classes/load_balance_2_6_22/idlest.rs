//! CPU selection: for a forked task, for a task that calls `execve(2)`, and for a woken task that
//! seeks an idle CPU.

use super::{Balanced, CpuLoad, Domains};
use schedlab_core::{CpuId, CpuSet};

/// Purpose of a search for the idlest CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// A fork: only node domains take part, so that it chooses a node and, if it is another node,
    /// the CPU of the least load there.
    Fork,
    /// An exec: all domains take part.
    Exec,
}

impl Domains {
    /// `sched_balance_self`: returns the idlest CPU of `allowed` for a task on `cpu`, from the
    /// largest domain down to the smallest.
    pub fn idlest(&self, cpu: CpuId, walk: Walk, allowed: &CpuSet) -> CpuId {
        let takes_part = |&level: &usize| {
            let params = &self.tree.level(level).params;
            match walk {
                Walk::Fork => params.balance_fork,
                Walk::Exec => params.balance_exec,
            }
        };
        let smaller = |cpu, than| self.tree.of(cpu).filter(move |&level| level < than);
        let mut cpu = cpu;
        let mut next = self.tree.of(cpu).rfind(takes_part);
        while let Some(level) = next {
            let group = self.find_idlest_group(cpu, level, allowed);
            let found = group.and_then(|group| {
                self.find_idlest_cpu(self.tree.level(level).span(cpu).group(group), cpu, allowed)
            });
            cpu = found.unwrap_or(cpu);
            next = smaller(cpu, level).rfind(takes_part);
        }
        cpu
    }

    /// `find_idlest_group`: returns the number of the group with the least load for its power, if
    /// the local group has enough more load that the move is worthwhile.
    fn find_idlest_group(&self, cpu: CpuId, level: usize, allowed: &CpuSet) -> Option<usize> {
        let domain = self.tree.level(level);
        let (span, own) = (domain.span(cpu), domain.group_of(cpu));
        let groups = if span.single_cpu_groups { span.cpus.len() } else { span.groups.len() };
        let average = domain.params.forkexec_idx.checked_sub(1).map(usize::from);
        let load_of = |number: usize| {
            let cpus = span.group(number);
            if !cpus.iter().any(|&cpu| allowed.contains(cpu)) {
                return None;
            }
            let load_of_cpu = |cpu: &CpuId| {
                let load: &CpuLoad = self.load(*cpu);
                match average {
                    None => load.raw_weighted_load,
                    Some(average) if number == own => load.source_load(average),
                    Some(average) => load.target_load(average),
                }
            };
            let load: u64 = cpus.iter().map(load_of_cpu).sum();
            Some(load * self.scale / self.power(level, cpus[0]))
        };
        let mut least: Option<(u64, usize)> = None;
        for number in (own + 1..groups).chain(0..own) {
            if let Some(load) = load_of(number)
                && least.is_none_or(|(least, _)| load < least)
            {
                least = Some((load, number));
            }
        }
        let own_load = load_of(own).unwrap_or(0);
        let imbalance = 100 + (u64::from(domain.params.imbalance_pct) - 100) / 2;
        least.filter(|&(load, _)| 100 * own_load >= imbalance * load).map(|(_, group)| group)
    }

    /// `find_idlest_cpu`: returns the allowed CPU with the least load; `this` among equals, else
    /// the first.
    fn find_idlest_cpu(&self, cpus: &[CpuId], this: CpuId, allowed: &CpuSet) -> Option<CpuId> {
        let allowed = cpus.iter().copied().filter(|&cpu| allowed.contains(cpu));
        allowed.min_by_key(|&cpu| (self.load(cpu).raw_weighted_load, cpu != this))
    }
}

/// `wake_idle`: returns the CPU on which a task wakes for which `cpu` was chosen. If exactly one
/// task is there, an idle thread of the same core is better (in 2.6.24 also an idle CPU of the same
/// cache); the lowest-numbered, if there are several. `may_run_on` returns whether the task may use
/// a CPU.
pub fn wake_idle<Q: Balanced>(
    queues: &mut Q,
    cpu: CpuId,
    may_run_on: impl Fn(&Q, CpuId) -> bool,
) -> CpuId {
    if queues.domains().load(cpu).nr_running > 1 || queues.is_idle(cpu) {
        return cpu;
    }
    for level in queues.domains().tree.of(cpu) {
        let domain = queues.domains().tree.level(level);
        if !domain.params.wake_idle {
            break;
        }
        for place in 0..domain.span(cpu).cpus.len() {
            let other = queues.domains().tree.level(level).span(cpu).cpus[place];
            if queues.is_idle(other) && may_run_on(queues, other) {
                return other;
            }
        }
    }
    cpu
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;
    use schedlab_core::Topology;
    use schedlab_core::topology::Place;

    /// Returns two nodes of two cores of two threads each that share a cache, with a task of weight
    /// 128 for each occurrence of a CPU in `tasks`.
    fn machine(tasks: &[u32]) -> Fake {
        let place =
            |cpu: u32| Place { core: cpu / 2, cache: cpu / 4, package: cpu / 4, node: cpu / 4 };
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        Fake::new(Domains::new(&topology, 1000), tasks)
    }

    fn idlest(fake: &Fake, cpu: u32, walk: Walk) -> u32 {
        fake.domains.idlest(CpuId(cpu), walk, &CpuSet::All).0
    }

    #[test]
    fn a_fork_chooses_a_node_and_an_exec_any_cpu() {
        // The local core is full. The other core of the node is idle, and so is the other node.
        let fake = machine(&[0, 1]);
        assert_eq!(idlest(&fake, 0, Walk::Fork), 4);
        // Between groups without load it goes to the other one, at each level.
        assert_eq!(idlest(&fake, 0, Walk::Exec), 7);
        // A task on each node: a fork stays on its own CPU, an exec leaves its core.
        let fake = machine(&[0, 4]);
        assert_eq!(idlest(&fake, 0, Walk::Fork), 0);
        let fake = machine(&[0, 0, 4, 4]);
        assert_eq!(idlest(&fake, 0, Walk::Fork), 0);
        assert_eq!(idlest(&fake, 0, Walk::Exec), 3);
        // CPUs on which it may not run are not considered.
        let only_own_core = CpuSet::from_cpus([CpuId(0), CpuId(1)]);
        assert_eq!(fake.domains.idlest(CpuId(0), Walk::Exec, &only_own_core), CpuId(1));
    }

    #[test]
    fn a_task_that_wakes_beside_one_other_goes_to_the_cores_idle_thread() {
        let anywhere = |_: &Fake, _: CpuId| true;
        let wakes = |tasks: &[u32], cpu| wake_idle(&mut machine(tasks), CpuId(cpu), anywhere).0;
        assert_eq!(wakes(&[0], 0), 1);
        assert_eq!(wakes(&[], 1), 1, "that CPU is idle itself");
        assert_eq!(wakes(&[0, 0], 0), 0, "it has two tasks");
        assert_eq!(wakes(&[0, 1], 0), 0, "the other thread is busy, other cores do not count");
        let never = |_: &Fake, _: CpuId| false;
        assert_eq!(wake_idle(&mut machine(&[0]), CpuId(0), never), CpuId(0));
    }

    /// Three nodes: of one cache, of two, and of one. A load of 200 in the second is 100 for the
    /// power of one, less than the 150 of the third.
    #[test]
    fn groups_are_compared_by_what_they_could_do() {
        let cache = [0, 0, 1, 1, 2, 2, 3, 3];
        let node = [0, 0, 1, 1, 1, 1, 2, 2];
        let place = |cpu: usize| Place {
            core: cpu as u32,
            cache: cache[cpu],
            package: node[cpu],
            node: node[cpu],
        };
        let topology = Topology::new((0..8).map(place).collect(), &[]).unwrap();
        let mut domains = Domains::of(super::super::Version::V2_6_22, &topology, 1000);
        for (cpu, load) in [(0, 2000), (2, 200), (6, 150)] {
            domains.set_load(CpuId(cpu), load, 1);
        }
        for cpu in (0..8).map(CpuId) {
            (0..64).for_each(|_| domains.update_cpu_load(cpu));
        }
        let top = domains.tree.of(CpuId(0)).last().unwrap();
        assert_eq!([0, 2, 6].map(|cpu| domains.power(top, CpuId(cpu))), [128, 256, 128]);
        assert_eq!(domains.find_idlest_group(CpuId(0), top, &CpuSet::All), Some(1));
    }
}
