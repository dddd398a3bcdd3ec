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
//! 17 ms away from it.

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

/// How far V may get from v0, as a power of 2 of virtual ns (17 ms).
const FAR: u32 = 24;

/// A fair runqueue (`cfs_rq`): each CPU has one, and each group has one on each CPU that its tasks
/// came to.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// Those waiting: all that are queued but `curr`.
    pub tree: Root<EntityId>,
    /// The running entity. Its `on_rq` tells whether it still competes.
    pub curr: Option<EntityId>,
    /// The entity that should run next (a buddy), if it is eligible.
    pub next: Option<EntityId>,
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
    /// Its group.
    pub group: GroupId,
    /// The entity that stands for it one level up; none for a CPU's own.
    pub owner: Option<EntityId>,
    /// What has been charged here, ns.
    pub exec_clock: u64,
    /// Sum of the stored weights of those queued.
    pub load: u64,
    v0: Vruntime,
    /// S over the tree alone.
    sum_wk: i64,
    /// W over the tree alone.
    sum_w: i64,
    /// Load tracking.
    pub avg: Average,
    /// Averages of tasks that have left, to be subtracted.
    pub removed: Removed,
    /// What the entity that stands for it has not been told yet.
    pub pending: Pending,
    /// How the clock of its averages differs from its CPU's.
    pub pelt_clock: PeltClock,
    /// The last of those tasks that are held back because this queue, or one above it, is throttled
    /// (`throttled_limbo_list`); each knows the one before.
    pub limbo: Option<Pid>,
    /// Group: the load average that it has told its group (`tg_load_avg_contrib`).
    pub published: u64,
    /// When, ns.
    pub published_at: u64,
    /// Share of the CPU's load that is this queue's, and the jiffy in which it was found.
    pub h_load: (u64, u64),
    /// Sum of the estimated utilisations of the tasks queued (on a CPU's own queue).
    pub util_est: u64,
}

/// S, W and v0 of a queue: who is eligible there as it stands.
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

    /// Whether somebody at `vruntime` is owed time. Exact, where comparing with V would lose a
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

/// Load that has come to a group's queue or left it, but for what time brings: to be passed up to
/// the entity that stands for it (`propagate`, `prop_runnable_sum`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Pending {
    /// There is something to be passed, be it utilisation only.
    pub is_marked: bool,
    /// Sum of the load sums that have come and gone.
    pub runnable_sum: i64,
}

impl Pending {
    /// So much more has come, or less.
    #[inline]
    pub fn add(&mut self, runnable_sum: i64) {
        self.is_marked = true;
        self.runnable_sum += runnable_sum;
    }
}

/// While a group is throttled on a CPU, time stands still for the averages of its queue there and
/// of those below. (Where the tasks leave one by one: for those queues that are empty.)
#[derive(Clone, Copy, Debug, Default)]
pub struct PeltClock {
    /// How many throttled queues it and those above are (`throttle_count`).
    pub throttled: u32,
    /// It stands still (`pelt_clock_throttled`).
    pub stands: bool,
    /// Since when, ns.
    since_ns: u64,
    /// For how long it has stood still in all before, ns.
    stood_ns: u64,
    /// Since when this queue or one above it is throttled, ns.
    throttled_at_ns: u64,
    /// For how long that has been so in all before, ns.
    throttled_ns: u64,
}

impl PeltClock {
    /// What it shows when the CPU's clock is at `now_ns`.
    #[inline]
    pub fn at(&self, now_ns: u64) -> u64 {
        let now_ns = if self.stands { self.since_ns } else { now_ns };
        now_ns - self.stood_ns
    }

    /// This queue, or one above it, is throttled. `stops`: the clock stops by that.
    pub fn throttle(&mut self, now_ns: u64, stops: bool) {
        self.throttled += 1;
        if self.throttled == 1 {
            self.throttled_at_ns = now_ns;
            if stops {
                self.stop(now_ns);
            }
        }
    }

    /// This queue, or one above it, is throttled no longer. Whether none of them is.
    pub fn unthrottle(&mut self, now_ns: u64) -> bool {
        self.throttled -= 1;
        if self.throttled == 0 {
            self.throttled_ns += now_ns - self.throttled_at_ns;
            self.go_on(now_ns);
        }
        self.throttled == 0
    }

    /// It stands still from now on, if it does not do so already.
    pub fn stop(&mut self, now_ns: u64) {
        if !self.stands {
            self.stands = true;
            self.since_ns = now_ns;
        }
    }

    /// It goes on, if it has stood still.
    pub fn go_on(&mut self, now_ns: u64) {
        if self.stands {
            self.stands = false;
            self.stood_ns += now_ns - self.since_ns;
        }
    }

    /// Of a new queue below one of which this is the clock. Of an empty queue the clock has stood
    /// still whenever one above was throttled.
    pub fn below(&self) -> PeltClock {
        PeltClock {
            stands: self.throttled > 0,
            since_ns: self.throttled_at_ns,
            stood_ns: self.throttled_ns,
            ..*self
        }
    }
}

impl CfsRq {
    /// An empty one.
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

    /// S and W over all that compete, and v0.
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

    /// Whether somebody at `vruntime` is owed time.
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

    /// Nobody waits: v0 goes with the running one.
    #[inline]
    pub fn follow(&mut self, vruntime: Vruntime) {
        if self.sum_w == 0 {
            self.v0 = vruntime;
        }
    }

    /// As [`follow`](CfsRq::follow), after the vruntime of `curr` was changed otherwise than by
    /// charging it.
    pub fn follow_curr(&mut self, se: &IndexVec<EntityId, Entity>) {
        if let Some(curr) = self.curr {
            self.follow(se[curr].vruntime);
        }
    }

    /// The smallest slice of those waiting, as well as the tree knows it.
    #[inline]
    pub fn min_slice_waiting(&self, se: &IndexVec<EntityId, Entity>) -> u32 {
        self.tree.top().map_or(u32::MAX, |top| se[top].min_slice)
    }

    /// The smallest slice of those queued, as well as the tree knows it.
    #[inline]
    pub fn min_slice(&self, se: &IndexVec<EntityId, Entity>) -> u32 {
        let waiting = self.min_slice_waiting(se);
        self.competing_curr(se).map_or(waiting, |curr| waiting.min(se[curr].slice))
    }

    /// `cpu_util_cfs`, of a CPU's own queue.
    #[inline]
    pub fn cpu_util(&self) -> u64 {
        self.avg.util_avg.max(self.util_est).min(1024)
    }

    /// Recounts the sums. For tests.
    pub fn audit_sums(&self, se: &IndexVec<EntityId, Entity>) -> bool {
        let waiting = || timeline::iter(se, &self.tree).map(|e| &se[e]);
        waiting().fold(0i64, |sum, entity| sum.wrapping_add(self.product(entity))) == self.sum_wk
            && waiting().map(|entity| i64::from(entity.weight)).sum::<i64>() == self.sum_w
    }
}
