//! Wakeups, and preemption by a task that became runnable.

use super::super::{Challenge, Class, ClassId, Enqueue, Pid, Select};
use super::{Core6, FairClass6, rules};
use schedlab_core::{CpuId, Platform, Question, Waker};

impl<F: FairClass6> Core6<F> {
    /// Implements `try_to_wake_up`.
    pub(super) fn wake_up(&mut self, platform: &mut Platform, pid: Pid, waker: Waker) {
        let sync = waker.is_sync();
        let cpu = self.core.cpu_of(pid);
        if self.fair.wakeups_read_old_clock() {
            self.core.update_rq_clock(platform, cpu);
        }
        let running = self.core.is_running(pid);
        if self.core.thread(pid).on_rq {
            // The task sleeps, but its dequeue was delayed: it is woken where it is.
            self.fair.wake_delayed(&mut self.core, platform, pid);
            if !running {
                self.wakeup_preempt(platform, pid, Challenge::Wakeup { sync });
            }
            return;
        }
        if running {
            // Its CPU has not yet switched away from it.
            platform.by_rule(Question::SelectCpu, cpu, rules::STILL_CURRENT);
            self.early_wakeups.push((pid, waker));
            return;
        }
        let select = Select::Wakeup { sync };
        let Self { core: rqs, deadline, rt, fair, .. } = self;
        let mut chosen = match rqs.thread(pid).class {
            ClassId::Fair => fair.select_at_wakeup(rqs, platform, pid, waker),
            ClassId::Rt => rt.select_task_rq(rqs, platform, pid, select),
            _ => deadline.select_task_rq(rqs, platform, pid, select),
        };
        if !self.core.is_allowed(pid, chosen) {
            chosen = self.forced_cpu(platform, pid);
        }
        if chosen != cpu {
            platform.by_rule(Question::Migrate, chosen, rules::WAKE_PLACEMENT);
        }
        self.fair.set_task_cpu(&mut self.core, platform, pid, chosen, true);
        self.core.update_rq_clock(platform, chosen);
        self.activate(platform, pid, Enqueue::Wakeup);
        self.fair.woken_on(platform.now_ns(), chosen);
        self.wakeup_preempt(platform, pid, Challenge::Wakeup { sync });
        self.task_woken(platform, pid);
    }

    /// Wakes `prev`, if it was woken before it had left its CPU.
    #[cold]
    pub(super) fn wake_early_ones(&mut self, platform: &mut Platform, prev: Pid) {
        while let Some(at) = self.early_wakeups.iter().position(|&(pid, _)| pid == prev) {
            let (pid, waker) = self.early_wakeups.remove(at);
            self.wake_up(platform, pid, waker);
        }
    }

    /// `wakeup_preempt`: decides whether `pid`, which has become runnable on its CPU, preempts. A
    /// higher class preempts. Within a class, the class decides.
    pub(super) fn wakeup_preempt(
        &mut self,
        platform: &mut Platform,
        pid: Pid,
        challenge: Challenge,
    ) {
        let cpu = self.core.cpu_of(pid);
        let curr = self.core.curr(cpu);
        let (new, old) = (self.class_of(pid), self.class_of(curr));
        if new > old {
            let idle = old == ClassId::Idle;
            let rule = if idle { rules::IDLE_CPU } else { rules::CLASS_ABOVE };
            platform.by_rule(Question::Preempt, cpu, rule);
            self.core.resched_curr(platform, cpu);
        } else if new < old {
            platform.by_rule(Question::Preempt, cpu, rules::CLASS_BELOW);
            if new == ClassId::Fair && self.deadline.has_fair_server() {
                self.defer_fair_server(platform, cpu);
            }
        } else if new == ClassId::Fair {
            let fork = challenge == Challenge::Fork;
            self.fair.wakeup_preempt(&mut self.core, platform, curr, pid, fork);
        } else {
            urgent_class!(self, new, check_preempt_curr(platform, cpu, pid, challenge));
        }
    }

    /// Lets the real-time or the deadline class act after a wakeup.
    pub(super) fn task_woken(&mut self, platform: &mut Platform, pid: Pid) {
        let cpu = self.core.cpu_of(pid);
        urgent_class!(self, self.class_of(pid), task_woken(platform, cpu, pid));
        self.report_moves();
    }

    /// Handles the case that a more urgent task has `cpu` and fair tasks wait there.
    pub(super) fn defer_fair_server(&mut self, platform: &mut Platform, cpu: CpuId) {
        let exec_ns = self.fair.exec_clock(cpu);
        self.deadline.fair_server_charge(&mut self.core, platform, cpu, exec_ns);
        self.deadline.fair_server_defer(&self.core, platform, cpu);
    }
}
