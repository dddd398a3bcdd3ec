//! Objects on which a task can block: [`Blocked`].

use schedlab_core::BlockReason;

/// Object on which a task is blocked, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Blocked {
    #[default]
    No,
    Mutex(u32),
    Condition(u32),
    Barrier(u32),
    Semaphore(u32),
    Latch(u32),
    Read(u32),
    Write(u32),
    Poll(u32),
    Child,
    Suspended,
}

impl Blocked {
    /// The sleep in which the task waits. In user space locks, conditions, barriers and semaphores
    /// are futexes, and so is what a suspended task waits for.
    pub(super) fn reason(self) -> BlockReason {
        match self {
            Blocked::Mutex(_)
            | Blocked::Condition(_)
            | Blocked::Barrier(_)
            | Blocked::Semaphore(_)
            | Blocked::Suspended => BlockReason::Futex,
            _ => BlockReason::Interruptible,
        }
    }
}
