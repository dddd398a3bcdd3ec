//! Task groups. On each CPU an entity represents the group, with the group's queue below it. For
//! its weight see [`update_shares`](super::update_shares).
//!
//! A group's queue on a CPU is created when the first of its tasks comes to that CPU, so that
//! thousands of groups on thousands of CPUs cost only what is used.

use super::entity::WEIGHT_SHIFT;
use super::ids::CfsRqId;
use alloc::vec::Vec;
use schedlab_core::{CpuId, GroupId};

/// A task group.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// The parent group. `None` for the root.
    pub parent: Option<GroupId>,
    /// The most recently created child group.
    pub youngest: Option<GroupId>,
    /// The sibling created before it.
    pub next_older: Option<GroupId>,
    /// Weight of the whole group, stored (shifted); 2 to 262144 before the shift.
    pub shares: u64,
    /// `cpu.idle`: whether it competes with its siblings as `SCHED_IDLE`.
    pub idle: bool,
    /// Whether the shares of this group, or of one below it, have been written. Entities created
    /// since then were equally empty when their weight was computed.
    pub renewed: bool,
    /// By CPU: its queue, if it has been created.
    cfs_rqs: Vec<Option<CfsRqId>>,
    /// Sum of the loads that its queues have published.
    pub load_avg: u64,
    /// Sum of the averages of runnable tasks that they have published with it (7.3).
    pub runnable_avg: u64,
}

/// `cpu.shares` as clamped by the kernel, as a stored weight.
pub fn stored_shares(shares: u64) -> u64 {
    shares.clamp(2, 262_144) << WEIGHT_SHIFT
}

impl TaskGroup {
    /// The root group, whose queues are the first ones, in the order of the CPUs.
    pub fn root(cpus: u32) -> TaskGroup {
        let own = |cpu| Some(CfsRqId::of_cpu(CpuId(cpu)));
        TaskGroup { cfs_rqs: (0..cpus).map(own).collect(), ..TaskGroup::new(cpus, None, 1024) }
    }

    /// A group below `parent` with no queues yet.
    pub fn new(cpus: u32, parent: Option<GroupId>, shares: u64) -> TaskGroup {
        TaskGroup {
            parent,
            youngest: None,
            next_older: None,
            shares: stored_shares(shares),
            idle: false,
            renewed: false,
            cfs_rqs: alloc::vec![None; cpus as usize],
            load_avg: 0,
            runnable_avg: 0,
        }
    }

    /// Its queue on `cpu`, if it has been created.
    #[inline]
    pub fn cfs_rq_on(&self, cpu: CpuId) -> Option<CfsRqId> {
        self.cfs_rqs[cpu.index()]
    }

    /// Makes `q` its queue on `cpu`.
    pub fn set_cfs_rq(&mut self, cpu: CpuId, q: CfsRqId) {
        self.cfs_rqs[cpu.index()] = Some(q);
    }

    /// The queues that have been created, in the order of the CPUs.
    pub fn cfs_rqs(&self) -> impl Iterator<Item = CfsRqId> + '_ {
        self.cfs_rqs.iter().flatten().copied()
    }
}
