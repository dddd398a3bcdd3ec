//! The interpreter: runs compiled programs as a [`Workload`] of the machine.
//!
//! Every thread has a place in its program. When the machine asks what a thread does next, the
//! interpreter executes instructions from that place on: those that only concern the interpreter at
//! once, the first that concerns the machine is the answer. Waking others (a barrier that fills
//! wakes many) makes several answers, which wait in `pending`.
//!
//! What can be waited for stands in files of its own: mutexes in `mutex.rs`, everything else in
//! `waiting.rs`. What calls cost, where they cost something, is in `calls.rs`.

mod burst;
mod calls;
mod log;
mod mutex;
mod waiting;
mod who_waits;

use crate::compile;
use crate::costs::Costs;
use crate::diagnostic::Diagnostic;
use crate::model::{Model, THREADS_MAX};
use crate::program::{Compiled, Instr};
use crate::rt_app::{self, Dialect, Target};
use crate::stop::{Stop, StopReason};
pub use log::{Log, LogLine};
use mutex::Mutexes;
use schedlab_core::{BlockReason, CpuId, CpuSet, GroupId, SchedAttr, TaskAttr, TaskId};
use schedlab_machine::costs::CallCosts;
use schedlab_machine::{NewTask, Op, Workload};
use std::collections::VecDeque;
use std::sync::Arc;
use waiting::Waiting;
pub use who_waits::{Deadlock, WaitingThread, WaitsFor};

/// One thread may do so many events at one nanosecond; then the run is stopped.
pub const EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// All threads together may do so many; and, if that is more, [`EVENTS_AT_ONE_INSTANT_EACH`] times
/// their number. Threads that wake each other in turn without time passing would otherwise keep the
/// run busy for very long before one of them has done its million.
pub const EVENTS_AT_ONE_INSTANT_TOGETHER: u64 = 4_000_000;

/// See [`EVENTS_AT_ONE_INSTANT_TOGETHER`].
pub const EVENTS_AT_ONE_INSTANT_EACH: u64 = 1000;

/// The work between two looks at the clock in a `runtime` event, ns.
const RUNTIME_PIECE_NS: u64 = 32_000;

/// Which threads share an address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressSpaces {
    /// All: threads of one process, as rt-app's are.
    #[default]
    Process,
    /// The threads of one task.
    PerTask,
    /// None: every thread is a process.
    PerThread,
}

/// Conventions in which golden schedules differ from rt-app and from each other. The default is
/// rt-app's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conventions {
    /// A program that ends with a sleep ends when the sleep does, without being queued again.
    pub exit_from_sleep: bool,
    /// A phase's priority after a sleep (or at the start) is set before the task is queued.
    pub renice_before_wake: bool,
    /// A phase's priority after a sleep (or at the start) is passed over.
    pub renice_only_running: bool,
    /// After a yield the next event is taken at once.
    pub yield_goes_on: bool,
    /// All sleeps are uninterruptible.
    pub uninterruptible: bool,
    /// Who shares an address space.
    pub address_spaces: AddressSpaces,
}

impl Conventions {
    /// The names of those that are on or off, as golden files have them.
    pub const NAMES: [&str; 5] = [
        "exit_from_sleep",
        "renice_before_wake",
        "renice_only_running",
        "yield_goes_on",
        "uninterruptible",
    ];

    /// Switches on the one called `name`.
    ///
    /// # Errors
    /// The names there are, if it is none of them.
    pub fn set(&mut self, name: &str) -> Result<(), &'static [&'static str]> {
        *match name {
            "exit_from_sleep" => &mut self.exit_from_sleep,
            "renice_before_wake" => &mut self.renice_before_wake,
            "renice_only_running" => &mut self.renice_only_running,
            "yield_goes_on" => &mut self.yield_goes_on,
            "uninterruptible" => &mut self.uninterruptible,
            _ => return Err(&Conventions::NAMES),
        } = true;
        Ok(())
    }
}

