//! Timers, and their keys on the machine.
//!
//! The deadline class above a policy ([`Classes`](crate::Classes)) has the keys that are 2 and 3
//! modulo 4.

use schedlab_core::TimerKey;

/// A timer of the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BpfTimer {
    /// Its address.
    pub at: u64,
    /// Index of the map that contains it.
    pub map: usize,
    /// The function that it calls.
    pub callback: Option<usize>,
    /// The CPU that started it, while it is pending.
    pub pending: Option<u32>,
}

/// A timer that does not belong to the deadline class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// The watchdog's timer.
    Watchdog,
    /// The user half's timer.
    UserHalf,
    /// A timer of the policy, by its index.
    Policy(usize),
}

const WATCHDOG: TimerKey = TimerKey(1);
const USER_HALF: TimerKey = TimerKey(5);

/// Keys of the policy's timers are multiples of this.
const STRIDE: u32 = 4;

impl Timer {
    /// Returns its key on the machine.
    pub(crate) const fn key(self) -> TimerKey {
        match self {
            Timer::Watchdog => WATCHDOG,
            Timer::UserHalf => USER_HALF,
            Timer::Policy(number) => TimerKey(STRIDE * number as u32),
        }
    }

    /// Returns the timer with a key. `None`: the key belongs to the deadline class.
    pub(crate) fn of(key: TimerKey) -> Option<Timer> {
        match key {
            WATCHDOG => Some(Timer::Watchdog),
            USER_HALF => Some(Timer::UserHalf),
            TimerKey(key) if key % STRIDE == 0 => Some(Timer::Policy((key / STRIDE) as usize)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_timer_of_which_it_is() {
        for timer in [Timer::Watchdog, Timer::UserHalf, Timer::Policy(0), Timer::Policy(7)] {
            assert_eq!(Timer::of(timer.key()), Some(timer));
        }
        assert_eq!([2, 3, 6, 7].map(|key| Timer::of(TimerKey(key))), [None; 4]);
    }
}
