//! The interface of a scheduler: the [`Scheduler`] trait.
//!
//! A `Scheduler` does everything that one kernel release does with the tasks of one whole machine.
//! It owns the runqueues of *all* CPUs, and each hook names the CPU on which the kernel is acting.
//!
//! # A task's life, as a scheduler sees it
//!
//! ```text
//!            fork                    schedule (picked)
//!   (none) --------> queued  <-----------------------------> running on a CPU
//!                      ^              schedule (preempted)       |
//!                      | wake                                    | block (asleep, stopped, dead)
//!                      |                                         v
//!                    asleep  <------------------------ asleep, but still the CPU's current,
//!                                     schedule           until that CPU calls schedule
//! ```
//!
//! # An instant
//!
//! Everything that happens at one nanosecond happens before any rescheduling of that nanosecond:
//! work that ends ([`block`](Scheduler::block), [`yield_now`](Scheduler::yield_now), forks and
//! wakeups by running tasks), then tasks that start or wake, timers, ticks by CPU. Hooks ask for
//! reschedules with [`Platform::resched`]. Afterwards the machine calls
//! [`schedule`](Scheduler::schedule) on every CPU that was asked, in ascending order, round after
//! round until no request is left. A task that blocked therefore stays its CPU's current task
//! through the rest of its instant.

use crate::control::{Command, ControlError, Reply};
use crate::{
    Clairvoyant, CpuId, CpuSet, Errno, Inspect, Platform, SchedAttr, TaskAttr, TaskId, TimerKey,
};
use alloc::boxed::Box;

/// Origin of a new task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parent {
    /// No task that holds a CPU or whose own state matters: a parent that is neither interactive
    /// nor a CPU hog. The child gets what the kernel gives a fresh child, undiminished, and starts
    /// on the allowed CPU with the fewest runnable tasks, the lowest number among equals. (Tasks of
    /// golden schedules, and tasks that a workload file starts, are created this way.)
    External,
    /// A running task forked. The release's own rules for parent and child apply.
    Task {
        /// The parent.
        task: TaskId,
        /// The CPU it runs on.
        cpu: CpuId,
    },
}

/// The context in which a task is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waker {
    /// An interrupt handler on a CPU.
    Interrupt {
        /// The CPU that received the interrupt.
        cpu: CpuId,
    },
    /// Process context on a CPU, but no task of this machine's workload (a kernel daemon).
    Process {
        /// The CPU on which it runs.
        cpu: CpuId,
    },
    /// The task that runs on a CPU.
    Task {
        /// The waker.
        task: TaskId,
        /// The CPU on which it runs.
        cpu: CpuId,
        /// Whether the wakeup is synchronous: the waker promises to sleep at once.
        sync: bool,
    },
}

impl Waker {
    /// Returns the CPU on which the wakeup is executed.
    #[inline]
    pub const fn cpu(self) -> CpuId {
        match self {
            Waker::Interrupt { cpu } | Waker::Process { cpu } | Waker::Task { cpu, .. } => cpu,
        }
    }

    /// Whether it is a synchronous wakeup.
    #[inline]
    pub const fn is_sync(self) -> bool {
        matches!(self, Waker::Task { sync: true, .. })
    }
}

/// Reason for which a running task stops being runnable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockReason {
    /// `TASK_INTERRUPTIBLE`: an ordinary sleep.
    Interruptible,
    /// `TASK_INTERRUPTIBLE` in `futex(2)`: a wait for a lock, a condition and the like. The machine
    /// reports it to observers as [`Interruptible`](BlockReason::Interruptible). Only schedulers
    /// that treat such waits specially distinguish them.
    Futex,
    /// `TASK_UNINTERRUPTIBLE`: a wait for a disk or similar.
    Uninterruptible,
    /// `TASK_STOPPED`: stopped by job control.
    Stopped,
    /// The task has exited. No hook names it again, except [`Scheduler::reap`].
    Dead,
}

