//! The [`Workload`] of the machine: [`Kernel`] takes steps from programs.
//!
//! When the machine requests the next operation of a task, the kernel takes steps of its program.
//! Steps that only concern the kernel are done at once. The first step that concerns the machine is
//! returned. Waking other tasks (a barrier that fills wakes many) yields several operations, which
//! wait in the task's orders.

use super::blocked::Blocked;
use super::calls;
use super::effect::Outcome;
use super::execute::Event;
use super::kernel::{Kernel, PendingFork};
use super::script::{Conventions, Instr};
use super::step::Step;
use super::task::{Body, Order, Stage};
use crate::error::Error;
use schedlab_core::{CpuId, SchedAttr, TaskId};
use schedlab_machine::{NewTask, Op, Workload};

impl Kernel {
    /// Returns the next operation left from a step of the task, or of a dead one. Where operations
    /// take no time they are returned in a row. Otherwise other operations may come in between.
    fn next_order(&mut self, number: u32) -> Option<Op> {
        let this = &mut self.tasks[number as usize];
        loop {
            let order = match self.orphans.is_empty() {
                true => this.orders.pop_front()?,
                false => self.orphans.pop_front()?,
            };
            // The task that was to wake it may have been quicker than the block.
            let woken = this.blocked == Blocked::No;
            if !(woken && matches!(order, Order::Block { .. })) {
                return Some(self.op(order));
            }
        }
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
                    let this = &mut self.tasks[number as usize];
                    let reason = this.blocked.reason();
                    if this.orders.is_empty() {
                        return Ok(Op::Block { reason });
                    }
                    this.orders.push_back(Order::Block { reason });
                }
            }
        }
    }

    fn take_run(&mut self, now_ns: u64, task: TaskId) -> Option<u64> {
        // Where calls take time, a task can lose its CPU inside a call.
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
            // At the start, the task itself sets these when it runs.
            Instr::Cpus { set } if renice_before_wake && !is_start => {
                Some(self.set_script_cpus(number, set))
            }
            Instr::Group { group } if renice_before_wake && !is_start => {
                Some(self.set_script_group(number, group))
            }
            _ => None,
        }
    }

    /// Whether the task is in a system call. A step that wakes several tasks does so in one call.
    fn in_a_call(&self, task: TaskId) -> bool {
        !self.tasks[task.index()].orders.is_empty()
    }

    fn footprint_kib(&self, task: TaskId) -> u32 {
        self.tasks[task.index()].footprint_kib
    }

    fn burst_ns(&self, task: TaskId) -> Option<u64> {
        self.next_script_burst_ns(task.0)
    }

    /// Records that the task no longer waits, and takes nothing that it can no longer use. It keeps
    /// what it holds forever, like a mutex that is not robust and whose owner is dead. See
    /// [`Kernel::wait_graph`].
    fn killed(&mut self, now_ns: u64, task: TaskId) {
        if let Some(requests) = &mut self.requests {
            requests.forget(task.0);
        }
        let this = &mut self.tasks[task.index()];
        this.killed = true;
        let blocked = std::mem::take(&mut this.blocked);
        // The tasks that it was about to wake are woken all the same.
        let is_own = |order: &Order| matches!(order, Order::Block { .. } | Order::ReadClock);
        let left = this.orders.drain(..).filter(|order| !is_own(order));
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
        // With inheritance the attributes in force may be borrowed.
        if !self.objects.inherits {
            self.tasks[task.index()].attr.sched = *in_force;
        }
    }

    fn task_name(&self, task: TaskId) -> String {
        self.thread_name(task)
    }

    fn forked(&mut self, now_ns: u64, parent: TaskId, child: TaskId) {
        let part = self.tasks[parent.index()].part;
        let number =
            match self.forking.take().expect("the machine only reports forks that it was given") {
                PendingFork::Program(spawn, attr) => {
                    self.add_program(*spawn, attr, Some(parent), part, now_ns)
                }
                PendingFork::Script(script, attr, start_ns) => {
                    self.add_script(script, attr, Some(parent), part, start_ns)
                }
            };
        debug_assert_eq!(number, child, "kernel and machine give a task the same number");
        let parent = &mut self.tasks[parent.index()];
        parent.children += 1;
        parent.own.child = Some(child);
    }
}
