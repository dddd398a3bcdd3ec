//! What programs ask for: [`Step`], [`Program`] and [`Spawn`].

use super::barrier::BarrierId;
use super::channel::ChannelId;
use super::device::{CacheId, DiskId, LogId};
use super::mutex::MutexId;
use super::objects::Objects;
use super::random::Random;
use super::semaphore::SemaphoreId;
use super::timer::TimerId;
use super::wait_queue::{ConditionId, LatchId, SuspensionId};
use schedlab_core::{CpuId, CpuSet, GroupId, SchedAttr, TaskId};

/// What a task does.
pub trait Program {
    /// The next step. The task runs at `os.now_ns()`, and all steps before have been done.
    fn next(&mut self, os: &mut Context<'_>) -> Step;
}

/// Closures are programs.
impl<F: FnMut(&mut Context<'_>) -> Step> Program for F {
    fn next(&mut self, os: &mut Context<'_>) -> Step {
        self(os)
    }
}

/// One step of a program. It is moved often, and therefore small: what is large is boxed.
pub enum Step {
    /// Compute for so long, ns of CPU time; 0 is nothing, [`u64::MAX`] for ever.
    Run(u64),
    /// Compute until the clock shows this time, ns: it ends when the task runs at or after it.
    RunUntil(u64),
    /// Sleep for so long, ns; 0 is nothing.
    Sleep(u64),
    /// Sleep until the clock shows this time, ns.
    SleepUntil(u64),
    /// Sleep until a timer expires next.
    Timer {
        /// Which.
        timer: TimerId,
        /// ns.
        period_ns: u64,
        /// Whether a missed expiry stays where it was rather than moving to the present.
        absolute: bool,
    },
    /// `sched_yield(2)`.
    Yield,
    /// Write a message of so many bytes.
    Write(ChannelId, u32),
    /// Read a message of so many bytes.
    Read(ChannelId, u32),
    /// Wait until there is something to read, and leave it there.
    Poll(ChannelId),
    /// Add one to a semaphore.
    Post(SemaphoreId),
    /// Take one from a semaphore.
    Wait(SemaphoreId),
    /// Take a mutex, after spinning for so long at most, ns of CPU time, if another has it.
    Lock(MutexId, u64),
    /// Try to take a mutex; [`Context::succeeded`] says whether it was free.
    TryLock(MutexId),
    /// Release a mutex.
    Unlock(MutexId),
    /// Release a mutex, wait for a condition, and take the mutex again.
    WaitCondition(ConditionId, MutexId),
    /// Wake the task that has waited longest for a condition.
    Signal(ConditionId),
    /// Wake all that wait for a condition, the longest-waiting first.
    Broadcast(ConditionId),
    /// Wait until as many tasks have come to a barrier as must.
    Barrier(BarrierId),
    /// Wait until a latch is open.
    Pass(LatchId),
    /// Open a latch.
    Open(LatchId),
    /// Sleep until resumed, under up to two names; [`SuspensionId::NONE`] is none.
    Suspend([SuspensionId; 2]),
    /// Resume all who are suspended under a name.
    Resume {
        /// Which.
        name: SuspensionId,
        /// A synchronous wakeup: the caller promises to sleep at once.
        sync: bool,
    },
    /// Sleep until unparked; nothing if that happened before.
    Park,
    /// Let a task pass its [`Step::Park`], the present one or else a later one.
    Unpark {
        /// Whom.
        task: TaskId,
        /// As in [`Step::Resume`].
        sync: bool,
    },
    /// Have a disk serve a request of so many ns, and wait for it.
    Disk(DiskId, u64),
    /// Commit to a log whose writes take so many ns, and wait until it is written.
    Commit(LogId, u64),
    /// Write [`CHUNK_KIB`](super::CHUNK_KIB) of a file into a page cache, and wait while too much
    /// of it is dirty.
    FileWrite(CacheId),
    /// Read [`CHUNK_KIB`](super::CHUNK_KIB) of a file from the disk of a page cache.
    FileRead(CacheId),
    /// Start a child. [`Context::child`] gives its number.
    Fork(Box<Spawn>),
    /// Start a task that executes one of the kernel's [`Scripts`](super::Scripts), by its place
    /// there, after that script's delay.
    ForkScript(u32),
    /// `execve(2)`: costs what it costs, and the scheduler may choose another CPU. The program
    /// itself goes on as it is.
    Exec,
    /// Wait until a child has ended that was not waited for yet. Nothing if there is none.
    WaitChild,
    /// Give a task (often oneself) other scheduling attributes.
    SetAttr(TaskId, Box<SchedAttr>),
    /// Bind a task (often oneself) to CPUs.
    SetAffinity(TaskId, Box<CpuSet>),
    /// Move a task (often oneself) to another group.
    SetGroup(TaskId, GroupId),
    /// End the task.
    Exit,
    /// The benchmark is over. That ends the run; where it is a part of several, it ends all tasks
    /// of its part.
    Finish,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Step>() == 16);

/// A task to start.
pub struct Spawn {
    /// Its name in reports; tasks of one name are reported together.
    pub name: &'static str,
    /// What it does.
    pub program: Box<dyn Program>,
    /// Its scheduling attributes; none: its parent's.
    pub attr: Option<SchedAttr>,
    /// Where it may run; none: where its parent may.
    pub allowed: Option<CpuSet>,
    /// Its group; none: its parent's.
    pub group: Option<GroupId>,
    /// It shares its parent's address space.
    pub thread: bool,
    /// Its working set, KiB.
    pub footprint_kib: u32,
}

impl Spawn {
    /// A process that inherits everything.
    pub fn new(name: &'static str, program: impl Program + 'static) -> Spawn {
        Spawn {
            name,
            program: Box::new(program),
            attr: None,
            allowed: None,
            group: None,
            thread: false,
            footprint_kib: 0,
        }
    }

