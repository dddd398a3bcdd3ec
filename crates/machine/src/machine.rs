//! The event loop: take the earliest event, let the scheduler decide, advance.
//!
//! # What happens within one nanosecond
//!
//! 1. Work that ends, by CPU. The task takes its next operations (wakes others, sleeps, exits ...);
//!    if it stops being runnable it stays its CPU's current task until step 5.
//! 2. Timers of the scheduler that are due before wakeups, then tasks that start or whose sleep is
//!    over, in the order in which they are written.
//! 3. Timers of the scheduler that are due before ticks.
//! 4. Ticks, by CPU, each with the balancing that it raises.
//! 5. Reschedules: the CPUs that were asked to, in rising order, round after round until none asks.
//! 6. If a task that was just given a CPU has nothing to do on it but take its next operation, all
//!    again, without a second tick.
//!
//! Between two calls of [`run_to`](Machine::run_to) somebody may [`act`](Machine::act) on the
//! machine: what he does happens at the present nanosecond, before all of this.

mod act;
mod costs;
mod groups;
mod hotplug;
mod signals;

pub use act::{Action, ActionError};
pub use groups::MachineGroup;

use crate::order::{Order, SplitMix64};
use crate::queue::{IndexedHeap, NEVER, SlotQueue};
use crate::ticks::Ticks;
use crate::workload::{Op, Workload};
use costs::{Modelled, Sleep, Work};
use groups::Groups;
use schedlab_core::platform::{Migration, TimerOrder};
use schedlab_core::{
    Account, BlockReason, CpuId, CpuSet, Errno, Event, GroupId, Observer, Parent, Platform, Policy,
    Question, Request, Rule, SchedAttr, Scheduler, TaskAttr, TaskId, TimerKey, TimerPhase, Waker,
};
use signals::{Restart, Signals};
use std::collections::VecDeque;

/// The machine to build.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of CPUs, 1 to 4096.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// For each CPU how much after the full 1/HZ seconds it ticks, ns. Empty: all together.
    pub tick_offsets_ns: Vec<u64>,
    /// When the first tick falls, ns, below 1/HZ; 0: after the first full 1/HZ seconds. With
    /// `tick_offsets_ns` these come on top.
    pub tick_phase_ns: u64,
    /// Whether a tick's softirq (balancing) runs when the other CPUs have rescheduled, as where it
    /// takes its time, and not within the tick, as in the golden schedules.
    pub late_softirqs: bool,
    /// The order of simultaneous events.
    pub order: Order,
    /// Whether the dead are reaped at once, by their parents or by init. If not they stay zombies,
    /// as in the golden schedules.
    pub reap: bool,
    /// Whether a sleep is ended by an interrupt (as it is), or in process context, as some golden
    /// schedules have it.
    pub wake_from_interrupt: bool,
}

impl Config {
    /// The idealised machine of the golden schedules.
    pub fn idealised(cpus: u32, hz: u32) -> Config {
        Config {
            cpus,
            hz,
            tick_offsets_ns: Vec::new(),
            tick_phase_ns: 0,
            late_softirqs: false,
            order: Order::Golden,
            reap: true,
            wake_from_interrupt: true,
        }
    }
}

/// The state of a task, as the kernel has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// Not yet born.
    New,
    /// Runnable or running.
    Running,
    /// Asleep.
    Interruptible,
    /// Asleep, waiting for a device or the like.
    Uninterruptible,
    /// Stopped by job control.
    Stopped,
    /// Frozen by the freezer of its control group.
    Frozen,
    /// Dead, and its parent has not yet taken note.
    Zombie,
    /// Dead and gone.
    Reaped,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// The time was up.
    TimeUp,
    /// Every task has ended.
    AllEnded,
    /// Tasks are left, but none can ever run again: all sleep and nobody is left to wake them.
    Stuck,
}

/// What was simulated, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Context switches, those to and from idle included.
    pub switches: u64,
    /// Tasks that became runnable, starts included.
    pub wakeups: u64,
    /// Ticks, of each CPU.
    pub ticks: u64,
}

