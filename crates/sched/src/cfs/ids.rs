//! The indices of entities and queues.

use schedlab_core::CpuId;
use schedlab_core::define_index;
use schedlab_core::index::TypedIndex;

define_index! {
    /// A scheduling entity, by its row in [`Cfs`](super::Cfs): a task, or a group on one CPU.
    pub struct EntityId;
}

define_index! {
    /// A queue (`cfs_rq`), by its row in [`Cfs`](super::Cfs): a group on one CPU.
    pub struct CfsRqId;
}

impl CfsRqId {
    /// The root group's queue of `cpu`. These are the first rows.
    #[inline]
    pub fn root(cpu: CpuId) -> CfsRqId {
        CfsRqId::new(cpu.index())
    }
}
