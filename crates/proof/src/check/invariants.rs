//! A scheduler that is checked at every event.

use super::{Rule, Violation, reasons};
use schedlab_core::{
    BlockReason, Clairvoyant, Command, ControlError, CpuId, CpuSet, Errno, Inspect, Load, Parent,
    Platform, Policy, Promises, Reply, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey, Waker,
};

/// Extent of the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Whether real-time tasks are throttled when they have used their share
    /// (`sched_rt_runtime_us`). If so, they can wait.
    pub real_time_throttled: bool,
    /// Number of hooks after which the scheduler's accounts are audited. `0`: never.
    pub audit_every: u64,
    /// Number of instants after which all tasks and CPUs are examined; at least 1.
    pub look_every: u64,
    /// Whether to check the scheduler's promises about waiting.
    pub waits: bool,
    /// Whether to check its promises about CPUs that idle while tasks wait. `false` where groups
    /// may be throttled.
    pub idling: bool,
    /// Whether CPUs reschedule in the instant of the request. `false` where that takes time: until
    /// then, a task that may no longer run on its CPU continues there.
    pub prompt: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            real_time_throttled: false,
            audit_every: 1,
            look_every: 1,
            waits: true,
            idling: true,
            prompt: true,
        }
    }
}

/// State of a task according to the scheduler's input.
#[derive(Clone, Debug, Default)]
struct ObservedTask {
    /// Whether the task was born.
    born: bool,
    /// Whether it may be picked.
    runnable: bool,
    /// The CPU of which it is the current task.
    on: Option<CpuId>,
    /// Its place in `waiting`.
    place: Option<u32>,
    /// Time since which it waits, ns.
    since_ns: u64,
    sched: SchedAttr,
    allowed: CpuSet,
}

impl ObservedTask {
    /// Returns the urgency: deadline tasks come first, then real-time tasks by priority, then all
    /// others.
    fn urgency(&self) -> u32 {
        match self.sched.policy {
            Policy::Deadline => 100,
            Policy::Fifo | Policy::RoundRobin => self.sched.rt_priority,
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => 0,
        }
    }
}

/// A scheduler that is checked at every event against the rules whose violation is visible between
/// the machine and the scheduler.
///
/// After the first [`Violation`] the scheduler is no longer called. All CPUs idle, so that a broken
/// scheduler does not crash the machine.
#[derive(Debug)]
pub struct Watched<S> {
    scheduler: S,
    limits: Limits,
    tasks: Vec<ObservedTask>,
    /// Current task of each CPU.
    current: Vec<Option<TaskId>>,
    /// Time since which each CPU idles, if it does.
    idle_since_ns: Vec<u64>,
    idle: usize,
    /// Runnable tasks without a CPU, in no order.
    waiting: Vec<TaskId>,
    /// The load for which promises were requested.
    load: Load,
    alive: u32,
    /// Whether a task of another class than the ordinary one exists or existed.
    urgent: bool,
    promises: Promises,
    now_ns: u64,
    instants: u64,
    hooks: u64,
    /// Number of calls of `schedule` within the current instant.
    calls: u64,
    violation: Option<Violation>,
}

/// Number of reschedules of a CPU within one nanosecond from which they count as endless.
const CALLS_MAX: u64 = 10_000;

impl<S: Scheduler> Watched<S> {
    /// Checks that the account of the last pick, among those after the first `seen`, names `next`.
    /// (Accounts exist only on request, and of schedulers that describe their rules.)
    fn check_reasons(
        &self,
        platform: &Platform,
        seen: usize,
        cpu: CpuId,
        next: Option<TaskId>,
    ) -> Option<Violation> {
        if !platform.is_asked() {
            return None;
        }
        let rules = self.scheduler.inspect().rules();
        if rules.is_empty() {
            return None;
        }
        reasons::check(&rules, &platform.accounts()[seen..], next)
            .err()
            .map(|what| Violation::new(Rule::Reasons, self.now_ns, what).on(cpu))
    }

    /// Checks `scheduler` on a machine of `cpus` CPUs.
    pub fn new(scheduler: S, cpus: u32, limits: Limits) -> Watched<S> {
        assert!(limits.look_every > 0);
        let load = Load { tasks: 0, cpus, nice_max: 0, nice_min: 0 };
        Watched {
            promises: scheduler.inspect().promises(&load),
            scheduler,
            limits,
            tasks: Vec::new(),
            current: vec![None; cpus as usize],
            idle_since_ns: vec![0; cpus as usize],
            idle: cpus as usize,
            waiting: Vec::new(),
            load,
            alive: 0,
            urgent: false,
            now_ns: 0,
            instants: 0,
            hooks: 0,
            calls: 0,
            violation: None,
        }
    }

