//! Load tracking up to 5.6: besides its load average, which includes what sleeps, a queue knows the
//! average load of what is **queued** on it (`runnable_load_avg`).
//!
//! An entity keeps the two averages beside each other: load, and runnable load. When it is queued
//! its runnable load is added to the queue's, and when it leaves its runnable load is subtracted.
//! In between both follow the same series, so that the queue's average is the sum of its entities'
//! averages. A task counts with its weight. The entity of a group counts with a **runnable
//! weight**: the part of its weight that corresponds to the part of its queue's load that is
//! queued.
//!
//! Runnable load is kept in the fields for time spent runnable ([`Average`]), which came after it.
//!
//! In 4.14 the sums of entities include their weights, as queues' sums do, and no runnable
//! weights exist ([`sums_carry_weights`](super::rule_state::FairVersion::sums_carry_weights)).

use super::cfs_rq::{CfsRq, Removed};
use super::class::Fair;
use super::entity::{Info, WEIGHT_SHIFT};
use super::flags::Attach;
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use super::update_shares::LEAST_WEIGHT;
use crate::classes::pelt::{Average, LOAD_AVG_MAX};
use schedlab_core::GroupId;

/// `value` with `change` added, at least 0.
fn changed(value: u64, change: i64) -> u64 {
    value.saturating_add_signed(change)
}

/// Returns `to` minus `from`.
fn difference(to: u64, from: u64) -> i64 {
    to.wrapping_sub(from) as i64
}

/// Differences between the releases that have runnable load.
#[derive(Clone, Copy, Debug)]
struct LoadRules {
    /// The sums of entities include their weights (4.14).
    carry_weights: bool,
    /// The least unscaled weight.
    least: u64,
}

impl LoadRules {
    /// A stored weight as used in sums.
    fn unscaled(self, weight: u64) -> u64 {
        if weight == 0 { 0 } else { (weight >> WEIGHT_SHIFT).max(self.least) }
    }
}

impl CfsRq {
    /// `update_cfs_rq_load_avg`: subtracts what has left, then brings the averages up to `now_ns`.
    /// Returns whether they have changed.
    fn update_runnable_load(&mut self, now_ns: u64, rules: LoadRules) -> bool {
        let removed = self.removed.nr > 0;
        if removed {
            self.subtract_removed_load(rules);
        }
        let load = rules.unscaled(self.load);
        let runnable =
            if rules.carry_weights { load } else { rules.unscaled(self.runnable_weight) };
        let running = self.curr.is_some();
        self.avg.update_runnable_load(now_ns, load, runnable, running, [1, 1]) || removed
    }

    fn subtract_removed_load(&mut self, rules: LoadRules) {
        let Removed { load_avg, runnable_avg: load_sum, util_avg, .. } =
            core::mem::take(&mut self.removed);
        let avg = &mut self.avg;
        let divider = if rules.carry_weights { LOAD_AVG_MAX } else { avg.divider() };
        avg.load_avg = avg.load_avg.saturating_sub(load_avg);
        avg.load_sum = avg.load_sum.saturating_sub(load_avg * divider);
        avg.util_avg = avg.util_avg.saturating_sub(util_avg);
        avg.util_sum = u64::from(avg.util_sum).saturating_sub(util_avg * divider) as u32;
        self.pending.add(-(load_sum as i64));
    }

    /// `attach_entity_load_avg`: the entity takes the queue's time, and the queue adds the entity's
    /// averages.
    fn attach_load(&mut self, info: &mut Info, weight: u64, rules: LoadRules) {
        let (queue, avg) = (&mut self.avg, &mut info.avg);
        avg.last_update_time = queue.last_update_time;
        let mut factor = 1;
        if !rules.carry_weights {
            let divider = queue.divider();
            avg.period_contrib = queue.period_contrib;
            avg.util_sum = (avg.util_avg * divider) as u32;
            // (The full sum for the entity of a group that weighs nothing.)
            avg.load_sum = (avg.load_avg * divider).checked_div(weight).unwrap_or(divider);
            avg.runnable_sum = avg.load_sum;
            factor = weight;
        }
        queue.load_avg += avg.load_avg;
        queue.load_sum += factor * avg.load_sum;
        queue.util_avg += avg.util_avg;
        queue.util_sum = queue.util_sum.wrapping_add(avg.util_sum);
        self.pending.add(avg.load_sum as i64);
    }

    /// `detach_entity_load_avg`: the queue subtracts the entity's averages.
    fn detach_load(&mut self, info: &Info, weight: u64, rules: LoadRules) {
        let (queue, avg) = (&mut self.avg, &info.avg);
        let factor = if rules.carry_weights { 1 } else { weight };
        queue.load_avg = queue.load_avg.saturating_sub(avg.load_avg);
        queue.load_sum = queue.load_sum.saturating_sub(factor * avg.load_sum);
        queue.util_avg = queue.util_avg.saturating_sub(avg.util_avg);
        queue.util_sum = queue.util_sum.saturating_sub(avg.util_sum);
        self.pending.add(-(avg.load_sum as i64));
    }