impl Counts {
    /// All of them: the number of events by which speed is measured.
    pub fn events(&self) -> u64 {
        self.switches + self.wakeups + self.ticks
    }
}

/// What the machine looks at whenever a task comes and goes: little, so that it stays in the cache.
#[derive(Clone, Debug)]
struct Task {
    /// CPU time left of the present piece of work; while the task has a CPU, as of when it got it.
    /// Of work that lasts until the clock shows a time: that time.
    remaining_ns: u64,
    /// The present piece of work lasts until the clock shows a time.
    by_clock: bool,
    state: TaskState,
    /// What it is to handle_signals to before it runs user code again.
    signals: Signals,
    /// What it will be born with. Taken at its birth.
    unborn: Option<Box<TaskAttr>>,
    /// The sleep that a signal interrupted, while [`Signals::RESTART`] is set.
    restart: Restart,
}

/// What else it keeps of a task.
#[derive(Clone, Debug)]
struct Settings {
    /// Its attributes, so that a call that changes nothing is not a change.
    attr: SchedAttr,
    /// The task that forked it.
    parent: Option<TaskId>,
    /// Where it may run by its owner's will, whether those CPUs are on line or not.
    allowed: CpuSet,
    /// The affinity that the scheduler was last given.
    reported: CpuSet,
    group: GroupId,
}

/// What becomes of an order about a task.
enum Lifecycle<'a> {
    /// It changes what the task will be born with.
    Unborn(&'a mut TaskAttr),
    /// It goes to the scheduler.
    Alive,
    /// Nothing.
    Dead,
}

/// A machine with a scheduler, a workload and an observer in it.
#[derive(Debug)]
pub struct Machine<S, W, O> {
    platform: Platform,
    scheduler: S,
    /// Whether the scheduler must be given the lengths of coming bursts.
    clairvoyant: bool,
    workload: W,
    observer: O,
    tasks: Vec<Task>,
    /// The same rows.
    settings: Vec<Settings>,
    /// The task each CPU runs; none = idle.
    current: Vec<Option<TaskId>>,
    /// When each CPU's current task has done its work.
    completions: SlotQueue,
    /// When tasks start, or their sleeps end.
    sleepers: IndexedHeap,
    /// The scheduler's own timers, those that are due before wakeups and those before ticks.
    timers: [IndexedHeap; 2],
    /// Timers that were already due when armed.
    overdue: VecDeque<TimerKey>,
    ticks: Ticks,
    order: Order,
    due: Vec<Due>,
    late_softirqs: bool,
    reap: bool,
    wake_from_interrupt: bool,
    counts: Counts,
    /// Tasks that have not ended, unborn ones included.
    alive: usize,
    /// Tasks in [`TaskState::Running`].
    runnable: usize,
    /// Tasks that are stopped or frozen.
    held: usize,
    /// Somebody may yet let them go on.
    releases_expected: bool,
    /// The CPUs of groups, and which are frozen.
    groups: Groups,
    /// The CPUs on line: those that tasks may use now.
    online: CpuSet,
    /// The CPU that is just going off line: no longer in `online`, but not gone before it has
    /// rescheduled.
    leaving: Option<CpuId>,
    /// What the scheduler is being asked, should it refuse.
    request: Request,
    /// Somebody acts on the machine from outside.
    from_outside: bool,
    /// Whether [`Event::Named`] is wanted.
    names_asked: bool,
    /// What operations cost; none on an idealised machine.
    costs: Option<Box<Modelled>>,
    now_ns: u64,
}

