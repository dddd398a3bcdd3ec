//! The classes above a policy: `SCHED_DEADLINE`, `SCHED_FIFO` and `SCHED_RR`, as in the
//! laboratory's 6.x kernels.
//!
//! [`Classes`] is a policy with these classes above it, under the core of those kernels
//! ([`Core6`]). As long as no task of a class above exists, every hook goes to the policy's class
//! alone. From the first such task on, the core picks, and the policy gets the time that the
//! classes above leave. The hooks of ordinary tasks still go directly to the policy's class. The
//! core's records of them are updated before the core uses them.

use crate::act::Act;
use crate::log::Log;
use crate::options::Profile;
use crate::scheduler::ScxScheduler;
use crate::timers::Timer;
use schedlab_core::control::{Command, ControlError, Reply};
use schedlab_core::{
    BlockReason, BuildConfig, Candidate, CpuId, CpuSet, Errno, GroupId, GroupStats, Inspect, Load,
    Parent, Platform, Promises, Refused, RuleDoc, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey,
    Tunable, Waker,
};
use schedlab_sched::classes::bandwidth::Quota;
use schedlab_sched::classes::core_6::{self, Core6, FairClass6};
use schedlab_sched::classes::rq::prio_of;
use schedlab_sched::classes::{ClassId, Dequeue, Enqueue, Pid, Rqs, deadline, rt};
use schedlab_sched::fair_6::domains;

/// The policy's class, in place of the fair class.
#[derive(Debug)]
struct ExtClass {
    scx: ScxScheduler,
    /// Whether the class requests another reschedule of its CPU while it reschedules.
    again: bool,
    /// Threads that have left their CPUs and that the policy's class does not know of yet.
    left: Vec<Pid>,
}

/// A sched_ext policy with the real-time and the deadline class above it.
#[derive(Debug)]
pub struct Classes {
    core: Core6<ExtClass>,
    /// Whether a task of a class above exists or existed.
    has_urgent: bool,
    /// Attributes that tasks get when they have left their CPU: their affinity excludes it, and
    /// they already wait for another.
    late: Vec<(TaskId, SchedAttr, CpuId)>,
}

impl Classes {
    /// Puts these classes above a policy.
    pub fn new(scx: ScxScheduler, config: &BuildConfig) -> Classes {
        let ext = ExtClass { scx, again: false, left: vec![] };
        let core = Core6::with_fair_class(ext, domains::build(&config.topology), config.hz);
        Classes { core, has_urgent: false, late: vec![] }
    }

    /// The policy.
    pub fn policy(&self) -> &ScxScheduler {
        &self.core.fair.scx
    }

    /// Logs the policy's actions to `log`.
    pub fn log_to(&mut self, log: Log) {
        self.core.fair.scx.log_to(log);
    }

    fn pid(&self, task: TaskId) -> Pid {
        self.core.core.pid(task)
    }

    fn is_urgent(&self, task: TaskId) -> bool {
        let pid = self.pid(task);
        let thread = self.core.core.threads.get(pid.index());
        self.has_urgent && thread.is_some_and(|thread| thread.class > ClassId::Fair)
    }

    /// Updates the core's record of an ordinary task and its CPU.
    fn sync(&mut self, task: TaskId) {
        let pid = self.pid(task);
        let Core6 { core: rqs, fair, .. } = &mut self.core;
        let world = &fair.scx.world;
        let row = &world.tasks[world.row(task) as usize];
        let thread = rqs.thread_mut(pid);
        thread.cpu = CpuId(row.cpu);
        thread.nr_cpus_allowed = row.nr_allowed;
        thread.prio = prio_of(&row.attr);
        thread.policy = row.attr.policy;
        thread.class = ClassId::of(row.attr.policy);
        thread.runnable = row.is_runnable;
        thread.on_rq = row.is_runnable;
        let settings = &mut rqs.settings[pid.index()];
        settings.attr = row.attr;
        settings.allowed.clone_from(&row.allowed);
    }

    /// Adds an ordinary task to the core.
    fn know(&mut self, platform: &mut Platform, task: TaskId) {
        self.core.core.make_room(task);
        let pid = self.pid(task);
        self.core.deadline.thread_born(&self.core.core, pid);
        self.core.rt.thread_born(&self.core.core, platform, pid, Parent::External);
        self.sync(task);
    }

