//! One tree for all tasks of a CPU (7.3): groups only give weights.
//!
//! Up to 7.2 each group has a queue on each CPU, with a tree and a virtual time of its own, and an
//! entity that competes for it one level up. Each level picks for itself. So the latency of a task
//! depends on how deep it is, and protection, slices and delays of groups correspond only loosely
//! to their tasks'.
//!
//! In 7.3 all tasks of a CPU, of whatever group, are in the tree of the CPU's root queue. The
//! queues of groups are accounts: how many tasks there are, how much they weigh, how long they have
//! run, and their load averages. A task competes with the part of its CPU that the hierarchy gives
//! it, which is the product of its shares on all levels (`h_load`, here the
//! [`weight`](super::entity::Entity::weight) of its entity):
//!
//! ```text
//!   root      task A (1024)                    group G (1024)
//!   G                             task B (2048)      task C (1024)
//!   weight    A 1024              B 1024 * 2/3       C 1024 * 1/3
//! ```
//!
//! The product is computed when the task is queued, when it starts to run, and at its ticks. Tasks
//! that wait keep what they had, though others may have come to their group or left it.
//!
//! On each level, [`curr`](super::cfs_rq::CfsRq::curr) is the entity whose time is charged there.
//! The task that runs is the root queue's [`task`](super::cfs_rq::CfsRq::task).

use super::class::Fair;
use super::entity::NICE_0_WEIGHT;
use super::flags::{Attach, Count, DequeueFlags, EnqueueFlags};
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::update_shares::LEAST_WEIGHT;
use crate::classes::{Pid, Rqs};
use schedlab_core::{Platform, Policy};

impl<R: PickRule> Fair<R> {
    /// `enqueue_task_fair`: `task` joins the tree of its CPU, and the accounts of its groups.
    pub(super) fn enqueue_in_one_tree(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        why: EnqueueFlags,
    ) {
        let e = self.se_of(task);
        let cpu = rqs.cpu_of(task);
        let root = CfsRqId::of_cpu(cpu);
        let mut count = self.count_of_task(rqs, e);
        let is_curr = self.cfs_rqs[root].tree_curr() == Some(e);
        R::update_curr(self, rqs, platform, root);
        if is_curr {
            R::place_curr(self, root, e, why);
        }
        let mut next = Some(e);
        while let Some(level) = next {
            self.join_level(rqs, platform, level);
            self.count_in(self.cfs_rq_of(level), &mut count);
            next = self.parent_of(level);
        }
        R::renew_share(self, e);
        R::place(self, platform.now_ns(), root, e, why, is_curr);
        platform.work.enqueues += 1;
        let queue = &mut self.cfs_rqs[root];
        queue.nr_queued += 1;
        if !is_curr {
            platform.work.tree(queue.nr_queued);
            self.tree_insert(root, e);
        }
        self.se[e].on_rq = true;
    }

    /// One level of an enqueue: `level` is queued now, or something below it.
    fn join_level(&mut self, rqs: &mut Rqs, platform: &mut Platform, level: EntityId) {
        let q = self.cfs_rq_of(level);
        let joins = !self.se[level].on_rq;
        let attach = if joins { Attach::Attach } else { Attach::No };
        self.update_load_avg(platform.now_ns(), level, attach);
        self.update_runnable(level);
        self.update_cfs_group(rqs, platform, level);
        if !joins {
            return;
        }
        let queue = &mut self.cfs_rqs[q];
        queue.load += self.info[level].load;
        if !self.is_task(level) {
            self.se[level].on_rq = true;
        }
        let queue = &mut self.cfs_rqs[q];
        if queue.owner.is_some() {
            queue.nr_queued += 1;
            if queue.pelt_clock.is_stopped {
                queue.pelt_clock.resume(platform.now_ns());
            }
            self.check_enqueue_throttle(rqs, platform, q);
        }
    }

    /// `dequeue_entities`: the task of `e` leaves the tree of its CPU and the accounts of its
    /// groups. Returns false if it goes to sleep while it has received too much: it then stays
    /// queued until it is eligible.
    pub(super) fn dequeue_from_one_tree(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        how: DequeueFlags,
    ) -> bool {
        let root = self.tree_of(e);
        R::clear_buddies(self, e);
        R::update_curr(self, rqs, platform, root);
        if R::delays(self, platform, root, e, how) {
            return false;
        }
        let mut count = self.count_of_task(rqs, e);
        let mut leaves = true;
        let mut next = Some(e);
        while let Some(level) = next {
            leaves = self.leave_level(rqs, platform, level, leaves, how);
            self.count_out(self.cfs_rq_of(level), &mut count);
            next = self.parent_of(level);
        }
        R::leaves(self, root, e, how);
        platform.work.dequeues += 1;
        if self.cfs_rqs[root].tree_curr() != Some(e) {
            platform.work.tree(self.cfs_rqs[root].nr_queued);
            self.tree_remove(root, e);
        }
        self.se[e].on_rq = false;
        self.cfs_rqs[root].nr_queued -= 1;
        true
    }

