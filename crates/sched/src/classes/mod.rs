//! Scheduling classes: the structure of Linux since 2.6.23.
//!
//! The kernel asks an ordered list of classes (deadline, real-time, fair, idle) for the next
//! thread. The first class that has a runnable thread decides. A [`Class`] is one member of the
//! list. [`ClassList`] is the list itself with the core of the kernel around it (`schedule()`,
//! `try_to_wake_up()`, `scheduler_tick()` ...), and is therefore a
//! [`Scheduler`](schedlab_core::Scheduler): a whole release.
//!
//! | file | contents |
//! |---|---|
//! | [`rq`] | threads, runqueues, reschedule requests: the state that all classes share |
//! | [`core_2_6`] | the core of 2.6.23 to 2.6.32: the order of events, and which class is asked |
//! | [`core_6`] | the core of 6.x |
//! | [`rt`] | the real-time class, shared by all releases since 2.6.23 |
//! | [`deadline`] | the deadline class of 6.x |
//! | [`bandwidth`] | limits on the CPU time of task groups |
//! | [`domains`] | scheduling domains: which CPUs are balanced against each other |
//! | [`domain_levels_2_6`] | the levels of the domains of 2.6.22 to 2.6.32 |
//! | [`load_balance_2_6_22`] | balancing before there were classes: O(1) and the staircase |
//! | [`preemption`] | the preemption model for which a kernel was built |
//! | [`pelt`] | per-entity load tracking |
//! | [`weights`] | the load weights of nice values |
//! | [`rbtree`] | the red-black tree in which fair classes keep their entities |
//! | [`sorted`] | sorted numbers, for CFS, where the order matters and the tree does not |
//!
//! The classes are concrete types, so every hook is a direct call.

pub mod bandwidth;
#[cfg(test)]
mod bandwidth_tests;
pub mod core_2_6;
pub mod core_6;
pub mod deadline;
pub mod domain_levels_2_6;
pub mod domains;
#[cfg(test)]
mod limbo_tests;
#[cfg(test)]
mod limits_tests;
pub mod load_balance_2_6_22;
pub mod pelt;
pub mod preemption;
pub mod rbtree;
pub mod rq;
pub mod rt;
pub mod sorted;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod urgent_tests;
pub mod weights;

pub use core_2_6::ClassList;
pub use preemption::Preemption;
pub use rq::{ClassId, Pid, Rqs, Thread};

use alloc::string::String;
use alloc::vec::Vec;
use bandwidth::Quota;
use rt::RealTime;
use schedlab_core::{
    Candidate, CpuId, Errno, GroupId, GroupStats, Load, Parent, Platform, Promises, Refused,
    RuleDoc, SchedAttr, TaskAttr, TimerKey, Tunable, TunableError,
};

/// Reason for which a thread is put on a runqueue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enqueue {
    /// It wakes up.
    Wakeup,
    /// It is new.
    New,
    /// It comes from another CPU.
    Migrated,
    /// It was taken off only to change one of its attributes.
    Restored,
}

/// Reason for which a thread is taken off a runqueue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dequeue {
    /// It sleeps, stops or has ended.
    Sleep,
    /// `DEQUEUE_SPECIAL`: it stops or has ended. No class delays that (6.x).
    Special,
    /// It goes to another CPU.
    Migrate,
    /// One of its attributes is changed; it returns at once.
    Save,
    /// Like `Save`, but it returns to the queue of another group (6.x).
    Move,
}

/// Reason for which a thread challenges the current one for the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Challenge {
    /// It was woken.
    Wakeup {
        /// The waker promises to sleep at once.
        sync: bool,
    },
    /// It is new.
    Fork,
    /// It came from another CPU, or its attributes changed.
    Other,
}

/// Reason for which a CPU is selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Select {
    /// A wakeup, executed on [`Rqs::this_cpu`].
    Wakeup {
        /// The waker promises to sleep at once.
        sync: bool,
    },
    /// A fork, by a task on [`Rqs::this_cpu`].
    Fork,
}

