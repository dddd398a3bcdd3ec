//! Taking groups that have used up their quota off their CPU, and putting them back.
//! ([`bandwidth`](crate::classes::bandwidth) keeps the accounts.)
//!
//! How that is done depends on the release.
//!
//! **6.1 to 6.12, whole groups.** A **throttled** queue is no longer represented in its parent's
//! queue. Its tasks stay in it, and may sleep, wake and be moved there as elsewhere. But none of
//! them counts further up, and none of them can be picked.
//!
//! **6.18, task by task**, so that no task is stopped in the kernel while it holds a lock
//! ([`limbo`](super::limbo)). Throttling dequeues nothing, and queued tasks count as usual. But a
//! task that is picked below a throttled queue leaves the queue when it would return to user mode.

use super::class::Fair;
use super::flags::{Attach, Count, DequeueFlags, EnqueueFlags};
use super::ids::CfsRqId;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::bandwidth::Expiry;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, GroupId, Platform, TimerKey};

impl<R: PickRule> Fair<R> {
    /// Adds `count` to queue `q`. Returns true if `q` is throttled, in which case the queues above
    /// are not updated.
    pub(super) fn count_in(&mut self, q: CfsRqId, count: &mut Count) -> bool {
        self.invalidate(q);
        let queue = &mut self.cfs_rqs[q];
        queue.h_nr_queued += count.queued;
        queue.h_nr_runnable += count.runnable;
        queue.h_nr_idle += count.idle;
        self.count_above(q, count)
    }

    /// Subtracts `count` from queue `q`. Returns true if `q` is throttled, in which case the queues
    /// above are not updated.
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

    /// Whether queue `q` is throttled and its tasks are not counted above it.
    #[inline]
    pub(super) fn hides(&self, q: CfsRqId) -> bool {
        self.limits.is_throttled(q) && !self.version.throttles_tasks()
    }

    /// The tasks of queue `q` as its parents count them.
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