/// How a workload is to be run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The scheduler's numbers of the groups [`Model::group_paths`], in that order. Empty: 1, 2, 3
    /// ...
    pub group_ids: Vec<GroupId>,
    /// What memory and I/O events cost.
    pub costs: Costs,
    /// What system calls cost; none: nothing, as on an idealised machine.
    pub calls: Option<CallCosts>,
    /// How many lines of rt-app's log to keep at most; 0 keeps no log.
    pub log_lines: usize,
    /// Deviations from rt-app.
    pub conventions: Conventions,
}

/// A thread for those who report about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadInfo<'a> {
    /// Its number.
    pub task: TaskId,
    /// The name of its task; the thread itself is called `key-instance`.
    pub key: &'a str,
    /// Which of its task's threads it is, from 0.
    pub instance: u32,
    /// What it was born with.
    pub sched: SchedAttr,
    /// Where it may run at its birth.
    pub allowed: &'a CpuSet,
    /// The path of the group it was born in; "" is the root.
    pub group: &'a str,
    /// When it starts, ns.
    pub start_ns: u64,
    /// Whether a `fork` made it.
    pub forked: bool,
    /// How often it has gone through all its phases.
    pub rounds: u64,
}

/// What a thread is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    /// Nothing: the instruction at its place has not been begun.
    #[default]
    Fresh,
    /// A `run`, since `since_ns`; its place is past it.
    Run,
    /// A `runtime`, since `since_ns`.
    Runtime,
    /// The sleep of a `timer` that expires at `since_ns`; its place is past it.
    Timer,
    /// Wants the mutex of the `lock` or `wait` at its place, and has waited for it before.
    Retry,
    /// Has been signalled, and wants the mutex of the `wait` at its place.
    Signalled,
}

/// What a thread is blocked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Blocked {
    #[default]
    No,
    Mutex(u32),
    Condition(u32),
    Barrier(u32),
    Semaphore(u32),
    Suspended,
}

/// A thread.
#[derive(Clone, Debug)]
struct Thread {
    program: u32,
    instance: u32,
    /// The next instruction.
    pc: u32,
    stage: Stage,
    blocked: Blocked,
    /// The event before was a run: the thread is at the end of its work, and not at a start or the
    /// end of a sleep.
    after_run: bool,
    forked: bool,
    /// It will do nothing more.
    killed: bool,
    /// Rounds done of the present phase, and of the task.
    phase_round: u64,
    task_round: u64,
    /// In force: numbers in the tables of [`Compiled`].
    attr: u32,
    cpus: u32,
    group: u32,
    /// Where its own timers begin in `Waiting::unique_timers`.
    unique_timers: u32,
    /// Resumes that came while it was not suspended (golden schedules).
    tokens: u32,
    start_ns: u64,
    /// See [`Stage`]; while blocked: since when.
    since_ns: u64,
    /// Its place among those that wait for a mutex, or are suspended.
    ticket: u64,
    /// What it has yet to burn for a call that it is back from, ns.
    owes_ns: u64,
    /// It has burnt the cost of the call at its place, which now takes effect.
    paid: bool,
    /// For the check that time passes.
    instant_ns: u64,
    instant_events: u32,
}

/// Something that the machine is yet to be told.
#[derive(Clone, Debug)]
enum Order {
    Wake {
        thread: u32,
        sync: bool,
    },
    /// The thread's effective attributes have changed.
    Attr {
        thread: u32,
    },
    /// What the thread that issues the orders does after them.
    Then(Op),
}

/// In place of the thread that was to give an order.
const ANYBODY: u32 = u32::MAX;

