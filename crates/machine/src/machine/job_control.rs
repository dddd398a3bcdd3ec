//! Delivery of [`Signals`]: how tasks stop, continue and die.

use super::Machine;
use super::config::TaskState;
use super::signals::Signals;
use crate::queue::NEVER;
use crate::workload::Workload;
use schedlab_core::{BlockReason, CpuId, Event, Observer, Scheduler, TaskId, Waker};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Sends `signal` to a task that is not dead.
    pub(super) fn post(&mut self, task: TaskId, signal: Signals) {
        let row = &mut self.tasks[task.index()];
        let had_signals = !row.signals.is_empty();
        row.signals.insert(signal);
        match row.state {
            TaskState::New if signal == Signals::KILL => self.kill_unborn(task),
            TaskState::Running => {
                if let Some(sleep) = self.pending_sleep(task) {
                    if !matches!(sleep.reason, BlockReason::Interruptible | BlockReason::Futex) {
                        return;
                    }
                    let _ = self.take_sleep(task);
                    let row = &mut self.tasks[task.index()];
                    row.restart.until_ns = sleep.until_ns;
                    row.signals.insert(Signals::RESTART);
                }
                if let Some(cpu) = self.current.iter().position(|&current| current == Some(task)) {
                    let done_ns = self.completions.get(cpu);
                    if done_ns != NEVER && !had_signals {
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
            TaskState::Stopped | TaskState::Frozen if signal == Signals::KILL => self.resume(task),
            _ => {}
        }
    }

    /// Withdraws `signal` (stop or freeze). If nothing else holds the task, it continues.
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
            self.resume(task);
        }
    }

    /// Makes a held task runnable.
    fn resume(&mut self, task: TaskId) {
        self.held -= 1;
        let cpu = self.cpu_near(task);
        self.make_runnable(task, Waker::Process { cpu });
    }

    /// Lets the task that `cpu` runs handle its signals. Returns whether it stopped being runnable.
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

    /// Kills a task that has not been born yet.
    fn kill_unborn(&mut self, task: TaskId) {
        self.sleepers.remove(task.0);
        self.alive -= 1;
        self.workload.killed(self.now_ns, task);
        self.observer.on(self.now_ns, Event::Killed { task });
        let row = &mut self.tasks[task.index()];
        row.unborn = None;
        row.state = if self.reap { TaskState::Reaped } else { TaskState::Zombie };
    }
}
