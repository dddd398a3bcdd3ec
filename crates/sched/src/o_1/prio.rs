//! The scale of priorities: 0 to 99 real-time, 100 to 139 ordinary; lower is better.

/// Number of priorities. Also the idle task's priority, which is worse than any.
pub(super) const MAX_PRIO: u8 = 140;

/// The first (best) ordinary priority.
pub(super) const MAX_RT_PRIO: u8 = 100;

/// Returns the static priority of a nice value: 100 to 139 for -20 to 19.
pub(super) fn static_prio(nice: i32) -> u8 {
    (120 + nice.clamp(-20, 19)) as u8
}

/// Returns the priority of a real-time priority: 98 to 0 for 1 to 99.
pub(super) fn realtime_prio(rt_priority: u8) -> u8 {
    MAX_RT_PRIO - 1 - rt_priority
}