/// A workload in the middle of its run. A clone made before the run is as good as new.
#[derive(Clone, Debug)]
pub struct Vm {
    code: Arc<Compiled>,
    /// The scheduler's numbers of `code.groups`.
    group_ids: Vec<GroupId>,
    conventions: Conventions,
    threads: Vec<Thread>,
    /// For each task the number that its next thread gets.
    next_instance: Vec<u32>,
    /// What the present event makes.
    orders: VecDeque<Order>,
    /// Orders that are still to be given, and by which thread; [`ANYBODY`] if that one is dead.
    pending: VecDeque<(u32, Order)>,
    calls: Option<CallCosts>,
    /// For the check that time passes: events of all threads at the time `instant_ns`.
    instant_ns: u64,
    instant_events: u64,
    mutexes: Mutexes,
    waiting: Waiting,
    log: Option<Log>,
}

impl Vm {
    /// Makes `model` ready to run on `target`.
    ///
    /// # Errors
    /// If the model cannot be run as meant; never for one that
    /// [`rt_app::load`](crate::rt_app::load) has given for the same target.
    pub fn new(model: Model, target: &Target, options: Options) -> Result<Vm, Diagnostic> {
        Vm::with_dialect(model, Dialect::RtApp, target, options)
    }

    pub(crate) fn with_dialect(
        model: Model,
        dialect: Dialect,
        target: &Target,
        options: Options,
    ) -> Result<Vm, Diagnostic> {
        rt_app::check_as(&model, dialect, target)?;
        let code = compile::compile(model, dialect, &options.costs);
        let given = options.group_ids.len();
        if given != 0 && given != code.groups.len() - 1 {
            let message = format!("{given} numbers for {} groups", code.groups.len() - 1);
            return Err(Diagnostic::without_source(&code.model.name, "", message));
        }
        let mut group_ids = vec![GroupId::ROOT];
        if given == 0 {
            group_ids.extend((1..code.groups.len() as u32).map(GroupId));
        } else {
            group_ids.extend(options.group_ids);
        }
        let mut vm = Vm {
            group_ids,
            conventions: options.conventions,
            threads: Vec::with_capacity(code.model.initial_threads()),
            next_instance: vec![0; code.programs.len()],
            orders: VecDeque::new(),
            pending: VecDeque::new(),
            calls: options.calls,
            instant_ns: 0,
            instant_events: 0,
            mutexes: Mutexes::new(code.mutexes.len(), code.model.global.pi_enabled),
            waiting: Waiting::new(&code),
            log: (options.log_lines > 0).then(|| Log::new(options.log_lines, &code)),
            code: Arc::new(code),
        };
        for program in 0..vm.code.programs.len() {
            for _ in 0..vm.code.model.tasks[program].instances {
                let start_ns = vm.code.programs[program].delay_ns;
                vm.new_thread(program as u32, start_ns, false);
            }
        }
        Ok(vm)
    }

    /// When the workload itself ends the run, ns.
    pub fn duration_ns(&self) -> Option<u64> {
        self.code.model.global.duration_ns
    }

    /// What is being run.
    pub fn model(&self) -> &Model {
        &self.code.model
    }

