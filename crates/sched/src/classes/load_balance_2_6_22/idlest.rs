//! Where a forked task starts, where one goes that calls `execve(2)`, and where a woken one finds
//! an idle CPU.

use super::{Balanced, CpuLoad, Domains};
use schedlab_core::{CpuId, CpuSet};

/// For what the idlest CPU is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// A fork: only domains of nodes take part, so that it chooses a node and, if it is another
    /// one, the CPU of the least load there.
    Fork,
    /// An exec: all domains take part.
    Exec,
}

impl Domains {
    /// `sched_balance_self`: the idlest CPU of `allowed` for a task on `cpu`, from the largest
    /// domain down to the smallest.
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
        let mut next = self.tree.of(cpu).filter(takes_part).last();
        while let Some(level) = next {
            let group = self.find_idlest_group(cpu, level, allowed);
            let found = group.and_then(|group| {
                self.find_idlest_cpu(self.tree.level(level).span(cpu).group(group), cpu, allowed)
            });
            cpu = found.unwrap_or(cpu);
            next = smaller(cpu, level).filter(takes_part).last();
        }
        cpu
    }

    /// `find_idlest_group`: the number of the group with the least load for its power, if the own
    /// one has so much more that going there is worth it.
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

    /// `find_idlest_cpu`: the allowed CPU with the least load; `this` among equals, else the first.
    fn find_idlest_cpu(&self, cpus: &[CpuId], this: CpuId, allowed: &CpuSet) -> Option<CpuId> {
        let allowed = cpus.iter().copied().filter(|&cpu| allowed.contains(cpu));
        allowed.min_by_key(|&cpu| (self.load(cpu).raw_weighted_load, cpu != this))
    }
}

/// `wake_idle`: where a task wakes for which `cpu` was chosen. If exactly one task is there, an
/// idle thread of the same core is better (in 2.6.24 an idle CPU of the same cache, too); the lowest
/// number, if there are several. `may_run_on`: which CPUs it may use.
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
