//! How and how many: the arguments that coming and going hand from file to file.

/// How an entity is enqueued (`ENQUEUE_...`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EnqueueFlags {
    /// `ENQUEUE_INITIAL`: it is new.
    pub initial: bool,
    /// `ENQUEUE_WAKEUP`: it wakes, or is a group's entity and comes with its first member.
    pub wakeup: bool,
    /// `ENQUEUE_MIGRATED`: it wakes on another CPU than that on which it slept, or was moved.
    pub migrated: bool,
}

impl EnqueueFlags {
    /// A new task.
    pub const NEW: EnqueueFlags = EnqueueFlags { initial: true, wakeup: false, migrated: false };
    /// A wakeup.
    pub const WAKEUP: EnqueueFlags = EnqueueFlags { initial: false, wakeup: true, migrated: false };
    /// From another CPU.
    pub const MIGRATE: EnqueueFlags =
        EnqueueFlags { initial: false, wakeup: false, migrated: true };
    /// After a change of attributes.
    pub const RESTORE: EnqueueFlags =
        EnqueueFlags { initial: false, wakeup: false, migrated: false };
}

/// How an entity is dequeued (`DEQUEUE_...`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DequeueFlags {
    /// `DEQUEUE_SLEEP`: it goes to sleep, or exits.
    pub sleep: bool,
    /// `DEQUEUE_SPECIAL`: into a state that knows no delay: stopped, dead.
    pub special: bool,
    /// `DEQUEUE_DELAYED`: the dequeue had been delayed and is now finished.
    pub finish: bool,
    /// It goes to another CPU.
    pub migrate: bool,
    /// `DEQUEUE_THROTTLE`: its group has run out, and it leaves as if it slept.
    pub throttle: bool,
    /// `DEQUEUE_MOVE`: it goes to another group.
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
    /// Its group has run out.
    pub const THROTTLE: DequeueFlags =
        DequeueFlags { special: true, throttle: true, ..DequeueFlags::SLEEP };
    /// To another CPU.
    pub const MIGRATE: DequeueFlags = DequeueFlags {
        sleep: false,
        special: false,
        finish: false,
        migrate: true,
        moves: false,
        throttle: false,
    };
}

/// What an update of an entity's averages does to its queue's besides (`DO_ATTACH`, `DO_DETACH`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// Nothing.
    No,
    /// Nothing, and its queue does not tell its group either: when it is put back, and when its
    /// dequeue becomes a delay or it is wanted again before that has ended.
    Quiet,
    /// A new or moved entity's are added.
    Attach,
    /// They are subtracted.
    Detach,
}

/// Tasks that come or go, as the queues count them.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// All that are queued.
    pub queued: u32,
    /// Those that are not delayed.
    pub runnable: u32,
    /// Those that are `SCHED_IDLE`, or count so because they are in an idle group.
    pub idle: u32,
}