    /// Handles the first task of a class above: from now on the core picks.
    fn begin(&mut self, platform: &mut Platform) {
        if self.has_urgent {
            return;
        }
        self.has_urgent = true;
        for cpu in (0..self.core.core.cpus()).map(CpuId) {
            if !self.core.fair.scx.world.cpus[cpu.index()].is_online {
                // (Only the servers have reserved bandwidth so far.)
                let refused = self.core.deadline.cpu_offline();
                debug_assert!(refused.is_ok(), "there are no deadline tasks");
                self.core.core.set_online(cpu, false);
                self.core.rt.cpu_offline(&mut self.core.core, cpu);
            }
        }
        let world = &self.core.fair.scx.world;
        let cpus = world.nr_cpus();
        let tasks = (world.tasks.len() as u32).saturating_sub(cpus);
        for task in (0..tasks).map(TaskId) {
            self.know(platform, task);
        }
        for cpu in (0..cpus).map(CpuId) {
            let world = &self.core.fair.scx.world;
            if let Some(row) = world.cpus[cpu.index()].curr {
                let pid = self.pid(world.task_id(row));
                self.core.core.set_curr(cpu, pid);
            }
        }
    }

    /// Changes the attributes of a task that is, or becomes, a task of a class above.
    fn change(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        self.begin(platform);
        if !self.is_urgent(task) {
            let world = &self.core.fair.scx.world;
            let row = &world.tasks[world.row(task) as usize];
            let has_left = |cpu: &u32| !world.cpus[*cpu as usize].goes_on_with(world.row(task));
            if row.is_runnable
                && let Some(cpu) = row.on_cpu.filter(has_left)
            {
                self.late.push((task, *attr, CpuId(cpu)));
                return;
            }
            self.sync(task);
        }
        self.core.set_attr(platform, task, attr, by);
        let pid = self.pid(task);
        let Core6 { core: rqs, fair, .. } = &mut self.core;
        if rqs.thread(pid).class > ClassId::Fair {
            let row = fair.row(rqs, pid);
            fair.act(platform, rqs.cpu_of(pid).0, |act| act.disable(row));
        } else if !rqs.thread(pid).on_rq && rqs.is_running(pid) {
            let (row, cpu) = (fair.row(rqs, pid), rqs.cpu_of(pid).0);
            fair.act(platform, cpu, |act| act.is_still_on(row, cpu));
        }
    }

    /// Reports the threads that have left their CPUs to the policy's class.
    fn report_left(&mut self, platform: &mut Platform) {
        let Core6 { core: rqs, fair, .. } = &mut self.core;
        while let Some(pid) = fair.left.pop() {
            let (row, cpu) = (fair.row(rqs, pid), rqs.cpu_of(pid).0);
            fair.act(platform, cpu, |act| act.left_above(row));
        }
    }

    /// Passes the core's decision after a reschedule to the policy's class.
    fn switched(&mut self, platform: &mut Platform, cpu: CpuId, next: Option<TaskId>) {
        let Core6 { fair, .. } = &mut self.core;
        if std::mem::take(&mut fair.again) {
            platform.resched(cpu);
        }
        if let Some(task) = next
            && ClassId::of(fair.scx.world.tasks[fair.scx.world.row(task) as usize].attr.policy)
                > ClassId::Fair
        {
            let by = fair.scx.world.row(task);
            let here = &fair.scx.world.cpus[cpu.index()];
            let is_new = !here.is_taken || here.curr.is_some();
            fair.act(platform, cpu.0, |act| match is_new {
                true => act.taken(cpu.0, by),
                false => act.runs_above(cpu.0, by),
            });
        }
        self.report_left(platform);
        while let Some(at) = self.late.iter().position(|&(_, _, on)| on == cpu) {
            let (task, attr, _) = self.late.remove(at);
            self.set_attr(platform, task, &attr, cpu);
        }
    }
}

