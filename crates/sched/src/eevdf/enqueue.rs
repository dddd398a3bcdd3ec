//! Coming and going: how tasks, and the groups above them, get on and off their queues.
//!
//! # Delayed dequeue (6.12)
//!
//! A task that goes to sleep while it has had too much is **not** taken off. It goes on competing
//! as if it were awake, so that time passes for it, and when it would be picked (it is eligible
//! again then) it is removed instead. So nobody escapes what it owes by a short sleep. If it is
//! woken before that, it simply goes on where it stands; what it gained beyond 0 is cut off. To the
//! rest of the kernel it sleeps, but `nr_running` counts it.
//!
//! Groups do the same: a group entity whose queue has become empty may stay a while, with nothing
//! below it.

use super::class::Fair;
use super::entity::NONE;
use super::load_avg::Attach;
use super::throttle::Count;
use super::timeline;
use crate::classes::{Pid, Rqs};
use schedlab_core::{Platform, Policy};

/// Why something is dequeued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dequeue {
    /// It goes to sleep, or exits.
    pub sleep: bool,
    /// Into a state that knows no delay: stopped, dead.
    pub special: bool,
    /// The dequeue had been delayed and is now finished.
    pub finish: bool,
    /// It goes to another CPU.
    pub migrate: bool,
}

/// Why something is enqueued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Enqueue {
    /// It is new.
    pub initial: bool,
}

