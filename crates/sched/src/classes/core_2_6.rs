//! The core of a kernel with scheduling classes: the order of operations, and which class is asked.
//!
//! # `schedule()`
//!
//! 1. Read the clock, and clear the mark of the current thread.
//! 2. If the thread is going to sleep, take it off the runqueue.
//! 3. Its class may pull work here (real-time).
//! 4. If the runqueue is empty, balance: try to pull a task from another CPU.
//! 5. Put the thread away, and ask the classes in order for the next thread.
//! 6. Switch. The new thread's class may push work away (real-time).
//! 7. If the new thread is marked (see [`rq`](super::rq)), start over.
//!
//! # A wakeup
//!
//! Choose a CPU, put the task on its runqueue, and let the class *of the thread that runs there*
//! decide whether the task preempts it.
//!
//! # The migration thread
//!
//! Each CPU has a migration thread of real-time priority 99, which is bound to it. The thread is
//! woken to push a task away from its CPU (active balancing, an affinity that forbids the CPU, an
//! exec). It takes no time: its whole run lies within one call of `schedule()`, so the machine
//! never sees it.
//!
//! A task that calls `execve(2)`, and for which another CPU is better, asks the migration thread
//! and sleeps. The thread moves the task and wakes it, from the CPU that the task leaves. The task
//! therefore arrives like a sleeper, and may be pulled straight back.

use super::bandwidth::Quota;
use super::rq::{ClassId, Settings, Thread, prio_of};
use super::rt::{self, RealTime};
use super::{Challenge, Class, Dequeue, Enqueue, FairClass, NoClass, Pid, Rqs, Select};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    BlockReason, Candidate, Command, ControlError, CpuId, CpuSet, GroupId, GroupStats, Inspect,
    Load, Parent, Platform, Promises, Question, Refused, Reply, RuleDoc, SchedAttr, Scheduler,
    TaskAttr, TaskId, TimerKey, Tunable, TunableError, Waker, tunables,
};

schedlab_core::define_rules! {
    /// The rules of the core: 1 to 39.
    pub static RULES {
        1 IDLE Pick "idle":
            "No class has a thread for this CPU: its idle thread runs.";
        5 IDLE_GIVES_WAY Preempt "idle_gives_way":
            "The CPU is idle: the idle thread gives way to every other thread.";
        6 RENICED Preempt "reniced":
            "The task has become more urgent, or is the current one and has a new nice value: \
             its CPU picks again.";
        10 STILL_QUEUED SelectCpu "still_queued":
            "The task has not left its runqueue since it blocked: it stays on its CPU.";
        11 FEWEST_THREADS SelectCpu "fewest_threads":
            "The task comes from outside the machine's load: it starts on the allowed CPU with \
             the fewest threads.";
        12 FIRST_ALLOWED SelectCpu "first_allowed":
            "The affinity forbids the CPU that was chosen: the task starts on the first CPU that \
             is allowed.";
        20 PLACED Migrate "placed_at_wakeup":
            "The task was woken on a CPU other than the one where it last ran.";
        21 AFFINITY Migrate "affinity":
            "The affinity of the task forbids the CPU on which it is.";
        22 HOTPLUG Migrate "hotplug":
            "The CPU goes offline: its tasks must leave it.";
        23 EXEC Migrate "exec":
            "The task has called execve(2), and another CPU has less load.";
    }
}

/// A release: its classes and the core around them.
#[derive(Clone, Debug)]
pub struct ClassList<F, D = NoClass> {
    /// Threads, runqueues, domains.
    pub core: Rqs,
    /// The deadline class, if the release has it.
    pub deadline: D,
    /// The real-time class.
    pub rt: RealTime,
    /// The fair class.
    pub fair: F,
}

/// Calls a hook of a thread's class.
macro_rules! class {
    ($self:ident, $class:expr, $hook:ident($($arg:expr),*)) => {
        match $class {
            ClassId::Fair => $self.fair.$hook(&mut $self.core, $($arg),*),
            ClassId::Rt => $self.rt.$hook(&mut $self.core, $($arg),*),
            ClassId::Deadline => $self.deadline.$hook(&mut $self.core, $($arg),*),
            ClassId::Idle => unreachable!("no hook is called for the idle threads"),
        }
    };
}

