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
//!
//! From 7.1 on weights are 1024 times as large, and a group may weigh 2 or 2^28. A heavy entity
//! that meets a light one far from V has a product that does not fit in 64 bits until v0 has moved.
//! The kernel moves v0 before it places such an entity. Here a sum that does not fit moves v0.

use super::entity::{Entities, Entity, Vruntime};
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
    /// The running task, on the root queue where all tasks of a CPU are in one tree (7.3). Then
    /// `curr` is not in that tree, but the entity whose time is charged on this level.
    pub task: Option<EntityId>,
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
    /// Whether products are computed in 128 bits (7.1 on). Otherwise they wrap.
    pub wide: bool,
    /// Sum of their stored runnable weights (up to 5.6; see
    /// [`runnable_load`](super::runnable_load)).
    pub runnable_weight: u64,
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
    /// Group queue: the average of runnable tasks published with it (7.3).
    pub published_runnable: u64,
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
    wide: bool,
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
        let ahead = vruntime.since(self.v0);
        if self.wide {
            return i128::from(self.sum) >= i128::from(ahead) * i128::from(self.weight);
        }
        self.sum >= ahead.wrapping_mul(self.weight)
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
    /// Sum of their runnable averages; up to 5.6, of their load sums.
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
            task: None,
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
            wide: false,
            runnable_weight: 0,
            v0: Vruntime(0u64.wrapping_sub(1 << 20)),
            sum_wk: 0,
            sum_w: 0,
            avg: Average::default(),
            removed: Removed::default(),
            pending: Pending::default(),
            pelt_clock: PeltClock::default(),
            limbo: None,
            published: 0,
            published_runnable: 0,
            published_at: 0,
            h_load: (0, u64::MAX),
            util_est: 0,
        }
    }

    /// The running entity that competes with those in the tree, or did so before it blocked.
    #[inline]
    pub fn tree_curr(&self) -> Option<EntityId> {
        self.task.or(self.curr)
    }

    /// The running entity, if it still competes.
    #[inline]
    pub fn competing_curr(&self, se: &IndexVec<EntityId, Entity>) -> Option<EntityId> {
        self.tree_curr().filter(|&curr| se[curr].on_rq)
    }

    /// S and W over all competing entities, and v0.
    #[inline]
    pub fn sums(&self, se: &IndexVec<EntityId, Entity>) -> Sums {
        let Self { sum_wk: sum, sum_w: weight, v0, wide, .. } = *self;
        let sums = Sums { sum, weight, v0, wide };
        match self.competing_curr(se) {
            Some(curr) => {
                let (curr, weight) = (&se[curr], weight + se[curr].weight());
                match self.sum_with(self.product(curr)) {
                    Some(sum) => Sums { sum, weight, ..sums },
                    None => self.moved(self.wide_product(curr), weight),
                }
            }
            None => sums,
        }
    }

    /// An entity's part of S. It wraps up to 7.0. `None`: it does not fit (7.1 on).
    #[inline]
    fn product(&self, entity: &Entity) -> Option<i64> {
        let ahead = entity.vruntime.since(self.v0);
        match self.wide {
            true => entity.weight().checked_mul(ahead),
            false => Some(entity.weight().wrapping_mul(ahead)),
        }
    }

    /// S with another part. `None`: it does not fit (7.1 on).
    #[inline]
    fn sum_with(&self, part: Option<i64>) -> Option<i64> {
        match self.wide {
            true => self.sum_wk.checked_add(part?),
            false => Some(self.sum_wk.wrapping_add(part?)),
        }
    }

    /// An entity's part of S, whatever its size.
    fn wide_product(&self, entity: &Entity) -> i128 {
        i128::from(entity.weight()) * i128::from(entity.vruntime.since(self.v0))
    }

    /// S with a part that does not fit, for the total weight `weight`: v0 moves to V.
    #[cold]
    fn moved(&self, part: i128, weight: i64) -> Sums {
        let sum = i128::from(self.sum_wk) + part;
        let by = if weight == 0 { 0 } else { sum.div_euclid(i128::from(weight)) };
        let sum = (sum - by * i128::from(weight)) as i64;
        Sums { sum, weight, v0: self.v0.shifted(by as i64), wide: self.wide }
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
        let weight = self.sum_w + entity.weight();
        match self.sum_with(self.product(entity)) {
            Some(sum) => {
                (self.sum_wk, self.sum_w) = (sum, weight);
                self.bring_v0_near();
            }
            None => self.set(self.moved(self.wide_product(entity), weight)),
        }
    }

    /// Takes `entity` out of the sums.
    #[inline]
    pub fn count_out(&mut self, entity: &Entity) {
        let weight = self.sum_w - entity.weight();
        // A part of the least `i64` does not fit when negated.
        let part = match self.wide {
            true => self.product(entity).and_then(i64::checked_neg),
            false => self.product(entity).map(i64::wrapping_neg),
        };
        match self.sum_with(part) {
            Some(sum) => {
                (self.sum_wk, self.sum_w) = (sum, weight);
                self.bring_v0_near();
            }
            None => self.set(self.moved(-self.wide_product(entity), weight)),
        }
    }

    #[cold]
    fn set(&mut self, sums: Sums) {
        (self.sum_wk, self.sum_w, self.v0) = (sums.sum, sums.weight, sums.v0);
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
        if let Some(curr) = self.tree_curr() {
            self.follow(se[curr].vruntime);
        }
    }

    /// The first vruntime at which an entity is not eligible, as far as the waiting entities decide
    /// it, of which there are some.
    pub fn first_ineligible(&self) -> Vruntime {
        self.v0.shifted(self.sum_wk.div_euclid(self.sum_w.max(1))).plus(1)
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

    /// The longest slice of the queued entities, as far as the tree knows it (7.0 on).
    pub fn max_slice(&self, se: &Entities) -> u32 {
        let waiting = self.tree.top().map_or(0, |top| se.max_slices[top]);
        self.competing_curr(se).map_or(waiting, |curr| waiting.max(se[curr].slice))
    }

    /// Number of tasks here and below as balancing counts them. `delayed`: with delayed ones.
    #[inline]
    pub fn nr_balanced(&self, delayed: bool) -> u32 {
        if delayed { self.h_nr_queued } else { self.h_nr_runnable }
    }

    /// `cpu_util_cfs`, for the root group's queue.
    #[inline]
    pub fn cpu_util(&self) -> u64 {
        self.avg.util_avg.max(self.util_est).min(1024)
    }

    /// Recomputes the sums and compares them. For tests.
    pub fn audit_sums(&self, se: &Entities) -> bool {
        let waiting = || timeline::iter(se, &self.tree).map(|e| &se[e]);
        let sum = match self.wide {
            true => waiting().map(|entity| self.wide_product(entity)).sum(),
            false => i128::from(
                waiting()
                    .filter_map(|entity| self.product(entity))
                    .fold(0, |sum: i64, part| sum.wrapping_add(part)),
            ),
        };
        sum == i128::from(self.sum_wk)
            && waiting().map(|entity| entity.weight()).sum::<i64>() == self.sum_w
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_core::index::TypedIndex as _;

    /// A light entity at 0 and one of 2^28, as groups may weigh, about 51 virtual s ahead. Their
    /// product is 3 * 2^62.
    #[test]
    fn a_heavy_entity_far_from_a_light_one_leaves_the_light_one_eligible() {
        for heavy_runs in [true, false] {
            let mut queue = CfsRq::new(CpuId(0), GroupId::ROOT, None);
            queue.wide = true;
            let weights = [(2, 0), (1 << 28, 3 << 34)];
            let mut se: Entities = weights
                .into_iter()
                .map(|(weight, vruntime)| {
                    let mut entity = Entity::new(700_000);
                    entity.set_full_weight(weight);
                    entity.vruntime = Vruntime(vruntime);
                    entity.on_rq = true;
                    entity
                })
                .collect();
            let [light, heavy] = [0, 1].map(EntityId::new);
            queue.count_in(&se[light]);
            if heavy_runs {
                queue.curr = Some(heavy);
            } else {
                queue.count_in(&se[heavy]);
            }
            let eligible = |queue: &CfsRq, se: &Entities, e| queue.eligible(se, se[e].vruntime);
            assert!(eligible(&queue, &se, light), "it is behind V");
            assert!(!eligible(&queue, &se, heavy), "it is ahead of V");
            let v = queue.avg_vruntime(&se);
            assert!((0..1000).contains(&se[heavy].vruntime.since(v)), "V is where the weight is");
            if heavy_runs {
                queue.curr = None;
            } else {
                queue.count_out(&se[heavy]);
            }
            se[heavy].on_rq = false;
            assert_eq!(queue.avg_vruntime(&se), Vruntime(0));
        }
    }
}
