//! Changes of nice and policy.

use super::{Bfs, prio_of};
use schedlab_core::{Platform, Policy, TaskId};

impl Bfs {
    /// `set_user_nice`: moves the deadline by the difference of the two levels' distances. The
    /// CPU's copy of the deadline does not move.
    pub(super) fn set_user_nice(&mut self, platform: &mut Platform, task: TaskId, nice: i8) {
        let old = core::mem::replace(&mut self.tasks[task].nice, nice);
        if self.tasks[task].policy.is_realtime() {
            return;
        }
        self.refresh(platform, self.tasks[task].cpu);
        self.tasks[task].deadline += self.deadline_distance(nice) - self.deadline_distance(old);
        if self.queue.is_queued(task) {
            self.queue.remove(task);
            self.enqueue(task);
            if nice < old {
                self.try_preempt(platform, task);
            }
        } else if self.tasks[task].on_cpu && nice > old {
            platform.resched(self.tasks[task].cpu);
        }
    }

    /// Implements `sched_setscheduler`.
    pub(super) fn set_policy(
        &mut self,
        platform: &mut Platform,
        task: TaskId,
        policy: Policy,
        rt_priority: u8,
    ) {
        self.refresh(platform, self.tasks[task].cpu);
        let queued = self.queue.is_queued(task);
        if queued {
            self.queue.remove(task);
        }
        let row = &mut self.tasks[task];
        let old_prio = row.prio;
        row.policy = policy;
        row.rt_priority = rt_priority;
        row.prio = prio_of(policy, rt_priority);
        if row.on_cpu {
            let (cpu, prio) = (row.cpu, row.prio);
            self.cpus[cpu.index()].rq_policy = policy;
            self.running[cpu.index()].rq_prio = prio;
            if prio > old_prio {
                platform.resched(cpu);
            }
        } else if queued {
            self.enqueue(task);
            self.try_preempt(platform, task);
        }
    }
}
