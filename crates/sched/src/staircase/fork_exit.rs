//! Fork and exit: where tasks start and wake, and how slices are divided and returned.

use super::task::Pid;
use super::{Staircase, rules};
use schedlab_core::{CpuId, CpuSet, Platform, Question, Rule, Waker};

impl Staircase {
    /// Returns the allowed CPU with the fewest runnable tasks.
    pub(super) fn start_cpu(&self, allowed: &CpuSet) -> CpuId {
        allowed
            .iter(self.cpus.len() as u32)
            .min_by_key(|&cpu| self.domains.load(cpu).nr_running())
            .unwrap_or(CpuId(0))
    }

    /// Returns the lowest CPU in `allowed`.
    pub(super) fn first_allowed(&self, allowed: &CpuSet) -> CpuId {
        allowed.first(self.cpus.len() as u32).unwrap_or(CpuId(0))
    }

    /// Starts a task without a parent: with a new staircase, as from a parent that has not run in
    /// this rotation of the CPU.
    pub(super) fn start(&mut self, platform: &mut Platform, p: Pid) {
        let cpu = self.tasks[p].cpu;
        self.tasks[p].array = self.cpus[cpu.index()].active(cpu);
        self.set_quota_and_weight(p);
        let task = &mut self.tasks[p];
        // An ordinary task gets its quota together with its place.
        task.time_slice = task.quota;
        task.runnable = true;
        self.activate_task(cpu, p);
        platform.by_rule(Question::SelectCpu, cpu, rules::LEAST_RUNNING);
        platform.by_rule(Question::Preempt, cpu, rules::NEW_TASK);
        platform.resched(cpu);
    }

    /// Starts the child of a running task: at its parent's place, with half of the rest of the
    /// parent's slice.
    pub(super) fn start_beside(
        &mut self,
        platform: &mut Platform,
        p: Pid,
        parent: Pid,
        parent_cpu: CpuId,
    ) {
        let from = &mut self.tasks[parent];
        let half = from.time_slice.max(0) / 2;
        let time_slice = if from.time_slice > 0 { half.max(1) } else { 0 };
        if from.time_slice > 0 {
            from.time_slice = half;
        }
        let (bitmap, rotation, array, prio) = (from.bitmap, from.rotation, from.array, from.prio);
        let address_space = from.address_space;
        let task = &mut self.tasks[p];
        task.time_slice = time_slice;
        task.first_time_slice = true;
        (task.bitmap, task.rotation, task.array, task.prio) = (bitmap, rotation, array, prio);
        task.prio = task.normal_prio();
        task.runnable = true;
        let (cpu, shares_memory) = (task.cpu, task.address_space == address_space);
        self.activate_task(cpu, p);
        let placed = if cpu == parent_cpu { rules::PARENTS_CPU } else { rules::AFFINITY_FORCED };
        platform.by_rule(Question::SelectCpu, cpu, placed);
        if cpu == parent_cpu && !shares_memory {
            platform.by_rule(Question::Preempt, cpu, rules::CHILD_ASKS);
            platform.resched(cpu);
        } else {
            self.resched_if_preempted(platform, p);
        }
    }

    /// `sched_exit`: returns the rest of a first slice to the parent on the same CPU.
    pub(super) fn sched_exit(&mut self, p: Pid) {
        let task = &self.tasks[p];
        if !task.first_time_slice {
            return;
        }
        let (left, cpu) = (task.time_slice.max(0), task.cpu);
        if let Some(parent) = task.parent {
            let parent = self.pid(parent);
            let parent = &mut self.tasks[parent];
            if parent.cpu == cpu && parent.time_slice < parent.quota {
                parent.time_slice = (parent.time_slice + left).min(parent.quota);
            }
        }
    }

    /// Returns the CPU on which a woken task is queued, and the rule: its last CPU, or the waker's,
    /// if that does not upset the balance. There is no search for an idle CPU.
    pub(super) fn wake_cpu(&self, p: Pid, waker: Waker) -> (CpuId, Rule) {
        let task = &self.tasks[p];
        let (this_cpu, prev_cpu) = (waker.cpu(), task.cpu);
        if this_cpu == prev_cpu || !task.allowed.contains(this_cpu) {
            return (prev_cpu, rules::PREV_CPU);
        }
        let leaving = match self.cpus[this_cpu.index()].curr {
            Some(curr) if waker.is_sync() => u64::from(self.tasks[curr].load_weight),
            _ => 0,
        };
        let weight = u64::from(task.load_weight);
        match self.domains.wakes_here(this_cpu, prev_cpu, weight, leaving) {
            Some(rule) => (this_cpu, rule),
            None => (prev_cpu, rules::PREV_CPU),
        }
    }

    /// Moves a queued task to a CPU that it may use.
    pub(super) fn move_to_allowed(&mut self, platform: &mut Platform, p: Pid) {
        let from = self.tasks[p].cpu;
        let to = self.first_allowed(&self.tasks[p].allowed);
        platform.by_rule(Question::Migrate, to, rules::CPUS_ALLOWED);
        self.deactivate_task(from, p);
        self.set_task_cpu(platform, p, to);
        self.activate_task(to, p);
        self.resched_if_preempted(platform, p);
    }
}
