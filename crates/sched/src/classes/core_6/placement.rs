//! CPUs for tasks that may not stay where they are: affinity, CPU hotplug, the stopper's queue.

use super::super::{Challenge, ClassId, Dequeue, Enqueue, Pid};
use super::{Core6, FairClass6, rules};
use schedlab_core::{CpuId, Platform, Question};

impl<F: FairClass6> Core6<F> {
    /// Gives the stopper of `cpu` work. It counts as a thread of its CPU.
    pub(super) fn wake_stopper(&mut self, platform: &mut Platform, cpu: CpuId) {
        if !core::mem::replace(&mut self.core.rqs[cpu.index()].stopper_waits, true) {
            self.fair.add_nr_running(&mut self.core, cpu, 1);
        }
        self.core.resched_curr(platform, cpu);
    }

    /// `move_queued_task`: moves `pid`, queued and not running, to `to`.
    pub(super) fn move_queued(&mut self, platform: &mut Platform, pid: Pid, to: CpuId) {
        let from = self.core.cpu_of(pid);
        let online = self.core.is_online(from);
        let rule = if online { rules::AFFINITY } else { rules::HOTPLUG };
        platform.by_rule(Question::Migrate, to, rule);
        self.core.update_rq_clock(platform, from);
        if self.class_of(pid) == ClassId::Fair {
            self.fair.detach_task(&mut self.core, platform, pid, to);
        } else {
            self.deactivate(platform, pid, Dequeue::Save);
            self.fair.set_task_cpu(&mut self.core, platform, pid, to, false);
        }
        self.core.update_rq_clock(platform, to);
        self.activate(platform, pid, Enqueue::Migrated);
        self.wakeup_preempt(platform, pid, Challenge::Other);
    }

    /// `select_fallback_rq`: returns the CPU for `pid` when it may not use the one chosen at its
    /// wakeup: the first allowed CPU.
    pub(super) fn fallback_cpu(&self, pid: Pid) -> CpuId {
        let allowed = &self.core.settings[pid.index()].allowed;
        allowed.first(self.core.cpus()).unwrap_or(self.core.cpu_of(pid))
    }

    /// `cpumask_any_and_distribute`: returns one of the CPUs on which `pid` may run. Each call by
    /// `caller` gets a different one: the next one after the CPU last returned.
    pub(super) fn next_allowed_cpu(&mut self, pid: Pid, caller: CpuId) -> CpuId {
        let cpus = self.core.cpus();
        let allowed = &self.core.settings[pid.index()].allowed;
        let last = self.last_fallback[caller.index()];
        let round = (1..=cpus).map(|step| CpuId((last.0 + step) % cpus));
        let mut usable = round.filter(|&cpu| allowed.contains(cpu) && self.core.is_online(cpu));
        let chosen = usable.next().unwrap_or(self.core.cpu_of(pid));
        self.last_fallback[caller.index()] = chosen;
        chosen
    }

    /// Calls [`fallback_cpu`](Core6::fallback_cpu), and names it as the rule by which `pid` is
    /// placed.
    #[cold]
    pub(super) fn forced_cpu(&self, platform: &mut Platform, pid: Pid) -> CpuId {
        let cpu = self.fallback_cpu(pid);
        platform.by_rule(Question::SelectCpu, cpu, rules::AFFINITY_FORCED);
        cpu
    }
}