    /// With these scheduling attributes.
    pub fn attr(self, attr: SchedAttr) -> Spawn {
        Spawn { attr: Some(attr), ..self }
    }

    /// At this nice value.
    pub fn nice(self, nice: i32) -> Spawn {
        self.attr(SchedAttr::nice(nice))
    }

    /// On these CPUs only.
    pub fn on(self, allowed: CpuSet) -> Spawn {
        Spawn { allowed: Some(allowed), ..self }
    }

    /// In this group.
    pub fn group(self, group: GroupId) -> Spawn {
        Spawn { group: Some(group), ..self }
    }

    /// As a thread of its parent's process, if `thread`.
    pub fn thread(self, thread: bool) -> Spawn {
        Spawn { thread, ..self }
    }

    /// With a working set of so many KiB.
    pub fn footprint_kib(self, footprint_kib: u32) -> Spawn {
        Spawn { footprint_kib, ..self }
    }
}

/// What a program sees of its own task.
pub(super) struct OwnState {
    pub random: Random,
    /// Whether the last [`Step::TryLock`] got the mutex.
    pub succeeded: bool,
    /// The last child that it started.
    pub child: Option<TaskId>,
}

/// What a program sees of the world when it is asked for its next step.
pub struct Context<'a> {
    /// By the clock of its part.
    pub(super) now_ns: u64,
    pub(super) task: TaskId,
    pub(super) cpu: CpuId,
    pub(super) objects: &'a mut Objects,
    pub(super) own: &'a mut OwnState,
}

impl Context<'_> {
    /// What the clock shows, ns since the start of the run (of its [`Part`](super::Part)).
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The task itself.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// The CPU that it runs on.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Whether the last [`Step::TryLock`] got the mutex.
    pub fn succeeded(&self) -> bool {
        self.own.succeeded
    }

    /// The last child that it started.
    pub fn child(&self) -> Option<TaskId> {
        self.own.child
    }

    /// The task's own stream of random draws.
    pub fn random(&mut self) -> &mut Random {
        &mut self.own.random
    }

    /// What programs share, to make more of it.
    pub fn objects(&mut self) -> &mut Objects {
        self.objects
    }
}
