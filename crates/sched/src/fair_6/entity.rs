//! Scheduling entities: a task, or a group's representative on one CPU. Weights and virtual time.
//!
//! An [`Entity`] is the part that the tree and the sums read all the time. It fills a cache line,
//! links in the tree included. [`Info`] holds what a hook reads once. Both are found by the same
//! [`EntityId`].

use super::ids::{CfsRqId, EntityId};
use crate::classes::Pid;
use crate::classes::pelt::Average;
use crate::classes::rbtree::Links;
use core::ops::{Deref, DerefMut};
use schedlab_core::CpuId;
use schedlab_core::index::IndexVec;

/// Number of bits by which stored weights are shifted left, so that groups' shares lose little when
/// they are divided among CPUs.
pub const WEIGHT_SHIFT: u32 = 10;

/// The stored weight of nice 0, by which virtual time is measured.
pub const NICE_0_WEIGHT: u64 = 1024 << WEIGHT_SHIFT;

/// A stored weight as used in sums: shifted back, at least 2 unless it is 0.
#[inline]
pub fn unscaled(weight: u64) -> u64 {
    if weight == 0 { 0 } else { (weight >> WEIGHT_SHIFT).max(2) }
}

/// A point in virtual time, in ns of a nice-0 task's time. It wraps: of two points the earlier one
/// is the one from which the other is reached forwards by less than half of the range of `u64`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vruntime(pub u64);

impl Vruntime {
    /// Whether it is earlier than `other`.
    #[inline]
    pub fn is_before(self, other: Vruntime) -> bool {
        self.since(other) < 0
    }

    /// The earlier of the two.
    #[inline]
    pub fn earlier(self, other: Vruntime) -> Vruntime {
        if other.is_before(self) { other } else { self }
    }

    /// Difference by which it is later than `other`, virtual ns.
    #[inline]
    pub fn since(self, other: Vruntime) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// The point `by` virtual ns later, or earlier if `by` is negative.
    #[inline]
    pub fn shifted(self, by: i64) -> Vruntime {
        Vruntime(self.0.wrapping_add(by as u64))
    }

    /// The point `by` virtual ns later.
    #[inline]
    pub fn plus(self, by: u64) -> Vruntime {
        Vruntime(self.0.wrapping_add(by))
    }
}

/// The part of an entity that the tree and the sums read.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Entity {
    /// Virtual time served.
    pub vruntime: Vruntime,
    /// Virtual deadline of the current request. Relative to `vruntime` while `rel_deadline` is set.
    pub deadline: Vruntime,
    /// The smallest vruntime (6.12 on) or deadline (6.6) in the subtree rooted here.
    pub min_other: Vruntime,
    /// Not queued: the lag with which it left, V - vruntime. Running: its protection
    /// ([`vprot`](Entity::vprot)). Kernels keep both in one field, and that is visible in schedules
    /// (see `reweight`).
    pub vlag: i64,
    /// Its place in the tree.
    pub links: Links<EntityId>,
    /// Request length, ns of real time.
    pub slice: u32,
    /// The smallest slice in the subtree, as exact as in the kernel.
    pub min_slice: u32,
    /// Unscaled weight. From 7.1 on the lower half of the [`weight`](Entity::weight).
    low_weight: u32,
    /// Virtual time = real time * `vt_factor` >> `vt_shift`. From 7.1 on the upper half of the
    /// weight, by which real time is divided.
    vt_factor: u32,
    vt_shift: u8,
    /// Its colour in the tree.
    pub red: bool,
    /// Whether it is queued, which includes running.
    pub on_rq: bool,
    /// Whether it is queued but asleep: its dequeue is delayed until it is eligible.
    pub sched_delayed: bool,
}

/// The shift of entities whose real time is divided by their weight.
const BY_DIVISION: u8 = u8::MAX;

/// All entities: the part that the trees and the sums read.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    rows: IndexVec<EntityId, Entity>,
    /// 7.0 on: the longest slice in the subtree of each, as exact as in the kernel. Separate, so
    /// that an entity of the other releases fits a cache line.
    pub max_slices: IndexVec<EntityId, u32>,
}

impl Entities {
    /// Adds an entity.
    pub fn push(&mut self, entity: Entity) -> EntityId {
        self.max_slices.push(0);
        self.rows.push(entity)
    }
}

impl FromIterator<Entity> for Entities {
    fn from_iter<I: IntoIterator<Item = Entity>>(entities: I) -> Entities {
        let mut all = Entities::default();
        for entity in entities {
            all.push(entity);
        }
        all
    }
}

impl Deref for Entities {
    type Target = IndexVec<EntityId, Entity>;

    #[inline]
    fn deref(&self) -> &IndexVec<EntityId, Entity> {
        &self.rows
    }
}

impl DerefMut for Entities {
    #[inline]
    fn deref_mut(&mut self) -> &mut IndexVec<EntityId, Entity> {
        &mut self.rows
    }
}

