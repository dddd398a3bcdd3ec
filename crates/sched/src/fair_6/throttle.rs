//! Taking groups that have used up their quota off their CPU, and putting them back
//! ([`bandwidth`](crate::classes::bandwidth) keeps the accounts).
//!
//! A **throttled** queue is no longer represented in its parent's queue. What is in it stays in it,
//! may sleep, wake and be moved there as elsewhere; but none of it counts further up, and none of
//! it can be picked.
//!
//! This is how 6.6 and 6.12 do it. 6.18 lets each task of a throttled group leave by itself when it
//! is about to return to user space, so that none is held up in the kernel with a lock: throttling
//! dequeues nothing, but whoever is picked below a throttled queue leaves at once, and waits in the
//! queue's *limbo*. What is not picked stays queued, and counts. When the last one goes the group
//! goes, without delay.

use super::cfs_rq::{CfsRq, CfsRqId};
use super::class::Fair;
use super::flags::{Attach, Count, DequeueFlags, EnqueueFlags};
use super::pick_rule::{FairVersion as _, PickRule};
use crate::classes::bandwidth::Expiry;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, GroupId, Platform, TimerKey};

impl<R: PickRule> Fair<R> {
    /// Queue `q` has so many tasks more. True: it is throttled, and nobody above gets to know.
    pub(super) fn count_in(&mut self, q: CfsRqId, count: &mut Count) -> bool {
        self.invalidate(q);
        let queue = &mut self.cfs_rqs[q];
        queue.h_nr_queued += count.queued;
        queue.h_nr_runnable += count.runnable;
        queue.h_nr_idle += count.idle;
        self.count_above(q, count)
    }

    /// Queue `q` has so many tasks less. True: it is throttled, and nobody above gets to know.
    pub(super) fn count_out(&mut self, q: CfsRqId, count: &mut Count) -> bool {
        self.invalidate(q);
        let queue = &mut self.cfs_rqs[q];
        queue.h_nr_queued -= count.queued;
        queue.h_nr_runnable -= count.runnable;
        queue.h_nr_idle -= count.idle;
        self.count_above(q, count)
    }

    /// All tasks of an idle group count as idle above it.
    fn count_above(&self, q: CfsRqId, count: &mut Count) -> bool {
        if self.groups[self.cfs_rqs[q].group.index()].idle {
            count.idle = count.queued;
        }
        self.hides(q)
    }

    /// Whether queue `q` is throttled and nobody above knows of what is on it.
    #[inline]
    pub(super) fn hides(&self, q: CfsRqId) -> bool {
        self.limits.is_throttled(q) && !self.version.throttles_tasks()
    }

    /// All that queue `q` has, as its parents count it.
    fn count_of(&self, q: CfsRqId) -> Count {
        let queue = &self.cfs_rqs[q];
        let mut count = Count {
            queued: queue.h_nr_queued,
            runnable: queue.h_nr_runnable,
            idle: queue.h_nr_idle,
        };
        self.count_above(q, &mut count);
        count
    }

