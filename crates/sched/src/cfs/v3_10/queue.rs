//! Enqueue and dequeue, and throttling.
//!
//! A task that is between queues carries its vruntime relative to the `min_vruntime` of the queue
//! that it has left.

use super::super::features::Feature;
use super::super::ids::{CfsRqId, EntityId};
use super::super::vruntime::Vruntime;
use super::Cfs310;
use crate::classes::{Dequeue, Enqueue, Pid, Rqs};
use schedlab_core::index::TypedIndex;
use schedlab_core::{CpuId, Platform};

impl Cfs310 {
    /// `place_entity` of a sleeper.
    pub(super) fn place_sleeper(&mut self, q: CfsRqId, e: EntityId) {
        let tunables = &self.base.tunables;
        let mut credit = tunables.latency_ns;
        if tunables.has(Feature::GentleFairSleepers) {
            credit >>= 1;
        }
        let place = self.base.queues[q].min_vruntime - credit;
        let entity = &mut self.base.entities[e];
        entity.vruntime = entity.vruntime.max(place);
    }

    /// Makes the vruntime of `e` absolute on queue `q`.
    pub(super) fn join_time(&mut self, q: CfsRqId, e: EntityId) {
        let min = self.base.queues[q].min_vruntime;
        let entity = &mut self.base.entities[e];
        entity.vruntime += min.ns();
    }

    /// Makes the vruntime of `e` relative to queue `q`.
    pub(super) fn leave_time(&mut self, q: CfsRqId, e: EntityId) {
        let min = self.base.queues[q].min_vruntime;
        let entity = &mut self.base.entities[e];
        entity.vruntime = Vruntime::from_ns(entity.vruntime.ahead_of(min) as u64);
    }

    /// The root queue's weight is its CPU's load.
    fn note_load(&mut self, q: CfsRqId, e: EntityId) {
        if self.base.entities[e].parent.is_none() {
            let queue = &self.base.queues[q];
            self.base.cpu_loads.set_weighted_load(queue.cpu, queue.load);
        }
    }

