//! Levels, and the unit of slices.

use schedlab_core::Policy;

/// Levels below this one are real-time.
pub(super) const MAX_RT_PRIO: u8 = 101;
/// The level of `SCHED_ISO`, as long as such tasks have not used up their share.
pub(super) const ISO_PRIO: u8 = 101;
/// The level of `SCHED_NORMAL` and `SCHED_BATCH`.
pub(super) const NORMAL_PRIO: u8 = 102;
/// The level of `SCHED_IDLEPRIO`.
pub(super) const IDLE_PRIO: u8 = 103;
/// The level of an idle CPU.
pub(super) const PRIO_LIMIT: u8 = 104;

/// A slice of fewer units of 1024 ns than this counts as used up.
pub(super) const RESCHED_US: i32 = 100;

/// `normal_prio`: the level of a policy.
pub(super) fn normal_prio(policy: Policy, rt_priority: u8) -> u8 {
    match policy {
        Policy::Fifo | Policy::RoundRobin => 100 - rt_priority,
        Policy::Iso => ISO_PRIO,
        Policy::Idle => IDLE_PRIO,
        Policy::Other | Policy::Batch | Policy::Deadline => NORMAL_PRIO,
    }
}
