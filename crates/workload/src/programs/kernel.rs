//! The kernel of programs: [`Kernel`] asks programs for steps and is the [`Workload`] of the
//! machine.
//!
//! When the machine asks what a task does next, the kernel takes steps of its program: those that
//! only concern the kernel at once, the first that concerns the machine is the answer. Waking
//! others (a barrier that fills wakes many) makes several answers, which wait in the task's orders.

use super::calls;
use super::effect::Outcome;
use super::mutex::Heir;
use super::objects::Objects;
use super::part::{Part, PartId, Running};
use super::profile::Profile;
use super::random::Random;
use super::script::{
    AddressSpaces, Conventions, Cursor, Event, Instr, Log, ScriptOptions, Scripts,
};
use super::semaphore::SemaphoreKind;
use super::step::{Own, Spawn, Step};
use super::task::{Attempt, Blocked, Body, Order, Stage, Task, Timing};
use crate::error::{Error, Reason};
use schedlab_core::{BlockReason, CpuId, GroupId, SchedAttr, TaskAttr, TaskId};
use schedlab_machine::costs::CallCosts;
use schedlab_machine::{NewTask, Op, Workload};
use std::collections::VecDeque;
use std::fmt;

/// One task may take so many steps at one nanosecond; then the run is stopped. A step that blocks
/// and is tried again is counted once; the first thousand of all tasks together are not counted.
pub const EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// All tasks together may take so many; and, if that is more, [`EVENTS_AT_ONE_INSTANT_EACH`] times
/// their number. Tasks that wake each other in turn without time passing would otherwise keep the
/// run busy for very long before one of them has done its million.
pub const EVENTS_AT_ONE_INSTANT_TOGETHER: u64 = 4_000_000;

/// See [`EVENTS_AT_ONE_INSTANT_TOGETHER`].
pub const EVENTS_AT_ONE_INSTANT_EACH: u64 = 1000;

/// More threads than this are refused, so that a few bytes (`"instance": 1000000000`, a task that
/// forks without end) cannot ask for more memory than there is: a run of so many takes about 1 GB.
pub const THREADS_MAX: usize = 500_000;

/// At one nanosecond so many steps of all tasks together are nothing unusual, and not counted.
const EVENTS_UNCOUNTED: u64 = 1000;

/// Counts steps for the check that time passes.
#[derive(Default)]
pub(super) struct Instant {
    now_ns: u64,
    /// Steps of all tasks at `now_ns`.
    events: u64,
}

impl Instant {
    /// Counts a step of `task`, which is one of so many. False: there are too many at one time.
    #[inline]
    pub fn count(&mut self, now_ns: u64, task: &mut Task, tasks: usize) -> bool {
        if self.now_ns != now_ns {
            self.now_ns = now_ns;
            self.events = 0;
        }
        self.events += 1;
        self.events <= EVENTS_UNCOUNTED || self.count_for_each(task, tasks)
    }

    #[cold]
    fn count_for_each(&self, task: &mut Task, tasks: usize) -> bool {
        if task.instant_ns != self.now_ns {
            task.instant_ns = self.now_ns;
            task.instant_events = 0;
        }
        task.instant_events += 1;
        let most = EVENTS_AT_ONE_INSTANT_TOGETHER.max(tasks as u64 * EVENTS_AT_ONE_INSTANT_EACH);
        task.instant_events < EVENTS_AT_ONE_INSTANT && self.counted() < most
    }

    /// Steps of all tasks that were counted.
    fn counted(&self) -> u64 {
        self.events.saturating_sub(EVENTS_UNCOUNTED)
    }
}

/// A child whose fork the machine was given, and what it is born with.
pub(super) enum Forking {
    /// Code.
    Program(Box<Spawn>, TaskAttr),
    /// A script, and when it starts, ns.
    Script(u32, TaskAttr, u64),
}

/// The kernel that programs see, and the programs: a [`Workload`].
pub struct Kernel {
    pub(super) costs: CallCosts,
    /// Until when the messages so far keep the memory bus, ns.
    pub(super) bus_free_at_ns: u64,
    pub(super) calls_are_free: bool,
    seed: u64,
    pub(super) objects: Objects,
    pub(super) tasks: Vec<Task>,
    /// For each task, from the first mutex with priority inheritance on.
    pub(super) heirs: Vec<Heir>,
    /// At least one. The last one is that of tasks that are now started.
    pub(super) parts: Vec<Running>,
    initial: Vec<NewTask>,
    pub(super) forking: Option<Forking>,
    /// Wakeups that tasks were killed in the middle of.
    orphans: VecDeque<Order>,
    address_spaces: u32,
    /// Counts those that came to wait for a mutex, or were suspended.
    pub(super) tickets: u64,
    pub(super) instant: Instant,
    pub(super) scripts: Scripts,
    /// The scheduler's numbers of the scripts' groups.
    pub(super) group_ids: Vec<GroupId>,
    pub(super) conventions: Conventions,
    /// For each script the number that its next thread gets.
    next_instance: Vec<u32>,
    pub(super) log: Option<Log>,
}

