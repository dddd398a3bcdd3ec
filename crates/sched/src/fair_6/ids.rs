//! The indices of entities and runqueues.

use schedlab_core::index::TypedIndex;
use schedlab_core::{CpuId, define_index};

define_index! {
    /// A scheduling entity, by its row in [`Fair`](super::class::Fair): a task, or a group on one
    /// CPU.
    pub struct EntityId;
}

define_index! {
    /// A fair runqueue (`cfs_rq`), by its row in [`Fair`](super::class::Fair): first the root
    /// group's queues in the order of the CPUs, then the queues of other groups.
    pub struct CfsRqId;
}

impl CfsRqId {
    /// The root group's queue of `cpu`.
    #[inline]
    pub fn of_cpu(cpu: CpuId) -> CfsRqId {
        CfsRqId::new(cpu.index())
    }
}
