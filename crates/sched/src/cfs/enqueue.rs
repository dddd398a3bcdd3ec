//! How entities join their queues and leave them, with the groups above.

use super::Cfs;
use super::entity::Entity;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::LoadWeight;
use super::place::place_sleeper;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform};

impl Cfs {
    /// `enqueue_task_fair`: adds `pid` to its queue, and its groups to theirs
    /// ([`enqueue_hierarchy`](Cfs::enqueue_hierarchy)).
    #[inline]
    pub(super) fn enqueue_task_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        wakeup: bool,
    ) {
        let e = self.entity_of(pid);
        if wakeup {
            let ran_ns = self.total_exec(rqs, pid, e);
            self.entities[e].averages.start_runtime = ran_ns;
            if self.version.interactive {
                self.interactive_wakes(rqs, pid, e, ran_ns);
            }
        }
        self.enqueue_hierarchy(rqs, platform, cpu, e, 1, wakeup);
        self.hrtick_update(rqs, platform, cpu);
    }

    /// `dequeue_task_fair`: removes `pid` from its queue, and its groups from theirs
    /// ([`dequeue_hierarchy`](Cfs::dequeue_hierarchy)).
    #[inline]
    pub(super) fn dequeue_task_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
    ) {
        self.dequeue_hierarchy(rqs, platform, cpu, self.entity_of(pid), 1);
        self.hrtick_update(rqs, platform, cpu);
    }

    /// Adds `e`, with `count` tasks in it, to its queue, and the groups above to theirs unless they
    /// are already queued. The walk upward ends at a throttled queue. `wakeup`: `e` is placed like
    /// a waking sleeper. A group that becomes runnable is always placed so, even if its task is new
    /// or comes from elsewhere.
    #[inline]
    pub(super) fn enqueue_hierarchy(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        e: EntityId,
        count: u32,
        wakeup: bool,
    ) {
        let (mut level, mut wakeup, mut joins) = (Some(e), wakeup, true);
        while let Some(e) = level {
            let &Entity { cfs_rq: q, on_rq, parent, .. } = &self.entities[e];
            joins &= !on_rq;
            if joins {
                self.enqueue_entity(rqs, platform, q, e, wakeup);
                self.check_enqueue_throttle(rqs, platform, q);
                wakeup = true;
            } else if self.version.shares_follow_load {
                self.update_cfs_shares(rqs, platform, q);
            }
            self.queues[q].h_nr_running += count;
            if self.limits.is_throttled(q) {
                return;
            }
            level = parent;
        }
        rqs.add_nr_running(cpu, count);
    }

    /// Removes `e`, with `count` tasks in it, from its queue, and the groups above from theirs if
    /// they have nothing else to run.
    #[inline]
    pub(super) fn dequeue_hierarchy(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        e: EntityId,
        count: u32,
    ) {
        let (mut level, mut leaves) = (Some(e), true);
        while let Some(e) = level {
            let &Entity { cfs_rq: q, on_rq, parent, .. } = &self.entities[e];
            if !on_rq {
                // A queue was already throttled, further up or just before its entity was queued.
                return;
            }
            if leaves {
                self.dequeue_entity(rqs, platform, q, e);
                if self.limits.is_used() && self.queues[q].nr_running == 0 {
                    self.limits.return_slack(platform, q);
                }
            }
            let queue = &mut self.queues[q];
            queue.h_nr_running -= count;
            leaves &= queue.load == 0;
            if self.limits.is_throttled(q) {
                return;
            }
            level = parent;
        }
        rqs.sub_nr_running(cpu, count);
    }

    /// `enqueue_entity`: adds `e` to its queue. If `e` wakes, it is placed first.
    #[inline]
    fn enqueue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        wakeup: bool,
    ) {
        self.update_curr(rqs, platform, q);
        let queue = &mut self.queues[q];
        let entity = &mut self.entities[e];
        if wakeup {
            entity.vruntime = place_sleeper(&self.version, &self.tunables, queue, entity);
        }
        queue.account_enqueue(entity);
        if entity.parent.is_none() {
            self.cpu_loads.set_weighted_load(queue.cpu, queue.load);
        }
        platform.work.enqueues += 1;
        platform.work.tree(queue.nr_running);
        let is_task = entity.is_task();
        if queue.curr != Some(e) {
            self.timeline_insert(q, e);
        }
        if is_task {
            self.list_task(q, e);
        }
        if self.version.shares_follow_load {
            self.update_cfs_shares(rqs, platform, q);
        }
    }

    /// `dequeue_entity`: removes `e` from its queue. If `e` runs, it stays the queue's `curr`.
    #[inline]
    fn dequeue_entity(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId, e: EntityId) {
        self.update_curr(rqs, platform, q);
        self.clear_buddies(e);
        platform.work.dequeues += 1;
        let queue = &mut self.queues[q];
        let entity = &mut self.entities[e];
        if queue.curr != Some(e) {
            platform.work.tree(queue.nr_running);
            queue.timeline.remove(e, entity.vruntime, entity.arrival);
        }
        queue.account_dequeue(entity);
        if entity.parent.is_none() {
            self.cpu_loads.set_weighted_load(queue.cpu, queue.load);
        }
        let is_task = entity.is_task();
        if !self.version.min_vruntime_on_charge_only {
            let curr = queue.curr.map(|curr| self.entities[curr].vruntime);
            queue.update_min_vruntime(curr);
        }
        if is_task {
            self.unlist_task(q, e);
        }
        if self.version.shares_follow_load {
            self.update_cfs_shares(rqs, platform, q);
        }
    }

    /// `reweight_entity`: changes the weight of an entity, whether it is queued or not. If it is
    /// queued, a dequeue and an enqueue surround the change, without placement.
    pub(super) fn reweight_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        load: LoadWeight,
    ) {
        let &Entity { cfs_rq: q, on_rq, .. } = &self.entities[e];
        if self.version.shares_follow_load {
            return self.reweight_in_place(rqs, platform, e, load);
        }
        if on_rq {
            self.dequeue_entity(rqs, platform, q, e);
        }
        self.entities[e].load = load;
        if on_rq {
            self.enqueue_entity(rqs, platform, q, e, false);
        }
    }

    /// `reweight_entity` of 3.2: the entity stays where it is.
    fn reweight_in_place(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        load: LoadWeight,
    ) {
        let &Entity { cfs_rq: q, on_rq, .. } = &self.entities[e];
        if on_rq && self.queues[q].curr == Some(e) {
            self.update_curr(rqs, platform, q);
        }
        let entity = &mut self.entities[e];
        let old = core::mem::replace(&mut entity.load, load);
        if on_rq {
            let queue = &mut self.queues[q];
            queue.load = queue.load - old.weight + load.weight;
            queue.load_inverse = 0;
            if entity.parent.is_none() {
                self.cpu_loads.set_weighted_load(queue.cpu, queue.load);
            }
        }
    }

    /// Puts a task at the head of its queue's list of tasks.
    #[inline]
    fn list_task(&mut self, q: CfsRqId, e: EntityId) {
        let older = self.queues[q].newest_task.replace(e);
        let entity = &mut self.entities[e];
        (entity.newer, entity.older) = (None, older);
        if let Some(older) = older {
            self.entities[older].newer = Some(e);
        }
    }

    /// Takes a task off its queue's list of tasks.
    #[inline]
    fn unlist_task(&mut self, q: CfsRqId, e: EntityId) {
        let &Entity { newer, older, .. } = &self.entities[e];
        match newer {
            None => self.queues[q].newest_task = older,
            Some(newer) => self.entities[newer].older = older,
        }
        if let Some(older) = older {
            self.entities[older].newer = newer;
        }
    }

    /// `__enqueue_entity`: puts a waiting entity into its queue's timeline.
    #[inline]
    pub(super) fn timeline_insert(&mut self, q: CfsRqId, e: EntityId) {
        let timeline = &mut self.queues[q].timeline;
        if timeline.must_renumber() {
            timeline.renumber(|e, arrival| self.entities[e].arrival = arrival);
        }
        let entity = &mut self.entities[e];
        entity.arrival = timeline.insert(e, entity.vruntime);
    }

    /// `__dequeue_entity`: takes an entity out of its queue's timeline.
    #[inline]
    pub(super) fn timeline_remove(&mut self, q: CfsRqId, e: EntityId) {
        let entity = &self.entities[e];
        self.queues[q].timeline.remove(e, entity.vruntime, entity.arrival);
    }
}
