//! Load tracking of 3.8 to 4.1: the fraction of recent time for which an entity was runnable.
//!
//! Time is counted in periods of 1024 us. A period `n` periods ago counts y^n, where y^32 = 1/2. An
//! entity's **contribution** is its weight times the fraction. A queue sums the contributions of
//! its queued entities and, decaying, of its sleepers, and publishes the sum to its group. From the
//! published sums of all CPUs follows the part of the group's shares that each CPU gets.

use super::super::ids::{CfsRqId, EntityId};
use super::super::load_weight::LoadWeight;
use super::Cfs310;
use crate::classes::Rqs;
use crate::classes::pelt;
use schedlab_core::index::TypedIndex;
use schedlab_core::{GroupId, Platform};

/// `sched_avg` of an entity.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntityAvg {
    /// `runnable_avg_sum`.
    pub sum: u32,
    /// `runnable_avg_period`.
    pub period: u32,
    /// `last_runnable_update`, ns.
    pub last: u64,
    /// `load_avg_contrib`.
    pub contrib: u64,
    /// `decay_count`: the queue's counter when it fell asleep; negative: the periods that it has
    /// slept before it woke elsewhere.
    pub decay_count: i64,
}

/// Averages of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueAvg {
    /// `runnable_load_avg`.
    pub runnable: u64,
    /// `blocked_load_avg`.
    pub blocked: u64,
    /// `decay_counter`.
    pub decay_counter: i64,
    /// `last_decay`, in 2^20 ns.
    pub last_decay: u64,
    /// `removed_load`.
    pub removed: u64,
    /// `tg_load_contrib`.
    pub published: i64,
    /// `tg_runnable_contrib`.
    pub published_runnable: i64,
    /// `throttle_count`.
    pub throttle_count: u32,
    /// `throttled_clock_task`, ns.
    pub throttled_at: u64,
    /// `throttled_clock_task_time`, ns.
    pub throttled_ns: u64,
}

impl Default for QueueAvg {
    fn default() -> QueueAvg {
        QueueAvg {
            runnable: 0,
            blocked: 0,
            decay_counter: 1,
            last_decay: 0,
            removed: 0,
            published: 0,
            published_runnable: 0,
            throttle_count: 0,
            throttled_at: 0,
            throttled_ns: 0,
        }
    }
}

/// Averages of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupAvg {
    /// `load_avg`: sum of what its queues have published.
    pub load: i64,
    /// `runnable_avg`.
    pub runnable: i64,
}

/// `decay_load`.
fn decay(value: u64, periods: u64) -> u64 {
    pelt::decay(value, periods)
}

/// `__compute_runnable_contrib`: the sum of `n` full periods.
fn periods_sum(n: u64) -> u32 {
    const FULL: u32 = 47742;
    if n >= 345 {
        return FULL;
    }
    // `runnable_avg_yN_sum`, for n up to 32: floor of the exact geometric sum.
    const SUMS: [u32; 33] = [
        0, 1002, 1982, 2941, 3880, 4798, 5697, 6576, 7437, 8279, 9103, 9909, 10698, 11470, 12226,
        12966, 13690, 14398, 15091, 15769, 16433, 17082, 17718, 18340, 18949, 19545, 20128, 20698,
        21256, 21802, 22336, 22859, 23371,
    ];
    let (mut n, mut sum) = (n, 0u32);
    if n <= 32 {
        return SUMS[n as usize];
    }
    loop {
        sum = sum / 2 + SUMS[32];
        n -= 32;
        if n <= 32 {
            break;
        }
    }
    decay(u64::from(sum), n) as u32 + SUMS[n as usize]
}

impl EntityAvg {
    /// `__update_entity_runnable_avg`. Returns whether a period has ended.
    fn update(&mut self, now: u64, runnable: bool) -> bool {
        let mut delta = now.wrapping_sub(self.last);
        if (delta as i64) < 0 {
            self.last = now;
            return false;
        }
        delta >>= 10;
        if delta == 0 {
            return false;
        }
        self.last = now;
        let mut decayed = false;
        let rest = u64::from(self.period % 1024);
        if delta + rest >= 1024 {
            decayed = true;
            let first = 1024 - rest;
            if runnable {
                self.sum += first as u32;
            }
            self.period += first as u32;
            delta -= first;
            let periods = delta / 1024;
            delta %= 1024;
            self.sum = decay(u64::from(self.sum), periods + 1) as u32;
            self.period = decay(u64::from(self.period), periods + 1) as u32;
            let whole = periods_sum(periods);
            if runnable {
                self.sum += whole;
            }
            self.period += whole;
        }
        if runnable {
            self.sum += delta as u32;
        }
        self.period += delta as u32;
        decayed
    }
}

