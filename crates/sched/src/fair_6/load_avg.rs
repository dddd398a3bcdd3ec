//! When the averages of [`pelt`](crate::classes::pelt) are brought up to date, and how they follow
//! tasks that are queued, dequeued and moved.
//!
//! On one CPU no decision depends on them (a group has all of its shares there), so they are not
//! kept.

use super::cfs_rq::{CfsRq, Removed};
use super::class::Fair;
use super::entity::{Info, NICE_0_WEIGHT, unscaled};
use super::flags::Attach;
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use super::update_shares::LEAST_WEIGHT;
use crate::classes::pelt::{Average, PELT_MIN_DIVIDER};
use crate::classes::{ClassId, Pid, Rqs};
use schedlab_core::{CpuId, GroupId};

/// The kernel takes the maximum of two sums as 32-bit numbers, so that a large sum loses its upper
/// half: a queue with a load above 91934 forgets most of it when something is subtracted.
fn raise(sum: u64, average: u64) -> u64 {
    u64::from((sum as u32).max((average * PELT_MIN_DIVIDER) as u32))
}

/// How the sums of a queue change with its averages when something is subtracted or passed up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sums {
    /// They change by the same steps. Only utilisation that is passed up follows its average (up to
    /// 5.12).
    Plain,
    /// They are the averages, multiplied by the divider (up to 5.16).
    FollowAverages,
    /// They change by the same steps, and have a lower limit after subtractions, of which only the
    /// lower 32 bits are compared (5.17 to 6.19).
    HaveLimits,
    /// They have that lower limit after every change, and all of it (since 7.0).
    NeverBelow,
}

impl Sums {
    /// A sum from which something has been subtracted, beside its average.
    #[inline]
    fn lowered(self, sum: u64, average: u64) -> u64 {
        match self {
            Sums::Plain => sum,
            Sums::NeverBelow => sum.max(average * PELT_MIN_DIVIDER),
            _ => raise(sum, average),
        }
    }

    /// A sum to which something has been added, beside its average.
    #[inline]
    fn raised(self, sum: u64, average: u64) -> u64 {
        match self {
            Sums::NeverBelow => sum.max(average * PELT_MIN_DIVIDER),
            _ => sum,
        }
    }
}

/// A sum, at least 0, in which one term changes from `from` to `to`.
fn moved(sum: u64, from: u64, to: u64) -> u64 {
    (sum + to).saturating_sub(from)
}

impl CfsRq {
    /// `update_cfs_rq_load_avg`: subtracts what has left, then brings the averages up to `now_ns`.
    /// Returns whether they have changed.
    #[inline]
    fn update_load_avg(&mut self, now_ns: u64, sums: Sums) -> bool {
        let removed = self.removed.nr > 0;
        if removed {
            self.subtract_removed(sums);
        }
        if !self.avg.is_due(now_ns) {
            return removed;
        }
        let load = unscaled(self.load);
        let runnable = u64::from(self.h_nr_runnable);
        self.avg.update(now_ns, load, runnable, self.curr.is_some(), 1) || removed
    }

    fn subtract_removed(&mut self, sums: Sums) {
        let Removed { load_avg, runnable_avg, util_avg, .. } = core::mem::take(&mut self.removed);
        let avg = &mut self.avg;
        let divider = avg.divider();
        // (The shift keeps the sign of a negative value.)
        self.pending.add(-((runnable_avg * divider) as i64) >> 10);
        avg.load_avg = avg.load_avg.saturating_sub(load_avg);
        avg.load_sum = match sums {
            Sums::Plain => avg.load_sum.saturating_sub(load_avg * divider),
            Sums::FollowAverages => avg.load_avg * divider,
            _ => sums.lowered(avg.load_sum.saturating_sub(load_avg * divider), avg.load_avg),
        };
        avg.util_avg = avg.util_avg.saturating_sub(util_avg);
        let util_sum = u64::from(avg.util_sum).saturating_sub(util_avg * divider);
        avg.util_sum = match sums {
            Sums::Plain => util_sum as u32,
            _ => sums.lowered(util_sum, avg.util_avg) as u32,
        };
        avg.runnable_avg = avg.runnable_avg.saturating_sub(runnable_avg);
        avg.runnable_sum = match sums {
            Sums::Plain => avg.runnable_sum.saturating_sub(runnable_avg * divider),
            Sums::FollowAverages => avg.runnable_avg * divider,
            _ => sums
                .lowered(avg.runnable_sum.saturating_sub(runnable_avg * divider), avg.runnable_avg),
        };
    }

