//! What competes for a CPU: an [`Entity`] is a task, or a group's presence on one CPU.

use super::releases::InverseRule;
use crate::classes::Pid;
use crate::classes::rbtree::NIL;
use crate::classes::weights::{
    NICE_0_LOAD, WEIGHT_IDLEPRIO, WMULT_IDLEPRIO, weight_of_nice, wmult_of_nice,
};
use schedlab_core::{Policy, SchedAttr};

/// A weight and its inverse (about 2^32 / weight), so that the kernel need not divide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// The weight.
    pub weight: u64,
    /// 2^32 / weight: from the table for a task, worked out for anything else.
    pub inverse: u64,
}

/// The weight of a real-time task, looked at by the balancer only.
const RT_LOAD: Load = Load { weight: 2 * 88761, inverse: 24194 };

impl Load {
    /// The load of a task.
    pub fn of_task(attr: &SchedAttr, old_idle_weight: bool) -> Load {
        match attr.policy {
            Policy::Fifo | Policy::RoundRobin | Policy::Deadline => RT_LOAD,
            // Before 2.6.29 the inverse of the idle weight was written as 1 << 31 in a signed int,
            // which 64-bit machines extend to the left with ones: products with it wrap, and what
            // comes out is nonsense. It is what those kernels computed.
            Policy::Idle if old_idle_weight => Load { weight: 2, inverse: 0xFFFF_FFFF_8000_0000 },
            Policy::Idle => {
                Load { weight: u64::from(WEIGHT_IDLEPRIO), inverse: u64::from(WMULT_IDLEPRIO) }
            }
            Policy::Other | Policy::Batch => Load {
                weight: u64::from(weight_of_nice(attr.nice)),
                inverse: u64::from(wmult_of_nice(attr.nice)),
            },
        }
    }

    /// A load that is no task's: a queue's total, or a group's.
    #[inline]
    pub fn computed(weight: u64, rule: InverseRule) -> Load {
        Load { weight, inverse: inverse(weight, rule) }
    }
}

/// The kernel's inverse of a weight that stands in no table.
#[inline]
pub fn inverse(weight: u64, rule: InverseRule) -> u64 {
    const ONE: u64 = 1 << 32;
    match rule {
        _ if weight >= ONE => 1,
        // Of weight + 1, a little below 2^32 / weight.
        InverseRule::OfNext => 1 + (ONE - weight / 2) / (weight + 1),
        InverseRule::OfSame => 1 + (ONE - weight / 2) / weight,
    }
}

/// `calc_delta_mine`: `delta * weight / (the weight whose inverse is given)`, without a division.
/// Every product is taken modulo 2^64.
#[inline]
pub fn scale(delta: u64, weight: u64, inverse: u64) -> u64 {
    let product = delta.wrapping_mul(weight);
    let scaled = if product > 1 << 32 {
        (product.wrapping_add(1 << 15) >> 16).wrapping_mul(inverse).wrapping_add(1 << 15) >> 16
    } else {
        product.wrapping_mul(inverse).wrapping_add(1 << 31) >> 32
    };
    scaled.min(i64::MAX as u64)
}

/// `calc_delta_fair`: real time in virtual time, as it passes for somebody of this load.
#[inline]
pub fn fair(delta: u64, load: Load) -> u64 {
    if load.weight == u64::from(NICE_0_LOAD) {
        delta
    } else {
        scale(delta, u64::from(NICE_0_LOAD), load.inverse)
    }
}

/// Whether virtual time `a` is before `b`. Virtual times wrap.
#[inline]
pub const fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// The later of two virtual times.
#[inline]
pub const fn max_vruntime(a: u64, b: u64) -> u64 {
    if before(a, b) { b } else { a }
}

/// The earlier of two virtual times.
#[inline]
pub const fn min_vruntime(a: u64, b: u64) -> u64 {
    if before(b, a) { b } else { a }
}

