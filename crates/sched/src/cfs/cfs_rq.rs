//! Queues of entities: the timeline, its floor, and what is counted.

use super::entity::{self, Entity, before, max_vruntime};
use super::timeline::Timeline;
use super::{Cfs, releases::InverseRule, row};
use crate::classes::Rqs;
use crate::classes::rbtree::NIL;
use schedlab_core::{CpuId, Platform};

/// `cfs_rq`: the entities of one group on one CPU. The root group's queue of CPU c is queue number
/// c.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Sum of the weights of all entities, the running one included.
    pub load: u64,
    /// The inverse of `load`, 0 if it has yet to be worked out.
    pub load_inverse: u64,
    /// The floor under all virtual times: newcomers and sleepers are placed by it. Never goes back.
    pub min_vruntime: u64,
    /// Waiting entities by virtual time. **The running entity is not in it.**
    pub timeline: Timeline,
    /// The running entity (or the group whose member runs), [`NIL`] if none.
    pub curr: u32,
    /// Buddy: nominated because it was woken.
    pub next: u32,
    /// Buddy: nominated because it was preempted.
    pub last: u32,
    /// Entities, the running one included.
    pub nr_running: u32,
    /// Tasks here and below, those of throttled queues below not counted.
    pub h_nr_running: u32,
    /// What has been charged here, ns.
    pub exec_clock: u64,
    /// The CPU.
    pub cpu: CpuId,
    /// The group.
    pub group: u32,
    /// The group's entity on this CPU, [`NIL`] for the root group.
    pub entity: u32,
    /// The tasks directly in it, the most recently queued first.
    pub newest_task: u32,
    /// The part of the group's shares that this CPU got when they were last divided.
    pub shares: u64,
    /// `load` at that time.
    pub rq_weight: u64,
    /// What this queue's tasks weigh in the eyes of the CPU.
    pub h_load: u64,
}

/// Where virtual time begins: a little before it wraps, so that bugs would show early.
pub const MIN_VRUNTIME_INIT: u64 = (1u64 << 20).wrapping_neg();

impl CfsRq {
    /// An empty queue.
    pub fn new(cpu: CpuId, group: u32, entity: u32) -> CfsRq {
        CfsRq {
            load: 0,
            load_inverse: 0,
            min_vruntime: MIN_VRUNTIME_INIT,
            timeline: Timeline::new(),
            curr: NIL,
            next: NIL,
            last: NIL,
            nr_running: 0,
            h_nr_running: 0,
            exec_clock: 0,
            cpu,
            group,
            entity,
            newest_task: NIL,
            shares: 0,
            rq_weight: 0,
            h_load: 0,
        }
    }

    /// The inverse of the load, kept until the load changes.
    #[inline]
    pub fn load_inverse(&mut self, rule: InverseRule) -> u64 {
        if self.load_inverse == 0 {
            self.load_inverse = entity::inverse(self.load, rule);
        }
        self.load_inverse
    }

    /// `update_min_vruntime`, given the running entity's virtual time if there is one: the floor
    /// follows the entity that is furthest behind, and never goes back. A running entity that has
    /// just left the queue, and not yet the CPU, still counts.
    #[inline]
    fn raise_floor(&mut self, running: Option<u64>) {
        let candidate = match (running, self.timeline.leftmost_vruntime()) {
            (Some(running), Some(leftmost)) => entity::min_vruntime(running, leftmost),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return,
        };
        self.min_vruntime = max_vruntime(self.min_vruntime, candidate);
    }
}