    /// `enqueue_entity`. `relative`: its vruntime is relative.
    fn enqueue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        wakeup: bool,
        relative: bool,
    ) {
        if relative {
            self.join_time(q, e);
        }
        self.base.update_curr(rqs, platform, q);
        self.enqueue_load_avg(rqs, q, e, wakeup);
        let queue = &mut self.base.queues[q];
        queue.account_enqueue(&mut self.base.entities[e]);
        self.note_load(q, e);
        // (It counts as queued only at the end.)
        self.update_shares(rqs, platform, q);
        if wakeup {
            self.place_sleeper(q, e);
        }
        platform.work.enqueues += 1;
        let queue = &self.base.queues[q];
        platform.work.tree(queue.nr_running);
        if queue.curr != Some(e) {
            self.base.timeline_insert(q, e);
        }
        let queue = &self.base.queues[q];
        if self.base.limits.is_used()
            && queue.nr_running == 1
            && queue.curr.is_none()
            && !self.base.limits.is_throttled(q)
        {
            let clock = rqs.clock(queue.cpu);
            self.base.limits.account(platform, q, clock, 0);
            self.check_runtime(rqs, platform, q);
        }
    }

    /// `dequeue_entity`.
    fn dequeue_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        sleep: bool,
    ) {
        self.base.update_curr(rqs, platform, q);
        self.dequeue_load_avg(rqs, q, e, sleep);
        self.drop_buddies(e);
        platform.work.dequeues += 1;
        if self.base.queues[q].curr != Some(e) {
            platform.work.tree(self.base.queues[q].nr_running);
            self.base.timeline_remove(q, e);
        }
        let queue = &mut self.base.queues[q];
        queue.account_dequeue(&mut self.base.entities[e]);
        self.note_load(q, e);
        if !sleep {
            self.leave_time(q, e);
        }
        if self.base.limits.is_used() && self.base.queues[q].nr_running == 0 {
            self.base.limits.return_slack(platform, q);
        }
        let curr = self.base.queues[q].curr.map(|curr| self.base.entities[curr].vruntime);
        self.base.queues[q].update_min_vruntime(curr);
        self.update_shares(rqs, platform, q);
    }

    /// `enqueue_task_fair`.
    pub(super) fn enqueue(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        why: Enqueue,
    ) {
        let cpu = rqs.cpu_of(pid);
        let task = self.base.entity_of(pid);
        let mut wakeup = why == Enqueue::Wakeup;
        let mut next = Some(task);
        let mut counts = true;
        while let Some(e) = next {
            if self.base.entities[e].on_rq {
                break;
            }
            let q = self.queue_of(e);
            self.enqueue_entity(rqs, platform, q, e, wakeup, e == task);
            if self.base.limits.is_throttled(q) {
                self.base.queues[q].h_nr_running += 1;
                counts = false;
                break;
            }
            self.base.queues[q].h_nr_running += 1;
            wakeup = true;
            next = self.parent_of(e);
        }
        while let Some(e) = next
            && counts
        {
            let q = self.queue_of(e);
            self.base.queues[q].h_nr_running += 1;
            if self.base.limits.is_throttled(q) {
                counts = false;
                break;
            }
            self.update_shares(rqs, platform, q);
            self.update_entity_load_avg(rqs, e, true);
            next = self.parent_of(e);
        }
        if counts {
            rqs.add_nr_running(cpu, 1);
        }
        rqs.thread_mut(pid).on_rq = true;
        self.cpu_state(cpu).tasks.push(task);
    }

    /// `dequeue_task_fair`.
    pub(super) fn dequeue(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        why: Dequeue,
    ) {
        let cpu = rqs.cpu_of(pid);
        let task = self.base.entity_of(pid);
        let task_sleep = matches!(why, Dequeue::Sleep | Dequeue::Special);
        let mut sleep = task_sleep;
        let mut next = Some(task);
        let mut counts = true;
        while let Some(e) = next {
            let q = self.queue_of(e);
            self.dequeue_entity(rqs, platform, q, e, sleep);
            if self.base.limits.is_throttled(q) {
                self.base.queues[q].h_nr_running -= 1;
                counts = false;
                break;
            }
            self.base.queues[q].h_nr_running -= 1;
            next = self.parent_of(e);
            if self.weight_of(q) != 0 {
                if task_sleep && let Some(parent) = next {
                    self.base.set_next_buddy(parent);
                }
                break;
            }
            sleep = true;
        }
        while let Some(e) = next
            && counts
        {
            let q = self.queue_of(e);
            self.base.queues[q].h_nr_running -= 1;
            if self.base.limits.is_throttled(q) {
                counts = false;
                break;
            }
            self.update_shares(rqs, platform, q);
            self.update_entity_load_avg(rqs, e, true);
            next = self.parent_of(e);
        }
        if counts {
            rqs.sub_nr_running(cpu, 1);
        }
        rqs.thread_mut(pid).on_rq = false;
        let tasks = &mut self.cpu_state(cpu).tasks;
        if let Some(at) = tasks.iter().rposition(|&e| e == task) {
            tasks.remove(at);
        }
    }

    /// `check_cfs_rq_runtime`.
    pub(super) fn check_runtime(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        if self.base.limits.has_run_out(q) {
            self.throttle(rqs, platform, q);
        }
    }

    /// Applies `change` to the clock state of `q` and all queues below it on its CPU.
    fn walk_below(&mut self, q: CfsRqId, change: impl Fn(&mut super::load_avg::QueueAvg)) {
        let cpu = self.base.queues[q].cpu;
        for place in 0..self.base.queues_on[cpu.index()].len() {
            let (_, below) = self.base.queues_on[cpu.index()][place];
            let mut at = Some(below);
            while let Some(queue) = at {
                if queue == q {
                    change(&mut self.queue_avgs[below.index()]);
                    break;
                }
                at = self.base.queues[queue].entity.map(|e| self.base.entities[e].cfs_rq);
            }
        }
    }

    /// `throttle_cfs_rq`.
    fn throttle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let queue = &self.base.queues[q];
        let (cpu, count) = (queue.cpu, queue.h_nr_running);
        let clock = self.clock_task(rqs, q);
        self.walk_below(q, |row| {
            if row.throttle_count == 0 {
                row.throttled_at = clock;
            }
            row.throttle_count += 1;
        });
        let (mut next, mut leaves) = (self.base.queues[q].entity, true);
        while let Some(e) = next {
            if !self.base.entities[e].on_rq {
                break;
            }
            let above = self.queue_of(e);
            if leaves {
                self.dequeue_entity(rqs, platform, above, e, true);
            }
            self.base.queues[above].h_nr_running -= count;
            leaves &= self.weight_of(above) == 0;
            next = self.parent_of(e);
        }
        if next.is_none() {
            rqs.sub_nr_running(cpu, count);
        }
        self.base.limits.set_throttled(platform, q, rqs.clock(cpu));
    }

    /// `unthrottle_cfs_rq`.
    pub(super) fn unthrottle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let queue = &self.base.queues[q];
        let (cpu, count, first) = (queue.cpu, queue.h_nr_running, queue.entity);
        rqs.update_rq_clock(platform, cpu);
        self.base.limits.clear_throttled(platform, q, rqs.clock(cpu));
        let clock = self.clock_task(rqs, q);
        self.walk_below(q, |row| {
            row.throttle_count = row.throttle_count.saturating_sub(1);
            if row.throttle_count == 0 {
                row.throttled_ns =
                    row.throttled_ns.wrapping_add(clock.wrapping_sub(row.throttled_at));
            }
        });
        if self.weight_of(q) == 0 {
            return;
        }
        let (mut next, mut joins) = (first, true);
        while let Some(e) = next {
            joins &= !self.base.entities[e].on_rq;
            let above = self.queue_of(e);
            if joins {
                self.enqueue_entity(rqs, platform, above, e, true, false);
            }
            self.base.queues[above].h_nr_running += count;
            if self.base.limits.is_throttled(above) {
                break;
            }
            next = self.parent_of(e);
        }
        if next.is_none() {
            rqs.add_nr_running(cpu, count);
        }
        if rqs.is_idle_thread(rqs.curr(cpu)) && self.base.queues[CfsRqId::root(cpu)].nr_running > 0
        {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `migrate_task_rq_fair`: `e`, which is not queued, moves to another CPU. If it sleeps, its
    /// load leaves the old queue at that queue's next update.
    ///
    /// The same happens to a task that balancing moves if it has woken in the decay period in which
    /// it fell asleep, because such a wakeup leaves `decay_count` as it was. The old queue then
    /// subtracts the task's load twice: from the load of queued tasks and from that of sleepers.
    pub(super) fn takes_load_along(&mut self, e: EntityId) {
        if self.avgs[e.index()].decay_count != 0 {
            let periods = self.synchronize_decay(e);
            self.avgs[e.index()].decay_count = periods.wrapping_neg();
            let contrib = self.avgs[e.index()].contrib;
            let q = self.queue_of(e);
            self.row(q).removed += contrib;
        }
    }

    /// Moves a waiting task to another CPU.
    pub(super) fn move_queued(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
    ) {
        platform.work.moves += 1;
        rqs.update_rq_clock(platform, rqs.cpu_of(pid));
        self.dequeue(rqs, platform, pid, Dequeue::Migrate);
        let e = self.base.entity_of(pid);
        self.takes_load_along(e);
        rqs.set_cpu(platform, pid, to);
        let group = self.base.group_of(e);
        self.set_task_rq(e, group, to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kernel310;
    use crate::classes::testing::{Bench, Life, MS};
    use schedlab_core::{Administer, BuildConfig, GroupId, Quota, Scheduler};

    /// Shares are not divided below a throttled group. If the entity of the inner group had no
    /// weight, the outer group would count as empty once its own task has gone, and not return to
    /// the runqueue.
    #[test]
    fn a_group_that_gets_its_first_task_below_a_throttled_group_weighs_something() {
        let mut m = Bench::new(Kernel310::of_config(&BuildConfig::flat(1, 1000)), 1, 1000);
        let outer = m.sched.group_new(&mut m.platform, GroupId::ROOT, 1024).unwrap();
        let inner = m.sched.group_new(&mut m.platform, outer, 1024).unwrap();
        let quota =
            Quota { quota_us: Some(5_000), period_us: 100_000, burst_us: 0, phase_us: None };
        m.sched.group_set_quota(&mut m.platform, outer, quota).unwrap();
        let first = m.in_group(outer, Life::Hog);
        m.run_until(20 * MS);
        assert_eq!(m.current, [None], "the outer group is throttled");
        let below = m.in_group(inner, Life::Hog);
        m.sched.kill(&mut m.platform, first);
        m.kill(first);
        for until_ms in 21..400 {
            m.run_until(until_ms * MS);
            m.sched.inspect().audit().unwrap();
        }
        let ran = m.slices.iter().filter(|slice| slice.3 == below.0);
        assert!(ran.map(|slice| slice.2 - slice.1).sum::<u64>() > 10 * MS, "{:?}", m.slices);
    }
}
