//! The pick of a CPU's next task: down the levels of the groups, on each of which the rules of
//! picking choose an entity.

use super::class::Fair;
use super::flags::DequeueFlags;
use super::ids::CfsRqId;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use super::rules;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Question};

impl<R: PickRule> Fair<R> {
    /// `pick_task_fair`: the task to run on `cpu`. Delayed entities that are picked are dequeued
    /// for good.
    pub(super) fn pick_task_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        'again: loop {
            let mut q = CfsRqId::of_cpu(cpu);
            if self.cfs_rqs[q].nr_queued == 0 {
                return None;
            }
            let mut rule = rules::ONLY_ENTITY;
            loop {
                if self.cfs_rqs[q].competing_curr(&self.se).is_some() {
                    R::update_curr(self, rqs, platform, q);
                }
                if !self.version.throttles_at_charge()
                    && self.limits.has_run_out(q)
                    && self.throttle(rqs, platform, q)
                    && !self.version.throttles_tasks()
                {
                    R::throttled_in_pick(self, rqs, platform, cpu);
                    continue 'again;
                }
                // Before the pick, which takes the buddy marks away in some releases.
                if platform.is_asked() {
                    self.meet_candidates(rqs, q);
                }
                let (e, by) = R::pick_next_entity(self, q)?;
                if by != rules::ONLY_ENTITY {
                    rule = by;
                }
                platform.work.tree(self.cfs_rqs[q].nr_queued);
                if self.se[e].sched_delayed {
                    self.dequeue_entities(rqs, platform, e, DequeueFlags::FINISH);
                    continue 'again;
                }
                match self.info[e].my_q {
                    Some(below) => q = below,
                    None => {
                        platform.because(Question::Pick, cpu, rule, |evidence| {
                            self.account_of_pick(cpu, evidence);
                        });
                        let task = self.info[e].task?;
                        R::picked(self, task);
                        return Some(task);
                    }
                }
            }
        }
    }

    /// The task to run on `cpu`. If none is queued, tries to pull one from another CPU.
    pub(super) fn pick_or_balance(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        loop {
            if let Some(task) = self.pick_task_fair(rqs, platform, cpu) {
                return Some(task);
            }
            if !self.newidle_balance(rqs, platform, cpu) {
                return None;
            }
        }
    }
}
