//! A fair runqueue and its arithmetic: the average, lag, eligibility, placement, protection, charging.
//!
//! # V
//!
//! The queue's virtual time **V** is where everybody's vruntime would be had the CPU been divided ideally: the average of all
//! vruntimes, weighted. Who is behind it (smaller vruntime) is owed time, and is *eligible*; who is ahead has had too much.
//!
//! ```text
//!   V = v0 + S / W        S = sum of weight * (vruntime - v0)        W = sum of weights
//! ```
//!
//! over all that compete. v0 only keeps the products small: S, W and v0 are moved together and no decision sees it. The
//! kernels move it at different times; here it is moved when V has got [`FAR`] away from it.

use super::entity::{Entity, NONE, before};
use super::fair::Fair;
use super::tree;
use super::version::Version;
use crate::classes::Core;
use crate::classes::rbtree::{Nodes, Root};
use crate::pelt::Average;
use crate::{CpuId, Platform};

/// How far V may get from v0, as a power of 2 of virtual ns (17 ms).
const FAR: u32 = 24;

/// A fair runqueue: each CPU has one, and each group has one on each CPU that its tasks came to.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Those waiting: all that are queued but `curr`.
    pub tree: Root,
    /// The running entity. Its `on_rq` tells whether it still competes.
    pub curr: u32,
    /// The nominated entity.
    pub next: u32,
    /// Entities queued, `curr` and delayed ones among them.
    pub nr_queued: u32,
    /// Tasks queued here and below, delayed ones among them.
    pub h_nr_queued: u32,
    /// Those of them that are not delayed.
    pub h_nr_runnable: u32,
    /// Those of them that are `SCHED_IDLE`.
    pub h_nr_idle: u32,
    /// Its CPU.
    pub cpu: CpuId,
    /// Its group's number.
    pub group: u32,
    /// The entity that stands for it one level up.
    pub owner: u32,
    /// Sum of the stored weights of those queued.
    pub load: u64,
    v0: u64,
    /// S over the tree alone.
    sum_wk: i64,
    /// W over the tree alone.
    sum_w: i64,
    /// Load tracking.
    pub avg: Average,
    /// Averages of tasks that have left, to be subtracted.
    pub removed: Removed,
    /// Group: the load average that it has told its group.
    pub published: u64,
    /// When, ns.
    pub published_at: u64,
    /// Share of the CPU's load that is this queue's, and the jiffy in which it was found.
    pub h_load: (u64, u64),
    /// Sum of the estimated utilisations of the tasks queued (on a CPU's own queue).
    pub util_est: u64,
}

/// What tasks that have left a queue without being there take with them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Removed {
    /// How many they were.
    pub nr: u32,
    /// Sum of their load averages.
    pub load_avg: u64,
    /// Sum of their runnable averages.
    pub runnable_avg: u64,
    /// Sum of their utilisations.
    pub util_avg: u64,
}

impl Queue {
    /// An empty one.
    pub fn new(cpu: CpuId, group: u32, owner: u32) -> Queue {
        Queue {
            tree: Root::default(),
            curr: NONE,
            next: NONE,
            nr_queued: 0,
            h_nr_queued: 0,
            h_nr_runnable: 0,
            h_nr_idle: 0,
            cpu,
            group,
            owner,
            load: 0,
            v0: 0u64.wrapping_sub(1 << 20),
            sum_wk: 0,
            sum_w: 0,
            avg: Average::default(),
            removed: Removed::default(),
            published: 0,
            published_at: 0,
            h_load: (0, u64::MAX),
            util_est: 0,
        }
    }

    /// S and W over all that compete, and v0.
    #[inline]
    fn sums(&self, se: &[Entity]) -> (i64, i64, u64) {
        let (mut sum, mut weight) = (self.sum_wk, self.sum_w);
        if self.curr != NONE {
            let curr = &se[self.curr as usize];
            if curr.on_rq {
                sum = sum.wrapping_add(self.product(curr));
                weight += i64::from(curr.weight);
            }
        }
        (sum, weight, self.v0)
    }

    /// An entity's part of S.
    #[inline]
    fn product(&self, entity: &Entity) -> i64 {
        i64::from(entity.weight).wrapping_mul(entity.vruntime.wrapping_sub(self.v0) as i64)
    }

    /// V, rounded down.
    pub fn avg_vruntime(&self, se: &[Entity]) -> u64 {
        let (sum, weight, v0) = self.sums(se);
        if weight == 0 {
            v0
        } else {
            v0.wrapping_add(sum.div_euclid(weight) as u64)
        }
    }

    /// Whether somebody at `vruntime` is owed time. Exact, where comparing with V would lose a fraction.
    #[inline]
    pub fn eligible(&self, se: &[Entity], vruntime: u64) -> bool {
        let (sum, weight, v0) = self.sums(se);
        is_eligible(sum, weight, v0, vruntime)
    }

    /// The total weight of those waiting, and of `curr` if it competes.
    pub fn weight(&self, se: &[Entity]) -> i64 {
        self.sums(se).1
    }

