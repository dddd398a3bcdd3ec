//! The arguments of enqueues and dequeues that are passed between files: flags and counts.

/// How an entity is enqueued (`ENQUEUE_...`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EnqueueFlags {
    /// `ENQUEUE_INITIAL`: the entity is new.
    pub initial: bool,
    /// `ENQUEUE_WAKEUP`: it wakes, or is a group's entity that is queued with its first member.
    pub wakeup: bool,
    /// `ENQUEUE_MIGRATED`: it wakes on another CPU than the one on which it slept, or was moved.
    pub migrated: bool,
}

impl EnqueueFlags {
    /// A new task.
    pub const NEW: EnqueueFlags = EnqueueFlags { initial: true, wakeup: false, migrated: false };
    /// A wakeup.
    pub const WAKEUP: EnqueueFlags = EnqueueFlags { initial: false, wakeup: true, migrated: false };
    /// A move from another CPU.
    pub const MIGRATE: EnqueueFlags =
        EnqueueFlags { initial: false, wakeup: false, migrated: true };
    /// The return after a change of attributes.
    pub const RESTORE: EnqueueFlags =
        EnqueueFlags { initial: false, wakeup: false, migrated: false };
}

/// How an entity is dequeued (`DEQUEUE_...`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DequeueFlags {
    /// `DEQUEUE_SLEEP`: it goes to sleep, or exits.
    pub sleep: bool,
    /// `DEQUEUE_SPECIAL`: it enters a state for which dequeues are not delayed: stopped or dead.
    pub special: bool,
    /// `DEQUEUE_DELAYED`: its dequeue was delayed and is now finished.
    pub finish: bool,
    /// It moves to another CPU.
    pub migrate: bool,
    /// `DEQUEUE_THROTTLE`: its group has run out of quota, and it leaves as if it slept.
    pub throttle: bool,
    /// `DEQUEUE_MOVE`: it moves to another group.
    pub moves: bool,
}

impl DequeueFlags {
    /// An ordinary sleep.
    pub const SLEEP: DequeueFlags = DequeueFlags {
        sleep: true,
        special: false,
        finish: false,
        migrate: false,
        moves: false,
        throttle: false,
    };
    /// The end of a delayed dequeue.
    pub const FINISH: DequeueFlags = DequeueFlags {
        sleep: true,
        special: false,
        finish: true,
        migrate: false,
        moves: false,
        throttle: false,
    };
    /// The group has run out of quota.
    pub const THROTTLE: DequeueFlags =
        DequeueFlags { special: true, throttle: true, ..DequeueFlags::SLEEP };
    /// A move to another CPU.
    pub const MIGRATE: DequeueFlags = DequeueFlags {
        sleep: false,
        special: false,
        finish: false,
        migrate: true,
        moves: false,
        throttle: false,
    };
}

/// Effect that an update of an entity's averages has on its queue's (`DO_ATTACH`, `DO_DETACH`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// No effect.
    No,
    /// No effect, and the queue does not publish its load to its group either: when the entity is
    /// put back, when its dequeue becomes a delayed one or a delayed entity is woken, and in some
    /// releases when all averages of a CPU are updated.
    Quiet,
    /// The averages of a new or moved entity are added.
    Attach,
    /// They are subtracted.
    Detach,
}

/// Numbers of tasks that are queued or dequeued, as queues count them.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// All queued tasks.
    pub queued: u32,
    /// Tasks that are not delayed.
    pub runnable: u32,
    /// Tasks that are `SCHED_IDLE`, or count as idle because they are in an idle group.
    pub idle: u32,
}