/// For those who stand around it and are asked for it.
impl AsRef<Kernel> for Kernel {
    fn as_ref(&self) -> &Kernel {
        self
    }
}

impl Kernel {
    /// One without tasks. `seed` is that of all random draws.
    pub fn new(profile: Profile, costs: CallCosts, seed: u64) -> Kernel {
        Kernel {
            calls_are_free: costs == calls::FREE,
            costs,
            bus_free_at_ns: 0,
            seed,
            objects: Objects::new(profile),
            tasks: vec![],
            heirs: vec![],
            parts: vec![Running::new(Part::default())],
            initial: vec![],
            forking: None,
            orphans: VecDeque::new(),
            address_spaces: 0,
            tickets: 0,
            instant: Instant::default(),
            scripts: Scripts::default(),
            group_ids: vec![GroupId::ROOT],
            conventions: Conventions::default(),
            next_instance: vec![],
            log: None,
        }
    }

    /// One with the threads of `scripts`, whose objects have the numbers that they have there.
    ///
    /// # Panics
    /// If an instruction names what `scripts` does not have, or there are not as many
    /// [`group_ids`](ScriptOptions::group_ids) as groups.
    pub fn with_scripts(scripts: Scripts, options: ScriptOptions) -> Kernel {
        scripts.assert_complete();
        let profile = Profile::of("");
        let mut kernel = Kernel::new(profile, options.calls.unwrap_or(calls::FREE), 0);
        if !options.group_ids.is_empty() {
            assert_eq!(options.group_ids.len(), scripts.groups.len() - 1, "a number for each");
            kernel.group_ids.extend(options.group_ids);
        } else {
            kernel.group_ids.extend((1..scripts.groups.len() as u32).map(GroupId));
        }
        let objects = &mut kernel.objects;
        for _ in &scripts.mutexes {
            objects.mutex(scripts.mutex_kind());
        }
        for _ in &scripts.conditions {
            objects.condition();
        }
        for barrier in &scripts.barriers {
            objects.barrier(barrier.needed);
        }
        for _ in &scripts.semaphores {
            objects.semaphore(SemaphoreKind::Handed, 0);
        }
        for _ in &scripts.suspensions {
            objects.suspension();
        }
        objects.add_timers(scripts.timers);
        for _ in 0..scripts.disks {
            objects.disk();
        }
        kernel.conventions = options.conventions;
        kernel.log = (options.log_lines > 0).then(|| Log::new(options.log_lines, &scripts));
        kernel.next_instance = vec![0; scripts.scripts.len()];
        kernel.tasks.reserve(scripts.initial_threads());
        kernel.initial.reserve(scripts.initial_threads());
        if options.conventions.address_spaces == AddressSpaces::PerTask {
            kernel.address_spaces = scripts.scripts.len() as u32;
        }
        kernel.scripts = scripts;
        for script in 0..kernel.scripts.scripts.len() {
            for _ in 0..kernel.scripts.scripts[script].instances {
                let start_ns = kernel.scripts.scripts[script].delay_ns;
                let attr = kernel.script_attr(script as u32);
                kernel.initial.push(NewTask { attr: attr.clone(), start_ns });
                kernel.add_script(script as u32, attr, None, PartId::default(), start_ns);
            }
        }
        kernel
    }

    /// What programs share, to make some of it before the run.
    pub fn objects(&mut self) -> &mut Objects {
        &mut self.objects
    }

    /// What calls cost.
    pub fn costs(&self) -> &CallCosts {
        &self.costs
    }

    /// Lets each task that the run begins with start so much later, in ns, as `later` says, which
    /// is asked once for each, in the order of their numbers.
    pub fn start_later(&mut self, mut later: impl FnMut() -> u64) {
        for (new, task) in self.initial.iter_mut().zip(&mut self.tasks) {
            new.start_ns = new.start_ns.saturating_add(later());
            (task.start_ns, task.since_ns) = (new.start_ns, new.start_ns);
        }
    }