/// The part of an entity that is read less often: two cache lines, of which the second holds the
/// averages.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Info {
    /// The task. `None` for a group.
    pub task: Option<Pid>,
    /// The group's own queue. `None` for a task.
    pub my_q: Option<CfsRqId>,
    /// The queue that it is on, or was on last.
    pub cfs_rq: CfsRqId,
    /// The group entity above it.
    pub parent: Option<EntityId>,
    /// Number of entities above it.
    pub depth: u16,
    /// Whether the slice was set by the user or, for a group, by its children.
    pub custom_slice: bool,
    /// Whether `deadline` is relative to `vruntime`.
    pub rel_deadline: bool,
    /// Whether it is idle: a `SCHED_IDLE` task or an idle group.
    pub idle: bool,
    /// Task: whether its averages have been updated since its utilisation was estimated.
    pub avg_renewed: bool,
    /// The stored weight.
    pub load: u64,
    /// Time at which it was last charged, ns.
    pub exec_start: u64,
    /// Task: estimated utilisation.
    pub util_est: u32,
    /// Task: a CPU it has used lately.
    pub recent_used_cpu: CpuId,
    /// Group: number of runnable tasks below. Up to 5.6, its stored runnable weight.
    pub runnable: u32,
    /// Load tracking.
    pub avg: Average,
}

impl Entity {
    /// A new entity, not queued, of nice 0.
    pub fn new(slice: u32) -> Entity {
        let mut entity = Entity {
            vruntime: Vruntime(0),
            deadline: Vruntime(0),
            min_other: Vruntime(0),
            vlag: 0,
            links: Links::default(),
            slice,
            min_slice: slice,
            low_weight: 0,
            vt_factor: 0,
            vt_shift: 0,
            red: false,
            on_rq: false,
            sched_delayed: false,
        };
        entity.set_weight(NICE_0_WEIGHT, None);
        entity
    }

    /// Takes a stored weight. `inverse` comes from the table for tasks and is computed for groups.
    pub fn set_weight(&mut self, stored: u64, inverse: Option<u32>) {
        self.set_weight_of_at_least(2, stored, inverse);
    }

    /// [`set_weight`](Entity::set_weight) where the unscaled weight is at least `least`: 0 before
    /// small weights were kept from vanishing.
    pub fn set_weight_of_at_least(&mut self, least: u64, stored: u64, inverse: Option<u32>) {
        self.low_weight = (stored >> WEIGHT_SHIFT).max(least) as u32;
        let inverse = inverse.unwrap_or_else(|| u32::MAX / self.low_weight.max(1));
        // Real time times 1024, a factor of 2^32 at nice 0, is reduced to 32 bits, and the shift
        // with it.
        let mut factor = 1024 * u64::from(inverse);
        let mut shift = 32;
        if stored == NICE_0_WEIGHT {
            factor = 1 << 31;
            shift = 31;
        }
        let excess = 64 - (factor >> 32).leading_zeros();
        factor >>= excess;
        shift -= excess;
        self.vt_factor = factor as u32;
        self.vt_shift = shift as u8;
    }

    /// Takes a stored weight that is used as it is, and by which real time is divided (7.1 on).
    pub fn set_full_weight(&mut self, stored: u64) {
        self.low_weight = stored as u32;
        self.vt_factor = (stored >> 32) as u32;
        self.vt_shift = BY_DIVISION;
    }

    /// Its weight in sums: the unscaled one. From 7.1 on the stored one, and in 7.3 the part that a
    /// task has of its CPU.
    #[inline]
    pub fn weight(&self) -> i64 {
        match self.vt_shift {
            BY_DIVISION => i64::from(self.vt_factor) << 32 | i64::from(self.low_weight),
            _ => i64::from(self.low_weight),
        }
    }

    /// Running: the virtual time up to which it is protected from preemption by an earlier
    /// deadline. (6.18. Before, it is protected while this equals its deadline.)
    #[inline]
    pub fn vprot(&self) -> Vruntime {
        Vruntime(self.vlag as u64)
    }

    /// Running: protects it up to `until`.
    #[inline]
    pub fn set_vprot(&mut self, until: Vruntime) {
        self.vlag = until.0 as i64;
    }

    /// Returns `lag`, enlarged so that it is `lag` again after this entity has joined a queue of
    /// weight `load` and has moved V by that.
    #[inline]
    pub fn inflated(&self, lag: i64, load: i64) -> i64 {
        if self.vt_shift == BY_DIVISION {
            let more = i128::from(lag) * i128::from(self.weight()) / i128::from(load);
            return lag.wrapping_add(more as i64);
        }
        lag.wrapping_mul(load + self.weight()) / load
    }

    /// The length of its request, virtual ns.
    #[inline]
    pub fn vslice(&self) -> u64 {
        self.vt(u64::from(self.slice))
    }

    /// The amount of real time, ns, for `virtual_ns` of this entity's virtual time (7.1 on).
    pub fn real_time(&self, virtual_ns: u64) -> u64 {
        (u128::from(virtual_ns) * self.weight() as u128 / u128::from(NICE_0_WEIGHT)) as u64
    }

