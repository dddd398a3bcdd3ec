//! Taking groups that have used up their quota off their CPU, and putting them back
//! ([`bandwidth`](crate::classes::bandwidth) keeps the accounts).
//!
//! A **throttled** queue is no longer represented in its parent's queue. What is in it stays in it,
//! may sleep, wake and be moved there as elsewhere; but none of it counts further up, and none of
//! it can be picked.
//!
//! This is how 6.6 and 6.12 do it. 6.18 lets each task of a throttled group leave by itself when it
//! is about to return to user space, so that none is held up in the kernel with a lock; as tasks
//! here are always in user space, it is not told apart.

use super::class::Fair;
use super::enqueue::Dequeue;
use super::entity::NONE;
use crate::classes::bandwidth::{Expiry, Quota};
use crate::classes::{Pid, Rqs};
use alloc::string::String;
use schedlab_core::{CpuId, GroupId, GroupStats, Platform, TimerKey};

/// Tasks that come or go, as the queues count them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    /// All that are queued.
    pub queued: u32,
    /// Those that are not delayed.
    pub runnable: u32,
    /// Those that are `SCHED_IDLE`, or count so because they are in an idle group.
    pub idle: u32,
}

impl Fair {
    /// Queue `q` has so many tasks more. True: it is throttled, and nobody above gets to know.
    pub(super) fn count_in(&mut self, q: u32, count: &mut Count) -> bool {
        self.invalidate(q);
        let queue = &mut self.queues[q as usize];
        queue.h_nr_queued += count.queued;
        queue.h_nr_runnable += count.runnable;
        queue.h_nr_idle += count.idle;
        self.count_above(q, count)
    }

    /// Queue `q` has so many tasks less. True: it is throttled, and nobody above gets to know.
    pub(super) fn count_out(&mut self, q: u32, count: &mut Count) -> bool {
        self.invalidate(q);
        let queue = &mut self.queues[q as usize];
        queue.h_nr_queued -= count.queued;
        queue.h_nr_runnable -= count.runnable;
        queue.h_nr_idle -= count.idle;
        self.count_above(q, count)
    }

    /// All tasks of an idle group count as idle above it.
    fn count_above(&self, q: u32, count: &mut Count) -> bool {
        if self.groups[self.queues[q as usize].group as usize].idle {
            count.idle = count.queued;
        }
        self.limits.is_throttled(q)
    }

    /// All that queue `q` has, as its parents count it.
    fn count_of(&self, q: u32) -> Count {
        let queue = &self.queues[q as usize];
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
        q: u32,
    ) {
        let queue = &self.queues[q as usize];
        if !self.limits.is_used()
            || queue.nr_queued != 1
            || queue.curr != NONE
            || self.limits.is_throttled(q)
        {
            return;
        }
        self.limits.account(platform, q, platform.now_ns(), 0);
        self.check_runtime(rqs, platform, q);
    }

    /// `check_cfs_rq_runtime`: throttles queue `q` if it has run out.
    #[inline]
    pub(super) fn check_runtime(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        if self.limits.has_run_out(q) {
            self.throttle(rqs, platform, q);
        }
    }

