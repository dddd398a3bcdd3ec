//! Objects on which a task can block: [`Blocked`].

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
