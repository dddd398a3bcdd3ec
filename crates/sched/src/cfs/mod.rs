//! CFS, the Completely Fair Scheduler: Linux 2.6.23 to 2.6.32.
//!
//! # The idea
//!
//! On an ideal machine all tasks would run at once, each at its share of the CPU's speed. A real
//! CPU runs one at a time, so CFS keeps for each the time it has run, weighted by its importance:
//! its **vruntime**. A nice-0 task's vruntime grows as fast as the clock, a lighter one's faster, a
//! heavier one's slower. On the ideal machine all vruntimes would be equal; CFS always runs **the
//! one that is furthest behind**. That is all; there are no priorities, no time slices handed out,
//! no interactivity heuristics. What remains is
//!
//! * how long a task may run before another gets its turn ([`sched_slice`]);
//! * where newcomers and sleepers start, whose vruntime means nothing ([`place`]);
//! * when a woken task takes the CPU at once ([`preempt`]).
//!
//! # State
//!
//! Each CPU has a queue ([`cfs_rq::CfsRq`]): the waiting entities ordered by vruntime, and
//! `min_vruntime`, which follows the smallest of them and never goes back. Vruntimes mean something
//! only relative to the `min_vruntime` of their own queue: a task that changes CPU keeps its
//! distance to it.
//!
//! ```text
//!              place               pick: leftmost, or a buddy
//!   (new) ---------------> waiting <------------------------> running: curr, not among them
//!                            ^         put: back by vruntime     |
//!                            | place (credit)                    | blocks: curr until schedule()
//!                            +------------- asleep <-------------+
//! ```
//!
//! # Where to look
//!
//! | file | what |
//! |---|---|
//! | [`update_curr`] | charging: vruntime grows |
//! | [`place`] | the vruntime of newcomers and sleepers |
//! | [`pick`], [`buddies`] | which entity runs next |
//! | [`preempt`], [`sched_slice`] | when the running entity gives way |
//! | [`enqueue`] | joining and leaving a queue, with the groups above |
//! | [`class`] | the class's hooks, which the core calls |
//! | [`entity`], [`cfs_rq`], [`timeline`] | what competes, and in what |
//! | [`vruntime`], [`load_weight`] | the arithmetic of virtual time and of weights |
//! | [`averages`] | means over a task's behaviour |
//! | [`task_group`], [`set_task_rq`], [`cpu_cgroup`] | task groups, their queues, their files |
//! | [`update_shares`] | the weight of a group on each CPU |
//! | [`throttle`] | taking groups that have used up their quota off, and putting them back (3.2) |
//! | [`select_task_rq`] | where a woken or new task goes |
//! | [`load_balance`], [`find_busiest_group`], [`move_tasks`] | moving tasks between CPUs |
//! | `balance_2_6_24` | several CPUs in 2.6.24 |
//! | [`cpu_load`], [`cpu_power`], [`lb_env`], [`lb_stats`] | what the balancer compares |
//! | [`domain_levels`] | which domains 2.6.32 builds of a machine |
//! | [`hrtick`] | ending turns between ticks |
//! | [`releases`], [`rules`], [`features`] | the releases, and what differs between them |
//! | [`reasons`] | the rules by number, which every decision names, and the grounds |
//! | [`tunables`] | the tunables |
//! | [`interactive`] | a change that was proposed: CPU-bound tasks are made less nice |
//! | [`wait_runtime`] | 2.6.23, whose algorithm is another one |
//!
//! One circle among the files is the kernel's own: an enqueue may find its queue without runtime
//! and throttle it, which is a dequeue of the group's entity ([`enqueue`], [`throttle`]).
//!
//! # Cost
//!
//! Enqueue, dequeue, put: O(log n) for each level of groups, but for short moves of memory. Pick:
//! O(1) and a removal. Tick: O(levels). Balancing: O(CPUs) a pass. Dividing group shares: O(groups
//! x CPUs), at most every 0.25 ms (times the factor for the number of CPUs) for each CPU.

mod audit;
pub mod averages;
mod balance_2_6_24;
pub mod buddies;
pub mod cfs_rq;
pub mod class;
pub mod cpu_cgroup;
pub mod cpu_load;
pub mod cpu_power;
pub mod domain_levels;
pub mod enqueue;
pub mod entity;
pub mod entries;
pub mod features;
pub mod find_busiest_group;
pub mod grounds;
pub mod hrtick;
pub mod ids;
pub mod interactive;
pub mod lb_env;
pub mod lb_stats;
pub mod load_balance;
pub mod load_weight;
pub mod move_tasks;
pub mod pick;
pub mod place;
pub mod preempt;
pub mod releases;
#[cfg(test)]
mod rule_tests;
pub mod rules;
pub mod sched_slice;
pub mod select_task_rq;
pub mod set_task_rq;
pub mod task_group;
mod tasks;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod timeline;
pub mod tunables;
pub mod update_curr;
pub mod update_shares;
pub mod vruntime;
pub mod wait_runtime;

