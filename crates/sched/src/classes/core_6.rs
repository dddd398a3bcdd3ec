//! The core of a 6.x kernel: `schedule()`, wakeups, forks and system calls, and which class is
//! asked.
//!
//! The list of classes is deadline, real-time, fair. What differs from the core of 2.6.3x
//! ([`core_2_6`](super::core_2_6)):
//!
//! * A task that blocks leaves its queue in that moment, or, if the fair class delays it, later.
//! * `schedule()` **picks first**. A fair task that is picked while it runs is neither put away nor
//!   set anew: its protection and its place stay as they are.
//! * The request to reschedule is cleared when the switch is over; what the charges of the pick and
//!   of the put ask for is lost.
//! * The stopper, above all classes, moves running tasks. Its turn lies within `schedule()`, before
//!   the pick.
//!
//! The fair class is a parameter: [`FairClass6`] is what the core knows of it.

pub mod rules;

use super::bandwidth::{self, Quota};
use super::deadline::{self, Deadline, server};
use super::domains::Domains;
use super::rq::{Settings, prio_of};
use super::rt::{self, RealTime, RtVersion};
use super::{Challenge, Class, ClassId, Dequeue, Enqueue, Pid, Rqs, Select, Thread};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    BlockReason, Candidate, Command, ControlError, CpuId, CpuSet, Errno, GroupId, GroupStats,
    Inspect, Load, Parent, Platform, Policy, Promises, Question, Refused, Reply, RuleDoc,
    SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey, Tunable, TunableError, Waker, Who, tunables,
};

/// What the fair servers (6.12 on) get of each CPU: runtime and period, ns.
const FAIR_SERVER_NS: (u64, u64) = (50_000_000, 1_000_000_000);

/// The fair class of a 6.x kernel. Besides its turn among the classes it balances, keeps the groups
/// and their quotas, and answers for the release's tunables and promises.
///
/// The core has read the clock of the CPU that a hook is about. The class keeps
/// [`Rqs::nr_running`] of its own threads, as it may hold some back, and
/// [`Thread::on_rq`](super::rq::Thread::on_rq).
pub trait FairClass6 {
    // ---- birth and death ----