    /// Returns the first rule that was broken.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Returns the scheduler.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// Checks the state up to `now_ns`, when the run ended. Returns the first violation of the
    /// whole run.
    pub fn finish(&mut self, now_ns: u64) -> Option<&Violation> {
        self.advance(now_ns);
        if self.violation.is_none() {
            self.audit();
        }
        self.violation()
    }

    /// Whether a task that is bound to some CPUs waits for one, and the scheduler does not promise
    /// that an idle CPU takes it. Such a task may wait forever.
    pub fn a_task_may_wait_forever(&self) -> bool {
        let promises = self.scheduler.inspect().promises(&self.load);
        promises.idle_beside_waiting_ns.is_none()
            && self
                .tasks
                .iter()
                .any(|seen| seen.runnable && seen.on.is_none() && seen.allowed != CpuSet::All)
    }

    fn violated(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }

    /// Whether the scheduler is still called.
    #[inline]
    fn sound(&self) -> bool {
        self.violation.is_none()
    }

    /// Checks, before each hook and if time has passed, the state that the last instant left.
    #[inline]
    fn advance(&mut self, now_ns: u64) {
        if now_ns == self.now_ns {
            return;
        }
        self.instants += 1;
        if self.sound() && self.instants.is_multiple_of(self.limits.look_every) {
            self.look(now_ns);
        }
        self.now_ns = now_ns;
        self.calls = 0;
    }

    /// Called after each hook.
    #[inline]
    fn settle(&mut self, platform: &Platform) {
        self.hooks += 1;
        for moved in &platform.migrations {
            let now_at = self.scheduler.cpu_of(moved.task);
            let last = platform.migrations.iter().rfind(|other| other.task == moved.task);
            if last.is_some_and(|last| last.to != now_at) {
                let what = format!(
                    "it was moved to CPU {}, but is reported on CPU {}",
                    moved.to.0, now_at.0
                );
                self.violated(Violation::new(Rule::Home, self.now_ns, what).of(moved.task));
            }
        }
        if self.limits.audit_every > 0 && self.hooks.is_multiple_of(self.limits.audit_every) {
            self.audit();
        }
    }

    fn audit(&mut self) {
        if let Err(what) = self.scheduler.inspect().audit() {
            self.violated(Violation::new(Rule::Audit, self.now_ns, what));
        }
    }

    /// Checks all tasks and CPUs as the last instant left them. The time is now `now_ns`.
    fn look(&mut self, now_ns: u64) {
        let found = self
            .look_at_running()
            .or_else(|| self.look_at_real_time())
            .or_else(|| self.look_at_waits(now_ns))
            .or_else(|| self.look_at_idle(now_ns));
        if let Some(violation) = found {
            self.violated(violation);
        }
    }

    fn look_at_running(&self) -> Option<Violation> {
        for (cpu, current) in self.current.iter().enumerate() {
            let cpu = CpuId(cpu as u32);
            let Some(task) = *current else { continue };
            let seen = &self.tasks[task.index()];
            if !seen.runnable {
                let what = "it keeps the CPU although it is not runnable".into();
                return Some(
                    Violation::new(Rule::RunnableOnly, self.now_ns, what).on(cpu).of(task),
                );
            }
            if self.limits.prompt && !seen.allowed.contains(cpu) {
                let what = "it runs here, but no longer may".into();
                return Some(Violation::new(Rule::Affinity, self.now_ns, what).on(cpu).of(task));
            }
        }
        None
    }

    fn look_at_real_time(&self) -> Option<Violation> {
        if !self.urgent || !self.promises.real_time_first || self.limits.real_time_throttled {
            return None;
        }
        self.waiting.iter().find_map(|&task| {
            let seen = &self.tasks[task.index()];
            if !seen.sched.policy.is_realtime() {
                return None;
            }
            let cpu = self.scheduler.cpu_of(task);
            let running = self.current[cpu.index()]?;
            let other = &self.tasks[running.index()];
            (seen.allowed.contains(cpu) && other.urgency() < seen.urgency()).then(|| {
                let what = format!(
                    "it waits at real-time priority {} while task {} runs at {}",
                    seen.urgency(),
                    running.0,
                    other.urgency()
                );
                Violation::new(Rule::RealTime, self.now_ns, what).on(cpu).of(task)
            })
        })
    }

    fn look_at_waits(&self, now_ns: u64) -> Option<Violation> {
        if self.urgent || !self.limits.waits {
            return None;
        }
        let bound_ns = self.promises.wait_ns?;
        self.waiting.iter().find_map(|&task| {
            let seen = &self.tasks[task.index()];
            let ordinary = matches!(seen.sched.policy, Policy::Other | Policy::Batch);
            let waited_ns = now_ns - seen.since_ns;
            (ordinary && waited_ns > bound_ns).then(|| {
                let what = format!(
                    "it has waited for {waited_ns} ns; the promised maximum is {bound_ns} ns"
                );
                Violation::new(Rule::Wait, now_ns, what).of(task)
            })
        })
    }

