//! Kernel time spent, by kind.

use super::kernel::Charged;

/// A kind of kernel time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(usize)]
pub enum Overhead {
    /// `schedule()`, queueing and dequeueing, trees, bitmaps, and free locks.
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
    /// Leaving idle states.
    Awaken,
}

impl Overhead {
    /// All kinds.
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

    /// Returns the name in reports.
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
    /// By kind, picoseconds. The total differs by at most a nanosecond from the sum of the two
    /// fields below, which count time that has passed.
    kinds_ps: [u64; Overhead::ALL.len()],
    /// Time while a task was current on the CPU, ns: part of that task's CPU time. Includes leaving
    /// idle states, as does the next field.
    pub with_task_ns: u64,
    /// Time while the CPU idled, ns: part of its idle time.
    pub idle_ns: u64,
}

impl CpuOverheads {
    #[inline]
    pub(crate) fn add(&mut self, kind: Overhead, ps: u64) {
        self.kinds_ps[kind as usize] += ps;
    }

    /// Returns the time of this kind, ns.
    pub fn ns(&self, kind: Overhead) -> u64 {
        self.kinds_ps[kind as usize] / 1000
    }

    /// Returns the kernel time, including waits for locks but not leaving idle states, ns.
    pub fn kernel_ns(&self) -> u64 {
        (self.with_task_ns + self.idle_ns).saturating_sub(self.ns(Overhead::Awaken))
    }
}

/// Kernel time of all CPUs, from the start. Operations that are under way count in full in the
/// kinds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overheads {
    /// Overheads by CPU.
    pub cpus: Vec<CpuOverheads>,
    /// Number of inter-processor interrupts.
    pub interrupts: u64,
    /// Number of times that a lock was found held.
    pub contended: u64,
    /// Kernel costs that were charged at least once.
    pub charged: Charged,
}

impl Overheads {
    /// Returns the time of this kind on all CPUs, ns.
    pub fn ns(&self, kind: Overhead) -> u64 {
        self.cpus.iter().map(|cpu| cpu.kinds_ps[kind as usize]).sum::<u64>() / 1000
    }

    /// Returns the kernel time of all CPUs, including waits for locks but not leaving idle states,
    /// ns.
    pub fn kernel_ns(&self) -> u64 {
        self.cpus.iter().map(CpuOverheads::kernel_ns).sum()
    }
}