/// `sched_entity`: a task, or a group on one CPU. It fills two lines of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Entity {
    /// The time it has run, in virtual time.
    pub vruntime: u64,
    /// Its weight.
    pub load: Load,
    /// Its CPU's clock when it was last charged or picked, ns.
    pub exec_start: u64,
    /// All the time it has run, ns.
    pub sum_exec: u64,
    /// What `sum_exec` was when it was last picked, ns.
    pub prev_sum_exec: u64,
    /// The queue in which it competes.
    pub cfs_rq: u32,
    /// The group's entity that this queue belongs to; [`NIL`] at the top.
    pub parent: u32,
    /// The queue that it stands for, if it is a group's; [`NIL`] if it is a task.
    pub my_q: u32,
    /// The task, if it is one.
    pub pid: Pid,
    /// The number of its arrival in the timeline, while it waits.
    pub arrival: u32,
    /// Neighbours in the queue's list of tasks.
    pub newer: u32,
    /// Neighbours in the queue's list of tasks.
    pub older: u32,
    /// How many groups it is in.
    pub depth: u16,
    /// Queued or running.
    pub on_rq: bool,
    /// A task of policy `SCHED_IDLE`.
    pub is_idle_policy: bool,
    /// How it behaves among others.
    pub averages: Averages,
}

const _: () = assert!(size_of::<Entity>() == 128);

impl Entity {
    /// A task or a group that has never run.
    pub fn new(load: Load, cfs_rq: u32, parent: u32) -> Entity {
        Entity {
            vruntime: 0,
            load,
            exec_start: 0,
            sum_exec: 0,
            prev_sum_exec: 0,
            cfs_rq,
            parent,
            my_q: NIL,
            pid: Pid(NIL),
            arrival: 0,
            newer: NIL,
            older: NIL,
            depth: 0,
            on_rq: false,
            is_idle_policy: false,
            averages: Averages::default(),
        }
    }

    /// Whether it is a task.
    #[inline]
    pub fn is_task(&self) -> bool {
        self.my_q == NIL
    }
}

/// Running means about how a task behaves among others. All zero for a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Averages {
    /// How long it runs between the wakeups that it issues, ns. Small: it does little but wake
    /// others, and may be preempted for easily.
    pub avg_wakeup: u64,
    /// `sum_exec` when it last woke somebody; 0 = not since it last slept.
    pub last_wakeup: u64,
    /// `sum_exec` when it was last woken itself.
    pub start_runtime: u64,
    /// How long it runs on after having woken somebody, ns.
    pub avg_overlap: u64,
    /// How long it runs at a time, ns.
    pub avg_running: u64,
}

/// `update_avg`: an eighth of the way to the sample, rounding down.
#[inline]
pub fn update_avg(avg: &mut u64, sample: u64) {
    let diff = sample.wrapping_sub(*avg) as i64;
    *avg = avg.wrapping_add((diff >> 3) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: InverseRule = InverseRule::OfNext;

    #[test]
    fn inverses_and_products_are_the_kernels() {
        assert_eq!(
            [1024, 2048, 2383, 3072].map(|weight| inverse(weight, NEXT)),
            [4190212, 2096129, 1801580, 1397646]
        );
        let over = |delta, weight, total| scale(delta, weight, inverse(total, NEXT));
        assert_eq!(over(5_000_000, 1024, 1024), 4_995_122);
        assert_eq!(over(15_000_000, 1024, 1024), 14_985_366);
        assert_eq!(over(5_000_000, 1024, 2048), 2_498_780);
        assert_eq!(over(5_000_000, 335, 2383), 702_601);
        let nice = |nice| Load::of_task(&SchedAttr::nice(nice), false);
        assert_eq!(fair(702_601, nice(5)), 2_147_652);
        assert_eq!(fair(1_000_000, nice(5)), 3_056_716);
        assert_eq!(fair(1_000_000, nice(-5)), 328_100);
        assert_eq!(fair(1_000_000, nice(0)), 1_000_000);
        assert_eq!(fair(1_000_000, Load::computed(2048, NEXT)), 499_756);
    }

    #[test]
    fn averages_round_down() {
        let mut avg = 1_000_000;
        update_avg(&mut avg, 0);
        assert_eq!(avg, 875_000);
        let mut avg = 1;
        update_avg(&mut avg, 0);
        assert_eq!(avg, 0);
    }

    #[test]
    fn virtual_times_compare_across_the_wrap() {
        assert!(before(u64::MAX - 5, 3));
        assert_eq!(max_vruntime(u64::MAX - 5, 3), 3);
        assert_eq!(min_vruntime(u64::MAX - 5, 3), u64::MAX - 5);
    }
}