impl<F: FairClass, D: Class> ClassList<F, D> {
    /// Returns the class of `pid`.
    #[inline]
    fn class_of(&self, pid: Pid) -> ClassId {
        self.core.thread(pid).class
    }

    /// Returns the class that selects a CPU for `pid`.
    #[inline]
    fn selecting_class(&self, pid: Pid) -> ClassId {
        if self.fair.selects_for_all() { ClassId::Fair } else { self.class_of(pid) }
    }

    /// `activate_task`: adds `pid` to the runqueue of its CPU.
    // (Always inlined, like `deactivate_task` and `check_preempt_curr`: each is a thin layer
    // between an event and the class's hook.)
    #[inline(always)]
    fn activate_task(&mut self, platform: &mut Platform, pid: Pid, why: Enqueue) {
        let &Thread { cpu, class, .. } = self.core.thread(pid);
        class!(self, class, enqueue_task(platform, cpu, pid, why));
        self.core.thread_mut(pid).on_rq = true;
        // The fair class counts its own threads, because threads of throttled groups do not count.
        if class != ClassId::Fair {
            self.core.add_nr_running(cpu, 1);
        }
    }

    /// `deactivate_task`: removes `pid` from the runqueue of its CPU.
    #[inline(always)]
    fn deactivate_task(&mut self, platform: &mut Platform, pid: Pid, why: Dequeue) {
        let &Thread { cpu, class, .. } = self.core.thread(pid);
        if why == Dequeue::Sleep {
            self.fair.task_sleeps(&self.core, pid);
        }
        if class!(self, class, dequeue_task(platform, cpu, pid, why)) {
            self.core.thread_mut(pid).on_rq = false;
            if class != ClassId::Fair {
                self.core.sub_nr_running(cpu, 1);
            }
        }
    }

    /// `set_task_cpu`: moves `pid`, which is on no runqueue, to `to`.
    #[inline]
    fn set_task_cpu(&mut self, platform: &mut Platform, pid: Pid, to: CpuId) {
        if self.core.cpu_of(pid) != to {
            let from = self.core.set_cpu(platform, pid, to);
            self.fair.task_moved(&self.core, pid, from);
        }
    }

    /// Reports threads that another class has moved to the fair class.
    #[inline]
    fn report_migrations(&mut self) {
        while let Some((pid, from)) = self.core.moved.pop() {
            self.fair.task_moved(&self.core, pid, from);
        }
    }

    /// `check_preempt_curr`: lets the class of the thread that runs on the CPU of `pid` decide
    /// whether `pid` preempts it.
    #[inline(always)]
    fn check_preempt_curr(&mut self, platform: &mut Platform, pid: Pid, challenge: Challenge) {
        let cpu = self.core.cpu_of(pid);
        match self.class_of(self.core.curr(cpu)) {
            // The idle thread gives way to every thread.
            ClassId::Idle => {
                platform.by_rule(Question::Preempt, cpu, IDLE_GIVES_WAY);
                self.core.resched_curr(platform, cpu);
            }
            class => class!(self, class, check_preempt_curr(platform, cpu, pid, challenge)),
        }
    }

    /// Steps 1 to 6 of `schedule()`. Returns whether step 7 starts over.
    #[inline]
    fn schedule_once(&mut self, platform: &mut Platform, cpu: CpuId) -> bool {
        let prev = self.core.curr(cpu);
        self.core.update_rq_clock(platform, cpu);
        let thread = self.core.thread_mut(prev);
        thread.need_resched = false;
        let Thread { runnable, on_rq, class: prev_class, .. } = *thread;
        if prev_class == ClassId::Fair {
            self.fair.schedule_entered(&mut self.core, platform, prev);
        }
        if !runnable && on_rq {
            self.deactivate_task(platform, prev, Dequeue::Sleep);
        }
        if prev_class != ClassId::Idle {
            class!(self, prev_class, pre_schedule(platform, cpu, prev));
            self.report_migrations();
        }
        if self.core.nr_running[cpu.index()] == 0 {
            self.fair.idle_balance(&mut self.core, &mut self.rt, platform, cpu);
        }
        if prev_class != ClassId::Idle {
            self.fair.task_put(&self.core, prev);
            class!(self, prev_class, put_prev_task(platform, cpu, prev));
        }
        let next = self.pick_next_task(platform, cpu);
        self.core.set_curr(cpu, next);
        if core::mem::take(&mut self.core.rqs[cpu.index()].post_schedule)
            && self.class_of(next) != ClassId::Idle
        {
            class!(self, self.class_of(next), post_schedule(platform, cpu));
            self.report_migrations();
        }
        if self.core.is_migration_thread(next) {
            self.migration_thread(platform, cpu, next);
            return true;
        }
        self.core.thread(next).need_resched
    }