    /// `attach_entity_load_avg`: the entity takes the queue's time, and the queue adds the entity's
    /// averages.
    fn attach(&mut self, info: &mut Info, weight: u64, sums: Sums) {
        let (queue, avg) = (&mut self.avg, &mut info.avg);
        let divider = queue.divider();
        avg.last_update_time = queue.last_update_time;
        avg.period_contrib = queue.period_contrib;
        avg.util_sum = (avg.util_avg * divider) as u32;
        avg.runnable_sum = avg.runnable_avg * divider;
        let load_sum = avg.load_avg * divider;
        avg.load_sum = if weight < load_sum { load_sum / weight } else { 1 };
        queue.load_avg += avg.load_avg;
        queue.load_sum = sums.raised(queue.load_sum + weight * avg.load_sum, queue.load_avg);
        queue.util_avg += avg.util_avg;
        let util_sum = queue.util_sum.wrapping_add(avg.util_sum);
        queue.util_sum = sums.raised(u64::from(util_sum), queue.util_avg) as u32;
        queue.runnable_avg += avg.runnable_avg;
        queue.runnable_sum = sums.raised(queue.runnable_sum + avg.runnable_sum, queue.runnable_avg);
        self.pending.add(avg.load_sum as i64);
    }

    /// `detach_entity_load_avg`: the queue subtracts the entity's averages.
    fn detach(&mut self, info: &Info, weight: u64, sums: Sums) {
        let (queue, avg) = (&mut self.avg, &info.avg);
        queue.load_avg = queue.load_avg.saturating_sub(avg.load_avg);
        queue.util_avg = queue.util_avg.saturating_sub(avg.util_avg);
        queue.runnable_avg = queue.runnable_avg.saturating_sub(avg.runnable_avg);
        match sums {
            Sums::Plain => {
                queue.load_sum = queue.load_sum.saturating_sub(weight * avg.load_sum);
                queue.util_sum = queue.util_sum.saturating_sub(avg.util_sum);
                queue.runnable_sum = queue.runnable_sum.saturating_sub(avg.runnable_sum);
            }
            Sums::FollowAverages => {
                let divider = queue.divider();
                queue.load_sum = queue.load_avg * avg.divider();
                queue.util_sum = (queue.util_avg * divider) as u32;
                queue.runnable_sum = queue.runnable_avg * divider;
            }
            _ => {
                let util_sum = u64::from(queue.util_sum.saturating_sub(avg.util_sum));
                queue.load_sum = sums
                    .lowered(queue.load_sum.saturating_sub(weight * avg.load_sum), queue.load_avg);
                queue.util_sum = sums.lowered(util_sum, queue.util_avg) as u32;
                queue.runnable_sum = sums.lowered(
                    queue.runnable_sum.saturating_sub(avg.runnable_sum),
                    queue.runnable_avg,
                );
            }
        }
        self.pending.add(-(avg.load_sum as i64));
    }

    /// Changes the entity's weight from `old` to `new`, and with it its load average and the
    /// queue's.
    fn reweight(&mut self, info: &mut Info, old: u64, new: u64, sums: Sums) {
        let (queue, avg) = (&mut self.avg, &mut info.avg);
        if avg.load_avg == 0 && avg.load_sum == 0 {
            // It is new, and on no queue yet.
            return;
        }
        // An entity that has migrated and is not attached yet has averages of its old queue. It is
        // not distinguished: only a task started at time 0 looks like one when it is reweighted,
        // and it is attached.
        queue.load_avg = queue.load_avg.saturating_sub(avg.load_avg);
        queue.load_sum = match sums {
            Sums::FollowAverages => queue.load_avg * avg.divider(),
            _ => sums.lowered(queue.load_sum.saturating_sub(old * avg.load_sum), queue.load_avg),
        };
        avg.load_avg = new * avg.load_sum / avg.divider();
        queue.load_avg += avg.load_avg;
        queue.load_sum = sums.raised(queue.load_sum + new * avg.load_sum, queue.load_avg);
    }
}

