//! What a task may do, operation by operation: the [`Workload`] trait.
//!
//! A workload is asked for a task's next operation whenever the task has the CPU and nothing left
//! to do, much as a program issues one system call after another. Only [`Op::Run`] and
//! [`Op::RunUntil`] take CPU time.

use schedlab_core::{BlockReason, CpuId, CpuSet, GroupId, SchedAttr, TaskAttr, TaskId};

/// One operation of a running task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Compute for this long (ns of CPU time; [`u64::MAX`] = for ever). Consecutive runs are one
    /// piece of work: nothing happens at the boundary.
    Run {
        /// CPU time, ns, at least 1.
        ns: u64,
    },
    /// Compute until the clock shows a time: however much CPU time that takes. Who has no CPU at
    /// that time is done as soon as it has one. A time not after the present is no work at all.
    RunUntil {
        /// The time, ns.
        until_ns: u64,
    },
    /// Kill `task`, as `SIGKILL` does; nothing happens if it has ended. Who kills itself takes no
    /// further operation.
    Kill {
        /// Whom.
        task: TaskId,
    },
    /// Sleep until a time, unless woken before. A time not after the present is no sleep at all.
    Sleep {
        /// When to wake, ns.
        until_ns: u64,
        /// What kind of sleep.
        reason: BlockReason,
    },
    /// Sleep until woken.
    Block {
        /// What kind of sleep.
        reason: BlockReason,
    },
    /// Wake `task`; nothing happens if it is not asleep.
    Wake {
        /// Whom.
        task: TaskId,
        /// A synchronous wakeup: the caller promises to sleep at once.
        sync: bool,
    },
    /// Start a new task, the next number of all ([`Workload::forked`] names it).
    Fork {
        /// What it is born with.
        attr: Box<TaskAttr>,
        /// It has its parent's policy, priority, affinity and group as they are now, whatever
        /// `attr` says of them.
        inherits: bool,
        /// It comes into being this much later, ns; then nobody's child in particular.
        delay_ns: u64,
    },
    /// `execve(2)`: the scheduler may choose another CPU; a caller that is sent elsewhere takes its
    /// next operation there.
    Exec,
    /// `sched_yield(2)`; the next operation is taken when the task has the CPU again.
    Yield,
    /// `sched_yield(2)`, but the next operation is taken at once, as some golden schedules have it.
    YieldAndGoOn,
    /// Give `task` (often the caller itself) other scheduling attributes.
    SetAttr {
        /// Whom.
        task: TaskId,
        /// Its attributes from now on.
        attr: SchedAttr,
    },
    /// Change the affinity of `task`. A caller that may no longer run where it is takes its next
    /// operation elsewhere.
    SetAffinity {
        /// Whom.
        task: TaskId,
        /// Where it may run from now on.
        allowed: CpuSet,
    },
    /// Move `task` to another group.
    SetGroup {
        /// Whom.
        task: TaskId,
        /// Its group from now on.
        group: GroupId,
    },
    /// End the task.
    Exit,
}

/// A task that a workload begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTask {
    /// What it is born with.
    pub attr: TaskAttr,
    /// When it comes into being, ns.
    pub start_ns: u64,
}

/// What tasks do.
pub trait Workload {
    /// Why a run had to stop: a program that cannot go on as meant.
    type Error;

    /// The tasks that the run begins with, numbered from 0 in this order. Called once.
    fn initial_tasks(&mut self) -> Vec<NewTask>;

    /// The next operation of `task`, which runs on `cpu` and has done all that it was to do.
    ///
    /// # Errors
    /// Ends the run.
    fn next(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Result<Op, Self::Error>;

    /// If the next operation of `task` is a plain run, takes it: its length in ns. Asked when a
    /// task gets a CPU without work; saves the machine a detour, and must have no other effect.
    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        let _ = (now_ns, task);
        None
    }

    /// The sleep of `task` is over, or it is about to start. Some golden schedules have programs
    /// that act at this point, before they are queued: what is returned is done, and the question
    /// put again; [`Op::SetAttr`], [`Op::SetAffinity`] and
    /// [`Op::SetGroup`] of itself and [`Op::Exit`] are allowed. None: wake it.
    fn before_wake(&mut self, now_ns: u64, task: TaskId) -> Option<Op> {
        let _ = (now_ns, task);
        None
    }

    /// The [`Op::Fork`] that `parent` has just issued made the task `child`.
    fn forked(&mut self, now_ns: u64, parent: TaskId, child: TaskId) {
        let _ = (now_ns, parent, child);
    }

    /// The [`Op::Fork`] that `parent` has just issued was refused: there is no child.
    fn fork_refused(&mut self, now_ns: u64, parent: TaskId) {
        let _ = (now_ns, parent);
    }

    /// `task` was refused the attributes that it was to be born with or to be given: it has these.
    fn attr_refused(&mut self, task: TaskId, in_force: &SchedAttr) {
        let _ = (task, in_force);
    }

    /// What `task` is called. Asked only if somebody wants names
    /// ([`Machine::ask_names`](crate::Machine::ask_names)).
    fn task_name(&self, task: TaskId) -> String {
        format!("task-{}", task.0)
    }

    /// `task` was killed: it will do nothing more, and whoever waits for it waits in vain.
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        let _ = (now_ns, task);
    }

    /// How much memory `task` goes through whenever it runs, KiB. Asked when it gets a CPU of a
    /// machine whose caches are modelled.
    fn footprint_kib(&self, task: TaskId) -> u32 {
        let _ = task;
        0
    }

    /// Whether `task`, which runs, is in the middle of a system call: then its next operation
    /// follows before it can be switched away. The kernels modelled do not preempt their own code.
    /// It matters only where operations take time.
    fn in_a_call(&self, task: TaskId) -> bool {
        let _ = task;
        false
    }

    /// How much CPU time `task`, which is about to start or wake, will use before it blocks, ns;
    /// [`u64::MAX`] = it never does. None if its program cannot know. Asked only on behalf of
    /// schedulers that know coming bursts.
    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        let _ = task;
        None
    }
}