    /// Asks the classes in order.
    #[inline]
    fn pick_next_task(&mut self, platform: &mut Platform, cpu: CpuId) -> Pid {
        if let Some(pid) = self.deadline.pick_next_task(&mut self.core, platform, cpu) {
            return pid;
        }
        if let Some(pid) = self.rt.pick_next_task(&mut self.core, platform, cpu) {
            return pid;
        }
        if let Some(pid) = self.fair.pick_next_task(&mut self.core, platform, cpu) {
            return pid;
        }
        platform.by_rule(Question::Pick, cpu, IDLE);
        self.core.idle_thread(cpu)
    }

    /// Runs a migration thread from its wakeup to its sleep: does the work for which it was woken.
    fn migration_thread(&mut self, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if self.core.rqs[cpu.index()].active_balance {
            let Self { core: rqs, rt, fair, .. } = self;
            fair.active_load_balance(rqs, rt, platform, cpu);
            self.core.rqs[cpu.index()].active_balance = false;
        }
        while let Some((task, to)) = self.core.rqs[cpu.index()].migration_queue.pop() {
            self.migrate_task(platform, cpu, task, to);
            if core::mem::take(&mut self.core.thread_mut(task).execs) {
                self.try_to_wake_up(platform, task, false, None);
            }
        }
        self.core.thread_mut(pid).runnable = false;
    }

    /// `__migrate_task`: moves `pid` to `to`, unless `pid` has left, or may no longer run there.
    fn migrate_task(&mut self, platform: &mut Platform, cpu: CpuId, pid: Pid, to: CpuId) {
        if self.core.cpu_of(pid) != cpu || !self.core.is_allowed(pid, to) {
            return;
        }
        let queued = self.core.thread(pid).on_rq;
        if queued {
            self.core.update_rq_clock(platform, cpu);
            self.deactivate_task(platform, pid, Dequeue::Migrate);
        }
        if self.core.thread(pid).execs {
            platform.by_rule(Question::Migrate, to, EXEC);
        } else {
            self.must_leave(platform, cpu, to);
        }
        self.set_task_cpu(platform, pid, to);
        if queued {
            self.core.update_rq_clock(platform, to);
            self.activate_task(platform, pid, Enqueue::Migrated);
            self.check_preempt_curr(platform, pid, Challenge::Other);
        }
    }

    /// Implements `try_to_wake_up`, executed on [`Rqs::this_cpu`]. `waker` is `None` for an
    /// interrupt and for anything that is not a task of the workload.
    fn try_to_wake_up(
        &mut self,
        platform: &mut Platform,
        pid: Pid,
        sync: bool,
        waker: Option<Pid>,
    ) {
        let cpu = self.core.cpu_of(pid);
        self.core.update_rq_clock(platform, cpu);
        if !self.core.thread(pid).on_rq {
            let select = Select::Wakeup { sync };
            let class = self.selecting_class(pid);
            let chosen = class!(self, class, select_task_rq(platform, pid, select));
            if chosen != cpu {
                platform.by_rule(Question::Migrate, chosen, PLACED);
                self.set_task_cpu(platform, pid, chosen);
                self.core.update_rq_clock(platform, chosen);
            }
            self.activate_task(platform, pid, Enqueue::Wakeup);
            if let Some(waker) = waker {
                self.fair.task_wakes_other(&self.core, waker);
            }
        } else {
            platform.by_rule(Question::SelectCpu, cpu, STILL_QUEUED);
        }
        self.check_preempt_curr(platform, pid, Challenge::Wakeup { sync });
        self.core.thread_mut(pid).runnable = true;
        let cpu = self.core.cpu_of(pid);
        class!(self, self.class_of(pid), task_woken(platform, cpu, pid));
        self.report_migrations();
    }

