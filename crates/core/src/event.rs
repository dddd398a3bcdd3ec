//! The events of a run: [`Event`], and the trait of those that receive them: [`Observer`].

use crate::errno::Errno;
use crate::platform::Throttling;
use crate::reason::{Account, Rule};
use crate::{BlockReason, CpuId, CpuSet, GroupId, Policy, SchedAttr, TaskAttr, TaskId, Waker};

/// Something that happens in a run. The virtual time is passed separately.
///
/// All records of a run (metrics, timelines, traces, fingerprints) are made from these events and
/// from nothing else.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The name of the task that is created next. Sent only if names were requested. All other
    /// events of the run are the same either way.
    Named {
        /// The task.
        task: TaskId,
        /// Its name.
        name: &'a str,
    },
    /// A task is created. [`Event::Started`] follows at once.
    Born {
        /// The task.
        task: TaskId,
        /// The task that forked it, if one did.
        parent: Option<TaskId>,
        /// Its initial attributes.
        attr: &'a TaskAttr,
    },
    /// A new task waits on a CPU's runqueue.
    Started {
        /// The task.
        task: TaskId,
        /// The CPU.
        cpu: CpuId,
        /// The rule that chose this CPU.
        placed: Rule,
        /// The rule by which the task preempts the CPU's current task, or does not.
        preempts: Rule,
    },
    /// The scheduling attributes of a task have changed.
    AttrChanged {
        /// The task.
        task: TaskId,
        /// The new attributes.
        attr: &'a SchedAttr,
    },
    /// The owner of a task has changed its affinity.
    AffinityChanged {
        /// The task.
        task: TaskId,
        /// The CPUs that it may use from now on.
        allowed: &'a CpuSet,
    },
    /// A task has moved to another group.
    GroupChanged {
        /// The task.
        task: TaskId,
        /// The new group.
        group: GroupId,
    },
    /// A task has been woken and belongs to the runqueue of a CPU. (If it blocked in this very
    /// nanosecond it may still be that CPU's current task.)
    Woken {
        /// The task.
        task: TaskId,
        /// The CPU on whose runqueue it waits.
        cpu: CpuId,
        /// The context in which it was woken.
        waker: Waker,
        /// The rule that chose this CPU.
        placed: Rule,
        /// The rule by which the task preempts the CPU's current task, or does not.
        preempts: Rule,
    },
    /// A running task is no longer runnable. It occupies the CPU until the switch, which follows in
    /// the same nanosecond.
    Blocked {
        /// The task.
        task: TaskId,
        /// The CPU that it ran on.
        cpu: CpuId,
        /// The kind of sleep or end.
        reason: BlockReason,
    },
    /// A running task executes another program (`execve`). The scheduler's response, such as a move
    /// to a less busy CPU, follows.
    Execed {
        /// The task.
        task: TaskId,
        /// The CPU that it runs on.
        cpu: CpuId,
    },
    /// A task has ended while it was not on a CPU.
    Killed {
        /// The task.
        task: TaskId,
    },
    /// A CPU switches from one task to another. The two differ.
    Switched {
        /// The CPU.
        cpu: CpuId,
        /// The task that ran. `None`: the CPU was idle.
        prev: Option<TaskId>,
        /// Whether `prev` was preempted (or yielded) rather than blocked.
        prev_runnable: bool,
        /// The task that runs now. `None`: the CPU is idle.
        next: Option<TaskId>,
        /// The rule that picked `next`.
        why: Rule,
    },
    /// A task has moved to another CPU's runqueue.
    Migrated {
        /// The task.
        task: TaskId,
        /// The previous CPU.
        from: CpuId,
        /// The new CPU.
        to: CpuId,
        /// The rule that moved it.
        why: Rule,
    },
    /// A request on behalf of a task was refused. The task continues without it.
    Refused {
        /// The task.
        task: TaskId,
        /// The request.
        request: Request,
        /// The kernel's error number.
        errno: Errno,
        /// Whether the request came from outside the workload, from a caller that acts on the
        /// machine and has received the error.
        from_outside: bool,
    },
    /// A CPU begins to leave an idle state because there is work for it. Sent only on modelled
    /// machines on which that takes time.
    LeavesIdle {
        /// The CPU.
        cpu: CpuId,
        /// Start of the exit, ns.
        from_ns: u64,
        /// End of the exit, ns. The CPU does nothing before it.
        until_ns: u64,
    },
    /// A CPU has gone offline, after all tasks have left it, or has come back online. All CPUs are
    /// online at the start of a run.
    Online {
        /// The CPU.
        cpu: CpuId,
        /// Whether it is online from now on.
        online: bool,
    },
    /// The tick of a CPU has been handled.
    Ticked {
        /// The CPU.
        cpu: CpuId,
    },
    /// The grounds of a decision that was made on a CPU. Sent only if grounds were requested. All
    /// other events of the run are the same either way.
    Decided {
        /// The decision, its CPU, its rule and its grounds.
        account: &'a Account,
    },
    /// A CPU's queue of a group is throttled, or no longer is. Sent only if throttling was
    /// requested. All other events of the run are the same either way.
    Throttled {
        /// The change.
        change: &'a Throttling,
    },
    /// The run is over.
    Finished,
}

/// A request on behalf of a task that can be refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A policy with its parameters.
    Policy(Policy),
    /// An affinity.
    Affinity,
    /// A move to another group.
    Group,
    /// A fork.
    Fork,
}

/// Constructors for events whose rules do not matter, for callers that make events by hand.
impl Event<'_> {
    /// Makes an [`Event::Started`] without rules.
    pub const fn started(task: TaskId, cpu: CpuId) -> Self {
        Event::Started { task, cpu, placed: Rule::NONE, preempts: Rule::NONE }
    }

    /// Makes an [`Event::Woken`] without rules.
    pub const fn woken(task: TaskId, cpu: CpuId, waker: Waker) -> Self {
        Event::Woken { task, cpu, waker, placed: Rule::NONE, preempts: Rule::NONE }
    }

    /// Makes an [`Event::Blocked`].
    pub const fn blocked(task: TaskId, cpu: CpuId, reason: BlockReason) -> Self {
        Event::Blocked { task, cpu, reason }
    }

    /// Makes an [`Event::Switched`] without a rule.
    pub const fn switched(
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) -> Self {
        Event::Switched { cpu, prev, prev_runnable, next, why: Rule::NONE }
    }

    /// Makes an [`Event::Migrated`] without a rule.
    pub const fn migrated(task: TaskId, from: CpuId, to: CpuId) -> Self {
        Event::Migrated { task, from, to, why: Rule::NONE }
    }
}

/// Receives the events of a run. An observer is part of the machine's type, so an event that it
/// ignores costs nothing.
///
/// A pair of observers is an observer. `()` observes nothing. A `&mut dyn Observer` is also an
/// observer, for callers that choose at run time.
pub trait Observer {
    /// Receives `event`, which happens at `now_ns`.
    fn on(&mut self, now_ns: u64, event: Event<'_>);
}

impl Observer for () {
    #[inline]
    fn on(&mut self, _now_ns: u64, _event: Event<'_>) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        self.0.on(now_ns, event);
        self.1.on(now_ns, event);
    }
}

impl<O: Observer> Observer for Option<O> {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        if let Some(observer) = self {
            observer.on(now_ns, event);
        }
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        (**self).on(now_ns, event);
    }
}

impl<O: Observer + ?Sized> Observer for alloc::boxed::Box<O> {
    #[inline]
    fn on(&mut self, now_ns: u64, event: Event<'_>) {
        (**self).on(now_ns, event);
    }
}
