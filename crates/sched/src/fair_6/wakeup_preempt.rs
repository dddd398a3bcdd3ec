//! Wakeup preemption, as far as it is common to all rules of picking.

use super::class::Fair;
use super::ids::EntityId;
use super::pick_rule::PickRule;
use crate::classes::core_6::rules as core_rules;
use crate::classes::{ClassId, Pid, Preemption, Rqs};
use schedlab_core::{CpuId, Platform, Question};

impl<R: PickRule> Fair<R> {
    /// The ancestors of `a` and `b` (possibly themselves) that are on the same queue.
    pub(super) fn find_matching(&self, a: EntityId, b: EntityId) -> (EntityId, EntityId) {
        let (mut a, mut b) = (a, b);
        let above = |e: EntityId| self.parent_of(e).unwrap_or(e);
        let depth = |e: EntityId| self.info[e].depth;
        if self.cfs_rq_of(a) == self.cfs_rq_of(b) {
            return (a, b);
        }
        while depth(a) > depth(b) {
            a = above(a);
        }
        while depth(b) > depth(a) {
            b = above(b);
        }
        while self.cfs_rq_of(a) != self.cfs_rq_of(b) {
            a = above(a);
            b = above(b);
        }
        (a, b)
    }

    /// `resched_curr_lazy`: asks `cpu` to reschedule on behalf of a fair task. With lazy preemption
    /// a CPU gets no interrupt for it. It reschedules when it next enters the kernel, at the latest
    /// at its tick. (A wakeup on a CPU of another cache is carried out on that CPU itself.)
    #[inline]
    pub(super) fn resched_curr_lazy(&self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.preemption == Preemption::Lazy
            && rqs.this_cpu != cpu
            && self.caches.share_cache(rqs.this_cpu, cpu)
        {
            rqs.resched_at_entry(cpu);
        } else {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// [`check_preempt_wakeup`](PickRule::check_preempt_wakeup) for a task that balancing has moved
    /// here.
    pub(super) fn check_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        task: Pid,
        fork: bool,
    ) {
        let curr = rqs.curr(cpu);
        match rqs.thread(curr).class {
            ClassId::Idle => {
                platform.by_rule(Question::Preempt, cpu, core_rules::IDLE_CPU);
                rqs.resched_curr(platform, cpu);
            }
            ClassId::Fair => R::check_preempt_wakeup(self, rqs, platform, curr, task, fork),
            ClassId::Rt | ClassId::Deadline => {
                platform.by_rule(Question::Preempt, cpu, core_rules::CLASS_BELOW);
            }
        }
    }
}
