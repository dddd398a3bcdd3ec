//! What the kernel's time went into, on a modelled machine: [`KernelFigures`].

use serde::{Deserialize, Serialize};

/// Kernel time on a modelled machine. It is part of tasks' CPU time, or of idle time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KernelFigures {
    /// All of it, waiting for locks included and getting out of idle states left out, ns.
    pub kernel_ns: u64,
    /// What of it, getting out of idle states included, counts as CPU time of tasks, ns.
    pub with_task_ns: u64,
    /// The same for idle time, ns.
    pub idle_ns: u64,
    /// By kind, ns. What had been begun and not ended when the run did is here in full, so the sum
    /// may be a little larger.
    pub kinds: Vec<KindRow>,
    /// Inter-processor interrupts.
    pub interrupts: u64,
    /// Times that a lock was found held.
    pub contended: u64,
    /// All of it by CPU, ns.
    pub cpus_ns: Vec<u64>,
    /// The costs that were charged at all, by the names that `--cost` takes: `lock_remote`. Not in
    /// the JSON.
    #[serde(skip)]
    pub charged: Vec<String>,
}

/// A kind of kernel time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KindRow {
    /// `spin`, `switch`, ...
    pub kind: String,
    /// How long, all CPUs together, ns.
    pub ns: u64,
}

impl KernelFigures {
    /// Time of the kind of that name, ns. None: there is no such kind.
    pub fn ns(&self, kind: &str) -> Option<u64> {
        self.kinds.iter().find(|row| row.kind == kind).map(|row| row.ns)
    }
}