impl Scheduler for Classes {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        if ClassId::of(attr.sched.policy) == ClassId::Fair {
            self.core.fair.scx.fork(platform, task, attr, parent);
            if self.has_urgent {
                self.know(platform, task);
            }
            return;
        }
        self.begin(platform);
        let cpu = match parent {
            Parent::Task { cpu, .. } => cpu.0,
            Parent::External => 0,
        };
        self.core.fair.act(platform, cpu, |act| act.fork_above(task, attr, parent));
        self.core.fork(platform, task, attr, parent);
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        match self.is_urgent(task) {
            true => self.core.wake(platform, task, waker),
            false => self.core.fair.scx.wake(platform, task, waker),
        }
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        match self.is_urgent(task) {
            true => self.core.block(platform, cpu, task, reason),
            false => self.core.fair.scx.block(platform, cpu, task, reason),
        }
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        self.late.retain(|(other, ..)| *other != task);
        if !self.is_urgent(task) {
            return self.core.fair.scx.kill(platform, task);
        }
        self.core.kill(platform, task);
        self.report_left(platform);
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        if !self.has_urgent {
            return self.core.fair.scx.schedule(platform, cpu);
        }
        let next = self.core.schedule(platform, cpu);
        self.switched(platform, cpu, next);
        next
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        match self.is_urgent(task) {
            true => self.core.cpu_of(task),
            false => self.core.fair.scx.cpu_of(task),
        }
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        let rqs = &self.core.core;
        if self.has_urgent && !rqs.is_idle_thread(rqs.curr(cpu)) {
            return self.core.tick(platform, cpu);
        }
        self.core.fair.scx.tick(platform, cpu);
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        match self.is_urgent(task) {
            true => self.core.yield_now(platform, cpu, task),
            false => self.core.fair.scx.yield_now(platform, cpu, task),
        }
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        // The new attributes replace the delayed ones.
        self.late.retain(|(other, ..)| *other != task);
        if self.is_urgent(task) || ClassId::of(attr.policy) > ClassId::Fair {
            return self.change(platform, task, attr, by);
        }
        self.core.fair.scx.set_attr(platform, task, attr, by);
    }

    fn may_fork(&self, task: TaskId) -> Result<(), Errno> {
        match self.is_urgent(task) {
            true => self.core.may_fork(task),
            false => Ok(()),
        }
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        if !self.is_urgent(task) {
            return self.core.fair.scx.set_affinity(platform, task, allowed);
        }
        self.core.set_affinity(platform, task, allowed);
        let pid = self.pid(task);
        let Core6 { core: rqs, fair, .. } = &mut self.core;
        // The change may have been refused.
        let world = &mut fair.scx.world;
        let row = world.row(task);
        world.tasks[row as usize].allowed.clone_from(&rqs.settings[pid.index()].allowed);
        world.describe_mask(row);
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        match Timer::of(key) {
            None => self.core.timer(platform, key),
            Some(_) => self.core.fair.scx.timer(platform, key),
        }
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        if self.has_urgent {
            match command {
                Command::CpuOffline(cpu) => {
                    self.core.control(platform, Command::CpuOffline(cpu))?;
                }
                Command::CpuOnline(cpu) => {
                    self.core.control(platform, Command::CpuOnline(cpu))?;
                }
                _ => {}
            }
        }
        self.core.fair.scx.control(platform, command)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Classes {
    fn tunables(&self) -> Vec<Tunable> {
        self.policy().tunables()
    }

    fn promises(&self, load: &Load) -> Promises {
        // Before 7.x nothing keeps a real-time task from starving the policy's tasks.
        let real_time_first = self.policy().options.profile < Profile::V7_3;
        Promises { real_time_first, ..self.policy().promises(load) }
    }

    fn remarks(&self) -> Vec<String> {
        self.policy().remarks()
    }

    fn rules(&self) -> Vec<&'static RuleDoc> {
        let above = core_6::rules::RULES.iter().chain(rt::rules::RULES);
        above.chain(deadline::rules::RULES).chain(crate::rules::RULES).collect()
    }

    fn candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        match self.has_urgent {
            true => self.core.candidates(cpu, out),
            false => self.policy().candidates(cpu, out),
        }
    }

    fn audit(&self) -> Result<(), String> {
        self.policy().audit()?;
        if self.has_urgent {
            self.core.rt.audit(&self.core.core)?;
            self.core.deadline.audit(&self.core.core)?;
        }
        Ok(())
    }
}

impl ExtClass {
    fn act<R>(
        &mut self,
        platform: &mut Platform,
        cpu: u32,
        hook: impl FnOnce(&mut Act<'_>) -> R,
    ) -> R {
        self.scx.act(platform, cpu, hook)
    }

    fn row(&self, rqs: &Rqs, pid: Pid) -> u32 {
        rqs.task(pid).map_or(0, |task| self.scx.world.row(task))
    }

    /// Lets the policy pick a task for a CPU.
    fn pick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        platform.clear_resched(cpu);
        self.act(platform, cpu.0, |act| act.comes_back(cpu.0));
        let next = self.scx.schedule(platform, cpu);
        self.again |= platform.resched_pending(cpu);
        let pid = rqs.pid(next?);
        rqs.thread_mut(pid).cpu = cpu;
        rqs.thread_mut(pid).on_rq = true;
        Some(pid)
    }
}

