//! Whose turn it is.

use super::cfs_rq::CfsRqId;
use super::class::Fair;
use super::entity::EntityId;
use super::flags::DequeueFlags;
use super::{rules, timeline};
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Question, Rule};

impl Fair {
    /// Whose turn it is on queue `q` (without regard to buddies): the running entity while it is
    /// eligible and protected, else the earliest deadline among the eligible. `protect`: whether
    /// protection counts. And by which rule.
    pub(super) fn pick_eevdf(&self, q: CfsRqId, protect: bool) -> Option<(EntityId, Rule)> {
        let queue = &self.cfs_rqs[q];
        let curr = queue.competing_curr(&self.se);
        if queue.nr_queued == 1 {
            return Some((curr.or(queue.tree.leftmost())?, rules::ONLY_ENTITY));
        }
        let sums = queue.sums(&self.se);
        let curr = curr.filter(|&curr| sums.eligible(self.se[curr].vruntime));
        if let Some(curr) = curr
            && protect
            && self.protection_counts()
            && self.is_protected(curr)
        {
            return Some((curr, rules::PROTECTED));
        }
        let eligible = |vruntime| sums.eligible(vruntime);
        let best = if self.version.tree_by_deadline() {
            let best = timeline::earliest_eligible(&queue.tree, &self.se, eligible);
            let deadline = |e: EntityId| self.se[e].deadline;
            match (curr, best) {
                (Some(curr), Some(best)) if deadline(curr).is_before(deadline(best)) => Some(curr),
                (_, Some(best)) => Some(best),
                (curr, None) => curr,
            }
        } else {
            timeline::earliest_eligible_by_vruntime(&queue.tree, &self.se, curr, eligible)
        };
        // The smallest vruntime is never above the average, so there is one, unless a product has
        // wrapped.
        match best {
            Some(best) => Some((best, rules::EARLIEST_ELIGIBLE)),
            None => Some((queue.tree.leftmost()?, rules::LEFTMOST)),
        }
    }

    /// The next buddy if it is eligible, else [`pick_eevdf`](Fair::pick_eevdf).
    #[inline]
    fn pick_next_entity(&self, q: CfsRqId) -> Option<(EntityId, Rule)> {
        let queue = &self.cfs_rqs[q];
        if let Some(buddy) = queue.next
            && self.next_buddy_counts()
            && queue.eligible(&self.se, self.se[buddy].vruntime)
        {
            return Some((buddy, rules::NEXT_BUDDY));
        }
        self.pick_eevdf(q, true)
    }

    /// `pick_task_fair`: whose turn it is on `cpu`. Delayed entities that come up are dequeued for
    /// good.
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
                    self.update_curr(rqs, platform, q);
                }
                if self.limits.has_run_out(q) && self.throttle(rqs, platform, q) {
                    continue 'again;
                }
                let (e, by) = self.pick_next_entity(q)?;
                if platform.is_asked() {
                    self.meet_candidates(rqs, q);
                }
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
                        return self.info[e].task;
                    }
                }
            }
        }
    }

    /// Whose turn it is on `cpu`; if nobody is queued, takes somebody from elsewhere.
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