    /// Makes room for `pid`, of whatever class, which is born into `group` on `cpu`.
    fn thread_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId);

    /// `set_load_weight`: `pid`, of whatever class and on no runqueue, has the attributes `attr`.
    fn set_load_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        attr: &SchedAttr,
    );

    /// `task_fork`: `pid`, new, is on the CPU of its parent and has its attributes.
    fn task_fork(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// `wake_up_new_task`, first half: `pid` is on the CPU where it starts; the averages that it
    /// starts with.
    fn wake_up_new(&mut self, rqs: &Rqs, pid: Pid);

    /// `pid` exits.
    fn task_dead(&mut self, pid: Pid);

    /// `pid`, of whatever class, has left its CPU; it may be dead.
    fn task_switched_away(&mut self, rqs: &Rqs, pid: Pid);

    /// Nothing of `pid`, dead, is needed any more.
    fn reap(&mut self, pid: Pid);

    // ---- the queue ----

    /// `pid` joins the runqueue.
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    );

    /// `pid` leaves the runqueue. False: its dequeue is delayed.
    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool;

    /// Whether the dequeue of `pid` is delayed: it sleeps, and is still queued (since 6.12).
    fn is_delayed(&self, pid: Pid) -> bool {
        let _ = pid;
        false
    }

    /// `pid`, whose dequeue is delayed, is woken.
    fn wake_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let _ = (rqs, platform, pid);
    }

    /// `pid`, whose dequeue is delayed, leaves the runqueue now.
    fn finish_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let _ = (rqs, platform, pid);
    }

    /// Whether fair tasks are queued on `cpu`, be they delayed.
    fn is_wanted(&self, cpu: CpuId) -> bool;

    // ---- running ----

    /// `pick_task`: who is next on `cpu`, if anybody is queued. Nothing is switched.
    fn pick_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid>;

    /// [`pick_task`](FairClass6::pick_task); if nobody is queued, balances (`newidle_balance`).
    fn pick_or_pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid>;

    /// `pid` stops running, and goes on waiting if it is still on the runqueue.
    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// `set_next_task`: `pid` runs.
    fn set_curr_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid);

    /// `prev` stops running and `next` runs, both fair.
    fn switch(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid, next: Pid);

    /// The tick found `pid` running.
    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// `pid`, running, calls `sched_yield(2)`. The core asks for the reschedule afterwards.
    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// `pid` has become runnable where `curr` runs, both fair: is that one to be preempted? `fork`:
    /// it is new.
    fn wakeup_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        pid: Pid,
        fork: bool,
    );

    /// `pid`, on the runqueue, has another nice value.
    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        old_nice: i32,
        nice: i32,
    );

    /// `switched_from`: `pid`, queued or not, has left the fair class.
    fn switched_from(&mut self, rqs: &Rqs, platform: &Platform, pid: Pid);

    /// `switched_to`: `pid`, queued or not, has come to the fair class. Preemption is the core's.
    fn switched_to(&mut self, rqs: &Rqs, platform: &Platform, pid: Pid);

    /// Whether `pid`, whose nice value has changed, is checked as at a wakeup.
    fn asks_check(&self, rqs: &Rqs, pid: Pid) -> bool;

    /// `update_curr` of `pid`, which runs.
    fn charge(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// What the class has run on `cpu` in all, as last charged, ns.
    fn exec_clock(&self, cpu: CpuId) -> u64;

    // ---- CPUs ----

    /// Where a task starts that is nobody's child.
    fn emptiest_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId;

    /// `select_task_rq` at a fork by a task on `cpu`.
    fn select_at_fork(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        allowed: &CpuSet,
        cpu: CpuId,
    ) -> CpuId;

    /// `select_task_rq` at an exec by `pid`, which runs.
    fn select_at_exec(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) -> CpuId;

    /// `child` has just been born of `parent`: what it knows of whom that wakes.
    fn inherit(&mut self, child: Pid, parent: Pid);

    /// A wakeup has put somebody on the runqueue of `cpu`.
    fn woken_on(&mut self, now_ns: u64, cpu: CpuId);

    /// `select_task_rq` at a wakeup.
    fn select_at_wakeup(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
        waker: Waker,
    ) -> CpuId;

    /// `set_task_cpu`: `pid`, of whatever class and on no runqueue, belongs to `to` from now on.
    /// `waking`: it was asleep.
    fn set_task_cpu(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        waking: bool,
    );

    /// Another class, or the rqs, has moved `pid` to `to`.
    fn came_to_cpu(&mut self, pid: Pid, to: CpuId);

    /// Takes `pid`, fair and not running, off its CPU; it belongs to `to` from now on.
    fn detach_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid, to: CpuId);

    // ---- balancing ----

    /// So many more threads of whatever class on `cpu`.
    fn add_nr_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32);

    /// Another class has counted a thread more on `cpu`.
    fn note_overload(&mut self, rqs: &Rqs, cpu: CpuId);

    /// `cpu` idles from now on.
    fn cpu_idles(&mut self, rqs: &Rqs, cpu: CpuId);

    /// A task of `from` gives `cpu` to one of `to`: what is left of the CPU for this class follows.
    fn class_switch(&mut self, now_ns: u64, cpu: CpuId, from: ClassId, to: ClassId);

    /// `sched_balance_trigger`: the tick, after the running thread's class has had it. Whether
    /// [`periodic_balance`](FairClass6::periodic_balance) is to follow.
    fn is_balance_due(&self, platform: &Platform, cpu: CpuId) -> bool;

    /// `sched_balance_softirq`.
    fn periodic_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId);

    /// `active_load_balance_cpu_stop`: the stopper of `cpu` runs.
    fn active_load_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId);

    /// A CPU has gone off line or come back, and [`Rqs::domains`] has been built anew.
    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform);

    /// See [`Inspect::describe_domains`].
    fn describe_domains(&self, rqs: &Rqs) -> String;

    // ---- groups ----

    /// Whether there is such a group.
    fn has_group(&self, group: GroupId) -> bool;

    /// A new group below `parent`.
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
    /// What the kernel refuses.
    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused>;

    /// What `group` has used and suffered.
    fn group_stats(&self, group: GroupId) -> GroupStats;

    /// `sched_move_task`, middle part: `pid`, taken off its queue, belongs to `group`. `asleep`: it
    /// was on none.
    fn move_group(&mut self, rqs: &Rqs, now_ns: u64, pid: Pid, group: GroupId, asleep: bool);

    /// A timer of the quotas has fired.
    fn bandwidth_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey);

    /// A CPU has switched to the fair `pid`, which did not run before.
    #[inline]
    fn turn_begins(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let _ = (rqs, platform, pid);
    }

    /// `cpu` is in `schedule()`.
    #[inline]
    fn turn_ends(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        let _ = (rqs, platform, cpu);
    }

    /// A timer has fired. Whether it is one of the rules of picking.
    fn pick_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) -> bool {
        let _ = (rqs, platform, key);
        false
    }

    /// Whether `pid`, fair and just picked, leaves its CPU again in place of returning to user
    /// mode,
    /// because its group has no runtime.
    fn must_leave(&self, pid: Pid) -> bool;

    /// Such a `pid`, which runs, leaves its queue and is held back.
    fn throttle_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid);

    /// Whether `pid` is in a throttled group: it is not counted on its CPU and cannot be picked.
    fn throttled_hierarchy(&self, pid: Pid) -> bool;

    // ---- the administrator ----

    /// Whether fair servers, in place of real-time throttling, keep real-time tasks from starving
    /// the others (since 6.12).
    fn has_fair_server(&self) -> bool;

    /// The class's tunables.
    fn tunables(&self) -> Vec<Tunable>;

    /// Writes a tunable; name and range have been checked.
    fn set_tunable(&mut self, name: &str, value: i64);

    /// What holds for fair tasks.
    fn promises(&self, load: &Load) -> Promises;

    /// The rules by which the class decides: those of picking, and the others.
    fn rules(&self) -> [&'static [RuleDoc]; 2];

    /// Adds those among whom the class would choose on `cpu` now.
    fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>);

    /// Checks the class's books.
    ///
    /// # Errors
    /// What does not add up.
    fn audit(&self, rqs: &Rqs) -> Result<(), String>;
}

/// A 6.x kernel with the fair class `F`.
#[derive(Debug)]
pub struct Core6<F> {
    /// Threads and runqueues.
    pub core: Rqs,
    /// `SCHED_DEADLINE`.
    pub deadline: Deadline,
    /// `SCHED_FIFO`, `SCHED_RR`.
    pub rt: RealTime,
    /// `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`.
    pub fair: F,
    /// Tasks that execute another program and go on elsewhere, when the stopper of their CPU has
    /// had its turn: who, from where, to where.
    execs: Vec<(Pid, CpuId, CpuId)>,
    /// Tasks that were woken before their CPU had switched away from them, and by whom.
    early_wakeups: Vec<(Pid, Waker)>,
    /// By CPU: the one that was last chosen there for a task that could not stay where it was
    /// (`distribute_cpu_mask_prev`).
    last_fallback: Vec<CpuId>,
}

/// Calls a hook of the class of a thread that is not idle.
macro_rules! class {
    ($self:ident, $class:expr, $hook:ident($($arg:expr),*)) => {
        match $class {
            ClassId::Fair => $self.fair.$hook(&mut $self.core, $($arg),*),
            ClassId::Rt => $self.rt.$hook(&mut $self.core, $($arg),*),
            ClassId::Deadline => $self.deadline.$hook(&mut $self.core, $($arg),*),
            ClassId::Idle => unreachable!("the idle threads are asked nothing"),
        }
    };
}

/// Calls a hook of the class of a thread, if that is the real-time or the deadline class. (The fair
/// class and the idle threads have nothing to do there.)
macro_rules! urgent_class {
    ($self:ident, $class:expr, $hook:ident($($arg:expr),*)) => {
        match $class {
            ClassId::Rt => $self.rt.$hook(&mut $self.core, $($arg),*),
            ClassId::Deadline => $self.deadline.$hook(&mut $self.core, $($arg),*),
            ClassId::Fair | ClassId::Idle => {}
        }
    };
}