/// A scheduling class: one member of the list.
///
/// `cpu` is the CPU whose runqueue a hook is about. [`Rqs::this_cpu`] is the CPU that executes the
/// hook. The core has read the clock of `cpu`. It maintains [`Rqs::nr_running`] (except for fair
/// threads), [`Thread::on_rq`](rq::Thread::on_rq) and [`Rq::curr`](rq::Rq::curr) itself.
#[allow(unused_variables)]
pub trait Class {
    /// Adds `pid` to the runqueue.
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    );

    /// Removes `pid` from the runqueue. Returns `false` if the class keeps it there for a while
    /// (EEVDF's delayed dequeue).
    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool;

    /// Handles `sched_yield(2)` by the running `pid`. The core requests the reschedule afterwards.
    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// Decides whether `pid`, of any class, preempts the running thread. `pid` is new on a runqueue
    /// whose running thread is *of this class*.
    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    );

    /// Returns the next thread, if the class has one. It runs from now on.
    fn pick_next_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId)
    -> Option<Pid>;

    /// Stops `pid`. If it is still on the runqueue, it continues to wait.
    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// Lets `pid`, which was put away only to be changed, continue to run.
    fn set_curr_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// Selects the CPU of `pid`, which is on no runqueue: any CPU on which it may run.
    fn select_task_rq(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        select: Select,
    ) -> CpuId;

    /// Handles a tick that interrupted `pid`.
    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// Adds the new `pid` to the runqueue.
    fn task_new(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        parent: Parent,
    ) {
        self.enqueue_task(rqs, platform, cpu, pid, Enqueue::New);
    }

    /// Called when `pid` has been woken or created on `cpu`, and the preemption check is over.
    fn task_woken(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {}

    /// Called in `schedule()` before the pick. `prev` is of this class and may have left the
    /// runqueue.
    fn pre_schedule(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, prev: Pid) {}

    /// Called at the end of `schedule()`, if [`Rq::post_schedule`](rq::Rq::post_schedule) was set
    /// and a thread of this class was picked.
    fn post_schedule(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {}

    /// Called when `pid` may run on `nr` CPUs from now on. [`Rqs`] still has the old number, but
    /// already has the new set.
    fn set_cpus_allowed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        nr: u32,
    ) {
    }

    /// Called when `pid`, on the runqueue, has left this class.
    fn switched_from(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {}

    /// Called when `pid`, on the runqueue, has joined this class.
    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// Called when `pid`, on the runqueue, has a new priority, other than `old_prio`, within this
    /// class.
    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        old_prio: i16,
    );
}

/// The fair class of a release. In addition to its part in the list, it balances, keeps the groups,
/// and provides the release's tunables and promises.
#[allow(unused_variables)]
pub trait FairClass: Class {
    /// Whether a task that blocks leaves its runqueue at that moment rather than in its CPU's
    /// `schedule()`. (Real kernels do both: the interval depends on when the CPU gets there. The
    /// golden schedules differ by release.)
    const DEQUEUES_AT_BLOCK: bool = false;

    /// Whether the release chooses the CPU of a new task only when it is woken for the first time.
    /// Then it also does so for tasks from outside the workload, whose start is such a wakeup on
    /// the CPU with the fewest tasks.
    fn chooses_cpu_at_first_wakeup(&self) -> bool {
        false
    }

    /// Makes room for `pid` and records its initial attributes. `pid` is on no runqueue yet.
    /// [`Rqs`] has its row.
    fn thread_born(&mut self, rqs: &Rqs, pid: Pid, attr: &TaskAttr, parent: Parent);

    /// Called when the attributes of `pid` have changed. `pid` is on no runqueue (or has been taken
    /// off for the change). [`Rqs`] has the new attributes.
    fn attr_changed(&mut self, rqs: &Rqs, pid: Pid, old: &SchedAttr);

    /// Called when `pid`, of any class, has moved from `from` to the CPU recorded in [`Rqs`]. It is
    /// on no fair runqueue.
    fn task_moved(&mut self, rqs: &Rqs, pid: Pid, from: CpuId);

    /// Selects a CPU for `pid`, which runs and has called `execve(2)`: any CPU on which it may run.
    fn select_for_exec(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) -> CpuId {
        rqs.cpu_of(pid)
    }

    /// Called when `schedule()` has been entered and `prev`, of this class, is about to be put
    /// away.
    fn schedule_entered(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid) {}

    /// Called when `pid`, of any class, is about to leave the runqueue as a sleeper.
    fn task_sleeps(&mut self, rqs: &Rqs, pid: Pid) {}

    /// Called when `waker`, a running task of any class, wakes another task.
    fn task_wakes_other(&mut self, rqs: &Rqs, waker: Pid) {}

    /// Called when `pid`, of any class, is about to be put away.
    fn task_put(&mut self, rqs: &Rqs, pid: Pid) {}

    /// Called at the tick, before the hook of the running thread's class: updates decaying loads.
    fn update_cpu_load(&mut self, rqs: &Rqs, cpu: CpuId);