    /// How many threads there are or were, forked ones included.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// A thread's name, `key-instance`.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn thread_name(&self, task: TaskId) -> String {
        let thread = &self.threads[task.index()];
        let key = &self.code.model.tasks[thread.program as usize].key;
        format!("{key}-{}", thread.instance)
    }

    /// What is known about a thread.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn thread(&self, task: TaskId) -> ThreadInfo<'_> {
        let thread = &self.threads[task.index()];
        let program = &self.code.programs[thread.program as usize];
        ThreadInfo {
            task,
            key: &self.code.model.tasks[thread.program as usize].key,
            instance: thread.instance,
            sched: self.code.attrs[program.attr as usize],
            allowed: &self.code.cpu_sets[program.cpus as usize],
            group: &self.code.groups[program.group as usize],
            start_ns: thread.start_ns,
            forked: thread.forked,
            rounds: thread.task_round,
        }
    }

    /// All threads there are or were.
    pub fn threads(&self) -> impl Iterator<Item = ThreadInfo<'_>> {
        (0..self.threads.len()).map(|number| self.thread(TaskId(number as u32)))
    }

    /// rt-app's own log, if one was asked for.
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    fn new_thread(&mut self, program: u32, start_ns: u64, forked: bool) {
        let code = &self.code.programs[program as usize];
        let instance = &mut self.next_instance[program as usize];
        let thread = Thread {
            program,
            instance: *instance,
            pc: 0,
            stage: Stage::Fresh,
            blocked: Blocked::No,
            after_run: false,
            forked,
            killed: false,
            phase_round: 0,
            task_round: 0,
            attr: code.attr,
            cpus: code.cpus,
            group: code.group,
            unique_timers: self.waiting.new_thread(code.unique_timers),
            tokens: 0,
            start_ns,
            since_ns: start_ns,
            ticket: 0,
            owes_ns: 0,
            paid: false,
            instant_ns: 0,
            instant_events: 0,
        };
        *instance += 1;
        self.mutexes.new_thread(self.code.attrs[thread.attr as usize]);
        if let Some(log) = &mut self.log {
            log.new_thread();
        }
        self.threads.push(thread);
    }

    fn task_attr(&self, number: usize) -> TaskAttr {
        let thread = &self.threads[number];
        TaskAttr {
            sched: self.code.attrs[thread.attr as usize],
            allowed: self.code.cpu_sets[thread.cpus as usize].clone(),
            group: self.group_ids[thread.group as usize],
            address_space: match self.conventions.address_spaces {
                AddressSpaces::Process => 0,
                AddressSpaces::PerTask => thread.program,
                AddressSpaces::PerThread => number as u32,
            },
        }
    }

    fn go_on(&mut self, thread: u32) {
        self.threads[thread as usize].pc += 1;
    }

    /// The thread has a CPU again: what it was in the middle of may be over.
    #[inline]
    fn running_again(&mut self, now_ns: u64, number: u32) {
        let thread = &mut self.threads[number as usize];
        match thread.stage {
            Stage::Run => {
                thread.stage = Stage::Fresh;
                if let Some(log) = &mut self.log {
                    log.ran(number, now_ns - thread.since_ns);
                }
            }
            Stage::Timer => {
                thread.stage = Stage::Fresh;
                if let Some(log) = &mut self.log {
                    log.woke_from_timer(number, now_ns - thread.since_ns);
                }
            }
            Stage::Fresh | Stage::Runtime | Stage::Retry | Stage::Signalled => {}
        }
    }

    /// Counts an event. None if there are too many at one time.
    #[inline]
    fn count_event(&mut self, now_ns: u64, thread: u32) -> Option<()> {
        let all = self.threads.len() as u64;
        let thread = &mut self.threads[thread as usize];
        if thread.instant_ns != now_ns {
            thread.instant_ns = now_ns;
            thread.instant_events = 0;
        }
        if self.instant_ns != now_ns {
            self.instant_ns = now_ns;
            self.instant_events = 0;
        }
        thread.instant_events += 1;
        self.instant_events += 1;
        let together = EVENTS_AT_ONE_INSTANT_TOGETHER.max(all * EVENTS_AT_ONE_INSTANT_EACH);
        (thread.instant_events < EVENTS_AT_ONE_INSTANT && self.instant_events < together)
            .then_some(())
    }

    fn stop(&self, now_ns: u64, thread: u32, reason: StopReason) -> Stop {
        let task = TaskId(thread);
        let Thread { program, pc, .. } = self.threads[thread as usize];
        Stop::new(now_ns, task, self.thread_name(task), self.code.place(program, pc), reason)
    }

    fn no_time_passes(&self, now_ns: u64, thread: u32) -> Stop {
        let own = self.threads[thread as usize].instant_events;
        let reason = if own >= EVENTS_AT_ONE_INSTANT {
            StopReason::NoTimePasses { events: own }
        } else {
            StopReason::NoTimePassesForAny { events: self.instant_events }
        };
        self.stop(now_ns, thread, reason)
    }

    /// Executes what needs nothing from the machine: ends and beginnings of phases, and properties
    /// that are in force anyway. Leaves the thread at an instruction that does more, which is given
    /// back.
    #[inline]
    fn skip_markers(&mut self, now_ns: u64, number: u32) -> Instr {
        let thread = &mut self.threads[number as usize];
        let program = &self.code.programs[thread.program as usize];
        loop {
            let instr = program.code[thread.pc as usize];
            let in_force = match instr {
                Instr::Begin { .. } => {
                    if let Some(log) = &mut self.log {
                        log.begin(number, now_ns);
                    }
                    true
                }
                Instr::End { phase } => {
                    if let Some(log) = &mut self.log {
                        log.end(number, phase, now_ns);
                    }
                    let phase = program.phases[phase as usize];
                    thread.phase_round += 1;
                    if thread.phase_round < phase.rounds {
                        thread.pc = phase.begin;
                        continue;
                    }
                    thread.phase_round = 0;
                    true
                }
                Instr::Round => {
                    thread.task_round += 1;
                    if thread.task_round < program.rounds {
                        thread.pc = 0;
                        continue;
                    }
                    true
                }
                Instr::Sched { first, later } => {
                    let attr = if thread.task_round == 0 { first } else { later };
                    let passed_over = self.conventions.renice_only_running && !thread.after_run;
                    attr == thread.attr || passed_over
                }
                Instr::Cpus { set } => set == thread.cpus,
                Instr::Group { group } => group == thread.group,
                _ => false,
            };
            if !in_force {
                return instr;
            }
            thread.pc += 1;
        }
    }

    /// Executes the thread's next instruction. None: it goes on with another (after the orders it
    /// has given).
    fn step(&mut self, now_ns: u64, number: u32) -> Result<Option<Op>, Stop> {
        let instr = self.skip_markers(now_ns, number);
        match instr {
            Instr::Sched { .. } | Instr::Cpus { .. } | Instr::Group { .. } => {
                return Ok(self.set_property(number, instr));
            }
            Instr::Exit => return Ok(Some(Op::Exit)),
            _ => {}
        }
        if let Some(ns) = self.pay_before(number, instr) {
            return Ok(Some(Op::Run { ns }));
        }
        self.count_event(now_ns, number).ok_or_else(|| self.no_time_passes(now_ns, number))?;
        self.event(now_ns, number, instr)
    }

    /// Executes an instruction that is an event or part of one.
    fn event(&mut self, now_ns: u64, number: u32, instr: Instr) -> Result<Option<Op>, Stop> {
        Ok(match instr {
            Instr::Run { ns } => self.run(now_ns, number, ns).map(|ns| Op::Run { ns }),
            Instr::Work { ns } => {
                self.go_on(number);
                (ns > 0).then_some(Op::Run { ns })
            }
            Instr::Runtime { ns } => self.runtime(now_ns, number, ns),
            Instr::Sleep { ns } => {
                self.go_on(number);
                (ns > 0).then(|| self.sleep(number, now_ns.saturating_add(ns)))
            }
            Instr::Timer { .. } => self.timer(now_ns, number, instr),
            Instr::Io { device_ns } => {
                self.go_on(number);
                self.threads[number as usize].after_run = false;
                Some(Op::Sleep {
                    until_ns: self.waiting.io_request(now_ns, device_ns),
                    reason: BlockReason::Uninterruptible,
                })
            }
            Instr::Yield => {
                self.go_on(number);
                Some(if self.conventions.yield_goes_on { Op::YieldAndGoOn } else { Op::Yield })
            }
            Instr::Fork { program } => Some(self.fork(now_ns, number, program)?),
            other => self.synchronise(now_ns, number, other),
        })
    }

    /// Brings a property into force that was not.
    fn set_property(&mut self, number: u32, instr: Instr) -> Option<Op> {
        self.go_on(number);
        let thread = &mut self.threads[number as usize];
        let task = TaskId(number);
        match instr {
            Instr::Sched { first, later } => {
                thread.attr = if thread.task_round == 0 { first } else { later };
                let attr = self.code.attrs[thread.attr as usize];
                if self.mutexes.inherit() {
                    self.priority_changed(number);
                    return None;
                }
                Some(Op::SetAttr { task, attr })
            }
            Instr::Cpus { set } => {
                thread.cpus = set;
                let allowed = self.code.cpu_sets[set as usize].clone();
                Some(Op::SetAffinity { task, allowed })
            }
            Instr::Group { group } => {
                thread.group = group;
                let group = self.group_ids[group as usize];
                Some(Op::SetGroup { task, group })
            }
            other => unreachable!("{other:?} is no property"),
        }
    }

    /// `run`: the work there is to do, if any.
    #[inline]
    fn run(&mut self, now_ns: u64, number: u32, ns: u64) -> Option<u64> {
        let thread = &mut self.threads[number as usize];
        thread.pc += 1;
        if let Some(log) = &mut self.log {
            log.work(number, ns, ns);
        }
        if ns == 0 {
            return None;
        }
        thread.stage = Stage::Run;
        thread.since_ns = now_ns;
        thread.after_run = true;
        Some(ns)
    }

    /// `runtime`: a piece of work if the time is not over.
    fn runtime(&mut self, now_ns: u64, number: u32, ns: u64) -> Option<Op> {
        let thread = &mut self.threads[number as usize];
        if thread.stage != Stage::Runtime {
            thread.stage = Stage::Runtime;
            thread.since_ns = now_ns;
            if let Some(log) = &mut self.log {
                log.work(number, 0, ns);
            }
        }
        let passed_ns = now_ns - thread.since_ns;
        if passed_ns >= ns {
            thread.stage = Stage::Fresh;
            thread.pc += 1;
            if let Some(log) = &mut self.log {
                log.ran(number, passed_ns);
            }
            return None;
        }
        thread.after_run = true;
        if let Some(log) = &mut self.log {
            log.work(number, RUNTIME_PIECE_NS, 0);
        }
        let clock_ns = self.calls.map_or(0, |calls| calls.clock_ns);
        Some(Op::Run { ns: RUNTIME_PIECE_NS + clock_ns })
    }

    fn sleep(&mut self, number: u32, until_ns: u64) -> Op {
        self.threads[number as usize].after_run = false;
        Op::Sleep {
            until_ns,
            reason: if self.conventions.uninterruptible {
                BlockReason::Uninterruptible
            } else {
                BlockReason::Interruptible
            },
        }
    }

    fn fork(&mut self, now_ns: u64, number: u32, program: u32) -> Result<Op, Stop> {
        if self.threads.len() >= THREADS_MAX {
            let reason = StopReason::TooManyThreads { most: THREADS_MAX };
            return Err(self.stop(now_ns, number, reason));
        }
        self.go_on(number);
        let delay_ns = self.code.programs[program as usize].delay_ns;
        let child = self.threads.len();
        self.new_thread(program, now_ns.saturating_add(delay_ns), true);
        Ok(Op::Fork { attr: Box::new(self.task_attr(child)), delay_ns })
    }

    fn block(&mut self, now_ns: u64, number: u32, blocked: Blocked) -> Op {
        let thread = &mut self.threads[number as usize];
        thread.blocked = blocked;
        thread.since_ns = now_ns;
        thread.after_run = false;
        Op::Block { reason: BlockReason::Interruptible }
    }

    /// `number` need not wait any more.
    fn unblock(&mut self, number: u32, sync: bool) {
        self.threads[number as usize].blocked = Blocked::No;
        self.orders.push_back(Order::Wake { thread: number, sync });
    }

    fn op(&self, order: Order) -> Op {
        match order {
            Order::Wake { thread, sync } => Op::Wake { task: TaskId(thread), sync },
            Order::Attr { thread } => {
                Op::SetAttr { task: TaskId(thread), attr: self.mutexes.effective(thread) }
            }
            Order::Then(op) => op,
        }
    }
}

