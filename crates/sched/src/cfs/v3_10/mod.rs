//! CFS of Linux 3.10: the rules of 3.2, in a kernel with the core of later releases.
//!
//! Entities, queues, timelines, weights, slices, buddies and groups are as in
//! [`Cfs`]. What 3.10 has of its own is here:
//!
//! | file | contents |
//! |---|---|
//! | [`load_avg`] | how much each entity has been runnable (3.8), from which groups get shares |
//! | [`queue`] | enqueue and dequeue, vruntimes relative to the queue, throttling |
//! | [`running`] | pick, put, tick, preemption |
//! | [`select`] | the CPU of a woken, forked or executing task |
//! | [`domains`] | the parameters of the scheduling domains |
//! | [`statistics`] | which CPU is busiest, and by how much |
//! | [`balance`] | when CPUs balance, and which tasks move |
//! | [`hooks`] | the interface to the core |
//!
//! A CPU's load for balancing is still the weight that is queued there: the averages serve the
//! division of group shares only.
//!
//! # Difference from the kernel
//!
//! Below a throttled group shares are not divided. A group whose first task on a CPU arrives there
//! has no weight in 3.10, and the group above it counts as empty as soon as its other tasks have
//! gone: it leaves the runqueue, and the task waits until another one arrives. Later kernels give
//! every group a weight. Here such a group gets its shares at once.

pub mod balance;
pub mod domains;
pub mod hooks;
pub mod load_avg;
pub mod queue;
pub mod running;
pub mod select;
pub mod statistics;

use super::entity::EntityKind;
use super::ids::{CfsRqId, EntityId};
use super::{Cfs, Version};
use crate::classes::core_6::Core6;
use crate::classes::rt::RtVersion;
use crate::classes::{Pid, Preemption, Rqs};
use alloc::vec::Vec;
use load_avg::{EntityAvg, GroupAvg, QueueAvg};
use schedlab_core::index::TypedIndex;
use schedlab_core::{BuildConfig, CpuId, GroupId};

/// State of a CPU.
#[derive(Clone, Debug)]
pub struct CpuState {
    /// `cfs_tasks`: the queued tasks of all groups, the head of the kernel's list last.
    tasks: Vec<EntityId>,
    /// `idle_stamp`: when the CPU last went idle, ns.
    idle_stamp: Option<u64>,
    /// `avg_idle`: for how long it usually idles, ns.
    avg_idle: i64,
    /// `h_load_throttle`: the kernel's jiffy in which its `h_load`s were computed.
    h_load_at: i64,
    /// `cpu_power`.
    power: u64,
}

/// The fair class of 3.10.
#[derive(Clone, Debug)]
pub struct Cfs310 {
    base: Cfs,
    /// By entity.
    avgs: Vec<EntityAvg>,
    /// By queue.
    queue_avgs: Vec<QueueAvg>,
    /// By group.
    group_avgs: Vec<GroupAvg>,
    /// By CPU.
    cpus: Vec<CpuState>,
    /// By level and first CPU that balances for a group: its power.
    power: Vec<Vec<u64>>,
    /// By level and first CPU that balances for a group: the jiffy of its next renewal.
    power_due: Vec<Vec<u64>>,
    /// The preemption model of the kernel.
    preemption: Preemption,
    /// Reading of the scheduler's clock at time 0, ns.
    clock_ns: u64,
    /// Jiffies at time 0.
    jiffies: i64,
    /// Whether the kernel was built with task groups.
    group_scheduling: bool,
}

/// Linux 3.10.
pub type Kernel310 = Core6<Cfs310>;

impl Kernel310 {
    /// The scheduler on an idle machine.
    pub fn of_config(config: &BuildConfig) -> Kernel310 {
        let tree = domains::build(&config.topology);
        let rqs = Rqs::new(tree.clone());
        let fair = Cfs310::new(&rqs, config.hz);
        Core6::with_classes(fair, RtVersion::V3_10, tree, config.hz)
    }
}

impl Cfs310 {
    fn new(rqs: &Rqs, hz: u32) -> Cfs310 {
        let cpus = rqs.cpus();
        let state = |_| CpuState {
            tasks: Vec::with_capacity(64),
            idle_stamp: Some(1),
            avg_idle: 1_000_000,
            h_load_at: 0,
            power: 1024,
        };
        let levels = rqs.domains.levels();
        let mut fair = Cfs310 {
            base: Cfs::new(Version::V3_10, rqs, hz),
            avgs: Vec::new(),
            queue_avgs: Vec::new(),
            group_avgs: alloc::vec![GroupAvg::default()],
            cpus: (0..cpus).map(state).collect(),
            power: alloc::vec![alloc::vec![1024; cpus as usize]; levels],
            power_due: alloc::vec![alloc::vec![0; cpus as usize]; levels],
            preemption: Preemption::Full,
            clock_ns: 0,
            jiffies: -300 * i64::from(hz),
            group_scheduling: true,
        };
        fair.power_at_boot(rqs);
        fair.start_intervals(rqs);
        fair.grow();
        fair
    }

    /// Makes room for the averages of new entities, queues and groups.
    fn grow(&mut self) {
        self.avgs.resize(self.base.entities.len(), EntityAvg::default());
        self.queue_avgs.resize(self.base.queues.len(), QueueAvg::default());
    }

    /// `cfs_rq` of an entity.
    fn queue_of(&self, e: EntityId) -> CfsRqId {
        self.base.entities[e].cfs_rq
    }

    fn parent_of(&self, e: EntityId) -> Option<EntityId> {
        self.base.entities[e].parent
    }

    /// `group_cfs_rq`: the queue that a group's entity owns.
    fn my_queue(&self, e: EntityId) -> Option<CfsRqId> {
        match self.base.entities[e].kind {
            EntityKind::Task(_) => None,
            EntityKind::Group(q) => Some(q),
        }
    }

    fn entity_if_any(&self, pid: Pid) -> Option<EntityId> {
        self.base.entity_of.get(pid.index()).copied().flatten()
    }

    /// `set_task_rq`.
    fn set_task_rq(&mut self, e: EntityId, group: GroupId, cpu: CpuId) {
        self.base.set_task_rq(e, group, cpu);
        self.grow();
    }

    fn cpu_state(&mut self, cpu: CpuId) -> &mut CpuState {
        &mut self.cpus[cpu.index()]
    }

    fn weight_of(&self, q: CfsRqId) -> u64 {
        self.base.queues[q].load
    }

    fn row(&mut self, q: CfsRqId) -> &mut QueueAvg {
        &mut self.queue_avgs[q.index()]
    }
}