impl<F: FairClass6> Core6<F> {
    /// An idle machine of these domains.
    pub fn with_fair_class(fair: F, domains: Domains, hz: u32) -> Core6<F> {
        let cpus = domains.cpus();
        let real_time = RtVersion {
            throttling: !fair.has_fair_server(),
            // RT_RUNTIME_SHARE is off since 5.10.
            runtime_share: false,
            push_pull: true,
            stays_over_lesser: true,
            periods_from_start: true,
            throttled_uncounted: true,
        };
        let mut deadline = Deadline::new(cpus);
        if fair.has_fair_server() {
            let fits = deadline.set_fair_server(FAIR_SERVER_NS.0, FAIR_SERVER_NS.1);
            debug_assert!(fits.is_ok(), "5 % of an empty machine");
        }
        let rt = RealTime::new(real_time, cpus, hz);
        Core6 {
            core: Rqs::new(domains),
            deadline,
            rt,
            fair,
            execs: Vec::with_capacity(16),
            early_wakeups: Vec::with_capacity(16),
            last_fallback: alloc::vec![CpuId(0); cpus as usize],
        }
    }

    #[inline]
    fn class_of(&self, pid: Pid) -> ClassId {
        self.core.thread(pid).class
    }

    /// `activate_task`. The fair and the deadline class count `nr_running` themselves, as they may
    /// hold a task back.
    fn activate(&mut self, platform: &mut Platform, pid: Pid, why: Enqueue) {
        let cpu = self.core.cpu_of(pid);
        let class = self.class_of(pid);
        class!(self, class, enqueue_task(platform, cpu, pid, why));
        match class {
            ClassId::Rt if self.rt.counts(cpu) => {
                self.fair.add_nr_running(&mut self.core, cpu, 1);
            }
            ClassId::Deadline => self.fair.note_overload(&self.core, cpu),
            ClassId::Rt | ClassId::Fair | ClassId::Idle => {}
        }
        self.core.thread_mut(pid).on_rq = true;
    }

    /// `deactivate_task`. False: the fair class has delayed it.
    fn deactivate(&mut self, platform: &mut Platform, pid: Pid, why: Dequeue) -> bool {
        let cpu = self.core.cpu_of(pid);
        let class = self.class_of(pid);
        let left = class!(self, class, dequeue_task(platform, cpu, pid, why));
        if class == ClassId::Fair {
            return left;
        }
        if class == ClassId::Rt && self.rt.counts(cpu) {
            self.core.sub_nr_running(cpu, 1);
        }
        self.core.thread_mut(pid).on_rq = false;
        true
    }

    fn put_prev(&mut self, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.class_of(pid) != ClassId::Idle {
            class!(self, self.class_of(pid), put_prev_task(platform, cpu, pid));
        }
    }

    fn set_next(&mut self, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.class_of(pid) != ClassId::Idle {
            class!(self, self.class_of(pid), set_curr_task(platform, cpu, pid));
        }
    }

    /// `wakeup_preempt`: `pid` has become runnable on its CPU. A better class preempts; within one
    /// the class says.
    fn wakeup_preempt(&mut self, platform: &mut Platform, pid: Pid, challenge: Challenge) {
        let cpu = self.core.cpu_of(pid);
        let curr = self.core.curr(cpu);
        let (new, old) = (self.class_of(pid), self.class_of(curr));
        if new > old {
            let idle = old == ClassId::Idle;
            let rule = if idle { rules::IDLE_CPU } else { rules::CLASS_ABOVE };
            platform.by_rule(Question::Preempt, cpu, rule);
            self.core.resched_curr(platform, cpu);
        } else if new < old {
            platform.by_rule(Question::Preempt, cpu, rules::CLASS_BELOW);
            if new == ClassId::Fair && self.deadline.has_fair_server() {
                self.defer_fair_server(platform, cpu);
            }
        } else if new == ClassId::Fair {
            let fork = challenge == Challenge::Fork;
            self.fair.wakeup_preempt(&mut self.core, platform, curr, pid, fork);
        } else {
            urgent_class!(self, new, check_preempt_curr(platform, cpu, pid, challenge));
        }
    }

    /// Something more urgent has `cpu`, and fair tasks wait there.
    fn defer_fair_server(&mut self, platform: &mut Platform, cpu: CpuId) {
        let exec_ns = self.fair.exec_clock(cpu);
        self.deadline.fair_server_charge(&mut self.core, platform, cpu, exec_ns);
        self.deadline.fair_server_defer(&self.core, platform, cpu);
    }

    /// What the real-time or the deadline class may want to do after a wakeup.
    fn task_woken(&mut self, platform: &mut Platform, pid: Pid) {
        let cpu = self.core.cpu_of(pid);
        urgent_class!(self, self.class_of(pid), task_woken(platform, cpu, pid));
        self.report_moves();
    }

    /// Reports to the fair class what another class has moved.
    #[inline]
    fn report_moves(&mut self) {
        while let Some((pid, _)) = self.core.moved.pop() {
            let to = self.core.cpu_of(pid);
            self.fair.came_to_cpu(pid, to);
            self.fair.note_overload(&self.core, to);
        }
    }

    /// The stopper's turn on `cpu`, if it is wanted: pushes tasks away. The running one has been
    /// put.
    fn stopper(&mut self, platform: &mut Platform, cpu: CpuId, prev: Pid) {
        self.put_prev(platform, cpu, prev);
        let stopper = self.core.migration_thread(cpu);
        self.core.thread_mut(prev).need_resched = false;
        self.core.set_curr(cpu, stopper);
        if core::mem::take(&mut self.core.rqs[cpu.index()].active_balance) {
            self.fair.active_load_balance(&mut self.core, platform, cpu);
        }
        let mut queue = core::mem::take(&mut self.core.rqs[cpu.index()].migration_queue);
        for (pid, to) in queue.drain(..) {
            // (Where it was to go may be forbidden by now; then a later request says where.)
            if self.core.cpu_of(pid) == cpu
                && !self.core.is_allowed(pid, cpu)
                && self.core.is_allowed(pid, to)
                && self.core.thread(pid).on_rq
            {
                self.move_queued(platform, pid, to);
            }
        }
        self.core.rqs[cpu.index()].migration_queue = queue;
        while let Some(at) = self.execs.iter().position(|&(_, from, _)| from == cpu) {
            let (pid, _, to) = self.execs.remove(at);
            if self.core.cpu_of(pid) == cpu
                && self.core.is_allowed(pid, to)
                && self.core.thread(pid).on_rq
            {
                self.move_queued(platform, pid, to);
            }
        }
        self.core.rqs[cpu.index()].stopper_waits = false;
        self.core.sub_nr_running(cpu, 1);
    }

