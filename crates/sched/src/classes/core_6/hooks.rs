//! The hooks of the scheduler: forks, wakeups, blocks, ticks, system calls, timers.

use super::super::rq::{Settings, prio_of};
use super::super::{Challenge, Class, ClassId, Dequeue, Enqueue, Thread, bandwidth, rt};
use super::{Core6, FairClass6, rules};
use schedlab_core::{
    BlockReason, Command, ControlError, CpuId, CpuSet, Errno, GroupId, Inspect, Parent, Platform,
    Policy, Question, Reply, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey, Waker,
};

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
        let forker = match parent {
            Parent::External => None,
            Parent::Task { task, .. } => Some(self.core.pid(task)),
        };
        self.fair.has_child(&mut self.core, platform, pid, forker);
        self.fair.task_fork(&mut self.core, platform, pid);
        if let Parent::Task { task, .. } = parent {
            self.fair.inherit(pid, self.core.pid(task));
            let chosen = match self.class_of(pid) {
                ClassId::Fair => {
                    self.fair.select_at_fork(&mut self.core, platform, pid, &attr.allowed, cpu)
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
        self.fair.wake_up_new(&self.core, platform.now_ns(), pid);
        self.activate(platform, pid, Enqueue::New);
        self.wakeup_preempt(platform, pid, Challenge::Fork);
        self.task_woken(platform, pid);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let pid = self.core.pid(task);
        self.core.act_on(waker.cpu());
        self.core.enter_kernel(platform, waker.cpu());
        self.core.external = matches!(waker, Waker::Process { .. });
        self.core.thread_mut(pid).runnable = true;
        self.wake_up(platform, pid, waker);
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        let pid = self.core.pid(task);
        self.core.act_on(cpu);
        self.core.update_rq_clock(platform, cpu);
        self.core.thread_mut(pid).runnable = false;
        if reason == BlockReason::Futex {
            self.fair.waits_for_futex(pid);
        }
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
        self.core.enter_kernel(platform, cpu);
        self.core.update_rq_clock(platform, cpu);
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        let curr = rqs.curr(cpu);
        fair.tick_begins(cpu);
        match rqs.thread(curr).class {
            ClassId::Fair => fair.task_tick(rqs, platform, curr),
            // Even a task that has just blocked is charged for the tick.
            ClassId::Rt => {
                if rqs.thread(curr).on_rq || !rt.ticks_spare_blocked {
                    rt.task_tick(rqs, platform, cpu, curr);
                }
            }
            ClassId::Deadline => deadline.task_tick(rqs, platform, cpu, curr),
            ClassId::Idle => {}
        }
        if deadline.has_fair_server() {
            deadline.fair_server_charge(rqs, platform, cpu, fair.exec_clock(cpu));
            if rqs.thread(curr).class > ClassId::Fair && fair.is_wanted(cpu) {
                deadline.fair_server_defer(rqs, platform, cpu);
            }
        }
        fair.tick_ends(cpu);
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
        self.core.reschedules(cpu);
        let curr = self.core.curr(cpu);
        if self.class_of(curr) == ClassId::Fair
            && !self.core.resched_pending(cpu)
            && self.fair.leaves_unasked(curr)
        {
            self.core.update_rq_clock(platform, cpu);
            self.fair.throttle_task(&mut self.core, platform, curr);
        }
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
            // The task actually sleeps: it leaves the fair class as a sleeper.
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
            if class == ClassId::Fair && fair.renice_reschedules() && old.policy == attr.policy {
                if attr.nice < old.nice || (attr.nice > old.nice && rqs.curr(cpu) == pid) {
                    rqs.resched_curr(platform, cpu);
                }
                return;
            }
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

    /// Checks whether the task may fork. The child of a deadline task would have no bandwidth of
    /// its own.
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
        if class == ClassId::Fair && self.core.thread(pid).on_rq && self.fair.affinity_requeues() {
            // It leaves its queue and returns to it, wherever it may run from now on.
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
        // A CPU is chosen even if it is not needed.
        let to = if self.fair.affinity_takes_lowest() {
            self.fallback_cpu(pid)
        } else {
            self.next_allowed_cpu(pid, cpu)
        };
        if self.core.is_allowed(pid, cpu) || !self.core.thread(pid).on_rq {
            // The CPU of a sleeper is chosen when it wakes.
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
            // The other classes do not move a task at an exec.
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
        let asleep = !self.core.thread(pid).runnable;
        if self.core.thread(pid).on_rq && !asleep {
            self.deactivate(platform, pid, Dequeue::Special);
        }
        self.core.thread_mut(pid).runnable = false;
        if self.class_of(pid) == ClassId::Deadline {
            self.deadline.leave(platform, pid);
        }
        self.fair.task_dead(pid);
        // A task that ends while it sleeps leaves its averages to its queue, where they decay.
        if !asleep {
            self.fair.task_switched_away(&self.core, pid);
        }
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
            Command::ReadClock(cpu) if self.fair.charges_readers() => {
                let task = self.core.curr(cpu);
                if self.core.thread(task).class == ClassId::Fair {
                    self.fair.charge_reader(&mut self.core, platform, task);
                }
            }
            other => return Err(other.unsupported()),
        }
        Ok(Reply::Done)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
