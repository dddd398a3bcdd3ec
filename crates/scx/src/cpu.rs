//! CPUs as the class keeps them, and the numbers of its CPU masks.

/// A CPU.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cpu {
    /// Its current task. `None`: the idle task.
    pub curr: Option<u32>,
    /// Whether the current task cannot continue: it blocked, or its affinity excludes this CPU.
    pub is_curr_gone: bool,
    /// Whether the last report to the policy said that it is idle.
    pub is_idle: bool,
    /// The CPU that the last search with `distribute` chose.
    pub distribute_prev: u32,
    /// Whether it is online.
    pub is_online: bool,
    /// Whether a task of a class above runs.
    pub is_taken: bool,
    /// Whether the policy knows that, and does not know yet that it has the CPU back.
    pub is_released: bool,
    /// CPU time of the class's tasks at the last charge, ns.
    pub exec_ns: u64,
}

impl Cpu {
    /// Whether a task is the current one and can continue.
    pub fn goes_on_with(&self, row: u32) -> bool {
        self.curr == Some(row) && !self.is_curr_gone
    }

    /// Whether it runs no task of any class.
    pub fn is_vacant(&self) -> bool {
        self.curr.is_none() && !self.is_taken
    }
}

/// Number of the mask of idle CPUs in the region of masks.
pub const MASK_IDLE: u32 = 0;
/// Mask of CPUs whose whole core is idle.
pub const MASK_IDLE_SMT: u32 = 1;
/// Mask of online CPUs.
pub const MASK_ONLINE: u32 = 2;
/// Mask of all CPUs.
pub const MASK_POSSIBLE: u32 = 3;
/// Empty mask.
pub const MASK_EMPTY: u32 = 4;
/// Mask of the idle CPUs of the first memory node. The mask of its idle cores follows, then the two
/// masks of the next node.
pub const MASK_NODES: u32 = 5;

/// Returns the number of the first mask that policies may create, on a machine with `nodes` nodes.
pub(crate) const fn first_mask(nodes: u32) -> u32 {
    MASK_NODES + 2 * nodes
}
