//! The length of an entity's slice.
//!
//! Within a **period** every entity of a queue should run once. The period is the latency. With
//! more than `nr_latency` entities it grows, so that no slice becomes shorter than the minimum
//! granularity. An entity's **slice** is its share of the period, by weight: the number of entities
//! in its queue determines the period, and each level of groups above takes its share of it.

use super::Cfs;
use super::ids::EntityId;
use super::load_weight::{calc_delta_fair, calc_delta_mine, inverse};
use super::releases::{SliceRule, Version};
use crate::classes::weights::NICE_0_LOAD;

impl Cfs {
    /// `sched_slice`: returns the slice of `e`, ns. An entity that is not queued is counted as if
    /// it were.
    #[inline]
    pub(super) fn sched_slice(&mut self, e: EntityId) -> u64 {
        let entity = &self.entities[e];
        let queue = &self.queues[entity.cfs_rq];
        let nr_running = u64::from(queue.nr_running) + u64::from(!entity.on_rq);
        let Version { period, slice: rule, inverse: inverse_rule, .. } = self.version;
        let mut slice = self.tunables.sched_period(nr_running, period);
        if rule == SliceRule::Divide {
            return slice * entity.load.weight / queue.load;
        }
        let mut level = Some(e);
        while let Some(e) = level {
            let entity = &self.entities[e];
            let queue = &mut self.queues[entity.cfs_rq];
            let inverse = if entity.on_rq {
                queue.load_inverse(inverse_rule)
            } else {
                inverse(queue.load + entity.load.weight, inverse_rule)
            };
            // (The entity of a group that has never had a task has weight 0, and counts as 1.)
            slice = calc_delta_mine(slice, entity.load.weight.max(1), inverse);
            level = entity.parent;
        }
        slice
    }

    /// `sched_vslice`: returns the virtual time by which a new task is delayed, ns.
    pub(super) fn sched_vslice(&mut self, e: EntityId) -> u64 {
        match self.version.slice {
            SliceRule::ScaleEveryLevel => {
                let slice = self.sched_slice(e);
                calc_delta_fair(slice, self.entities[e].load)
            }
            SliceRule::Divide => {
                let entity = &self.entities[e];
                let queue = &self.queues[entity.cfs_rq];
                let nr_running = u64::from(queue.nr_running) + 1;
                let period = self.tunables.sched_period(nr_running, self.version.period);
                period * u64::from(NICE_0_LOAD) / (queue.load + entity.load.weight)
            }
        }
    }
}
