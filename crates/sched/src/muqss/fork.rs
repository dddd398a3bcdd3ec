//! Starts and forks.

use super::levels::normal_prio;
use super::{Muqss, Task, rules};
use schedlab_core::{CpuId, CpuSet, Platform, Policy, Question, TaskId};

impl Muqss {
    /// The allowed CPU with the fewest tasks.
    pub(super) fn start_cpu(&self, allowed: &CpuSet) -> CpuId {
        allowed
            .iter(self.cpus.len() as u32)
            .min_by_key(|cpu| self.cpus[cpu.index()].tasks)
            .unwrap_or(CpuId(0))
    }

    /// The lowest CPU in `allowed`.
    pub(super) fn first_allowed(&self, allowed: &CpuSet) -> CpuId {
        allowed.first(self.cpus.len() as u32).unwrap_or(CpuId(0))
    }

    /// Starts a task without a parent: a full slice from now on.
    pub(super) fn start(&mut self, platform: &mut Platform, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.update_clock(platform, cpu);
        let row = &mut self.tasks[task];
        row.prio = normal_prio(row.policy, row.rt_priority);
        row.last_ran = self.cpus[cpu.index()].clock.niffies;
        self.refill(task, cpu);
        self.try_preempt(platform, task, cpu);
        self.activate(platform, task);
    }

    /// Starts the child of `parent`, which runs on `cpu`: with the parent's deadline, and half of
    /// the rest of its slice. The child preempts before it is queued, so a CPU that it asks finds
    /// it only when the reschedules come.
    pub(super) fn start_beside(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        parent: TaskId,
        cpu: CpuId,
    ) {
        self.update_clock(platform, cpu);
        self.charge(cpu, parent);
        let niffies = self.niffies(cpu);
        self.tasks[parent].last_ran = niffies;
        let Task { time_slice, deadline, smt_bias, nice, policy, .. } = self.tasks[parent];
        let distance = |nice: i8| self.distances[(nice + 20) as usize];
        let adjustment = distance(self.tasks[task].nice).wrapping_sub(distance(nice));
        let row = &mut self.tasks[task];
        row.prio = normal_prio(row.policy, row.rt_priority);
        row.last_ran = niffies;
        row.time_slice = time_slice;
        row.deadline = deadline.wrapping_add(adjustment as u64);
        row.smt_bias = smt_bias;
        if policy == Policy::Fifo {
            self.refill(task, cpu);
            self.try_preempt(platform, task, cpu);
        } else {
            self.share_slice(platform, task, parent, cpu);
        }
        self.activate(platform, task);
    }

    /// Divides the rest of the slice of `parent`, which runs on `cpu`, between it and its child.
    fn share_slice(&mut self, platform: &mut Platform, child: TaskId, parent: TaskId, cpu: CpuId) {
        self.tasks[parent].time_slice /= 2;
        if self.is_used_up(parent) {
            platform.resched(cpu);
            self.refill(child, cpu);
            let own = self.tasks[child].cpu;
            self.resched_best_idle(platform, child, own);
            return;
        }
        self.tasks[child].time_slice = self.tasks[parent].time_slice;
        if self.has_idle_candidates(child) {
            self.start_timer(platform, cpu, parent);
            self.try_preempt(platform, child, cpu);
        } else {
            platform.by_rule(Question::Preempt, cpu, rules::PARENT_ASKED);
            platform.resched(cpu);
        }
    }
}