    fn look_at_idle(&self, now_ns: u64) -> Option<Violation> {
        if self.idle == 0 || self.waiting.is_empty() {
            return None;
        }
        let bound_ns = self.promises.idle_beside_waiting_ns.filter(|_| self.limits.idling)?;
        for (cpu, current) in self.current.iter().enumerate() {
            let cpu = CpuId(cpu as u32);
            let idle_since_ns = self.idle_since_ns[cpu.index()];
            if current.is_some() || now_ns - idle_since_ns <= bound_ns {
                continue;
            }
            for &task in &self.waiting {
                let seen = &self.tasks[task.index()];
                let together_ns = now_ns - idle_since_ns.max(seen.since_ns);
                // Tasks of these policies may have used their share.
                let may_be_throttled = seen.sched.policy == Policy::Deadline
                    || seen.sched.policy.is_realtime() && self.limits.real_time_throttled;
                if together_ns > bound_ns && seen.allowed.contains(cpu) && !may_be_throttled {
                    let what = format!(
                        "the CPU has idled for {together_ns} ns while the task waited on CPU {}; \
                         the promised maximum is {bound_ns} ns",
                        self.scheduler.cpu_of(task).0
                    );
                    return Some(Violation::new(Rule::Idle, now_ns, what).on(cpu).of(task));
                }
            }
        }
        None
    }

    fn begin_waiting(&mut self, task: TaskId) {
        let seen = &mut self.tasks[task.index()];
        debug_assert!(seen.place.is_none());
        seen.place = Some(self.waiting.len() as u32);
        seen.since_ns = self.now_ns;
        self.waiting.push(task);
    }

    fn end_waiting(&mut self, task: TaskId) {
        let Some(place) = self.tasks[task.index()].place.take() else {
            return;
        };
        self.waiting.swap_remove(place as usize);
        if let Some(&moved) = self.waiting.get(place as usize) {
            self.tasks[moved.index()].place = Some(place);
        }
    }

    /// Restarts the waiting time: the affinity changed, so that promises about the past no longer
    /// apply.
    fn restart_waiting(&mut self, task: TaskId) {
        let now_ns = self.now_ns;
        self.tasks[task.index()].since_ns = now_ns;
    }

    fn note_attr(&mut self, attr: &SchedAttr) {
        self.urgent |=
            attr.policy.is_realtime() || matches!(attr.policy, Policy::Deadline | Policy::Iso);
        self.load.nice_max = self.load.nice_max.max(attr.nice);
        self.load.nice_min = self.load.nice_min.min(attr.nice);
        self.load.tasks = self.load.tasks.max(self.alive);
        self.promises = self.scheduler.inspect().promises(&self.load);
    }

    /// Checks the pick of `cpu` before the state is updated.
    fn check_pick(&self, cpu: CpuId, task: TaskId) -> Option<Violation> {
        let violation =
            |rule, what: String| Some(Violation::new(rule, self.now_ns, what).on(cpu).of(task));
        let Some(seen) = self.tasks.get(task.index()).filter(|seen| seen.born) else {
            return violation(Rule::RunnableOnly, "picked, but it was never born".into());
        };
        if !seen.runnable {
            return violation(Rule::RunnableOnly, "picked, but it is not runnable".into());
        }
        if let Some(other) = seen.on.filter(|&other| other != cpu) {
            return violation(Rule::OneCpu, format!("picked, but it runs on CPU {}", other.0));
        }
        if !seen.allowed.contains(cpu) {
            return violation(Rule::Affinity, "picked, but it may not run here".into());
        }
        let home = self.scheduler.cpu_of(task);
        if home != cpu {
            return violation(Rule::Home, format!("picked, but it is reported on CPU {}", home.0));
        }
        None
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Scheduler> Scheduler for Watched<S> {
    fn fork(&mut self, platform: &mut Platform, task: TaskId, attr: &TaskAttr, parent: Parent) {
        self.advance(platform.now_ns());
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, ObservedTask::default);
        }
        self.tasks[task.index()] = ObservedTask {
            born: true,
            runnable: true,
            sched: attr.sched,
            allowed: attr.allowed.clone(),
            ..ObservedTask::default()
        };
        self.begin_waiting(task);
        self.alive += 1;
        self.note_attr(&attr.sched);
        if self.sound() {
            self.scheduler.fork(platform, task, attr, parent);
            self.settle(platform);
        }
    }

    fn wake(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        self.advance(platform.now_ns());
        self.tasks[task.index()].runnable = true;
        if self.tasks[task.index()].on.is_none() {
            self.begin_waiting(task);
        }
        if self.sound() {
            self.scheduler.wake(platform, task, waker);
            self.settle(platform);
        }
    }