/// An event that is due, for shuffling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Completion(CpuId),
    Sleeper(TaskId),
    Timer(TimerPhase, TimerKey),
    Tick(CpuId),
}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// An idle machine at time 0. The workload's tasks come into being when it runs.
    pub fn new(config: Config, mut scheduler: S, mut workload: W, observer: O) -> Machine<S, W, O> {
        let cpus = config.cpus as usize;
        let initial = workload.initial_tasks();
        let mut sleepers = IndexedHeap::new();
        sleepers.reserve(initial.len());
        let mut tasks = Vec::with_capacity(initial.len());
        let mut settings = Vec::with_capacity(initial.len());
        for (number, new) in initial.into_iter().enumerate() {
            sleepers.set(number as u32, new.start_ns);
            settings.push(Settings::of(&new.attr, None));
            tasks.push(Task::unborn(new.attr));
        }
        let ticks = if config.tick_offsets_ns.is_empty() {
            Ticks::together(config.cpus, config.hz)
        } else {
            Ticks::with_offsets(config.tick_offsets_ns, config.hz)
        };
        let ticks = ticks.in_phase(config.tick_phase_ns);
        let mut platform = Platform::new(config.cpus, config.hz);
        if config.late_softirqs {
            platform.put_off_softirqs();
        }
        Machine {
            platform,
            clairvoyant: scheduler.as_clairvoyant().is_some(),
            scheduler,
            workload,
            observer,
            alive: tasks.len(),
            tasks,
            settings,
            current: vec![None; cpus],
            completions: SlotQueue::new(cpus),
            sleepers,
            timers: [IndexedHeap::new(), IndexedHeap::new()],
            overdue: VecDeque::new(),
            ticks,
            order: config.order,
            due: Vec::new(),
            late_softirqs: config.late_softirqs,
            reap: config.reap,
            wake_from_interrupt: config.wake_from_interrupt,
            counts: Counts::default(),
            runnable: 0,
            held: 0,
            releases_expected: true,
            groups: Groups::default(),
            online: CpuSet::All,
            leaving: None,
            request: Request::Policy(Policy::Other),
            from_outside: false,
            names_asked: false,
            costs: None,
            now_ns: 0,
        }
    }

    /// Ticks fall when another machine had them: `times`, ns, and whose. To be called before it
    /// runs.
    pub fn tick_as_recorded(&mut self, times: Vec<(u64, CpuId)>) {
        self.ticks = Ticks::recorded(times, self.platform.hz());
    }

    /// Lets an administrator act on the scheduler: set tunables, make groups.
    pub fn administer<R>(&mut self, act: impl FnOnce(&mut S, &mut Platform) -> R) -> R {
        self.platform.set_now_ns(self.now_ns);
        let result = act(&mut self.scheduler, &mut self.platform);
        self.apply_requests();
        result
    }

    /// Runs until just before `until_ns`: what falls on it does not happen.
    ///
    /// # Errors
    /// If the workload cannot go on.
    pub fn run(&mut self, until_ns: u64) -> Result<RunEnd, W::Error> {
        let end = self.run_to(until_ns)?;
        self.observer.on(self.now_ns, Event::Finished);
        Ok(end)
    }

    /// Decisions from now on come with the grounds they rest on ([`Event::Decided`]), or no longer.
    /// The run is the same.
    pub fn ask_reasons(&mut self, asked: bool) {
        self.platform.ask(asked);
    }

    /// Tasks that come into being from now on come with their names ([`Event::Named`]), or no
    /// longer. The run is the same.
    pub fn ask_names(&mut self, asked: bool) {
        self.names_asked = asked;
    }

    /// As [`run`](Machine::run), but the run may be gone on with: the observer gets no
    /// [`Event::Finished`] when it is over.
    ///
    /// # Errors
    /// If the workload cannot go on.
    pub fn run_to(&mut self, until_ns: u64) -> Result<RunEnd, W::Error> {
        // What somebody did at the present instant has its consequences in it, even if nothing else
        // falls on it.
        if self.now_ns < until_ns
            && (self.platform.next_resched(0).is_some() || !self.is_over(self.now_ns))
        {
            self.run_instant()?;
        }
        loop {
            if self.alive == 0 {
                return Ok(RunEnd::AllEnded);
            }
            // Those who are stopped or frozen may be let go on.
            if self.runnable == 0
                && self.sleepers.is_empty()
                && !(self.held > 0 && self.releases_expected)
            {
                return Ok(RunEnd::Stuck);
            }
            let next_ns = self
                .completions
                .earliest()
                .min(self.sleepers.earliest())
                .min(self.timers[0].earliest())
                .min(self.timers[1].earliest())
                .min(self.ticks.next_ns())
                .min(self.next_put_off_ns());
            if next_ns >= until_ns {
                self.now_ns = until_ns;
                return Ok(RunEnd::TimeUp);
            }
            self.now_ns = next_ns;
            self.run_instant()?;
        }
    }

    /// Whom `cpu` would pick if it rescheduled at `at_ns`, and on what grounds; nothing that falls
    /// on a later time may have happened. The scheduler has done it then, and nobody else knows:
    /// the run cannot be gone on with.
    pub fn would_pick(&mut self, cpu: CpuId, at_ns: u64) -> (Option<TaskId>, Vec<Account>) {
        if self.is_gone(cpu) {
            return (None, Vec::new());
        }
        self.platform.set_now_ns(at_ns);
        self.platform.ask(true);
        let done_ns = self.completions.get(cpu.index());
        if let Some(task) = self.current[cpu.index()]
            && done_ns != NEVER
        {
            self.interrupt_work(task, done_ns - at_ns);
        }
        self.platform.clear_resched(cpu);
        self.platform.forget_rules();
        let next = self.scheduler.schedule(&mut self.platform, cpu);
        (next, self.platform.take_accounts())
    }

    /// Everything that happens at the present nanosecond.
    #[inline]
    fn run_instant(&mut self) -> Result<(), W::Error> {
        self.platform.set_now_ns(self.now_ns);
        self.take_due_reschedules();
        match &mut self.order {
            Order::Golden => self.instant(),
            Order::Shuffled(random) => {
                let mut random = random.clone();
                self.shuffled_instant(&mut random)?;
                self.order = Order::Shuffled(random);
                Ok(())
            }
        }
    }

    /// Everything that happens at the present nanosecond, in the golden order.
    fn instant(&mut self) -> Result<(), W::Error> {
        let now_ns = self.now_ns;
        loop {
            while self.completions.earliest() == now_ns {
                let cpu = CpuId(self.completions.earliest_slot() as u32);
                self.work_ended(cpu)?;
            }
            self.fire_timers(TimerPhase::BeforeWakeups);
            while self.sleepers.earliest() == now_ns {
                let (_, task) = self.sleepers.pop().expect("there is an earliest");
                self.start_or_wake(TaskId(task));
            }
            self.fire_timers(TimerPhase::BeforeTicks);
            while self.ticks.next_ns() == now_ns {
                self.tick();
            }
            while let Some(key) = self.overdue.pop_front() {
                self.scheduler.timer(&mut self.platform, key);
                self.apply_requests();
            }
            self.softirqs();
            self.reschedules();
            if self.is_over(now_ns) {
                return Ok(());
            }
        }
    }

    /// The CPUs that were asked to reschedule do so, in rising order, round after round until none
    /// asks.
    #[inline]
    fn reschedules(&mut self) {
        if self.costs.is_some() {
            return self.reschedules_when_free();
        }
        let mut from = 0;
        loop {
            match self.platform.next_resched(from) {
                Some(cpu) => {
                    self.reschedule(cpu);
                    from = cpu.0 + 1;
                }
                None if from == 0 => break,
                None => from = 0,
            }
        }
    }

    /// The softirqs that ticks have raised: each when the CPUs that have none have rescheduled, and
    /// before its own CPU does.
    #[inline]
    fn softirqs(&mut self) {
        if self.late_softirqs {
            self.late_softirqs();
        }
    }

    #[cold]
    fn late_softirqs(&mut self) {
        let mut from = 0;
        while let Some(cpu) = self.platform.next_resched(from) {
            if self.costs.is_none() && !self.platform.softirq_pending(cpu) {
                self.reschedule(cpu);
            }
            from = cpu.0 + 1;
        }
        while let Some(cpu) = self.platform.take_softirq() {
            self.scheduler.softirq(&mut self.platform, cpu);
            self.apply_requests();
        }
    }

    /// Whether nothing more falls on `now_ns`.
    #[inline]
    fn is_over(&self, now_ns: u64) -> bool {
        self.completions.earliest() != now_ns
            && self.sleepers.earliest() != now_ns
            && self.timers[0].earliest() != now_ns
            && self.timers[1].earliest() != now_ns
            && self.overdue.is_empty()
    }

    /// Everything that happens at the present nanosecond, what is due at the same time in random
    /// order.
    fn shuffled_instant(&mut self, random: &mut SplitMix64) -> Result<(), W::Error> {
        let now_ns = self.now_ns;
        let mut due = std::mem::take(&mut self.due);
        loop {
            due.clear();
            while self.completions.earliest() == now_ns {
                let slot = self.completions.earliest_slot();
                self.completions.set(slot, NEVER);
                due.push(Due::Completion(CpuId(slot as u32)));
            }
            while self.sleepers.earliest() == now_ns {
                let (_, task) = self.sleepers.pop().expect("there is an earliest");
                due.push(Due::Sleeper(TaskId(task)));
            }
            for phase in [TimerPhase::BeforeWakeups, TimerPhase::BeforeTicks] {
                while self.timers[phase as usize].earliest() == now_ns {
                    let (_, key) = self.timers[phase as usize].pop().expect("there is an earliest");
                    due.push(Due::Timer(phase, TimerKey(key)));
                }
            }
            due.extend(
                self.overdue.drain(..).rev().map(|key| Due::Timer(TimerPhase::BeforeTicks, key)),
            );
            while self.ticks.next_ns() == now_ns {
                self.platform.set_jiffies(self.ticks.number());
                due.push(Due::Tick(self.ticks.take()));
            }
            random.shuffle(&mut due);
            for &event in &due {
                match event {
                    // Who was killed or frozen in this instant, before its turn, ends no work.
                    Due::Completion(cpu) if !self.runs_a_task(cpu) => {}
                    Due::Completion(cpu) => self.work_ended(cpu)?,
                    Due::Sleeper(task) => self.start_or_wake(task),
                    Due::Tick(cpu) => self.tick_of(cpu),
                    Due::Timer(_, key) => {
                        self.scheduler.timer(&mut self.platform, key);
                        self.apply_requests();
                    }
                }
            }
            self.softirqs();
            let cpus = u64::from(self.platform.cpus());
            if self.costs.is_some() {
                self.reschedules_when_free();
            }
            while self.costs.is_none() && self.platform.next_resched(0).is_some() {
                let from = random.below(cpus) as u32;
                let cpu =
                    self.platform.next_resched(from).or_else(|| self.platform.next_resched(0));
                self.reschedule(cpu.expect("one asks"));
            }
            if self.is_over(now_ns) {
                self.due = due;
                return Ok(());
            }
        }
    }

    /// Whether the task that has `cpu` still wants to run.
    fn runs_a_task(&self, cpu: CpuId) -> bool {
        let task = self.current[cpu.index()];
        task.is_some_and(|task| self.tasks[task.index()].state == TaskState::Running)
    }

    fn fire_timers(&mut self, phase: TimerPhase) {
        while self.timers[phase as usize].earliest() == self.now_ns {
            let (_, key) = self.timers[phase as usize].pop().expect("there is an earliest");
            self.scheduler.timer(&mut self.platform, TimerKey(key));
            self.apply_requests();
        }
    }

    #[inline]
    fn tick(&mut self) {
        self.platform.set_jiffies(self.ticks.number());
        let cpu = self.ticks.take();
        self.tick_of(cpu);
    }

    #[inline]
    fn tick_of(&mut self, cpu: CpuId) {
        if self.is_gone(cpu) {
            return;
        }
        self.counts.ticks += 1;
        self.enter_kernel(cpu);
        self.scheduler.tick(&mut self.platform, cpu);
        self.charge_tick(cpu);
        self.apply_requests();
        self.observer.on(self.now_ns, Event::Ticked { cpu });
    }

    /// A task's time has come: it is born, or its sleep is over.
    #[inline]
    fn start_or_wake(&mut self, task: TaskId) {
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
            let cpu = self.cpu_near(task);
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
            // What is left of the work it was interrupted in, and what follows.
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
            // Where its owner wants it its group may not be.
            self.refused(task, Request::Affinity, Errno::Invalid);
        }
    }

    #[inline]
    fn wake(&mut self, task: TaskId, waker: Waker) {
        let state = self.tasks[task.index()].state;
        if matches!(state, TaskState::Interruptible | TaskState::Uninterruptible) {
            self.make_runnable(task, waker);
        } else if self.costs.is_some() {
            // It does not sleep yet, and now need not.
            let _ = self.take_sleep(task);
        }
    }

    #[inline]
    fn make_runnable(&mut self, task: TaskId, waker: Waker) {
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

    /// The CPU whose runqueue `task` belongs to, as the scheduler says.
    #[inline]
    fn queue_of(&self, task: TaskId) -> CpuId {
        let cpu = self.scheduler.cpu_of(task);
        if cpu.index() >= self.current.len() {
            no_such_cpu(cpu, self.current.len());
        }
        cpu
    }

    /// The rules by which the scheduler has just chosen a CPU for a task, and preempted there or
    /// not.
    #[inline]
    fn placement_rules(&self) -> (Rule, Rule) {
        (self.platform.rule(Question::SelectCpu), self.platform.rule(Question::Preempt))
    }

    /// The current task of `cpu` has done its work: it takes its next operations until one of them
    /// takes time.
    fn work_ended(&mut self, cpu: CpuId) -> Result<(), W::Error> {
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
                    // One that is woken before its time sleeps no longer.
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
                        // The next operation is for when it has a CPU again.
                        return Ok(());
                    }
                }
                Op::Yield => {
                    self.enter_kernel(cpu);
                    self.scheduler.yield_now(&mut self.platform, cpu, task);
                    self.charge(cpu, Work::Yield, cpu);
                    self.apply_requests();
                    if self.platform.resched_pending(cpu) {
                        // The next operation is for when it has the CPU again.
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
                    let _ = self.set_affinity(target, &allowed);
                    if target == task
                        && !allowed.contains(cpu)
                        && self.platform.resched_pending(cpu)
                    {
                        // The next operation is for when it is where it may be.
                        return Ok(());
                    }
                }
                Op::SetGroup { task: target, group } => {
                    if let Err(error) = self.set_group(target, group) {
                        // It stays where it is.
                        self.group_refused(target, &error);
                    }
                    if !self.tasks[task.index()].signals.is_empty() {
                        // It has gone to a group that is frozen.
                        return Ok(());
                    }
                    let left = !self.settings[task.index()].reported.contains(cpu);
                    if target == task && left && self.platform.resched_pending(cpu) {
                        // The next operation is for when it is where it may be.
                        return Ok(());
                    }
                }
            }
        }
    }

    #[inline]
    fn block(&mut self, cpu: CpuId, task: TaskId, reason: BlockReason) {
        self.runnable -= 1;
        self.enter_kernel(cpu);
        self.scheduler.block(&mut self.platform, cpu, task, reason);
        self.charge(cpu, Work::Block, cpu);
        self.observer.on(self.now_ns, Event::Blocked { task, cpu, reason });
        self.apply_requests();
        self.platform.resched(cpu);
        self.tasks[task.index()].state = match reason {
            BlockReason::Interruptible => TaskState::Interruptible,
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

    /// `task` has ended off its CPU.
    fn end_of(&mut self, task: TaskId) {
        self.alive -= 1;
        self.tasks[task.index()].state = TaskState::Zombie;
        self.reap_dead(task);
    }

    /// If the dead are reaped, `task` is reaped at once: by its parent, or by init.
    fn reap_dead(&mut self, task: TaskId) {
        if self.reap {
            self.tasks[task.index()].state = TaskState::Reaped;
            // The orphans of a parent that has died go to init.
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

    /// Other attributes for a task; an error if the scheduler refuses them.
    fn set_attr(&mut self, task: TaskId, attr: SchedAttr, by: CpuId) -> Result<(), Errno> {
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

    /// Another affinity for a task; an error if it is refused.
    fn set_affinity(&mut self, task: TaskId, allowed: &CpuSet) -> Result<(), Errno> {
        let group = self.settings[task.index()].group;
        match self.lifecycle(task) {
            Lifecycle::Unborn(unborn) => unborn.allowed = allowed.clone(),
            Lifecycle::Dead => return Ok(()),
            Lifecycle::Alive => {
                let Some(usable) = self.usable(allowed, group) else {
                    // As sched_setaffinity(2): none of them is on line, or none is its group's.
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

    fn set_group(&mut self, task: TaskId, group: GroupId) -> Result<(), ActionError> {
        match self.lifecycle(task) {
            Lifecycle::Unborn(unborn) => unborn.group = group,
            Lifecycle::Dead => return Ok(()),
            Lifecycle::Alive => return self.change_group(task, group),
        }
        self.settings[task.index()].group = group;
        self.freeze_by_group(task);
        Ok(())
    }

    /// Tells the observer that `task` was refused what was asked for it.
    #[cold]
    fn refused(&mut self, task: TaskId, request: Request, errno: Errno) {
        let from_outside = self.from_outside;
        self.observer.on(self.now_ns, Event::Refused { task, request, errno, from_outside });
    }

    /// Whether `task` is unborn, alive or dead: what becomes of an order about it.
    fn lifecycle(&mut self, task: TaskId) -> Lifecycle<'_> {
        let task = &mut self.tasks[task.index()];
        match (task.state, task.unborn.as_deref_mut()) {
            (_, Some(unborn)) => Lifecycle::Unborn(unborn),
            (TaskState::Zombie | TaskState::Reaped, None) => Lifecycle::Dead,
            _ => Lifecycle::Alive,
        }
    }

    /// Why the scheduler has just refused `task` the attributes that were asked for, if it has.
    fn refusal_of(&self, task: TaskId) -> Option<Errno> {
        self.platform.refusals.iter().find(|&&(target, _)| target == task).map(|&(_, why)| why)
    }

    /// `cpu` calls the scheduler and switches to what it picks.
    #[inline]
    fn reschedule(&mut self, cpu: CpuId) {
        let now_ns = self.now_ns;
        self.platform.clear_resched(cpu);
        if cpu.index() >= self.current.len() {
            no_such_cpu(cpu, self.current.len());
        }
        if self.is_gone(cpu) {
            return;
        }
        let prev = self.current[cpu.index()];
        if let Some(task) = prev {
            let done_ns = self.completions.get(cpu.index());
            if done_ns != NEVER && self.tasks[task.index()].signals.is_empty() {
                self.interrupt_work(task, done_ns - now_ns);
            }
        }
        self.enter_kernel(cpu);
        self.platform.forget_rules();
        let next = self.scheduler.schedule(&mut self.platform, cpu);
        debug_assert!(
            prev == next || next.is_none_or(|task| !self.current.contains(&Some(task))),
            "picked {next:?} for {cpu:?}, but another CPU runs it"
        );
        if let Some(task) = next
            && task.index() >= self.tasks.len()
        {
            no_such_task(task, self.tasks.len());
        }
        let why = self.platform.rule(Question::Pick);
        self.apply_requests();
        self.current[cpu.index()] = next;
        if self.costs.is_some() {
            self.completions.set(cpu.index(), NEVER);
            self.charge_schedule(cpu, prev, next);
        }
        if prev != next {
            self.counts.switches += 1;
            let state = prev.map(|task| self.tasks[task.index()].state);
            let prev_runnable = state == Some(TaskState::Running);
            let switched = Event::Switched { cpu, prev, prev_runnable, next, why };
            self.observer.on(now_ns, switched);
            if state == Some(TaskState::Zombie) {
                self.reap_dead(prev.expect("it has a state"));
            }
        }
        let Some(task) = next else {
            self.completions.set(cpu.index(), NEVER);
            return;
        };
        debug_assert_eq!(
            self.tasks[task.index()].state,
            TaskState::Running,
            "picked task {} is not runnable",
            task.0
        );
        if !self.tasks[task.index()].signals.is_empty() {
            // Before it runs on it sees to them.
            self.completions.set(cpu.index(), self.user_from_ns(cpu));
            return;
        }
        let user_from_ns = self.user_from_ns(cpu);
        let remaining_ns = &mut self.tasks[task.index()].remaining_ns;
        if *remaining_ns == 0
            && let Some(ns) = self.workload.take_run(now_ns, task)
        {
            *remaining_ns = ns;
        }
        let done_ns = self.tasks[task.index()].done_ns(user_from_ns);
        self.completions.set(cpu.index(), done_ns);
    }

    /// `task` has lost its CPU, or is to see to a signal, with so much CPU time left of its work.
    #[inline]
    fn interrupt_work(&mut self, task: TaskId, left_ns: u64) {
        let row = &mut self.tasks[task.index()];
        if !row.by_clock {
            row.remaining_ns = left_ns;
        }
    }

    /// Carries out what the scheduler has requested, and reports its migrations to the observer.
    #[inline]
    fn apply_requests(&mut self) {
        // One test, as there is nothing to do as a rule.
        if self.platform.take_pending() {
            self.apply_pending_requests();
        }
    }

    #[cold]
    fn apply_pending_requests(&mut self) {
        self.apply_timer_requests();
        for account in self.platform.take_accounts() {
            self.observer.on(self.now_ns, Event::Decided { account: &account });
        }
        for moved in self.platform.migrations.drain(..) {
            let Migration { task, from, to, why } = moved;
            self.observer.on(self.now_ns, Event::Migrated { task, from, to, why });
        }
        let (request, from_outside) = (self.request, self.from_outside);
        for (task, errno) in self.platform.refusals.drain(..) {
            let refused = Event::Refused { task, request, errno, from_outside };
            self.observer.on(self.now_ns, refused);
        }
    }

    fn apply_timer_requests(&mut self) {
        for order in self.platform.timer_orders.drain(..) {
            let (TimerOrder::Arm { key, .. } | TimerOrder::Cancel { key }) = order;
            self.timers[0].remove(key.0);
            self.timers[1].remove(key.0);
            self.overdue.retain(|&other| other != key);
            if let TimerOrder::Arm { phase, at_ns, .. } = order {
                if at_ns <= self.now_ns {
                    self.overdue.push_back(key);
                } else {
                    self.timers[phase as usize].set(key.0, at_ns);
                }
            }
        }
    }

    /// The present time, ns.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// What was simulated so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many tasks there are or were.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// The state of a task.
    pub fn task_state(&self, task: TaskId) -> TaskState {
        self.tasks[task.index()].state
    }

    /// How many CPUs there are, on line or not.
    pub fn cpu_count(&self) -> usize {
        self.current.len()
    }

    /// The task that `cpu` runs; none = idle.
    pub fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.current[cpu.index()]
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The workload.
    pub fn workload(&self) -> &W {
        &self.workload
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to tell it something.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Takes the machine apart.
    pub fn into_parts(self) -> (S, W, O) {
        (self.scheduler, self.workload, self.observer)
    }
}

/// The scheduler named a CPU that the machine has not.
#[cold]
fn no_such_cpu(cpu: CpuId, cpus: usize) -> ! {
    panic!("the scheduler named CPU {}; the machine has 0 to {}", cpu.0, cpus - 1)
}

/// The scheduler picked a task that there is not.
#[cold]
fn no_such_task(task: TaskId, tasks: usize) -> ! {
    panic!("the scheduler picked task {}; there are {tasks} tasks, from 0 on", task.0)
}

impl Task {
    /// When its work is done if it runs user code from `from_ns` on, without a break.
    #[inline]
    fn done_ns(&self, from_ns: u64) -> u64 {
        if self.by_clock {
            self.remaining_ns.max(from_ns)
        } else {
            from_ns.saturating_add(self.remaining_ns)
        }
    }

    /// How much CPU time its work will take if it has a CPU from now on.
    fn left_ns(&self, now_ns: u64) -> u64 {
        if self.by_clock { self.remaining_ns.saturating_sub(now_ns) } else { self.remaining_ns }
    }

    fn unborn(attr: TaskAttr) -> Task {
        Task {
            remaining_ns: 0,
            by_clock: false,
            state: TaskState::New,
            signals: Signals::default(),
            restart: Restart::default(),
            unborn: Some(Box::new(attr)),
        }
    }
}

impl Settings {
    fn of(attr: &TaskAttr, parent: Option<TaskId>) -> Settings {
        let (allowed, reported) = (attr.allowed.clone(), attr.allowed.clone());
        Settings { attr: attr.sched, parent, allowed, reported, group: attr.group }
    }
}