impl Cfs {
    /// `update_curr`: charges the running entity of queue `q` for the time since it was last
    /// charged or picked. One queue only; callers that mean the whole hierarchy walk it.
    #[inline]
    pub(super) fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        let queue = &mut self.queues[q as usize];
        if queue.curr == NIL {
            return;
        }
        let cpu = queue.cpu;
        let clock = rqs.clock(cpu);
        let entity = &mut self.entities[queue.curr as usize];
        let delta = clock.wrapping_sub(entity.exec_start);
        if delta == 0 && !self.version.floor_moves_on_charge_only {
            return;
        }
        queue.exec_clock += delta;
        entity.sum_exec += delta;
        entity.vruntime = entity.vruntime.wrapping_add(entity::fair(delta, entity.load));
        entity.exec_start = clock;
        queue.raise_floor(Some(entity.vruntime));
        if !self.limits.account(platform, row(q), clock, delta) {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// [`raise_floor`](CfsRq::raise_floor) of queue `q`.
    #[inline]
    fn update_min_vruntime(&mut self, q: u32) {
        let queue = &mut self.queues[q as usize];
        let running = if queue.curr == NIL {
            None
        } else {
            Some(self.entities[queue.curr as usize].vruntime)
        };
        queue.raise_floor(running);
    }

    /// Puts a waiting entity into its queue's timeline.
    #[inline]
    pub(super) fn timeline_insert(&mut self, q: u32, e: u32) {
        let entities = &mut self.entities;
        let vruntime = entities[e as usize].vruntime;
        let timeline = &mut self.queues[q as usize].timeline;
        let arrival =
            timeline.insert(e, vruntime, |e, arrival| entities[e as usize].arrival = arrival);
        self.entities[e as usize].arrival = arrival;
    }

    /// Takes an entity out of its queue's timeline.
    #[inline]
    pub(super) fn timeline_remove(&mut self, q: u32, e: u32) {
        let Entity { vruntime, arrival, .. } = self.entities[e as usize];
        self.queues[q as usize].timeline.remove(e, vruntime, arrival);
    }

    /// `account_entity_enqueue`.
    #[inline]
    fn account_enqueue(&mut self, q: u32, e: u32) {
        let queue = &mut self.queues[q as usize];
        let entity = &mut self.entities[e as usize];
        queue.load += entity.load.weight;
        queue.load_inverse = 0;
        queue.nr_running += 1;
        entity.on_rq = true;
        if entity.parent == NIL {
            self.weighted_load[queue.cpu.index()] = queue.load;
        }
        if entity.is_task() {
            entity.newer = NIL;
            entity.older = queue.newest_task;
            let newest = core::mem::replace(&mut queue.newest_task, e);
            if newest != NIL {
                self.entities[newest as usize].newer = e;
            }
        }
    }

    /// `account_entity_dequeue`.
    #[inline]
    fn account_dequeue(&mut self, q: u32, e: u32) {
        let queue = &mut self.queues[q as usize];
        let entity = &mut self.entities[e as usize];
        queue.load -= entity.load.weight;
        queue.load_inverse = 0;
        queue.nr_running -= 1;
        entity.on_rq = false;
        if entity.parent == NIL {
            self.weighted_load[queue.cpu.index()] = queue.load;
        }
        if entity.is_task() {
            let Entity { newer, older, .. } = *entity;
            if newer == NIL {
                queue.newest_task = older;
            } else {
                self.entities[newer as usize].older = older;
            }
            if older != NIL {
                self.entities[older as usize].newer = newer;
            }
        }
    }

    /// `enqueue_entity`: `e` joins its queue; one that wakes is placed first.
    #[inline]
    pub(super) fn enqueue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: u32,
        wakeup: bool,
    ) {
        let q = self.entities[e as usize].cfs_rq;
        self.update_curr(rqs, platform, q);
        self.account_enqueue(q, e);
        if wakeup {
            self.place_entity(q, e, false);
        }
        platform.work.enqueues += 1;
        platform.work.tree(self.queues[q as usize].nr_running);
        if self.queues[q as usize].curr != e {
            self.timeline_insert(q, e);
        }
    }

    /// `dequeue_entity`: `e` leaves its queue. If it runs it stays the queue's `curr`.
    #[inline]
    pub(super) fn dequeue_entity(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: u32) {
        let q = self.entities[e as usize].cfs_rq;
        self.update_curr(rqs, platform, q);
        self.clear_buddies(e);
        platform.work.dequeues += 1;
        if self.queues[q as usize].curr != e {
            platform.work.tree(self.queues[q as usize].nr_running);
            self.timeline_remove(q, e);
        }
        self.account_dequeue(q, e);
        if !self.version.floor_moves_on_charge_only {
            self.update_min_vruntime(q);
        }
    }

    /// Gives an entity another load, whether queued or not (`reweight`: a dequeue and an enqueue
    /// around the change, without placing).
    pub(super) fn reweight_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: u32,
        load: entity::Load,
    ) {
        let queued = self.entities[e as usize].on_rq;
        if queued {
            self.dequeue_entity(rqs, platform, e);
        }
        self.entities[e as usize].load = load;
        if queued {
            self.enqueue_entity(rqs, platform, e, false);
        }
    }

    /// `clear_buddies`: `e` and the groups it is in are nominated no longer.
    #[inline]
    pub(super) fn clear_buddies(&mut self, mut e: u32) {
        while e != NIL {
            let entity = &self.entities[e as usize];
            let queue = &mut self.queues[entity.cfs_rq as usize];
            if queue.last == e {
                queue.last = NIL;
            }
            if queue.next == e {
                queue.next = NIL;
            }
            e = entity.parent;
        }
    }

    /// Checks a queue against its tree.
    pub(super) fn audit_queue(&self, q: u32) -> Result<(), &'static str> {
        let queue = &self.queues[q as usize];
        queue.timeline.audit()?;
        let waiting = queue.timeline.len();
        let running = usize::from(queue.curr != NIL && self.entities[queue.curr as usize].on_rq);
        if waiting + running != queue.nr_running as usize {
            return Err("nr_running is not the number of entities");
        }
        let mut load = 0;
        for (e, vruntime) in queue.timeline.iter() {
            let entity = &self.entities[e as usize];
            if !entity.on_rq || entity.cfs_rq != q || entity.vruntime != vruntime {
                return Err("an entity in the timeline does not belong there");
            }
            load += entity.load.weight;
        }
        if running == 1 {
            load += self.entities[queue.curr as usize].load.weight;
        }
        if load != queue.load {
            return Err("the load is not the sum of the weights");
        }
        let mut tasks = 0;
        let mut e = queue.newest_task;
        while e != NIL {
            tasks += 1;
            if tasks > queue.nr_running {
                return Err("more tasks are listed than queued");
            }
            e = self.entities[e as usize].older;
        }
        let competes = queue.nr_running > 0 && !self.limits.is_throttled(row(q));
        if queue.entity != NIL && self.entities[queue.entity as usize].on_rq != competes {
            return Err("a group is queued although it has nothing to run, or the other way round");
        }
        for buddy in [queue.next, queue.last] {
            if buddy != NIL && !self.entities[buddy as usize].on_rq {
                return Err("a buddy is not queued");
            }
        }
        let too_far = queue.min_vruntime.wrapping_sub(1 << 62);
        if queue.timeline.leftmost_vruntime().is_some_and(|leftmost| before(leftmost, too_far)) {
            return Err("an entity is impossibly far behind");
        }
        Ok(())
    }
}