    /// Names the rule by which a task leaves `cpu`, where it may no longer run, for `to`.
    fn must_leave(&self, platform: &mut Platform, cpu: CpuId, to: CpuId) {
        let rule = if self.core.is_online(cpu) { AFFINITY } else { HOTPLUG };
        platform.by_rule(Question::Migrate, to, rule);
    }

    /// Selects the CPU for a new task whose parent holds no CPU: the allowed CPU with the fewest
    /// threads, the lowest number among equals.
    fn emptiest_cpu(&self, allowed: &CpuSet) -> CpuId {
        let mut best: Option<(u32, CpuId)> = None;
        for (cpu, &nr_running) in self.core.nr_running.iter().enumerate() {
            let cpu = CpuId(cpu as u32);
            if best.is_none_or(|(least, _)| nr_running < least) && allowed.contains(cpu) {
                best = Some((nr_running, cpu));
                if nr_running == 0 {
                    break;
                }
            }
        }
        best.expect("a task is allowed on at least one CPU of the machine").1
    }

    /// `set_user_nice`: sets the nice value under a fair policy.
    fn set_user_nice(&mut self, platform: &mut Platform, pid: Pid, nice: i32) {
        let cpu = self.core.cpu_of(pid);
        let old = self.core.settings[pid.index()].attr;
        let queued = self.core.thread(pid).on_rq;
        self.core.update_rq_clock(platform, cpu);
        if queued {
            self.fair.dequeue_task(&mut self.core, platform, cpu, pid, Dequeue::Save);
        }
        self.change_attr(pid, SchedAttr { nice, ..old });
        if queued {
            self.fair.enqueue_task(&mut self.core, platform, cpu, pid, Enqueue::Restored);
            // The task has become more urgent, or is running and has become less urgent.
            if nice < old.nice || self.core.is_running(pid) {
                platform.because(Question::Preempt, cpu, RENICED, |evidence| {
                    let (old, new) = (i64::from(old.nice), i64::from(nice));
                    evidence.term("old_nice", old).term("nice", new);
                });
                self.core.resched_curr(platform, cpu);
            }
        }
    }

    /// `sched_setscheduler`: sets the policy, real-time priority or deadline.
    fn set_scheduler(&mut self, platform: &mut Platform, pid: Pid, attr: SchedAttr) {
        let cpu = self.core.cpu_of(pid);
        let Thread { on_rq: queued, class: old_class, prio: old_prio, .. } = *self.core.thread(pid);
        let running = self.core.is_running(pid);
        self.core.update_rq_clock(platform, cpu);
        if queued {
            self.deactivate_task(platform, pid, Dequeue::Save);
        }
        if running {
            class!(self, old_class, put_prev_task(platform, cpu, pid));
        }
        self.change_attr(pid, attr);
        let class = self.class_of(pid);
        if running {
            class!(self, class, set_curr_task(platform, cpu, pid));
        }
        if !queued {
            return;
        }
        self.activate_task(platform, pid, Enqueue::Restored);
        if class == old_class {
            class!(self, class, prio_changed(platform, cpu, pid, old_prio));
        } else {
            class!(self, old_class, switched_from(platform, cpu, pid));
            class!(self, class, switched_to(platform, cpu, pid));
        }
        self.report_migrations();
    }

    /// Sets the attributes of `pid`, which has been taken off its runqueue.
    fn change_attr(&mut self, pid: Pid, attr: SchedAttr) {
        let old = core::mem::replace(&mut self.core.settings[pid.index()].attr, attr);
        let thread = self.core.thread_mut(pid);
        thread.policy = attr.policy;
        thread.class = ClassId::of(attr.policy);
        thread.prio = prio_of(&attr);
        self.fair.attr_changed(&self.core, pid, &old);
        if ClassId::of(attr.policy) != ClassId::of(old.policy) {
            self.core.thread_mut(pid).rt_sum_exec = 0;
        }
    }
}