impl Fair {
    pub(super) fn enqueue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: u32,
        e: u32,
        initial: bool,
    ) {
        let is_curr = self.queues[q as usize].curr == e;
        if is_curr {
            self.place(q, e, initial);
        }
        self.update_curr(rqs, platform, q);
        self.update_load_avg(platform.now_ns(), e, Attach::Attach);
        self.update_runnable(e);
        self.update_group_weight(rqs, platform, e);
        if !is_curr {
            self.place(q, e, initial);
        }
        let queue = &mut self.queues[q as usize];
        queue.load += self.info[e as usize].load;
        queue.nr_queued += 1;
        platform.work.enqueues += 1;
        if !is_curr {
            platform.work.tree(self.queues[q as usize].nr_queued);
            self.tree_insert(q, e);
        }
        self.se[e as usize].on_rq = true;
        self.check_enqueue_throttle(rqs, platform, q);
    }

    /// False: it goes to sleep while it has had too much, and stays queued until that is no longer
    /// so.
    pub(super) fn dequeue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: u32,
        e: u32,
        why: Dequeue,
    ) -> bool {
        self.update_curr(rqs, platform, q);
        self.clear_buddies(e);
        let now_ns = platform.now_ns();
        if self.features.delay_dequeue
            && why.sleep
            && !why.special
            && !why.finish
            && !self.queues[q as usize].eligible(&self.se, self.se[e as usize].vruntime)
        {
            self.update_load_avg(now_ns, e, Attach::No);
            self.se[e as usize].sched_delayed = true;
            if self.is_task(e) {
                self.count_runnable(e, false);
            }
            return false;
        }
        let detach = why.migrate && self.is_task(e);
        self.update_load_avg(now_ns, e, if detach { Attach::Detach } else { Attach::No });
        self.update_runnable(e);
        let mut lag = self.lag(q, e);
        if why.finish && self.features.delay_zero {
            lag = lag.min(0);
        }
        let entity = &mut self.se[e as usize];
        entity.vlag = lag;
        if self.features.place_rel_deadline && !why.sleep {
            entity.deadline = entity.deadline.wrapping_sub(entity.vruntime);
            self.info[e as usize].rel_deadline = true;
        }
        if why.finish {
            entity.sched_delayed = false;
        }
        platform.work.dequeues += 1;
        if self.queues[q as usize].curr != e {
            platform.work.tree(self.queues[q as usize].nr_queued);
            self.tree_remove(q, e);
        }
        self.se[e as usize].on_rq = false;
        let queue = &mut self.queues[q as usize];
        queue.load -= self.info[e as usize].load;
        queue.nr_queued -= 1;
        if queue.nr_queued == 0 {
            self.limits.return_slack(platform, q);
        }
        self.update_group_weight(rqs, platform, e);
        true
    }

    /// A delayed entity is wanted again before its dequeue was finished. If it is owed something by
    /// now it is placed afresh, with nothing. Nobody is charged first: V is as of the last charge.
    pub(super) fn requeue_delayed(&mut self, platform: &mut Platform, e: u32) {
        let q = self.queue_of(e);
        if self.features.delay_zero {
            let lag = self.queues[q as usize]
                .avg_vruntime(&self.se)
                .wrapping_sub(self.se[e as usize].vruntime) as i64;
            if lag > 0 {
                let is_curr = self.queues[q as usize].curr == e;
                self.queues[q as usize].nr_queued -= 1;
                if !is_curr {
                    self.tree_remove(q, e);
                }
                self.se[e as usize].vlag = 0;
                self.place(q, e, false);
                if !is_curr {
                    self.tree_insert(q, e);
                }
                self.queues[q as usize].nr_queued += 1;
            }
        }
        self.update_load_avg(platform.now_ns(), e, Attach::No);
        self.se[e as usize].sched_delayed = false;
        if self.is_task(e) {
            self.count_runnable(e, true);
        }
    }

    /// A task that is queued becomes runnable, or no longer is, which all queues above it count, up
    /// to a throttled one.
    fn count_runnable(&mut self, e: u32, up: bool) {
        let mut e = e;
        while e != NONE {
            let q = self.queue_of(e);
            self.invalidate(q);
            let queue = &mut self.queues[q as usize];
            queue.h_nr_runnable =
                if up { queue.h_nr_runnable + 1 } else { queue.h_nr_runnable - 1 };
            if self.limits.is_throttled(q) {
                return;
            }
            e = self.parent_of(e);
        }
    }

    /// `e` is queued and stays so, while something below it came or went: its averages, its weight
    /// and its slice anew. Returns the smallest slice of the queue it is on.
    pub(super) fn refresh(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: u32,
        slice: u32,
    ) -> u32 {
        let q = self.queue_of(e);
        self.update_load_avg(platform.now_ns(), e, Attach::No);
        self.update_runnable(e);
        self.update_group_weight(rqs, platform, e);
        if self.version.custom_slices() {
            self.se[e as usize].slice = slice;
            if self.queues[q as usize].curr != e {
                timeline::slice_changed(&self.nodes, &mut self.se, self.order, e);
            }
        }
        self.queues[q as usize].min_slice(&self.se)
    }

    /// `enqueue_task_fair`: `task` and those of its ancestors that are not yet queued. Above a
    /// throttled queue nobody hears of it.
    pub(super) fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        why: Enqueue,
    ) {
        let first = self.se_of(task);
        let cpu = rqs.cpu_of(task);
        let runnable = u32::from(!self.se[first as usize].sched_delayed);
        if runnable == 1 {
            self.util_est_enqueue(cpu, task);
        }
        let mut count = Count {
            queued: 1,
            runnable,
            idle: u32::from(rqs.threads[task.index()].policy == Policy::Idle),
        };
        let mut held_back = false;
        let mut initial = why.initial;
        let mut e = first;
        let mut slice = u32::MAX;
        while e != NONE {
            if self.se[e as usize].on_rq {
                if self.se[e as usize].sched_delayed {
                    self.requeue_delayed(platform, e);
                }
                break;
            }
            let q = self.queue_of(e);
            if e != first && self.version.custom_slices() {
                self.se[e as usize].slice = slice;
                self.info[e as usize].custom_slice = true;
            }
            self.enqueue_entity(rqs, platform, q, e, initial);
            held_back = self.count_in(q, &mut count);
            if held_back {
                break;
            }
            slice = self.queues[q as usize].min_slice(&self.se);
            // Only the task is new, not the groups it brings onto their queues.
            initial = false;
            e = self.parent_of(e);
        }
        while e != NONE && !held_back {
            slice = self.refresh(rqs, platform, e, slice);
            held_back = self.count_in(self.queue_of(e), &mut count);
            e = self.parent_of(e);
        }
        rqs.threads[task.index()].on_rq = true;
        if !held_back {
            self.add_nr_running(rqs, cpu, 1);
        }
        self.list_add(cpu, task);
    }

    /// `dequeue_task_fair`. False: the dequeue is delayed, and the task still queued.
    pub(super) fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        why: Dequeue,
    ) -> bool {
        let e = self.se_of(task);
        if !self.se[e as usize].sched_delayed {
            self.util_est_dequeue(rqs.cpu_of(task), task, why.sleep);
        }
        self.dequeue_entities(rqs, platform, e, why)
    }

    /// Takes `first` off its queue, and those of its ancestors whose queues are empty then; up to a
    /// throttled queue.
    pub(super) fn dequeue_entities(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        first: u32,
        why: Dequeue,
    ) -> bool {
        let task = self.info[first as usize].task;
        let cpu = self.queues[self.queue_of(first) as usize].cpu;
        let mut count = Count {
            queued: u32::from(task.is_some()),
            runnable: u32::from(task.is_some() && !self.se[first as usize].sched_delayed),
            idle: u32::from(
                task.is_some_and(|task| rqs.threads[task.index()].policy == Policy::Idle),
            ),
        };
        let was_sched_idle = self.is_sched_idle_rq(rqs, cpu);
        let mut held_back = false;
        let mut reason = why;
        let mut slice = u32::MAX;
        let mut e = first;
        while e != NONE {
            let q = self.queue_of(e);
            if !self.dequeue_entity(rqs, platform, q, e, reason) {
                if e == first && task.is_some() {
                    return false;
                }
                // A group that has had too much stays, with an empty queue, and takes a slice from
                // its own neighbours.
                slice = self.queues[q as usize].min_slice(&self.se);
                break;
            }
            held_back = self.count_out(q, &mut count);
            if held_back {
                break;
            }
            let others = self.queues[q as usize].load != 0;
            slice = self.queues[q as usize].min_slice(&self.se);
            e = self.parent_of(e);
            if others {
                // So that the group goes on, if it may, with another of its own.
                if why.sleep {
                    self.set_next_buddy(e);
                }
                break;
            }
            reason = Dequeue { sleep: true, ..Dequeue::default() };
        }
        while e != NONE && !held_back {
            slice = self.refresh(rqs, platform, e, slice);
            held_back = self.count_out(self.queue_of(e), &mut count);
            e = self.parent_of(e);
        }
        if let Some(task) = task {
            rqs.threads[task.index()].on_rq = false;
            if why.finish && self.tasks[task.index()].reaped {
                self.free.push(core::mem::replace(&mut self.tasks[task.index()].se, NONE));
            }
            if !held_back {
                rqs.sub_nr_running(cpu, 1);
            }
            self.list_remove(cpu, task);
            if !was_sched_idle && self.is_sched_idle_rq(rqs, cpu) {
                self.balance_soon(platform, cpu);
            }
        }
        true
    }

    /// A task that is queued, asleep in fact, is woken.
    pub(super) fn wake_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        self.util_est_enqueue(rqs.cpu_of(task), task);
        self.requeue_delayed(platform, self.se_of(task));
    }

    /// The dequeue of a delayed task is finished before it comes up.
    pub(super) fn finish_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let why = Dequeue { sleep: true, finish: true, ..Dequeue::default() };
        self.dequeue_entities(rqs, platform, self.se_of(task), why);
    }

    pub(super) fn is_delayed(&self, task: Pid) -> bool {
        let e = self.se_of(task);
        e != NONE && self.se[e as usize].sched_delayed
    }
}
