//! The pick: the entity of a queue that runs next.

use super::entity::{Entity, EntityKind};
use super::ids::{CfsRqId, EntityId};
use super::preempt::PreemptVerdict;
use super::releases::Buddies;
use super::{Cfs, rules};
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Question, Rule};

impl Cfs {
    /// `pick_next_task_fair`: picks from the root queue down through the groups to a task.
    #[inline]
    pub(super) fn pick_next_task_fair(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        if self.queues[CfsRqId::root(cpu)].nr_running == 0 {
            return None;
        }
        if platform.is_asked() {
            return Some(self.pick_and_account(rqs, platform, cpu));
        }
        let (pid, rule) = self.pick_task(rqs, platform, cpu);
        platform.by_rule(Question::Pick, cpu, rule);
        Some(pid)
    }

    /// Returns the pick with its account: the candidates are listed before the pick changes
    /// anything.
    #[cold]
    #[inline(never)]
    fn pick_and_account(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) -> Pid {
        let account = self.account_of_pick(rqs, cpu);
        let (pid, rule) = self.pick_task(rqs, platform, cpu);
        platform.because(Question::Pick, cpu, rule, |evidence| *evidence = account);
        pid
    }

    /// Returns the task picked on `cpu`, which has at least one, and the rule.
    #[inline]
    fn pick_task(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) -> (Pid, Rule) {
        let mut q = CfsRqId::root(cpu);
        let mut rule = rules::ONLY;
        let clock = rqs.clock(cpu);
        loop {
            if self.queues[q].nr_running > 1 {
                rule = rule.max(rules::LEFTMOST);
            }
            let e = self.pick_next_entity(q, &mut rule);
            let queue = &mut self.queues[q];
            platform.work.tree(queue.nr_running);
            queue.curr = Some(e);
            let entity = &mut self.entities[e];
            entity.begin_turn(clock);
            match entity.kind {
                EntityKind::Task(pid) => {
                    if rule == rules::LEFTMOST && pid == rqs.curr(cpu) {
                        rule = rules::CURRENT_STAYS;
                    }
                    return (pid, rule);
                }
                EntityKind::Group(my_q) => q = my_q,
            }
        }
    }

    /// `pick_next_entity`: returns the leftmost entity, unless a buddy is not too far ahead of it.
    /// The entity leaves the timeline. If the buddy's rule is larger than `rule`, it replaces
    /// `rule`.
    #[inline]
    fn pick_next_entity(&mut self, q: CfsRqId, rule: &mut Rule) -> EntityId {
        let queue = &mut self.queues[q];
        if queue.last.is_none() && queue.next.is_none() && queue.skip.is_none() {
            return queue.timeline.pop_leftmost().expect("an entity waits");
        }
        let (picked, buddy) = self.pick_buddy_or_leftmost(q);
        *rule = (*rule).max(buddy);
        self.clear_buddies(picked);
        self.timeline_remove(q, picked);
        picked
    }

    /// Returns the pick where there are buddies, and the rule if it is one of them.
    pub(super) fn pick_buddy_or_leftmost(&self, q: CfsRqId) -> (EntityId, Rule) {
        let queue = &self.queues[q];
        let left = queue.timeline.leftmost().expect("an entity waits");
        let near = |buddy: Option<EntityId>, rule: Rule| {
            let buddy = buddy.filter(|&buddy| {
                let (buddy, left) = (&self.entities[buddy], &self.entities[left]);
                self.wakeup_preempt_entity(buddy, left) != PreemptVerdict::Preempt
            });
            buddy.map(|buddy| (buddy, rule))
        };
        let next = || near(queue.next, rules::NEXT_BUDDY);
        let last = || near(queue.last, rules::LAST_BUDDY);
        let second = || {
            let second = queue.timeline.iter().nth(1).map(|(e, _)| e);
            near(second.filter(|_| queue.skip == Some(left)), rules::SKIP_BUDDY)
        };
        let buddy = match self.version.buddies {
            Buddies::None => None,
            Buddies::Preempting => next().or_else(last).or_else(second),
            Buddies::EveryWakeup => next().or_else(last),
            Buddies::Preempted => last().or_else(next),
        };
        // A buddy that is the only entity is picked as such.
        buddy.filter(|_| queue.nr_running > 1).unwrap_or((left, Rule::NONE))
    }

    /// `set_next_entity`: makes `e`, which was put away for a change of attributes, the queue's
    /// `curr` again.
    pub(super) fn set_next_entity(&mut self, rqs: &Rqs, q: CfsRqId, e: EntityId) {
        if self.entities[e].on_rq {
            self.timeline_remove(q, e);
        }
        let queue = &mut self.queues[q];
        queue.curr = Some(e);
        self.entities[e].begin_turn(rqs.clock(queue.cpu));
    }

    /// Calls `put_prev_entity` for the entity of `pid` and its groups, from the task up. Each level
    /// is charged and returns to its timeline if it is still queued. Its queue is throttled if it
    /// has run out of quota.
    #[inline]
    pub(super) fn put_prev_task_fair(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let mut level = Some(self.entity_of(pid));
        while let Some(e) = level {
            let &Entity { cfs_rq: q, on_rq, parent, .. } = &self.entities[e];
            if on_rq {
                self.update_curr(rqs, platform, q);
            }
            self.check_cfs_rq_runtime(rqs, platform, q);
            self.queues[q].curr = None;
            if on_rq {
                platform.work.tree(self.queues[q].nr_running);
                self.timeline_insert(q, e);
            }
            level = parent;
        }
    }
}
