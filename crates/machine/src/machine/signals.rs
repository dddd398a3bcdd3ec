//! Signals (stop, continue, kill), and the freezer, which works like one of them.
//!
//! A signal reaches a task when the task is about to run user code:
//!
//! * A task that **runs** is interrupted at once. It does the rest of its work when it is
//!   continued.
//! * A task that **waits for a CPU** stops or dies when it gets one, without using time.
//! * A task that **sleeps interruptibly** is woken by the signal, to stop or die. When it is
//!   continued, it returns to the rest of its sleep (the kernel restarts the system call), unless
//!   the sleep has ended in the meantime.
//! * A task that **sleeps uninterruptibly** is left alone until its sleep ends.
//!
//! A frozen task can be killed, as in version 2 of control groups.

use crate::queue::NEVER;

/// Signals that a task handles before it runs user code again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Signals(u8);

impl Signals {
    /// Stop until continued.
    pub const STOP: Signals = Signals(1);
    /// Stop until thawed.
    pub const FREEZE: Signals = Signals(2);
    /// Die.
    pub const KILL: Signals = Signals(4);
    /// Return to the sleep that a signal interrupted.
    pub const RESTART: Signals = Signals(8);
    /// Stop until the control group is thawed.
    pub const GROUP: Signals = Signals(16);
    /// Either of the two ways to be frozen.
    pub const FROZEN: Signals = Signals(2 | 16);

    /// Whether no signal is set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether any of `other` is set.
    pub const fn has(self, other: Signals) -> bool {
        self.0 & other.0 != 0
    }

    pub fn insert(&mut self, other: Signals) {
        self.0 |= other.0;
    }

    pub fn remove(&mut self, other: Signals) {
        self.0 &= !other.0;
    }
}

/// An interrupted sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Restart {
    /// End of the sleep, ns; [`NEVER`]: when the task is woken.
    pub until_ns: u64,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart { until_ns: NEVER }
    }
}
