//! A fair runqueue, its average and who is eligible.
//!
//! # V
//!
//! The queue's virtual time **V** is where everybody's vruntime would be had the CPU been divided
//! ideally: the average of all vruntimes, weighted. Who is behind it (smaller vruntime) is owed
//! time, and is *eligible*; who is ahead has had too much.
//!
//! ```text
//!   V = v0 + S / W        S = sum of weight * (vruntime - v0)        W = sum of weights
//! ```
//!
//! over all that compete. v0 only keeps the products small: S, W and v0 are moved together and no
//! decision sees it. The kernels move it at different times; here it is moved when V has got
//! [`FAR`] away from it.

use super::entity::{Entity, NONE};
use super::timeline;
use crate::classes::pelt::Average;
use crate::classes::rbtree::{Nodes, Root};
use schedlab_core::CpuId;

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
    /// What has been charged here, ns.
    pub exec_clock: u64,
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
            exec_clock: 0,
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
    pub fn sums(&self, se: &[Entity]) -> (i64, i64, u64) {
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
        if weight == 0 { v0 } else { v0.wrapping_add(sum.div_euclid(weight) as u64) }
    }

    /// Whether somebody at `vruntime` is owed time. Exact, where comparing with V would lose a
    /// fraction.
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
    pub fn follow(&mut self, vruntime: u64) {
        if self.sum_w == 0 {
            self.v0 = vruntime;
        }
    }

    /// As [`follow`](Queue::follow), after the vruntime of `curr` was changed otherwise than by
    /// charging it.
    pub fn follow_curr(&mut self, se: &[Entity]) {
        if self.curr != NONE {
            self.follow(se[self.curr as usize].vruntime);
        }
    }

    /// The smallest slice of those waiting, as well as the tree knows it.
    #[inline]
    pub fn min_slice_waiting(&self, se: &[Entity]) -> u32 {
        if self.tree.is_empty() { u32::MAX } else { se[self.tree.top() as usize].min_slice }
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
        let waiting = || timeline::iter(nodes, &self.tree).map(|node| &se[node as usize]);
        waiting().fold(0i64, |sum, entity| sum.wrapping_add(self.product(entity))) == self.sum_wk
            && waiting().map(|entity| i64::from(entity.weight)).sum::<i64>() == self.sum_w
    }
}

/// As [`Queue::eligible`], for many questions with the same sums.
#[inline]
pub fn is_eligible(sum: i64, weight: i64, v0: u64, vruntime: u64) -> bool {
    sum >= (vruntime.wrapping_sub(v0) as i64).wrapping_mul(weight)
}
