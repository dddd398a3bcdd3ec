//! The position of an entity in virtual time: its lag, its place on entering a queue, and how both
//! follow a change of its weight.

use super::EarliestDeadline;
use crate::classes::{ClassId, Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::entity::{Entity, Vruntime};
use crate::fair_6::flags::{DequeueFlags, EnqueueFlags};
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::rule_state::FairVersion as _;
use schedlab_core::{CpuId, Platform, SchedAttr};

impl Fair<EarliestDeadline> {
    /// `entity_lag`: V - vruntime, limited to two slices or a tick of real time, whichever is
    /// longer; from 7.0 on to the longest slice of the queue and a tick.
    pub(super) fn entity_lag(&self, q: CfsRqId, e: EntityId) -> i64 {
        let (queue, entity) = (&self.cfs_rqs[q], &self.se[e]);
        let lag = queue.avg_vruntime(&self.se).since(entity.vruntime);
        let longest = match self.version.limits_lag_by_longest() {
            true => u64::from(queue.max_slice(&self.se)) + self.tick_ns,
            false => (2 * u64::from(entity.slice)).max(self.tick_ns),
        };
        let mut limit = entity.vt(longest) as i64;
        if self.tunables.has_bore() {
            limit >>= 1;
        }
        let lag = lag.clamp(-limit, limit);
        if entity.sched_delayed && self.version.delayed_lag_only_shrinks() {
            // It comes back with the smallest debt that it has had.
            let lag = lag.max(entity.vlag);
            return if self.features().delay_zero { lag.min(0) } else { lag };
        }
        lag
    }

    /// `e` leaves queue `q` and keeps its lag. If it is only moved, it keeps its distance to the
    /// deadline, too.
    #[inline]
    pub(super) fn keep_lag(&mut self, q: CfsRqId, e: EntityId, how: DequeueFlags) {
        let mut lag = self.entity_lag(q, e);
        if how.finish && self.features().delay_zero {
            lag = lag.min(0);
        }
        let keeps_distance = self.features().place_rel_deadline && !how.sleep;
        let entity = &mut self.se[e];
        entity.vlag = lag;
        if keeps_distance {
            entity.deadline.0 = entity.deadline.since(entity.vruntime) as u64;
            self.info[e].rel_deadline = true;
        }
        if how.finish {
            entity.sched_delayed = false;
        }
    }

    /// 6.18: whether `task`, which has received too much on its queue, would be placed behind the
    /// tasks that are on `target` already.
    pub(super) fn is_ineligible_beside_others(&self, task: Pid, target: CpuId) -> bool {
        if !self.version.balance_asks_eligibility() || !self.features().place_lag {
            return false;
        }
        let there = match self.version.has_one_tree() {
            true => Some(CfsRqId::of_cpu(target)),
            false => self.groups[self.group_of(task).index()].cfs_rq_on(target),
        };
        let others = there.map_or(0, |q| self.cfs_rqs[q].nr_queued);
        let e = self.se_of(task);
        others > 0 && !self.cfs_rqs[self.tree_of(e)].eligible(&self.se, self.se[e].vruntime)
    }

    /// `place_entity`: the position at which `e` enters the queue. Its lag is inflated, because the
    /// entry of the entity moves V. Afterwards the lag equals the old one again. `initial`: its
    /// request may be half as long as others.
    pub(super) fn place_entity(&mut self, q: CfsRqId, e: EntityId, initial: bool) {
        let queue = &self.cfs_rqs[q];
        let info = &mut self.info[e];
        if !info.custom_slice {
            self.se[e].slice = self.tunables.base_slice;
        }
        let features = &self.tunables.features;
        let sums = queue.sums(&self.se);
        let entity = &mut self.se[e];
        let mut lag = 0;
        if features.place_lag && queue.nr_queued > 0 {
            let load = sums.weight().max(1);
            lag = entity.inflated(entity.vlag, load);
        }
        let mut request = entity.vslice();
        entity.vruntime = sums.avg_vruntime().shifted(lag.wrapping_neg());
        if features.place_rel_deadline && info.rel_deadline {
            entity.deadline = entity.vruntime.plus(entity.deadline.0);
            info.rel_deadline = false;
            return;
        }
        if self.tunables.has_bore() {
            let waits = |task| self.rule.bursts.of(task).futex_waiting;
            if info.task.is_some_and(waits) {
                // It is due at once.
                request = 0;
            } else if initial {
                request >>= 1;
            }
        } else if initial && features.place_deadline_initial && self.version.first_request_is_half()
        {
            request /= 2;
        }
        entity.deadline = entity.vruntime.plus(request);
    }

    /// Whether the request of an entity that enters its queue may be half as long as others: that
    /// of a new one and, with BORE, that of a woken one.
    #[inline]
    pub(super) fn may_request_half(&self, why: EnqueueFlags) -> bool {
        why.initial || (why.wakeup && self.tunables.has_bore())
    }

    /// Sets the slice that a task's attributes request.
    pub(super) fn set_slice(&mut self, e: EntityId, attr: &SchedAttr) {
        let custom = attr.runtime_ns != 0 && ClassId::of(attr.policy) == ClassId::Fair;
        self.info[e].custom_slice = custom;
        self.order.uniform_slices &= !custom;
        self.se[e].slice = if custom {
            attr.runtime_ns.clamp(100_000, 100_000_000) as u32
        } else {
            self.tunables.base_slice
        };
        self.rule.longest_slice = self.rule.longest_slice.max(self.se[e].slice);
    }

    /// `reweight_entity`: `e` gets another weight. It keeps its lag and its distance to the
    /// deadline in real time, so both are rescaled in virtual time.
    pub(super) fn reweight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        weight: u64,
        inverse: Option<u32>,
    ) {
        if self.version.has_one_tree() {
            return self.reweight_account(e, weight, inverse);
        }
        let old = self.info[e].load;
        let scale = |value| rescaled(value, old, weight);
        if !self.se[e].on_rq {
            let entity = &mut self.se[e];
            entity.vlag = scale(entity.vlag);
            if self.info[e].rel_deadline && self.version.reweight_places() {
                entity.deadline.0 = scale(entity.deadline.0 as i64) as u64;
            }
            self.take_weight(e, weight, inverse);
            return;
        }
        let q = self.cfs_rq_of(e);
        let waiting = self.cfs_rqs[q].curr != Some(e);
        let protected =
            !waiting && self.version.reweight_keeps_protection() && self.is_protected(e);
        let apart = self.version.reweights_apart();
        if waiting && apart {
            self.tree_remove(q, e);
        } else {
            self.update_curr(rqs, platform, q);
        }
        let v = self.cfs_rqs[q].avg_vruntime(&self.se);
        let lag = match apart {
            true => v.since(self.se[e].vruntime),
            false => self.entity_lag(q, e),
        };
        if waiting && !apart {
            self.tree_remove(q, e);
        }
        let queue = &mut self.cfs_rqs[q];
        queue.load -= old;
        queue.nr_queued -= 1;
        let entity = &mut self.se[e];
        let until = entity.vprot();
        if self.version.reweight_keeps_v() {
            entity.vlag = lag;
            entity.rescale_about(v, protected.then_some(until), scale);
            self.take_weight(e, weight, inverse);
        } else if self.version.reweight_places() {
            // This overwrites the protection of a running entity with a small number, which ends
            // it, up to 6.19. (V and the total weight used for the placement already include a
            // running entity with its new weight, at its old vruntime.)
            let until = scale(entity.vprot().since(entity.vruntime));
            entity.vlag = scale(lag);
            let ahead = scale(entity.deadline.since(entity.vruntime));
            self.take_weight(e, weight, inverse);
            self.place_entity(q, e, false);
            let entity = &mut self.se[e];
            entity.deadline = entity.vruntime.shifted(ahead);
            if protected {
                entity.set_vprot(entity.vruntime.shifted(until));
            }
        } else {
            let ahead = scale(entity.deadline.since(v));
            if entity.vruntime != v {
                entity.vruntime = v.shifted(scale(lag).wrapping_neg());
            }
            entity.deadline = v.shifted(ahead);
            self.take_weight(e, weight, inverse);
        }
        let queue = &mut self.cfs_rqs[q];
        queue.load += weight;
        queue.nr_queued += 1;
        if waiting {
            self.tree_insert(q, e);
        } else {
            queue.follow_curr(&self.se);
        }
    }

    /// 7.3: the entity `e`, which has no virtual time of its own if it is a group's, has another
    /// weight on its level.
    fn reweight_account(&mut self, e: EntityId, weight: u64, inverse: Option<u32>) {
        let q = self.cfs_rq_of(e);
        let old = self.info[e].load;
        self.take_weight(e, weight, inverse);
        if self.se[e].on_rq {
            let queue = &mut self.cfs_rqs[q];
            queue.load = queue.load - old + weight;
        }
    }

    /// 7.3, `reweight_eevdf`: the task of `e` competes with its present part of the CPU from now
    /// on. It keeps its lag and its distance to the deadline in real time. Nothing is charged.
    pub(super) fn renew_share(&mut self, e: EntityId) {
        let (old, share) = (self.se[e].weight() as u64, self.share_of_cpu(e));
        if old == share {
            return;
        }
        let scale = |value| rescaled(value, old, share);
        if !self.se[e].on_rq {
            let entity = &mut self.se[e];
            entity.vlag = scale(entity.vlag);
            if self.info[e].rel_deadline {
                entity.deadline.0 = scale(entity.deadline.0 as i64) as u64;
            }
            entity.set_full_weight(share);
            return;
        }
        let q = self.tree_of(e);
        let v = self.cfs_rqs[q].avg_vruntime(&self.se);
        let lag = self.entity_lag(q, e);
        let waiting = self.cfs_rqs[q].tree_curr() != Some(e);
        let protected = !waiting && self.is_protected(e);
        let until = self.se[e].vprot();
        if waiting {
            self.tree_remove(q, e);
        }
        let entity = &mut self.se[e];
        entity.vlag = lag;
        entity.rescale_about(v, protected.then_some(until), scale);
        if !waiting && !protected && !entity.sched_delayed {
            // The end of a protection that is over stays as it is, where up to 7.2 the lag
            // overwrites it. So a task that the rescaling moves back far enough is protected again.
            entity.set_vprot(until);
        }
        entity.set_full_weight(share);
        if waiting {
            self.tree_insert(q, e);
        } else {
            self.cfs_rqs[q].follow_curr(&self.se);
        }
    }
}

/// A span of virtual time at a weight of `old`, at a weight of `new`.
fn rescaled(value: i64, old: u64, new: u64) -> i64 {
    (i128::from(value) * i128::from(old) / i128::from(new.max(1))) as i64
}

impl Entity {
    /// 7.1 on: its lag, which is in `vlag`, and its distances from `v` are rescaled. `until`: the
    /// end of its protection.
    fn rescale_about(&mut self, v: Vruntime, until: Option<Vruntime>, scale: impl Fn(i64) -> i64) {
        self.vlag = scale(self.vlag);
        self.deadline = v.shifted(scale(self.deadline.since(v)));
        self.vruntime = v.shifted(self.vlag.wrapping_neg());
        if let Some(until) = until {
            self.set_vprot(v.shifted(scale(until.since(v))));
        }
    }
}
