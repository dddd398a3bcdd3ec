//! Changes of nice and policy.

use super::Staircase;
use super::task::Pid;
use schedlab_core::{Platform, Policy};

impl Staircase {
    /// Implements `set_user_nice`.
    pub(super) fn set_user_nice(&mut self, platform: &mut Platform, p: Pid, static_prio: u8) {
        let task = &mut self.tasks[p];
        if task.policy.is_realtime() {
            task.static_prio = static_prio;
            return;
        }
        let (cpu, queued, old_prio, old_weight) =
            (task.cpu, task.queued, task.prio, task.load_weight);
        if queued {
            self.dequeue_task(cpu, p);
        }
        self.tasks[p].static_prio = static_prio;
        self.set_quota_and_weight(p);
        if !queued {
            return;
        }
        self.enqueue_task(cpu, p);
        let task = &self.tasks[p];
        self.domains.reweigh(cpu, u64::from(old_weight), u64::from(task.load_weight));
        let running = self.cpus[cpu.index()].curr == Some(p);
        if task.prio < old_prio || running && (task.prio > old_prio || task.policy == Policy::Idle)
        {
            platform.resched(cpu);
        }
    }

    /// Implements `sched_setscheduler`.
    pub(super) fn set_policy(
        &mut self,
        platform: &mut Platform,
        p: Pid,
        policy: Policy,
        rt_priority: u8,
    ) {
        let task = &self.tasks[p];
        let (cpu, queued, old_prio) = (task.cpu, task.queued, task.prio);
        if queued {
            self.deactivate_task(cpu, p);
        }
        let task = &mut self.tasks[p];
        task.policy = policy;
        task.rt_priority = rt_priority;
        task.prio = task.normal_prio();
        self.set_quota_and_weight(p);
        if !queued {
            return;
        }
        self.activate_task(cpu, p);
        if self.cpus[cpu.index()].curr != Some(p) {
            self.resched_if_preempted(platform, p);
        } else if self.tasks[p].prio > old_prio {
            platform.resched(cpu);
        }
    }
}
