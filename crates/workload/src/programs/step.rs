//! Requests of programs: [`Step`], [`Program`] and [`Spawn`].

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

/// Behaviour of a task.
pub trait Program {
    /// Returns the next step. The task runs at `os.now_ns()`, and all previous steps are done.
    fn next(&mut self, os: &mut Context<'_>) -> Step;
}

/// Closures are programs.
impl<F: FnMut(&mut Context<'_>) -> Step> Program for F {
    fn next(&mut self, os: &mut Context<'_>) -> Step {
        self(os)
    }
}

/// A step of a program. Steps are moved often and therefore small: large data is boxed.
pub enum Step {
    /// Compute for this CPU time, ns; `0` is nothing, [`u64::MAX`] is forever.
    Run(u64),
    /// Compute until this time, ns: it ends when the task runs at or after it.
    RunUntil(u64),
    /// Sleep for this time, ns; `0` is nothing.
    Sleep(u64),
    /// Sleep until this time, ns.
    SleepUntil(u64),
    /// Sleep until a timer expires next.
    Timer {
        /// Timer.
        timer: TimerId,
        /// Period, ns.
        period_ns: u64,
        /// Whether a missed expiry keeps its time instead of moving to the present.
        absolute: bool,
    },
    /// `sched_yield(2)`.
    Yield,
    /// Write a message of this many bytes.
    Write(ChannelId, u32),
    /// Read a message of this many bytes.
    Read(ChannelId, u32),
    /// Wait until there is something to read, without reading it.
    Poll(ChannelId),
    /// Add one to a semaphore.
    Post(SemaphoreId),
    /// Take one from a semaphore.
    Wait(SemaphoreId),
    /// Take a mutex. If another task has it, spin for at most this CPU time first, ns.
    Lock(MutexId, u64),
    /// Try to take a mutex; [`Context::succeeded`] reports whether it was free.
    TryLock(MutexId),
    /// Release a mutex.
    Unlock(MutexId),
    /// Release a mutex, wait for a condition, and take the mutex again.
    WaitCondition(ConditionId, MutexId),
    /// Wake the task that has waited longest for a condition.
    Signal(ConditionId),
    /// Wake all tasks that wait for a condition, the longest-waiting first.
    Broadcast(ConditionId),
    /// Wait until the required number of tasks has arrived at a barrier.
    Barrier(BarrierId),
    /// Wait until a latch is open.
    Pass(LatchId),
    /// Open a latch.
    Open(LatchId),
    /// Sleep until resumed, under up to two names; [`SuspensionId::NONE`] is no name.
    Suspend([SuspensionId; 2]),
    /// Resume all tasks that are suspended under a name.
    Resume {
        /// The name.
        name: SuspensionId,
        /// Whether the wakeup is synchronous: the caller promises to sleep at once.
        sync: bool,
    },
    /// Sleep until unparked; no effect if that has already happened.
    Park,
    /// Let a task pass its current [`Step::Park`], or else the next one.
    Unpark {
        /// Task to unpark.
        task: TaskId,
        /// As in [`Step::Resume`].
        sync: bool,
    },
    /// Send a disk a request of this service time, ns, and wait for it.
    Disk(DiskId, u64),
    /// Commit to a log whose writes take this time, ns, and wait until the commit is written.
    Commit(LogId, u64),
    /// Write [`CHUNK_KIB`](super::CHUNK_KIB) of a file into a page cache, and wait while too much
    /// of it is dirty.
    FileWrite(CacheId),
    /// Read [`CHUNK_KIB`](super::CHUNK_KIB) of a file from the disk of a page cache.
    FileRead(CacheId),
    /// Start a child. [`Context::child`] returns its number.
    Fork(Box<Spawn>),
    /// Start a task that executes one of the kernel's [`Scripts`](super::Scripts), by its index,
    /// after that script's delay.
    ForkScript {
        /// Index of the script.
        script: u32,
        /// Whether the new task is a thread in the process of the caller, with which it shares the
        /// address space.
        thread: bool,
    },
    /// `execve(2)`: spends its cost, and the scheduler may choose another CPU. The program itself
    /// continues.
    Exec,
    /// Wait until a child has ended that was not waited for yet. No effect if there is none.
    WaitChild,
    /// Set the scheduling attributes of a task, often the caller.
    SetAttr(TaskId, Box<SchedAttr>),
    /// Bind a task, often the caller, to CPUs.
    SetAffinity(TaskId, Box<CpuSet>),
    /// Move a task, often the caller, to another group.
    SetGroup(TaskId, GroupId),
    /// End the task.
    Exit,
    /// End the benchmark. That ends the run. Where it is one of several parts, it ends all tasks of
    /// its part.
    Finish,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Step>() == 16);

/// A task to start.
pub struct Spawn {
    /// Its name in reports. Tasks with the same name are reported together.
    pub name: &'static str,
    /// Its program.
    pub program: Box<dyn Program>,
    /// Its scheduling attributes; `None`: its parent's.
    pub attr: Option<SchedAttr>,
    /// Its affinity; `None`: its parent's.
    pub allowed: Option<CpuSet>,
    /// Its group; `None`: its parent's.
    pub group: Option<GroupId>,
    /// Whether it shares its parent's address space.
    pub thread: bool,
    /// Its working set, KiB.
    pub footprint_kib: u32,
}

impl Spawn {
    /// Creates a process that inherits everything.
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

    /// Sets the scheduling attributes.
    pub fn attr(self, attr: SchedAttr) -> Spawn {
        Spawn { attr: Some(attr), ..self }
    }

    /// Sets the nice value.
    pub fn nice(self, nice: i32) -> Spawn {
        self.attr(SchedAttr::nice(nice))
    }

    /// Binds it to these CPUs.
    pub fn on(self, allowed: CpuSet) -> Spawn {
        Spawn { allowed: Some(allowed), ..self }
    }

    /// Sets the group.
    pub fn group(self, group: GroupId) -> Spawn {
        Spawn { group: Some(group), ..self }
    }

    /// Makes it a thread of its parent's process, if `thread`.
    pub fn thread(self, thread: bool) -> Spawn {
        Spawn { thread, ..self }
    }

    /// Sets the working set, KiB.
    pub fn footprint_kib(self, footprint_kib: u32) -> Spawn {
        Spawn { footprint_kib, ..self }
    }
}

/// State of a task that its program can read.
pub(super) struct OwnState {
    pub random: Random,
    /// Whether the last [`Step::TryLock`] got the mutex.
    pub succeeded: bool,
    /// Last child that it started.
    pub child: Option<TaskId>,
}

/// State that a program can read and use when it computes its next step.
pub struct Context<'a> {
    /// Time by the clock of its part.
    pub(super) now_ns: u64,
    pub(super) task: TaskId,
    pub(super) cpu: CpuId,
    pub(super) objects: &'a mut Objects,
    pub(super) own: &'a mut OwnState,
}

impl Context<'_> {
    /// Returns the current time, ns since the start of the run (of its [`Part`](super::Part)).
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the task itself.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Returns the CPU on which the task runs.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Whether the last [`Step::TryLock`] got the mutex.
    pub fn succeeded(&self) -> bool {
        self.own.succeeded
    }

    /// Returns the last child that the task started.
    pub fn child(&self) -> Option<TaskId> {
        self.own.child
    }

    /// Returns the task's own stream of random draws.
    pub fn random(&mut self) -> &mut Random {
        &mut self.own.random
    }

    /// Returns the shared objects, to create more of them.
    pub fn objects(&mut self) -> &mut Objects {
        self.objects
    }
}
