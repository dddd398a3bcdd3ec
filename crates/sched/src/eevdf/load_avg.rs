//! When the averages of [`pelt`](crate::classes::pelt) are brought up to date, and what becomes of
//! them when tasks come and go.
//!
//! On one CPU nothing is decided by them (a group has all of its shares there), so they are not
//! kept.

use super::cfs_rq::Removed;
use super::class::Fair;
use super::entity::{NONE, unscaled};
use crate::classes::pelt::{Average, PELT_MIN_DIVIDER};
use crate::classes::{Pid, Rqs};
use schedlab_core::CpuId;

/// What an update of an entity's averages does to its queue's besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// Nothing.
    No,
    /// A new or moved entity's are added.
    Attach,
    /// They are subtracted.
    Detach,
}

/// The kernel takes the larger of two sums as 32-bit numbers, so that a large one loses its upper
/// half: a queue with a load above 91934 forgets most of it when something is subtracted.
fn raise(sum: u64, average: u64) -> u64 {
    u64::from((sum as u32).max((average * PELT_MIN_DIVIDER) as u32))
}

impl Fair {
    /// Whether load is tracked at all.
    #[inline]
    fn tracks_load(&self) -> bool {
        self.cpus > 1
    }

    /// `update_load_avg`: the entity, then its queue, up to now.
    #[inline]
    pub(super) fn update_load_avg(&mut self, now_ns: u64, e: u32, attach: Attach) {
        if !self.tracks_load() {
            return;
        }
        let info = &mut self.info[e as usize];
        let q = info.queue;
        if info.avg.last_update_time != 0 {
            let entity = &self.se[e as usize];
            let running = self.queues[q as usize].curr == e;
            let runnable = match info.my_q {
                NONE => u64::from(entity.on_rq && !entity.sched_delayed),
                _ => u64::from(info.runnable),
            };
            let load = u64::from(entity.on_rq);
            if info.avg.update(now_ns, load, runnable, running, u64::from(entity.weight))
                && let Some(task) = info.task
            {
                self.tasks[task.index()].avg_renewed = true;
            }
        }
        self.update_queue_load_avg(now_ns, q);
        match attach {
            Attach::Attach if self.info[e as usize].avg.last_update_time == 0 => {
                self.attach_load_avg(e)
            }
            Attach::Detach => self.detach_load_avg(e),
            _ => {}
        }
        self.publish_load(now_ns, q);
    }

    /// `update_cfs_rq_load_avg`: what has left is subtracted, then the queue's averages are brought
    /// up to now.
    pub(super) fn update_queue_load_avg(&mut self, now_ns: u64, q: u32) {
        if !self.tracks_load() {
            return;
        }
        let queue = &mut self.queues[q as usize];
        let mut changed = queue.removed.nr > 0;
        if changed {
            let Removed { load_avg, runnable_avg, util_avg, .. } =
                core::mem::take(&mut queue.removed);
            let avg = &mut queue.avg;
            let divider = avg.divider();
            avg.load_avg = avg.load_avg.saturating_sub(load_avg);
            avg.load_sum = raise(avg.load_sum.saturating_sub(load_avg * divider), avg.load_avg);
            avg.util_avg = avg.util_avg.saturating_sub(util_avg);
            avg.util_sum =
                raise(u64::from(avg.util_sum).saturating_sub(util_avg * divider), avg.util_avg)
                    as u32;
            avg.runnable_avg = avg.runnable_avg.saturating_sub(runnable_avg);
            avg.runnable_sum =
                raise(avg.runnable_sum.saturating_sub(runnable_avg * divider), avg.runnable_avg);
        }
        let load = unscaled(queue.load);
        changed |=
            queue.avg.update(now_ns, load, u64::from(queue.h_nr_runnable), queue.curr != NONE, 1);
        if changed {
            self.invalidate(q);
        }
    }

    /// A group's entity counts the runnable tasks below it.
    #[inline]
    pub(super) fn update_runnable(&mut self, e: u32) {
        let q = self.info[e as usize].my_q;
        if q != NONE {
            self.info[e as usize].runnable = self.queues[q as usize].h_nr_runnable;
        }
    }

