//! A task of the kernel of programs: its program, where it is in its present step, and what it
//! waits for.

use super::blocked::Blocked;
use super::objects::Objects;
use super::part::PartId;
use super::script::Cursor;
use super::step::{Context, OwnState, Program, Step};
use super::wait_queue::Sleeper;
use schedlab_core::{CpuId, TaskAttr, TaskId};
use std::collections::VecDeque;

/// What a task executes.
pub(super) enum Body {
    /// Code.
    Program(Box<dyn Program>),
    /// Plain data, from this place on.
    Script(Cursor),
    /// It has ended.
    Over,
}

/// Where a task is in its present step.
#[derive(Default)]
pub(super) enum Stage {
    /// Its program is to be asked.
    #[default]
    Between,
    /// This step takes effect: its cost has been burnt, or it was blocked and tries again.
    Effect(Step),
    /// Its part is over: it kills these and ends.
    Kill(Box<Victims>),
    /// It has ended.
    Over,
}

/// Whom a task kills, the last one first.
pub(super) struct Victims(pub Vec<TaskId>);

/// Something that the machine is yet to do on behalf of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Wake `task`.
    Wake { task: u32, sync: bool },
    /// The effective attributes of `task` have changed.
    Attr { task: u32 },
    /// The task itself sleeps until it is woken.
    Block,
}

/// How a task comes to the [`Step::Lock`] that takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Attempt {
    /// For the first time.
    #[default]
    First,
    /// It was signalled, and takes the mutex again.
    Signalled,
    /// It was blocked in it, and woken.
    Again,
}

/// What a script's event is in the middle of, for the log and for events of several pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Timing {
    #[default]
    No,
    /// A `run`, since `since_ns`.
    Run,
    /// A `runtime`, since `since_ns`.
    Runtime,
    /// The sleep of a timer that expires at `since_ns`.
    Timer,
}

/// A task.
pub(super) struct Task {
    pub name: &'static str,
    pub part: PartId,
    pub body: Body,
    pub stage: Stage,
    pub blocked: Blocked,
    pub timing: Timing,
    /// See [`Timing`]; while blocked: since when.
    pub since_ns: u64,
    /// What it was born with, and has set since.
    pub attr: TaskAttr,
    pub footprint_kib: u32,
    /// What its program sees of it.
    pub own: OwnState,
    /// What its present step has yet to make the machine do.
    pub orders: VecDeque<Order>,
    /// What it has yet to burn for the step that took effect, ns.
    pub owes_ns: u64,
    /// Not [`Attempt::First`] only while it waits for a mutex, or a condition.
    pub attempt: Attempt,
    /// The event before was a run: it is at the end of its work, and not at a start or the end of a
    /// sleep.
    pub after_run: bool,
    pub forked: bool,
    /// It will do nothing more.
    pub killed: bool,
    pub parent: Option<TaskId>,
    /// Children that are alive.
    pub children: u32,
    /// Children that have ended and were not waited for.
    pub zombies: u32,
    /// Wakeups by [`Step::Unpark`] that came while it was not parked.
    pub tokens: u32,
    pub start_ns: u64,
    /// How often it has come to a timer, and how often that had expired before.
    pub periods: u64,
    pub missed_periods: u64,
    /// When its part began, ns.
    pub part_start_ns: u64,
    /// Its place among those that wait for a mutex, or are suspended.
    pub ticket: u64,
    /// For the check that time passes.
    pub instant_ns: u64,
    pub instant_events: u32,
}

impl Task {
    /// The script, if it executes one.
    #[inline]
    pub fn script(&self) -> Option<&Cursor> {
        match &self.body {
            Body::Script(cursor) => Some(cursor),
            _ => None,
        }
    }

    /// The next step of its program.
    #[inline]
    pub fn ask(&mut self, now_ns: u64, me: TaskId, cpu: CpuId, objects: &mut Objects) -> Step {
        let Body::Program(program) = &mut self.body else { return Step::Exit };
        let mut context = Context {
            now_ns: now_ns - self.part_start_ns,
            task: me,
            cpu,
            objects,
            own: &mut self.own,
        };
        let mut step = program.next(&mut context);
        if let Step::RunUntil(until_ns) | Step::SleepUntil(until_ns) = &mut step {
            *until_ns = until_ns.saturating_add(self.part_start_ns);
        }
        step
    }

    /// `step` takes effect when the task runs next. It is in no other step.
    #[inline]
    pub fn defer(&mut self, step: Step) {
        let before = std::mem::replace(&mut self.stage, Stage::Effect(step));
        debug_assert!(matches!(before, Stage::Between));
        // There is nothing to drop, and so no need to look.
        std::mem::forget(before);
    }

    /// It sleeps until it is woken.
    #[inline]
    pub fn block(&mut self, now_ns: u64, blocked: Blocked) {
        self.blocked = blocked;
        self.since_ns = now_ns;
        self.after_run = false;
    }

    /// It tells the machine to wake `task` after this step.
    #[inline]
    pub fn order_wake(&mut self, task: u32, sync: bool) {
        self.orders.push_back(Order::Wake { task, sync });
    }
}

/// Whether a task is still suspended as it was when it was queued.
pub(super) fn is_asleep(tasks: &[Task], sleeper: Sleeper) -> bool {
    let task = &tasks[sleeper.task as usize];
    task.blocked == Blocked::Suspended && task.ticket == sleeper.ticket
}
