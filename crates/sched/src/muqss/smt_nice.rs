//! `SMT_NICE`: threads of one core consider each other's tasks.
//!
//! A thread of a core slows its siblings down. A task therefore does not run beside one that is
//! much more entitled: each task has a *bias*, by level and nice value, and a CPU does not take a
//! task whose claim is less than the greatest bias on the sibling threads. So that it is not held
//! back indefinitely, an ordinary task's bias falls by one with every slice, and one in four may
//! run beside any.
//!
//! A change of the nice value leaves the bias as it is until the slice is refilled, and a check
//! judges the task of a sibling by that task's own bias, too. A task that claims less than its bias
//! is therefore driven from its CPU by each of the others. Two such tasks, each of which gives way
//! to the other on one side only, circle through a core of more than two threads. Each round takes
//! a few reschedules, and nothing but the passage of time ends them.

use super::levels::{IDLE_PRIO, ISO_PRIO, MAX_RT_PRIO, PRIO_LIMIT};
use super::{Muqss, rules};
use schedlab_core::{CpuId, Platform, Policy, Question, TaskId};

/// The bias of real-time tasks.
const RT_BIAS: i32 = 1 << 30;
/// The bias of `SCHED_ISO` tasks on their own level.
const ISO_BIAS: i32 = 1 << 29;
/// Number of times that a CPU checks its sibling threads within a nanosecond.
const CHECKS_MAX: u32 = 16;

impl Muqss {
    /// Sets the bias of `task`, whose slice is refilled.
    pub(super) fn set_smt_bias(&mut self, task: TaskId) {
        let row = &mut self.tasks[task];
        row.smt_bias = match row.prio {
            prio if prio < MAX_RT_PRIO => RT_BIAS,
            ISO_PRIO => ISO_BIAS,
            prio if row.policy == Policy::Idle => i32::from(prio != IDLE_PRIO),
            _ if row.smt_bias > 1 => row.smt_bias - 1,
            _ => 20 - i32::from(row.nice),
        };
    }

    /// `smt_should_schedule`: whether the tasks on the sibling threads of `cpu` let `task` run
    /// there.
    #[inline]
    pub(super) fn smt_allows(&self, task: TaskId, cpu: CpuId) -> bool {
        let siblings = self.nearness.siblings(cpu);
        siblings.is_empty() || self.siblings_allow(task, siblings)
    }

    fn siblings_allow(&self, task: TaskId, siblings: &[CpuId]) -> bool {
        let row = &self.tasks[task];
        if row.prio < MAX_RT_PRIO {
            return true;
        }
        let biases = siblings.iter().map(|sibling| &self.running[sibling.index()]);
        let greatest = biases
            .filter(|running| running.rq_prio != PRIO_LIMIT && running.rq_mm)
            .map(|running| running.rq_smt_bias)
            .max();
        let Some(bias) = greatest.filter(|&bias| bias >= 1) else { return true };
        let claim = match row.prio {
            ISO_PRIO => ISO_BIAS,
            IDLE_PRIO => return false,
            _ => 20 - i32::from(row.nice),
        };
        claim >= bias || bias % 4 == 1
    }

    /// `check_smt_siblings`: asks the busy sibling threads of `cpu` to reschedule whose tasks may
    /// not run beside the others.
    pub(super) fn check_smt_siblings(&mut self, platform: &mut Platform, cpu: CpuId) {
        if !self.nearness.has_threads() || !self.may_check_again(platform, cpu) {
            return;
        }
        for &sibling in self.nearness.siblings(cpu) {
            // (Judged by the siblings of `cpu`, of which it is one itself.)
            if let Some(curr) = self.cpus[sibling.index()].curr
                && !self.smt_allows(curr, cpu)
            {
                platform.by_rule(Question::Preempt, sibling, rules::SIBLING_CHECKED);
                platform.resched(sibling);
            }
        }
    }

    /// Counts a check by `cpu`. Returns whether it is not one too many in this nanosecond.
    fn may_check_again(&mut self, platform: &Platform, cpu: CpuId) -> bool {
        let (at_ns, count) = &mut self.cpus[cpu.index()].siblings_checked;
        if core::mem::replace(at_ns, platform.now_ns()) != platform.now_ns() {
            *count = 0;
        }
        *count += 1;
        *count <= CHECKS_MAX
    }

    /// `wake_smt_siblings`: asks the idle sibling threads of `cpu`, which has become idle, to
    /// reschedule: a task may have been held back there.
    pub(super) fn wake_smt_siblings(&self, platform: &mut Platform, cpu: CpuId) {
        for &sibling in self.nearness.siblings(cpu) {
            if self.cpus[sibling.index()].curr.is_none() {
                platform.resched(sibling);
            }
        }
    }
}