    /// The entity takes the queue's time, and the queue the entity's averages.
    fn attach_load_avg(&mut self, e: u32) {
        self.invalidate(self.queue_of(e));
        let weight = u64::from(self.se[e as usize].weight);
        let info = &mut self.info[e as usize];
        let queue = &mut self.queues[info.queue as usize].avg;
        let avg = &mut info.avg;
        let divider = queue.divider();
        avg.last_update_time = queue.last_update_time;
        avg.period_contrib = queue.period_contrib;
        avg.util_sum = (avg.util_avg * divider) as u32;
        avg.runnable_sum = avg.runnable_avg * divider;
        let load_sum = avg.load_avg * divider;
        avg.load_sum = if weight < load_sum { load_sum / weight } else { 1 };
        queue.load_avg += avg.load_avg;
        queue.load_sum += weight * avg.load_sum;
        queue.util_avg += avg.util_avg;
        queue.util_sum = queue.util_sum.wrapping_add(avg.util_sum);
        queue.runnable_avg += avg.runnable_avg;
        queue.runnable_sum += avg.runnable_sum;
    }

    /// The queue loses the entity's averages.
    fn detach_load_avg(&mut self, e: u32) {
        self.invalidate(self.queue_of(e));
        let weight = u64::from(self.se[e as usize].weight);
        let info = &self.info[e as usize];
        let (queue, avg) = (&mut self.queues[info.queue as usize].avg, &info.avg);
        queue.load_avg = queue.load_avg.saturating_sub(avg.load_avg);
        queue.load_sum =
            raise(queue.load_sum.saturating_sub(weight * avg.load_sum), queue.load_avg);
        queue.util_avg = queue.util_avg.saturating_sub(avg.util_avg);
        queue.util_sum =
            raise(u64::from(queue.util_sum.saturating_sub(avg.util_sum)), queue.util_avg) as u32;
        queue.runnable_avg = queue.runnable_avg.saturating_sub(avg.runnable_avg);
        queue.runnable_sum =
            raise(queue.runnable_sum.saturating_sub(avg.runnable_sum), queue.runnable_avg);
    }

    /// The entity weighs otherwise from now on: its load average, and its queue's with it.
    pub(super) fn reweight_load_avg(&mut self, e: u32, weight: u64) {
        let info = &self.info[e as usize];
        if self.cpus == 1 || info.queue == NONE {
            return;
        }
        self.invalidate(info.queue);
        let info = &mut self.info[e as usize];
        let old_weight = u64::from(self.se[e as usize].weight);
        let queue = &mut self.queues[info.queue as usize].avg;
        let avg = &mut info.avg;
        // One that is attached nowhere has nothing to take along.
        let attached = avg.last_update_time != 0;
        if attached {
            queue.load_avg = queue.load_avg.saturating_sub(avg.load_avg);
            queue.load_sum =
                raise(queue.load_sum.saturating_sub(old_weight * avg.load_sum), queue.load_avg);
        }
        avg.load_avg = unscaled(weight) * avg.load_sum / avg.divider();
        if attached {
            queue.load_avg += avg.load_avg;
            queue.load_sum += unscaled(weight) * avg.load_sum;
        }
    }

    /// `init_entity_runnable_average`, `post_init_entity_util_avg`: a new task counts as always
    /// runnable, and is given half of the utilisation that its first queue has to spare, or what
    /// tasks of its weight have there.
    pub(super) fn init_load_avg(&mut self, e: u32) {
        let weight = u64::from(self.se[e as usize].weight);
        let info = &mut self.info[e as usize];
        let queue = &self.queues[info.queue as usize].avg;
        let cap = (1024 - queue.util_avg as i64) / 2;
        let mut util = 0;
        if cap > 0 {
            let cap = cap as u64;
            util = match queue.util_avg {
                0 => cap,
                util => cap.min(util * weight / (queue.load_avg + 1)),
            };
        }
        info.avg =
            Average { load_avg: weight, util_avg: util, runnable_avg: util, ..Average::default() };
    }

    /// `remove_entity_load_avg`: the task of `e` has left its queue without being on it. Its
    /// averages, faded up to the queue's time, are left to be subtracted.
    pub(super) fn remove_load_avg(&mut self, e: u32) {
        if !self.tracks_load() {
            return;
        }
        let q = self.queue_of(e);
        let up_to = self.queues[q as usize].avg.last_update_time;
        self.fade(e, up_to);
        let avg = self.info[e as usize].avg;
        let removed = &mut self.queues[q as usize].removed;
        removed.nr += 1;
        removed.load_avg += avg.load_avg;
        removed.runnable_avg += avg.runnable_avg;
        removed.util_avg += avg.util_avg;
    }

