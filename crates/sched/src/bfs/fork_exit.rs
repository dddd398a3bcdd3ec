//! Fork and exit: where tasks start, and how slices are divided and returned.

use super::releases::{ForkRule, RESCHED_US};
use super::{Bfs, rules};
use schedlab_core::{CpuId, CpuSet, Platform, Policy, Question, TaskId};

impl Bfs {
    /// Returns the current slice of `task`: the CPU's copy if it runs.
    pub(super) fn live_slice(&mut self, task: TaskId) -> &mut i32 {
        let row = &mut self.tasks[task];
        if row.on_cpu { &mut self.cpus[row.cpu.index()].rq_time_slice } else { &mut row.time_slice }
    }

    /// 0.316: a child that ends before its slice was ever refilled returns the rest of it.
    pub(super) fn return_first_slice(&mut self, task: TaskId) {
        let row = &self.tasks[task];
        if self.version.fork == ForkRule::HalveAndReturn
            && row.first_time_slice
            && let Some(parent) = row.parent
        {
            let left = (*self.live_slice(task)).max(0);
            let full = self.slice;
            let slice = self.live_slice(parent);
            *slice = (*slice + left).min(full.max(*slice));
        }
    }

    /// Returns the allowed CPU with the fewest tasks.
    pub(super) fn start_cpu(&self, allowed: &CpuSet) -> CpuId {
        allowed
            .iter(self.cpus.len() as u32)
            .min_by_key(|cpu| self.cpus[cpu.index()].tasks)
            .unwrap_or(CpuId(0))
    }

    /// Starts a task without a parent: a full slice from now on.
    pub(super) fn start(&mut self, platform: &mut Platform, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        self.refresh(platform, cpu);
        self.refill(platform, task);
        self.tasks[task].last_ran = platform.now_ns();
        self.refresh(platform, cpu);
        self.activate(task);
        self.try_preempt(platform, task);
    }

    /// Starts the child of a running task: with the parent's deadline, and half of the rest of the
    /// parent's slice.
    pub(super) fn start_beside(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        parent: TaskId,
        cpu: CpuId,
    ) {
        let inherited = self.tasks[parent].nice;
        let adjustment =
            self.deadline_distance(self.tasks[task].nice) - self.deadline_distance(inherited);
        let from = &self.tasks[parent];
        let (time_slice, deadline, last_ran) = (from.time_slice, from.deadline, from.last_ran);
        let row = &mut self.tasks[task];
        row.time_slice = time_slice;
        row.deadline = deadline + adjustment;
        row.last_ran = last_ran;
        if row.policy != Policy::Fifo {
            self.share_slice(platform, task, cpu);
        }
        self.refresh(platform, self.tasks[task].cpu);
        self.activate(task);
        let row = &self.tasks[task];
        if row.address_space != self.tasks[parent].address_space
            && row.cpu == cpu
            && self.idle_map.first(&row.allowed).is_none()
        {
            platform.by_rule(Question::Preempt, cpu, rules::CHILD_ASKS);
            platform.resched(cpu);
        } else {
            self.try_preempt(platform, task);
        }
    }

    /// Divides the rest of the slice of the running task of `cpu` between it and its child.
    pub(super) fn share_slice(&mut self, platform: &mut Platform, child: TaskId, cpu: CpuId) {
        let left = self.cpus[cpu.index()].rq_time_slice;
        match self.version.fork {
            ForkRule::HalveAndReturn => {
                let half = if left > 0 { left / 2 } else { left };
                self.cpus[cpu.index()].rq_time_slice = half;
                self.tasks[child].time_slice = half;
                self.tasks[child].first_time_slice = true;
            }
            ForkRule::HalveOrRefill if left >= 2 * RESCHED_US => {
                self.cpus[cpu.index()].rq_time_slice = left / 2;
                self.tasks[child].time_slice = left / 2;
            }
            ForkRule::HalveOrRefill => {
                self.cpus[cpu.index()].rq_time_slice = 0;
                platform.resched(cpu);
                self.refill(platform, child);
            }
        }
    }
}
