//! The event loop: take the earliest event, let the scheduler decide, advance.
//!
//! # Order of events within one nanosecond
//!
//! 1. Work that ends, by CPU. The task takes its next operations (it wakes other tasks, sleeps,
//!    exits ...). If it stops being runnable, it stays its CPU's current task until step 5.
//! 2. Timers of the scheduler that are due before wakeups. Then tasks that start or whose sleep is
//!    over, in the order in which they are written.
//! 3. Timers of the scheduler that are due before ticks. (Timers of one phase fire in the order in
//!    which they were armed.)
//! 4. Ticks, by CPU, each with the balancing that it raises.
//! 5. Reschedules: the CPUs that were asked to reschedule, in ascending order, round after round
//!    until none is left.
//! 6. If a task that was just given a CPU has no work but has to take its next operation there, all
//!    steps again, without a second tick.
//!
//! Between two calls of [`run_to`](Machine::run_to), a caller may [`act`](Machine::act) on the
//! machine. Its actions take effect at the current nanosecond, before all of these steps.

mod act;
mod action_error;
mod cgroups;
mod config;
mod costs;
mod due;
mod groups;
mod hotplug;
mod instant;
mod job_control;
mod operations;
mod reschedule;
mod signals;
mod task;

pub use act::Action;
pub use action_error::ActionError;
pub use config::{Config, Counts, RunEnd, TaskState};
pub use groups::MachineGroup;

use crate::order::Order;
use crate::queue::{IndexedHeap, SlotQueue};
use crate::ticks::Ticks;
use crate::workload::Workload;
use costs::modelled::Modelled;
use due::Due;
use groups::Groups;
use schedlab_core::{
    CpuId, CpuSet, Observer, Platform, Policy, Request, Scheduler, TaskId, TimerKey, Waker,
};
use std::collections::VecDeque;
use task::{Settings, Task};

/// A machine with its scheduler, workload and observer.
#[derive(Debug)]
pub struct Machine<S, W, O> {
    platform: Platform,
    scheduler: S,
    /// Whether the scheduler must be given the lengths of coming bursts.
    clairvoyant: bool,
    workload: W,
    observer: O,
    tasks: Vec<Task>,
    /// Rows of the same tasks.
    settings: Vec<Settings>,
    /// Task that each CPU runs. `None`: the CPU idles.
    current: Vec<Option<TaskId>>,
    /// Times at which the current tasks of the CPUs finish their work.
    completions: SlotQueue,
    /// Times at which tasks start or their sleeps end.
    sleepers: IndexedHeap,
    /// Timers of the scheduler: those due before wakeups, and those due before ticks.
    timers: [IndexedHeap; 2],
    /// Number of times that a timer was armed: the rank of the next one.
    timers_armed: u32,
    /// Timers that were already due when they were armed.
    overdue: VecDeque<TimerKey>,
    ticks: Ticks,
    order: Order,
    due: Vec<Due>,
    late_softirqs: bool,
    reap: bool,
    wake_from_interrupt: bool,
    interrupt_cpu: Option<CpuId>,
    resume_after_switch: bool,
    /// Tasks that are woken when their CPUs have switched away from them, and their wakers.
    late_wakes: Vec<(TaskId, Waker)>,
    counts: Counts,
    /// Number of tasks that have not ended, including unborn tasks.
    alive: usize,
    /// Number of tasks in [`TaskState::Running`].
    runnable: usize,
    /// Number of tasks that are stopped or frozen.
    held: usize,
    /// Whether stopped and frozen tasks may yet be released.
    releases_expected: bool,
    /// CPUs and freezer states of groups.
    groups: Groups,
    /// Online CPUs: those that tasks may use now.
    online: CpuSet,
    /// CPU that is going offline: no longer in `online`, but not gone before it has rescheduled.
    leaving: Option<CpuId>,
    /// Current request to the scheduler, in case it refuses.
    request: Request,
    /// Whether a caller acts on the machine from outside.
    from_outside: bool,
    /// Whether [`Event::Named`] is wanted.
    names_asked: bool,
    /// Whether it is known that the scheduler does not charge tasks that read their CPU clocks.
    reads_are_free: bool,
    /// Costs of operations; `None` on an idealised machine.
    costs: Option<Box<Modelled>>,
    now_ns: u64,
}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Creates an idle machine at time 0. The tasks of the workload are born when it runs.
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
            timers_armed: 0,
            overdue: VecDeque::new(),
            ticks,
            order: config.order,
            due: Vec::new(),
            late_softirqs: config.late_softirqs,
            reap: config.reap,
            wake_from_interrupt: config.wake_from_interrupt,
            interrupt_cpu: config.interrupt_cpu,
            resume_after_switch: config.resume_after_switch,
            late_wakes: Vec::with_capacity(config.cpus as usize),
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
            reads_are_free: false,
            costs: None,
            now_ns: 0,
        }
    }

    /// Makes ticks fall at the recorded `times` of another machine (ns and CPU). It must be called
    /// before the first run.
    pub fn tick_as_recorded(&mut self, times: Vec<(u64, CpuId)>) {
        self.ticks = Ticks::recorded(times, self.platform.hz());
    }

    /// Lets an administrator act on the scheduler: set tunables, create groups.
    pub fn administer<R>(&mut self, act: impl FnOnce(&mut S, &mut Platform) -> R) -> R {
        self.platform.set_now_ns(self.now_ns);
        let result = act(&mut self.scheduler, &mut self.platform);
        self.apply_requests();
        result
    }

    /// Switches [`Event::Decided`](schedlab_core::Event::Decided), which reports the grounds of
    /// each decision, on or off. The run is the same.
    pub fn ask_reasons(&mut self, asked: bool) {
        self.platform.ask(asked);
    }

    /// Switches [`Event::Throttled`](schedlab_core::Event::Throttled), which reports which queues
    /// of groups are throttled, on or off. The run is the same.
    pub fn ask_throttling(&mut self, asked: bool) {
        self.platform.ask_throttling(asked);
    }

    /// Switches [`Event::Named`](schedlab_core::Event::Named), which reports the names of newborn
    /// tasks, on or off. The run is the same.
    pub fn ask_names(&mut self, asked: bool) {
        self.names_asked = asked;
    }

    /// Returns the current time, ns.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the number of simulated events so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the number of tasks, including those that have ended.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the state of a task.
    pub fn task_state(&self, task: TaskId) -> TaskState {
        self.tasks[task.index()].state
    }

    /// Returns the number of CPUs, online or not.
    pub fn cpu_count(&self) -> usize {
        self.current.len()
    }

    /// Returns the task that `cpu` runs. `None`: it idles.
    pub fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.current[cpu.index()]
    }

    /// Returns the scheduler.
    pub fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// Returns the workload.
    pub fn workload(&self) -> &W {
        &self.workload
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer for changes.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Takes the machine apart.
    pub fn into_parts(self) -> (S, W, O) {
        (self.scheduler, self.workload, self.observer)
    }
}
