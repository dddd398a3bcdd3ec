//! Where an entity stands in virtual time: its lag, its place on entering a queue, and what becomes
//! of both when its weight changes.

use super::class::Fair;
use super::entity::WEIGHT_SHIFT;
use crate::classes::weights::{WEIGHT_IDLEPRIO, WMULT_IDLEPRIO, weight_of_nice, wmult_of_nice};
use crate::classes::{ClassId, Pid, Rqs};
use schedlab_core::{Platform, Policy, SchedAttr};

impl Fair {
    /// V - vruntime, within what is remembered: two slices or a tick of real time, whichever is
    /// longer.
    pub(super) fn lag(&self, q: u32, e: u32) -> i64 {
        let entity = &self.se[e as usize];
        let lag =
            self.queues[q as usize].avg_vruntime(&self.se).wrapping_sub(entity.vruntime) as i64;
        let limit = entity.vt((2 * u64::from(entity.slice)).max(self.tick_ns)) as i64;
        lag.clamp(-limit, limit)
    }

    /// `place_entity`: where on the queue `e` enters. Its lag is inflated so that, when it has
    /// entered and moved V by that, it is again what it was.
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

    /// Weight, idle policy and slice of a task as its attributes say. It is on no queue.
    pub(super) fn set_load_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        attr: &SchedAttr,
    ) {
        let e = self.se_of(task);
        let idle = attr.policy == Policy::Idle;
        let (weight, inverse) = if idle {
            (WEIGHT_IDLEPRIO, WMULT_IDLEPRIO)
        } else {
            (weight_of_nice(attr.nice), wmult_of_nice(attr.nice))
        };
        self.info[e as usize].idle = idle;
        self.idle_seen |= idle;
        self.reweight(rqs, platform, e, u64::from(weight) << WEIGHT_SHIFT, Some(inverse));
        if self.version.custom_slices() {
            let custom = attr.runtime_ns != 0 && ClassId::of(attr.policy) == ClassId::Fair;
            self.info[e as usize].custom_slice = custom;
            self.se[e as usize].slice = if custom {
                attr.runtime_ns.clamp(100_000, 100_000_000) as u32
            } else {
                self.base_slice
            };
            self.longest_slice = self.longest_slice.max(self.se[e as usize].slice);
        }
    }

    /// `reweight_entity`: `e` gets another weight and keeps its lag in real time, and its distance
    /// to the deadline, which are so much more or less in virtual time.
    pub(super) fn reweight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: u32,
        weight: u64,
        inverse: Option<u32>,
    ) {
        let old = self.info[e as usize].load;
        let scale =
            |value: i64| (i128::from(value) * i128::from(old) / i128::from(weight.max(1))) as i64;
        if !self.se[e as usize].on_rq {
            let entity = &mut self.se[e as usize];
            entity.vlag = scale(entity.vlag);
            if self.info[e as usize].rel_deadline && self.version.reweight_places() {
                entity.deadline = scale(entity.deadline as i64) as u64;
            }
            self.take_weight(e, weight, inverse);
            return;
        }
        let q = self.queue_of(e);
        self.update_curr(rqs, platform, q);
        let waiting = self.queues[q as usize].curr != e;
        let v = self.queues[q as usize].avg_vruntime(&self.se);
        let lag = self.lag(q, e);
        if waiting {
            self.tree_remove(q, e);
        }
        let queue = &mut self.queues[q as usize];
        queue.load -= old;
        queue.nr_queued -= 1;
        let entity = &mut self.se[e as usize];
        if self.version.reweight_places() {
            // This overwrites the protection of a running entity with a small number: it is gone.
            // (V and the total that the place is found by count a running entity already with its
            // new weight, at its old vruntime.)
            entity.vlag = scale(lag);
            let ahead = scale(entity.deadline.wrapping_sub(entity.vruntime) as i64);
            self.take_weight(e, weight, inverse);
            self.place(q, e, false);
            let entity = &mut self.se[e as usize];
            entity.deadline = entity.vruntime.wrapping_add(ahead as u64);
        } else {
            let ahead = scale(entity.deadline.wrapping_sub(v) as i64);
            if entity.vruntime != v {
                entity.vruntime = v.wrapping_sub(scale(lag) as u64);
            }
            entity.deadline = v.wrapping_add(ahead as u64);
            self.take_weight(e, weight, inverse);
        }
        let queue = &mut self.queues[q as usize];
        queue.load += weight;
        queue.nr_queued += 1;
        if waiting {
            self.tree_insert(q, e);
        } else {
            queue.follow_curr(&self.se);
        }
    }

    fn take_weight(&mut self, e: u32, weight: u64, inverse: Option<u32>) {
        self.reweight_load_avg(e, weight);
        self.se[e as usize].set_weight(weight, inverse);
        self.info[e as usize].load = weight;
    }
}