use crate::classes::bandwidth::{Bandwidth, BandwidthVersion};
use crate::classes::{Pid, Rqs, load_balance_2_6_22};
use alloc::vec::Vec;
use cfs_rq::CfsRq;
use cpu_load::CpuLoads;
use cpu_power::CpuPower;
pub use domain_levels::domains;
use entity::Entity;
pub use entries::{ENTRY, INTERACTIVE, core_2_6};
use ids::{CfsRqId, EntityId};
use interactive::Interactive;
use lb_env::{Balancing, Candidates};
pub use releases::Version;
use schedlab_core::index::IndexVec;
use schedlab_core::{CpuId, GroupId};
use task_group::TaskGroups;
pub use tunables::Tunables;
use vruntime::Vruntime;

/// The fair class of a release with vruntime, on all CPUs.
#[derive(Clone, Debug)]
pub struct Cfs {
    version: Version,
    tunables: Tunables,
    /// The number of CPUs that the tunables are scaled for.
    scaled_for: u32,
    /// How many CPUs were on line when one last came or went.
    online_before: u32,
    /// Tasks, and groups' presences on CPUs.
    entities: IndexVec<EntityId, Entity>,
    /// By [`Pid`]: the entity of each thread that is a task.
    entity_of: Vec<Option<EntityId>>,
    /// First those of the root group by CPU, then those of other groups as they were needed.
    queues: IndexVec<CfsRqId, CfsRq>,
    groups: TaskGroups,
    /// By CPU: the queues that other groups have there, the newest group first.
    queues_on: Vec<Vec<(GroupId, CfsRqId)>>,
    /// For each CPU the number of its set of CPUs that are balanced alike.
    leaf_of: Vec<usize>,
    /// A CPU of each such set.
    leaf_cpus: Vec<CpuId>,
    cpu_loads: CpuLoads,
    cpu_power: CpuPower,
    /// By CPU: the jiffy from which its tick balances again.
    next_balance: Vec<u64>,
    /// By level and CPU.
    balancing: Vec<Vec<Balancing>>,
    /// The CPUs among which a balancing pass looks.
    candidates: Candidates,
    /// 2.6.24: its domains and loads, which are not those of the later releases.
    early: Option<load_balance_2_6_22::Domains>,
    /// 2.6.24: the tasks that a balancing pass looks at, in its order.
    early_order: Vec<Pid>,
    /// A task has come to another group and kept the virtual time that it had in the old one. What
    /// lies between the two groups' clocks has no bound, and can double with each way back.
    keeps_foreign_time: bool,
    /// The groups' quotas.
    limits: Bandwidth<CfsRqId>,
    /// The rule of `cfs_interactive`.
    interactive: Interactive,
    /// By CPU: the hrtick is armed.
    hrtick_active: Vec<bool>,
    tick_ns: u64,
}

impl Cfs {
    /// The class with nothing to run.
    pub fn new(version: Version, rqs: &Rqs, hz: u32) -> Cfs {
        let cpus = rqs.cpus();
        let all = || (0..cpus).map(CpuId);
        let domains = &rqs.domains;
        let mut leaf_cpus: Vec<CpuId> = Vec::new();
        let leaf_of = all()
            .map(|cpu| {
                let known = leaf_cpus.iter().position(|&other| {
                    domains.of(cpu).next().is_some_and(|level| {
                        domains.of(other).next() == Some(level)
                            && domains.level(level).share(cpu, other)
                    })
                });
                known.unwrap_or_else(|| {
                    leaf_cpus.push(cpu);
                    leaf_cpus.len() - 1
                })
            })
            .collect();
        let balancing = |level: usize| Balancing {
            last_balance: 0,
            interval_ms: domain_levels::first_interval_ms(domains.level(level).kind),
            nr_failed: 0,
            last_update_ns: 0,
        };
        let levels = 0..domains.levels();
        Cfs {
            version,
            tunables: Tunables::at_boot(&version, cpus),
            scaled_for: cpus,
            online_before: cpus,
            entities: IndexVec::new(),
            entity_of: alloc::vec![None; 2 * cpus as usize],
            queues: all().map(|cpu| CfsRq::new(cpu, GroupId::ROOT, None)).collect(),
            groups: TaskGroups::new(),
            queues_on: alloc::vec![Vec::new(); cpus as usize],
            leaf_of,
            leaf_cpus,
            cpu_loads: CpuLoads::new(cpus),
            cpu_power: CpuPower::at_boot(domains, |_| true),
            next_balance: alloc::vec![0; cpus as usize],
            balancing: levels.map(|level| alloc::vec![balancing(level); cpus as usize]).collect(),
            candidates: Candidates::new(cpus),
            early: None,
            early_order: Vec::with_capacity(64),
            keeps_foreign_time: false,
            limits: Bandwidth::new(version.bandwidth.unwrap_or(BandwidthVersion::V3_2), cpus, hz),
            interactive: Interactive::default(),
            hrtick_active: alloc::vec![false; cpus as usize],
            tick_ns: 1_000_000_000 / u64::from(hz),
        }
    }

    /// The virtual time of a task.
    pub fn vruntime(&self, pid: Pid) -> Vruntime {
        self.entities[self.entity_of(pid)].vruntime
    }

    /// `min_vruntime` of the root queue of `cpu`.
    pub fn min_vruntime(&self, cpu: CpuId) -> Vruntime {
        self.queues[CfsRqId::root(cpu)].min_vruntime
    }
}