impl<R: PickRule> Fair<R> {
    /// Whether load is tracked.
    #[inline]
    pub(super) fn tracks_load(&self) -> bool {
        self.cpus > 1 || self.version.weighs_empty_groups()
    }

    #[inline]
    fn sums(&self) -> Sums {
        if self.version.sums_have_no_limits() {
            return Sums::Plain;
        }
        match self.version.sums_follow_averages() {
            true => Sums::FollowAverages,
            false if self.version.sums_never_below_averages() => Sums::NeverBelow,
            false => Sums::HaveLimits,
        }
    }

    /// Whether an entity is attached with a load sum of at least 1 (6.1 on). So is the entity of a
    /// group when the group is made, though its load average is 0.
    pub(super) fn attaches_at_least_one(&self) -> bool {
        !self.version.tracks_runnable_load()
            && matches!(self.sums(), Sums::HaveLimits | Sums::NeverBelow)
    }

    /// Load sum of a new queue of `group`: the entities of the groups below have been attached to
    /// it. (Groups are taken to be made at time 0, from which on its first update lets it decay.)
    pub(super) fn first_load_sum(&self, group: GroupId) -> u64 {
        let mut sum = 0;
        let mut next = self.groups[group.index()].youngest;
        while let Some(child) = next {
            sum += self.weight_at_first(child);
            next = self.groups[child.index()].next_older;
        }
        sum
    }

    /// Part of the load sum of the queue above that comes from the entity of `group`, which has
    /// never been active: its weight, times 1.
    fn weight_at_first(&self, group: GroupId) -> u64 {
        match self.attaches_at_least_one() {
            false => 0,
            true if self.groups[group.index()].renewed && self.version.weighs_empty_groups() => {
                unscaled(LEAST_WEIGHT)
            }
            true => unscaled(NICE_0_WEIGHT),
        }
    }

    /// Updates the queues above `group` on the CPUs on which it has never been active, where its
    /// entity's part of the load sum was `old` before.
    fn first_load_changes(&mut self, group: GroupId, old: u64) {
        let new = self.weight_at_first(group);
        if old == new {
            return;
        }
        let parent = self.groups[group.index()].parent.unwrap_or(GroupId::ROOT);
        for cpu in (0..self.cpus).map(CpuId) {
            let inactive = self.groups[group.index()].cfs_rq_on(cpu).is_none();
            if let Some(above) = self.groups[parent.index()].cfs_rq_on(cpu).filter(|_| inactive) {
                let sum = &mut self.cfs_rqs[above].avg.load_sum;
                *sum = moved(*sum, old, new);
            }
        }
    }

    /// `online_fair_sched_group`: `group` has been made, and its entities are attached.
    pub(super) fn attach_group(&mut self, group: GroupId) {
        self.first_load_changes(group, 0);
    }

    /// The shares of `group`, or of a group below it, have been written.
    pub(super) fn renew_first_load(&mut self, group: GroupId) {
        let old = self.weight_at_first(group);
        self.groups[group.index()].renewed = true;
        self.first_load_changes(group, old);
    }

