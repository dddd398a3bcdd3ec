//! A fair runqueue, its average vruntime and the eligibility of its entities.
//!
//! # V
//!
//! The queue's virtual time **V** is the vruntime that every entity would have if the CPU had been
//! divided ideally: the weighted average of all vruntimes. An entity behind V (with a smaller
//! vruntime) is owed time and is *eligible*. An entity ahead of V has received too much.
//!
//! ```text
//!   V = v0 + S / W        S = sum of weight * (vruntime - v0)        W = sum of weights
//! ```
//!
//! over all competing entities. v0 only keeps the products small: S, W and v0 are moved together,
//! and no decision depends on it. The kernels move it at different times. Here it is moved when V
//! is 17 ms away from it.

use super::entity::{Entity, Vruntime};
use super::ids::{CfsRqId, EntityId};
use super::timeline;
use crate::classes::Pid;
use crate::classes::pelt::Average;
use crate::classes::rbtree::Root;
use schedlab_core::index::IndexVec;
use schedlab_core::{CpuId, GroupId};

/// All fair runqueues.
pub type CfsRqs = IndexVec<CfsRqId, CfsRq>;

/// The largest distance of V from v0, as a power of 2 of virtual ns (17 ms).
const FAR: u32 = 24;

/// A fair runqueue (`cfs_rq`). Each CPU has one, and each group has one on each CPU that its tasks
/// have been on.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// The waiting entities: all queued ones except `curr`.
    pub tree: Root<EntityId>,
    /// The running entity. Its `on_rq` states whether it still competes.
    pub curr: Option<EntityId>,
    /// The entity that should run next (a buddy), if it is eligible.
    pub next: Option<EntityId>,
    /// Number of queued entities, `curr` and delayed ones included.
    pub nr_queued: u32,
    /// Number of tasks queued here and below, delayed ones included.
    pub h_nr_queued: u32,
    /// Number of those tasks that are not delayed.
    pub h_nr_runnable: u32,
    /// Number of those tasks that are `SCHED_IDLE`.
    pub h_nr_idle: u32,
    /// Its CPU.
    pub cpu: CpuId,
    /// Its group.
    pub group: GroupId,
    /// The entity that represents it one level up. `None` for a root group's queue.
    pub owner: Option<EntityId>,
    /// Total time charged here, ns.
    pub exec_clock: u64,
    /// Sum of the stored weights of the queued entities.
    pub load: u64,
    v0: Vruntime,
    /// S over the tree only.
    sum_wk: i64,
    /// W over the tree only.
    sum_w: i64,
    /// Load tracking.
    pub avg: Average,
    /// Averages of tasks that have left, still to be subtracted.
    pub removed: Removed,
    /// Load changes not yet passed up to the entity that represents this queue.
    pub pending: Pending,
    /// The clock of its averages, relative to its CPU's clock.
    pub pelt_clock: PeltClock,
    /// The last of the tasks that are held back because this queue, or one above it, is throttled
    /// (`throttled_limbo_list`). Each links to the one before it.
    pub limbo: Option<Pid>,
    /// Group queue: the load average last published to the group (`tg_load_avg_contrib`).
    pub published: u64,
    /// Time of that publication, ns.
    pub published_at: u64,
    /// This queue's share of its CPU's load, and the jiffy in which it was computed.
    pub h_load: (u64, u64),
    /// Sum of the estimated utilisations of the queued tasks (root group's queue only).
    pub util_est: u64,
}

/// S, W and v0 of a queue at one moment, which decide eligibility.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    sum: i64,
    weight: i64,
    v0: Vruntime,
}

impl Sums {
    /// V, rounded down.
    #[inline]
    pub fn avg_vruntime(&self) -> Vruntime {
        if self.weight == 0 { self.v0 } else { self.v0.shifted(self.sum.div_euclid(self.weight)) }
    }

    /// Whether an entity at `vruntime` is eligible. Exact, whereas a comparison with V would lose a
    /// fraction.
    #[inline]
    pub fn eligible(&self, vruntime: Vruntime) -> bool {
        self.sum >= vruntime.since(self.v0).wrapping_mul(self.weight)
    }