    /// Adds the runnable load of an entity, with the stored weight `weight`.
    fn add_runnable_load(&mut self, avg: &Average, weight: u64, rules: LoadRules) {
        self.runnable_weight += weight;
        self.avg.runnable_avg += avg.runnable_avg;
        self.avg.runnable_sum += rules.unscaled(weight) * avg.runnable_sum;
    }

    /// Subtracts it.
    fn sub_runnable_load(&mut self, avg: &Average, weight: u64, rules: LoadRules) {
        self.runnable_weight -= weight;
        let queue = &mut self.avg;
        queue.runnable_avg = queue.runnable_avg.saturating_sub(avg.runnable_avg);
        let sum = rules.unscaled(weight) * avg.runnable_sum;
        queue.runnable_sum = queue.runnable_sum.saturating_sub(sum);
    }
}

impl<R: PickRule> Fair<R> {
    /// How this release keeps loads.
    fn load_rules(&self) -> LoadRules {
        LoadRules {
            carry_weights: self.version.sums_carry_weights(),
            least: if self.version.weights_may_vanish() { 0 } else { 2 },
        }
    }

    /// The stored runnable weight of `e`.
    fn runnable_weight(&self, e: EntityId) -> u64 {
        let info = &self.info[e];
        if info.my_q.is_some() { u64::from(info.runnable) } else { info.load }
    }

    /// `update_load_avg`: updates the averages of the entity, and then of its queue, to now.
    #[cold]
    pub(super) fn update_with_runnable_load(&mut self, now_ns: u64, e: EntityId, attach: Attach) {
        let rules = self.load_rules();
        let carry = rules.carry_weights;
        let cpu_now_ns = now_ns;
        let runnable_weight = self.load_rules().unscaled(self.runnable_weight(e));
        let info = &mut self.info[e];
        let q = info.cfs_rq;
        let queue = &mut self.cfs_rqs[q];
        let now_ns = queue.pelt_clock.at(now_ns);
        if info.avg.last_update_time != 0 {
            let entity = &self.se[e];
            let running = queue.curr == Some(e);
            let weight = entity.weight() as u64;
            let (load, weights) = match carry {
                true => (weight, [1, 1]),
                false => (1, [weight, runnable_weight]),
            };
            let load = if entity.on_rq { load } else { 0 };
            info.avg_renewed |= info.avg.update_runnable_load(now_ns, load, load, running, weights);
        }
        let mut changed = queue.update_runnable_load(now_ns, rules);
        if let Some(below) = info.my_q {
            changed |= match carry {
                true => self.pass_up_carried(q, e, below),
                false => self.pass_up_runnable_load(q, e, below),
            };
        }
        let (queue, info) = (&mut self.cfs_rqs[q], &mut self.info[e]);
        let group = queue.group;
        match attach {
            Attach::No | Attach::Quiet => {}
            Attach::Attach if info.avg.last_update_time != 0 => {}
            Attach::Attach => {
                queue.attach_load(info, self.se[e].weight() as u64, rules);
                changed = true;
            }
            Attach::Detach => {
                queue.detach_load(info, self.se[e].weight() as u64, rules);
                changed = true;
            }
        }
        if changed && group != GroupId::ROOT && attach != Attach::Quiet {
            self.update_tg_load_avg(cpu_now_ns, q);
        }
    }

    /// `update_cfs_rq_load_avg` of queue `q`, at `clock_ns` of its own clock.
    pub(super) fn update_queue_with_runnable_load(&mut self, clock_ns: u64, q: CfsRqId) -> bool {
        let rules = self.load_rules();
        self.cfs_rqs[q].update_runnable_load(clock_ns, rules)
    }

