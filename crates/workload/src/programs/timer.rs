//! Periodic timers: each expires one period after its last expiry. The first expiry is one period
//! after the start of the task that uses the timer first.

/// A timer, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerId(pub u32);

/// Expiry of a timer that has not been used.
const UNUSED: u64 = u64::MAX;

/// A timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// Time of the last expiry, ns, or [`UNUSED`].
    expiry_ns: u64,
}

impl Default for Timer {
    fn default() -> Timer {
        Timer { expiry_ns: UNUSED }
    }
}

impl Timer {
    /// Returns the next expiry, ns: one period after the last, or after `start_ns` if the timer has
    /// not been used yet. A missed expiry moves to the present, unless the timer is `absolute`.
    pub fn next(&mut self, now_ns: u64, start_ns: u64, period_ns: u64, absolute: bool) -> u64 {
        let last_ns = if self.expiry_ns == UNUSED { start_ns } else { self.expiry_ns };
        let expires_ns = last_ns.saturating_add(period_ns).min(i64::MAX as u64);
        self.expiry_ns = if expires_ns < now_ns && !absolute { now_ns } else { expires_ns };
        expires_ns
    }
}
