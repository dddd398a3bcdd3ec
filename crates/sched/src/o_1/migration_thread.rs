//! Affinity and exec, and the migration thread of each CPU, which moves tasks off it.
//!
//! The thread is a `SCHED_FIFO` task of the best priority. It is woken, preempts, does its work in
//! no time and sleeps again, all before anything else runs on its CPU
//! ([`schedule_cpu`](O1::schedule_cpu)). While it is awake it counts in its queue's `nr_running`,
//! but has no weight.

use super::releases::Balancing;
use super::runqueue::MoveReason;
use super::task::{Pid, State, Tasks};
use super::{O1, rules};
use crate::classes::load_balance_2_6_22::Walk;
use schedlab_core::{CpuId, CpuSet, Platform, Question, TaskId, Waker};

impl O1 {
    /// Implements `set_cpus_allowed`. A sleeping task is assigned to an allowed CPU at once. A task
    /// that waits or runs on a CPU that is now forbidden to it is moved by the migration thread.
    pub(super) fn set_cpus_allowed(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        allowed: &CpuSet,
    ) {
        let p = self.tasks.pid(task);
        let cpu = self.tasks[p].cpu;
        self.tasks.set_allowed(task, allowed.clone());
        if allowed.contains(cpu) {
            return;
        }
        if !self.tasks[p].is_queued() {
            let to = self.lowest_allowed(task);
            platform.by_rule(Question::Migrate, to, rules::CPUS_ALLOWED);
            self.set_task_cpu(platform, p, to);
            return;
        }
        self.rqs[cpu.index()].migration_queue.push((p, MoveReason::Forbidden));
        self.wake_migration_thread_first(platform, cpu);
        if self.is_current(p) {
            // Even if the task has priority 0 itself: it waits until it has been moved.
            platform.resched(cpu);
        }
    }

    /// Wakes the migration thread of `cpu` like any real-time task.
    pub(super) fn wake_migration_thread(&mut self, platform: &mut Platform, cpu: CpuId) {
        let thread = Tasks::migration_thread(cpu);
        self.tasks[thread].state = State::Running;
        if !self.tasks[thread].is_queued() {
            self.enqueue_task(thread, self.rqs[cpu.index()].active());
            self.count_in(thread);
        }
        self.check_preempt(platform, thread);
    }

    /// Wakes the migration thread of `cpu` to remove a task from a CPU that is forbidden to it. The
    /// thread is queued even before `SCHED_FIFO` 99 tasks, which have the same priority, so that
    /// none of them can be picked where it may not run.
    fn wake_migration_thread_first(&mut self, platform: &mut Platform, cpu: CpuId) {
        self.wake_migration_thread(platform, cpu);
        let thread = Tasks::migration_thread(cpu);
        self.dequeue_task(thread);
        let rq = &mut self.rqs[cpu.index()];
        let active = rq.active();
        rq.array_mut(active).enqueue_head(&mut self.tasks, thread);
        self.tasks[thread].array = Some(active);
    }

    /// Does the work of the migration thread of `cpu`, once that thread has the CPU.
    pub(super) fn run_migration_thread(&mut self, platform: &mut Platform, cpu: CpuId) {
        if let Some(to) = self.domains.take_push_cpu(cpu) {
            self.active_load_balance(platform, cpu, to);
        }
        while !self.rqs[cpu.index()].migration_queue.is_empty() {
            let (p, why) = self.rqs[cpu.index()].migration_queue.remove(0);
            match why {
                MoveReason::Forbidden => {
                    // In the meantime it may have been pulled, or allowed to stay.
                    if self.tasks[p].cpu == cpu
                        && self.tasks[p].state != State::Dead
                        && !self.tasks.may_run_on(p, cpu)
                    {
                        self.move_task_to_allowed(platform, p);
                    }
                }
                MoveReason::Exec(to) => self.move_after_exec(platform, p, cpu, to),
            }
        }
    }

    /// `sched_exec`: the task that runs on `cpu` moves to the idlest CPU, in 2.6.0 to that of the
    /// emptiest node. The task calls on the migration thread, and sleeps until it has been moved.
    pub(super) fn sched_exec(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let to = match self.params.version.balancing {
            Balancing::ByNumber => self.nodes.emptiest_cpu(cpu, &self.loads),
            Balancing::ByWeight => self.domains.idlest(cpu, Walk::Exec, self.tasks.allowed(task)),
        };
        if to == cpu || !self.tasks.allowed(task).contains(to) {
            return;
        }
        let p = self.tasks.pid(task);
        self.rqs[cpu.index()].migration_queue.push((p, MoveReason::Exec(to)));
        self.wake_migration_thread(platform, cpu);
        self.tasks[p].state = State::Uninterruptible;
        platform.resched(cpu);
    }

    /// Lets the migration thread of `from` move `p`, which has slept since its exec, to `to`, and
    /// wake it as a process would. So `p` may come straight back.
    fn move_after_exec(&mut self, platform: &mut Platform, p: Pid, from: CpuId, to: CpuId) {
        if self.tasks[p].state == State::Dead {
            return;
        }
        if self.tasks[p].cpu == from && self.tasks.may_run_on(p, to) {
            platform.by_rule(Question::Migrate, to, rules::EXEC_IDLEST);
            self.set_task_cpu(platform, p, to);
        }
        self.try_to_wake_up(platform, p, Waker::Process { cpu: from });
    }

    /// Moves `p` to the lowest CPU that it may use. If it was queued, it is queued there. In 2.6.0
    /// it then counts as activated: the estimator counts the time it waited as sleep.
    fn move_task_to_allowed(&mut self, platform: &mut Platform, p: Pid) {
        let from = self.tasks[p].cpu;
        let to = self.lowest_allowed(self.tasks.task_id(p));
        platform.by_rule(Question::Migrate, to, rules::CPUS_ALLOWED);
        if !self.tasks[p].is_queued() {
            self.set_task_cpu(platform, p, to);
            return;
        }
        self.deactivate_task(p);
        self.set_task_cpu(platform, p, to);
        match self.params.version.balancing {
            Balancing::ByNumber => {
                self.activate_task(p, platform.now_ns(), Waker::Process { cpu: from });
            }
            Balancing::ByWeight => {
                self.shift_timestamp(p, from, to);
                self.enqueue_runnable(p);
            }
        }
        self.check_preempt(platform, p);
    }

    /// 2.6.22: moves `p` from queue `from` to queue `to`, and converts its timestamp from the clock
    /// of the first to that of the second.
    #[inline]
    pub(super) fn shift_timestamp(&mut self, p: Pid, from: CpuId, to: CpuId) {
        let clock = |cpu: CpuId| self.rqs[cpu.index()].most_recent_timestamp;
        let (from, to) = (clock(from), clock(to));
        let task = &mut self.tasks[p];
        task.timestamp = task.timestamp.wrapping_sub(from).wrapping_add(to);
    }

    fn lowest_allowed(&self, task: TaskId) -> CpuId {
        self.tasks.allowed(task).first(self.cpus).unwrap_or(CpuId(0))
    }
}