    /// `update_load_avg`: updates the averages of the entity, and then of its queue, to now.
    #[inline]
    pub(super) fn update_load_avg(&mut self, now_ns: u64, e: EntityId, attach: Attach) {
        if !self.tracks_load() {
            return;
        }
        if self.version.tracks_runnable_load() {
            self.update_with_runnable_load(now_ns, e, attach);
            return;
        }
        let cpu_now_ns = now_ns;
        let sums = self.sums();
        let info = &mut self.info[e];
        let q = info.cfs_rq;
        let queue = &mut self.cfs_rqs[q];
        let now_ns = queue.pelt_clock.at(now_ns);
        if info.avg.last_update_time != 0 && info.avg.is_due(now_ns) {
            let entity = &self.se[e];
            let running = queue.curr == Some(e);
            let runnable = match info.my_q {
                None => u64::from(entity.on_rq && !entity.sched_delayed),
                Some(_) => u64::from(info.runnable),
            };
            let load = u64::from(entity.on_rq);
            info.avg_renewed |=
                info.avg.update(now_ns, load, runnable, running, unscaled(info.load));
        }
        let mut changed = queue.update_load_avg(now_ns, sums);
        if let Some(below) = info.my_q {
            changed |= self.propagate(q, e, below);
        }
        let (queue, info) = (&mut self.cfs_rqs[q], &mut self.info[e]);
        let group = queue.group;
        match attach {
            Attach::No | Attach::Quiet => {}
            Attach::Attach if info.avg.last_update_time != 0 => {}
            Attach::Attach => {
                queue.attach(info, unscaled(info.load), sums);
                changed = true;
            }
            Attach::Detach => {
                queue.detach(info, unscaled(info.load), sums);
                changed = true;
            }
        }
        if changed {
            self.invalidate(q);
        }
        if changed && group != GroupId::ROOT && attach != Attach::Quiet {
            self.update_tg_load_avg(cpu_now_ns, q);
        }
    }

    /// `propagate_entity_load_avg`: passes the load changes of queue `below` up to its entity `e`
    /// and to queue `q`, which `e` is on. Returns whether there were any.
    #[inline]
    fn propagate(&mut self, q: CfsRqId, e: EntityId, below: CfsRqId) -> bool {
        if !self.cfs_rqs[below].pending.is_marked {
            return false;
        }
        let sums = self.sums();
        let pending = core::mem::take(&mut self.cfs_rqs[below].pending);
        self.cfs_rqs[q].pending.add(pending.runnable_sum);
        let (inner, inner_load) = (self.cfs_rqs[below].avg, unscaled(self.cfs_rqs[below].load));
        let queue = &mut self.cfs_rqs[q].avg;
        let Info { avg, load, .. } = &mut self.info[e];
        let weight = unscaled(*load);
        let divider = queue.divider();
        let follow = matches!(sums, Sums::FollowAverages | Sums::Plain);
        // Utilisation and time spent runnable equal the queue's.
        if inner.util_avg != avg.util_avg {
            let sum = inner.util_avg * divider;
            queue.util_avg = moved(queue.util_avg, avg.util_avg, inner.util_avg);
            let queue_sum = moved(u64::from(queue.util_sum), u64::from(avg.util_sum), sum);
            queue.util_sum = match follow {
                true => (queue.util_avg * divider) as u32,
                false => sums.lowered(queue_sum, queue.util_avg) as u32,
            };
            avg.util_avg = inner.util_avg;
            avg.util_sum = sum as u32;
        }
        if inner.runnable_avg != avg.runnable_avg {
            let sum = inner.runnable_avg * divider;
            queue.runnable_avg = moved(queue.runnable_avg, avg.runnable_avg, inner.runnable_avg);
            let queue_sum = moved(queue.runnable_sum, avg.runnable_sum, sum);
            queue.runnable_sum = match follow {
                true => queue.runnable_avg * divider,
                false => sums.lowered(queue_sum, queue.runnable_avg),
            };
            avg.runnable_avg = inner.runnable_avg;
            avg.runnable_sum = sum;
        }
        // The time for which there was load is only estimated. Load that has joined adds to it.
        // After load has left, no more can remain than the queue has.
        if pending.runnable_sum == 0 {
            return true;
        }
        let load_sum = if pending.runnable_sum > 0 {
            (avg.load_sum + pending.runnable_sum as u64).min(divider)
        } else {
            avg.load_sum.min(inner.load_sum.checked_div(inner_load).unwrap_or(0))
        };
        // Time spent running is time spent with load.
        let load_sum = load_sum.max(u64::from(avg.util_sum >> 10));
        let load_avg = weight * load_sum / divider;
        if load_avg != avg.load_avg {
            queue.load_avg = moved(queue.load_avg, avg.load_avg, load_avg);
            let sum = moved(queue.load_sum, weight * avg.load_sum, weight * load_sum);
            queue.load_sum = match sums {
                Sums::Plain => sum,
                Sums::FollowAverages => queue.load_avg * divider,
                _ => sums.lowered(sum, queue.load_avg),
            };
            avg.load_sum = load_sum;
            avg.load_avg = load_avg;
        } else if follow {
            if sums == Sums::Plain {
                let sum = moved(queue.load_sum, weight * avg.load_sum, weight * load_sum);
                queue.load_sum = sum;
            }
            avg.load_sum = load_sum;
        }
        true
    }

