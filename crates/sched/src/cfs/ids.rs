//! The indices of entities and queues.

use schedlab_core::CpuId;
use schedlab_core::define_index;
use schedlab_core::index::TypedIndex;

define_index! {
    /// The row number of a scheduling entity in [`Cfs`](super::Cfs): a task, or a group on one CPU.
    pub struct EntityId;
}

define_index! {
    /// The row number of a queue (`cfs_rq`) in [`Cfs`](super::Cfs): a group on one CPU.
    pub struct CfsRqId;
}

impl CfsRqId {
    /// Returns the queue of the root group on `cpu`. These are the first rows.
    #[inline]
    pub fn root(cpu: CpuId) -> CfsRqId {
        CfsRqId::new(cpu.index())
    }
}
