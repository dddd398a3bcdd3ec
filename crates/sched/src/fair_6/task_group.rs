//! Task groups: on each CPU an entity stands for the group, with its queue below it. What that
//! entity weighs: [`update_shares`](super::update_shares).
//!
//! A group's queue on a CPU comes into being when the first of its tasks comes there, so that
//! thousands of groups on thousands of CPUs cost what is used of them.

use super::entity::WEIGHT_SHIFT;
use super::ids::CfsRqId;
use alloc::vec::Vec;
use schedlab_core::{CpuId, GroupId};

/// A task group.
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// The group above; none for the root.
    pub parent: Option<GroupId>,
    /// The last of the groups in it that was made.
    pub youngest: Option<GroupId>,
    /// The last one that was made before it in the same group.
    pub next_older: Option<GroupId>,
    /// Its weight as a whole, stored (shifted); 2 to 262144 before shifting.
    pub shares: u64,
    /// `cpu.idle`: it counts as `SCHED_IDLE` beside its siblings.
    pub idle: bool,
    /// The shares of this group or of one below have been written: entities that have come into
    /// being since then were as empty when their weight was found.
    pub renewed: bool,
    /// By CPU: its queue, if it has come into being.
    cfs_rqs: Vec<Option<CfsRqId>>,
    /// Sum of what its queues have published of their load.
    pub load_avg: u64,
}

/// `cpu.shares` as the kernel clamps it, stored.
pub fn stored_shares(shares: u64) -> u64 {
    shares.clamp(2, 262_144) << WEIGHT_SHIFT
}

impl TaskGroup {
    /// The root: its queues are the CPUs' own.
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
        }
    }

    /// Its queue on `cpu`, if it has come into being.
    #[inline]
    pub fn cfs_rq_on(&self, cpu: CpuId) -> Option<CfsRqId> {
        self.cfs_rqs[cpu.index()]
    }

    /// `q` is its queue on `cpu` from now on.
    pub fn set_cfs_rq(&mut self, cpu: CpuId, q: CfsRqId) {
        self.cfs_rqs[cpu.index()] = Some(q);
    }

    /// Its queues that have come into being, by CPU.
    pub fn cfs_rqs(&self) -> impl Iterator<Item = CfsRqId> + '_ {
        self.cfs_rqs.iter().flatten().copied()
    }
}
