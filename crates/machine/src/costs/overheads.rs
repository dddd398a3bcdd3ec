//! What the kernel's time went into.

use super::kernel::Charged;

/// A kind of kernel time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(usize)]
pub enum Overhead {
    /// `schedule()`, queueing and dequeueing, trees, bitmaps, locks that were free.
    Pick,
    /// Linear scans of the runqueue, and recalculation loops.
    Scan,
    /// Waiting for locks that other CPUs held.
    Spin,
    /// Context switches.
    Switch,
    /// Filling caches after a switch, and moving to another CPU.
    Refill,
    /// Wakeups and the scheduler's part of forks.
    Wakeup,
    /// Timer ticks.
    Tick,
    /// Interrupts: timers that wake tasks, and those from other CPUs.
    Interrupt,
    /// Balancing, and looking for a CPU.
    Balance,
    /// Getting out of idle states.
    Awaken,
}

impl Overhead {
    /// All of them.
    pub const ALL: [Overhead; 10] = [
        Overhead::Pick,
        Overhead::Scan,
        Overhead::Spin,
        Overhead::Switch,
        Overhead::Refill,
        Overhead::Wakeup,
        Overhead::Tick,
        Overhead::Interrupt,
        Overhead::Balance,
        Overhead::Awaken,
    ];

    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Overhead::Pick => "pick",
            Overhead::Scan => "scan",
            Overhead::Spin => "spin",
            Overhead::Switch => "switch",
            Overhead::Refill => "refill",
            Overhead::Wakeup => "wakeup",
            Overhead::Tick => "tick",
            Overhead::Interrupt => "interrupt",
            Overhead::Balance => "balance",
            Overhead::Awaken => "awaken",
        }
    }
}

/// The kernel time of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuOverheads {
    /// By kind, picoseconds. Together at most a nanosecond off the sum of the two below, which go
    /// by what has passed.
    kinds_ps: [u64; Overhead::ALL.len()],
    /// While a task was the CPU's current one, ns: part of what counts as that task's CPU time.
    /// With getting out of idle states, like the next.
    pub with_task_ns: u64,
    /// While the CPU idled, ns: part of what counts as idle time.
    pub idle_ns: u64,
}

impl CpuOverheads {
    #[inline]
    pub(crate) fn add(&mut self, kind: Overhead, ps: u64) {
        self.kinds_ps[kind as usize] += ps;
    }

    /// Time of this kind, ns.
    pub fn ns(&self, kind: Overhead) -> u64 {
        self.kinds_ps[kind as usize] / 1000
    }

    /// Kernel time, waiting for locks included and getting out of idle states left out, ns.
    pub fn kernel_ns(&self) -> u64 {
        (self.with_task_ns + self.idle_ns).saturating_sub(self.ns(Overhead::Awaken))
    }
}

/// The kernel time of all CPUs, from the start on. What had been begun and not ended when it was
/// asked for is in the kinds in full.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overheads {
    /// By CPU.
    pub cpus: Vec<CpuOverheads>,
    /// Inter-processor interrupts.
    pub interrupts: u64,
    /// Times that a lock was found held.
    pub contended: u64,
    /// Which of the kernel's costs were charged at all.
    pub charged: Charged,
}

impl Overheads {
    /// Time of this kind, all CPUs together, ns.
    pub fn ns(&self, kind: Overhead) -> u64 {
        self.cpus.iter().map(|cpu| cpu.kinds_ps[kind as usize]).sum::<u64>() / 1000
    }

    /// Kernel time, waiting for locks included and getting out of idle states left out, all CPUs
    /// together, ns.
    pub fn kernel_ns(&self) -> u64 {
        self.cpus.iter().map(CpuOverheads::kernel_ns).sum()
    }
}
