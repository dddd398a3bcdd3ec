//! Wakeups.

use super::{Muqss, rules};
use schedlab_core::{CpuId, Platform, Question, TaskId, Waker};

/// Locality from which on two CPUs share no package.
const OTHER_PACKAGE: u8 = 4;

impl Muqss {
    /// `try_to_wake_up`: chooses a CPU for `task`, queues it there, and decides about preemption.
    pub(super) fn wake_up(&mut self, platform: &mut Platform, task: TaskId, waker: Waker) {
        let from = self.tasks[task].cpu;
        let to = self.select_task_rq(platform, task);
        self.tasks[task].cpu = to;
        if to != from {
            platform.by_rule(Question::Migrate, to, rules::WAKE_PLACEMENT);
            platform.migrated(task, from, to);
        }
        // On a CPU of another package an interrupt does the rest, which does not know that the
        // wakeup is synchronous.
        let is_sync = waker.is_sync() && self.nearness.locality(waker.cpu(), to) < OTHER_PACKAGE;
        self.activate(platform, task);
        if !is_sync {
            self.try_preempt(platform, task, to);
        } else if self.has_idle_candidates(task) {
            self.resched_best_idle(platform, task, to);
        } else {
            platform.by_rule(Question::Preempt, to, rules::SYNC_WAKEUP);
        }
    }

    /// The most suitable idle CPU, which is asked to reschedule; else the CPU with the fewest
    /// runnable tasks, the nearest among equals.
    fn select_task_rq(&mut self, platform: &mut Platform, task: TaskId) -> CpuId {
        let row = &self.tasks[task];
        if self.has_idle_candidates(task) {
            let near = match row.allowed.contains(row.cpu) {
                true => row.cpu,
                false => self.first_allowed(&row.allowed),
            };
            if let Some(cpu) = self.resched_best_idle(platform, task, near) {
                platform.by_rule(Question::SelectCpu, cpu, rules::IDLE_CPU);
                return cpu;
            }
        }
        platform.work.queues += self.cpus.len() as u64;
        let cpu = self
            .nearness
            .cpu_order(row.cpu)
            .filter(|&cpu| row.allowed.contains(cpu))
            .min_by_key(|cpu| self.cpus[cpu.index()].nr_running)
            .unwrap_or(row.cpu);
        platform.by_rule(Question::SelectCpu, cpu, rules::FEWEST_RUNNING);
        cpu
    }

    /// Wakes `prev`, which its CPU has switched away from, if it was woken before.
    #[cold]
    pub(super) fn wake_early_ones(&mut self, platform: &mut Platform, prev: TaskId) {
        while let Some(at) = self.early_wakeups.iter().position(|&(task, _)| task == prev) {
            let (task, waker) = self.early_wakeups.remove(at);
            self.wake_up(platform, task, waker);
        }
    }
}