    /// One level of a dequeue: `level` leaves its queue, or something below it has left. Returns
    /// whether the queue is empty now.
    fn leave_level(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: EntityId,
        leaves: bool,
        how: DequeueFlags,
    ) -> bool {
        let q = self.cfs_rq_of(level);
        let is_task = self.is_task(level);
        let attach = if how.migrate && is_task { Attach::Detach } else { Attach::No };
        self.update_load_avg(platform.now_ns(), level, attach);
        self.update_runnable(level);
        if leaves {
            self.se[level].on_rq &= is_task;
            let queue = &mut self.cfs_rqs[q];
            queue.load -= self.info[level].load;
            if queue.owner.is_some() {
                queue.nr_queued -= 1;
                if queue.nr_queued == 0 {
                    self.limits.return_slack(platform, q);
                    if self.is_throttled_below(q) {
                        self.cfs_rqs[q].pelt_clock.stop(platform.now_ns());
                    }
                }
            }
        }
        self.update_cfs_group(rqs, platform, level);
        leaves && self.cfs_rqs[q].load == 0
    }

    /// The task of `e` as queues count it.
    fn count_of_task(&self, rqs: &Rqs, e: EntityId) -> Count {
        let task = self.info[e].task;
        Count {
            queued: 1,
            runnable: u32::from(!self.se[e].sched_delayed),
            idle: u32::from(task.is_some_and(|task| rqs.thread(task).policy == Policy::Idle)),
        }
    }

    /// `put_prev_task_fair`: the accounts of `task` are closed on every level, then it waits in the
    /// tree.
    pub(super) fn put_in_one_tree(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let e = self.se_of(task);
        let root = self.tree_of(e);
        if self.se[e].on_rq {
            R::update_curr(self, rqs, platform, root);
        }
        let mut next = Some(e);
        while let Some(level) = next {
            if self.se[level].on_rq {
                self.update_load_avg(platform.now_ns(), level, Attach::Quiet);
            }
            let q = self.cfs_rq_of(level);
            self.cfs_rqs[q].curr = None;
            next = self.parent_of(level);
        }
        if self.se[e].on_rq {
            platform.work.tree(self.cfs_rqs[root].nr_queued);
            self.tree_insert(root, e);
        }
        self.cfs_rqs[root].task = None;
    }

    /// `set_next_task_fair`: `task` leaves the tree and runs. `first`: it was picked.
    pub(super) fn set_in_one_tree(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        first: bool,
    ) {
        let e = self.se_of(task);
        let root = self.tree_of(e);
        let queued = self.se[e].on_rq;
        R::clear_buddies(self, e);
        if queued {
            platform.work.tree(self.cfs_rqs[root].nr_queued);
            self.tree_remove(root, e);
        }
        let mut next = Some(e);
        while let Some(level) = next {
            if self.se[level].on_rq {
                self.update_load_avg(platform.now_ns(), level, Attach::No);
            }
            let q = self.cfs_rq_of(level);
            self.info[level].exec_start = platform.now_ns() + self.clock_ns;
            self.cfs_rqs[q].curr = Some(level);
            self.check_runtime_of_next(rqs, platform, q);
            next = self.parent_of(level);
        }
        self.cfs_rqs[root].task = Some(e);
        if queued {
            R::renew_share(self, e);
            R::starts(self, root, e, first);
        }
    }

    /// `__calc_prop_weight`, for every level: returns the weight with which the task of `e`
    /// competes for its CPU, which is the product of its share and the shares of the groups above
    /// it.
    pub(super) fn share_of_cpu(&self, e: EntityId) -> u64 {
        let mut share = NICE_0_WEIGHT;
        let mut next = Some(e);
        while let Some(level) = next {
            let queue = &self.cfs_rqs[self.cfs_rq_of(level)];
            let whole = if queue.owner.is_some() { queue.load.max(1) } else { NICE_0_WEIGHT };
            let product = u128::from(share) * u128::from(self.info[level].load);
            share = ((product / u128::from(whole)) as u64).max(LEAST_WEIGHT);
            next = self.parent_of(level);
        }
        share
    }
}