/// CPU usage and throttling of a task group (`cpuacct.usage`, `cpu.stat`), summed over CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupStats {
    /// CPU time of the fair tasks in it and in the groups below it, as last charged, ns. It
    /// excludes the time that a task used before it joined the group.
    pub usage_ns: u64,
    /// Number of quota periods that have ended.
    pub nr_periods: u64,
    /// Number of those periods in which it was throttled.
    pub nr_throttled: u64,
    /// Time for which its CPUs' queues were throttled, summed over CPUs, up to the last
    /// unthrottling of each, ns.
    pub throttled_ns: u64,
    /// Number of periods in which it used more than its quota, out of saved quota.
    pub nr_bursts: u64,
    /// Total of that excess, ns.
    pub burst_ns: u64,
    /// Phase of its periods, ns: the time of a refill modulo the period. `None`: it has no limit.
    pub period_phase_ns: Option<u64>,
}

/// A process scheduler: the behaviour of one kernel release.
///
/// All hooks may read the clock of the [`Platform`] and give orders to it. Unless stated otherwise,
/// a hook that makes a reschedule necessary requests it with [`Platform::resched`], and a hook that
/// makes a decision names the rule with [`Platform::because`].
///
/// Six hooks are required. The others have defaults for schedulers that have nothing to do there. A
/// wrapper around another scheduler implements all of them. `clippy::missing_trait_methods`, denied
/// on its `impl`, enforces that.
pub trait Scheduler {
    /// Receives a new task. The scheduler chooses its CPU, queues it and decides about preemption.
    ///
    /// `task` is a number never used before. Numbers follow the order in which tasks are written in
    /// the workload, so tasks that start late arrive out of order. [`TaskTable`](crate::TaskTable)
    /// makes room for them.
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent);

    /// Makes `task` runnable. It was asleep, or it blocked in this very nanosecond and is still its
    /// CPU's current task.
    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker);

    /// Blocks the task that runs on `cpu`: it stops being runnable. It stays current until `cpu`
    /// reschedules. The machine arranges the reschedule, so the hook need not request it.
    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason);

    /// Ends `task`, asleep or waiting, which does not run again (it was killed, or its program
    /// ended with its sleep). It is not the current task of any CPU.
    fn kill(&mut self, platform: &mut Platform, task: TaskId);

    /// Reschedules `cpu`: puts the current task back and picks the next. `None`: there is nothing
    /// to run and the CPU idles.
    ///
    /// The request of `cpu` has been cleared before the call. If it is set when the call returns,
    /// `cpu` reschedules again in the next round.
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId>;

    /// Returns the CPU whose runqueue `task` belongs to, or last belonged to.
    fn cpu_of(&self, task: TaskId) -> CpuId;

    /// Handles the tick of `cpu`, with the balancing that it raises. By default nothing happens.
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        let _ = (platform, cpu);
    }

    /// Runs the softirq that the tick of `cpu` has raised
    /// ([`Platform::raise_softirq`](crate::Platform::raise_softirq)): its balancing. By default
    /// nothing happens.
    fn softirq(&mut self, platform: &mut Platform, cpu: CpuId) {
        let _ = (platform, cpu);
    }

    /// Handles `sched_yield(2)` by the task that runs on `cpu`. The hook asks for the reschedule of
    /// `cpu` if the kernel would call `schedule()`, which is the default. If it does not ask, the
    /// task continues at once.
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let _ = task;
        platform.resched(cpu);
    }

    /// Handles `sched_setattr(2)` and `setpriority(2)`: the attributes of `task`, in any state,
    /// change. `by` is the CPU on which the call is executed. The machine has checked that the
    /// values are in range and that something differs. By default attributes have no effect.
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let _ = (platform, task, attr, by);
    }

    /// Handles `sched_setscheduler(2)` with the policy and priority that `task` already has. The
    /// O(1) scheduler and the first CFS still do all the work: the task leaves its list and returns
    /// to it, and a running task starts a new timeslice. By default nothing happens, as in every
    /// later kernel.
    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, by: CpuId) {
        let _ = (platform, task, by);
    }

    /// Handles `execve(2)` by the task that runs on `cpu`: its cache contents become worthless, so
    /// a release may choose another CPU for it. If the task has to move, the hook requests the
    /// reschedule of `cpu`, and the task continues elsewhere. From now on the task has a new
    /// address space ([`TaskAttr::address_space_after_exec`]). By default the task stays.
    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let _ = (platform, cpu, task);
    }

    /// Handles `sched_setaffinity(2)`: from now on `task` may run on `allowed` only (which contains
    /// at least one CPU of the machine). A running task on a forbidden CPU must leave it. By
    /// default tasks run on any CPU, which the release declares in
    /// [`Capabilities::affinity`](crate::Capabilities::affinity).
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let _ = (platform, task, allowed);
    }

    /// Checks whether the running `task` may fork. Called before each fork by a task. On an error
    /// there is no child, and the task continues. By default every task may fork.
    ///
    /// # Errors
    /// The error that `fork(2)` would return.
    fn may_fork(&self, task: TaskId) -> Result<(), Errno> {
        let _ = task;
        Ok(())
    }

    /// Reaps the dead `task`, whose parent learns of its end (`wait(2)`). `None`: init reaps it.
    fn reap(&mut self, platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        let _ = (platform, task, parent);
    }

    /// Handles the expiry of a timer that the scheduler armed.
    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        let _ = (platform, key);
        unreachable!("a timer fired for a scheduler that arms none");
    }

    /// Executes an administrator's command: groups, tunables, CPUs that go offline and come back.
    /// By default the release supports none.
    ///
    /// # Errors
    /// If the release does not support the command, or refuses it. Nothing has changed then.
    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        let _ = platform;
        Err(command.unsupported())
    }

    /// Returns the queries about it. By default every query gets its default answer.
    fn inspect(&self) -> &dyn Inspect {
        &()
    }

    /// Returns the hook through which it learns the lengths of bursts, if it is a textbook policy
    /// that needs them. No kernel's scheduler has it.
    fn as_clairvoyant(&mut self) -> Option<&mut dyn Clairvoyant> {
        None
    }
}