    /// Lets each task that the run begins with start at the time, in ns, that `at` says, which is
    /// asked once for each, in the order of their numbers.
    pub fn start_at(&mut self, mut at: impl FnMut() -> u64) {
        for (new, task) in self.initial.iter_mut().zip(&mut self.tasks) {
            new.start_ns = at();
            (task.start_ns, task.since_ns) = (new.start_ns, new.start_ns);
        }
    }

    /// A task that starts at `start_ns` by the clock of its part. All must be there before the run
    /// begins.
    pub fn start(&mut self, start_ns: u64, spawn: Spawn) -> TaskId {
        let id = self.last_part();
        let part = &self.parts[id.index()].part;
        let start_ns = part.start_ns.saturating_add(start_ns);
        let (sched, allowed, group) = (part.attr, part.allowed.clone(), part.group);
        let attr = TaskAttr {
            sched: spawn.attr.unwrap_or(sched),
            allowed: spawn.allowed.clone().unwrap_or(allowed),
            group: spawn.group.unwrap_or(group),
            address_space: self.address_space(None),
        };
        self.initial.push(NewTask { attr: attr.clone(), start_ns });
        self.add_program(spawn, attr, None, id, start_ns)
    }

    /// How many tasks there are or were.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// What `task` and the others of its kind are called: the name of its script, or that in
    /// [`Spawn`].
    pub fn name(&self, task: TaskId) -> &str {
        let task = &self.tasks[task.index()];
        match task.script() {
            Some(cursor) => &self.scripts.scripts[cursor.script as usize].name,
            None => task.name,
        }
    }

