//! Changes of nice, policy and affinity, and yields.

use super::levels::normal_prio;
use super::{Muqss, Task, rules};
use schedlab_core::{CpuId, CpuSet, Platform, Policy, Question, TaskId};

impl Muqss {
    /// `set_user_nice`: the deadline moves by the difference of the two levels' distances. If the
    /// task runs, the timer begins again with the slice as last charged.
    pub(super) fn set_user_nice(&mut self, platform: &mut Platform, task: TaskId, nice: i8) {
        let row = &mut self.tasks[task];
        let old = core::mem::replace(&mut row.nice, nice);
        if row.policy.is_realtime() {
            return;
        }
        let distance = |nice: i8| self.distances[(nice + 20) as usize];
        let longer = distance(nice).wrapping_sub(distance(old));
        row.deadline = row.deadline.wrapping_add(longer as u64);
        row.prio = normal_prio(row.policy, row.rt_priority);
        let (cpu, on_cpu) = (row.cpu, row.on_cpu);
        if self.queues.is_queued(task) {
            self.dequeue(platform, task);
            self.enqueue(platform, cpu, task);
            if nice < old {
                self.try_preempt(platform, task, cpu);
            }
        } else if on_cpu {
            self.set_rq_task(platform, cpu, task);
            if nice > old {
                platform.resched(cpu);
            }
        }
    }

    /// `sched_setscheduler`. The nice value stays.
    pub(super) fn set_policy(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        policy: Policy,
        rt_priority: u8,
    ) {
        let row = &mut self.tasks[task];
        let (old_prio, old_rt_priority) = (row.prio, row.rt_priority);
        row.policy = policy;
        row.rt_priority = rt_priority;
        row.prio = normal_prio(policy, rt_priority);
        let (cpu, on_cpu) = (row.cpu, row.on_cpu);
        if on_cpu {
            self.set_rq_task(platform, cpu, task);
            platform.resched(cpu);
        } else if self.queues.is_queued(task) {
            self.dequeue(platform, task);
            self.enqueue(platform, cpu, task);
            if self.tasks[task].prio < old_prio || rt_priority > old_rt_priority {
                self.try_preempt(platform, task, cpu);
            }
        }
    }

    /// `set_cpus_allowed_ptr`: a task that may use the CPU that it belongs to stays where it is.
    pub(super) fn set_allowed(&mut self, platform: &mut Platform, task: TaskId, allowed: &CpuSet) {
        if self.tasks[task].allowed == *allowed {
            return;
        }
        self.tasks[task].allowed = allowed.clone();
        let Task { cpu, on_cpu, .. } = self.tasks[task];
        if allowed.contains(cpu) {
            return;
        }
        if on_cpu {
            // If another task has changed the mask, this one will be queued here, where it may not
            // run, until an allowed CPU finds it.
            self.tasks[task].leaves_cpu = platform.caller() == Some(task);
            platform.resched(cpu);
            return;
        }
        if self.queues.is_queued(task) {
            self.dequeue(platform, task);
            self.queue_where_allowed(platform, task);
        } else {
            self.tasks[task].cpu = self.first_allowed(allowed);
        }
    }

    /// Moves `task`, which is runnable, on no queue and not allowed on its CPU, to the lowest CPU
    /// that it may use.
    pub(super) fn queue_where_allowed(&mut self, platform: &mut Platform, task: TaskId) {
        let to = self.first_allowed(&self.tasks[task].allowed);
        let from = core::mem::replace(&mut self.tasks[task].cpu, to);
        self.cpus[from.index()].tasks -= 1;
        self.cpus[to.index()].tasks += 1;
        platform.by_rule(Question::Migrate, to, rules::CPUS_ALLOWED);
        platform.migrated(task, from, to);
        self.enqueue(platform, to, task);
        self.try_preempt(platform, task, to);
    }

    /// `sched_yield`, as `yield_type` says: nothing, a reschedule, or one with a new slice and
    /// deadline.
    pub(super) fn yields(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        if self.settings.yield_type == 2 {
            self.refill(task, cpu);
        }
        if self.settings.yield_type > 0 {
            platform.resched(cpu);
        }
    }
}