    /// `try_to_wake_up`.
    fn wake_up(&mut self, platform: &mut Platform, pid: Pid, waker: Waker) {
        let sync = waker.is_sync();
        let cpu = self.core.cpu_of(pid);
        self.core.update_rq_clock(platform, cpu);
        let running = self.core.is_running(pid);
        if self.core.thread(pid).on_rq {
            // Asleep, but its dequeue was delayed: woken where it is.
            self.fair.wake_delayed(&mut self.core, platform, pid);
            if !running {
                self.wakeup_preempt(platform, pid, Challenge::Wakeup { sync });
            }
            return;
        }
        if running {
            // Its CPU has yet to switch away from it.
            platform.by_rule(Question::SelectCpu, cpu, rules::STILL_CURRENT);
            self.early_wakeups.push((pid, waker));
            return;
        }
        let select = Select::Wakeup { sync };
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        let mut chosen = match rqs.thread(pid).class {
            ClassId::Fair => fair.select_at_wakeup(rqs, platform, pid, waker),
            ClassId::Rt => rt.select_task_rq(rqs, platform, pid, select),
            _ => deadline.select_task_rq(rqs, platform, pid, select),
        };
        if !self.core.is_allowed(pid, chosen) {
            chosen = self.forced_cpu(platform, pid);
        }
        if chosen != cpu {
            platform.by_rule(Question::Migrate, chosen, rules::WAKE_PLACEMENT);
        }
        self.fair.set_task_cpu(&mut self.core, platform, pid, chosen, true);
        self.core.update_rq_clock(platform, chosen);
        self.activate(platform, pid, Enqueue::Wakeup);
        self.fair.woken_on(platform.now_ns(), chosen);
        self.wakeup_preempt(platform, pid, Challenge::Wakeup { sync });
        self.task_woken(platform, pid);
    }

    /// The stopper of `cpu` is given something to do. It counts as a thread of its CPU.
    fn wake_stopper(&mut self, platform: &mut Platform, cpu: CpuId) {
        if !core::mem::replace(&mut self.core.rqs[cpu.index()].stopper_waits, true) {
            self.fair.add_nr_running(&mut self.core, cpu, 1);
        }
        self.core.resched_curr(platform, cpu);
    }

    /// Those that were woken while `prev`, which is one of them, had not yet left its CPU.
    #[cold]
    fn wake_early_ones(&mut self, platform: &mut Platform, prev: Pid) {
        while let Some(at) = self.early_wakeups.iter().position(|&(pid, _)| pid == prev) {
            let (pid, waker) = self.early_wakeups.remove(at);
            self.wake_up(platform, pid, waker);
        }
    }

    /// `move_queued_task`: `pid`, queued and not running, goes to `to`.
    fn move_queued(&mut self, platform: &mut Platform, pid: Pid, to: CpuId) {
        let from = self.core.cpu_of(pid);
        let online = self.core.is_online(from);
        let rule = if online { rules::AFFINITY } else { rules::HOTPLUG };
        platform.by_rule(Question::Migrate, to, rule);
        self.core.update_rq_clock(platform, from);
        if self.class_of(pid) == ClassId::Fair {
            self.fair.detach_task(&mut self.core, platform, pid, to);
        } else {
            self.deactivate(platform, pid, Dequeue::Save);
            self.fair.set_task_cpu(&mut self.core, platform, pid, to, false);
        }
        self.core.update_rq_clock(platform, to);
        self.activate(platform, pid, Enqueue::Migrated);
        self.wakeup_preempt(platform, pid, Challenge::Other);
    }

    /// `__schedule`: who runs on `cpu` from now on.
    fn pick_and_switch(&mut self, platform: &mut Platform, cpu: CpuId) -> Pid {
        self.core.update_rq_clock(platform, cpu);
        self.fair.turn_ends(&self.core, platform, cpu);
        let first = self.core.curr(cpu);
        let first_class = self.class_of(first);
        if self.core.rqs[cpu.index()].stopper_waits {
            self.stopper(platform, cpu, first);
        }
        let prev = self.core.curr(cpu);
        let is_stopper = self.core.is_migration_thread(prev);
        let prev_class = self.class_of(prev);
        if !is_stopper && matches!(prev_class, ClassId::Rt | ClassId::Deadline) {
            urgent_class!(self, prev_class, pre_schedule(platform, cpu, prev));
            self.report_moves();
            // Charged here, as that may end its budget.
            self.put_prev(platform, cpu, prev);
        }
        if self.deadline.fair_server_competes(cpu) {
            self.charge_fair_server(platform, cpu, prev);
        }
        let above_fair = is_stopper || prev_class > ClassId::Fair;
        let (next, is_fair) = self.pick_next(platform, cpu, above_fair);
        let Self { core: rqs, fair, .. } = self;
        match (prev_class == ClassId::Fair, is_fair) {
            (true, true) if prev == next => {}
            (true, true) => fair.switch(rqs, platform, prev, next),
            (true, false) => fair.put_prev_task(rqs, platform, cpu, prev),
            (false, true) => fair.set_curr_task(rqs, platform, cpu, next),
            (false, false) => {}
        }
        rqs.set_curr(cpu, next);
        fair.class_switch(platform.now_ns(), cpu, first_class, rqs.thread(next).class);
        if next == rqs.idle_thread(cpu) && first != next {
            fair.cpu_idles(rqs, cpu);
        }
        rqs.thread_mut(prev).need_resched = false;
        rqs.thread_mut(next).need_resched = false;
        platform.clear_resched(cpu);
        if is_fair && prev != next {
            fair.turn_begins(rqs, platform, next);
        }
        if first != next {
            fair.task_switched_away(rqs, first);
            if !self.early_wakeups.is_empty() {
                self.wake_early_ones(platform, first);
            }
        }
        next
    }