/// Wakes the migration thread of `cpu`, from within the fair class's balancing.
pub fn wake_migration_thread<F: FairClass>(
    fair: &mut F,
    rqs: &mut Rqs,
    rt: &mut RealTime,
    platform: &mut Platform,
    cpu: CpuId,
) {
    let pid = rqs.migration_thread(cpu);
    if rqs.thread(pid).runnable {
        return;
    }
    rqs.update_rq_clock(platform, cpu);
    rqs.thread_mut(pid).runnable = true;
    if !rqs.thread(pid).on_rq {
        rt.enqueue_task(rqs, platform, cpu, pid, Enqueue::Wakeup);
        rqs.thread_mut(pid).on_rq = true;
        rqs.add_nr_running(cpu, 1);
    }
    let challenge = Challenge::Wakeup { sync: false };
    match rqs.thread(rqs.curr(cpu)).class {
        ClassId::Fair => fair.check_preempt_curr(rqs, platform, cpu, pid, challenge),
        ClassId::Rt => rt.check_preempt_curr(rqs, platform, cpu, pid, challenge),
        ClassId::Idle | ClassId::Deadline => {
            platform.by_rule(Question::Preempt, cpu, IDLE_GIVES_WAY);
            rqs.resched_curr(platform, cpu);
        }
    }
}

