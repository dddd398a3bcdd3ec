//! How long an entity may run at a time.
//!
//! Within a **period** everybody on a queue is to run once. The period is the latency; with more
//! than `nr_latency` entities it grows, so that nobody's turn gets shorter than the minimal
//! granularity. An entity's **slice** is its share of the period, by weight; the queue's population
//! sets the period, and each level of groups above takes its share of that.

use super::entity::{fair, inverse, scale};
use super::releases::{PeriodRule, SliceRule};
use super::{Cfs, Tunables, Version};
use crate::classes::rbtree::NIL;
use crate::classes::weights::NICE_0_LOAD;

impl Tunables {
    /// `__sched_period`.
    #[inline]
    pub(super) fn period(&self, nr_running: u64, rule: PeriodRule) -> u64 {
        if nr_running <= self.nr_latency {
            return self.latency_ns;
        }
        match rule {
            PeriodRule::MinGranularityEach => self.min_granularity_ns * nr_running,
            PeriodRule::StretchLatency => self.latency_ns * nr_running / self.nr_latency,
        }
    }
}

impl Cfs {
    /// `sched_slice`: how long `e` may run at a time, ns. Counts it in if it is not queued.
    #[inline]
    pub(super) fn slice(&mut self, e: u32) -> u64 {
        let entity = &self.entities[e as usize];
        let nr_running =
            u64::from(self.queues[entity.cfs_rq as usize].nr_running) + u64::from(!entity.on_rq);
        let Version { period, slice: rule, inverse: inverse_rule, .. } = self.version;
        let mut slice = self.tunables.period(nr_running, period);
        if rule == SliceRule::Divide {
            return slice * entity.load.weight / self.queues[entity.cfs_rq as usize].load;
        }
        let mut e = e;
        while e != NIL {
            let entity = &self.entities[e as usize];
            let queue = &mut self.queues[entity.cfs_rq as usize];
            let inverse = if entity.on_rq {
                queue.load_inverse(inverse_rule)
            } else {
                inverse(queue.load + entity.load.weight, inverse_rule)
            };
            slice = scale(slice, entity.load.weight, inverse);
            e = entity.parent;
        }
        slice
    }

    /// `sched_vslice`: the virtual time by which a newcomer is put off.
    pub(super) fn vslice(&mut self, e: u32) -> u64 {
        match self.version.slice {
            SliceRule::ScaleEveryLevel => {
                let slice = self.slice(e);
                fair(slice, self.entities[e as usize].load)
            }
            SliceRule::Divide => {
                let entity = &self.entities[e as usize];
                let queue = &self.queues[entity.cfs_rq as usize];
                let period =
                    self.tunables.period(u64::from(queue.nr_running) + 1, self.version.period);
                period * u64::from(NICE_0_LOAD) / (queue.load + entity.load.weight)
            }
        }
    }
}