    /// `propagate_entity_cfs_rq`: updates the averages of all groups above `e`.
    pub(super) fn propagate_upward(&mut self, now_ns: u64, e: EntityId) {
        let mut next = self.parent_of(e);
        while let Some(e) = next {
            self.update_load_avg(now_ns, e, Attach::No);
            next = self.parent_of(e);
        }
    }

    /// `update_blocked_averages`: updates the averages of all queues of `cpu`: groups' queues
    /// first, inner ones before outer ones.
    pub(super) fn update_blocked_averages(&mut self, rqs: &Rqs, now_ns: u64, cpu: CpuId) {
        let curr = rqs.curr(cpu);
        if !rqs.is_migration_thread(curr) {
            self.capacity.update_blocked(now_ns + self.clock_ns, cpu, rqs.thread(curr).class);
        }
        let attach = match self.version.blocked_entities_are_quiet() {
            true => Attach::Quiet,
            false => Attach::No,
        };
        for number in (1..self.groups.len()).rev() {
            let Some(q) = self.groups[number].cfs_rq_on(cpu) else {
                continue;
            };
            let sums = self.sums();
            let queue = &mut self.cfs_rqs[q];
            if queue.pelt_clock.is_stopped {
                continue;
            }
            let (clock, owner) = (queue.pelt_clock.at(now_ns), queue.owner);
            let changed = match self.version.tracks_runnable_load() {
                true => self.update_queue_with_runnable_load(clock, q),
                false => queue.update_load_avg(clock, sums),
            };
            if changed {
                self.update_tg_load_avg(now_ns, q);
            }
            if let Some(e) = owner {
                let avg = &self.info[e].avg;
                if avg.load_avg != 0 || avg.util_avg != 0 || self.cfs_rqs[q].pending.is_marked {
                    self.update_load_avg(now_ns, e, attach);
                }
            }
        }
        self.update_cfs_rq_load_avg(now_ns, CfsRqId::of_cpu(cpu));
    }

    /// `update_cfs_rq_load_avg` of queue `q`.
    pub(super) fn update_cfs_rq_load_avg(&mut self, now_ns: u64, q: CfsRqId) {
        if !self.tracks_load() {
            return;
        }
        if self.version.tracks_runnable_load() {
            self.update_queue_with_runnable_load(self.cfs_rqs[q].pelt_clock.at(now_ns), q);
            return;
        }
        let sums = self.sums();
        let queue = &mut self.cfs_rqs[q];
        if queue.update_load_avg(queue.pelt_clock.at(now_ns), sums) {
            self.invalidate(q);
        }
    }

    /// Updates the number of runnable tasks below the group entity `e`.
    #[inline]
    pub(super) fn update_runnable(&mut self, e: EntityId) {
        if let Some(q) = self.info[e].my_q
            && !self.version.tracks_runnable_load()
        {
            self.info[e].runnable = self.cfs_rqs[q].h_nr_runnable;
        }
    }

    /// The part of `reweight_entity` that concerns averages: gives `e` the stored weight `weight`.
    pub(super) fn reweight_load_avg(&mut self, e: EntityId, weight: u64) {
        if !self.tracks_load() {
            return;
        }
        if self.version.tracks_runnable_load() {
            self.reweight_runnable_load(e, weight);
            return;
        }
        let sums = self.sums();
        let info = &mut self.info[e];
        let q = info.cfs_rq;
        self.cfs_rqs[q].reweight(info, unscaled(info.load), unscaled(weight), sums);
        self.invalidate(q);
    }

