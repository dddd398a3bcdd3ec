//! How entities join their queues and leave them, with the groups above.

use super::Cfs;
use super::ids::{CfsRqId, EntityId};
use super::load_weight::LoadWeight;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform};

impl Cfs {
    /// `enqueue_task_fair`: `pid` joins its queue, and its groups join theirs
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
            if self.rules.interactive {
                self.interactive_wakes(rqs, pid, e, ran_ns);
            }
        }
        self.enqueue_hierarchy(rqs, platform, e, 1, wakeup);
        self.hrtick_update(rqs, platform, cpu);
    }

    /// `dequeue_task_fair`: `pid` leaves its queue, and its groups leave theirs
    /// ([`dequeue_hierarchy`](Cfs::dequeue_hierarchy)).
    #[inline]
    pub(super) fn dequeue_task_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
    ) {
        self.dequeue_hierarchy(rqs, platform, self.entity_of(pid), 1);
        self.hrtick_update(rqs, platform, cpu);
    }

    /// `e`, with `count` tasks in it, joins its queue, and the groups above join theirs as far as
    /// they were not queued. A throttled queue ends the way up. `wakeup`: `e` is placed like a
    /// waking sleeper. A group that becomes runnable always is, even if its task is new or comes
    /// from elsewhere.
    #[inline]
    pub(super) fn enqueue_hierarchy(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        count: u32,
        wakeup: bool,
    ) {
        let cpu = self.queues[self.entities[e].cfs_rq].cpu;
        let (mut level, mut wakeup, mut joins) = (Some(e), wakeup, true);
        while let Some(e) = level {
            let q = self.entities[e].cfs_rq;
            joins &= !self.entities[e].on_rq;
            if joins {
                self.enqueue_entity(rqs, platform, e, wakeup);
                self.check_enqueue_throttle(rqs, platform, q);
                wakeup = true;
            }
            self.queues[q].h_nr_running += count;
            if self.limits.is_throttled(q) {
                return;
            }
            level = self.entities[e].parent;
        }
        rqs.add_nr_running(cpu, count);
    }

    /// `e`, with `count` tasks in it, leaves its queue, and the groups above leave theirs as far as
    /// they have nothing else to run.
    #[inline]
    pub(super) fn dequeue_hierarchy(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        count: u32,
    ) {
        let cpu = self.queues[self.entities[e].cfs_rq].cpu;
        let (mut level, mut leaves) = (Some(e), true);
        while let Some(e) = level {
            if !self.entities[e].on_rq {
                // Throttled already, further up or just before it was queued.
                return;
            }
            let q = self.entities[e].cfs_rq;
            if leaves {
                self.dequeue_entity(rqs, platform, e);
                if self.queues[q].nr_running == 0 {
                    self.limits.return_slack(platform, q);
                }
            }
            self.queues[q].h_nr_running -= count;
            if self.limits.is_throttled(q) {
                return;
            }
            leaves &= self.queues[q].load == 0;
            level = self.entities[e].parent;
        }
        rqs.sub_nr_running(cpu, count);
    }

    /// `enqueue_entity`: `e` joins its queue; one that wakes is placed first.
    #[inline]
    fn enqueue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        wakeup: bool,
    ) {
        let q = self.entities[e].cfs_rq;
        self.update_curr(rqs, platform, q);
        self.account_entity_enqueue(q, e);
        if wakeup {
            self.place_entity(q, e, false);
        }
        platform.work.enqueues += 1;
        platform.work.tree(self.queues[q].nr_running);
        if self.queues[q].curr != Some(e) {
            self.timeline_insert(q, e);
        }
    }

    /// `dequeue_entity`: `e` leaves its queue. If it runs it stays the queue's `curr`.
    #[inline]
    fn dequeue_entity(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: EntityId) {
        let q = self.entities[e].cfs_rq;
        self.update_curr(rqs, platform, q);
        self.clear_buddies(e);
        platform.work.dequeues += 1;
        if self.queues[q].curr != Some(e) {
            platform.work.tree(self.queues[q].nr_running);
            self.timeline_remove(q, e);
        }
        self.account_entity_dequeue(q, e);
        if !self.rules.min_vruntime_on_charge_only {
            self.update_min_vruntime(q);
        }
    }

    /// `reweight_entity`: gives an entity another weight, whether it is queued or not. If it is, a
    /// dequeue and an enqueue surround the change, without placing.
    pub(super) fn reweight_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        load: LoadWeight,
    ) {
        let on_rq = self.entities[e].on_rq;
        if on_rq {
            self.dequeue_entity(rqs, platform, e);
        }
        self.entities[e].load = load;
        if on_rq {
            self.enqueue_entity(rqs, platform, e, false);
        }
    }

    /// `account_entity_enqueue`: the queue's load, counts and list of tasks.
    #[inline]
    fn account_entity_enqueue(&mut self, q: CfsRqId, e: EntityId) {
        let queue = &mut self.queues[q];
        let entity = &mut self.entities[e];
        queue.load += entity.load.weight;
        queue.load_inverse = 0;
        queue.nr_running += 1;
        entity.on_rq = true;
        if entity.parent.is_none() {
            self.cpu_loads.set_weighted_load(queue.cpu, queue.load);
        }
        if entity.is_task() {
            entity.newer = None;
            entity.older = queue.newest_task.replace(e);
            if let Some(older) = entity.older {
                self.entities[older].newer = Some(e);
            }
        }
    }

    /// `account_entity_dequeue`.
    #[inline]
    fn account_entity_dequeue(&mut self, q: CfsRqId, e: EntityId) {
        let queue = &mut self.queues[q];
        let entity = &mut self.entities[e];
        queue.load -= entity.load.weight;
        queue.load_inverse = 0;
        queue.nr_running -= 1;
        entity.on_rq = false;
        if entity.parent.is_none() {
            self.cpu_loads.set_weighted_load(queue.cpu, queue.load);
        }
        if entity.is_task() {
            let (newer, older) = (entity.newer, entity.older);
            match newer {
                None => queue.newest_task = older,
                Some(newer) => self.entities[newer].older = older,
            }
            if let Some(older) = older {
                self.entities[older].newer = newer;
            }
        }
    }

    /// `__enqueue_entity`: puts a waiting entity into its queue's timeline.
    #[inline]
    pub(super) fn timeline_insert(&mut self, q: CfsRqId, e: EntityId) {
        let entities = &mut self.entities;
        let vruntime = entities[e].vruntime;
        let timeline = &mut self.queues[q].timeline;
        let arrival = timeline.insert(e, vruntime, |e, arrival| entities[e].arrival = arrival);
        self.entities[e].arrival = arrival;
    }

    /// `__dequeue_entity`: takes an entity out of its queue's timeline.
    #[inline]
    pub(super) fn timeline_remove(&mut self, q: CfsRqId, e: EntityId) {
        let entity = &self.entities[e];
        self.queues[q].timeline.remove(e, entity.vruntime, entity.arrival);
    }
}
