//! Executing scripts: the [`Step`] or operation that comes next.

use super::barrier::BarrierId;
use super::device::DiskId;
use super::kernel::Kernel;
use super::mutex::MutexId;
use super::requests::{Place, Request, Requests};
use super::script::{Instr, Log, NONE, Scripts, ThreadInfo};
use super::semaphore::SemaphoreId;
use super::step::Step;
use super::task::{Body, Order, Task, Timing};
use super::timer::TimerId;
use super::wait_queue::{ConditionId, SuspensionId};
use crate::error::Error;
use schedlab_core::TaskId;
use schedlab_machine::Op;

/// Work between two readings of the clock in a `runtime` event, ns.
const RUNTIME_PIECE_NS: u64 = 32_000;

/// Next event of a script.
pub(super) enum Event {
    /// An operation of the machine alone.
    Op(Op),
    /// A step of the kernel.
    Step(Step),
    /// The operations of the machine are among the task's orders.
    Done,
}

impl Kernel {
    /// Returns the time at which the workload itself ends the run, ns.
    pub fn duration_ns(&self) -> Option<u64> {
        self.scripts.duration_ns
    }

    /// Returns the facts about a script's thread.
    ///
    /// # Panics
    /// If the task does not exist, or executes no script.
    pub fn thread(&self, task: TaskId) -> ThreadInfo<'_> {
        self.thread_info(task).expect("the task executes a script")
    }

    fn thread_info(&self, task: TaskId) -> Option<ThreadInfo<'_>> {
        let this = &self.tasks[task.index()];
        let cursor = this.script()?;
        let script = &self.scripts.scripts[cursor.script as usize];
        Some(ThreadInfo {
            task,
            key: &script.name,
            instance: cursor.instance,
            sched: self.scripts.attrs[script.attr as usize],
            allowed: &self.scripts.cpu_sets[script.cpus as usize],
            group: &self.scripts.groups[script.group as usize],
            start_ns: this.start_ns,
            forked: this.forked,
            rounds: cursor.task_round,
            loop_rounds: cursor.loop_rounds,
            periods: this.periods,
            missed_periods: this.missed_periods,
        })
    }

    /// Iterates over all threads of scripts, including those that have ended.
    pub fn threads(&self) -> impl Iterator<Item = ThreadInfo<'_>> {
        (0..self.tasks.len()).filter_map(|number| self.thread_info(TaskId(number as u32)))
    }

    /// Returns rt-app's own log, if one was requested.
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// Returns the [`log`](Kernel::log) after the run.
    pub fn into_log(self) -> Option<Log> {
        self.log
    }

    /// Returns the recorded requests, if that was requested.
    pub fn requests(&self) -> Option<&Requests> {
        self.requests.as_ref()
    }

    /// Returns the recorded threads' requests that are due and not done at `now_ns`, at which they
    /// are taken to be done.
    pub fn unfinished_requests(&self, now_ns: u64) -> Vec<Request> {
        let thread = |thread: u32| {
            let task = &self.tasks[thread as usize];
            (task.start_ns, task.worked)
        };
        self.requests.as_ref().map_or(vec![], |requests| requests.unfinished(now_ns, thread))
    }

    /// Executes markers: ends and beginnings of phases, and properties that are already in force.
    /// Returns the next other instruction, at which the thread stays, or `None` for a task that
    /// executes no script.
    #[inline]
    pub(super) fn skip_markers(&mut self, now_ns: u64, number: u32) -> Option<Instr> {
        let task = &mut self.tasks[number as usize];
        let passes_over = self.conventions.renice_only_running;
        task.skip_markers(now_ns, number, &self.scripts, passes_over, &mut self.log)
    }

    /// Sets the attributes of the current instruction, and advances. `None`: the operations of the
    /// machine are among the thread's orders.
    pub(super) fn set_script_attr(&mut self, number: u32, first: u32, later: u32) -> Option<Op> {
        let Body::Script(cursor) = &mut self.tasks[number as usize].body else { return None };
        cursor.advance();
        cursor.attr = if cursor.task_round == 0 { first } else { later };
        let attr = self.scripts.attrs[cursor.attr as usize];
        self.set_attr(number, TaskId(number), attr)
    }

    /// Sets the affinity of the current instruction, and advances.
    pub(super) fn set_script_cpus(&mut self, number: u32, set: u32) -> Op {
        if let Body::Script(cursor) = &mut self.tasks[number as usize].body {
            cursor.advance();
            cursor.cpus = set;
        }
        let allowed = self.scripts.cpu_sets[set as usize].clone();
        self.set_affinity(TaskId(number), allowed)
    }

    /// Sets the group of the current instruction, and advances.
    pub(super) fn set_script_group(&mut self, number: u32, group: u32) -> Op {
        if let Body::Script(cursor) = &mut self.tasks[number as usize].body {
            cursor.advance();
            cursor.group = group;
        }
        self.set_group(TaskId(number), self.group_ids[group as usize])
    }

    /// Returns the step for `instr`, the current instruction of the thread, and advances.
    fn step_of(&mut self, now_ns: u64, number: u32, instr: Instr) -> Step {
        let task = &mut self.tasks[number as usize];
        let Body::Script(cursor) = &mut task.body else { return Step::Exit };
        cursor.advance();
        match instr {
            Instr::Run { ns } => {
                task.begin_run(now_ns, number, ns, &mut self.log);
                Step::Run(ns)
            }
            Instr::Work { ns } => {
                task.worked = true;
                Step::Run(ns)
            }
            Instr::Runtime { ns } => self.runtime(now_ns, number, ns),
            Instr::RunReading { ns, every_ns } => self.run_reading(now_ns, number, ns, every_ns),
            Instr::Sleep { ns } => Step::Sleep(ns),
            Instr::Until { ns } => {
                // Timers that have not been used yet count from here. A forked thread counts from
                // its fork.
                task.start_ns = task.start_ns.max(ns);
                Step::SleepUntil(ns)
            }
            Instr::Timer { timer, unique, absolute, period_ns } => {
                // The shared timers come first.
                let first = if unique { cursor.own_timers } else { 0 };
                Step::Timer { timer: TimerId(first + timer), period_ns, absolute }
            }
            Instr::Lock { mutex } => Step::Lock(MutexId(mutex), 0),
            Instr::Unlock { mutex } => Step::Unlock(MutexId(mutex)),
            Instr::Wait { condition, mutex } => {
                Step::WaitCondition(ConditionId(condition), MutexId(mutex))
            }
            Instr::Signal { condition } => Step::Signal(ConditionId(condition)),
            Instr::Broad { condition } => Step::Broadcast(ConditionId(condition)),
            Instr::Barrier { barrier } => Step::Barrier(BarrierId(barrier)),
            Instr::Suspend { key, name } => {
                const { assert!(SuspensionId::NONE.0 == NONE) };
                Step::Suspend([SuspensionId(key), SuspensionId(name)])
            }
            Instr::Resume { name, sync } => Step::Resume { name: SuspensionId(name), sync },
            Instr::Park => Step::Park,
            Instr::Unpark { thread, sync } => Step::Unpark { task: TaskId(thread), sync },
            Instr::SemPost { semaphore } => Step::Post(SemaphoreId(semaphore)),
            Instr::SemWait { semaphore } => Step::Wait(SemaphoreId(semaphore)),
            Instr::Yield => Step::Yield,
            Instr::Exec => Step::Exec,
            Instr::Fork { program, thread } => Step::ForkScript { script: program, thread },
            Instr::Io { disk, device_ns } => Step::Disk(DiskId(disk), device_ns),
            Instr::Exit => Step::Exit,
            Instr::Sched { .. } | Instr::Cpus { .. } | Instr::Group { .. } => {
                unreachable!("properties are set without a step")
            }
            Instr::Begin { .. } | Instr::End { .. } | Instr::Round => {
                unreachable!("markers were skipped")
            }
        }
    }

    /// Takes the next event if it is a run.
    #[inline]
    pub(super) fn take_script_run(&mut self, now_ns: u64, number: u32) -> Option<u64> {
        let count = self.tasks.len();
        let task = &mut self.tasks[number as usize];
        task.script()?;
        task.event_ended(now_ns, number, &mut self.log);
        let passes_over = self.conventions.renice_only_running;
        loop {
            let instr =
                task.skip_markers(now_ns, number, &self.scripts, passes_over, &mut self.log);
            let Some(Instr::Run { ns }) = instr else {
                return None;
            };
            // If the limit is exceeded, `next` also exceeds it, and reports that.
            if !self.instant.count(now_ns, task, count) {
                return None;
            }
            task.advance();
            task.begin_run(now_ns, number, ns, &mut self.log);
            if ns > 0 {
                return Some(ns);
            }
        }
    }

    /// Returns the next event. Runs, sleeps and changes of properties are returned as operations of
    /// the machine, without going through a [`Step`]. Other events are returned as steps.
    #[inline]
    pub(super) fn next_script_event(&mut self, now_ns: u64, number: u32) -> Result<Event, Error> {
        let count = self.tasks.len();
        let task = &mut self.tasks[number as usize];
        task.event_ended(now_ns, number, &mut self.log);
        let passes_over = self.conventions.renice_only_running;
        let instr = task.skip_markers(now_ns, number, &self.scripts, passes_over, &mut self.log);
        match instr {
            Some(Instr::Run { ns: ns @ 1.. }) if self.instant.count(now_ns, task, count) => {
                task.advance();
                task.begin_run(now_ns, number, ns, &mut self.log);
                Ok(Event::Op(Op::Run { ns }))
            }
            Some(Instr::Sleep { ns: ns @ 1.. }) if self.instant.count(now_ns, task, count) => {
                task.advance();
                let until_ns = now_ns.saturating_add(ns);
                self.await_request(now_ns, number, Place::Sleep);
                if let Some(requests) = &mut self.requests {
                    requests.set_due(number, Place::Sleep, until_ns);
                }
                Ok(Event::Op(self.sleep(number, until_ns)))
            }
            Some(Instr::Run { ns: 1.. } | Instr::Sleep { ns: 1.. }) => {
                Err(self.no_time_passes(now_ns, number))
            }
            Some(instr) => self.other_event(now_ns, number, instr),
            None => Ok(Event::Step(Step::Exit)),
        }
    }

    /// Returns an event that is neither run nor sleep. Changes of properties are not counted.
    fn other_event(&mut self, now_ns: u64, number: u32, instr: Instr) -> Result<Event, Error> {
        match instr {
            Instr::Sched { first, later } => {
                let op = self.set_script_attr(number, first, later);
                return Ok(op.map_or(Event::Done, Event::Op));
            }
            Instr::Cpus { set } => return Ok(Event::Op(self.set_script_cpus(number, set))),
            Instr::Group { group } => return Ok(Event::Op(self.set_script_group(number, group))),
            _ => {}
        }
        let step = self.step_of(now_ns, number, instr);
        let count = self.tasks.len();
        let counts = !matches!(step, Step::Exit);
        if counts && !self.instant.count(now_ns, &mut self.tasks[number as usize], count) {
            return Err(self.no_time_passes(now_ns, number));
        }
        Ok(Event::Step(step))
    }

    /// Records that a thread arrives at a place where it may wait for its next request.
    #[inline]
    pub(super) fn await_request(&mut self, now_ns: u64, number: u32, place: Place) {
        if let Some(requests) = &mut self.requests {
            let task = &mut self.tasks[number as usize];
            let worked = std::mem::take(&mut task.worked);
            requests.reach(number, place, now_ns, task.start_ns, worked);
        }
    }

    /// Returns a piece of work of a `runtime` event, if its time is not over.
    fn runtime(&mut self, now_ns: u64, number: u32, ns: u64) -> Step {
        let task = &mut self.tasks[number as usize];
        let mut asked_ns = 0;
        if task.timing != Timing::Runtime {
            task.timing = Timing::Runtime;
            task.since_ns = now_ns;
            asked_ns = ns;
        }
        let passed_ns = now_ns - task.since_ns;
        let is_over = passed_ns >= ns;
        let piece_ns = if is_over { 0 } else { RUNTIME_PIECE_NS };
        if let Some(log) = &mut self.log {
            log.work(number, piece_ns, asked_ns);
        }
        if is_over {
            task.timing = Timing::No;
            if let Some(log) = &mut self.log {
                log.ran(number, passed_ns);
            }
            return Step::Run(0);
        }
        task.after_run = true;
        task.worked = true;
        if let Body::Script(cursor) = &mut task.body {
            // It returns to read the clock.
            cursor.pc = cursor.at;
        }
        Step::Run(RUNTIME_PIECE_NS + self.costs.clock_ns)
    }
}