    /// `init_entity_runnable_average`, `post_init_entity_util_avg`: a new task counts as always
    /// runnable. Its utilisation is half of its first queue's spare utilisation, or the utilisation
    /// of tasks of its weight there.
    pub(super) fn init_load_avg(&mut self, task: Pid) {
        if !self.tracks_load() {
            return;
        }
        let e = self.se_of(task);
        let info = &mut self.info[e];
        let weight = unscaled(info.load);
        let queue = &self.cfs_rqs[info.cfs_rq].avg;
        // Compared with the stored weight, the queue's load is almost 0.
        let measure = if self.version.first_util_by_stored_weight() { info.load } else { weight };
        let cap = (1024 - queue.util_avg as i64) / 2;
        let mut util = 0;
        if cap > 0 {
            let cap = cap as u64;
            util = match queue.util_avg {
                0 => cap,
                util => cap.min(util * measure / (queue.load_avg + 1)),
            };
        }
        if self.version.tracks_runnable_load() {
            self.info[e].avg = self.first_runnable_load(weight, util);
            self.info[e].util_est = self.first_estimate();
            return;
        }
        let info = &mut self.info[e];
        // The rules of picking may have changed its weight since its load was computed.
        let load_avg = if info.avg.load_avg == 0 { weight } else { info.avg.load_avg };
        info.avg = Average { load_avg, util_avg: util, runnable_avg: util, ..Average::default() };
    }

    /// `attach_entity_cfs_rq`: the new `task`, which is not queued yet, joins the load of its queue
    /// and of the queues above, unless the release leaves that to the enqueue.
    pub(super) fn attach_new(&mut self, now_ns: u64, task: Pid) {
        if !self.tracks_load() || !self.version.attaches_outside_queueing() {
            return;
        }
        let e = self.se_of(task);
        self.update_load_avg(now_ns, e, Attach::Attach);
        self.propagate_upward(now_ns, e);
    }

    /// `remove_entity_load_avg`: the task of `e` has left its queue without being queued. Its
    /// averages, decayed up to the queue's time, are recorded for later subtraction.
    pub(super) fn remove_load_avg(&mut self, e: EntityId) {
        if !self.tracks_load() {
            return;
        }
        self.decay_with_queue(e);
        if self.version.tracks_runnable_load() {
            self.remove_runnable_load(e);
            return;
        }
        let q = self.cfs_rq_of(e);
        let avg = &self.info[e].avg;
        let removed = &mut self.cfs_rqs[q].removed;
        removed.nr += 1;
        removed.load_avg += avg.load_avg;
        removed.runnable_avg += avg.runnable_avg;
        removed.util_avg += avg.util_avg;
    }

    /// `sync_entity_load_avg`: brings the averages of `task` up to the time of its queue's, as if
    /// it had been blocked since their last update, even if it runs.
    pub(super) fn sync_load_avg(&mut self, task: Pid) {
        if !self.tracks_load() {
            return;
        }
        self.decay_with_queue(self.se_of(task));
    }

    /// `migrate_task_rq_fair`: `task` is about to move to another CPU. `waking`: it sleeps and is
    /// woken there.
    pub(super) fn leave_cpu(&mut self, rqs: &Rqs, now_ns: u64, task: Pid, waking: bool) {
        let e = self.se_of(task);
        if waking && rqs.thread(task).class == ClassId::Fair {
            R::wakes_elsewhere(self, e);
        }
        if waking && self.tracks_load() {
            self.remove_load_avg(e);
            let cpu = rqs.cpu_of(task);
            // The queue's averages on an idle CPU may be long out of date.
            if self.no_hz && self.version.decays_on_idle_cpus() && rqs.is_idle_thread(rqs.curr(cpu))
            {
                self.decay_blocked(e, self.cfs_rqs[self.cfs_rq_of(e)].pelt_clock.at(now_ns));
            }
        }
        self.info[e].avg.last_update_time = 0;
        self.info[e].exec_start = 0;
    }