    /// `throttle_cfs_rq`: the group's entity leaves, at once and however much it has had, and the
    /// groups above as far as they have nothing else to run. False: there was something left in the
    /// pool after all.
    pub(super) fn throttle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) -> bool {
        if self.limits.gets_the_least(platform, q) {
            return false;
        }
        let cpu = self.queues[q as usize].cpu;
        let mut count = self.count_of(q);
        let mut e = self.queues[q as usize].owner;
        let (mut leaves, mut held_back) = (true, false);
        let mut slice = u32::MAX;
        while e != NONE && !held_back {
            if !self.se[e as usize].on_rq {
                // Held back already, further up or because it was only about to come.
                held_back = true;
                break;
            }
            let above = self.queue_of(e);
            if leaves {
                let why = Dequeue {
                    sleep: true,
                    special: true,
                    finish: self.se[e as usize].sched_delayed,
                    ..Dequeue::default()
                };
                self.dequeue_entity(rqs, platform, above, e, why);
                slice = self.queues[above as usize].min_slice(&self.se);
                leaves = self.queues[above as usize].load == 0;
            } else {
                slice = self.refresh(rqs, platform, e, slice);
            }
            held_back = self.count_out(above, &mut count);
            e = self.parent_of(e);
        }
        if !held_back {
            rqs.sub_nr_running(cpu, count.queued);
        }
        self.limits.set_throttled(platform, q, platform.now_ns());
        true
    }

    /// `unthrottle_cfs_rq`: the group's entity comes back, and the groups above as far as they were
    /// not queued.
    fn unthrottle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        let cpu = self.queues[q as usize].cpu;
        rqs.update_rq_clock(platform, cpu);
        self.limits.clear_throttled(q, platform.now_ns());
        if self.queues[q as usize].load == 0 {
            return;
        }
        let mut count = self.count_of(q);
        let mut e = self.queues[q as usize].owner;
        let (mut joins, mut held_back) = (true, false);
        let mut slice = self.queues[q as usize].min_slice(&self.se);
        while e != NONE && !held_back {
            if joins && self.se[e as usize].on_rq {
                joins = false;
                if self.se[e as usize].sched_delayed {
                    self.requeue_delayed(platform, e);
                }
            }
            let above = self.queue_of(e);
            if joins {
                if self.version.custom_slices() {
                    self.se[e as usize].slice = slice;
                    self.info[e as usize].custom_slice = true;
                }
                self.enqueue_entity(rqs, platform, above, e, false);
                slice = self.queues[above as usize].min_slice(&self.se);
            } else {
                slice = self.refresh(rqs, platform, e, slice);
            }
            held_back = self.count_in(above, &mut count);
            e = self.parent_of(e);
        }
        if !held_back {
            self.add_nr_running(rqs, cpu, count.queued);
        }
        // A busy CPU is not asked: its tick will find out.
        if rqs.is_idle_thread(rqs.curr(cpu)) && self.queues[cpu.index()].nr_queued > 0 {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// A period is over, or returned runtime is to be handed out.
    pub(super) fn bandwidth_timer(
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

    fn is_held_back_in(&self, q: u32) -> bool {
        let mut q = q;
        loop {
            if self.limits.is_throttled(q) {
                return true;
            }
            match self.queues[q as usize].owner {
                NONE => return false,
                owner => q = self.queue_of(owner),
            }
        }
    }

    /// `throttled_hierarchy`: whether `task` is in a group that is throttled on its CPU, or whose
    /// ancestor is.
    #[inline]
    pub(super) fn throttled_hierarchy(&self, task: Pid) -> bool {
        self.limits.is_used()
            && self
                .tasks
                .get(task.index())
                .is_some_and(|row| row.se != NONE && self.is_held_back_in(self.queue_of(row.se)))
    }

    /// `throttled_lb_pair`: whether the group of `task` is held back where it is or on `other`. It
    /// is not balanced then.
    #[inline]
    pub(super) fn is_throttled_pair(&self, task: Pid, other: CpuId) -> bool {
        self.limits.is_used()
            && (self.throttled_hierarchy(task) || self.is_group_held_back(task, other))
    }

    fn is_group_held_back(&self, task: Pid, cpu: CpuId) -> bool {
        let mut group = self.tasks[task.index()].group;
        loop {
            let row = &self.groups[group as usize];
            match row.queue_on(cpu) {
                NONE => group = row.parent,
                q => return self.is_held_back_in(q),
            }
        }
    }

    /// Whether there is such a group.
    pub(super) fn check_group(&self, group: GroupId) -> Result<(), String> {
        if group.index() < self.groups.len() { Ok(()) } else { Err("no such group".into()) }
    }

    /// `tg_set_cfs_bandwidth`.
    pub(super) fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: u32,
        quota: &Quota,
    ) -> Result<(), String> {
        let queues = self.groups[group as usize].queues.iter().copied();
        let queues = queues.filter(|&q| q != NONE);
        self.limits.set_quota(platform, group, quota, queues)?;
        while let Some(q) = self.limits.first_throttled(group) {
            self.unthrottle(rqs, platform, q);
        }
        Ok(())
    }

    /// What a group has used and suffered.
    pub(super) fn group_stats(&self, group: u32) -> GroupStats {
        let queues = self.groups[group as usize].queues.iter();
        let usage_ns =
            queues.filter(|&&q| q != NONE).map(|&q| self.queues[q as usize].exec_clock).sum();
        GroupStats { usage_ns, ..self.limits.stats(group) }
    }
}