    /// `propagate_entity_load_avg`: passes the load changes of queue `below` up to its entity `e`
    /// and to queue `q`, which `e` is on. Returns whether there were any.
    fn pass_up_runnable_load(&mut self, q: CfsRqId, e: EntityId, below: CfsRqId) -> bool {
        if !self.cfs_rqs[below].pending.is_marked {
            return false;
        }
        let pending = core::mem::take(&mut self.cfs_rqs[below].pending);
        self.cfs_rqs[q].pending.add(pending.runnable_sum);
        let (inner, inner_load) =
            (self.cfs_rqs[below].avg, self.load_rules().unscaled(self.cfs_rqs[below].load));
        let runnable_weight = self.load_rules().unscaled(self.runnable_weight(e));
        let queue = &mut self.cfs_rqs[q].avg;
        let avg = &mut self.info[e].avg;
        if inner.util_avg != avg.util_avg {
            queue.util_avg = changed(queue.util_avg, difference(inner.util_avg, avg.util_avg));
            queue.util_sum = (queue.util_avg * LOAD_AVG_MAX) as u32;
            avg.util_avg = inner.util_avg;
            avg.util_sum = (inner.util_avg * LOAD_AVG_MAX) as u32;
        }
        if pending.runnable_sum == 0 {
            return true;
        }
        let load_sum = if pending.runnable_sum > 0 {
            (avg.load_sum + pending.runnable_sum as u64).min(LOAD_AVG_MAX)
        } else {
            avg.load_sum.min(inner.load_sum.checked_div(inner_load).unwrap_or(0))
        };
        let load_sum = load_sum.max(u64::from(avg.util_sum >> 10));
        let weight = self.se[e].weight() as u64;
        let load = weight * load_sum;
        let load_avg = load / LOAD_AVG_MAX;
        queue.load_avg = changed(queue.load_avg, difference(load_avg, avg.load_avg));
        queue.load_sum = changed(queue.load_sum, difference(load, weight * avg.load_sum));
        avg.load_sum = load_sum;
        avg.load_avg = load_avg;
        let runnable = runnable_weight * load_sum;
        let runnable_avg = runnable / LOAD_AVG_MAX;
        if self.se[e].on_rq {
            let by = difference(runnable_avg, avg.runnable_avg);
            queue.runnable_avg = changed(queue.runnable_avg, by);
            // (The old sum counts with the other weight: a slip of these kernels.)
            let by = difference(runnable, weight * avg.runnable_sum);
            queue.runnable_sum = changed(queue.runnable_sum, by);
        }
        avg.runnable_sum = load_sum;
        avg.runnable_avg = runnable_avg;
        true
    }

    /// The same in 4.14: the load of the entity is the group's shares, divided by the loads that
    /// the queues have published, and no sum is passed up.
    fn pass_up_carried(&mut self, q: CfsRqId, e: EntityId, below: CfsRqId) -> bool {
        if !self.cfs_rqs[below].pending.is_marked {
            return false;
        }
        self.cfs_rqs[below].pending.is_marked = false;
        self.cfs_rqs[q].pending.is_marked = true;
        let inner = &self.cfs_rqs[below];
        let group = &self.groups[inner.group.index()];
        let mut load = inner.avg.load_avg;
        if load != 0 {
            let shares = self.load_rules().unscaled(group.shares);
            let total = (group.load_avg + 1 + load).saturating_sub(inner.published);
            if total > shares {
                load = load * shares / total;
            }
        }
        let util = inner.avg.util_avg;
        let queue = &mut self.cfs_rqs[q].avg;
        let avg = &mut self.info[e].avg;
        if util != avg.util_avg {
            queue.util_avg = changed(queue.util_avg, difference(util, avg.util_avg));
            queue.util_sum = (queue.util_avg * LOAD_AVG_MAX) as u32;
            avg.util_avg = util;
            avg.util_sum = (util * LOAD_AVG_MAX) as u32;
        }
        if load != avg.load_avg {
            let by = difference(load, avg.load_avg);
            avg.load_avg = load;
            avg.load_sum = load * LOAD_AVG_MAX;
            queue.load_avg = changed(queue.load_avg, by);
            queue.load_sum = queue.load_avg * LOAD_AVG_MAX;
            if self.se[e].on_rq {
                queue.runnable_avg = changed(queue.runnable_avg, by);
                queue.runnable_sum = queue.runnable_avg * LOAD_AVG_MAX;
            }
        }
        true
    }

    /// `enqueue_runnable_load_avg`: `e` joins queue `q`.
    #[cold]
    pub(super) fn queue_runnable_load(&mut self, q: CfsRqId, e: EntityId) {
        let weight = self.runnable_weight(e);
        let rules = self.load_rules();
        let (queue, avg) = (&mut self.cfs_rqs[q], &self.info[e].avg);
        if self.version.sums_carry_weights() {
            queue.avg.runnable_avg += avg.load_avg;
            queue.avg.runnable_sum += avg.load_sum;
        } else {
            queue.add_runnable_load(avg, weight, rules);
        }
    }

    /// `dequeue_runnable_load_avg`: `e` leaves queue `q`.
    #[cold]
    pub(super) fn unqueue_runnable_load(&mut self, q: CfsRqId, e: EntityId) {
        let weight = self.runnable_weight(e);
        let rules = self.load_rules();
        let (queue, avg) = (&mut self.cfs_rqs[q], &self.info[e].avg);
        if self.version.sums_carry_weights() {
            queue.avg.runnable_avg = queue.avg.runnable_avg.saturating_sub(avg.load_avg);
            queue.avg.runnable_sum = queue.avg.runnable_sum.saturating_sub(avg.load_sum);
        } else {
            queue.sub_runnable_load(avg, weight, rules);
        }
    }