    /// Converts real time to this entity's virtual time, which passes more slowly the heavier it
    /// is.
    #[inline]
    pub fn vt(&self, delta_ns: u64) -> u64 {
        if self.vt_shift == BY_DIVISION {
            return self.vt_by_division(delta_ns);
        }
        if delta_ns >> 32 == 0 {
            return (delta_ns * u64::from(self.vt_factor)) >> self.vt_shift;
        }
        ((u128::from(delta_ns) * u128::from(self.vt_factor)) >> self.vt_shift) as u64
    }

    fn vt_by_division(&self, delta_ns: u64) -> u64 {
        match self.weight() as u64 {
            NICE_0_WEIGHT => delta_ns,
            weight => delta_ns.wrapping_mul(NICE_0_WEIGHT) / weight.max(1),
        }
    }
}

impl Info {
    /// The data of a new entity that belongs on `cfs_rq`.
    pub fn new(cfs_rq: CfsRqId) -> Info {
        Info {
            task: None,
            my_q: None,
            cfs_rq,
            parent: None,
            depth: 0,
            custom_slice: false,
            rel_deadline: false,
            idle: false,
            avg_renewed: false,
            runnable: 0,
            load: NICE_0_WEIGHT,
            exec_start: 0,
            util_est: 0,
            recent_used_cpu: CpuId(0),
            avg: Average::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::weights::{WEIGHT_IDLEPRIO, WMULT_IDLEPRIO, weight_of_nice, wmult_of_nice};

    fn at_nice(nice: i32) -> Entity {
        let mut entity = Entity::new(0);
        entity
            .set_weight(u64::from(weight_of_nice(nice)) << WEIGHT_SHIFT, Some(wmult_of_nice(nice)));
        entity
    }

    #[test]
    fn an_entity_fills_a_cache_line() {
        assert_eq!(core::mem::size_of::<Entity>(), 64);
        assert_eq!(core::mem::size_of::<Option<EntityId>>(), 4);
        assert_eq!((core::mem::size_of::<Info>(), core::mem::offset_of!(Info, avg)), (128, 64));
    }

    #[test]
    fn virtual_time_of_the_worked_examples() {
        assert_eq!(at_nice(0).vt(1_234_567_891_011), 1_234_567_891_011);
        assert_eq!(at_nice(5).vt(1_000_000), 3_056_716);
        assert_eq!(at_nice(-5).vt(1_000_000), 328_099);
        assert_eq!(at_nice(19).vt(1_000_000), 68_266_666);
        assert_eq!(at_nice(-20).vt(1_000_000), 11_536);
        assert_eq!(at_nice(10).vt(2_800_000), 26_065_454);
        assert_eq!(at_nice(5).vt(2_800_000), 8_558_806);
        let mut idle = Entity::new(0);
        idle.set_weight(u64::from(WEIGHT_IDLEPRIO) << WEIGHT_SHIFT, Some(WMULT_IDLEPRIO));
        assert_eq!(idle.vt(1_000_000), 341_333_333);
    }

    #[test]
    fn long_times_take_the_wide_product() {
        let entity = at_nice(5);
        let seconds = 100_000_000_000;
        let narrow = (seconds as u128 * u128::from(entity.vt_factor)) >> entity.vt_shift;
        assert_eq!(u128::from(entity.vt(seconds)), narrow);
    }

    #[test]
    fn a_group_of_nice_0_weight_is_exact_and_others_use_a_computed_inverse() {
        let mut group = Entity::new(0);
        group.set_weight(NICE_0_WEIGHT, None);
        assert_eq!(group.vt(1_000_003), 1_000_003);
        group.set_weight(2 * NICE_0_WEIGHT, None);
        // floor(0xffffffff / 2048) = 2097151, a little less than 2^21.
        assert_eq!(group.vt(1_000_000), 499_999);
    }

    #[test]
    fn full_weights_divide() {
        let mut entity = Entity::new(0);
        entity.set_full_weight(335 << WEIGHT_SHIFT);
        assert_eq!((entity.weight(), entity.vt(1_000_000)), (343_040, 3_056_716));
        assert_eq!(entity.real_time(3_056_716), 999_999);
        entity.set_full_weight(NICE_0_WEIGHT);
        assert_eq!(entity.vt(1_234_567_891_011), 1_234_567_891_011);
        entity.set_full_weight(1 << 40);
        assert_eq!((entity.weight(), entity.vt(1 << 20)), (1 << 40, 1));
    }

    #[test]
    fn virtual_time_wraps() {
        let (late, early) = (Vruntime(5), Vruntime(u64::MAX - 5));
        assert!(early.is_before(late) && !late.is_before(early));
        assert_eq!((late.since(early), early.since(late)), (11, -11));
        assert_eq!((late.earlier(early), early.earlier(late)), (early, early));
        assert_eq!((early.plus(11), late.shifted(-11)), (late, early));
    }

    #[test]
    fn small_weights_have_a_floor_of_two() {
        assert_eq!([0, 1, 2047, 3072, 1 << 20].map(unscaled), [0, 2, 2, 3, 1024]);
    }
}