    /// The total weight.
    #[inline]
    pub fn weight(&self) -> i64 {
        self.weight
    }
}

/// Averages of tasks that have left a queue while they were not queued.
#[derive(Clone, Copy, Debug, Default)]
pub struct Removed {
    /// Number of such tasks.
    pub nr: u32,
    /// Sum of their load averages.
    pub load_avg: u64,
    /// Sum of their runnable averages.
    pub runnable_avg: u64,
    /// Sum of their utilisations.
    pub util_avg: u64,
}

/// Load that has joined or left a group's queue otherwise than by the passage of time, and is to be
/// passed up to the entity that represents it (`propagate`, `prop_runnable_sum`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Pending {
    /// Whether there is a change to pass up, possibly of utilisation only.
    pub is_marked: bool,
    /// Net sum of the load sums that have joined and left.
    pub runnable_sum: i64,
}

impl Pending {
    /// Adds a change of the load sum, which may be negative.
    #[inline]
    pub fn add(&mut self, runnable_sum: i64) {
        self.is_marked = true;
        self.runnable_sum += runnable_sum;
    }
}

/// The clock of a queue's averages. While a group is throttled on a CPU, it stands still for the
/// group's queue there and for those below. (Where tasks leave one by one, only for the queues that
/// are empty.)
#[derive(Clone, Copy, Debug, Default)]
pub struct PeltClock {
    /// Number of throttled queues among this one and those above it (`throttle_count`).
    pub throttled: u32,
    /// Whether the clock stands still (`pelt_clock_throttled`).
    pub is_stopped: bool,
    /// Time since which it stands still, ns.
    since_ns: u64,
    /// Total time for which it stood still before, ns.
    stopped_ns: u64,
    /// Time since which this queue or one above it is throttled, ns.
    throttled_at_ns: u64,
    /// Total time for which one of them was throttled before, ns.
    throttled_ns: u64,
}

impl PeltClock {
    /// The reading of this clock when the CPU's clock is at `now_ns`.
    #[inline]
    pub fn at(&self, now_ns: u64) -> u64 {
        let now_ns = if self.is_stopped { self.since_ns } else { now_ns };
        now_ns.wrapping_sub(self.stopped_ns)
    }

    /// Sets the clock, and the CPU's, ahead by `ahead_ns`.
    pub fn set_ahead(&mut self, ahead_ns: u64) {
        self.stopped_ns = self.stopped_ns.wrapping_sub(ahead_ns);
        self.throttled_ns = self.throttled_ns.wrapping_sub(ahead_ns);
    }

    /// Records that this queue, or one above it, is throttled. `stops`: the clock stops.
    pub fn throttle(&mut self, now_ns: u64, stops: bool) {
        self.throttled += 1;
        if self.throttled == 1 {
            self.throttled_at_ns = now_ns;
            if stops {
                self.stop(now_ns);
            }
        }
    }

    /// Records that this queue, or one above it, is no longer throttled. Returns whether none of
    /// them is.
    pub fn unthrottle(&mut self, now_ns: u64) -> bool {
        self.throttled -= 1;
        if self.throttled == 0 {
            self.throttled_ns = self.throttled_ns.wrapping_add(now_ns - self.throttled_at_ns);
            self.resume(now_ns);
        }
        self.throttled == 0
    }

    /// Stops the clock, unless it stands still already.
    pub fn stop(&mut self, now_ns: u64) {
        if !self.is_stopped {
            self.is_stopped = true;
            self.since_ns = now_ns;
        }
    }

    /// Lets the clock run again if it stands still.
    pub fn resume(&mut self, now_ns: u64) {
        if self.is_stopped {
            self.is_stopped = false;
            self.stopped_ns = self.stopped_ns.wrapping_add(now_ns - self.since_ns);
        }
    }

    /// The clock of a new queue below the queue of this clock. The clock of an empty queue has
    /// stood still whenever a queue above it was throttled.
    pub fn below(&self) -> PeltClock {
        PeltClock {
            is_stopped: self.throttled > 0,
            since_ns: self.throttled_at_ns,
            stopped_ns: self.throttled_ns,
            ..*self
        }
    }
}