    /// `check_enqueue_throttle`: queue `q` may have got its first entity and nothing to run it on.
    /// (One in which somebody runs is looked at when that one is put away.)
    pub(super) fn check_enqueue_throttle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
    ) {
        let queue = &self.cfs_rqs[q];
        if !self.limits.is_used()
            || queue.nr_queued != 1
            || queue.curr.is_some()
            || self.limits.is_throttled(q)
        {
            return;
        }
        self.limits.account(platform, q, platform.now_ns(), 0);
        self.check_runtime(rqs, platform, q);
    }

    /// `check_cfs_rq_runtime`: throttles queue `q` if it has run out.
    #[inline]
    pub(super) fn check_runtime(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        if self.limits.has_run_out(q) {
            self.throttle(rqs, platform, q);
        }
    }

    /// `throttle_cfs_rq`: the group's entity leaves, at once and however much it has had, and the
    /// groups above as far as they have nothing else to run. False: there was something left in the
    /// pool after all.
    pub(super) fn throttle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) -> bool {
        if self.limits.gets_the_least(platform, q) {
            return false;
        }
        let cpu = self.cfs_rqs[q].cpu;
        let now_ns = platform.now_ns();
        if self.version.throttles_tasks() {
            self.for_each_below(q, |queue| {
                if queue.nr_queued == 0 {
                    queue.pelt_clock.set_standing(true, now_ns);
                }
            });
            self.limits.set_throttled(platform, q, now_ns);
            return true;
        }
        self.for_each_below(q, |queue| queue.pelt_clock.stop(now_ns));
        let mut count = self.count_of(q);
        let mut next = self.cfs_rqs[q].owner;
        let (mut leaves, mut throttled) = (true, false);
        let mut slice = u32::MAX;
        while let Some(e) = next
            && !throttled
        {
            if !self.se[e].on_rq {
                // Throttled already, further up or because it was only about to come.
                throttled = true;
                break;
            }
            let above = self.cfs_rq_of(e);
            if leaves {
                let finish = self.se[e].sched_delayed;
                let how = DequeueFlags { special: true, finish, ..DequeueFlags::SLEEP };
                self.dequeue_entity(rqs, platform, above, e, how);
                slice = self.cfs_rqs[above].min_slice(&self.se);
                leaves = self.cfs_rqs[above].load == 0;
            } else {
                slice = self.refresh(rqs, platform, e, slice);
            }
            throttled = self.count_out(above, &mut count);
            next = self.parent_of(e);
        }
        if !throttled {
            rqs.sub_nr_running(cpu, count.queued);
        }
        self.limits.set_throttled(platform, q, platform.now_ns());
        true
    }

    /// `unthrottle_cfs_rq`: the group's entity comes back, and the groups above as far as they were
    /// not queued.
    pub(super) fn unthrottle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let cpu = self.cfs_rqs[q].cpu;
        rqs.update_rq_clock(platform, cpu);
        let now_ns = platform.now_ns();
        self.limits.clear_throttled(q, now_ns);
        if self.version.throttles_tasks() {
            self.release_tasks(rqs, platform, q);
            self.wake_idle_cpu(rqs, platform, cpu);
            return;
        }
        self.for_each_below(q, |queue| queue.pelt_clock.go_on(now_ns));
        if self.cfs_rqs[q].load == 0 {
            return;
        }
        let mut count = self.count_of(q);
        let mut next = self.cfs_rqs[q].owner;
        let (mut joins, mut throttled) = (true, false);
        let mut slice = self.cfs_rqs[q].min_slice(&self.se);
        while let Some(e) = next
            && !throttled
        {
            if joins && self.se[e].on_rq {
                joins = false;
                if self.se[e].sched_delayed {
                    R::requeue_delayed(self, platform, e);
                }
            }
            let above = self.cfs_rq_of(e);
            if joins {
                if self.version.custom_slices() {
                    self.se[e].slice = slice;
                    self.info[e].custom_slice = true;
                }
                self.enqueue_entity(rqs, platform, above, e, EnqueueFlags::WAKEUP);
                slice = self.cfs_rqs[above].min_slice(&self.se);
            } else {
                slice = self.refresh(rqs, platform, e, slice);
            }
            throttled = self.count_in(above, &mut count);
            next = self.parent_of(e);
        }
        if !throttled {
            self.count_running(rqs, cpu, count.queued);
        }
        self.wake_idle_cpu(rqs, platform, cpu);
    }

    /// Something may have come back to `cpu`. A busy one is not asked: its tick will find out.
    fn wake_idle_cpu(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if rqs.is_idle_thread(rqs.curr(cpu)) && self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 0 {
            rqs.resched_curr(platform, cpu);
        }
    }

    // ---- 6.18: task by task ----

    /// Whether `task`, picked, may not return to user mode: its group, or one above, is throttled.
    #[inline]
    pub(super) fn must_leave(&self, task: Pid) -> bool {
        self.limits.is_used()
            && self.version.throttles_tasks()
            && self.is_throttled_below(self.cfs_rq_of(self.se_of(task)))
    }

    /// `throttle_cfs_rq_work`: the running `task` leaves its queue, as one that sleeps, until its
    /// group has runtime again.
    pub(super) fn throttle_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        self.dequeue(rqs, platform, task, DequeueFlags::THROTTLE);
        self.hold_back(rqs, task);
    }

    /// `task`, on no queue, is held back.
    pub(super) fn hold_back(&mut self, rqs: &mut Rqs, task: Pid) {
        let q = self.cfs_rq_of(self.se_of(task));
        self.cfs_rqs[q].limbo.push(task);
        self.tasks[task.index()].in_limbo = true;
        // To the rest of the kernel it is runnable.
        rqs.thread_mut(task).on_rq = true;
    }

    /// `dequeue_throttled_task`: `task` is held back no longer, and on no queue.
    pub(super) fn out_of_limbo(
        &mut self,
        rqs: &mut Rqs,
        now_ns: u64,
        task: Pid,
        how: DequeueFlags,
    ) {
        let e = self.se_of(task);
        let q = self.cfs_rq_of(e);
        self.cfs_rqs[q].limbo.retain(|&other| other != task);
        self.tasks[task.index()].in_limbo = false;
        rqs.thread_mut(task).on_rq = false;
        if how.migrate && self.info[e].avg.last_update_time != 0 {
            self.update_load_avg(now_ns, e, Attach::Detach);
        }
    }

    /// `tg_unthrottle_up`: what was held back below queue `top`, and is not for another reason,
    /// comes back: first from the groups farthest down, on each queue first who left last.
    fn release_tasks(&mut self, rqs: &mut Rqs, platform: &mut Platform, top: CfsRqId) {
        let CfsRq { cpu, group: first, .. } = self.cfs_rqs[top];
        for number in (first.index()..self.groups.len()).rev() {
            let Some(q) = self.groups[number].cfs_rq_on(cpu) else {
                continue;
            };
            let mut above = Some(GroupId(number as u32));
            while above.is_some_and(|group| group > first) {
                above = above.and_then(|group| self.groups[group.index()].parent);
            }
            if above != Some(first) || self.is_throttled_below(q) {
                continue;
            }
            self.cfs_rqs[q].pelt_clock.set_standing(false, platform.now_ns());
            while let Some(task) = self.cfs_rqs[q].limbo.pop() {
                self.tasks[task.index()].in_limbo = false;
                self.enqueue(rqs, platform, task, EnqueueFlags::WAKEUP);
            }
        }
    }

    /// Does something to queue `top` and those below it on its CPU.
    fn for_each_below(&mut self, top: CfsRqId, mut each: impl FnMut(&mut CfsRq)) {
        let CfsRq { cpu, group: first, .. } = self.cfs_rqs[top];
        // Groups rise from parents to children.
        for number in first.index()..self.groups.len() {
            let Some(q) = self.groups[number].cfs_rq_on(cpu) else {
                continue;
            };
            let mut above = Some(GroupId(number as u32));
            while above.is_some_and(|group| group > first) {
                above = above.and_then(|group| self.groups[group.index()].parent);
            }
            if above == Some(first) {
                each(&mut self.cfs_rqs[q]);
            }
        }
    }

    /// A period is over, or returned runtime is to be handed out.
    pub(super) fn distribute_runtime(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        key: TimerKey,
    ) {
        if let Expiry::Distribute(group) = self.limits.timer(platform, key) {
            while let Some(q) = self.limits.next_to_release(group) {
                self.unthrottle(rqs, platform, q);
            }
        }
    }

    /// Whether queue `q` or one above it is throttled.
    pub(super) fn is_throttled_below(&self, q: CfsRqId) -> bool {
        let mut q = q;
        loop {
            if self.limits.is_throttled(q) {
                return true;
            }
            match self.cfs_rqs[q].owner {
                None => return false,
                Some(owner) => q = self.cfs_rq_of(owner),
            }
        }
    }

    /// `throttled_hierarchy`: whether `task` is in a group that is throttled on its CPU, or whose
    /// ancestor is.
    #[inline]
    pub(super) fn is_throttled_hierarchy(&self, task: Pid) -> bool {
        if self.version.throttles_tasks() {
            return self.tasks[task.index()].in_limbo;
        }
        self.limits.is_used()
            && self.entity_of(task).is_some_and(|e| self.is_throttled_below(self.cfs_rq_of(e)))
    }

    /// `throttled_lb_pair`: whether the group of `task` is throttled where it is or on `other`. It
    /// is not balanced then.
    #[inline]
    pub(super) fn is_throttled_pair(&self, task: Pid, other: CpuId) -> bool {
        self.limits.is_used()
            && (self.is_throttled_hierarchy(task) || self.is_group_throttled(task, other))
    }

    fn is_group_throttled(&self, task: Pid, cpu: CpuId) -> bool {
        let mut next = Some(self.group_of(task));
        while let Some(group) = next {
            let row = &self.groups[group.index()];
            if let Some(q) = row.cfs_rq_on(cpu) {
                return self.is_throttled_below(q);
            }
            next = row.parent;
        }
        false
    }
}