    /// `calc_group_runnable`: the stored runnable weight of the entity of a group with queue `q`
    /// and the weight `shares`.
    pub(super) fn calc_group_runnable(&self, q: CfsRqId, shares: u64) -> u64 {
        let queue = &self.cfs_rqs[q];
        let load = queue.avg.load_avg.max(self.load_rules().unscaled(queue.load));
        let runnable =
            queue.avg.runnable_avg.max(self.load_rules().unscaled(queue.runnable_weight)) * shares;
        let runnable = runnable.checked_div(load).unwrap_or(runnable);
        runnable.clamp(LEAST_WEIGHT, shares.max(LEAST_WEIGHT))
    }

    /// The part of `reweight_entity` that concerns averages: gives `e` the stored weight `weight`
    /// and, if it is a group, a new runnable weight.
    #[cold]
    pub(super) fn reweight_runnable_load(&mut self, e: EntityId, weight: u64) {
        if self.version.sums_carry_weights() {
            return;
        }
        let rules = self.load_rules();
        let q = self.cfs_rq_of(e);
        let on_rq = self.se[e].on_rq;
        let old_weight = self.se[e].weight() as u64;
        let old_runnable = self.runnable_weight(e);
        let new_runnable = match self.info[e].my_q {
            None => weight,
            Some(below) => {
                let runnable = self.calc_group_runnable(below, weight);
                self.info[e].runnable = runnable as u32;
                runnable
            }
        };
        let (queue, info) = (&mut self.cfs_rqs[q], &mut self.info[e]);
        let attached = info.avg.last_update_time != 0 || info.my_q.is_some();
        if on_rq {
            queue.sub_runnable_load(&info.avg, old_runnable, rules);
        }
        let avg = &mut info.avg;
        if attached {
            let sum = old_weight * avg.load_sum;
            queue.avg.load_avg = queue.avg.load_avg.saturating_sub(avg.load_avg);
            queue.avg.load_sum = queue.avg.load_sum.saturating_sub(sum);
        }
        let divider = avg.divider();
        avg.load_avg = rules.unscaled(weight) * avg.load_sum / divider;
        avg.runnable_avg = rules.unscaled(new_runnable) * avg.runnable_sum / divider;
        if attached {
            queue.avg.load_avg += avg.load_avg;
            queue.avg.load_sum += rules.unscaled(weight) * avg.load_sum;
        }
        if on_rq {
            queue.add_runnable_load(&info.avg, new_runnable, rules);
        }
    }

    /// `init_entity_runnable_average`: the loads of a new task of this weight, given its
    /// utilisation.
    pub(super) fn first_runnable_load(&self, weight: u64, util_avg: u64) -> Average {
        let avg =
            Average { load_avg: weight, runnable_avg: weight, util_avg, ..Average::default() };
        if self.version.sums_carry_weights() {
            return Average {
                load_sum: weight * LOAD_AVG_MAX,
                util_sum: (util_avg * LOAD_AVG_MAX) as u32,
                period_contrib: 1023,
                ..avg
            };
        }
        avg
    }

    /// `remove_entity_load_avg`: the task of `e`, whose averages are up to date, has left its queue
    /// without being queued.
    pub(super) fn remove_runnable_load(&mut self, e: EntityId) {
        let avg = self.info[e].avg;
        let removed = &mut self.cfs_rqs[self.info[e].cfs_rq].removed;
        removed.nr += 1;
        removed.load_avg += avg.load_avg;
        removed.runnable_avg += avg.load_sum;
        removed.util_avg += avg.util_avg;
    }

    /// Brings a blocked entity's averages up to `until_ns`.
    pub(super) fn decay_runnable_load(&mut self, e: EntityId, until_ns: u64) {
        let weights = match self.version.sums_carry_weights() {
            true => [1, 1],
            false => {
                [self.se[e].weight() as u64, self.load_rules().unscaled(self.runnable_weight(e))]
            }
        };
        self.info[e].avg.update_runnable_load(until_ns, 0, 0, false, weights);
    }

    /// The load of queue `q`, as balancing takes it for the load of a CPU.
    pub(super) fn cpu_load_of(&self, q: CfsRqId) -> u64 {
        let avg = &self.cfs_rqs[q].avg;
        if self.version.tracks_runnable_load() { avg.runnable_avg } else { avg.load_avg }
    }

    /// The estimated utilisation of a new task: 0, with the bit that these estimates always have
    /// set.
    pub(super) fn first_estimate(&self) -> u32 {
        u32::from(self.version.tracks_runnable_load() && self.version.estimates_util())
    }
}
