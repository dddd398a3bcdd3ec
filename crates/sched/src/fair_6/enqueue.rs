//! Enqueue and dequeue: how tasks, and the groups above them, get on and off their queues. (For
//! dequeues that are delayed see [`delayed_dequeue`](super::eevdf::delayed_dequeue).)

use super::class::Fair;
use super::flags::{Attach, Count, DequeueFlags, EnqueueFlags};
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use super::timeline;
use crate::classes::{Pid, Rqs};
use schedlab_core::{Platform, Policy};

impl<R: PickRule> Fair<R> {
    /// `enqueue_entity`.
    pub(super) fn enqueue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        why: EnqueueFlags,
    ) {
        let is_curr = self.cfs_rqs[q].curr == Some(e);
        if is_curr {
            R::place_curr(self, q, e, why);
        }
        R::update_curr(self, rqs, platform, q);
        self.update_load_avg(platform.now_ns(), e, Attach::Attach);
        self.update_runnable(e);
        self.update_cfs_group(rqs, platform, e);
        if self.version.tracks_runnable_load() {
            self.queue_runnable_load(q, e);
        }
        R::place(self, platform.now_ns(), q, e, why, is_curr);
        let queue = &mut self.cfs_rqs[q];
        queue.load += self.info[e].load;
        queue.nr_queued += 1;
        platform.work.enqueues += 1;
        if !is_curr {
            platform.work.tree(queue.nr_queued);
            self.tree_insert(q, e);
        }
        self.se[e].on_rq = true;
        if self.version.throttles_tasks() && self.cfs_rqs[q].pelt_clock.is_stopped {
            self.cfs_rqs[q].pelt_clock.resume(platform.now_ns());
        }
        self.check_enqueue_throttle(rqs, platform, q);
    }

    /// `dequeue_entity`. Returns false if `e` goes to sleep while it has received too much: it then
    /// stays queued until it is eligible.
    pub(super) fn dequeue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        how: DequeueFlags,
    ) -> bool {
        R::update_curr(self, rqs, platform, q);
        R::clear_buddies(self, e);
        if R::delays(self, platform, q, e, how) {
            return false;
        }
        let detach = how.migrate && self.is_task(e) && !self.version.attaches_outside_queueing();
        let attach = if detach { Attach::Detach } else { Attach::No };
        self.update_load_avg(platform.now_ns(), e, attach);
        self.update_runnable(e);
        if self.version.tracks_runnable_load() {
            self.unqueue_runnable_load(q, e);
        }
        R::leaves(self, q, e, how);
        platform.work.dequeues += 1;
        if self.cfs_rqs[q].curr != Some(e) {
            platform.work.tree(self.cfs_rqs[q].nr_queued);
            self.tree_remove(q, e);
        }
        self.se[e].on_rq = false;
        let queue = &mut self.cfs_rqs[q];
        queue.load -= self.info[e].load;
        queue.nr_queued -= 1;
        if queue.nr_queued == 0 {
            self.limits.return_slack(platform, q);
            if self.version.throttles_tasks() && self.is_throttled_below(q) {
                self.cfs_rqs[q].pelt_clock.stop(platform.now_ns());
            }
        }
        self.update_cfs_group(rqs, platform, e);
        R::left(self, q, e, how);
        true
    }

    /// Refreshes the averages, weight and slice of `e`, which is queued and stays so, after
    /// something below it was queued or dequeued. Returns the smallest slice of the queue it is on.
    pub(super) fn refresh(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        slice: u32,
    ) -> u32 {
        let q = self.cfs_rq_of(e);
        self.update_load_avg(platform.now_ns(), e, Attach::No);
        self.update_runnable(e);
        self.update_cfs_group(rqs, platform, e);
        if self.version.custom_slices() {
            self.se[e].slice = slice;
            let follows = self.order.exact_slices || self.version.slices_follow_at_once();
            if follows && self.cfs_rqs[q].curr != Some(e) {
                timeline::slice_changed(&mut self.se, self.order, e);
            }
        }
        self.cfs_rqs[q].min_slice(&self.se)
    }

    /// `enqueue_task_fair`: enqueues `task` and all its ancestors that are not yet queued.
    /// Entities above a throttled queue are not updated.
    pub(super) fn enqueue(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        why: EnqueueFlags,
    ) {
        if self.limits.was_ever_used() && self.is_held_back(rqs, task) {
            self.hold_back(rqs, task);
        } else {
            self.enqueue_now(rqs, platform, task, why);
        }
    }

    /// [`enqueue`](Fair::enqueue), even if `task` is in a throttled group.
    pub(super) fn enqueue_now(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        why: EnqueueFlags,
    ) {
        let first = self.se_of(task);
        let cpu = rqs.cpu_of(task);
        let runnable = u32::from(!self.se[first].sched_delayed);
        if runnable == 1 {
            self.util_est_enqueue(cpu, task);
        }
        if self.version.has_one_tree() {
            self.enqueue_in_one_tree(rqs, platform, task, why);
            self.task_joined(rqs, platform, task, true);
            return;
        }
        let mut count =
            Count { queued: 1, runnable, idle: u32::from(rqs.thread(task).policy == Policy::Idle) };
        let mut throttled = false;
        let mut why = why;
        let mut next = Some(first);
        let mut slice = u32::MAX;
        while let Some(e) = next {
            if self.se[e].on_rq {
                if self.se[e].sched_delayed {
                    R::requeue_delayed(self, rqs, platform, e);
                }
                break;
            }
            let q = self.cfs_rq_of(e);
            if e != first && self.version.custom_slices() {
                self.se[e].slice = slice;
                self.info[e].custom_slice = true;
            }
            self.enqueue_entity(rqs, platform, q, e, why);
            throttled = self.count_in(q, &mut count);
            if throttled {
                break;
            }
            next = self.parent_of(e);
            if next.is_some() {
                slice = self.cfs_rqs[q].min_slice(&self.se);
            }
            // Only the task is new. The groups that it brings onto their queues are not.
            why = EnqueueFlags::WAKEUP;
        }
        while let Some(e) = next
            && !throttled
        {
            slice = self.refresh(rqs, platform, e, slice);
            throttled = self.count_in(self.cfs_rq_of(e), &mut count);
            next = self.parent_of(e);
        }
        self.task_joined(rqs, platform, task, !throttled);
    }

    /// `task` has been enqueued. `counts`: it is in no throttled queue.
    fn task_joined(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid, counts: bool) {
        let cpu = rqs.cpu_of(task);
        rqs.thread_mut(task).on_rq = true;
        if counts {
            self.count_running(rqs, cpu, 1);
        }
        if self.cpus > 1 {
            self.cfs_tasks.add(cpu, self.se_of(task));
        }
        R::joined(self, rqs, platform, cpu);
    }

    /// `dequeue_task_fair`. Returns false if the dequeue is delayed and the task is still queued.
    pub(super) fn dequeue(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        how: DequeueFlags,
    ) -> bool {
        if self.tasks[task.index()].in_limbo {
            self.leave_limbo(rqs, platform.now_ns(), task, how);
            return true;
        }
        let e = self.se_of(task);
        let late = self.version.estimates_after_dequeue();
        if !self.se[e].sched_delayed {
            self.util_est_dequeue(rqs.cpu_of(task), task);
            if how.sleep && !late {
                self.util_est_update(task);
            }
        }
        if how.sleep {
            R::goes_to_sleep(self, rqs, platform, task);
        }
        let left = self.dequeue_entities(rqs, platform, e, how);
        if how.sleep && late {
            self.util_est_update(task);
        }
        left
    }

    /// Dequeues `first`, and its ancestors whose queues are then empty, up to a throttled queue.
    pub(super) fn dequeue_entities(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        first: EntityId,
        how: DequeueFlags,
    ) -> bool {
        let task = self.info[first].task;
        let cpu = self.cfs_rqs[self.cfs_rq_of(first)].cpu;
        let mut count = Count {
            queued: u32::from(task.is_some()),
            runnable: u32::from(task.is_some() && !self.se[first].sched_delayed),
            idle: u32::from(task.is_some_and(|task| rqs.thread(task).policy == Policy::Idle)),
        };
        let was_sched_idle = self.is_sched_idle_rq(rqs, cpu);
        if self.version.has_one_tree() {
            let left = self.dequeue_from_one_tree(rqs, platform, first, how);
            if left && let Some(task) = task {
                self.task_left(rqs, platform, task, how, true, was_sched_idle);
            }
            return left;
        }
        let mut throttled = false;
        let mut reason = how;
        let mut slice = u32::MAX;
        let mut next = Some(first);
        while let Some(e) = next {
            let q = self.cfs_rq_of(e);
            if !self.dequeue_entity(rqs, platform, q, e, reason) {
                if e == first && task.is_some() {
                    return false;
                }
                // A group that has received too much stays, with an empty queue, and takes a slice
                // from its own neighbours.
                if self.version.slices_follow_at_once() {
                    slice = self.cfs_rqs[q].min_slice(&self.se);
                } else if task.is_some() {
                    slice = 0;
                }
                break;
            }
            throttled = self.count_out(q, &mut count);
            if throttled {
                break;
            }
            next = self.parent_of(e);
            if next.is_none() {
                break;
            }
            slice = self.cfs_rqs[q].min_slice(&self.se);
            if self.cfs_rqs[q].load != 0 {
                // So that the group continues, if possible, with another of its members.
                if how.sleep
                    && let Some(parent) = next
                {
                    R::member_sleeps(self, parent);
                }
                break;
            }
            reason = DequeueFlags { special: how.throttle, ..DequeueFlags::SLEEP };
        }
        while let Some(e) = next
            && !throttled
        {
            slice = self.refresh(rqs, platform, e, slice);
            throttled = self.count_out(self.cfs_rq_of(e), &mut count);
            next = self.parent_of(e);
        }
        if let Some(task) = task {
            self.task_left(rqs, platform, task, how, !throttled, was_sched_idle);
        }
        true
    }

    /// `task` has been dequeued. `counted`: it was in no throttled queue. `was_sched_idle`: all
    /// tasks of its CPU were `SCHED_IDLE`.
    fn task_left(
        &mut self,
        rqs: &mut Rqs,
        platform: &Platform,
        task: Pid,
        how: DequeueFlags,
        counted: bool,
        was_sched_idle: bool,
    ) {
        let (e, cpu) = (self.se_of(task), rqs.cpu_of(task));
        rqs.thread_mut(task).on_rq = false;
        if how.finish && self.tasks[task.index()].reaped {
            self.free.extend(self.entity_of[task.index()].take());
        }
        if counted {
            rqs.sub_nr_running(cpu, 1);
        }
        if self.cpus > 1 {
            self.cfs_tasks.remove(cpu, e);
        }
        if !was_sched_idle && self.is_sched_idle_rq(rqs, cpu) && !self.version.balances_by_load() {
            self.balance_soon(platform, cpu);
        }
    }

    /// Wakes a task that is asleep but still queued.
    pub(super) fn wake_delayed_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        self.util_est_enqueue(rqs.cpu_of(task), task);
        R::requeue_delayed(self, rqs, platform, self.se_of(task));
    }

    /// Finishes the dequeue of a delayed task early.
    pub(super) fn finish_delayed_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
    ) {
        self.dequeue_entities(rqs, platform, self.se_of(task), DequeueFlags::FINISH);
    }
}
