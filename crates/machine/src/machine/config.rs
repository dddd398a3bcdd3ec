//! Configuration of a machine, states of tasks, and counts of events.

use crate::order::Order;
use schedlab_core::CpuId;

/// Configuration of a machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of CPUs, 1 to 4096.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// Offset of each CPU's ticks from the multiples of 1/HZ seconds, ns. Empty: all CPUs tick
    /// together.
    pub tick_offsets_ns: Vec<u64>,
    /// Time of the first tick, ns, less than 1/HZ seconds. `0`: the first tick comes after 1/HZ
    /// seconds. The offsets in `tick_offsets_ns` are added to it.
    pub tick_phase_ns: u64,
    /// Whether the softirq of a tick (balancing) runs after the other CPUs have rescheduled, as on
    /// a machine where the softirq takes time. If not, the softirq runs within the tick, as in the
    /// golden schedules.
    pub late_softirqs: bool,
    /// Order of simultaneous events.
    pub order: Order,
    /// Whether dead tasks are reaped at once, by their parents or by init. If not, they stay
    /// zombies, as in the golden schedules.
    pub reap: bool,
    /// Whether an interrupt ends a sleep, as on real machines. If not, the sleep ends in process
    /// context, as in some golden schedules.
    pub wake_from_interrupt: bool,
    /// The CPU that serves the interrupts by which sleeps end; `None`: each sleep ends on its
    /// task's last CPU.
    pub interrupt_cpu: Option<CpuId>,
    /// Whether a task that another one wakes in the instant in which it blocks is woken only after
    /// its CPU has switched away from it, as in some golden schedules. If not, it is woken at once.
    pub resume_after_switch: bool,
}

impl Config {
    /// Returns the idealised machine of the golden schedules.
    pub fn idealised(cpus: u32, hz: u32) -> Config {
        Config {
            cpus,
            hz,
            tick_offsets_ns: Vec::new(),
            tick_phase_ns: 0,
            late_softirqs: false,
            order: Order::Golden,
            reap: true,
            wake_from_interrupt: true,
            interrupt_cpu: None,
            resume_after_switch: false,
        }
    }
}

/// State of a task in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// Not yet born.
    New,
    /// Runnable or running.
    Running,
    /// Asleep.
    Interruptible,
    /// Asleep, waiting for a device or the like.
    Uninterruptible,
    /// Stopped by job control.
    Stopped,
    /// Frozen by the freezer of its control group.
    Frozen,
    /// Dead, but not yet reaped by its parent.
    Zombie,
    /// Dead and reaped.
    Reaped,
}

/// Result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// The time was up.
    TimeUp,
    /// Every task has ended.
    AllEnded,
    /// Some tasks have not ended, but none can run again: all sleep, and nothing can wake them.
    Stuck,
}

/// Number of simulated events, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Context switches, including those from and to idle.
    pub switches: u64,
    /// Tasks that became runnable, including starts.
    pub wakeups: u64,
    /// Ticks of all CPUs.
    pub ticks: u64,
}

impl Counts {
    /// Returns the total number of events, by which speed is measured.
    pub fn events(&self) -> u64 {
        self.switches + self.wakeups + self.ticks
    }
}