    /// Asks the classes in order who is to run on `cpu`; the idle thread if nobody. Whether it is a
    /// fair task. `above_fair`: whoever has run was of a class above the fair one. (Then balancing
    /// comes before the pick and takes a delayed task for one that can be picked.)
    fn pick_next(&mut self, platform: &mut Platform, cpu: CpuId, above_fair: bool) -> (Pid, bool) {
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        let idle = rqs.idle_thread(cpu);
        let mut urgent = deadline.pick_next_task(rqs, platform, cpu);
        if urgent == Some(idle) {
            // The fair server's turn.
            if let Some(task) = fair.pick_task(rqs, platform, cpu) {
                platform.because(Question::Pick, cpu, rules::FAIR_SERVER, |evidence| {
                    deadline.account_of_fair_server(rqs, cpu, evidence);
                    fair.candidates(rqs, cpu, &mut evidence.candidates);
                });
                return (task, true);
            }
            deadline.fair_server_stop(rqs, cpu);
            urgent = deadline.pick_next_task(rqs, platform, cpu);
        }
        if let Some(pid) = urgent.or_else(|| rt.pick_next_task(rqs, platform, cpu)) {
            if deadline.has_fair_server() && fair.is_wanted(cpu) {
                self.defer_fair_server(platform, cpu);
            }
            return (pid, false);
        }
        let task = match above_fair && fair.is_wanted(cpu) {
            true => fair.pick_task(rqs, platform, cpu),
            false => fair.pick_or_pull(rqs, platform, cpu),
        };
        match task {
            Some(task) => (task, true),
            None => {
                // Unless real-time tasks are held back, which they have accounted for.
                if !rt.holds_back(cpu) {
                    platform.by_rule(Question::Pick, cpu, rules::IDLE);
                }
                (idle, false)
            }
        }
    }

    /// Charges `task`, if it is fair and running on `cpu`, and the fair server with it.
    fn charge_fair_server(&mut self, platform: &mut Platform, cpu: CpuId, task: Pid) {
        let Self { core: rqs, deadline, fair, .. } = self;
        if rqs.thread(task).class == ClassId::Fair {
            fair.charge(rqs, platform, task);
        }
        deadline.fair_server_charge(rqs, platform, cpu, fair.exec_clock(cpu));
    }

    /// Gives `pid` other attributes: taken off, changed, put back, so that whoever runs starts a
    /// new protection.
    fn change(
        &mut self,
        platform: &mut Platform,
        pid: Pid,
        why: Dequeue,
        change: impl FnOnce(&mut Self, &mut Platform),
    ) {
        let cpu = self.core.cpu_of(pid);
        let queued = self.core.thread(pid).on_rq;
        let running = self.core.is_running(pid);
        self.core.update_rq_clock(platform, cpu);
        if queued {
            self.deactivate(platform, pid, why);
        }
        if running {
            self.put_prev(platform, cpu, pid);
        }
        let class = self.class_of(pid);
        change(self, platform);
        if queued {
            self.activate(platform, pid, Enqueue::Restored);
        }
        if running {
            self.fair.class_switch(platform.now_ns(), cpu, class, self.class_of(pid));
            self.set_next(platform, cpu, pid);
        }
    }

    /// Writes the attributes of `pid` down. It is on no queue.
    fn set_params(&mut self, platform: &mut Platform, pid: Pid, attr: &SchedAttr) {
        self.core.settings[pid.index()].attr = *attr;
        let thread = self.core.thread_mut(pid);
        thread.policy = attr.policy;
        thread.class = ClassId::of(attr.policy);
        thread.prio = prio_of(attr);
        self.fair.set_load_weight(&mut self.core, platform, pid, attr);
    }

    /// The tunables of what limits real-time tasks (before 6.12) and deadline tasks.
    fn limit_tunables(&self) -> [Tunable; 2] {
        let (runtime_us, period_us) = self.deadline.limit_us();
        let max = i64::from(i32::MAX);
        [
            Tunable {
                name: rt::TUNABLES[0].into(),
                value: period_us as i64,
                range: (1, max),
                help: "period of the limit on real-time and deadline tasks, us",
            },
            Tunable {
                name: rt::TUNABLES[1].into(),
                value: runtime_us,
                range: (-1, max),
                help: "what they may have of each period, us; -1 = no limit",
            },
        ]
    }

    /// # Errors
    /// If there is no such group.
    fn check_group(&self, group: GroupId) -> Result<(), Refused> {
        if self.fair.has_group(group) {
            Ok(())
        } else {
            Err(Errno::NotFound.because("no such group"))
        }
    }

    /// `select_fallback_rq`: where `pid` goes that may not be where it was to wake: the first
    /// allowed
    /// CPU.
    fn fallback_cpu(&self, pid: Pid) -> CpuId {
        let allowed = &self.core.settings[pid.index()].allowed;
        allowed.first(self.core.cpus()).unwrap_or(self.core.cpu_of(pid))
    }

    /// `cpumask_any_and_distribute`: one of the CPUs where `pid` may run, another each time that
    /// `caller` asks: the next after the last one that it was told.
    fn next_allowed_cpu(&mut self, pid: Pid, caller: CpuId) -> CpuId {
        let cpus = self.core.cpus();
        let allowed = &self.core.settings[pid.index()].allowed;
        let last = self.last_fallback[caller.index()];
        let round = (1..=cpus).map(|step| CpuId((last.0 + step) % cpus));
        let mut usable = round.filter(|&cpu| allowed.contains(cpu) && self.core.is_online(cpu));
        let chosen = usable.next().unwrap_or(self.core.cpu_of(pid));
        self.last_fallback[caller.index()] = chosen;
        chosen
    }

    /// [`fallback_cpu`](Core6::fallback_cpu), as the answer to where `pid` is queued.
    #[cold]
    fn forced_cpu(&self, platform: &mut Platform, pid: Pid) -> CpuId {
        let cpu = self.fallback_cpu(pid);
        platform.by_rule(Question::SelectCpu, cpu, rules::AFFINITY_FORCED);
        cpu
    }
}

