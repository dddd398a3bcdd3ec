//! A task of the kernel of programs: its program, its current step, and what it waits for.

use super::blocked::Blocked;
use super::objects::Objects;
use super::part::PartId;
use super::script::Cursor;
use super::step::{Context, OwnState, Program, Step};
use super::wait_queue::Sleeper;
use schedlab_core::{BlockReason, CpuId, TaskAttr, TaskId};
use std::collections::VecDeque;

/// Program of a task.
pub(super) enum Body {
    /// Code.
    Program(Box<dyn Program>),
    /// Plain data, from this instruction on.
    Script(Cursor),
    /// It has ended.
    Over,
}

/// Progress of a task in its current step.
#[derive(Default)]
pub(super) enum Stage {
    /// The next step of its program is needed.
    #[default]
    Between,
    /// This step takes effect: its cost has been spent, or it was blocked and is tried again.
    Effect(Step),
    /// Its part is over: it kills these tasks and ends.
    Kill(Box<Victims>),
    /// It has ended.
    Over,
}

/// Tasks that a task kills, the last one first.
pub(super) struct Victims(pub Vec<TaskId>);

/// Operation that the machine has yet to perform on behalf of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Wake `task`.
    Wake { task: u32, sync: bool },
    /// The effective attributes of `task` have changed.
    Attr { task: u32 },
    /// The task itself reads its CPU clock.
    ReadClock,
    /// The task itself sleeps until it is woken.
    Block { reason: BlockReason },
}

/// How a task has reached the [`Step::Lock`] that takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Attempt {
    /// For the first time.
    #[default]
    First,
    /// It was signalled, and takes the mutex again.
    Signalled,
    /// It was blocked on the mutex, and woken.
    Again,
}

/// Event of a script that is under way, for the log and for events that consist of several pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Timing {
    #[default]
    No,
    /// A `run`, since `since_ns`.
    Run,
    /// A `runtime`, since `since_ns`.
    Runtime,
    /// A `run` of a thread that reads its CPU clock, since `since_ns`. This CPU time is left, ns.
    Reading { left_ns: u64 },
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
    /// Start of the event in [`Timing`]; while blocked: start of the wait.
    pub since_ns: u64,
    /// Attributes at birth, with later changes.
    pub attr: TaskAttr,
    pub footprint_kib: u32,
    /// State that its program can read.
    pub own: OwnState,
    /// Operations of the machine that are left from its current step.
    pub orders: VecDeque<Order>,
    /// CPU time that is left to spend for the step that took effect, ns.
    pub owes_ns: u64,
    /// Differs from [`Attempt::First`] only while it waits for a mutex or a condition.
    pub attempt: Attempt,
    /// Whether the previous event was a run: the task is at the end of its work, and not at a start
    /// or the end of a sleep.
    pub after_run: bool,
    /// Whether it has worked since it last waited for a request, if requests are recorded.
    pub worked: bool,
    pub forked: bool,
    /// Whether it was killed and does nothing more.
    pub killed: bool,
    pub parent: Option<TaskId>,
    /// Number of children that are alive.
    pub children: u32,
    /// Number of children that have ended and were not waited for.
    pub zombies: u32,
    /// Number of wakeups by [`Step::Unpark`] that came while it was not parked.
    pub tokens: u32,
    pub start_ns: u64,
    /// Number of times that it reached a timer, and number of those that had already expired.
    pub periods: u64,
    pub missed_periods: u64,
    /// Time at which its part began, ns.
    pub part_start_ns: u64,
    /// Its place among the tasks that wait for a mutex or are suspended.
    pub ticket: u64,
    /// Used by the check that time passes.
    pub instant_ns: u64,
    pub instant_events: u32,
}

impl Task {
    /// Returns its position in a script, if it executes one.
    #[inline]
    pub fn script(&self) -> Option<&Cursor> {
        match &self.body {
            Body::Script(cursor) => Some(cursor),
            _ => None,
        }
    }

    /// Returns the next step of its program.
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

    /// Makes `step` take effect when the task runs next. The task is in no other step.
    #[inline]
    pub fn defer(&mut self, step: Step) {
        let before = std::mem::replace(&mut self.stage, Stage::Effect(step));
        debug_assert!(matches!(before, Stage::Between));
        // There is nothing to drop, so the check is skipped.
        std::mem::forget(before);
    }

    /// Blocks the task until it is woken.
    #[inline]
    pub fn block(&mut self, now_ns: u64, blocked: Blocked) {
        self.blocked = blocked;
        self.since_ns = now_ns;
        self.after_run = false;
    }

    /// Orders the wakeup of `task` after this step.
    #[inline]
    pub fn order_wake(&mut self, task: u32, sync: bool) {
        self.orders.push_back(Order::Wake { task, sync });
    }
}

/// Whether a task is still suspended as it was when it was queued.
#[inline]
pub(super) fn is_asleep(tasks: &[Task], sleeper: Sleeper) -> bool {
    let task = &tasks[sleeper.task as usize];
    task.blocked == Blocked::Suspended && task.ticket == sleeper.ticket
}
