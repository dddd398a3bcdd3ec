//! Reschedules, and the requests that a scheduler makes in its hooks.

use super::Machine;
use super::config::TaskState;
use crate::queue::NEVER;
use crate::workload::Workload;
use schedlab_core::platform::{Migration, TimerOrder};
use schedlab_core::{CpuId, Event, Observer, Question, Scheduler, TaskId};

impl<S: Scheduler, W: Workload, O: Observer> Machine<S, W, O> {
    /// Lets `cpu` call the scheduler and switch to the task that it picks.
    #[inline]
    pub(super) fn reschedule(&mut self, cpu: CpuId) {
        let now_ns = self.now_ns;
        self.platform.clear_resched(cpu);
        if cpu.index() >= self.current.len() {
            no_such_cpu(cpu, self.current.len());
        }
        if self.is_offline(cpu) {
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
                self.reap_dead(prev.expect("a previous task had a state"));
            }
            if let Some(prev) = prev
                && !self.late_wakes.is_empty()
            {
                self.wake_late(prev);
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
            // It handles them before it runs user code.
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

    /// Stores the CPU time left of the work of `task`, which lost its CPU or is about to handle a
    /// signal.
    #[inline]
    pub(super) fn interrupt_work(&mut self, task: TaskId, left_ns: u64) {
        let row = &mut self.tasks[task.index()];
        if !row.by_clock {
            row.remaining_ns = left_ns;
        }
    }

    /// Carries out the scheduler's requests, and reports its migrations to the observer.
    #[inline]
    pub(super) fn apply_requests(&mut self) {
        // One test, since usually there is nothing to do.
        if self.platform.take_pending() {
            self.apply_pending_requests();
        }
    }

    #[cold]
    fn apply_pending_requests(&mut self) {
        self.apply_timer_requests();
        for change in self.platform.take_throttlings() {
            self.observer.on(self.now_ns, Event::Throttled { change: &change });
        }
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
                let late_ns = match &mut self.costs {
                    Some(costs) => costs.draw_scheduler_latency_ns(&self.current),
                    None => 0,
                };
                let at_ns = at_ns.saturating_add(late_ns);
                if at_ns <= self.now_ns {
                    self.overdue.push_back(key);
                } else {
                    let rank = self.timers_armed;
                    self.timers_armed = rank.wrapping_add(1);
                    self.timers[phase as usize].set_with_rank(key.0, at_ns, rank);
                }
            }
        }
    }
}

/// Panics because the scheduler named a CPU that does not exist.
#[cold]
pub(super) fn no_such_cpu(cpu: CpuId, cpus: usize) -> ! {
    panic!("the scheduler named CPU {}; the machine has CPUs 0 to {}", cpu.0, cpus - 1)
}

/// Panics because the scheduler picked a task that does not exist.
#[cold]
pub(super) fn no_such_task(task: TaskId, tasks: usize) -> ! {
    panic!("the scheduler picked task {}; the machine has {tasks} tasks, numbered from 0", task.0)
}