    /// Puts `entity` into the sums.
    #[inline]
    pub fn count_in(&mut self, entity: &Entity) {
        if self.sum_w == 0 {
            self.v0 = entity.vruntime;
        }
        self.sum_wk = self.sum_wk.wrapping_add(self.product(entity));
        self.sum_w += i64::from(entity.weight);
        self.bring_v0_near();
    }

    /// Takes `entity` out of the sums.
    #[inline]
    pub fn count_out(&mut self, entity: &Entity) {
        self.sum_wk = self.sum_wk.wrapping_sub(self.product(entity));
        self.sum_w -= i64::from(entity.weight);
        self.bring_v0_near();
    }

    #[inline]
    fn bring_v0_near(&mut self) {
        if (self.sum_wk >> FAR).unsigned_abs() > self.sum_w as u64 && self.sum_w != 0 {
            let by = self.sum_wk.div_euclid(self.sum_w);
            self.v0 = self.v0.wrapping_add(by as u64);
            self.sum_wk -= by * self.sum_w;
        }
    }

    /// Nobody waits: v0 goes with the running one.
    #[inline]
    fn follow(&mut self, vruntime: u64) {
        if self.sum_w == 0 {
            self.v0 = vruntime;
        }
    }

    /// As [`follow`](Queue::follow), after the vruntime of `curr` was changed otherwise than by charging it.
    pub fn follow_curr(&mut self, se: &[Entity]) {
        if self.curr != NONE {
            self.follow(se[self.curr as usize].vruntime);
        }
    }

    /// The smallest slice of those waiting, as well as the tree knows it.
    #[inline]
    pub fn min_slice_waiting(&self, se: &[Entity]) -> u32 {
        if self.tree.is_empty() {
            u32::MAX
        } else {
            se[self.tree.top() as usize].min_slice
        }
    }

    /// The smallest slice of those queued, as well as the tree knows it.
    #[inline]
    pub fn min_slice(&self, se: &[Entity]) -> u32 {
        let waiting = self.min_slice_waiting(se);
        if self.curr != NONE && se[self.curr as usize].on_rq {
            waiting.min(se[self.curr as usize].slice)
        } else {
            waiting
        }
    }

    /// Recounts the sums. For tests.
    pub fn audit_sums(&self, nodes: &Nodes, se: &[Entity]) -> bool {
        let waiting = || tree::iter(nodes, &self.tree).map(|node| &se[node as usize]);
        waiting().fold(0i64, |sum, entity| sum.wrapping_add(self.product(entity))) == self.sum_wk
            && waiting().map(|entity| i64::from(entity.weight)).sum::<i64>() == self.sum_w
    }
}

#[inline]
fn is_eligible(sum: i64, weight: i64, v0: u64, vruntime: u64) -> bool {
    sum >= (vruntime.wrapping_sub(v0) as i64).wrapping_mul(weight)
}

impl Fair {
    /// V - vruntime, within what is remembered: two slices or a tick of real time, whichever is longer.
    pub(super) fn lag(&self, q: u32, e: u32) -> i64 {
        let entity = &self.se[e as usize];
        let lag = self.queues[q as usize]
            .avg_vruntime(&self.se)
            .wrapping_sub(entity.vruntime) as i64;
        let limit = entity.vt((2 * u64::from(entity.slice)).max(self.tick_ns)) as i64;
        lag.clamp(-limit, limit)
    }

    /// `place_entity`: where on the queue `e` enters. Its lag is inflated so that, when it has entered and moved V by that, it
    /// is again what it was.
    pub(super) fn place(&mut self, q: u32, e: u32, initial: bool) {
        let queue = &self.queues[q as usize];
        let info = &mut self.info[e as usize];
        if !info.custom_slice {
            self.se[e as usize].slice = self.base_slice;
        }
        let entity = &self.se[e as usize];
        let mut request = entity.vt(u64::from(entity.slice));
        let mut lag = 0;
        if self.features.place_lag && queue.nr_queued > 0 {
            let load = queue.weight(&self.se).max(1);
            lag = entity.vlag.wrapping_mul(load + i64::from(entity.weight)) / load;
        }
        let vruntime = queue.avg_vruntime(&self.se).wrapping_sub(lag as u64);
        let entity = &mut self.se[e as usize];
        entity.vruntime = vruntime;
        if self.features.place_rel_deadline && info.rel_deadline {
            entity.deadline = entity.deadline.wrapping_add(vruntime);
            info.rel_deadline = false;
            return;
        }
        if initial && self.features.place_deadline_initial && self.version.first_request_is_half() {
            request /= 2;
        }
        entity.deadline = vruntime.wrapping_add(request);
    }

