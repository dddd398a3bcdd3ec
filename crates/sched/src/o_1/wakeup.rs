//! Wakeups: `try_to_wake_up`.

use super::releases::WakeCpu;
use super::task::{Activated, Pid, State};
use super::{O1, rules};
use crate::classes::load_balance_2_6_22;
use schedlab_core::{CpuId, Platform, Question, Rule, Waker};

impl O1 {
    /// Makes `p` runnable. If it still is, because it has marked itself as sleeping but has not yet
    /// been switched away, nothing else happens.
    pub(super) fn try_to_wake_up(&mut self, platform: &mut Platform, p: Pid, waker: Waker) {
        let slept = core::mem::replace(&mut self.tasks[p].state, State::Running);
        if self.tasks[p].is_queued() {
            platform.by_rule(Question::Preempt, self.tasks[p].cpu, rules::STILL_QUEUED);
            return;
        }
        platform.work.enqueues += 1;
        platform.work.clock_reads += 1;
        match self.params.version.wake_cpu {
            WakeCpu::SyncPull => {
                self.pull_to_sync_waker(platform, p, waker);
                self.mark_disk_sleep(p, slept);
                if waker.is_sync() && self.tasks[p].cpu == waker.cpu() {
                    // The waker has announced that it will sleep: no preemption, and no time for
                    // the estimator either.
                    platform.by_rule(Question::Preempt, waker.cpu(), rules::SYNC_WAKEUP);
                    self.enqueue_runnable(p);
                    return;
                }
                self.activate_task(p, platform.now_ns(), waker);
                self.check_preempt(platform, p);
            }
            WakeCpu::Affine => {
                self.wake_affine(platform, p, waker);
                self.mark_disk_sleep(p, slept);
                let now = self.queue_time(platform, waker.cpu(), self.tasks[p].cpu);
                self.activate_task(p, now, waker);
                if waker.is_sync() && self.tasks[p].cpu == waker.cpu() {
                    platform.by_rule(Question::Preempt, waker.cpu(), rules::SYNC_WAKEUP);
                } else {
                    self.check_preempt(platform, p);
                }
            }
        }
    }

    /// `activate_task`: adds the time since `p` went to sleep to its estimate, and queues it.
    pub(super) fn activate_task(&mut self, p: Pid, now: u64, waker: Waker) {
        let task = &mut self.tasks[p];
        if self.params.version.requeues_every_pick || !task.is_rt() {
            self.params.recalc_task_prio(task, now);
            if task.activated == Activated::No {
                task.activated = match waker {
                    Waker::Interrupt { .. } => Activated::Interrupt,
                    Waker::Process { .. } | Waker::Task { .. } => Activated::Process,
                };
            }
            task.timestamp = now;
        }
        self.enqueue_runnable(p);
    }

    fn mark_disk_sleep(&mut self, p: Pid, slept: State) {
        if slept == State::Uninterruptible {
            self.tasks[p].activated = Activated::Uninterruptible;
        }
    }

    /// Makes 2.6.0's only choice of a CPU at a wakeup: a synchronous waker pulls the task to its
    /// own CPU. Otherwise the task stays where it slept, however busy that CPU is.
    fn pull_to_sync_waker(&mut self, platform: &mut Platform, p: Pid, waker: Waker) {
        let (this, own) = (waker.cpu(), self.tasks[p].cpu);
        if waker.is_sync() && self.tasks.may_run_on(p, this) {
            platform.by_rule(Question::SelectCpu, this, rules::SYNC_PULL);
            if this != own {
                platform.by_rule(Question::Migrate, this, rules::WAKES_ELSEWHERE);
                self.set_task_cpu(platform, p, this);
            }
        } else {
            platform.by_rule(Question::SelectCpu, own, rules::PREV_CPU);
        }
    }

    /// 2.6.22: wakes `p` on its waker's CPU if that does not upset the balance, else where it
    /// slept; or on an idle thread of the same core, if exactly one task is on the CPU so chosen.
    pub(super) fn wake_affine(&mut self, platform: &mut Platform, p: Pid, waker: Waker) {
        let own = self.tasks[p].cpu;
        let (mut cpu, mut rule) = self.affine_cpu(p, waker);
        let may_run_on = |sched: &O1, cpu| sched.tasks.may_run_on(p, cpu);
        let idle = load_balance_2_6_22::wake_idle(self, cpu, may_run_on);
        if idle != cpu {
            (cpu, rule) = (idle, rules::IDLE_THREAD);
        }
        platform.by_rule(Question::SelectCpu, cpu, rule);
        if cpu != own {
            platform.by_rule(Question::Migrate, cpu, rules::WAKES_ELSEWHERE);
            self.set_task_cpu(platform, p, cpu);
        }
    }

    /// Returns the CPU of `waker` or the one on which `p` slept, and the rule.
    fn affine_cpu(&self, p: Pid, waker: Waker) -> (CpuId, Rule) {
        let (this, own) = (waker.cpu(), self.tasks[p].cpu);
        if this == own || !self.tasks.may_run_on(p, this) {
            return (own, rules::PREV_CPU);
        }
        let curr = self.rqs[this.index()].curr;
        let leaving = match curr {
            // The waker counts as asleep already.
            Some(curr) if waker.is_sync() => u64::from(self.tasks[curr].load_weight),
            _ => 0,
        };
        let weight = u64::from(self.tasks[p].load_weight);
        match self.domains.wakes_here(this, own, weight, leaving) {
            Some(rule) => (this, rule),
            None => (own, rules::PREV_CPU),
        }
    }

    /// 2.6.22: returns the present time on the clock of queue `of`, as estimated by CPU `by`. A
    /// queue's clock stands still between its ticks and `schedule()` calls, so the time is
    /// corrected by the difference between the two queues' clocks.
    pub(super) fn queue_time(&self, platform: &Platform, by: CpuId, of: CpuId) -> u64 {
        if by == of {
            return platform.now_ns();
        }
        let clock = |cpu: CpuId| self.rqs[cpu.index()].most_recent_timestamp;
        platform.now_ns().wrapping_sub(clock(by)).wrapping_add(clock(of))
    }
}