impl<F: FairClass, D: Class> Scheduler for ClassList<F, D> {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        self.core.make_room(task);
        let pid = self.core.pid(task);
        let nr_cpus_allowed = attr.allowed.count(self.core.cpus());
        *self.core.thread_mut(pid) = Thread {
            nr_cpus_allowed,
            prio: prio_of(&attr.sched),
            class: ClassId::of(attr.sched.policy),
            policy: attr.sched.policy,
            runnable: true,
            ..Thread::default()
        };
        self.core.settings[pid.index()] = Settings {
            attr: attr.sched,
            allowed: attr.allowed.clone(),
            address_space: attr.address_space,
        };
        let cpu = match parent {
            Parent::External => {
                let cpu = self.emptiest_cpu(&attr.allowed);
                platform.because(Question::SelectCpu, cpu, FEWEST_THREADS, |evidence| {
                    let threads = self.core.nr_running[cpu.index()];
                    evidence.term("nr_running", i64::from(threads));
                });
                cpu
            }
            Parent::Task { cpu, .. } => cpu,
        };
        self.core.thread_mut(pid).cpu = cpu;
        self.core.act_on(cpu);
        self.core.external = parent == Parent::External;
        self.rt.thread_born(&self.core, platform, pid, parent);
        self.fair.thread_born(&self.core, pid, attr, parent);
        if parent != Parent::External || self.fair.chooses_cpu_at_first_wakeup() {
            let class = self.selecting_class(pid);
            let chosen = class!(self, class, select_task_rq(platform, pid, Select::Fork));
            let chosen = if attr.allowed.contains(chosen) {
                chosen
            } else {
                let first = attr.allowed.first(self.core.cpus()).unwrap_or(chosen);
                platform.by_rule(Question::SelectCpu, first, FIRST_ALLOWED);
                first
            };
            if chosen != cpu {
                self.core.thread_mut(pid).cpu = chosen;
                self.fair.task_moved(&self.core, pid, cpu);
            }
        }
        let cpu = self.core.cpu_of(pid);
        self.core.update_rq_clock(platform, cpu);
        class!(self, self.class_of(pid), task_new(platform, cpu, pid, parent));
        self.core.thread_mut(pid).on_rq = true;
        if self.class_of(pid) != ClassId::Fair {
            self.core.add_nr_running(cpu, 1);
        }
        self.check_preempt_curr(platform, pid, Challenge::Fork);
        class!(self, self.class_of(pid), task_woken(platform, cpu, pid));
        self.report_migrations();
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let pid = self.core.pid(task);
        self.core.act_on(waker.cpu());
        self.core.external = matches!(waker, Waker::Process { .. });
        let waker_pid = match waker {
            Waker::Task { task, .. } => Some(self.core.pid(task)),
            Waker::Interrupt { .. } | Waker::Process { .. } => None,
        };
        self.try_to_wake_up(platform, pid, waker.is_sync(), waker_pid);
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, _reason: BlockReason) {
        let pid = self.core.pid(task);
        self.core.act_on(cpu);
        self.core.thread_mut(pid).runnable = false;
        if F::DEQUEUES_AT_BLOCK {
            self.core.update_rq_clock(platform, cpu);
            self.deactivate_task(platform, pid, Dequeue::Sleep);
        }
        self.core.resched_curr(platform, cpu);
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        self.fair.update_cpu_load(&self.core, cpu);
        let curr = self.core.curr(cpu);
        match self.class_of(curr) {
            ClassId::Idle => {}
            class => class!(self, class, task_tick(platform, cpu, curr)),
        }
        self.fair.trigger_load_balance(&mut self.core, &mut self.rt, platform, cpu);
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        self.core.act_on(cpu);
        while self.schedule_once(platform, cpu) {}
        // A mark set in the meantime belongs to the thread that was switched out, not to the CPU.
        platform.clear_resched(cpu);
        self.core.task(self.core.curr(cpu))
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let pid = self.core.pid(task);
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        class!(self, self.class_of(pid), yield_task(platform, cpu, pid));
        self.core.resched_curr(platform, cpu);
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        let pid = self.core.pid(task);
        self.core.act_on(by);
        let present = self.core.settings[pid.index()].attr;
        // setpriority(2) changes the nice value alone. `sched_setscheduler(2)` changes everything
        // else. A call that changes both performs one after the other.
        let but_nice = SchedAttr { nice: present.nice, ..*attr };
        if but_nice != present {
            self.set_scheduler(platform, pid, but_nice);
        }
        if attr.nice != present.nice {
            if self.class_of(pid) == ClassId::Fair {
                self.set_user_nice(platform, pid, attr.nice);
            } else {
                self.change_attr(pid, *attr);
            }
        }
    }

    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, by: CpuId) {
        let pid = self.core.pid(task);
        self.core.act_on(by);
        let present = self.core.settings[pid.index()].attr;
        self.set_scheduler(platform, pid, present);
    }

    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let pid = self.core.pid(task);
        self.core.act_on(cpu);
        if self.selecting_class(pid) != ClassId::Fair {
            return;
        }
        let to = self.fair.select_for_exec(&mut self.core, platform, pid);
        if to == cpu || !self.core.is_allowed(pid, to) {
            return;
        }
        self.core.rqs[cpu.index()].migration_queue.push((pid, to));
        self.fair.task_wakes_other(&self.core, pid);
        let Self { core: rqs, rt, fair, .. } = self;
        wake_migration_thread(fair, rqs, rt, platform, cpu);
        let thread = self.core.thread_mut(pid);
        (thread.runnable, thread.execs) = (false, true);
        self.core.resched_curr(platform, cpu);
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        let pid = self.core.pid(task);
        let cpu = self.core.cpu_of(pid);
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        let nr = allowed.count(self.core.cpus());
        self.core.settings[pid.index()].allowed = allowed.clone();
        class!(self, self.class_of(pid), set_cpus_allowed(platform, cpu, pid, nr));
        self.core.thread_mut(pid).nr_cpus_allowed = nr;
        if allowed.contains(cpu) {
            return;
        }
        let Some(to) = allowed.first(self.core.cpus()) else {
            return;
        };
        if self.core.thread(pid).on_rq {
            self.core.rqs[cpu.index()].migration_queue.push((pid, to));
            let Self { core: rqs, rt, fair, .. } = self;
            wake_migration_thread(fair, rqs, rt, platform, cpu);
            // This applies even if the current task has the same priority.
            self.core.resched_curr(platform, cpu);
        } else {
            self.must_leave(platform, cpu, to);
            self.set_task_cpu(platform, pid, to);
        }
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        let pid = self.core.pid(task);
        let cpu = self.core.cpu_of(pid);
        self.core.thread_mut(pid).runnable = false;
        if self.core.thread(pid).on_rq {
            self.core.update_rq_clock(platform, cpu);
            self.deactivate_task(platform, pid, Dequeue::Sleep);
        }
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        if key == rt::PERIOD_TIMER {
            self.rt.period_timer(&mut self.core, platform);
        } else {
            self.fair.timer(&mut self.core, platform, key);
        }
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
            Command::MoveTask { task, group } => {
                self.move_task(platform, task, group)?;
            }
            Command::SetTunable { name, value } => self.write_tunable(platform, name, value)?,
            Command::CpuOffline(cpu) => self.take_offline(platform, cpu),
            Command::CpuOnline(cpu) => self.bring_online(platform, cpu),
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl<F: FairClass, D: Class> Inspect for ClassList<F, D> {
    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        self.fair.group_stats(group)
    }

    fn tunables(&self) -> Vec<Tunable> {
        let mut all = self.fair.tunables(&self.core);
        all.extend(self.rt.tunables());
        all
    }

    fn promises(&self, load: &Load) -> Promises {
        Promises { real_time_first: true, ..self.fair.promises(&self.core, load) }
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        let fair = self.fair.rules().iter().chain(self.fair.more_rules());
        RULES.iter().chain(rt::rules::RULES).chain(fair).collect()
    }

    /// Lists the candidates of the first class that has any.
    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let before = out.len();
        self.rt.candidates(&self.core, cpu, out);
        if out.len() == before {
            self.fair.candidates(&self.core, cpu, out);
        }
    }

    fn describe_domains(&self) -> Option<String> {
        Some(self.core.domains.describe())
    }

    fn audit(&self) -> Result<(), String> {
        let mut found = alloc::vec![0u32; self.core.cpus() as usize];
        for (pid, thread) in self.core.threads.iter().enumerate() {
            let counts = thread.on_rq
                && match thread.class {
                    ClassId::Idle => false,
                    ClassId::Fair => !self.fair.throttled_hierarchy(Pid(pid as u32)),
                    ClassId::Rt | ClassId::Deadline => true,
                };
            if counts {
                found[thread.cpu.index()] += 1;
            }
        }
        for (cpu, (&counted, &found)) in self.core.nr_running.iter().zip(&found).enumerate() {
            if counted != found {
                return Err(alloc::format!(
                    "CPU {cpu}: nr_running is {counted}, but {found} threads are on it"
                ));
            }
        }
        if self.core.overcommitted(0, self.core.cpus()).count()
            != found.iter().filter(|&&nr| nr > 1).count()
        {
            return Err("the set of CPUs with more than one thread is wrong".into());
        }
        self.rt.audit(&self.core)?;
        self.fair.audit(&self.core)
    }
}