impl Cfs310 {
    /// `cfs_rq_clock_task`: the clock of queue `q`, which stands still while it is throttled.
    fn clock_of(&self, rqs: &Rqs, q: CfsRqId) -> u64 {
        let row = &self.queue_avgs[q.index()];
        if row.throttle_count > 0 {
            return row.throttled_at;
        }
        self.clock_task(rqs, q).wrapping_sub(row.throttled_ns)
    }

    /// The clock of a CPU, ns.
    pub(super) fn clock_task(&self, rqs: &Rqs, q: CfsRqId) -> u64 {
        rqs.clock(self.base.queues[q].cpu).wrapping_add(self.clock_ns)
    }

    /// `update_entity_load_avg`. `with_queue`: the change also goes to the queue's sums.
    pub(super) fn update_entity_load_avg(&mut self, rqs: &Rqs, e: EntityId, with_queue: bool) {
        let q = self.queue_of(e);
        let now = self.clock_of(rqs, self.my_queue(e).unwrap_or(q));
        let on_rq = self.base.entities[e].on_rq;
        if !self.avgs[e.index()].update(now, on_rq) {
            return;
        }
        let old = self.avgs[e.index()].contrib;
        self.update_contrib(e);
        let new = self.avgs[e.index()].contrib;
        if !with_queue {
            return;
        }
        let row = self.row(q);
        if on_rq {
            row.runnable = row.runnable.wrapping_add(new.wrapping_sub(old));
        } else {
            // `subtract_blocked_load_contrib` of the negated difference.
            row.blocked = if new >= old {
                row.blocked + (new - old)
            } else {
                row.blocked.saturating_sub(old - new)
            };
        }
    }

    /// `__update_entity_load_avg_contrib`.
    fn update_contrib(&mut self, e: EntityId) {
        let avg = self.avgs[e.index()];
        let divisor = u64::from(avg.period) + 1;
        let Some(my_q) = self.my_queue(e) else {
            let product = u64::from(avg.sum).wrapping_mul(self.base.entities[e].load.weight) as u32;
            self.avgs[e.index()].contrib = u64::from(product) / divisor;
            return;
        };
        let group = self.base.queues[my_q].group;
        let shares = self.base.groups[group].shares;
        let row = &mut self.queue_avgs[my_q.index()];
        let tg = &mut self.group_avgs[group.index()];
        let change = ((u64::from(avg.sum) << 10) / divisor) as i64 - row.published_runnable;
        if change.abs() > row.published_runnable / 64 {
            tg.runnable += change;
            row.published_runnable += change;
        }
        let mut contrib =
            (row.published.max(0) as u64).wrapping_mul(shares) / (tg.load + 1).max(1) as u64;
        if tg.runnable < 1024 {
            contrib = (contrib * tg.runnable.max(0) as u64) >> 10;
        }
        self.avgs[e.index()].contrib = contrib;
    }

    /// `update_cfs_rq_blocked_load`.
    pub(super) fn update_blocked_load(&mut self, rqs: &Rqs, q: CfsRqId, force: bool) {
        let now = self.clock_of(rqs, q) >> 20;
        let row = &mut self.queue_avgs[q.index()];
        let periods = now.wrapping_sub(row.last_decay);
        if periods == 0 && !force {
            return;
        }
        let removed = core::mem::take(&mut row.removed);
        row.blocked = row.blocked.saturating_sub(removed);
        if periods != 0 {
            row.blocked = decay(row.blocked, periods);
            row.decay_counter = row.decay_counter.wrapping_add(periods as i64);
            row.last_decay = now;
        }
        // `__update_cfs_rq_tg_load_contrib`
        let change = row.runnable.wrapping_add(row.blocked) as i64 - row.published;
        if force || change.abs() > row.published / 8 {
            row.published += change;
            let group = self.base.queues[q].group;
            self.group_avgs[group.index()].load += change;
        }
    }

