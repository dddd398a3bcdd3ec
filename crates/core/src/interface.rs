//! What a scheduler is: the [`Scheduler`] trait.
//!
//! A `Scheduler` is what one whole kernel release does with the tasks of one whole machine: it owns
//! the runqueues of *all* CPUs and is told, at each hook, on which CPU the kernel is acting.
//!
//! # A task's life, as a scheduler is told of it
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
//! reschedules with [`Platform::resched`]; afterwards the machine calls
//! [`schedule`](Scheduler::schedule) on every CPU that was asked, in rising order, round after
//! round until none asks. A task that blocked therefore stays its CPU's current task through the
//! rest of its instant.

use crate::control::{Command, ControlError, Reply};
use crate::{
    Clairvoyant, CpuId, CpuSet, Errno, Inspect, Platform, SchedAttr, TaskAttr, TaskId, TimerKey,
};
use alloc::boxed::Box;

/// Who brings a new task into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parent {
    /// Nobody who holds a CPU or whose own state matters: a parent that is neither interactive nor
    /// a hog. The child gets what the kernel gives a fresh child, undiminished, and starts on the
    /// allowed CPU with the fewest runnable tasks, the lowest number among equals. (How the golden
    /// schedules' tasks, and those that a workload file starts, come about.)
    External,
    /// A running task forked: the release's own rules for parent and child.
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
        /// Where the interrupt came in.
        cpu: CpuId,
    },
    /// Process context on a CPU, but no task of this machine's workload (a kernel daemon).
    Process {
        /// Where it runs.
        cpu: CpuId,
    },
    /// The task that runs on a CPU.
    Task {
        /// The waker.
        task: TaskId,
        /// Where it runs.
        cpu: CpuId,
        /// A synchronous wakeup: the waker promises to sleep at once.
        sync: bool,
    },
}

impl Waker {
    /// The CPU on which the wakeup is executed.
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

/// How a running task stops being runnable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockReason {
    /// `TASK_INTERRUPTIBLE`: an ordinary sleep.
    Interruptible,
    /// `TASK_UNINTERRUPTIBLE`: waits for a disk or the like.
    Uninterruptible,
    /// `TASK_STOPPED`: job control.
    Stopped,
    /// It has exited and will not be heard of again.
    Dead,
}

/// What a task group has used and suffered (`cpuacct.usage`, `cpu.stat`), all CPUs together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupStats {
    /// CPU time of the fair tasks in it and in the groups below it, as last charged, ns. What a
    /// task used before it came to the group is not in it.
    pub usage_ns: u64,
    /// Periods of the quota that have ended.
    pub nr_periods: u64,
    /// Those of them in which it was throttled.
    pub nr_throttled: u64,
    /// How long its CPUs' queues were throttled, summed over CPUs, as of the last time each was let
    /// go, ns.
    pub throttled_ns: u64,
    /// Periods in which it used more than its quota, from what it had saved.
    pub nr_bursts: u64,
    /// How much more, ns.
    pub burst_ns: u64,
}

