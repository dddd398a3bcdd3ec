//! Limbo: where the tasks of throttled groups wait one by one (6.18).
//!
//! Throttling a queue dequeues nothing. But a task that is picked while its group, or one above, is
//! throttled on its CPU does not return to user mode: it leaves its queue at that moment, as if it
//! slept, and is put into the queue's **limbo**, and its CPU picks again. Its dequeue is never
//! delayed, and neither is that of the group when its last task leaves. Tasks that are never picked
//! stay queued and count. A task that wakes or is forked into a throttled group is queued as usual,
//! and leaves when it is picked.
//!
//! For the rest of the kernel a task in limbo is runnable, though it is on no queue and counts
//! nowhere. When nothing above it is throttled any more it is enqueued as if it woke, in the
//! reverse order of arrival.

use super::class::Fair;
use super::flags::{Attach, DequeueFlags, EnqueueFlags};
use super::ids::CfsRqId;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::{Pid, Rqs};
use schedlab_core::Platform;

impl<R: PickRule> Fair<R> {
    /// Whether `task`, which has been picked, may not return to user mode.
    #[inline]
    pub(super) fn must_leave(&self, task: Pid) -> bool {
        self.limits.is_used()
            && self.version.throttles_tasks()
            && self.is_throttled_below(self.cfs_rq_of(self.se_of(task)))
    }

    /// Whether the running `task` leaves although it need not give way (7.2 on).
    #[inline]
    pub(super) fn leaves_unasked(&self, task: Pid) -> bool {
        self.version.throttles_at_charge()
            && self.limits.is_used()
            && self.entity_of(task).is_some_and(|e| self.se[e].on_rq)
            && self.must_leave(task)
    }

    /// Whether `task`, which is about to be queued, goes into limbo instead: it comes from a limbo,
    /// and its group is throttled here, too.
    #[cold]
    pub(super) fn is_held_back(&mut self, rqs: &Rqs, task: Pid) -> bool {
        let left_limbo = core::mem::take(&mut self.tasks[task.index()].left_limbo);
        let e = self.se_of(task);
        left_limbo && !rqs.is_running(task) && self.is_throttled_below(self.cfs_rq_of(e))
    }

    /// `throttle_cfs_rq_work`: the running `task` leaves its queue as if it slept.
    pub(super) fn throttle_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            self.limits.task_waits(self.cfs_rq_of(e), platform.now_ns());
            next = self.parent_of(e);
        }
        self.dequeue(rqs, platform, task, DequeueFlags::THROTTLE);
        self.hold_back(rqs, task);
    }

    /// Puts `task`, which is on no queue, into the limbo of its queue.
    pub(super) fn hold_back(&mut self, rqs: &mut Rqs, task: Pid) {
        let q = self.cfs_rq_of(self.se_of(task));
        let before = self.cfs_rqs[q].limbo.replace(task);
        if let Some(before) = before {
            self.tasks[before.index()].limbo_after = Some(task);
        }
        let row = &mut self.tasks[task.index()];
        row.in_limbo = true;
        row.limbo_before = before;
        row.limbo_after = None;
        rqs.thread_mut(task).on_rq = true;
    }

    /// Takes `task` out of limbo, without queuing it.
    fn out_of_limbo(&mut self, rqs: &mut Rqs, task: Pid) {
        let q = self.cfs_rq_of(self.se_of(task));
        let row = &mut self.tasks[task.index()];
        row.in_limbo = false;
        let (before, after) = (row.limbo_before.take(), row.limbo_after.take());
        match after {
            None => self.cfs_rqs[q].limbo = before,
            Some(after) => self.tasks[after.index()].limbo_before = before,
        }
        if let Some(before) = before {
            self.tasks[before.index()].limbo_after = after;
        }
        rqs.thread_mut(task).on_rq = false;
    }

    /// `dequeue_throttled_task`: dequeues `task`, which is in limbo, because it moves, changes or
    /// dies.
    pub(super) fn leave_limbo(&mut self, rqs: &mut Rqs, now_ns: u64, task: Pid, how: DequeueFlags) {
        self.out_of_limbo(rqs, task);
        self.tasks[task.index()].left_limbo = !how.sleep;
        let e = self.se_of(task);
        if how.migrate && self.info[e].avg.last_update_time != 0 {
            self.update_load_avg(now_ns, e, Attach::Detach);
            self.propagate_upward(now_ns, e);
        }
    }

    /// `tg_unthrottle_up`: neither queue `q` nor one above it is throttled any more. Enqueues the
    /// tasks in its limbo.
    pub(super) fn release_tasks(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let mut next = self.cfs_rqs[q].limbo;
        while let Some(task) = next
            && !self.is_throttled_below(q)
        {
            next = self.tasks[task.index()].limbo_before;
            self.out_of_limbo(rqs, task);
            self.enqueue_now(rqs, platform, task, EnqueueFlags::WAKEUP);
        }
    }

    /// Number of tasks in the limbo of queue `q`. `None` if its list is broken. For tests.
    pub(super) fn limbo_len(&self, q: CfsRqId) -> Option<usize> {
        let (mut len, mut after, mut next) = (0, None, self.cfs_rqs[q].limbo);
        while let Some(task) = next {
            let row = &self.tasks[task.index()];
            let belongs = self.entity_of(task).is_some_and(|e| self.cfs_rq_of(e) == q);
            if !row.in_limbo || row.limbo_after != after || !belongs {
                return None;
            }
            len += 1;
            after = next;
            next = row.limbo_before;
        }
        Some(len)
    }
}