impl Workload for Vm {
    type Error = Stop;

    fn initial_tasks(&mut self) -> Vec<NewTask> {
        (0..self.threads.len())
            .map(|number| NewTask {
                attr: self.task_attr(number),
                start_ns: self.threads[number].start_ns,
            })
            .collect()
    }

    fn next(&mut self, now_ns: u64, task: TaskId, _cpu: CpuId) -> Result<Op, Stop> {
        while let Some(order) = self.pending_order(task.0) {
            // Whoever was to wake it may have been quicker than it was to block.
            let woken = self.threads[task.index()].blocked == Blocked::No;
            if !(woken && matches!(order, Order::Then(Op::Block { .. }))) {
                return Ok(self.op(order));
            }
        }
        self.running_again(now_ns, task.0);
        loop {
            if let Some(ns) = self.pay_after(task.0) {
                return Ok(Op::Run { ns });
            }
            let op = self.step(now_ns, task.0)?;
            match (self.orders.pop_front(), op) {
                (None, Some(op)) => return Ok(op),
                (None, None) => {}
                (Some(order), op) => {
                    self.orders.extend(op.map(Order::Then));
                    self.pending.extend(self.orders.drain(..).map(|order| (task.0, order)));
                    return Ok(self.op(order));
                }
            }
        }
    }

    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        // Where calls take time, a thread can lose its CPU in the middle of one.
        if self.threads[task.index()].owes_ns > 0 || self.has_pending(task.0) {
            return None;
        }
        self.running_again(now_ns, task.0);
        loop {
            let Instr::Run { ns } = self.skip_markers(now_ns, task.0) else {
                return None;
            };
            // If that is one too many, `next` will find another too many, and can say so.
            self.count_event(now_ns, task.0)?;
            if let Some(ns) = self.run(now_ns, task.0, ns) {
                return Some(ns);
            }
        }
    }

    fn before_wake(&mut self, now_ns: u64, task: TaskId) -> Option<Op> {
        let Conventions { exit_from_sleep, renice_before_wake, .. } = self.conventions;
        if !exit_from_sleep && !renice_before_wake {
            return None;
        }
        match self.skip_markers(now_ns, task.0) {
            Instr::Exit if exit_from_sleep => Some(Op::Exit),
            instr @ Instr::Sched { .. } if renice_before_wake => self
                .set_property(task.0, instr)
                .or_else(|| self.orders.pop_front().map(|order| self.op(order))),
            _ => None,
        }
    }

    /// It waits for nothing any more, and takes from nobody what it can no longer use. What it
    /// holds it holds for ever, as a mutex that is not robust is held by the dead; see
    /// [`Vm::who_waits`].
    fn killed(&mut self, _now_ns: u64, task: TaskId) {
        let thread = &mut self.threads[task.index()];
        thread.killed = true;
        let blocked = std::mem::take(&mut thread.blocked);
        self.waiting.forget(task.0, blocked);
        self.leave_orders(task.0);
    }

    fn footprint_kib(&self, task: TaskId) -> u32 {
        self.code.programs[self.threads[task.index()].program as usize].footprint_kib
    }

    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        self.coming_burst_ns(task.0)
    }

    fn forked(&mut self, _now_ns: u64, _parent: TaskId, child: TaskId) {
        debug_assert_eq!(
            child.index() + 1,
            self.threads.len(),
            "threads are numbered alike here and in the machine"
        );
    }
}
