//! CPUs as the class keeps them, and the numbers of its CPU masks.

/// A CPU.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cpu {
    /// Its current task; none: the idle task.
    pub curr: Option<u32>,
    /// The current task cannot go on: it blocked, or may not be here.
    pub is_curr_gone: bool,
    /// Whether the policy was told last that it is idle.
    pub is_idle: bool,
    /// The CPU that the last choice among several gave.
    pub distribute_prev: u32,
    /// Whether it is on line.
    pub is_online: bool,
    /// A task of a class above runs.
    pub is_taken: bool,
    /// The policy was told so, and not yet that it has it back.
    pub is_released: bool,
    /// What tasks of the class have run, as last charged, ns.
    pub exec_ns: u64,
}

impl Cpu {
    /// Whether a task is the current one and can go on.
    pub fn goes_on_with(&self, row: u32) -> bool {
        self.curr == Some(row) && !self.is_curr_gone
    }

    /// Whether it runs nothing, of whatever class.
    pub fn is_vacant(&self) -> bool {
        self.curr.is_none() && !self.is_taken
    }
}

/// The numbers of the class's own masks in the region of masks.
pub const MASK_IDLE: u32 = 0;
/// CPUs of cores of which all threads are idle.
pub const MASK_IDLE_SMT: u32 = 1;
/// CPUs on line.
pub const MASK_ONLINE: u32 = 2;
/// All CPUs.
pub const MASK_POSSIBLE: u32 = 3;
/// No CPU.
pub const MASK_EMPTY: u32 = 4;
/// The idle CPUs of the first memory node; behind them its idle cores, then those of the next.
pub const MASK_NODES: u32 = 5;

/// The first mask that policies may make, on a machine of so many nodes.
pub(crate) const fn first_mask(nodes: u32) -> u32 {
    MASK_NODES + 2 * nodes
}