    /// Protects `e`, which is about to run, from being passed before its request is served (6.18: or before the shortest of
    /// the others' requests would be).
    pub(super) fn set_protection(&mut self, q: u32, e: u32) {
        let waiting = self.queues[q as usize].min_slice_waiting(&self.se);
        let entity = &mut self.se[e as usize];
        if !self.version.protects_until() {
            entity.vlag = entity.deadline as i64;
            return;
        }
        let others = if self.features.run_to_parity {
            waiting
        } else {
            self.base_slice_unscaled
        };
        let slice = others.min(entity.slice);
        let until = if slice == entity.slice {
            entity.deadline
        } else {
            super::entity::earlier(
                entity.deadline,
                entity.vruntime.wrapping_add(entity.vt(u64::from(slice))),
            )
        };
        entity.vlag = until as i64;
    }

    /// Whether the running `e` is protected.
    #[inline]
    pub(super) fn is_protected(&self, e: u32) -> bool {
        let entity = &self.se[e as usize];
        if self.version.protects_until() {
            before(entity.vruntime, entity.vlag as u64)
        } else {
            entity.vlag == entity.deadline as i64
        }
    }

    /// Ends the protection of the running `e`.
    pub(super) fn cancel_protection(&mut self, e: u32) {
        if self.is_protected(e) {
            let entity = &mut self.se[e as usize];
            entity.vlag = if self.version.protects_until() {
                entity.vruntime as i64
            } else {
                (entity.deadline as i64).wrapping_add(1)
            };
        }
    }

    /// `update_curr`: charges the running entity for the time since it was last charged, and renews its request when it has
    /// been served. The new request starts from the vruntime it has: overrun is not held against it.
    pub(super) fn update_curr(&mut self, core: &mut Core, platform: &mut Platform, q: u32) {
        let c = self.queues[q as usize].curr;
        if c == NONE {
            return;
        }
        let now_ns = platform.now_ns();
        let info = &mut self.info[c as usize];
        let delta_ns = now_ns - info.exec_start;
        if delta_ns == 0 {
            return;
        }
        info.exec_start = now_ns;
        info.sum_exec_runtime += delta_ns;
        let entity = &mut self.se[c as usize];
        entity.vruntime = entity.vruntime.wrapping_add(entity.vt(delta_ns));
        let queue = &mut self.queues[q as usize];
        queue.follow(entity.vruntime);
        let used_up = !before(entity.vruntime, entity.deadline);
        if used_up {
            if !info.custom_slice {
                entity.slice = self.base_slice;
            }
            entity.deadline = entity.vruntime.wrapping_add(entity.vt(u64::from(entity.slice)));
        }
        if queue.nr_queued == 1 {
            return;
        }
        let cpu = queue.cpu;
        let give_way = used_up
            || match self.version {
                Version::V6_6 => false,
                // A shorter task has cancelled the protection.
                Version::V6_12 => {
                    !self.is_protected(c)
                        && !self.queues[q as usize].eligible(&self.se, self.se[c as usize].vruntime)
                }
                Version::V6_18 => !self.is_protected(c),
            };
        if give_way {
            core.resched_curr(platform, cpu);
            self.clear_buddies(c);
        }
    }

    /// Takes back the nomination of `e`, and those of its ancestors that were nominated with it.
    pub(super) fn clear_buddies(&mut self, e: u32) {
        let mut e = e;
        while e != NONE {
            let queue = &mut self.queues[self.info[e as usize].queue as usize];
            if queue.next != e {
                return;
            }
            queue.next = NONE;
            e = self.info[e as usize].parent;
        }
    }

    /// Whose turn it is on queue `q` (without regard to nominations): the running entity while it is eligible and protected,
    /// else the earliest deadline among the eligible. `protect`: whether protection counts.
    pub(super) fn pick_eevdf(&self, q: u32, protect: bool) -> u32 {
        let queue = &self.queues[q as usize];
        let (sum, weight, v0) = queue.sums(&self.se);
        let eligible = |vruntime| is_eligible(sum, weight, v0, vruntime);
        let mut curr = queue.curr;
        if curr != NONE && !self.se[curr as usize].on_rq {
            curr = NONE;
        }
        if queue.nr_queued == 1 {
            return if curr != NONE { curr } else { queue.tree.leftmost() };
        }
        if curr != NONE && !eligible(self.se[curr as usize].vruntime) {
            curr = NONE;
        }
        if curr != NONE && protect && self.protection_counts() && self.is_protected(curr) {
            return curr;
        }
        let best = if self.version.tree_by_deadline() {
            let best = tree::earliest_eligible(&self.nodes, &queue.tree, &self.se, eligible);
            let deadline = |e: u32| self.se[e as usize].deadline;
            if best == NONE || (curr != NONE && before(deadline(curr), deadline(best))) {
                curr
            } else {
                best
            }
        } else {
            tree::earliest_eligible_by_vruntime(&self.nodes, &queue.tree, &self.se, curr, eligible)
        };
        // The smallest vruntime is never above the average, so there is one, unless a product has wrapped.
        if best == NONE { queue.tree.leftmost() } else { best }
    }

    /// 6.18 protects without `RUN_TO_PARITY` too, if for less.
    fn protection_counts(&self) -> bool {
        self.features.run_to_parity || self.version.protects_until()
    }
}