impl<F: FairClass, D: Class> ClassList<F, D> {
    fn take_offline(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.core.set_online(cpu, false);
        self.rt.cpu_offline(&mut self.core, cpu);
        self.fair.domains_rebuilt(&self.core, platform);
        // A throttled CPU may have tasks to give away.
        self.core.resched_curr(platform, cpu);
    }

    fn bring_online(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.core.set_online(cpu, true);
        self.rt.cpu_online(cpu);
        self.fair.domains_rebuilt(&self.core, platform);
    }

    fn create_group(&mut self, parent: GroupId, shares: u64) -> Result<GroupId, Refused> {
        self.fair.group_new(&self.core, parent, shares)
    }

    fn set_shares(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), Refused> {
        self.fair.group_set_shares(&mut self.core, platform, group, shares)
    }

    fn set_quota(
        &mut self,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        self.fair.group_set_quota(&mut self.core, platform, group, quota)
    }

    /// Implements `sched_move_task`.
    fn move_task(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        group: GroupId,
    ) -> Result<(), Refused> {
        let pid = self.core.pid(task);
        let cpu = self.core.cpu_of(pid);
        let class = self.class_of(pid);
        let queued = self.core.thread(pid).on_rq;
        let running = self.core.is_running(pid);
        self.core.update_rq_clock(platform, cpu);
        if queued {
            class!(self, class, dequeue_task(platform, cpu, pid, Dequeue::Save));
        }
        if running {
            class!(self, class, put_prev_task(platform, cpu, pid));
        }
        let result = self.fair.set_group(&mut self.core, platform, pid, group);
        if running {
            class!(self, class, set_curr_task(platform, cpu, pid));
        }
        if queued {
            class!(self, class, enqueue_task(platform, cpu, pid, Enqueue::Restored));
            // The task was throttled, and may run now.
            if self.core.is_idle_thread(self.core.curr(cpu)) {
                self.core.resched_curr(platform, cpu);
            }
        }
        result
    }

    fn write_tunable(
        &mut self,
        platform: &mut Platform,
        name: &str,
        value: i64,
    ) -> Result<(), TunableError> {
        tunables::check(&self.tunables(), name, value)?;
        if rt::TUNABLES.contains(&name) {
            return self.rt.set_tunable(platform, name, value);
        }
        self.fair.set_tunable(&mut self.core, name, value)
    }
}