impl CfsRq {
    /// An empty queue.
    pub fn new(cpu: CpuId, group: GroupId, owner: Option<EntityId>) -> CfsRq {
        CfsRq {
            tree: Root::default(),
            curr: None,
            next: None,
            nr_queued: 0,
            h_nr_queued: 0,
            h_nr_runnable: 0,
            h_nr_idle: 0,
            cpu,
            group,
            owner,
            exec_clock: 0,
            load: 0,
            v0: Vruntime(0u64.wrapping_sub(1 << 20)),
            sum_wk: 0,
            sum_w: 0,
            avg: Average::default(),
            removed: Removed::default(),
            pending: Pending::default(),
            pelt_clock: PeltClock::default(),
            limbo: None,
            published: 0,
            published_at: 0,
            h_load: (0, u64::MAX),
            util_est: 0,
        }
    }

    /// The running entity, if it still competes.
    #[inline]
    pub fn competing_curr(&self, se: &IndexVec<EntityId, Entity>) -> Option<EntityId> {
        self.curr.filter(|&curr| se[curr].on_rq)
    }

    /// S and W over all competing entities, and v0.
    #[inline]
    pub fn sums(&self, se: &IndexVec<EntityId, Entity>) -> Sums {
        let mut sums = Sums { sum: self.sum_wk, weight: self.sum_w, v0: self.v0 };
        if let Some(curr) = self.curr {
            let curr = &se[curr];
            if curr.on_rq {
                sums.sum = sums.sum.wrapping_add(self.product(curr));
                sums.weight += i64::from(curr.weight);
            }
        }
        sums
    }

    /// An entity's part of S.
    #[inline]
    fn product(&self, entity: &Entity) -> i64 {
        i64::from(entity.weight).wrapping_mul(entity.vruntime.since(self.v0))
    }

    /// V, rounded down.
    #[inline]
    pub fn avg_vruntime(&self, se: &IndexVec<EntityId, Entity>) -> Vruntime {
        self.sums(se).avg_vruntime()
    }

    /// Whether an entity at `vruntime` is eligible.
    #[inline]
    pub fn eligible(&self, se: &IndexVec<EntityId, Entity>, vruntime: Vruntime) -> bool {
        self.sums(se).eligible(vruntime)
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
            self.v0 = self.v0.shifted(by);
            self.sum_wk -= by * self.sum_w;
        }
    }

    /// Moves v0 to the running entity's `vruntime` if no entity waits.
    #[inline]
    pub fn follow(&mut self, vruntime: Vruntime) {
        if self.sum_w == 0 {
            self.v0 = vruntime;
        }
    }

    /// Like [`follow`](CfsRq::follow), after the vruntime of `curr` has changed otherwise than by a
    /// charge.
    pub fn follow_curr(&mut self, se: &IndexVec<EntityId, Entity>) {
        if let Some(curr) = self.curr {
            self.follow(se[curr].vruntime);
        }
    }

    /// The smallest slice of the waiting entities, as far as the tree knows it.
    #[inline]
    pub fn min_slice_waiting(&self, se: &IndexVec<EntityId, Entity>) -> u32 {
        self.tree.top().map_or(u32::MAX, |top| se[top].min_slice)
    }

    /// The smallest slice of the queued entities, as far as the tree knows it.
    #[inline]
    pub fn min_slice(&self, se: &IndexVec<EntityId, Entity>) -> u32 {
        let waiting = self.min_slice_waiting(se);
        self.competing_curr(se).map_or(waiting, |curr| waiting.min(se[curr].slice))
    }

    /// `cpu_util_cfs`, for the root group's queue.
    #[inline]
    pub fn cpu_util(&self) -> u64 {
        self.avg.util_avg.max(self.util_est).min(1024)
    }

    /// Recomputes the sums and compares them. For tests.
    pub fn audit_sums(&self, se: &IndexVec<EntityId, Entity>) -> bool {
        let waiting = || timeline::iter(se, &self.tree).map(|e| &se[e]);
        waiting().fold(0i64, |sum, entity| sum.wrapping_add(self.product(entity))) == self.sum_wk
            && waiting().map(|entity| i64::from(entity.weight)).sum::<i64>() == self.sum_w
    }
}