/// A process scheduler: what one kernel release does.
///
/// All hooks may read the clock of, and give orders to, the [`Platform`]. Unless said otherwise a
/// hook that makes a reschedule necessary asks for it with [`Platform::resched`], and a hook that
/// decides something names the rule with [`Platform::because`].
///
/// Six hooks have to be written; the others have defaults for schedulers that have nothing to do
/// there. A wrapper round another scheduler writes all of them: `clippy::missing_trait_methods`,
/// denied on its `impl`, holds it to that.
pub trait Scheduler {
    /// A new task. The scheduler chooses its CPU, queues it and decides about preemption.
    ///
    /// `task` is a number never used so far. Numbers follow the order in which tasks are written in
    /// the workload, so those that start late come out of turn; [`TaskTable`](crate::TaskTable)
    /// makes room for them.
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent);

    /// `task`, asleep (or blocked in this very nanosecond and still its CPU's current), becomes
    /// runnable.
    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker);

    /// The task that runs on `cpu` stops being runnable. It stays current until the reschedule of
    /// `cpu`, which the machine sees to: the hook need not ask for it.
    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason);

    /// `task`, asleep or waiting, ends without running again (it was killed, or its program was
    /// over when its sleep was). It is not any CPU's current.
    fn kill(&mut self, platform: &mut Platform, task: TaskId);

    /// `cpu` reschedules: put the current task away, pick the next. `None` = nothing to run, the
    /// CPU idles.
    ///
    /// The request of `cpu` has been cleared before the call; if it is set when the call returns,
    /// `cpu` reschedules again in the next round.
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId>;

    /// The CPU whose runqueue `task` belongs to, or last belonged to.
    fn cpu_of(&self, task: TaskId) -> CpuId;

    /// The tick of `cpu`, with the balancing that it raises. By default nothing happens.
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        let _ = (platform, cpu);
    }

    /// The softirq that the tick of `cpu` has raised
    /// ([`Platform::raise_softirq`](crate::Platform::raise_softirq)): its balancing. By default
    /// nothing happens.
    fn softirq(&mut self, platform: &mut Platform, cpu: CpuId) {
        let _ = (platform, cpu);
    }

    /// The task that runs on `cpu` calls `sched_yield(2)`. The hook asks for the reschedule of
    /// `cpu` if the kernel would call `schedule()`, which is the default; if it does not, the task
    /// goes on at once.
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let _ = task;
        platform.resched(cpu);
    }

    /// `sched_setattr(2)`, `setpriority(2)`: `task`, in whatever state, gets other attributes. `by`
    /// is the CPU on which the call is executed. The machine has checked that the values are in
    /// range and that something differs. By default attributes do not count.
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let _ = (platform, task, attr, by);
    }

    /// `sched_setscheduler(2)` with the policy and priority that `task` has already. The O(1)
    /// scheduler and the first CFS do all the work all the same: the task leaves its list and comes
    /// back to it, a running one begins its turn anew. By default nothing happens, as in every
    /// later kernel.
    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, by: CpuId) {
        let _ = (platform, task, by);
    }

    /// The task that runs on `cpu` calls `execve(2)`: what it had in the caches is worth nothing
    /// any more, so a release may choose another CPU for it. Whoever has to leave asks for the
    /// reschedule of `cpu`, and goes on elsewhere. Its address space is another from now on
    /// ([`TaskAttr::address_space_after_exec`]). By default it stays.
    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let _ = (platform, cpu, task);
    }

    /// `sched_setaffinity(2)`: `task` may from now on run on `allowed` only (at least one CPU of
    /// the machine is in it). A running task on a forbidden CPU must leave it. By default tasks run
    /// wherever they get a CPU, which [`Capabilities::affinity`](crate::Capabilities::affinity) of
    /// the release then says.
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let _ = (platform, task, allowed);
    }

    /// Whether `task`, which runs, may fork. Asked before each fork by a task; if not, there is no
    /// child, and the task goes on. By default everybody may.
    ///
    /// # Errors
    /// What `fork(2)` would say.
    fn may_fork(&self, task: TaskId) -> Result<(), Errno> {
        let _ = task;
        Ok(())
    }

    /// The parent of the dead `task` takes note of its end (`wait(2)`). `parent` is none if init
    /// does.
    fn reap(&mut self, platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        let _ = (platform, task, parent);
    }

    /// A timer that the scheduler armed has expired.
    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        let _ = (platform, key);
        unreachable!("a timer fired for a scheduler that arms none");
    }

    /// An administrator's command: groups, tunables, CPUs that go and come. By default the release
    /// has nothing of the kind.
    ///
    /// # Errors
    /// If the release has no such thing, or refuses. Nothing has changed then.
    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        let _ = platform;
        Err(command.unsupported())
    }

    /// What can be asked about it. By default nothing but what every scheduler answers.
    fn inspect(&self) -> &dyn Inspect {
        &()
    }

    /// The hook through which it is told how long bursts will be, if it is one of the textbooks'
    /// policies that need to know. No kernel's scheduler has it.
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
