//! Operations of tasks: the [`Workload`] trait.
//!
//! The machine asks a workload for a task's next operation whenever the task has the CPU and no
//! work left, much as a program issues one system call after another. Only [`Op::Run`] and
//! [`Op::RunUntil`] take CPU time.

use schedlab_core::{BlockReason, CpuId, CpuSet, GroupId, SchedAttr, TaskAttr, TaskId};

/// One operation of a running task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Compute for the given CPU time; [`u64::MAX`] means forever. Consecutive runs are one piece
    /// of work: nothing happens at the boundary.
    Run {
        /// CPU time, ns, at least 1.
        ns: u64,
    },
    /// Compute until the given time, however much CPU time that takes. A task that has no CPU at
    /// that time finishes as soon as it has one. A time that is not in the future means no work.
    RunUntil {
        /// The time, ns.
        until_ns: u64,
    },
    /// Kill `task`, as `SIGKILL` does. Nothing happens if it has ended. A task that kills itself
    /// takes no further operation.
    Kill {
        /// Task to kill.
        task: TaskId,
    },
    /// Sleep until the given time, unless woken earlier. A time that is not in the future means no
    /// sleep.
    Sleep {
        /// Time at which to wake, ns.
        until_ns: u64,
        /// Kind of sleep.
        reason: BlockReason,
    },
    /// Sleep until woken.
    Block {
        /// Kind of sleep.
        reason: BlockReason,
    },
    /// Wake `task`. Nothing happens if it is not asleep.
    Wake {
        /// Task to wake.
        task: TaskId,
        /// Whether the wakeup is synchronous: the caller promises to sleep at once.
        sync: bool,
    },
    /// Start a new task with the next free number ([`Workload::forked`] reports it).
    Fork {
        /// Attributes at birth.
        attr: Box<TaskAttr>,
        /// Whether the child takes its parent's current policy, priority, affinity and group
        /// instead of those in `attr`.
        inherits: bool,
        /// Delay until the child is born, ns. A delayed child has no parent when it is born.
        delay_ns: u64,
    },
    /// `execve(2)`: the scheduler may choose another CPU. A caller that is moved takes its next
    /// operation on the new CPU.
    Exec,
    /// `clock_gettime(2)` of the task's own CPU clock, before which a kernel may charge the task.
    ReadClock,
    /// `sched_yield(2)`. The task takes its next operation when it has the CPU again.
    Yield,
    /// `sched_yield(2)`, but the task takes its next operation at once, as in some golden
    /// schedules.
    YieldAndGoOn,
    /// Change the scheduling attributes of `task`, often the caller itself.
    SetAttr {
        /// Task to change.
        task: TaskId,
        /// New attributes.
        attr: SchedAttr,
    },
    /// Change the affinity of `task`. A caller that may no longer run on its CPU takes its next
    /// operation elsewhere.
    SetAffinity {
        /// Task to change.
        task: TaskId,
        /// CPUs on which it may run.
        allowed: CpuSet,
    },
    /// Move `task` to another group.
    SetGroup {
        /// Task to move.
        task: TaskId,
        /// New group.
        group: GroupId,
    },
    /// End the task.
    Exit,
}

/// Initial task of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTask {
    /// Attributes at birth.
    pub attr: TaskAttr,
    /// Time of birth, ns.
    pub start_ns: u64,
}

/// Behaviour of tasks.
pub trait Workload {
    /// Error that ends a run: a program cannot continue as intended.
    type Error;

    /// Returns the initial tasks, numbered from 0 in this order. Called once.
    fn initial_tasks(&mut self) -> Vec<NewTask>;

    /// Returns the next operation of `task`, which runs on `cpu` and has finished its previous
    /// work.
    ///
    /// # Errors
    /// An error ends the run.
    fn next(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Result<Op, Self::Error>;

    /// Takes the next operation of `task` if it is a plain run, and returns its length in ns.
    /// Called when a task without work gets a CPU. This only saves the machine an extra step and
    /// must have no other effect.
    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        let _ = (now_ns, task);
        None
    }

    /// Called when the sleep of `task` is over or `task` is about to start. In some golden
    /// schedules programs act here, before they are queued. The machine performs the returned
    /// operation and calls again. Allowed are [`Op::SetAttr`], [`Op::SetAffinity`] and
    /// [`Op::SetGroup`] on the task itself, and [`Op::Exit`]. `None`: wake the task.
    fn before_wake(&mut self, now_ns: u64, task: TaskId) -> Option<Op> {
        let _ = (now_ns, task);
        None
    }

    /// Reports that the [`Op::Fork`] that `parent` has just issued created the task `child`.
    fn forked(&mut self, now_ns: u64, parent: TaskId, child: TaskId) {
        let _ = (now_ns, parent, child);
    }

    /// Reports that the [`Op::Fork`] that `parent` has just issued was refused: there is no child.
    fn fork_refused(&mut self, now_ns: u64, parent: TaskId) {
        let _ = (now_ns, parent);
    }

    /// Reports that `task` was refused the attributes for its birth or for a change. It has the
    /// attributes `in_force`.
    fn attr_refused(&mut self, task: TaskId, in_force: &SchedAttr) {
        let _ = (task, in_force);
    }

    /// Returns the name of `task`. Called only if names were requested
    /// ([`Machine::ask_names`](crate::Machine::ask_names)).
    fn task_name(&self, task: TaskId) -> String {
        format!("task-{}", task.0)
    }

    /// Reports that `task` was killed. It does nothing more, and tasks that wait for it are never
    /// woken by it.
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        let _ = (now_ns, task);
    }

    /// Returns the memory that `task` touches whenever it runs, KiB. Called when it gets a CPU of a
    /// machine with modelled caches.
    fn footprint_kib(&self, task: TaskId) -> u32 {
        let _ = task;
        0
    }

    /// Returns whether `task`, which runs, is inside a system call. Its next operation then follows
    /// before it can be switched away, because the modelled kernels do not preempt their own code.
    /// This matters only where operations take time.
    fn in_a_call(&self, task: TaskId) -> bool {
        let _ = task;
        false
    }

    /// Returns the CPU time that `task`, which is about to start or wake, will use before it
    /// blocks, ns. [`u64::MAX`]: it never blocks. `None`: its program cannot know. Called only for
    /// schedulers that know coming bursts.
    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        let _ = task;
        None
    }
}