impl FairClass6 for ExtClass {
    fn thread_born(&mut self, _: Pid, _: GroupId, _: CpuId) {}

    fn set_load_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        attr: &SchedAttr,
    ) {
        let row = self.row(rqs, pid);
        let is_ordinary = rqs.thread(pid).class == ClassId::Fair;
        let cpu = rqs.cpu_of(pid).0;
        self.act(platform, cpu, |act| act.describe(row, attr, is_ordinary));
    }

    fn task_fork(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid) {}

    fn wake_up_new(&mut self, rqs: &Rqs, _: u64, pid: Pid) {
        self.came_to_cpu(pid, rqs.cpu_of(pid));
    }

    fn task_dead(&mut self, pid: Pid) {
        let row = pid.0 - self.scx.world.nr_cpus();
        self.scx.world.tasks[row as usize].is_dying = true;
    }

    fn task_switched_away(&mut self, rqs: &Rqs, pid: Pid) {
        if rqs.task(pid).is_some() {
            self.left.push(pid);
        }
    }

    fn reap(&mut self, _: Pid) {}

    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        let row = self.row(rqs, pid);
        let here = rqs.is_running(pid).then_some(cpu.0);
        let to = self.act(platform, cpu.0, |act| match why {
            Enqueue::New => {
                act.activate_new(row, cpu.0);
                act.w.tasks[row as usize].cpu
            }
            Enqueue::Wakeup => {
                act.activate_woken(row, cpu.0);
                act.w.tasks[row as usize].cpu
            }
            Enqueue::Restored | Enqueue::Migrated => act.comes_from_above(row, here),
        });
        rqs.thread_mut(pid).cpu = CpuId(to);
    }

    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _: Dequeue,
    ) -> bool {
        let row = self.row(rqs, pid);
        let runs = rqs.is_running(pid).then_some(cpu.0);
        self.act(platform, cpu.0, |act| act.goes_above(row, runs));
        rqs.thread_mut(pid).on_rq = false;
        true
    }

    fn is_wanted(&self, cpu: CpuId) -> bool {
        // Before 7.x the server serves only the fair class, which has no tasks.
        self.scx.options.profile >= Profile::V7_3 && self.scx.world.runnable_on(cpu.0) > 0
    }

    fn pick_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        self.pick(rqs, platform, cpu)
    }

    fn pick_or_pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        self.pick(rqs, platform, cpu)
    }

    // The class settles which tasks it puts away and sets when it picks, and when a class above
    // takes the CPU.
    fn put_prev_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {}

    fn set_curr_task(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId, _: Pid) {}

    fn switch(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid, _: Pid) {}

    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.scx.tick(platform, rqs.cpu_of(pid));
    }

    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if let Some(task) = rqs.task(pid) {
            self.scx.yield_now(platform, rqs.cpu_of(pid), task);
        }
    }

    fn wakeup_preempt(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid, _: Pid, _: bool) {}

    fn prio_changed(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid, _: i32, _: i32) {}

    fn switched_from(&mut self, _: &Rqs, _: &Platform, _: Pid) {}

    fn switched_to(&mut self, _: &Rqs, _: &Platform, _: Pid) {}

    fn asks_check(&self, _: &Rqs, _: Pid) -> bool {
        false
    }

    fn charge(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let cpu = rqs.cpu_of(pid).0;
        self.act(platform, cpu, |act| act.charge(cpu));
    }

    fn exec_clock(&self, cpu: CpuId) -> u64 {
        self.scx.world.cpus[cpu.index()].exec_ns
    }

    fn emptiest_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId {
        let usable = |cpu: &CpuId| allowed.contains(*cpu) && rqs.is_online(*cpu);
        let load = |cpu: &CpuId| rqs.nr_running[cpu.index()] + self.scx.world.runnable_on(cpu.0);
        (0..rqs.cpus()).map(CpuId).filter(usable).min_by_key(load).unwrap_or(CpuId(0))
    }

    fn select_at_fork(
        &mut self,
        _: &mut Rqs,
        _: &mut Platform,
        allowed: &CpuSet,
        cpu: CpuId,
    ) -> CpuId {
        let cpus = self.scx.world.nr_cpus();
        if allowed.contains(cpu) { cpu } else { allowed.first(cpus).unwrap_or(cpu) }
    }

    fn select_at_exec(&mut self, rqs: &mut Rqs, _: &mut Platform, pid: Pid) -> CpuId {
        rqs.cpu_of(pid)
    }

    fn inherit(&mut self, _: Pid, _: Pid) {}

    fn woken_on(&mut self, _: u64, _: CpuId) {}

    fn select_at_wakeup(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
        waker: Waker,
    ) -> CpuId {
        let row = self.row(rqs, pid);
        CpuId(self.act(platform, waker.cpu().0, |act| act.place_woken(row, waker)))
    }

    fn set_task_cpu(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        _waking: bool,
    ) {
        if rqs.cpu_of(pid) != to {
            rqs.set_cpu(platform, pid, to);
        }
        self.came_to_cpu(pid, to);
    }

    fn came_to_cpu(&mut self, pid: Pid, to: CpuId) {
        let world = &mut self.scx.world;
        let row = pid.0 - world.nr_cpus();
        world.tasks[row as usize].cpu = to.0;
        world.set_task_u32(row, world.at.cpu, to.0);
    }

    fn detach_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid, to: CpuId) {
        let row = self.row(rqs, pid);
        self.act(platform, to.0, |act| act.move_task(row, to.0));
        rqs.thread_mut(pid).cpu = to;
    }

    fn add_nr_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32) {
        rqs.add_nr_running(cpu, count);
    }

    fn note_overload(&mut self, _: &Rqs, _: CpuId) {}

    fn cpu_idles(&mut self, _: &Rqs, _: CpuId) {}

    fn class_switch(&mut self, _: u64, _: CpuId, _: ClassId, _: ClassId) {}

    fn is_balance_due(&self, _: &Platform, _: CpuId) -> bool {
        false
    }

    fn periodic_balance(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId) {}

    fn active_load_balance(&mut self, _: &mut Rqs, _: &mut Platform, _: CpuId) {}

    fn domains_rebuilt(&mut self, _: &Rqs, _: &Platform) {}

    fn describe_domains(&self, _: &Rqs) -> String {
        String::new()
    }

    // The policy handles groups itself: the core is not asked about them.
    fn has_group(&self, group: GroupId) -> bool {
        group.index() < self.scx.world.groups.len()
    }

    fn group_new(&mut self, parent: GroupId, _: u64) -> GroupId {
        parent
    }

    fn group_set_shares(&mut self, _: &mut Rqs, _: &mut Platform, _: GroupId, _: u64) {}

    fn is_idle_group(&self, _: GroupId) -> bool {
        false
    }

    fn group_set_idle(&mut self, _: &mut Rqs, _: &mut Platform, _: GroupId, _: bool) {}

    fn group_set_quota(
        &mut self,
        _: &mut Rqs,
        _: &mut Platform,
        _: GroupId,
        _: &Quota,
    ) -> Result<(), Refused> {
        Err(Errno::NotSupported.because("the policy handles limits itself"))
    }

    fn group_stats(&self, _: GroupId) -> GroupStats {
        GroupStats::default()
    }

    fn move_group(&mut self, _: &Rqs, _: u64, _: Pid, _: GroupId, _: bool) {}

    fn bandwidth_timer(&mut self, _: &mut Rqs, _: &mut Platform, _: TimerKey) {}

    fn must_leave(&self, _: Pid) -> bool {
        false
    }

    fn throttle_task(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid) {}

    fn throttled_hierarchy(&self, _: Pid) -> bool {
        false
    }

    fn has_fair_server(&self) -> bool {
        true
    }

    fn tunables(&self) -> Vec<Tunable> {
        vec![]
    }

    fn set_tunable(&mut self, _: &str, _: i64) {}

    fn promises(&self, load: &Load) -> Promises {
        self.scx.promises(load)
    }

    fn rules(&self) -> [&'static [RuleDoc]; 2] {
        [crate::rules::RULES, &[]]
    }

    fn candidates(&self, _: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.scx.candidates(cpu, out);
    }

    fn audit(&self, _: &Rqs) -> Result<(), String> {
        self.scx.audit()
    }
}