impl Kernel {
    /// Returns the next piece of a run of `ns` in which the thread reads its CPU clock after every
    /// `every_ns` of CPU time. It reads the clock when the piece is done.
    #[cold]
    fn run_reading(&mut self, now_ns: u64, number: u32, ns: u64, every_ns: u64) -> Step {
        let task = &mut self.tasks[number as usize];
        let left_ns = match task.timing {
            Timing::Reading { left_ns } => left_ns,
            _ => {
                task.begin_run(now_ns, number, ns, &mut self.log);
                ns
            }
        };
        if left_ns == 0 {
            task.timing = Timing::No;
            if let Some(log) = &mut self.log {
                log.ran(number, now_ns - task.since_ns);
            }
            return Step::Run(0);
        }
        let piece_ns = left_ns.min(every_ns);
        task.timing = Timing::Reading { left_ns: left_ns - piece_ns };
        task.orders.push_back(Order::ReadClock);
        if let Body::Script(cursor) = &mut task.body {
            // It returns for the next piece.
            cursor.pc = cursor.at;
        }
        Step::Run(piece_ns)
    }
}

impl Task {
    /// Handles the return of the thread to a CPU: its last event may be over.
    #[inline]
    fn event_ended(&mut self, now_ns: u64, number: u32, log: &mut Option<Log>) {
        match self.timing {
            Timing::Run => {
                self.timing = Timing::No;
                if let Some(log) = log {
                    log.ran(number, now_ns - self.since_ns);
                }
            }
            Timing::Timer => {
                self.timing = Timing::No;
                if let Some(log) = log {
                    log.woke_from_timer(number, now_ns - self.since_ns);
                }
            }
            Timing::No | Timing::Runtime | Timing::Reading { .. } => {}
        }
    }

    /// See [`Kernel::skip_markers`].
    #[inline]
    fn skip_markers(
        &mut self,
        now_ns: u64,
        number: u32,
        scripts: &Scripts,
        passes_over: bool,
        log: &mut Option<Log>,
    ) -> Option<Instr> {
        let Body::Script(cursor) = &mut self.body else { return None };
        let script = &scripts.scripts[cursor.script as usize];
        if script.code[cursor.pc as usize].is_marker() {
            cursor.skip_markers(now_ns, number, script, passes_over && !self.after_run, log);
        }
        Some(script.code[cursor.pc as usize])
    }

    /// Advances to the next instruction.
    #[inline]
    fn advance(&mut self) {
        if let Body::Script(cursor) = &mut self.body {
            cursor.advance();
        }
    }

    #[inline]
    fn begin_run(&mut self, now_ns: u64, number: u32, ns: u64, log: &mut Option<Log>) {
        if let Some(log) = log {
            log.work(number, ns, ns);
        }
        if ns > 0 {
            self.timing = Timing::Run;
            self.since_ns = now_ns;
            self.after_run = true;
            self.worked = true;
        }
    }
}
