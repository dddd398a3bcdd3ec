//! Picking: which entity of a queue runs next.

use super::Cfs;
use super::entity::EntityKind;
use super::ids::{CfsRqId, EntityId};
use super::preempt::PreemptVerdict;
use super::rules::Buddies;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform};

impl Cfs {
    /// `pick_next_task_fair`: from the root queue down through the groups until a task is reached.
    #[inline]
    pub(super) fn pick_next_task_fair(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let mut q = CfsRqId::root(cpu);
        if self.queues[q].nr_running == 0 {
            return None;
        }
        loop {
            let e = self.pick_next_entity(q);
            platform.work.tree(self.queues[q].nr_running);
            self.set_next_entity(rqs, q, e);
            match self.entities[e].kind {
                EntityKind::Task(pid) => return Some(pid),
                EntityKind::Group(my_q) => q = my_q,
            }
        }
    }

    /// `pick_next_entity`: the leftmost, unless a buddy is not too far ahead of it.
    #[inline]
    fn pick_next_entity(&mut self, q: CfsRqId) -> EntityId {
        let queue = &self.queues[q];
        let left = queue.timeline.leftmost().expect("an entity waits");
        let near = |buddy: Option<EntityId>| {
            buddy
                .filter(|&buddy| self.wakeup_preempt_entity(buddy, left) != PreemptVerdict::Preempt)
        };
        let buddy = match self.rules.buddies {
            Buddies::None => None,
            Buddies::EveryWakeup => near(queue.next).or_else(|| near(queue.last)),
            Buddies::Preempted => near(queue.last).or_else(|| near(queue.next)),
        };
        let picked = buddy.unwrap_or(left);
        self.clear_buddies(picked);
        picked
    }

    /// `set_next_entity`: `e` leaves the timeline and becomes the queue's `curr`.
    #[inline]
    pub(super) fn set_next_entity(&mut self, rqs: &Rqs, q: CfsRqId, e: EntityId) {
        if self.entities[e].on_rq {
            self.timeline_remove(q, e);
        }
        let clock = rqs.clock(self.queues[q].cpu);
        let entity = &mut self.entities[e];
        entity.exec_start = clock;
        entity.prev_sum_exec = entity.sum_exec;
        self.queues[q].curr = Some(e);
    }

    /// `put_prev_entity` for the entity of `pid` and its groups, from the task up. Each level is
    /// charged and goes back to its timeline if it is still queued; its queue is throttled if it
    /// has run out of quota.
    #[inline]
    pub(super) fn put_prev_task_fair(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let mut level = Some(self.entity_of(pid));
        while let Some(e) = level {
            let q = self.entities[e].cfs_rq;
            let on_rq = self.entities[e].on_rq;
            if on_rq {
                self.update_curr(rqs, platform, q);
            }
            self.check_cfs_rq_runtime(rqs, platform, q);
            if on_rq {
                platform.work.tree(self.queues[q].nr_running);
                self.timeline_insert(q, e);
            }
            self.queues[q].curr = None;
            level = self.entities[e].parent;
        }
    }
}