    fn block(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId, reason: BlockReason) {
        self.advance(platform.now_ns());
        self.tasks[task.index()].runnable = false;
        if reason == BlockReason::Dead {
            self.alive -= 1;
        }
        if self.sound() {
            self.scheduler.block(platform, cpu, task, reason);
            self.settle(platform);
        }
    }

    fn tick(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.tick(platform, cpu);
            self.settle(platform);
        }
    }

    fn softirq(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.softirq(platform, cpu);
            self.settle(platform);
        }
    }

    fn schedule(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<TaskId> {
        self.advance(platform.now_ns());
        self.calls += 1;
        if self.calls > CALLS_MAX * u64::from(self.load.cpus) {
            let what = format!("{} reschedules in one nanosecond", self.calls);
            self.violated(Violation::new(Rule::Endless, self.now_ns, what).on(cpu));
        }
        let mut next = None;
        if self.sound() {
            let seen = platform.accounts().len();
            next = self.scheduler.schedule(platform, cpu);
            let broken = next
                .and_then(|task| self.check_pick(cpu, task))
                .or_else(|| self.check_reasons(platform, seen, cpu, next));
            if let Some(violation) = broken {
                self.violated(violation);
                next = None;
            }
        }
        let prev = self.current[cpu.index()];
        if prev != next {
            if let Some(prev) = prev {
                self.tasks[prev.index()].on = None;
                if self.tasks[prev.index()].runnable {
                    self.begin_waiting(prev);
                }
            } else {
                self.idle -= 1;
            }
            if let Some(next) = next {
                self.tasks[next.index()].on = Some(cpu);
                self.end_waiting(next);
            } else {
                self.idle += 1;
                self.idle_since_ns[cpu.index()] = self.now_ns;
            }
            self.current[cpu.index()] = next;
        }
        if self.sound() {
            self.settle(platform);
        }
        next
    }

    fn yield_now(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.yield_now(platform, cpu, task);
            self.settle(platform);
        }
    }

    fn set_attr(&mut self, platform: &mut Platform, task: TaskId, attr: &SchedAttr, by: CpuId) {
        self.advance(platform.now_ns());
        self.tasks[task.index()].sched = *attr;
        self.note_attr(attr);
        if self.sound() {
            self.scheduler.set_attr(platform, task, attr, by);
            self.settle(platform);
        }
    }

    fn set_same_attr(&mut self, platform: &mut Platform, task: TaskId, by: CpuId) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.set_same_attr(platform, task, by);
            self.settle(platform);
        }
    }

    fn exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.exec(platform, cpu, task);
            self.settle(platform);
        }
    }

    fn may_fork(&self, task: TaskId) -> Result<(), Errno> {
        self.scheduler.may_fork(task)
    }

    fn set_affinity(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        self.advance(platform.now_ns());
        let before = core::mem::replace(&mut self.tasks[task.index()].allowed, allowed.clone());
        self.restart_waiting(task);
        if self.sound() {
            self.scheduler.set_affinity(platform, task, allowed);
            if platform.refusals.iter().any(|&(refused, _)| refused == task) {
                // A deadline task keeps its affinity (EBUSY).
                self.tasks[task.index()].allowed = before;
            }
            self.settle(platform);
        }
    }

    fn control(
        &mut self,
        platform: &mut Platform,
        command: Command<'_>,
    ) -> Result<Reply, ControlError> {
        if !self.sound() {
            return Ok(Reply::Done);
        }
        self.advance(platform.now_ns());
        let result = self.scheduler.control(platform, command);
        if let Command::SetTunable { .. } = command {
            self.promises = self.scheduler.inspect().promises(&self.load);
        }
        self.settle(platform);
        result
    }

    fn kill(&mut self, platform: &mut Platform, task: TaskId) {
        self.advance(platform.now_ns());
        self.alive -= 1;
        self.tasks[task.index()].runnable = false;
        self.end_waiting(task);
        if self.sound() {
            self.scheduler.kill(platform, task);
            self.settle(platform);
        }
    }

    fn reap(&mut self, platform: &mut Platform, task: TaskId, parent: Option<TaskId>) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.reap(platform, task, parent);
            self.settle(platform);
        }
    }

    fn timer(&mut self, platform: &mut Platform, key: TimerKey) {
        self.advance(platform.now_ns());
        if self.sound() {
            self.scheduler.timer(platform, key);
            self.settle(platform);
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        if self.sound() { self.scheduler.cpu_of(task) } else { CpuId(0) }
    }

    fn inspect(&self) -> &dyn Inspect {
        self.scheduler.inspect()
    }

    fn as_clairvoyant(&mut self) -> Option<&mut dyn Clairvoyant> {
        if self.sound() { self.scheduler.as_clairvoyant() } else { None }
    }
}
