//! Signals: stop, continue, kill; and the freezer, which works like one.
//!
//! A signal reaches a task when it is about to run user code:
//!
//! * one that **runs** is interrupted at once; what is left of its work it does when it is
//!   continued;
//! * one that **waits for a CPU** stops or dies when it gets one, in no time;
//! * one that **sleeps interruptibly** is woken by the signal to stop or die. When it is continued
//!   it goes back to the rest of its sleep (the kernel restarts the system call), unless that has
//!   ended meanwhile;
//! * one that **sleeps uninterruptibly** is left alone until its sleep ends.
//!
//! A frozen task can be killed, as in the second version of control groups.

use super::{Machine, TaskState};
use crate::queue::NEVER;
use crate::workload::Workload;
use schedlab_core::{BlockReason, CpuId, Event, Observer, Scheduler, TaskId, Waker};

/// What a task is to handle_signals to before it runs user code again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Signals(u8);

impl Signals {
    /// Stop until continued.
    pub const STOP: Signals = Signals(1);
    /// Stop until thawed.
    pub const FREEZE: Signals = Signals(2);
    /// Die.
    pub const KILL: Signals = Signals(4);
    /// Go back to the sleep that a signal interrupted.
    pub const RESTART: Signals = Signals(8);
    /// Stop until the control group is thawed.
    pub const GROUP: Signals = Signals(16);
    /// Either of the two ways to be frozen.
    const FROZEN: Signals = Signals(2 | 16);

    /// Whether there is nothing.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether there is any of `other`.
    pub const fn has(self, other: Signals) -> bool {
        self.0 & other.0 != 0
    }

    fn insert(&mut self, other: Signals) {
        self.0 |= other.0;
    }

    pub fn remove(&mut self, other: Signals) {
        self.0 &= !other.0;
    }
}

/// An interrupted sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Restart {
    /// When it ends, ns; [`NEVER`]: when somebody wakes the task.
    until_ns: u64,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart { until_ns: NEVER }
    }
}

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Sends `signal` to a task that is not dead.
    pub(super) fn post(&mut self, task: TaskId, signal: Signals) {
        let row = &mut self.tasks[task.index()];
        let attends_already = !row.signals.is_empty();
        row.signals.insert(signal);
        match row.state {
            TaskState::New if signal == Signals::KILL => self.never_born(task),
            TaskState::Running => {
                if let Some(sleep) = self.coming_sleep(task) {
                    if sleep.reason != BlockReason::Interruptible {
                        return;
                    }
                    let _ = self.take_sleep(task);
                    let row = &mut self.tasks[task.index()];
                    row.restart.until_ns = sleep.until_ns;
                    row.signals.insert(Signals::RESTART);
                }
                if let Some(cpu) = self.current.iter().position(|&current| current == Some(task)) {
                    let done_ns = self.completions.get(cpu);
                    if done_ns != NEVER && !attends_already {
                        let from_ns = self.user_from_ns(CpuId(cpu as u32));
                        self.interrupt_work(task, done_ns.saturating_sub(from_ns));
                    }
                    self.completions.set(cpu, NEVER);
                    self.handle_signals(CpuId(cpu as u32), task);
                }
            }
            TaskState::Interruptible => {
                row.restart.until_ns = self.sleepers.get(task.0).unwrap_or(NEVER);
                row.signals.insert(Signals::RESTART);
                self.sleepers.remove(task.0);
                let cpu = self.cpu_near(task);
                self.wake(task, Waker::Process { cpu });
            }
            TaskState::Stopped | TaskState::Frozen if signal == Signals::KILL => self.let_go(task),
            _ => {}
        }
    }

    /// Takes back `signal` (stop or freeze); if nothing else holds the task it goes on.
    pub(super) fn release(&mut self, task: TaskId, signal: Signals) {
        let row = &mut self.tasks[task.index()];
        row.signals.remove(signal);
        if !matches!(row.state, TaskState::Stopped | TaskState::Frozen) {
            return;
        }
        if row.signals.has(Signals::STOP) {
            row.state = TaskState::Stopped;
        } else if row.signals.has(Signals::FROZEN) {
            row.state = TaskState::Frozen;
        } else {
            self.let_go(task);
        }
    }

    /// A held task becomes runnable.
    fn let_go(&mut self, task: TaskId) {
        self.held -= 1;
        let cpu = self.cpu_near(task);
        self.make_runnable(task, Waker::Process { cpu });
    }

    /// The task that `cpu` runs sees to its signals. Says whether it stopped being runnable
    /// thereby.
    pub(super) fn handle_signals(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let row = &mut self.tasks[task.index()];
        if row.signals.has(Signals::KILL) {
            self.workload.killed(self.now_ns, task);
            self.block(cpu, task, BlockReason::Dead);
            return true;
        }
        if row.signals.has(Signals::STOP) || row.signals.has(Signals::FROZEN) {
            let frozen = !row.signals.has(Signals::STOP);
            self.block(cpu, task, BlockReason::Stopped);
            if frozen {
                self.tasks[task.index()].state = TaskState::Frozen;
            }
            return true;
        }
        row.signals.remove(Signals::RESTART);
        let until_ns = row.restart.until_ns;
        if until_ns <= self.now_ns {
            return false;
        }
        if until_ns != NEVER {
            self.sleepers.set(task.0, until_ns);
        }
        self.block(cpu, task, BlockReason::Interruptible);
        true
    }

    /// A task is killed that has not come into being.
    fn never_born(&mut self, task: TaskId) {
        self.sleepers.remove(task.0);
        self.alive -= 1;
        self.workload.killed(self.now_ns, task);
        self.observer.on(self.now_ns, Event::Killed { task });
        let row = &mut self.tasks[task.index()];
        row.unborn = None;
        row.state = if self.reap { TaskState::Reaped } else { TaskState::Zombie };
    }
}
