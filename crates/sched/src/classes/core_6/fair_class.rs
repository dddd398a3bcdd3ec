//! The interface between the core and the fair class of a 6.x kernel.

use super::super::bandwidth::Quota;
use super::super::{ClassId, Dequeue, Enqueue, Pid, Rqs};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    Candidate, CpuId, CpuSet, Difference, GroupId, GroupStats, Load, Platform, Promises, Refused,
    RuleDoc, SchedAttr, TimerKey, Tunable, Waker,
};

/// The fair class of a 6.x kernel. In addition to its part among the classes, it balances, keeps
/// the groups and their quotas, and provides the release's tunables and promises.
///
/// The core has read the clock of the CPU that a hook is about. The class maintains
/// [`Rqs::nr_running`] for its own threads, because it may throttle some, and
/// [`Thread::on_rq`](super::super::rq::Thread::on_rq).
pub trait FairClass6 {
    // ---- creation and exit ----

    /// Makes room for `pid`, of any class, which is created in `group` on `cpu`.
    fn thread_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId);

    /// `set_load_weight`: gives `pid`, of any class and on no runqueue, the attributes `attr`.
    fn set_load_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        attr: &SchedAttr,
    );

    /// `task_fork`: receives the new `pid`, which is on the CPU of its parent and has its own
    /// attributes.
    fn task_fork(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// `wake_up_new_task`, first half: sets the initial averages of `pid`, which is on the CPU
    /// where it starts.
    fn wake_up_new(&mut self, rqs: &Rqs, now_ns: u64, pid: Pid);

    /// Records that `parent` (`None`: no task) has forked `child`, of any class, which has its own
    /// attributes. By default that has no effect.
    fn has_child(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        child: Pid,
        parent: Option<Pid>,
    ) {
        let _ = (rqs, platform, child, parent);
    }

    /// Records that the running `pid` is about to sleep in a wait for a futex. By default that has
    /// no effect.
    fn waits_for_futex(&mut self, pid: Pid) {
        let _ = pid;
    }

    /// Handles the exit of `pid`.
    fn task_dead(&mut self, pid: Pid);

    /// Records that `pid`, of any class, has left its CPU. It may be dead.
    fn task_switched_away(&mut self, rqs: &Rqs, pid: Pid);

    /// Drops the state of the dead `pid`, which is no longer needed.
    fn reap(&mut self, pid: Pid);

    // ---- the queue ----

    /// Adds `pid` to the runqueue.
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    );

    /// Removes `pid` from the runqueue. Returns `false` if its dequeue is delayed.
    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool;

    /// Whether the dequeue of `pid` is delayed: it sleeps, but is still queued (since 6.12).
    fn is_delayed(&self, pid: Pid) -> bool {
        let _ = pid;
        false
    }

    /// Wakes `pid`, whose dequeue is delayed.
    fn wake_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let _ = (rqs, platform, pid);
    }

    /// Removes `pid`, whose dequeue is delayed, from the runqueue now.
    fn finish_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let _ = (rqs, platform, pid);
    }

    /// Whether fair tasks are queued on `cpu`, including delayed ones.
    fn is_wanted(&self, cpu: CpuId) -> bool;

    /// Whether balancing comes before the pick if the previous thread was of a class above the fair
    /// one.
    fn balances_before_pick(&self) -> bool {
        true
    }

    /// Records that the running `pid` has been picked again.
    fn picked_again(&mut self, rqs: &Rqs, pid: Pid) {
        let _ = (rqs, pid);
    }

    // ---- running ----

    /// `pick_task`: returns the next task on `cpu`, if any is queued. Nothing is switched.
    fn pick_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid>;

    /// Calls [`pick_task`](FairClass6::pick_task). If no task is queued, balances
    /// (`newidle_balance`).
    fn pick_or_pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid>;

    /// Stops `pid`, which continues to wait if it is still on the runqueue.
    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// `set_next_task`: makes `pid` the running task again after a change for which it was put.
    fn set_curr_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// `set_next_task`: makes `pid`, which was picked, the running task.
    #[inline]
    fn set_picked_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.set_curr_task(rqs, platform, cpu, pid);
    }

    /// Switches from `prev` to `next`. Both are fair.
    fn switch(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid, next: Pid);

    /// `update_cpu_load_active`: the tick of `cpu`, before the hook of the running thread's class
    /// (before 3.11).
    #[inline]
    fn tick_begins(&mut self, cpu: CpuId) {
        let _ = cpu;
    }

    /// Handles a tick that interrupted `pid`.
    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// Handles `sched_yield(2)` by the running `pid`. The core requests the reschedule afterwards.
    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// Decides whether `pid`, which has become runnable on the CPU of the running `curr`, preempts.
    /// Both are fair. `fork`: `pid` is new.
    fn wakeup_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        pid: Pid,
        fork: bool,
    );

    /// Handles a change of the nice value of `pid`, which is on the runqueue.
    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        old_nice: i32,
        nice: i32,
    );

    /// Whether a change of only the nice value reschedules at once: if it is lowered always, if it
    /// is raised if the task runs (up to 5.4). The class is then not asked about it.
    fn renice_reschedules(&self) -> bool {
        false
    }

    /// Whether a running task that moves to another group is rescheduled, as the group may be
    /// throttled (since 5.6, and in longterm 5.4).
    fn move_reschedules(&self) -> bool {
        true
    }

    /// A tick of `cpu` has been handled by the class of its running task.
    fn tick_ends(&mut self, cpu: CpuId) {
        let _ = cpu;
    }

    /// Whether a task that may not stay on its CPU goes to the lowest CPU allowed to it (up to
    /// 5.5). Otherwise such tasks are distributed.
    fn moves_to_lowest_cpu(&self) -> bool {
        false
    }

    /// `switched_from`: records that `pid`, queued or not, has left the fair class.
    fn switched_from(&mut self, rqs: &Rqs, platform: &Platform, pid: Pid);

    /// `switched_to`: records that `pid`, queued or not, has joined the fair class. The core
    /// decides about preemption.
    fn switched_to(&mut self, rqs: &Rqs, platform: &Platform, pid: Pid);

    /// Whether `pid`, whose nice value has changed, needs a preemption check as at a wakeup.
    fn asks_check(&self, rqs: &Rqs, pid: Pid) -> bool;

    /// Calls `update_curr` for the running `pid`.
    fn charge(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// Whether a task that reads its own CPU clock is charged before (since 3.18).
    fn charges_readers(&self) -> bool {
        true
    }

    /// `task_sched_runtime`: charges the running `pid`, which reads its own CPU clock, but not the
    /// groups above it.
    fn charge_reader(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.charge(rqs, platform, pid);
    }

    /// Returns the total run time of the class on `cpu`, as last charged, ns.
    fn exec_clock(&self, cpu: CpuId) -> u64;

    // ---- CPUs ----

    /// Returns the CPU of a new task without a parent.
    fn emptiest_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId;

    /// Implements `select_task_rq` at a fork of `pid` by a task on `cpu`.
    fn select_at_fork(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        allowed: &CpuSet,
        cpu: CpuId,
    ) -> CpuId;

    /// Implements `select_task_rq` at an exec by the running `pid`.
    fn select_at_exec(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) -> CpuId;

    /// Gives `child`, which `parent` has just forked, the parent's wakeup statistics.
    fn inherit(&mut self, child: Pid, parent: Pid);

    /// Whether a task whose affinity forbids its CPU goes to the lowest CPU that is allowed (up to
    /// 5.4); otherwise to a different one each time.
    fn affinity_takes_lowest(&self) -> bool {
        false
    }

    /// Whether a change of affinity takes a queued task off its queue and puts it back, and begins
    /// a new turn of a running one (after 3.10).
    fn affinity_requeues(&self) -> bool {
        true
    }

    /// Whether a wakeup reads the clock of the CPU where the task last ran, even if the task goes
    /// elsewhere.
    #[inline]
    fn wakeups_read_old_clock(&self) -> bool {
        true
    }

    /// Records that a wakeup has put a task on the runqueue of `cpu`.
    fn woken_on(&mut self, now_ns: u64, cpu: CpuId);

    /// Implements `select_task_rq` at a wakeup.
    fn select_at_wakeup(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
        waker: Waker,
    ) -> CpuId;

    /// `set_task_cpu`: assigns `pid`, of any class and on no runqueue, to `to` from now on.
    /// `waking`: `pid` was asleep.
    fn set_task_cpu(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        waking: bool,
    );

    /// Records that another class, or the core, has moved `pid` to `to`.
    fn came_to_cpu(&mut self, pid: Pid, to: CpuId);

    /// Takes `pid`, fair and not running, off its queue. It belongs to `to` from now on.
    fn detach_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid, to: CpuId);

    // ---- balancing ----

    /// Whether a waiting task that has changed its group may preempt as if it woke (since 7.0).
    fn checks_moved_tasks(&self) -> bool {
        false
    }

    /// Adds `count` threads, of any class, to `cpu`.
    fn add_nr_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32);

    /// Records that another class has counted an additional thread on `cpu`.
    fn note_overload(&mut self, rqs: &Rqs, cpu: CpuId);

    /// Records that `cpu` idles from now on.
    fn cpu_idles(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId);

    /// Records that a task of class `from` gives `cpu` to a task of class `to`. This changes the
    /// CPU capacity left for this class.
    fn class_switch(&mut self, now_ns: u64, cpu: CpuId, from: ClassId, to: ClassId);

    /// `sched_balance_trigger`: handles the tick after the hook of the running thread's class.
    /// Returns whether [`periodic_balance`](FairClass6::periodic_balance) must follow.
    fn is_balance_due(&self, platform: &Platform, cpu: CpuId) -> bool;

    /// Implements `sched_balance_softirq`.
    fn periodic_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId);

    /// `active_load_balance_cpu_stop`: does the work of the stopper of `cpu`.
    fn active_load_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId);

    /// Records that a CPU has gone offline or come back, and that [`Rqs::domains`] has been
    /// rebuilt.
    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform);

    /// See [`Inspect::describe_domains`](schedlab_core::Inspect::describe_domains).
    fn describe_domains(&self, rqs: &Rqs) -> String;

    // ---- groups ----

    /// Whether the group exists.
    fn has_group(&self, group: GroupId) -> bool;

    /// Creates a group below `parent`.
    fn group_new(&mut self, parent: GroupId, shares: u64) -> GroupId;

    /// Writes the shares of `group`.
    fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    );

    /// Whether `group` counts as `SCHED_IDLE` (`cpu.idle`).
    fn is_idle_group(&self, group: GroupId) -> bool;

    /// Writes `cpu.idle` of `group`.
    fn group_set_idle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    );

    /// Writes the quota of `group`.
    ///
    /// # Errors
    /// The refusals of the kernel.
    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused>;

    /// Returns the usage and throttling statistics of `group`.
    fn group_stats(&self, group: GroupId) -> GroupStats;

    /// `sched_move_task`, middle part: assigns `pid`, which has been taken off its queue, to
    /// `group`. `asleep`: `pid` was on no queue.
    fn move_group(&mut self, rqs: &Rqs, now_ns: u64, pid: Pid, group: GroupId, asleep: bool);

    /// Handles the expiry of a timer of the quotas.
    fn bandwidth_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey);

    /// Records that a CPU has switched to the fair `pid`, which was not running before.
    #[inline]
    fn turn_begins(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let _ = (rqs, platform, pid);
    }

    /// Handles the expiry of a timer. Returns whether it belongs to the rules of picking.
    fn pick_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) -> bool {
        let _ = (rqs, platform, key);
        false
    }

    /// Whether `pid`, fair and just picked, leaves its CPU instead of returning to user mode,
    /// because its group has no runtime.
    fn must_leave(&self, pid: Pid) -> bool;

    /// Whether the running, fair `pid` leaves its CPU because its group has no runtime, although it
    /// need not give way.
    fn leaves_unasked(&self, pid: Pid) -> bool {
        let _ = pid;
        false
    }

    /// Removes such a running `pid` from its queue and throttles it.
    fn throttle_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// Whether `pid` is in a throttled group: it is not counted on its CPU and cannot be picked.
    fn throttled_hierarchy(&self, pid: Pid) -> bool;

    // ---- the administrator ----

    /// Whether fair servers, instead of real-time throttling, keep real-time tasks from starving
    /// the others (since 6.12).
    fn has_fair_server(&self) -> bool;

    /// Returns the class's tunables.
    fn tunables(&self) -> Vec<Tunable>;

    /// Writes a tunable. Its name and range have been checked.
    fn set_tunable(&mut self, name: &str, value: i64);

    /// Returns the differences between releases, by name.
    fn differences(&self) -> Vec<Difference> {
        Vec::new()
    }

    /// Switches the difference called `name`. Returns false if it cannot be switched, or not any
    /// more because there are tasks or groups.
    fn switch_difference(&mut self, name: &str, is_on: bool) -> bool {
        let _ = (name, is_on);
        false
    }

    /// Applies to the tasks a write of the tunable `name`. By default this does nothing.
    fn tunable_written(&mut self, rqs: &mut Rqs, platform: &mut Platform, name: &str) {
        let _ = (rqs, platform, name);
    }

    /// Returns the promises for fair tasks.
    fn promises(&self, load: &Load) -> Promises;

    /// Returns the decision rules of the class: the rules of picking and preempting, and the
    /// others.
    fn rules(&self) -> [&'static [RuleDoc]; 2];

    /// Adds the candidates from which the class would choose on `cpu` now.
    fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>);

    /// Checks the class's data structures for consistency.
    ///
    /// # Errors
    /// A description of the inconsistency.
    fn audit(&self, rqs: &Rqs) -> Result<(), String>;
}