    /// Called at the tick, after the hook of the running thread's class: balances periodically.
    /// [`core_2_6::wake_migration_thread`] wakes a migration thread.
    fn trigger_load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    );

    /// Called when a CPU has gone offline or come back, and [`Rqs::domains`] has been rebuilt.
    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform) {}

    /// Tries to pull work to `cpu`, which is about to go idle. (2.6.24 also balances the tasks of
    /// `rt`.)
    fn idle_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    );

    /// Pushes a task away, when the migration thread of `cpu` runs with
    /// [`Rq::active_balance`](rq::Rq::active_balance) set. (2.6.24: possibly a task of `rt`.)
    fn active_load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    );

    /// Whether it selects the CPU of every woken or forked task, of any class.
    #[inline]
    fn selects_for_all(&self) -> bool {
        false
    }

    /// Called when a timer that does not belong to the real-time class has expired.
    fn timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) {}

    /// See [`Administer::group_new`](schedlab_core::Administer::group_new).
    ///
    /// # Errors
    /// If there are no groups, or the nesting is too deep.
    fn group_new(&mut self, rqs: &Rqs, parent: GroupId, shares: u64) -> Result<GroupId, Refused> {
        Err(Errno::NotSupported.because("this scheduler has no task groups"))
    }

    /// See [`Administer::group_set_shares`](schedlab_core::Administer::group_set_shares).
    ///
    /// # Errors
    /// If there are no groups.
    fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), Refused> {
        Err(Errno::NotSupported.because("this scheduler has no task groups"))
    }

    /// See [`Administer::group_set_quota`](schedlab_core::Administer::group_set_quota).
    ///
    /// # Errors
    /// If there are no quotas, or the kernel refuses this one.
    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        Err(Errno::NotSupported.because("this release has no quotas: cfs@3.2 and eevdf have them"))
    }

    /// See [`Inspect::group_stats`](schedlab_core::Inspect::group_stats).
    ///
    /// # Errors
    /// If there is no such group.
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        Err(Errno::NotSupported.because("this scheduler has no task groups"))
    }

    /// Whether `pid`, on its runqueue, is in a throttled group, so that it is not counted there and
    /// cannot be picked.
    fn throttled_hierarchy(&self, pid: Pid) -> bool {
        false
    }

    /// Assigns `pid`, which has been taken off its runqueue for the change, to `group`.
    ///
    /// # Errors
    /// If there are no groups. Nothing has changed then.
    fn set_group(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        group: GroupId,
    ) -> Result<(), Refused> {
        Err(Errno::NotSupported.because("this scheduler has no task groups"))
    }

    /// Returns the class's tunables.
    fn tunables(&self, rqs: &Rqs) -> Vec<Tunable>;

    /// Writes a tunable. Its name and range have been checked.
    ///
    /// # Errors
    /// If the kernel refuses the value for another reason.
    fn set_tunable(&mut self, rqs: &mut Rqs, name: &str, value: i64) -> Result<(), TunableError>;

    /// Returns the rules of the class: 120 to 199.
    fn rules(&self) -> &'static [RuleDoc] {
        &[]
    }

    /// Returns the rules of balancing, if it is shared with other schedulers: 200 and above.
    fn more_rules(&self) -> &'static [RuleDoc] {
        &[]
    }

    /// Adds the candidates from which the class would choose on `cpu` now. See
    /// [`Inspect::candidates`](schedlab_core::Inspect::candidates).
    fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {}

    /// Returns the promises of the release.
    fn promises(&self, rqs: &Rqs, load: &Load) -> Promises;

    /// Checks the class's data structures for consistency.
    ///
    /// # Errors
    /// A description of the inconsistency.
    fn audit(&self, rqs: &Rqs) -> Result<(), String>;
}

/// An empty class, in place of the deadline class in releases without one.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClass;

impl Class for NoClass {
    fn enqueue_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid, _: Enqueue) {
        unreachable!("no thread is of this class")
    }
    fn dequeue_task(
        &mut self,
        _: &mut Rqs,
        _: &mut Platform,
        _: CpuId,
        _: Pid,
        _: Dequeue,
    ) -> bool {
        unreachable!("no thread is of this class")
    }
    fn yield_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {
        unreachable!("no thread is of this class")
    }
    fn check_preempt_curr(
        &mut self,
        _: &mut Rqs,
        _: &mut Platform,
        _: CpuId,
        _: Pid,
        _: Challenge,
    ) {
        unreachable!("no thread is of this class")
    }
    #[inline]
    fn pick_next_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId) -> Option<Pid> {
        None
    }
    fn put_prev_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {
        unreachable!("no thread is of this class")
    }
    fn set_curr_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {
        unreachable!("no thread is of this class")
    }
    fn select_task_rq(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid, _: Select) -> CpuId {
        unreachable!("no thread is of this class")
    }
    fn task_tick(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {
        unreachable!("no thread is of this class")
    }
    fn switched_to(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {
        unreachable!("no thread is of this class")
    }
    fn prio_changed(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid, _: i16) {
        unreachable!("no thread is of this class")
    }
}