    /// `migrate_task_rq_fair`: `task` is about to belong to another CPU. `waking`: it sleeps, and
    /// is woken there.
    pub(super) fn leave_cpu(&mut self, rqs: &Rqs, now_ns: u64, task: Pid, waking: bool) {
        let e = self.se_of(task);
        if waking && self.tracks_load() {
            self.remove_load_avg(e);
            let cpu = rqs.cpu_of(task);
            // An idle CPU's queue may be long behind.
            if rqs.is_idle_thread(rqs.curr(cpu)) {
                self.fade(e, now_ns);
            }
        }
        self.info[e as usize].avg.last_update_time = 0;
        self.info[e as usize].exec_start = 0;
    }

    /// Brings a blocked entity's averages up to `until_ns`.
    fn fade(&mut self, e: u32, until_ns: u64) {
        let info = &mut self.info[e as usize];
        let weight = u64::from(self.se[e as usize].weight);
        if info.avg.update(until_ns, 0, 0, false, weight)
            && let Some(task) = info.task
        {
            self.tasks[task.index()].avg_renewed = true;
        }
    }

    // ---- estimated utilisation ----

    /// The queue counts on what the task used when it last ran through.
    pub(super) fn util_est_enqueue(&mut self, cpu: CpuId, task: Pid) {
        self.lb_cache.invalidate(cpu.0);
        self.queues[cpu.index()].util_est += u64::from(self.tasks[task.index()].util_est);
    }

    /// The queue counts on it no longer; at a sleep the estimate is renewed, which follows
    /// increases at once and decreases by quarters.
    pub(super) fn util_est_dequeue(&mut self, cpu: CpuId, task: Pid, sleep: bool) {
        self.lb_cache.invalidate(cpu.0);
        let row = &mut self.tasks[task.index()];
        let queue = &mut self.queues[cpu.index()];
        queue.util_est = queue.util_est.saturating_sub(u64::from(row.util_est));
        if !sleep || !row.avg_renewed || self.cpus == 1 {
            return;
        }
        row.avg_renewed = false;
        let avg = &self.info[row.se as usize].avg;
        let (stored, dequeued) = (row.util_est, avg.util_avg as u32);
        if stored <= dequeued {
            row.util_est = dequeued;
            return;
        }
        let difference = stored - dequeued;
        // Not by less than 1 %, nor when it was kept from running.
        if difference < 10 || avg.util_avg + 10 < avg.runnable_avg {
            return;
        }
        row.util_est = ((stored << 2) - difference) >> 2;
    }

    // ---- what balancing reads ----

    /// `cpu_util_cfs`.
    pub(super) fn cpu_util(&self, cpu: CpuId) -> u64 {
        let queue = &self.queues[cpu.index()];
        queue.avg.util_avg.max(queue.util_est).min(1024)
    }

    /// `task_util_est`: how much of a CPU the task uses.
    pub(super) fn task_util(&self, task: Pid) -> u64 {
        let row = &self.tasks[task.index()];
        self.info[row.se as usize].avg.util_avg.max(u64::from(row.util_est))
    }

    /// `task_h_load`: what the task adds to its CPU's load. Without groups its load average.
    pub(super) fn task_h_load(&mut self, jiffies: u64, task: Pid) -> u64 {
        let e = self.se_of(task);
        let load = self.info[e as usize].avg.load_avg;
        if self.groups.len() == 1 {
            return load;
        }
        let q = self.queue_of(e);
        let h_load = self.queue_h_load(jiffies, q);
        load * h_load / (self.queues[q as usize].avg.load_avg + 1)
    }

    /// The part of its CPU's load that stands below queue `q`. Found anew once a jiffy.
    fn queue_h_load(&mut self, jiffies: u64, q: u32) -> u64 {
        let queue = &self.queues[q as usize];
        let (h_load, found) = queue.h_load;
        if found == jiffies {
            return h_load;
        }
        let owner = queue.owner;
        let h_load = if owner == NONE {
            queue.avg.load_avg
        } else {
            let above = self.queue_of(owner);
            let h_load = self.queue_h_load(jiffies, above);
            h_load * self.info[owner as usize].avg.load_avg
                / (self.queues[above as usize].avg.load_avg + 1)
        };
        self.queues[q as usize].h_load = (h_load, jiffies);
        h_load
    }
}