    /// Brings a blocked entity's averages up to its queue's time.
    fn decay_with_queue(&mut self, e: EntityId) {
        self.decay_blocked(e, self.cfs_rqs[self.cfs_rq_of(e)].avg.last_update_time);
    }

    /// Brings a blocked entity's averages up to `until_ns`. That does not count as an update for
    /// the estimate.
    fn decay_blocked(&mut self, e: EntityId, until_ns: u64) {
        if self.version.tracks_runnable_load() {
            self.decay_runnable_load(e, until_ns);
            return;
        }
        let info = &mut self.info[e];
        let weight = unscaled(info.load);
        info.avg.update(until_ns, 0, 0, false, weight);
    }

    // ---- estimated utilisation ----

    /// Adds the task's estimated utilisation to the queue's.
    pub(super) fn util_est_enqueue(&mut self, cpu: CpuId, task: Pid) {
        self.lb_cache.invalidate(cpu);
        let util_est = self.info[self.se_of(task)].util_est;
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].util_est += u64::from(util_est);
    }

    /// Subtracts it.
    pub(super) fn util_est_dequeue(&mut self, cpu: CpuId, task: Pid) {
        self.lb_cache.invalidate(cpu);
        let e = self.se_of(task);
        let info = &mut self.info[e];
        let queue = &mut self.cfs_rqs[CfsRqId::of_cpu(cpu)];
        queue.util_est = queue.util_est.saturating_sub(u64::from(info.util_est));
    }

    /// `util_est_update`: `task` goes to sleep. Updates its estimate, unless its averages have not
    /// been updated since the last time.
    pub(super) fn util_est_update(&mut self, task: Pid) {
        let e = self.se_of(task);
        if self.cpus > 1 && self.info[e].avg_renewed && self.version.estimates_util() {
            R::estimate(self, e);
        }
    }

    /// The estimate follows an increase at once and a decrease by a quarter of the difference.
    pub(super) fn estimate_once(&mut self, e: EntityId) {
        let info = &mut self.info[e];
        info.avg_renewed = false;
        let avg = &info.avg;
        let (stored, dequeued) = (info.util_est, avg.util_avg as u32);
        if stored <= dequeued {
            info.util_est = dequeued;
            return;
        }
        let difference = stored - dequeued;
        // It does not decrease by less than 1 %, nor if the task was kept from running.
        if difference < 10 || avg.util_avg + 10 < avg.runnable_avg {
            return;
        }
        info.util_est = ((stored << 2) - difference) >> 2;
    }

    // ---- inputs of balancing ----

    /// `task_util_est`: the task's utilisation of a CPU.
    pub(super) fn task_util(&self, task: Pid) -> u64 {
        let info = &self.info[self.se_of(task)];
        info.avg.util_avg.max(u64::from(info.util_est))
    }

    /// `task_h_load`: the task's contribution to its CPU's load. In a kernel without group
    /// scheduling, its load average.
    pub(super) fn task_h_load(&mut self, jiffies: u64, task: Pid) -> u64 {
        let e = self.se_of(task);
        let load = self.info[e].avg.load_avg;
        if !self.group_scheduling && self.groups.len() == 1 {
            return load;
        }
        let q = self.cfs_rq_of(e);
        let h_load = self.update_h_load(jiffies, q);
        load * h_load / (self.cfs_rqs[q].avg.load_avg + 1)
    }

    /// `update_cfs_rq_h_load`: the part of its CPU's load that is below queue `q`. Recomputed once
    /// a jiffy.
    fn update_h_load(&mut self, jiffies: u64, q: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[q];
        let (h_load, found) = queue.h_load;
        if found == jiffies {
            return h_load;
        }
        let h_load = match queue.owner {
            None => queue.avg.load_avg,
            Some(owner) => {
                let above = self.cfs_rq_of(owner);
                let h_load = self.update_h_load(jiffies, above);
                h_load * self.info[owner].avg.load_avg / (self.cfs_rqs[above].avg.load_avg + 1)
            }
        };
        self.cfs_rqs[q].h_load = (h_load, jiffies);
        h_load
    }
}
