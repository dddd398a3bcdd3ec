//! Operations: births, wakeups, and the operations that tasks take from the workload.

use super::Machine;
use super::action_error::ActionError;
use super::config::TaskState;
use super::costs::bill::Work;
use super::costs::modelled::Sleep;
use super::reschedule::no_such_cpu;
use super::signals::Signals;
use super::task::{Lifecycle, Settings, Task};
use crate::queue::NEVER;
use crate::workload::{Op, Workload};
use schedlab_core::{
    BlockReason, Command, CpuId, CpuSet, Errno, Event, GroupId, Observer, Parent, Question,
    Request, Rule, SchedAttr, Scheduler, TaskAttr, TaskId, Waker,
};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Starts a task, or wakes it because its sleep is over.
    #[inline]
    pub(super) fn start_or_wake(&mut self, task: TaskId) {
        while let Some(op) = self.workload.before_wake(self.now_ns, task) {
            let newborn = self.tasks[task.index()].unborn.as_mut();
            match op {
                Op::SetAttr { task: target, attr } if target == task => match newborn {
                    Some(unborn) => {
                        unborn.sched = attr;
                        self.settings[task.index()].attr = attr;
                    }
                    None => {
                        let _ = self.set_attr(task, attr, self.scheduler.cpu_of(task));
                    }
                },
                Op::SetAffinity { task: target, allowed } if target == task => {
                    let _ = self.set_affinity(task, &allowed);
                }
                Op::SetGroup { task: target, group } if target == task => {
                    let _ = self.set_group(task, group);
                }
                Op::Exit => {
                    if newborn.is_none() {
                        self.scheduler.kill(&mut self.platform, task);
                        self.apply_requests();
                    }
                    self.observer.on(self.now_ns, Event::Killed { task });
                    self.end_of(task);
                    return;
                }
                other => unreachable!("a task cannot do {other:?} before it is awake"),
            }
        }
        if let Some(attr) = self.tasks[task.index()].unborn.take() {
            self.birth(task, &attr, Parent::External);
        } else {
            let cpu = self.interrupt_cpu.unwrap_or_else(|| self.cpu_near(task));
            let waker = if self.wake_from_interrupt {
                Waker::Interrupt { cpu }
            } else {
                Waker::Process { cpu }
            };
            self.draw_timer_latency(cpu);
            self.wake(task, waker);
            self.forget_timer_latency();
        }
    }

    /// Reveals the coming burst of `task` to a scheduler that may know it.
    #[inline]
    fn reveal_burst(&mut self, task: TaskId) {
        if !self.clairvoyant {
            return;
        }
        let burst_ns = match self.tasks[task.index()].signals.is_empty() {
            // The rest of the interrupted work, and the work that follows.
            true => self.workload.burst_ns(task).map_or(u64::MAX, |ns| {
                ns.saturating_add(self.tasks[task.index()].left_ns(self.now_ns))
            }),
            false => 0,
        };
        if let Some(scheduler) = self.scheduler.as_clairvoyant() {
            scheduler.next_burst(task, burst_ns);
        }
    }

    fn birth(&mut self, task: TaskId, attr: &TaskAttr, parent: Parent) {
        self.reveal_burst(task);
        self.tasks[task.index()].state = TaskState::Running;
        self.runnable += 1;
        self.counts.wakeups += 1;
        let narrowed;
        let attr = if matches!(self.online, CpuSet::All) && !self.groups.has_cpusets() {
            attr
        } else {
            narrowed = TaskAttr { allowed: self.narrow(task), ..attr.clone() };
            &narrowed
        };
        self.settings[task.index()].reported = attr.allowed.clone();
        if let Parent::Task { cpu, .. } = parent {
            self.enter_kernel(cpu);
        }
        self.platform.forget_rules();
        self.request = Request::Policy(attr.sched.policy);
        self.scheduler.fork(&mut self.platform, task, attr, parent);
        if let Parent::Task { cpu, .. } = parent {
            self.charge(cpu, Work::NewTask, self.scheduler.cpu_of(task));
        }
        let instead;
        let attr = if self.refusal_of(task).is_none() {
            attr
        } else {
            let sched = SchedAttr::nice(attr.sched.nice);
            self.settings[task.index()].attr = sched;
            self.workload.attr_refused(task, &sched);
            instead = TaskAttr { sched, ..attr.clone() };
            &instead
        };
        let forked_by = match parent {
            Parent::External => None,
            Parent::Task { task, .. } => Some(task),
        };
        let cpu = self.queue_of(task);
        if self.names_asked {
            let name = self.workload.task_name(task);
            self.observer.on(self.now_ns, Event::Named { task, name: &name });
        }
        self.observer.on(self.now_ns, Event::Born { task, parent: forked_by, attr });
        let (placed, preempts) = self.placement_rules();
        self.observer.on(self.now_ns, Event::Started { task, cpu, placed, preempts });
        self.apply_requests();
        let row = &self.settings[task.index()];
        if self.groups.has_cpusets() && self.usable(&row.allowed, row.group).is_none() {
            // The CPUs that its owner allows are none of its group's.
            self.refused(task, Request::Affinity, Errno::Invalid);
        }
    }

    #[inline]
    pub(super) fn wake(&mut self, task: TaskId, waker: Waker) {
        let state = self.tasks[task.index()].state;
        if matches!(state, TaskState::Interruptible | TaskState::Uninterruptible) {
            if self.resume_after_switch && self.current.contains(&Some(task)) {
                self.late_wakes.push((task, waker));
                return;
            }
            self.make_runnable(task, waker);
        } else if self.costs.is_some() {
            // The task is not asleep yet, and now need not sleep.
            let _ = self.take_sleep(task);
        }
    }

    /// Wakes `task`, from which its CPU has just switched away, if it was to be woken before that.
    #[cold]
    pub(super) fn wake_late(&mut self, task: TaskId) {
        let Some(found) = self.late_wakes.iter().position(|&(woken, _)| woken == task) else {
            return;
        };
        let (_, waker) = self.late_wakes.remove(found);
        self.wake(task, waker);
    }

    // Forced: all other callers are rare, and a call costs 3 % of a sleep.
    #[inline(always)]
    pub(super) fn make_runnable(&mut self, task: TaskId, waker: Waker) {
        self.tasks[task.index()].state = TaskState::Running;
        self.runnable += 1;
        self.counts.wakeups += 1;
        self.reveal_burst(task);
        self.enter_kernel(waker.cpu());
        self.platform.forget_rules();
        self.scheduler.wake(&mut self.platform, task, waker);
        let from_interrupt = !matches!(waker, Waker::Task { .. });
        let cpu = self.queue_of(task);
        self.charge(waker.cpu(), Work::Wakeup { from_interrupt }, cpu);
        let (placed, preempts) = self.placement_rules();
        self.observer.on(self.now_ns, Event::Woken { task, cpu, waker, placed, preempts });
        self.apply_requests();
    }

    /// Returns the CPU whose runqueue holds `task`, according to the scheduler.
    #[inline]
    fn queue_of(&self, task: TaskId) -> CpuId {
        let cpu = self.scheduler.cpu_of(task);
        if cpu.index() >= self.current.len() {
            no_such_cpu(cpu, self.current.len());
        }
        cpu
    }

    /// Returns the rules by which the scheduler has just chosen a CPU for a task, and decided on
    /// preemption there.
    #[inline]
    fn placement_rules(&self) -> (Rule, Rule) {
        (self.platform.rule(Question::SelectCpu), self.platform.rule(Question::Preempt))
    }

    /// Lets the current task of `cpu` read its own CPU clock. Returns true if it takes its next
    /// operation when it has the CPU again.
    #[cold]
    fn read_clock(&mut self, cpu: CpuId) -> bool {
        if !self.reads_are_free {
            self.enter_kernel(cpu);
            let charged = self.scheduler.control(&mut self.platform, Command::ReadClock(cpu));
            self.reads_are_free = charged.is_err();
            self.apply_requests();
        }
        self.platform.resched_pending(cpu)
    }

    /// Ends the work of the current task of `cpu`: the task takes its next operations until one of
    /// them takes time.
    pub(super) fn work_ended(&mut self, cpu: CpuId) -> Result<(), W::Error> {
        let task = self.current[cpu.index()].expect("only a running task can end its work");
        self.completions.set(cpu.index(), NEVER);
        if !self.tasks[task.index()].signals.is_empty() && self.handle_signals(cpu, task) {
            return Ok(());
        }
        let row = &mut self.tasks[task.index()];
        (row.remaining_ns, row.by_clock) = (0, false);
        if self.is_preempted_between_operations(cpu) && !self.workload.in_a_call(task) {
            return Ok(());
        }
        loop {
            if self.next_operation_waits(cpu) {
                return Ok(());
            }
            match self.workload.next(self.now_ns, task, cpu)? {
                Op::Run { ns } => {
                    debug_assert!(ns > 0);
                    self.tasks[task.index()].remaining_ns = ns;
                    self.completions.set(cpu.index(), self.now_ns.saturating_add(ns));
                    return Ok(());
                }
                Op::RunUntil { until_ns } => {
                    if until_ns > self.now_ns {
                        let row = &mut self.tasks[task.index()];
                        (row.remaining_ns, row.by_clock) = (until_ns, true);
                        self.completions.set(cpu.index(), until_ns);
                        return Ok(());
                    }
                }
                Op::Kill { task: other } => {
                    if self.is_living(other) {
                        self.post(other, Signals::KILL);
                    }
                    if other == task {
                        return Ok(());
                    }
                }
                Op::Sleep { until_ns, reason } => {
                    if until_ns > self.now_ns {
                        if self.sleep_waits(cpu, task, Sleep { until_ns, reason }) {
                            return Ok(());
                        }
                        self.sleepers.set(task.0, until_ns);
                        self.block(cpu, task, reason);
                        return Ok(());
                    }
                }
                Op::Block { reason } => {
                    if self.sleep_waits(cpu, task, Sleep { until_ns: NEVER, reason }) {
                        return Ok(());
                    }
                    self.block(cpu, task, reason);
                    return Ok(());
                }
                Op::Exit => {
                    self.block(cpu, task, BlockReason::Dead);
                    return Ok(());
                }
                Op::Wake { task: other, sync } => {
                    // A task that is woken early no longer sleeps.
                    if self.tasks[other.index()].unborn.is_none() {
                        self.sleepers.remove(other.0);
                        self.tasks[other.index()].signals.remove(Signals::RESTART);
                    }
                    self.wake(other, Waker::Task { task, cpu, sync });
                }
                Op::Fork { mut attr, inherits, delay_ns } => match self.scheduler.may_fork(task) {
                    Ok(()) => {
                        if inherits {
                            let parent = &self.settings[task.index()];
                            attr.sched = parent.attr;
                            attr.allowed.clone_from(&parent.allowed);
                            attr.group = parent.group;
                        }
                        self.fork(task, cpu, attr, delay_ns);
                    }
                    Err(errno) => {
                        self.workload.fork_refused(self.now_ns, task);
                        self.refused(task, Request::Fork, errno);
                    }
                },
                Op::Exec => {
                    self.enter_kernel(cpu);
                    self.observer.on(self.now_ns, Event::Execed { task, cpu });
                    self.scheduler.exec(&mut self.platform, cpu, task);
                    self.apply_requests();
                    if self.platform.resched_pending(cpu) {
                        // The task takes its next operation when it has a CPU again.
                        return Ok(());
                    }
                }
                Op::ReadClock => {
                    if self.read_clock(cpu) {
                        return Ok(());
                    }
                }
                Op::Yield => {
                    self.enter_kernel(cpu);
                    self.scheduler.yield_now(&mut self.platform, cpu, task);
                    self.charge(cpu, Work::Yield, cpu);
                    self.apply_requests();
                    if self.platform.resched_pending(cpu) {
                        // The task takes its next operation when it has the CPU again.
                        return Ok(());
                    }
                }
                Op::YieldAndGoOn => {
                    self.enter_kernel(cpu);
                    self.scheduler.yield_now(&mut self.platform, cpu, task);
                    self.charge(cpu, Work::Yield, cpu);
                    self.apply_requests();
                }
                Op::SetAttr { task: target, attr } => {
                    let _ = self.set_attr(target, attr, cpu);
                }
                Op::SetAffinity { task: target, allowed } => {
                    self.platform.set_caller(Some(task));
                    let _ = self.set_affinity(target, &allowed);
                    self.platform.set_caller(None);
                    if target == task
                        && !allowed.contains(cpu)
                        && self.platform.resched_pending(cpu)
                    {
                        // The task takes its next operation on a CPU that it may use.
                        return Ok(());
                    }
                }
                Op::SetGroup { task: target, group } => {
                    if let Err(error) = self.set_group(target, group) {
                        // It stays in its group.
                        self.group_refused(target, &error);
                    }
                    if !self.tasks[task.index()].signals.is_empty() {
                        // It has entered a frozen group.
                        return Ok(());
                    }
                    let left = !self.settings[task.index()].reported.contains(cpu);
                    if target == task && left && self.platform.resched_pending(cpu) {
                        // The task takes its next operation on a CPU that it may use.
                        return Ok(());
                    }
                }
            }
        }
    }

    #[inline]
    pub(super) fn block(&mut self, cpu: CpuId, task: TaskId, reason: BlockReason) {
        self.runnable -= 1;
        self.enter_kernel(cpu);
        self.scheduler.block(&mut self.platform, cpu, task, reason);
        self.charge(cpu, Work::Block, cpu);
        let reported = match reason {
            BlockReason::Futex => BlockReason::Interruptible,
            reason => reason,
        };
        self.observer.on(self.now_ns, Event::Blocked { task, cpu, reason: reported });
        self.apply_requests();
        self.platform.resched(cpu);
        self.tasks[task.index()].state = match reason {
            BlockReason::Interruptible | BlockReason::Futex => TaskState::Interruptible,
            BlockReason::Uninterruptible => TaskState::Uninterruptible,
            BlockReason::Stopped => {
                self.held += 1;
                TaskState::Stopped
            }
            BlockReason::Dead => {
                self.alive -= 1;
                TaskState::Zombie
            }
        };
    }

    /// Ends `task`, which is not on a CPU.
    fn end_of(&mut self, task: TaskId) {
        self.alive -= 1;
        self.tasks[task.index()].state = TaskState::Zombie;
        self.reap_dead(task);
    }

    /// Reaps `task` at once, by its parent or by init, if the machine reaps dead tasks.
    pub(super) fn reap_dead(&mut self, task: TaskId) {
        if self.reap {
            self.tasks[task.index()].state = TaskState::Reaped;
            // The orphans of a dead parent go to init.
            let alive = |&parent: &TaskId| {
                !matches!(self.tasks[parent.index()].state, TaskState::Zombie | TaskState::Reaped)
            };
            let parent = self.settings[task.index()].parent.filter(alive);
            self.scheduler.reap(&mut self.platform, task, parent);
            self.apply_requests();
        }
    }

    fn fork(&mut self, parent: TaskId, cpu: CpuId, attr: Box<TaskAttr>, delay_ns: u64) {
        let child = TaskId(self.tasks.len() as u32);
        self.alive += 1;
        self.tasks.push(Task::unborn(TaskAttr::default()));
        self.settings.push(Settings::of(&attr, Some(parent)));
        self.workload.forked(self.now_ns, parent, child);
        if delay_ns == 0 {
            self.tasks[child.index()].unborn = None;
            self.freeze_by_group(child);
            self.birth(child, &attr, Parent::Task { task: parent, cpu });
        } else {
            self.tasks[child.index()].unborn = Some(attr);
            self.sleepers.set(child.0, self.now_ns.saturating_add(delay_ns));
            self.freeze_by_group(child);
        }
    }

    /// Changes the attributes of a task. Returns an error if the scheduler refuses them.
    pub(super) fn set_attr(
        &mut self,
        task: TaskId,
        attr: SchedAttr,
        by: CpuId,
    ) -> Result<(), Errno> {
        let old = std::mem::replace(&mut self.settings[task.index()].attr, attr);
        if old == attr {
            return Ok(());
        }
        match self.lifecycle(task) {
            Lifecycle::Unborn(unborn) => unborn.sched = attr,
            Lifecycle::Dead => {}
            Lifecycle::Alive => {
                self.request = Request::Policy(attr.policy);
                self.scheduler.set_attr(&mut self.platform, task, &attr, by);
                let refused = self.refusal_of(task);
                if refused.is_some() {
                    self.settings[task.index()].attr = old;
                    self.workload.attr_refused(task, &old);
                } else {
                    self.observer.on(self.now_ns, Event::AttrChanged { task, attr: &attr });
                }
                self.apply_requests();
                return refused.map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    /// Changes the affinity of a task. Returns an error if it is refused.
    pub(super) fn set_affinity(&mut self, task: TaskId, allowed: &CpuSet) -> Result<(), Errno> {
        let group = self.settings[task.index()].group;
        match self.lifecycle(task) {
            Lifecycle::Unborn(unborn) => unborn.allowed = allowed.clone(),
            Lifecycle::Dead => return Ok(()),
            Lifecycle::Alive => {
                let Some(usable) = self.usable(allowed, group) else {
                    // As in sched_setaffinity(2): none of them is online, or none belongs to its
                    // group.
                    self.refused(task, Request::Affinity, Errno::Invalid);
                    return Err(Errno::Invalid);
                };
                self.request = Request::Affinity;
                self.report_usable(task, usable)?;
                self.observer.on(self.now_ns, Event::AffinityChanged { task, allowed });
            }
        }
        self.settings[task.index()].allowed = allowed.clone();
        Ok(())
    }

    pub(super) fn set_group(&mut self, task: TaskId, group: GroupId) -> Result<(), ActionError> {
        match self.lifecycle(task) {
            Lifecycle::Unborn(unborn) => unborn.group = group,
            Lifecycle::Dead => return Ok(()),
            Lifecycle::Alive => return self.change_group(task, group),
        }
        self.settings[task.index()].group = group;
        self.freeze_by_group(task);
        Ok(())
    }

    /// Reports to the observer that a request for `task` was refused.
    #[cold]
    pub(super) fn refused(&mut self, task: TaskId, request: Request, errno: Errno) {
        let from_outside = self.from_outside;
        self.observer.on(self.now_ns, Event::Refused { task, request, errno, from_outside });
    }

    /// Returns whether `task` is unborn, alive or dead, and thus the effect of a change to it.
    fn lifecycle(&mut self, task: TaskId) -> Lifecycle<'_> {
        let task = &mut self.tasks[task.index()];
        match (task.state, task.unborn.as_deref_mut()) {
            (_, Some(unborn)) => Lifecycle::Unborn(unborn),
            (TaskState::Zombie | TaskState::Reaped, None) => Lifecycle::Dead,
            _ => Lifecycle::Alive,
        }
    }

    /// Returns the error with which the scheduler has just refused the requested attributes of
    /// `task`, if it has.
    fn refusal_of(&self, task: TaskId) -> Option<Errno> {
        self.platform.refusals.iter().find(|&&(target, _)| target == task).map(|&(_, why)| why)
    }
}
