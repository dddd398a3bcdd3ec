//! Kernel time on a modelled machine: [`KernelFigures`].

use serde::{Deserialize, Serialize};

/// Kernel time on a modelled machine. It is part of tasks' CPU time, or of idle time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KernelFigures {
    /// Total, including waiting for locks and excluding leaving idle states, ns.
    pub kernel_ns: u64,
    /// Part that counts as CPU time of tasks, including leaving idle states, ns.
    pub with_task_ns: u64,
    /// Part that counts as idle time, including leaving idle states, ns.
    pub idle_ns: u64,
    /// Time by kind, ns. Work that had begun and not ended when the run did is counted in full, so
    /// the sum may be a little larger.
    pub kinds: Vec<KindRow>,
    /// Number of inter-processor interrupts.
    pub interrupts: u64,
    /// Number of times that a lock was found held.
    pub contended: u64,
    /// Total by CPU, ns.
    pub cpus_ns: Vec<u64>,
    /// Costs that were charged at all, by the names that `--cost` takes: `lock_remote`. Not in the
    /// JSON.
    #[serde(skip)]
    pub charged: Vec<String>,
}

/// Kernel time of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KindRow {
    /// Kind: `spin`, `switch`, ...
    pub kind: String,
    /// Time, summed over CPUs, ns.
    pub ns: u64,
}

impl KernelFigures {
    /// Returns the time of the kind of that name, ns. `None`: unknown kind.
    pub fn ns(&self, kind: &str) -> Option<u64> {
        self.kinds.iter().find(|row| row.kind == kind).map(|row| row.ns)
    }
}