impl<F: FairClass6> Scheduler for Core6<F> {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        self.core.make_room(task);
        let pid = self.core.pid(task);
        self.deadline.thread_born(&self.core, pid);
        let mut sched = attr.sched;
        if sched.policy == Policy::Deadline {
            let admitted = match parent {
                Parent::Task { task, .. }
                    if self.class_of(self.core.pid(task)) == ClassId::Deadline =>
                {
                    Err(Errno::Again)
                }
                _ => self.deadline.admit(&self.core, pid, &sched, &attr.allowed),
            };
            if let Err(why) = admitted {
                platform.refuse(task, why);
                sched = SchedAttr::nice(sched.nice);
            }
        }
        *self.core.thread_mut(pid) = Thread {
            nr_cpus_allowed: attr.allowed.count(self.core.cpus()),
            runnable: true,
            ..Thread::default()
        };
        self.core.settings[pid.index()] = Settings {
            attr: sched,
            allowed: attr.allowed.clone(),
            address_space: attr.address_space,
        };
        let cpu = match parent {
            Parent::External => {
                let cpu = self.fair.emptiest_cpu(&self.core, &attr.allowed);
                platform.by_rule(Question::SelectCpu, cpu, rules::FEWEST_RUNNABLE);
                cpu
            }
            Parent::Task { cpu, .. } => cpu,
        };
        self.core.act_on(cpu);
        self.core.external = parent == Parent::External;
        self.core.thread_mut(pid).cpu = cpu;
        self.rt.thread_born(&self.core, platform, pid, parent);
        let known = self.fair.has_group(attr.group);
        self.fair.thread_born(pid, if known { attr.group } else { GroupId::ROOT }, cpu);
        self.set_params(platform, pid, &sched);
        self.fair.task_fork(&mut self.core, platform, pid);
        if let Parent::Task { task, .. } = parent {
            self.fair.inherit(pid, self.core.pid(task));
            let chosen = match self.class_of(pid) {
                ClassId::Fair => {
                    self.fair.select_at_fork(&mut self.core, platform, &attr.allowed, cpu)
                }
                _ if attr.allowed.contains(cpu) => {
                    platform.by_rule(Question::SelectCpu, cpu, rules::PARENT_CPU);
                    cpu
                }
                _ => self.forced_cpu(platform, pid),
            };
            self.core.thread_mut(pid).cpu = chosen;
            self.fair.came_to_cpu(pid, chosen);
        }
        self.core.update_rq_clock(platform, self.core.cpu_of(pid));
        self.fair.wake_up_new(&self.core, pid);
        self.activate(platform, pid, Enqueue::New);
        self.wakeup_preempt(platform, pid, Challenge::Fork);
        self.task_woken(platform, pid);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let pid = self.core.pid(task);
        self.core.act_on(waker.cpu());
        self.core.external = matches!(waker, Waker::Process { .. });
        self.core.thread_mut(pid).runnable = true;
        self.wake_up(platform, pid, waker);
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        let pid = self.core.pid(task);
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        self.core.thread_mut(pid).runnable = false;
        let special = matches!(reason, BlockReason::Stopped | BlockReason::Dead);
        self.deactivate(platform, pid, if special { Dequeue::Special } else { Dequeue::Sleep });
        if reason == BlockReason::Dead {
            self.fair.task_dead(pid);
            if self.class_of(pid) == ClassId::Deadline {
                self.deadline.leave(platform, pid);
            }
        }
        self.core.resched_curr(platform, cpu);
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        let curr = rqs.curr(cpu);
        match rqs.thread(curr).class {
            ClassId::Fair => fair.task_tick(rqs, platform, curr),
            // One that has just blocked pays no tick.
            ClassId::Rt if rqs.thread(curr).on_rq => rt.task_tick(rqs, platform, cpu, curr),
            ClassId::Deadline => deadline.task_tick(rqs, platform, cpu, curr),
            ClassId::Rt | ClassId::Idle => {}
        }
        if deadline.has_fair_server() {
            deadline.fair_server_charge(rqs, platform, cpu, fair.exec_clock(cpu));
            if rqs.thread(curr).class > ClassId::Fair && fair.is_wanted(cpu) {
                deadline.fair_server_defer(rqs, platform, cpu);
            }
        }
        if fair.is_balance_due(platform, cpu) && !platform.raise_softirq(cpu) {
            fair.periodic_balance(rqs, platform, cpu);
        }
    }

    fn softirq(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        self.fair.periodic_balance(&mut self.core, platform, cpu);
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        self.core.act_on(cpu);
        let mut next = self.pick_and_switch(platform, cpu);
        while self.class_of(next) == ClassId::Fair && self.fair.must_leave(next) {
            self.fair.throttle_task(&mut self.core, platform, next);
            next = self.pick_and_switch(platform, cpu);
        }
        if core::mem::take(&mut self.core.rqs[cpu.index()].post_schedule) {
            let Self { core: rqs, deadline, rt, .. } = self;
            match rqs.thread(next).class {
                ClassId::Rt => rt.post_schedule(rqs, platform, cpu),
                ClassId::Deadline => deadline.post_schedule(rqs, platform, cpu),
                _ => {}
            }
            self.report_moves();
        }
        self.core.task(next)
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let pid = self.core.pid(task);
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        match rqs.thread(pid).class {
            ClassId::Fair => fair.yield_task(rqs, platform, pid),
            ClassId::Rt => rt.yield_task(rqs, platform, cpu, pid),
            _ => deadline.yield_task(rqs, platform, cpu, pid),
        }
        self.core.resched_curr(platform, cpu);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let pid = self.core.pid(task);
        self.core.act_on(by);
        let old = self.core.settings[pid.index()].attr;
        let (old_class, class) = (ClassId::of(old.policy), ClassId::of(attr.policy));
        if class == ClassId::Deadline {
            let allowed = self.core.settings[pid.index()].allowed.clone();
            if let Err(why) = self.deadline.admit(&self.core, pid, attr, &allowed) {
                platform.refuse(task, why);
                return;
            }
        }
        if class != old_class && self.fair.is_delayed(pid) {
            // Asleep in fact: it leaves the fair class as a sleeper.
            self.fair.finish_delayed(&mut self.core, platform, pid);
        }
        self.change(platform, pid, Dequeue::Save, |this, platform| {
            this.set_params(platform, pid, attr);
            if old_class == ClassId::Deadline && class != old_class {
                this.deadline.leave(platform, pid);
            }
        });
        if class != old_class {
            if old_class == ClassId::Fair {
                self.fair.switched_from(&self.core, platform, pid);
            }
            if class == ClassId::Fair {
                self.fair.switched_to(&self.core, platform, pid);
            }
        }
        if !self.core.thread(pid).on_rq {
            return;
        }
        let cpu = self.core.cpu_of(pid);
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        if class != old_class {
            match old_class {
                ClassId::Rt => rt.switched_from(rqs, platform, cpu, pid),
                ClassId::Deadline => deadline.switched_from(rqs, platform, cpu, pid),
                _ => {}
            }
            match class {
                ClassId::Fair if rqs.curr(cpu) == pid => rqs.resched_curr(platform, cpu),
                ClassId::Fair => self.wakeup_preempt(platform, pid, Challenge::Other),
                ClassId::Rt => rt.switched_to(rqs, platform, cpu, pid),
                _ => deadline.switched_to(rqs, platform, cpu, pid),
            }
        } else {
            let old_prio = prio_of(&old);
            match class {
                ClassId::Fair => fair.prio_changed(rqs, platform, pid, old.nice, attr.nice),
                ClassId::Rt => rt.prio_changed(rqs, platform, cpu, pid, old_prio),
                _ => deadline.prio_changed(rqs, platform, cpu, pid, old_prio),
            }
            if class == ClassId::Fair && self.fair.asks_check(&self.core, pid) {
                self.wakeup_preempt(platform, pid, Challenge::Other);
            }
        }
        self.report_moves();
    }

    /// A deadline task's child would have no bandwidth of its own.
    fn may_fork(&self, task: TaskId) -> Result<(), Errno> {
        match self.class_of(self.core.pid(task)) {
            ClassId::Deadline => Err(Errno::Again),
            _ => Ok(()),
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let pid = self.core.pid(task);
        let cpu = self.core.cpu_of(pid);
        let nr = allowed.count(self.core.cpus());
        let class = self.class_of(pid);
        if class == ClassId::Deadline && nr < self.core.online_cpus() {
            platform.refuse(task, Errno::Busy);
            return;
        }
        let old = &self.core.settings[pid.index()].allowed;
        if (0..self.core.cpus()).map(CpuId).all(|cpu| old.contains(cpu) == allowed.contains(cpu)) {
            return;
        }
        self.core.update_rq_clock(platform, cpu);
        if class == ClassId::Fair && self.core.thread(pid).on_rq {
            // It leaves its queue and comes back to it, wherever it may run from now on.
            self.change(platform, pid, Dequeue::Save, |this, _| {
                this.core.settings[pid.index()].allowed = allowed.clone();
            });
        } else {
            self.core.settings[pid.index()].allowed = allowed.clone();
        }
        if class == ClassId::Rt {
            self.rt.set_cpus_allowed(&mut self.core, platform, cpu, pid, nr);
        } else if class == ClassId::Deadline {
            self.deadline.set_cpus_allowed(&mut self.core, platform, cpu, pid, nr);
        }
        self.core.thread_mut(pid).nr_cpus_allowed = nr;
        // A CPU is chosen whether it is needed or not.
        let to = self.next_allowed_cpu(pid, cpu);
        if self.core.is_allowed(pid, cpu) || !self.core.thread(pid).on_rq {
            // A sleeper finds its place when it wakes.
            return;
        }
        if self.core.is_running(pid) {
            self.wake_stopper(platform, cpu);
            self.core.rqs[cpu.index()].migration_queue.push((pid, to));
        } else {
            self.move_queued(platform, pid, to);
            self.report_moves();
        }
    }

    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let pid = self.core.pid(task);
        if self.class_of(pid) != ClassId::Fair {
            // Their classes leave them where they are.
            return;
        }
        self.core.act_on(cpu);
        let to = self.fair.select_at_exec(&mut self.core, platform, pid);
        if to != cpu {
            self.wake_stopper(platform, cpu);
            self.execs.push((pid, cpu, to));
        }
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        let pid = self.core.pid(task);
        self.core.update_rq_clock(platform, self.core.cpu_of(pid));
        if self.core.thread(pid).on_rq && self.core.thread(pid).runnable {
            self.deactivate(platform, pid, Dequeue::Special);
        }
        self.core.thread_mut(pid).runnable = false;
        if self.class_of(pid) == ClassId::Deadline {
            self.deadline.leave(platform, pid);
        }
        self.fair.task_dead(pid);
        self.fair.task_switched_away(&self.core, pid);
    }

    fn reap(&mut self, _platform: &mut Platform, task: TaskId, _parent: Option<TaskId>) {
        let pid = self.core.pid(task);
        self.fair.reap(pid);
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        if self.fair.pick_timer(&mut self.core, platform, key) {
            return;
        }
        if key == rt::PERIOD_TIMER {
            self.rt.period_timer(&mut self.core, platform);
        } else if bandwidth::is_timer(key) {
            self.fair.bandwidth_timer(&mut self.core, platform, key);
        } else {
            let Self { core: rqs, deadline, fair, .. } = self;
            deadline.timer(rqs, platform, key, |cpu| fair.is_wanted(cpu));
        }
        self.report_moves();
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.core.cpu_of(self.core.pid(task))
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        match command {
            Command::CreateGroup { parent, shares } => {
                let group = self.create_group(parent, shares);
                return Ok(Reply::Group(group?));
            }
            Command::SetShares { group, shares } => {
                self.set_shares(platform, group, shares)?;
            }
            Command::SetQuota { group, quota } => {
                self.set_quota(platform, group, &quota)?;
            }
            Command::SetIdle { group, idle } => {
                self.set_idle(platform, group, idle)?;
            }
            Command::MoveTask { task, group } => {
                self.move_task(platform, task, group)?;
            }
            Command::SetTunable { name, value } => self.write_tunable(platform, name, value)?,
            Command::CpuOffline(cpu) => self.take_offline(platform, cpu)?,
            Command::CpuOnline(cpu) => self.bring_online(platform, cpu),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl<F: FairClass6> Inspect for Core6<F> {
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        self.check_group(group)?;
        Ok(self.fair.group_stats(group))
    }

    fn tunables(&self) -> Vec<Tunable> {
        let mut all = self.fair.tunables();
        all.extend(self.limit_tunables());
        all.extend(self.deadline.tunables());
        if self.fair.has_fair_server() {
            all.extend(self.deadline.fair_server_tunables());
        }
        all
    }

    fn promises(&self, load: &Load) -> Promises {
        Promises { real_time_first: true, ..self.fair.promises(load) }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        let urgent = rules::RULES.iter().chain(rt::rules::RULES).chain(deadline::rules::RULES);
        urgent.chain(self.fair.rules().into_iter().flatten()).collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let rqs = &self.core;
        let before = out.len();
        if !self.deadline.fair_server_leads(rqs, cpu) || !self.fair.is_wanted(cpu) {
            self.deadline.candidates(rqs, cpu, out);
            // The server of a class that has nobody is nobody.
            let nobody = Who::Kernel("fair_server");
            let wanted = self.fair.is_wanted(cpu);
            out.retain(|candidate| wanted || candidate.who != nobody);
            if out.len() == before {
                self.rt.candidates(rqs, cpu, out);
            }
        }
        if out.len() == before {
            self.fair.candidates(rqs, cpu, out);
        }
    }

    fn describe_domains(&self) -> Option<String> {
        Some(self.fair.describe_domains(&self.core))
    }

    fn audit(&self) -> Result<(), String> {
        for cpu in (0..self.core.cpus()).map(CpuId) {
            let counted = self.core.nr_running[cpu.index()];
            let found = self
                .core
                .threads
                .iter()
                .enumerate()
                .filter(|(number, thread)| {
                    thread.cpu == cpu
                        && thread.on_rq
                        && thread.class != ClassId::Idle
                        && (thread.class != ClassId::Rt || self.rt.counts(cpu))
                        && !self.deadline.is_throttled(Pid(*number as u32))
                        && !(thread.class == ClassId::Fair
                            && self.fair.throttled_hierarchy(Pid(*number as u32)))
                })
                .count();
            // The stopper counts while it waits for its turn.
            let found = found + usize::from(self.core.rqs[cpu.index()].stopper_waits);
            if counted as usize != found {
                return Err(alloc::format!(
                    "CPU {}: nr_running is {counted}, but {found} threads are on it",
                    cpu.0
                ));
            }
        }
        self.rt.audit(&self.core)?;
        self.deadline.audit(&self.core)?;
        self.fair.audit(&self.core)
    }
}

impl<F: FairClass6> Core6<F> {
    fn take_offline(&mut self, platform: &mut Platform, cpu: CpuId) -> Result<(), Refused> {
        self.deadline.cpu_offline()?;
        self.core.set_online(cpu, false);
        self.rt.cpu_offline(&mut self.core, cpu);
        self.fair.domains_rebuilt(&self.core, platform);
        // Throttled real-time tasks must leave too.
        self.core.resched_curr(platform, cpu);
        Ok(())
    }

    fn bring_online(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.deadline.cpu_online();
        self.core.set_online(cpu, true);
        self.rt.cpu_online(cpu);
        self.fair.domains_rebuilt(&self.core, platform);
    }

    fn create_group(&mut self, parent: GroupId, shares: u64) -> Result<GroupId, Refused> {
        self.check_group(parent)?;
        Ok(self.fair.group_new(parent, shares))
    }

    fn set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        if group == GroupId::ROOT {
            return Err(Errno::Invalid.because("the root group has no shares"));
        }
        if self.fair.is_idle_group(group) {
            return Err(Errno::Invalid.because("the shares of an idle group cannot be written"));
        }
        self.fair.group_set_shares(&mut self.core, platform, group, shares);
        Ok(())
    }

    fn set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        self.fair.group_set_quota(&mut self.core, platform, group, quota)
    }

    fn set_idle(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        if group == GroupId::ROOT {
            return Err(Errno::Invalid.because("the root group cannot be idle"));
        }
        self.fair.group_set_idle(&mut self.core, platform, group, idle);
        Ok(())
    }

    fn move_task(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), Refused> {
        self.check_group(group)?;
        let pid = self.core.pid(task);
        let asleep = !self.core.thread(pid).on_rq;
        self.change(platform, pid, Dequeue::Move, |this, platform| {
            this.fair.move_group(&this.core, platform.now_ns(), pid, group, asleep);
        });
        let cpu = self.core.cpu_of(pid);
        // Waiting on an idle CPU, it was held back, and may run now.
        let was_throttled =
            self.core.thread(pid).on_rq && self.core.is_idle_thread(self.core.curr(cpu));
        if self.core.is_running(pid) || was_throttled {
            self.core.resched_curr(platform, cpu);
        }
        Ok(())
    }

    fn write_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        let busy = || {
            TunableError::Refused(
                "deadline tasks and fair servers have been promised more (EBUSY)".into(),
            )
        };
        if let Some(which) = rt::TUNABLES.iter().position(|&tunable| tunable == name) {
            // It limits real-time and deadline tasks.
            let (mut runtime_us, mut period_us) = self.deadline.limit_us();
            match which {
                0 => period_us = value as u64,
                _ => runtime_us = value,
            }
            if !self.deadline.takes_limit(runtime_us, period_us) {
                return Err(busy());
            }
            self.rt.set_tunable(platform, name, value)?;
            self.deadline.set_limit(runtime_us, period_us);
            return Ok(());
        }
        if let Some(which) = server::TUNABLES.iter().position(|&tunable| tunable == name) {
            let mut values =
                self.deadline.fair_server_tunables().map(|tunable| tunable.value as u64);
            values[which] = value as u64;
            return self.deadline.set_fair_server(values[0], values[1]).map_err(|_| busy());
        }
        if deadline::TUNABLES.contains(&name) {
            self.deadline.set_tunable(name, value);
            return Ok(());
        }
        self.fair.set_tunable(name, value);
        Ok(())
    }
}