    /// What `task` alone is called: `name-instance` of a script's thread, `name-number` of others.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn thread_name(&self, task: TaskId) -> String {
        let instance = self.tasks[task.index()].script().map_or(task.0, |cursor| cursor.instance);
        format!("{}-{instance}", self.name(task))
    }

    /// What `task` was born with, and has set since.
    pub fn attr(&self, task: TaskId) -> &TaskAttr {
        &self.tasks[task.index()].attr
    }

    pub(super) fn address_space(&mut self, shared: Option<u32>) -> u32 {
        shared.unwrap_or_else(|| {
            self.address_spaces += 1;
            self.address_spaces
        })
    }

    /// What the next thread of a script is born with.
    pub(super) fn script_attr(&mut self, number: u32) -> TaskAttr {
        let script = &self.scripts.scripts[number as usize];
        let (attr, cpus, group) = (script.attr, script.cpus, script.group);
        TaskAttr {
            sched: self.scripts.attrs[attr as usize],
            allowed: self.scripts.cpu_sets[cpus as usize].clone(),
            group: self.group_ids[group as usize],
            address_space: match self.conventions.address_spaces {
                AddressSpaces::Process => 0,
                AddressSpaces::PerTask => number,
                AddressSpaces::PerThread => self.tasks.len() as u32,
            },
        }
    }

    fn add_program(
        &mut self,
        spawn: Spawn,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
        start_ns: u64,
    ) -> TaskId {
        let body = Body::Program(spawn.program);
        let task = self.add(body, attr, parent, part, start_ns);
        let this = &mut self.tasks[task.index()];
        this.name = spawn.name;
        this.footprint_kib = spawn.footprint_kib;
        task
    }

    fn add_script(
        &mut self,
        number: u32,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
        start_ns: u64,
    ) -> TaskId {
        let script = &self.scripts.scripts[number as usize];
        let own_timers = self.objects.add_timers(script.unique_timers);
        let instance = &mut self.next_instance[number as usize];
        let mut cursor = Cursor::new(number, *instance, script, own_timers);
        if parent.is_some() {
            // What stands before is for those who are there from the beginning.
            cursor.pc = script.again;
        }
        let body = Body::Script(cursor);
        let footprint_kib = script.footprint_kib;
        *instance += 1;
        let task = self.add(body, attr, parent, part, start_ns);
        self.tasks[task.index()].footprint_kib = footprint_kib;
        task
    }

    fn add(
        &mut self,
        body: Body,
        attr: TaskAttr,
        parent: Option<TaskId>,
        part: PartId,
        start_ns: u64,
    ) -> TaskId {
        let number = TaskId(self.tasks.len() as u32);
        let within = self.parts[part.index()].task_comes();
        let random = Random::new(part.seed(self.seed), within);
        self.tasks.push(Task {
            name: "",
            part,
            body,
            stage: Stage::Between,
            blocked: Blocked::No,
            timing: Timing::No,
            since_ns: start_ns,
            attr,
            footprint_kib: 0,
            own: Own { random, succeeded: false, child: None },
            orders: VecDeque::new(),
            owes_ns: 0,
            attempt: Attempt::First,
            after_run: false,
            forked: parent.is_some(),
            killed: false,
            parent,
            children: 0,
            zombies: 0,
            tokens: 0,
            start_ns,
            part_start_ns: self.parts[part.index()].part.start_ns,
            ticket: 0,
            periods: 0,
            missed_periods: 0,
            instant_ns: 0,
            instant_events: 0,
        });
        if let Some(log) = &mut self.log {
            log.new_thread();
        }
        number
    }

    pub(super) fn stop(&self, now_ns: u64, task: u32, reason: Reason) -> Error {
        let task = TaskId(task);
        Error::new(now_ns, task, self.thread_name(task), self.place(task), reason)
    }

    #[cold]
    pub(super) fn no_time_passes(&self, now_ns: u64, task: u32) -> Error {
        let own = self.tasks[task as usize].instant_events;
        let reason = if own >= EVENTS_AT_ONE_INSTANT {
            Reason::NoTimePasses { events: own }
        } else {
            Reason::NoTimePassesForAny { events: self.instant.counted() }
        };
        self.stop(now_ns, task, reason)
    }

    /// The step that `task` is in, for people.
    pub(super) fn place(&self, task: TaskId) -> String {
        match self.tasks[task.index()].script() {
            Some(cursor) => self.scripts.place(cursor.script, cursor.at).into(),
            None => "its program".into(),
        }
    }

    /// The next operation that is left over from a step of the task, or of one that is dead. Where
    /// operations take no time they are given in a row; where they do, others may come in between.
    fn next_order(&mut self, number: u32) -> Option<Op> {
        let this = &mut self.tasks[number as usize];
        loop {
            let order = match self.orphans.is_empty() {
                true => this.orders.pop_front()?,
                false => self.orphans.pop_front()?,
            };
            // Whoever was to wake it may have been quicker than it was to block.
            let woken = this.blocked == Blocked::No;
            if !(woken && matches!(order, Order::Block)) {
                return Some(self.op(order));
            }
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

impl Workload for Kernel {
    type Error = Error;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        std::mem::take(&mut self.initial)
    }

    fn next(&mut self, now_ns: u64, task: TaskId, cpu: CpuId) -> Result<Op, Error> {
        let number = task.0;
        loop {
            let count = self.tasks.len();
            let this = &mut self.tasks[number as usize];
            if !this.orders.is_empty() || !self.orphans.is_empty() {
                match self.next_order(number) {
                    Some(op) => return Ok(op),
                    None => continue,
                }
            }
            if this.owes_ns > 0 {
                return Ok(Op::Run { ns: std::mem::take(&mut this.owes_ns) });
            }
            let step = match std::mem::take(&mut this.stage) {
                Stage::Effect(step) => step,
                Stage::Between if this.script().is_none() => {
                    if !self.instant.count(now_ns, this, count) {
                        return Err(self.no_time_passes(now_ns, number));
                    }
                    let step = this.ask(now_ns, task, cpu, &mut self.objects);
                    if !self.calls_are_free {
                        let simple = calls::simple_cost_before(&self.objects, &self.costs, &step);
                        match simple {
                            Some(0) => {}
                            Some(ns) => {
                                this.defer(step);
                                return Ok(Op::Run { ns });
                            }
                            None => {
                                let ns = self.cost_before(&step);
                                if ns > 0 {
                                    self.tasks[number as usize].defer(step);
                                    return Ok(Op::Run { ns });
                                }
                            }
                        }
                    }
                    step
                }
                Stage::Between => match self.next_script_event(now_ns, number)? {
                    Event::Op(op) => return Ok(op),
                    Event::Done => continue,
                    Event::Step(step) => {
                        let ns = if self.calls_are_free { 0 } else { self.cost_before(&step) };
                        if ns > 0 {
                            self.tasks[number as usize].defer(step);
                            return Ok(Op::Run { ns });
                        }
                        step
                    }
                },
                Stage::Kill(mut victims) => match victims.0.pop() {
                    Some(other) => {
                        this.stage = Stage::Kill(victims);
                        return Ok(Op::Kill { task: other });
                    }
                    None => Step::Exit,
                },
                Stage::Over => {
                    this.stage = Stage::Over;
                    return Ok(Op::Exit);
                }
            };
            match self.effect(now_ns, number, cpu, step)? {
                Outcome::Done => {}
                Outcome::Op(op) => return Ok(op),
                Outcome::Block => {
                    let orders = &mut self.tasks[number as usize].orders;
                    if orders.is_empty() {
                        return Ok(Op::Block { reason: BlockReason::Interruptible });
                    }
                    orders.push_back(Order::Block);
                }
            }
        }
    }

    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        // Where calls take time, a task can lose its CPU in the middle of one.
        let this = &self.tasks[task.index()];
        let idle = this.owes_ns == 0 && this.orders.is_empty() && self.orphans.is_empty();
        if !idle || !matches!(this.stage, Stage::Between) {
            return None;
        }
        self.take_script_run(now_ns, task.0)
    }

    fn before_wake(&mut self, now_ns: u64, task: TaskId) -> Option<Op> {
        let Conventions { exit_from_sleep, renice_before_wake, .. } = self.conventions;
        if !exit_from_sleep && !renice_before_wake {
            return None;
        }
        let number = task.0;
        if !matches!(self.tasks[task.index()].stage, Stage::Between) {
            return None;
        }
        let is_start = now_ns == self.tasks[task.index()].start_ns;
        match self.skip_markers(now_ns, number)? {
            Instr::Exit if exit_from_sleep => {
                self.exit(now_ns, number);
                Some(Op::Exit)
            }
            Instr::Sched { first, later } if renice_before_wake => {
                match self.set_script_attr(number, first, later) {
                    Some(op) => Some(op),
                    None => {
                        let order = self.tasks[task.index()].orders.pop_front()?;
                        Some(self.op(order))
                    }
                }
            }
            // At the start these are set by the task itself, when it runs.
            Instr::Cpus { set } if renice_before_wake && !is_start => {
                Some(self.set_script_cpus(number, set))
            }
            Instr::Group { group } if renice_before_wake && !is_start => {
                Some(self.set_script_group(number, group))
            }
            _ => None,
        }
    }

    /// A step that wakes many does so in one system call.
    fn in_a_call(&self, task: TaskId) -> bool {
        !self.tasks[task.index()].orders.is_empty()
    }

    fn footprint_kib(&self, task: TaskId) -> u32 {
        self.tasks[task.index()].footprint_kib
    }

    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        self.next_script_burst_ns(task.0)
    }

    /// It waits for nothing any more, and takes from nobody what it can no longer use. What it
    /// holds it holds for ever, as a mutex that is not robust is held by the dead; see
    /// [`Kernel::wait_graph`].
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        let this = &mut self.tasks[task.index()];
        this.killed = true;
        let blocked = std::mem::take(&mut this.blocked);
        // Whom it was about to wake is woken all the same.
        let left = this.orders.drain(..).filter(|order| !matches!(order, Order::Block));
        self.orphans.extend(left);
        // It may have been about to end by itself.
        if !matches!(std::mem::replace(&mut this.stage, Stage::Over), Stage::Over) {
            if matches!(this.body, Body::Program(_)) {
                this.body = Body::Over;
            }
            self.parts[this.part.index()].task_ends(now_ns);
        }
        self.objects.forget(task.0, blocked);
    }

    fn fork_refused(&mut self, _now_ns: u64, parent: TaskId) {
        self.forking = None;
        self.tasks[parent.index()].own.child = None;
    }

    fn attr_refused(&mut self, task: TaskId, in_force: &SchedAttr) {
        // With inheritance what is in force may be a donor's.
        if !self.objects.inherits {
            self.tasks[task.index()].attr.sched = *in_force;
        }
    }

    fn task_name(&self, task: TaskId) -> String {
        self.thread_name(task)
    }

    fn forked(&mut self, now_ns: u64, parent: TaskId, child: TaskId) {
        let part = self.tasks[parent.index()].part;
        let number = match self.forking.take().expect("a fork was given to the machine") {
            Forking::Program(spawn, attr) => {
                self.add_program(*spawn, attr, Some(parent), part, now_ns)
            }
            Forking::Script(script, attr, start_ns) => {
                self.add_script(script, attr, Some(parent), part, start_ns)
            }
        };
        debug_assert_eq!(number, child, "tasks are numbered alike here and in the machine");
        let parent = &mut self.tasks[parent.index()];
        parent.children += 1;
        parent.own.child = Some(child);
    }
}