/// Forwards every hook, so that a boxed scheduler is a scheduler.
#[deny(clippy::missing_trait_methods)]
impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    #[inline]
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        (**self).fork(platform, task, attr, parent);
    }
    #[inline]
    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        (**self).wake(platform, task, waker);
    }
    #[inline]
    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        (**self).block(platform, cpu, task, reason);
    }
    #[inline]
    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        (**self).kill(platform, task);
    }
    #[inline]
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        (**self).schedule(platform, cpu)
    }
    #[inline]
    fn cpu_of(&self, task: TaskId) -> CpuId {
        (**self).cpu_of(task)
    }
    #[inline]
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        (**self).tick(platform, cpu);
    }
    #[inline]
    fn softirq(&mut self, platform: &mut Platform, cpu: CpuId) {
        (**self).softirq(platform, cpu);
    }
    #[inline]
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        (**self).yield_now(platform, cpu, task);
    }
    #[inline]
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        (**self).set_attr(platform, task, attr, by);
    }
    #[inline]
    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, by: CpuId) {
        (**self).set_same_attr(platform, task, by);
    }
    #[inline]
    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        (**self).exec(platform, cpu, task);
    }
    #[inline]
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        (**self).set_affinity(platform, task, allowed);
    }
    #[inline]
    fn may_fork(&self, task: TaskId) -> Result<(), Errno> {
        (**self).may_fork(task)
    }
    #[inline]
    fn reap(&mut self, platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        (**self).reap(platform, task, parent);
    }
    #[inline]
    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        (**self).timer(platform, key);
    }
    #[inline]
    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        (**self).control(platform, command)
    }
    #[inline]
    fn inspect(&self) -> &dyn Inspect {
        (**self).inspect()
    }
    #[inline]
    fn as_clairvoyant(&mut self) -> Option<&mut dyn Clairvoyant> {
        (**self).as_clairvoyant()
    }
}
