//! Costs of the kernel's own operations.

use std::fmt;
use std::ops::{Index, IndexMut};

/// Operation of the kernel that takes time on a modelled machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(usize)]
pub enum Cost {
    /// Looking at a task in a linear scan.
    Scan,
    /// Additional cost of a scanned task that is in none of the CPU's caches.
    ScanMiss,
    /// Recomputing the ticks of a task in the recalculation loop of 2.4 and 1.x.
    Recalculate,
    /// Descending a level of a tree.
    Level,
    /// Testing a word of a bitmap.
    Word,
    /// Exchanging the active and the expired array.
    Swap,
    /// Putting a task on a queue.
    Enqueue,
    /// Taking a task off a queue.
    Dequeue,
    /// Looking at another CPU's queue.
    Queue,
    /// Beginning a balancing pass.
    Balance,
    /// Moving a task from one queue to another.
    Move,
    /// Reading the scheduler's clock.
    Clock,
    /// `schedule()` itself, without its searches.
    Pick,
    /// A context switch: registers, stack, address space.
    Switch,
    /// Continuing a task on a CPU that shares a cache with its last CPU.
    MigrateNear,
    /// Continuing a task on a CPU that shares no cache with its last CPU.
    MigrateFar,
    /// `try_to_wake_up()` itself, without its searches.
    Wakeup,
    /// The scheduler's part of a fork.
    NewTask,
    /// The timer tick with its accounting, without the interrupt.
    Tick,
    /// Entering and leaving an interrupt.
    Interrupt,
    /// Sending an inter-processor interrupt.
    IpiSend,
    /// Receiving an inter-processor interrupt.
    IpiReceive,
    /// Taking and releasing a free runqueue lock.
    Lock,
    /// Additional cost if another CPU held the lock last: lock and queue come from its cache.
    LockRemote,
    /// An instruction of a sched_ext policy.
    ScxInsn,
    /// A helper called by a policy.
    ScxHelper,
    /// A kernel function called by a policy.
    ScxKfunc,
    /// Additional cost of finding, writing or deleting an entry of a map.
    ScxMap,
    /// Walking a level of a queue ordered by virtual time on insertion.
    ScxVtime,
}

impl Cost {
    /// All costs.
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

    /// Returns the name in files and options.
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

    /// Returns the cost called `name`.
    pub fn find(name: &str) -> Option<Cost> {
        Cost::ALL.into_iter().find(|cost| cost.name() == name)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Cost of each kernel operation, picoseconds. The default is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelCosts([u64; Cost::ALL.len()]);

impl KernelCosts {
    /// Multiplies all costs by `times`, up to [`COST_MAX_NS`].
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

/// Costs that were charged at least once, whatever the amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Charged(u32);

impl Charged {
    /// Charges `times` times `cost` and returns the sum according to `costs`, picoseconds.
    #[inline]
    pub fn times(&mut self, cost: Cost, times: u64, costs: &KernelCosts) -> u64 {
        self.0 |= u32::from(times > 0) << cost as u32;
        times * costs[cost]
    }

    /// Iterates over the charged costs.
    pub fn iter(self) -> impl Iterator<Item = Cost> {
        Cost::ALL.into_iter().filter(move |cost| self.0 >> *cost as u32 & 1 == 1)
    }
}

/// Largest cost in a file, ns: one second.
pub const COST_MAX_NS: f64 = 1e9;

/// Converts a cost from ns, as in files and options, to picoseconds.
///
/// # Errors
/// If it is negative, not a number, or above [`COST_MAX_NS`].
pub fn picoseconds(ns: f64) -> Result<u64, String> {
    if (0.0..=COST_MAX_NS).contains(&ns) {
        return Ok((ns * 1000.0).round() as u64);
    }
    Err(format!("{ns} ns is out of range; a cost is 0 to {COST_MAX_NS} ns"))
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
        assert_eq!(charged.times(Cost::Scan, 2, &costs), 0, "a free operation is also charged");
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
