//! What the kernel's own operations cost.

use std::fmt;
use std::ops::{Index, IndexMut};

/// Something that a modelled machine spends time on in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(usize)]
pub enum Cost {
    /// A task that a linear scan looks at.
    Scan,
    /// On top, if the task is in none of the CPU's caches.
    ScanMiss,
    /// A task whose ticks are given out anew in 2.4's and 1.x's recalculation loop.
    Recalculate,
    /// A level of a tree.
    Level,
    /// A word of a bitmap.
    Word,
    /// Exchange of the active and the expired array.
    Swap,
    /// Putting a task on a queue.
    Enqueue,
    /// Taking a task off a queue.
    Dequeue,
    /// Another CPU's queue looked at.
    Queue,
    /// Beginning a balancing pass.
    Balance,
    /// Moving a task from one queue to another.
    Move,
    /// Reading the scheduler's clock.
    Clock,
    /// `schedule()` itself, without what it looks at.
    Pick,
    /// A context switch: registers, stack, address space.
    Switch,
    /// A task goes on where a cache is shared with where it ran last.
    MigrateNear,
    /// A task goes on where no cache is shared with where it ran last.
    MigrateFar,
    /// `try_to_wake_up()` itself, without what it looks at.
    Wakeup,
    /// The scheduler's part of a fork.
    NewTask,
    /// The timer tick with its accounting, interrupt apart.
    Tick,
    /// Entering and leaving an interrupt.
    Interrupt,
    /// Sending an inter-processor interrupt.
    IpiSend,
    /// Receiving one.
    IpiReceive,
    /// Taking and releasing a runqueue lock that is free.
    Lock,
    /// On top, if another CPU held it last: lock and queue come over from its cache.
    LockRemote,
    /// An instruction of a sched_ext policy.
    ScxInsn,
    /// A helper that it calls.
    ScxHelper,
    /// A kernel function that it calls.
    ScxKfunc,
    /// On top of the helper: finding, writing or deleting an entry of a map.
    ScxMap,
    /// A level of a queue by virtual time that an insertion walks.
    ScxVtime,
}

impl Cost {
    /// All of them.
    pub const ALL: [Cost; 29] = [
        Cost::Scan,
        Cost::ScanMiss,
        Cost::Recalculate,
        Cost::Level,
        Cost::Word,
        Cost::Swap,
        Cost::Enqueue,
        Cost::Dequeue,
        Cost::Queue,
        Cost::Balance,
        Cost::Move,
        Cost::Clock,
        Cost::Pick,
        Cost::Switch,
        Cost::MigrateNear,
        Cost::MigrateFar,
        Cost::Wakeup,
        Cost::NewTask,
        Cost::Tick,
        Cost::Interrupt,
        Cost::IpiSend,
        Cost::IpiReceive,
        Cost::Lock,
        Cost::LockRemote,
        Cost::ScxInsn,
        Cost::ScxHelper,
        Cost::ScxKfunc,
        Cost::ScxMap,
        Cost::ScxVtime,
    ];

    /// What files and options call it.
    pub const fn name(self) -> &'static str {
        match self {
            Cost::Scan => "scan",
            Cost::ScanMiss => "scan_miss",
            Cost::Recalculate => "recalculate",
            Cost::Level => "level",
            Cost::Word => "word",
            Cost::Swap => "swap",
            Cost::Enqueue => "enqueue",
            Cost::Dequeue => "dequeue",
            Cost::Queue => "queue",
            Cost::Balance => "balance",
            Cost::Move => "move",
            Cost::Clock => "clock",
            Cost::Pick => "pick",
            Cost::Switch => "switch",
            Cost::MigrateNear => "migrate_near",
            Cost::MigrateFar => "migrate_far",
            Cost::Wakeup => "wakeup",
            Cost::NewTask => "new_task",
            Cost::Tick => "tick",
            Cost::Interrupt => "interrupt",
            Cost::IpiSend => "ipi_send",
            Cost::IpiReceive => "ipi_receive",
            Cost::Lock => "lock",
            Cost::LockRemote => "lock_remote",
            Cost::ScxInsn => "scx.insn",
            Cost::ScxHelper => "scx.helper",
            Cost::ScxKfunc => "scx.kfunc",
            Cost::ScxMap => "scx.map",
            Cost::ScxVtime => "scx.dsq_vtime",
        }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Option<Cost> {
        Cost::ALL.into_iter().find(|cost| cost.name() == name)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What each kernel operation costs, in picoseconds. The default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelCosts([u64; Cost::ALL.len()]);

impl KernelCosts {
    /// All of them become so many times as much, at most [`COST_MAX_NS`].
    pub fn scale(&mut self, times: f64) {
        for ps in &mut self.0 {
            *ps = (*ps as f64 * times).clamp(0.0, COST_MAX_NS * 1000.0).round() as u64;
        }
    }
}

impl Index<Cost> for KernelCosts {
    type Output = u64;
    #[inline]
    fn index(&self, cost: Cost) -> &u64 {
        &self.0[cost as usize]
    }
}

impl IndexMut<Cost> for KernelCosts {
    #[inline]
    fn index_mut(&mut self, cost: Cost) -> &mut u64 {
        &mut self.0[cost as usize]
    }
}

/// Which costs were charged at least once, whatever they came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Charged(u32);

impl Charged {
    /// So many times `cost`; returns what that is, given what one is, in picoseconds.
    #[inline]
    pub fn times(&mut self, cost: Cost, times: u64, costs: &KernelCosts) -> u64 {
        self.0 |= u32::from(times > 0) << cost as u32;
        times * costs[cost]
    }

    /// Those that were charged.
    pub fn iter(self) -> impl Iterator<Item = Cost> {
        Cost::ALL.into_iter().filter(move |cost| self.0 >> *cost as u32 & 1 == 1)
    }
}

/// The largest cost that a file may give, ns: a second.
pub const COST_MAX_NS: f64 = 1e9;

/// A cost in ns as files and options have it, in picoseconds.
///
/// # Errors
/// If it is negative, not a number or beyond [`COST_MAX_NS`].
pub fn picoseconds(ns: f64) -> Result<u64, String> {
    if (0.0..=COST_MAX_NS).contains(&ns) {
        return Ok((ns * 1000.0).round() as u64);
    }
    Err(format!("{ns} ns; a cost is 0 to {COST_MAX_NS} ns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_listed_once_and_found_by_name() {
        for (number, cost) in Cost::ALL.into_iter().enumerate() {
            assert_eq!(cost as usize, number);
            assert_eq!(Cost::find(cost.name()), Some(cost));
        }
    }

    #[test]
    fn what_was_charged_is_known_and_what_was_not_is_not() {
        let mut costs = KernelCosts::default();
        costs[Cost::LockRemote] = 250_000;
        let mut charged = Charged::default();
        assert_eq!(charged.times(Cost::LockRemote, 3, &costs), 750_000);
        assert_eq!(charged.times(Cost::Scan, 2, &costs), 0, "it is free here, and charged");
        assert_eq!(charged.times(Cost::Tick, 0, &costs), 0);
        assert!(charged.iter().eq([Cost::Scan, Cost::LockRemote]));
    }

    #[test]
    fn nanoseconds_with_decimals_are_picoseconds() {
        assert_eq!(picoseconds(1.2345), Ok(1235));
        assert!(
            picoseconds(-1.0).is_err()
                && picoseconds(f64::NAN).is_err()
                && picoseconds(2e9).is_err()
        );
    }
}