    /// `check_enqueue_throttle`: queue `q` may have got its first entity without having runtime for
    /// it. (A queue with a running task is checked when the CPU switches away from that task.)
    pub(super) fn check_enqueue_throttle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
    ) {
        let queue = &self.cfs_rqs[q];
        if !self.limits.is_used() || queue.nr_queued != 1 || queue.curr.is_some() {
            return;
        }
        if self.limits.is_throttled(q) {
            if !self.version.throttles_tasks() {
                self.limits.task_waits(q, platform.now_ns());
            }
            return;
        }
        self.charge_runtime(rqs, platform, q, 0);
        self.check_runtime(rqs, platform, q);
    }

    /// `account_cfs_rq_runtime`: queue `q` has run for `delta_ns`. Without runtime left, its task
    /// gives way, and the queue is throttled when it does. From 7.2 on it is throttled at once, and
    /// the running task leaves as it returns to user mode, without having been asked.
    pub(super) fn charge_runtime(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        delta_ns: u64,
    ) {
        let cpu = self.cfs_rqs[q].cpu;
        if !self.version.throttles_at_charge() {
            let now_ns = platform.now_ns();
            if !self.limits.account(platform, q, now_ns, delta_ns) && delta_ns > 0 {
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        let goes_on = self.cfs_rqs[q].curr.is_some_and(|curr| self.se[curr].on_rq);
        if !self.limits.account_at_once(platform, q, delta_ns, goes_on) {
            self.throttle(rqs, platform, q);
            if goes_on {
                platform.resched(cpu);
            }
        }
    }

    /// `check_cfs_rq_runtime`: throttles queue `q` if it has run out of runtime (up to 7.1).
    #[inline]
    pub(super) fn check_runtime(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        if !self.version.throttles_at_charge() && self.limits.has_run_out(q) {
            self.throttle(rqs, platform, q);
        }
    }

    /// Throttles queue `q`, a task of which begins to run, if it has no runtime (from 7.2 on).
    pub(super) fn check_runtime_of_next(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
    ) {
        if self.version.throttles_at_charge() && self.limits.is_used() {
            self.charge_runtime(rqs, platform, q, 0);
        }
    }

    /// `throttle_cfs_rq`: the group's entity leaves, at once and whatever its lag, and so do the
    /// groups above that have nothing else to run. Returns false if the pool had some runtime left
    /// after all.
    pub(super) fn throttle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) -> bool {
        if !self.version.throttles_at_charge() && self.limits.gets_the_least(platform, q) {
            return false;
        }
        let cpu = self.cfs_rqs[q].cpu;
        let now_ns = platform.now_ns();
        let by_task = self.version.throttles_tasks();
        let mut next = Some(self.innermost_below(q));
        while let Some(group) = next {
            if let Some(below) = self.groups[group.index()].cfs_rq_on(cpu) {
                let queue = &mut self.cfs_rqs[below];
                queue.pelt_clock.throttle(now_ns, !by_task || queue.nr_queued == 0);
            }
            next = self.next_below(q, group);
        }
        if by_task {
            self.limits.set_throttled(platform, q, now_ns);
            return true;
        }
        let mut count = self.count_of(q);
        let mut next = self.cfs_rqs[q].owner;
        let (mut leaves, mut throttled) = (true, false);
        while let Some(e) = next
            && !throttled
        {
            if !self.se[e].on_rq {
                // Throttled already: further up, or here while the queue was still empty.
                throttled = true;
                break;
            }
            let above = self.cfs_rq_of(e);
            if leaves {
                let finish = self.se[e].sched_delayed;
                let how = DequeueFlags { special: true, finish, ..DequeueFlags::SLEEP };
                self.dequeue_entity(rqs, platform, above, e, how);
                leaves = self.cfs_rqs[above].load == 0;
            } else if self.version.throttling_refreshes() {
                self.update_load_avg(now_ns, e, Attach::Quiet);
                self.update_runnable(e);
            }
            throttled = self.count_out(above, &mut count);
            next = self.parent_of(e);
        }
        if !throttled {
            rqs.sub_nr_running(cpu, count.queued);
        }
        self.limits.set_throttled(platform, q, platform.now_ns());
        if self.cfs_rqs[q].nr_queued > 0 {
            self.limits.task_waits(q, platform.now_ns());
        }
        true
    }

    /// `unthrottle_cfs_rq`: the group's entity comes back, and so do the groups above that are not
    /// queued.
    pub(super) fn unthrottle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let cpu = self.cfs_rqs[q].cpu;
        rqs.update_rq_clock(platform, cpu);
        let now_ns = platform.now_ns();
        if self.version.throttles_at_charge() {
            R::update_curr(self, rqs, platform, q);
        }
        self.limits.clear_throttled(platform, q, now_ns);
        let by_task = self.version.throttles_tasks();
        let mut next = Some(self.innermost_below(q));
        while let Some(group) = next {
            if let Some(below) = self.groups[group.index()].cfs_rq_on(cpu)
                && self.cfs_rqs[below].pelt_clock.unthrottle(now_ns)
                && by_task
            {
                self.release_tasks(rqs, platform, below);
            }
            next = self.next_below(q, group);
        }
        if by_task {
            self.wake_idle_cpu(rqs, platform, cpu);
            return;
        }
        if self.cfs_rqs[q].load == 0 {
            return;
        }
        let mut count = self.count_of(q);
        let mut next = self.cfs_rqs[q].owner;
        let (mut joins, mut throttled) = (true, false);
        while let Some(e) = next
            && !throttled
        {
            let above = self.cfs_rq_of(e);
            if joins && self.se[e].sched_delayed {
                let how = DequeueFlags { finish: true, ..DequeueFlags::SLEEP };
                self.dequeue_entity(rqs, platform, above, e, how);
            }
            joins &= !self.se[e].on_rq;
            if joins {
                self.enqueue_entity(rqs, platform, above, e, EnqueueFlags::WAKEUP);
            } else if self.version.throttling_refreshes() {
                self.update_load_avg(now_ns, e, Attach::No);
                self.update_runnable(e);
            }
            throttled = self.count_in(above, &mut count);
            next = self.parent_of(e);
        }
        if !throttled {
            self.count_running(rqs, cpu, count.queued);
        }
        self.wake_idle_cpu(rqs, platform, cpu);
    }

    /// Tasks may have come back to `cpu`. A busy CPU is not asked to reschedule: its tick decides.
    fn wake_idle_cpu(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if rqs.is_idle_thread(rqs.curr(cpu)) && self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 0 {
            rqs.resched_curr(platform, cpu);
        }
    }

    // ---- the groups below a queue's group: inner ones first, among siblings the youngest ----

    /// The first group.
    fn innermost_below(&self, top: CfsRqId) -> GroupId {
        self.innermost(self.cfs_rqs[top].group)
    }

    fn innermost(&self, group: GroupId) -> GroupId {
        let mut group = group;
        while let Some(child) = self.groups[group.index()].youngest {
            group = child;
        }
        group
    }

    /// The group after `group`. The queue's own group is the last.
    fn next_below(&self, top: CfsRqId, group: GroupId) -> Option<GroupId> {
        if group == self.cfs_rqs[top].group {
            return None;
        }
        let row = &self.groups[group.index()];
        row.next_older.map_or(row.parent, |sibling| Some(self.innermost(sibling)))
    }

    // ---- distribution of runtime ----

    /// A period has ended, or returned runtime is to be distributed.
    pub(super) fn distribute_runtime(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        key: TimerKey,
    ) {
        let Expiry::Distribute(group) = self.limits.timer(platform, key) else {
            return;
        };
        if !self.version.distributes_first() {
            while let Some(q) = self.limits.next_to_release(group) {
                self.unthrottle(rqs, platform, q);
            }
            return;
        }
        // All queues get their runtime before any is put back: the one on the timer's own CPU
        // within the timer's handler, the others by interrupts after it.
        if self.version.throttles_at_charge() {
            let mut next = self.limits.first_throttled(group);
            while let Some(q) = next {
                R::update_curr(self, rqs, platform, q);
                next = self.limits.next_throttled(q);
            }
        }
        self.limits.distribute(group);
        let own = self.limits.timer_cpu(group);
        for here in [true, false] {
            let mut next = self.limits.first_throttled(group);
            while let Some(q) = next {
                next = self.limits.next_throttled(q);
                if (self.cfs_rqs[q].cpu == own) == here && self.limits.may_go_on(q) {
                    self.unthrottle(rqs, platform, q);
                }
            }
        }
    }

    /// `throttled_hierarchy`: whether queue `q` or one above it is throttled.
    #[inline]
    pub(super) fn is_throttled_below(&self, q: CfsRqId) -> bool {
        self.cfs_rqs[q].pelt_clock.throttled > 0
    }

    /// Whether `task` cannot be picked because its group, or one above, is throttled on its CPU.
    #[inline]
    pub(super) fn is_throttled_task(&self, task: Pid) -> bool {
        if self.version.throttles_tasks() {
            return self.tasks[task.index()].in_limbo;
        }
        self.limits.is_used()
            && self.entity_of(task).is_some_and(|e| self.is_throttled_below(self.cfs_rq_of(e)))
    }

    /// Whether balancing may not move `task` to `other` because its group is throttled there
    /// (`lb_throttled_hierarchy`). Where whole groups are throttled, also because the group is
    /// throttled on the task's own CPU (`throttled_lb_pair`).
    #[inline]
    pub(super) fn is_throttled_pair(&self, task: Pid, other: CpuId) -> bool {
        self.limits.is_used()
            && (self.is_throttled_task(task) || self.is_group_throttled(task, other))
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
