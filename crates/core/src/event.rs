//! Everything that happens in a run: [`Event`], and those who take note of it: [`Observer`].

use crate::errno::Errno;
use crate::reason::{Account, Rule};
use crate::{BlockReason, CpuId, CpuSet, GroupId, Policy, SchedAttr, TaskAttr, TaskId, Waker};

/// Something that happens, with the virtual time given beside it.
///
/// What a run notes of itself (figures, slices, traces, fingerprints) is made of these and of
/// nothing else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event<'a> {
    /// What the task is called that comes into being next. Only if somebody asked for names; every
    /// other event of the run is the same whether or not.
    Named {
        /// Which.
        task: TaskId,
        /// Its name.
        name: &'a str,
    },
    /// A task comes into being. [`Event::Started`] follows at once.
    Born {
        /// Which.
        task: TaskId,
        /// The task that forked it, if one did.
        parent: Option<TaskId>,
        /// What it is born with.
        attr: &'a TaskAttr,
    },
    /// A new task waits on the runqueue of a CPU.
    Started {
        /// Which.
        task: TaskId,
        /// Where.
        cpu: CpuId,
        /// By which rule that CPU was chosen.
        placed: Rule,
        /// By which rule it preempts the current task there, or does not.
        preempts: Rule,
    },
    /// A task has other scheduling attributes from now on.
    AttrChanged {
        /// Which.
        task: TaskId,
        /// From now on.
        attr: &'a SchedAttr,
    },
    /// A task may run on other CPUs from now on, by its owner's will.
    AffinityChanged {
        /// Which.
        task: TaskId,
        /// From now on.
        allowed: &'a CpuSet,
    },
    /// A task belongs to another group from now on.
    GroupChanged {
        /// Which.
        task: TaskId,
        /// From now on.
        group: GroupId,
    },
    /// A task has been woken and belongs to the runqueue of a CPU. (If it had blocked in this very
    /// nanosecond it may still be that CPU's current task.)
    Woken {
        /// Which.
        task: TaskId,
        /// Where it waits.
        cpu: CpuId,
        /// Who woke it.
        waker: Waker,
        /// By which rule that CPU was chosen.
        placed: Rule,
        /// By which rule it preempts the current task there, or does not.
        preempts: Rule,
    },
    /// A running task is no longer runnable. It occupies the CPU until it is switched away, in the
    /// same nanosecond.
    Blocked {
        /// Which.
        task: TaskId,
        /// Where it ran.
        cpu: CpuId,
        /// How.
        reason: BlockReason,
    },
    /// A running task becomes another program (`execve`). What the scheduler makes of it, such as a
    /// move to an idler CPU, follows.
    Execed {
        /// Which.
        task: TaskId,
        /// Where it runs.
        cpu: CpuId,
    },
    /// A task has ended without being on a CPU.
    Killed {
        /// Which.
        task: TaskId,
    },
    /// A CPU goes over from one task to another; the two differ.
    Switched {
        /// Which CPU.
        cpu: CpuId,
        /// Who ran; none = idle.
        prev: Option<TaskId>,
        /// Whether `prev` was preempted (or yielded) rather than blocked.
        prev_runnable: bool,
        /// Who runs; none = idle.
        next: Option<TaskId>,
        /// By which rule `next` was picked.
        why: Rule,
    },
    /// A task now belongs to another CPU's runqueue.
    Migrated {
        /// Which.
        task: TaskId,
        /// From this CPU's.
        from: CpuId,
        /// To that CPU's.
        to: CpuId,
        /// By which rule.
        why: Rule,
    },
    /// A task was refused what was asked for it, and goes on without.
    Refused {
        /// Which.
        task: TaskId,
        /// What was asked.
        request: Request,
        /// Why not.
        errno: Errno,
        /// Whether somebody asked who acts on the machine from outside, and was told; not the
        /// workload.
        from_outside: bool,
    },
    /// A CPU that was in an idle state begins to get out of it, as there is something to do. Only
    /// on modelled machines, and only where that takes time.
    LeavesIdle {
        /// Which.
        cpu: CpuId,
        /// From when on, ns ...
        from_ns: u64,
        /// ... until when, ns: nothing is done there before.
        until_ns: u64,
    },
    /// A CPU has gone off line, and nobody is on it any more, or it has come back. All are on line
    /// when a run begins.
    Online {
        /// Which CPU.
        cpu: CpuId,
        /// Whether it is on line from now on.
        online: bool,
    },
    /// A CPU has had its tick.
    Ticked {
        /// Which.
        cpu: CpuId,
    },
    /// A decision was made on a CPU, on these grounds. Only if somebody asked for grounds; every
    /// other event of the run is the same whether or not.
    Decided {
        /// What, for which CPU, by which rule, on what grounds.
        account: &'a Account,
    },
    /// The run is over.
    Finished,
}

/// What can be asked for a task, and refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// This policy, with its parameters.
    Policy(Policy),
    /// An affinity.
    Affinity,
    /// To be in another group.
    Group,
    /// To fork.
    Fork,
}

/// Events of which the rules do not matter, for those who make them by hand.
impl Event<'_> {
    /// [`Event::Started`], by no rule in particular.
    pub const fn started(task: TaskId, cpu: CpuId) -> Self {
        Event::Started { task, cpu, placed: Rule::NONE, preempts: Rule::NONE }
    }

    /// [`Event::Woken`], by no rule in particular.
    pub const fn woken(task: TaskId, cpu: CpuId, waker: Waker) -> Self {
        Event::Woken { task, cpu, waker, placed: Rule::NONE, preempts: Rule::NONE }
    }

    /// [`Event::Blocked`].
    pub const fn blocked(task: TaskId, cpu: CpuId, reason: BlockReason) -> Self {
        Event::Blocked { task, cpu, reason }
    }

    /// [`Event::Switched`], by no rule in particular.
    pub const fn switched(
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) -> Self {
        Event::Switched { cpu, prev, prev_runnable, next, why: Rule::NONE }
    }

    /// [`Event::Migrated`], by no rule in particular.
    pub const fn migrated(task: TaskId, from: CpuId, to: CpuId) -> Self {
        Event::Migrated { task, from, to, why: Rule::NONE }
    }
}

/// Takes note of what happens. Observers are part of the machine's type: one that ignores an event
/// costs nothing for it.
///
/// Two observers in a pair are an observer. `()` observes nothing. A `&mut dyn Observer` is one
/// too, for those who choose at run time.
pub trait Observer {
    /// `event` happens at `now_ns`.
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