    /// `__synchronize_entity_decay`: returns the periods for which `e` has slept.
    pub(super) fn synchronize_decay(&mut self, e: EntityId) -> i64 {
        let counter = self.queue_avgs[self.queue_of(e).index()].decay_counter;
        let avg = &mut self.avgs[e.index()];
        let periods = counter.wrapping_sub(avg.decay_count);
        if periods == 0 {
            return 0;
        }
        avg.contrib = decay(avg.contrib, periods as u64);
        avg.decay_count = 0;
        periods
    }

    /// `enqueue_entity_load_avg`.
    pub(super) fn enqueue_load_avg(&mut self, rqs: &Rqs, q: CfsRqId, e: EntityId, wakeup: bool) {
        let clock = self.clock_task(rqs, q);
        let mut wakeup = wakeup;
        if self.avgs[e.index()].decay_count <= 0 {
            let avg = &mut self.avgs[e.index()];
            avg.last = clock;
            if avg.decay_count != 0 {
                avg.last = avg.last.wrapping_sub((avg.decay_count.wrapping_neg() as u64) << 20);
                self.update_entity_load_avg(rqs, e, false);
                self.avgs[e.index()].decay_count = 0;
            }
            wakeup = false;
        } else {
            self.synchronize_decay(e);
        }
        if wakeup {
            let contrib = self.avgs[e.index()].contrib;
            let row = self.row(q);
            row.blocked = row.blocked.saturating_sub(contrib);
            self.update_entity_load_avg(rqs, e, false);
        }
        let contrib = self.avgs[e.index()].contrib;
        let row = self.row(q);
        row.runnable = row.runnable.wrapping_add(contrib);
        self.update_blocked_load(rqs, q, !wakeup);
    }

    /// `dequeue_entity_load_avg`.
    pub(super) fn dequeue_load_avg(&mut self, rqs: &Rqs, q: CfsRqId, e: EntityId, sleep: bool) {
        self.update_entity_load_avg(rqs, e, true);
        self.update_blocked_load(rqs, q, !sleep);
        let contrib = self.avgs[e.index()].contrib;
        let row = self.row(q);
        row.runnable = row.runnable.wrapping_sub(contrib);
        if sleep {
            row.blocked += contrib;
            let counter = row.decay_counter;
            self.avgs[e.index()].decay_count = counter;
        }
    }

    /// `update_blocked_averages` of a CPU.
    pub(super) fn update_blocked_averages(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: schedlab_core::CpuId,
    ) {
        rqs.update_rq_clock(platform, cpu);
        for place in 0..self.base.queues_on[cpu.index()].len() {
            let (_, q) = self.base.queues_on[cpu.index()][place];
            if self.base.throttled_hierarchy_of(q) {
                continue;
            }
            self.update_blocked_load(rqs, q, true);
            if let Some(e) = self.base.queues[q].entity {
                self.update_entity_load_avg(rqs, e, true);
            }
        }
        self.update_blocked_load(rqs, CfsRqId::root(cpu), true);
    }

    /// `calc_tg_weight`: the load of a group with the present load of its queue `q`.
    pub(super) fn tg_weight(&self, group: GroupId, q: CfsRqId) -> i64 {
        self.group_avgs[group.index()].load - self.queue_avgs[q.index()].published
            + self.base.queues[q].load as i64
    }

    /// `update_cfs_shares`: the entity of the group that owns queue `q` gets its part of the
    /// group's shares.
    pub(super) fn update_shares(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let Some(e) = self.base.queues[q].entity else {
            return;
        };
        // (Even below a throttled group an entity gets its first weight: see `v3_10`.)
        if self.base.throttled_hierarchy_of(q) && self.base.entities[e].load.weight > 0 {
            return;
        }
        let group = self.base.queues[q].group;
        let all = self.base.groups[group].shares;
        let total = self.tg_weight(group, q);
        let mut part = (all * self.base.queues[q].load) as i64;
        if total != 0 {
            part /= total;
        }
        let weight = part.max(2).min(all as i64) as u64;
        if self.base.entities[e].load.weight != weight {
            let load = LoadWeight::computed(weight, self.base.version.inverse);
            self.base.reweight_entity(rqs, platform, e, load);
        }
    }
}
