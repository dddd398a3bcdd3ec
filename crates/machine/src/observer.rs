//! What can be noted of a run.

use schedlab_core::platform::Refusal;
use schedlab_core::{BlockReason, CpuId, GroupId, SchedAttr, TaskAttr, TaskId, Waker};

/// Takes note of what happens. Observers are part of the machine's type: one that ignores an event
/// costs nothing for it.
///
/// Two observers in a pair are an observer. `()` observes nothing.
#[allow(unused_variables)]
pub trait Observer {
    /// `task` comes into being with these attributes; `parent` is the task that forked it, if one
    /// did. Told just before [`started`](Observer::started).
    fn born(&mut self, now_ns: u64, task: TaskId, parent: Option<TaskId>, attr: &TaskAttr) {}

    /// `task` has other scheduling attributes from now on.
    fn attr_changed(&mut self, now_ns: u64, task: TaskId, attr: &SchedAttr) {}

    /// `task` belongs to another group from now on.
    fn group_changed(&mut self, now_ns: u64, task: TaskId, group: GroupId) {}

    /// `task` has come into being and waits on the runqueue of `cpu`.
    fn started(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) {}

    /// `task` has been woken and belongs to the runqueue of `cpu`. (If it had blocked in this very
    /// nanosecond it may still be that CPU's current task.)
    fn woken(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, waker: Waker) {}

    /// `task`, running on `cpu`, is no longer runnable. It occupies the CPU until it is switched
    /// away, in the same nanosecond.
    fn blocked(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, reason: BlockReason) {}

    /// `task` has ended without being on a CPU.
    fn killed(&mut self, now_ns: u64, task: TaskId) {}

    /// `cpu` goes over from `prev` to `next` (none = idle); the two differ. `prev_runnable` tells
    /// whether `prev` was preempted (or yielded) rather than blocked.
    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
    }

    /// `task` now belongs to the runqueue of `to`.
    fn migrated(&mut self, now_ns: u64, task: TaskId, from: CpuId, to: CpuId) {}

    /// `task` was refused the attributes that it asked for.
    fn refused(&mut self, now_ns: u64, task: TaskId, why: Refusal) {}

    /// `cpu` has had its tick.
    fn ticked(&mut self, now_ns: u64, cpu: CpuId) {}

    /// The run is over.
    fn finished(&mut self, now_ns: u64) {}
}

impl Observer for () {}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn born(&mut self, now_ns: u64, task: TaskId, parent: Option<TaskId>, attr: &TaskAttr) {
        self.0.born(now_ns, task, parent, attr);
        self.1.born(now_ns, task, parent, attr);
    }
    fn attr_changed(&mut self, now_ns: u64, task: TaskId, attr: &SchedAttr) {
        self.0.attr_changed(now_ns, task, attr);
        self.1.attr_changed(now_ns, task, attr);
    }
    fn group_changed(&mut self, now_ns: u64, task: TaskId, group: GroupId) {
        self.0.group_changed(now_ns, task, group);
        self.1.group_changed(now_ns, task, group);
    }
    fn started(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) {
        self.0.started(now_ns, task, cpu);
        self.1.started(now_ns, task, cpu);
    }
    fn woken(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, waker: Waker) {
        self.0.woken(now_ns, task, cpu, waker);
        self.1.woken(now_ns, task, cpu, waker);
    }
    fn blocked(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, reason: BlockReason) {
        self.0.blocked(now_ns, task, cpu, reason);
        self.1.blocked(now_ns, task, cpu, reason);
    }
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        self.0.killed(now_ns, task);
        self.1.killed(now_ns, task);
    }
    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        self.0.switched(now_ns, cpu, prev, prev_runnable, next);
        self.1.switched(now_ns, cpu, prev, prev_runnable, next);
    }
    fn migrated(&mut self, now_ns: u64, task: TaskId, from: CpuId, to: CpuId) {
        self.0.migrated(now_ns, task, from, to);
        self.1.migrated(now_ns, task, from, to);
    }
    fn refused(&mut self, now_ns: u64, task: TaskId, why: Refusal) {
        self.0.refused(now_ns, task, why);
        self.1.refused(now_ns, task, why);
    }
    fn ticked(&mut self, now_ns: u64, cpu: CpuId) {
        self.0.ticked(now_ns, cpu);
        self.1.ticked(now_ns, cpu);
    }
    fn finished(&mut self, now_ns: u64) {
        self.0.finished(now_ns);
        self.1.finished(now_ns);
    }
}

impl<O: Observer> Observer for Option<O> {
    fn born(&mut self, now_ns: u64, task: TaskId, parent: Option<TaskId>, attr: &TaskAttr) {
        if let Some(observer) = self {
            observer.born(now_ns, task, parent, attr);
        }
    }
    fn attr_changed(&mut self, now_ns: u64, task: TaskId, attr: &SchedAttr) {
        if let Some(observer) = self {
            observer.attr_changed(now_ns, task, attr);
        }
    }
    fn group_changed(&mut self, now_ns: u64, task: TaskId, group: GroupId) {
        if let Some(observer) = self {
            observer.group_changed(now_ns, task, group);
        }
    }
    fn started(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) {
        if let Some(observer) = self {
            observer.started(now_ns, task, cpu);
        }
    }
    fn woken(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, waker: Waker) {
        if let Some(observer) = self {
            observer.woken(now_ns, task, cpu, waker);
        }
    }
    fn blocked(&mut self, now_ns: u64, task: TaskId, cpu: CpuId, reason: BlockReason) {
        if let Some(observer) = self {
            observer.blocked(now_ns, task, cpu, reason);
        }
    }
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        if let Some(observer) = self {
            observer.killed(now_ns, task);
        }
    }
    fn switched(
        &mut self,
        now_ns: u64,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_runnable: bool,
        next: Option<TaskId>,
    ) {
        if let Some(observer) = self {
            observer.switched(now_ns, cpu, prev, prev_runnable, next);
        }
    }
    fn migrated(&mut self, now_ns: u64, task: TaskId, from: CpuId, to: CpuId) {
        if let Some(observer) = self {
            observer.migrated(now_ns, task, from, to);
        }
    }
    fn refused(&mut self, now_ns: u64, task: TaskId, why: Refusal) {
        if let Some(observer) = self {
            observer.refused(now_ns, task, why);
        }
    }
    fn ticked(&mut self, now_ns: u64, cpu: CpuId) {
        if let Some(observer) = self {
            observer.ticked(now_ns, cpu);
        }
    }
    fn finished(&mut self, now_ns: u64) {
        if let Some(observer) = self {
            observer.finished(now_ns);
        }
    }
}
