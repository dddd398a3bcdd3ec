//! CFS, the Completely Fair Scheduler: Linux 2.6.23 to 2.6.32, and 3.2.
//!
//! # The idea
//!
//! On an ideal machine all tasks would run at once, each with its share of the CPU's speed. A real
//! CPU runs one at a time, so CFS records for each task the time it has run, weighted by its
//! importance: its **vruntime**. The vruntime of a nice-0 task grows as fast as the clock, that of
//! a lighter task faster, and that of a heavier one slower. On the ideal machine all vruntimes
//! would be equal. CFS always runs **the task that is furthest behind**. There are no priorities,
//! no time slices handed out, and no interactivity heuristics. The remaining questions are
//!
//! * the time that a task may run before the next one ([`sched_slice`]);
//! * where new tasks and sleepers, whose vruntime is meaningless, start ([`place`]);
//! * when a woken task takes the CPU at once ([`preempt`]).
//!
//! # State
//!
//! Each CPU has a queue ([`cfs_rq::CfsRq`]): the waiting entities ordered by vruntime, and
//! `min_vruntime`, which follows the smallest of them and never goes back. Vruntimes are meaningful
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
//! | file | contents |
//! |---|---|
//! | [`update_curr`] | charging: vruntime grows |
//! | [`place`] | the vruntime of new tasks and sleepers |
//! | [`pick`], [`buddies`] | which entity runs next |
//! | [`preempt`], [`sched_slice`] | when the running entity gives way |
//! | [`enqueue`] | joining and leaving a queue, with the groups above |
//! | [`class`] | the class's hooks, which the core calls |
//! | [`entity`], [`cfs_rq`], [`timeline`] | the competing entities and their queues |
//! | [`vruntime`], [`load_weight`] | the arithmetic of virtual time and of weights |
//! | [`averages`] | averages of a task's behaviour |
//! | [`task_group`], [`set_task_rq`], [`cpu_cgroup`] | task groups, their queues, their files |
//! | [`update_shares`] | the weight of a group on each CPU |
//! | [`throttle`] | throttling of groups that have used up their quota, and unthrottling (3.2) |
//! | [`select_task_rq`] | CPU selection for woken and new tasks |
//! | [`load_balance`], [`find_busiest_group`], [`move_tasks`] | moving tasks between CPUs |
//! | `balance_2_6_24` | several CPUs in 2.6.24 |
//! | [`cpu_load`], [`cpu_power`], [`lb_env`], [`lb_stats`] | the data that the balancer compares |
//! | [`domain_levels`] | the scheduling domains of 2.6.32 |
//! | [`hrtick`] | the end of slices between ticks |
//! | [`releases`], [`features`] | the differences between releases |
//! | [`rules`], [`grounds`] | the decision rules and their grounds |
//! | [`entries`] | the releases in the registry, and how they are built |
//! | [`tunables`] | the tunables |
//! | [`v3_10`] | 3.10, which has load tracking and a balancer of its own |
//! | [`interactive`] | a proposed change: CPU-bound tasks are made less nice |
//! | [`wait_runtime`] | 2.6.23, which has a different algorithm |
//!
//! One cycle of calls among the files is the kernel's own: an enqueue may find its queue without
//! runtime and throttle it, which dequeues the group's entity ([`enqueue`], [`throttle`]).
//!
//! # Cost
//!
//! Enqueue, dequeue and put cost O(log n) for each level of groups, apart from short moves of
//! memory. A pick costs O(1) and a removal, and a tick O(levels). Balancing costs O(CPUs) per pass.
//! Dividing group shares costs O(groups x CPUs), at most every 0.25 ms (times the factor for the
//! number of CPUs) for each CPU.

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
pub mod v3_10;
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
    /// The number of CPUs for which the tunables are scaled.
    scaled_for: u32,
    /// Number of CPUs online at the last hotplug event.
    online_before: u32,
    /// Tasks, and the entities of groups on CPUs.
    entities: IndexVec<EntityId, Entity>,
    /// By [`Pid`]: the entity of each thread that is a task.
    entity_of: Vec<Option<EntityId>>,
    /// First the queues of the root group by CPU, then the queues of other groups in the order of
    /// creation.
    queues: IndexVec<CfsRqId, CfsRq>,
    groups: TaskGroups,
    /// By CPU: the queues of other groups there, the newest group first.
    queues_on: Vec<Vec<(GroupId, CfsRqId)>>,
    /// For each CPU, the number of its set of CPUs that are balanced alike.
    leaf_of: Vec<usize>,
    /// One CPU of each such set.
    leaf_cpus: Vec<CpuId>,
    cpu_loads: CpuLoads,
    cpu_power: CpuPower,
    /// By CPU: the jiffy from which its tick balances again.
    next_balance: Vec<u64>,
    /// By level and CPU.
    balancing: Vec<Vec<Balancing>>,
    /// The CPUs that a balancing pass considers.
    candidates: Candidates,
    /// 2.6.24: its domains and loads, which differ from later releases.
    early: Option<load_balance_2_6_22::Domains>,
    /// 2.6.24: the tasks that a balancing pass examines, in its order.
    early_order: Vec<Pid>,
    /// Whether a task has changed its group and kept the virtual time of the old one. The
    /// difference between the two groups' clocks is unbounded, and can double with each move back.
    keeps_foreign_time: bool,
    /// The groups' quotas.
    limits: Bandwidth<CfsRqId>,
    /// The rule of `cfs_interactive`.
    interactive: Interactive,
    /// By CPU: whether the hrtick is armed.
    hrtick_active: Vec<bool>,
    tick_ns: u64,
}

impl Cfs {
    /// Creates the class without tasks.
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

    /// Returns the virtual time of a task.
    pub fn vruntime(&self, pid: Pid) -> Vruntime {
        self.entities[self.entity_of(pid)].vruntime
    }

    /// Returns `min_vruntime` of the root queue of `cpu`.
    pub fn min_vruntime(&self, cpu: CpuId) -> Vruntime {
        self.queues[CfsRqId::root(cpu)].min_vruntime
    }
}
