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

use crate::{
    CpuId, CpuSet, GroupId, Locking, Platform, SchedAttr, TaskAttr, TaskId, TimerKey, Tunable,
    TunableError, tunables,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

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

/// What an algorithm promises, for the checks that hold every scheduler to it. `None` = it promises
/// nothing of the kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Promises {
    /// The longest that a CPU may idle while a task that may run there waits elsewhere, ns.
    pub idle_beside_waiting_ns: Option<u64>,
    /// The longest that a runnable task of an ordinary policy waits for a CPU with the load given
    /// to [`Scheduler::promises`], no real-time task being about, ns.
    pub wait_ns: Option<u64>,
    /// How far apart the CPU times of equal hogs that share one CPU may drift, ns.
    pub hog_spread_ns: Option<u64>,
    /// On the CPU to which a real-time task belongs while it waits ([`Scheduler::cpu_of`]) nobody
    /// less urgent runs, once an instant is over. (Limits on real-time tasks apart, as
    /// `sched_rt_runtime_us`.)
    pub real_time_first: bool,
}

/// What a scheduler needs to know of the load to say what it promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Tasks that were alive at the same time at most.
    pub tasks: u32,
    /// CPUs.
    pub cpus: u32,
    /// The worst (largest) nice value among them.
    pub nice_max: i32,
    /// The best (smallest) nice value among them.
    pub nice_min: i32,
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
/// hook that makes a reschedule necessary asks for it with [`Platform::resched`].
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

    /// The tick of `cpu`, with the balancing that it raises.
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId);

    /// `cpu` reschedules: put the current task away, pick the next. `None` = nothing to run, the
    /// CPU idles.
    ///
    /// The request of `cpu` has been cleared before the call; if it is set when the call returns,
    /// `cpu` reschedules again in the next round.
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId>;

    /// The task that runs on `cpu` calls `sched_yield(2)`. The hook asks for the reschedule of
    /// `cpu` if the kernel would call `schedule()`; if it does not, the task goes on at once.
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId);

    /// `sched_setattr(2)`, `setpriority(2)`: `task`, in whatever state, gets other attributes. `by`
    /// is the CPU on which the call is executed. The machine has checked that the values are in
    /// range and that something differs.
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId);

    /// `sched_setaffinity(2)`: `task` may from now on run on `allowed` only (at least one CPU of
    /// the machine is in it). A running task on a forbidden CPU must leave it.
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet);

    /// Whether the release has affinity masks at all. Where it has none, tasks run wherever they
    /// get a CPU.
    fn honours_affinity(&self) -> bool {
        true
    }

    /// `task`, asleep or waiting, ends without running again (it was killed, or its program was
    /// over when its sleep was). It is not any CPU's current.
    fn kill(&mut self, platform: &mut Platform, task: TaskId);

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

    /// How its queues are locked. (What is behind a lock, and for how long, is the machine's
    /// affair; second locks are told with [`Platform::double_lock`].)
    fn locking(&self) -> Locking {
        Locking::PerCpu
    }

    /// The CPU whose runqueue `task` belongs to, or last belonged to.
    fn cpu_of(&self, task: TaskId) -> CpuId;

    /// `cpu` is about to go off line (it is not the last that is on line). From now on the
    /// scheduler leaves it out of its balancing and does as the release does with what depends on
    /// the number of CPUs on line. It has not to move tasks: the machine next narrows the affinity
    /// of every task to the CPUs that are left, and tasks leave as they would after
    /// [`set_affinity`](Scheduler::set_affinity). Then the CPU reschedules once more, picks
    /// nothing, and is not heard of until [`cpu_online`](Scheduler::cpu_online).
    ///
    /// # Errors
    /// A message, if the release cannot take CPUs off line, or refuses. Nothing has changed then.
    fn cpu_offline(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), String> {
        let _ = (platform, cpu);
        Err("this release cannot take CPUs off line".into())
    }

    /// `cpu`, which was off line, is back: it ticks again, and balances as it did. Next the machine
    /// tells which tasks may use it, and asks it to reschedule.
    ///
    /// # Errors
    /// A message, if the release cannot.
    fn cpu_online(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), String> {
        let _ = (platform, cpu);
        Err("this release cannot bring CPUs back".into())
    }

    /// Makes a task group below `parent`, with `shares` (v1 `cpu.shares`; 1024 is the default
    /// weight). Groups are numbered from 1 in the order of their making.
    ///
    /// # Errors
    /// A message, if the release has no task groups, or not so deep.
    fn group_new(
        &mut self,
        platform: &mut Platform,
        parent: GroupId,
        shares: u64,
    ) -> Result<GroupId, String> {
        let _ = (platform, parent, shares);
        Err("this scheduler has no task groups".into())
    }

    /// Writes a group's `cpu.shares`.
    ///
    /// # Errors
    /// A message, if the release has no task groups or refuses the value.
    fn group_set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), String> {
        let _ = (platform, group, shares);
        Err("this scheduler has no task groups".into())
    }

    /// Limits the CPU time of a group: at most `quota_us` in each `period_us`, all CPUs together,
    /// and up to `burst_us` of unused quota saved for later (`cpu.cfs_quota_us`,
    /// `cpu.cfs_period_us`, `cpu.cfs_burst_us`; `cpu.max`, `cpu.max.burst`). No quota = no limit.
    /// All in us: quota at least 1000, period 1000 to 1000000, burst at most the quota.
    ///
    /// # Errors
    /// A message, if the release has no quotas (they came with 3.2) or no burst (5.14), or refuses
    /// the numbers.
    fn group_set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota_us: Option<u64>,
        period_us: u64,
        burst_us: u64,
    ) -> Result<(), String> {
        let _ = (platform, group, quota_us, period_us, burst_us);
        Err("this scheduler has no quotas: cfs@3.2 and eevdf have".into())
    }

    /// Writes a group's `cpu.idle`: whether all of it counts as `SCHED_IDLE` (weight 3) beside its
    /// siblings. Taken back, it has the default weight, 1024.
    ///
    /// # Errors
    /// A message, if the release has no such groups (they came with 5.15).
    fn group_set_idle(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) -> Result<(), String> {
        let _ = (platform, group, idle);
        Err("this scheduler has no idle groups: eevdf has".into())
    }

    /// What a group has used and suffered so far.
    ///
    /// # Errors
    /// A message, if there is no such group.
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, String> {
        let _ = group;
        Err("this scheduler has no task groups".into())
    }

    /// Moves `task`, in whatever state, to another group.
    ///
    /// # Errors
    /// A message, if the release has no task groups or refuses the move.
    fn set_group(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), String> {
        let _ = (platform, task, group);
        Err("this scheduler has no task groups".into())
    }

    /// All tunables with their present values.
    fn tunables(&self) -> Vec<Tunable> {
        Vec::new()
    }

    /// An administrator writes a tunable.
    ///
    /// # Errors
    /// Unknown name, or a value that the kernel would refuse.
    fn set_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        let _ = platform;
        tunables::check(&self.tunables(), name, value)
    }

    /// What the algorithm promises under `load`.
    fn promises(&self, load: &Load) -> Promises {
        let _ = load;
        Promises::default()
    }

    /// The scheduling domains that it has built of the machine, in words (what
    /// `/proc/sys/kernel/sched_domain` shows); None for schedulers that have none.
    fn describe_domains(&self) -> Option<String> {
        None
    }

    /// Checks its own books: counts against lists, trees against their order. Slow; for tests and
    /// the stress driver.
    ///
    /// # Errors
    /// What does not add up.
    fn audit(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Forwards every hook, so that a boxed scheduler is a scheduler.
impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    #[inline]
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        (**self).fork(platform, task, attr, parent)
    }
    #[inline]
    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        (**self).wake(platform, task, waker)
    }
    #[inline]
    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        (**self).block(platform, cpu, task, reason)
    }
    #[inline]
    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        (**self).tick(platform, cpu)
    }
    #[inline]
    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        (**self).schedule(platform, cpu)
    }
    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        (**self).yield_now(platform, cpu, task)
    }
    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        (**self).set_attr(platform, task, attr, by)
    }
    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        (**self).set_affinity(platform, task, allowed)
    }
    fn honours_affinity(&self) -> bool {
        (**self).honours_affinity()
    }
    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        (**self).kill(platform, task)
    }
    fn reap(&mut self, platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        (**self).reap(platform, task, parent)
    }
    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        (**self).timer(platform, key)
    }
    fn locking(&self) -> Locking {
        (**self).locking()
    }
    fn cpu_of(&self, task: TaskId) -> CpuId {
        (**self).cpu_of(task)
    }
    fn cpu_offline(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), String> {
        (**self).cpu_offline(platform, cpu)
    }
    fn cpu_online(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), String> {
        (**self).cpu_online(platform, cpu)
    }
    fn group_new(
        &mut self,
        platform: &mut Platform,
        parent: GroupId,
        shares: u64,
    ) -> Result<GroupId, String> {
        (**self).group_new(platform, parent, shares)
    }
    fn group_set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), String> {
        (**self).group_set_shares(platform, group, shares)
    }
    fn group_set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota_us: Option<u64>,
        period_us: u64,
        burst_us: u64,
    ) -> Result<(), String> {
        (**self).group_set_quota(platform, group, quota_us, period_us, burst_us)
    }
    fn group_set_idle(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) -> Result<(), String> {
        (**self).group_set_idle(platform, group, idle)
    }
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, String> {
        (**self).group_stats(group)
    }
    fn set_group(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), String> {
        (**self).set_group(platform, task, group)
    }
    fn tunables(&self) -> Vec<Tunable> {
        (**self).tunables()
    }
    fn set_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        (**self).set_tunable(platform, name, value)
    }
    fn promises(&self, load: &Load) -> Promises {
        (**self).promises(load)
    }
    fn describe_domains(&self) -> Option<String> {
        (**self).describe_domains()
    }
    fn audit(&self) -> Result<(), String> {
        (**self).audit()
    }
}
