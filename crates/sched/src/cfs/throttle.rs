//! Groups come and go: how tasks, one or many, join the hierarchy of queues and leave it; and how a
//! group that has used up its quota is taken off its CPU and put back
//! ([`bandwidth`](crate::classes::bandwidth) keeps the accounts).
//!
//! A **throttled** queue is no longer represented in its parent's queue. What is in it stays in it,
//! may sleep, wake and be moved there as elsewhere; but none of it counts further up, and none of
//! it can be picked.

use super::task_group::ROOT;
use super::{Cfs, row};
use crate::classes::Rqs;
use crate::classes::bandwidth::{Expiry, Quota};
use crate::classes::rbtree::NIL;
use alloc::string::String;
use schedlab_core::index::TypedIndex;
use schedlab_core::{CpuId, GroupId, GroupStats, Platform, TimerKey};

impl Cfs {
    /// `e`, with `count` tasks in it, joins its queue, and the groups above join theirs as far as
    /// they were not queued. A throttled queue is as far as anybody gets to know. `wakeup`: `e` is
    /// placed like a waking sleeper, as groups always are.
    #[inline]
    pub(super) fn join(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: u32,
        count: u32,
        wakeup: bool,
    ) {
        let cpu = self.queues[self.entities[e as usize].cfs_rq as usize].cpu;
        let (mut e, mut wakeup, mut joins) = (e, wakeup, true);
        while e != NIL {
            let q = self.entities[e as usize].cfs_rq;
            joins &= !self.entities[e as usize].on_rq;
            if joins {
                self.enqueue_entity(rqs, platform, e, wakeup);
                self.check_enqueue_throttle(rqs, platform, q);
                wakeup = true;
            }
            self.queues[q as usize].h_nr_running += count;
            if self.limits.is_throttled(row(q)) {
                return;
            }
            e = self.entities[e as usize].parent;
        }
        rqs.add_nr_running(cpu, count);
    }

    /// `e`, with `count` tasks in it, leaves its queue, and the groups above leave theirs as far as
    /// they have nothing else to run.
    #[inline]
    pub(super) fn leave(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: u32, count: u32) {
        let cpu = self.queues[self.entities[e as usize].cfs_rq as usize].cpu;
        let (mut e, mut leaves) = (e, true);
        while e != NIL {
            if !self.entities[e as usize].on_rq {
                // Held back already, further up or because it was only about to come.
                return;
            }
            let q = self.entities[e as usize].cfs_rq;
            if leaves {
                self.dequeue_entity(rqs, platform, e);
                if self.queues[q as usize].nr_running == 0 {
                    self.limits.return_slack(platform, row(q));
                }
            }
            self.queues[q as usize].h_nr_running -= count;
            if self.limits.is_throttled(row(q)) {
                return;
            }
            leaves &= self.queues[q as usize].load == 0;
            e = self.entities[e as usize].parent;
        }
        rqs.sub_nr_running(cpu, count);
    }

    /// `check_enqueue_throttle`: queue `q` has got its first entity; it may have nothing to run it
    /// on. (One in which somebody runs is looked at when that one is put away.)
    #[inline]
    fn check_enqueue_throttle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        let queue = &self.queues[q as usize];
        if !self.limits.is_used()
            || queue.nr_running != 1
            || queue.curr != NIL
            || self.limits.is_throttled(row(q))
        {
            return;
        }
        let clock = rqs.clock(queue.cpu);
        self.limits.account(platform, row(q), clock, 0);
        self.check_runtime(rqs, platform, q);
    }

    /// `check_cfs_rq_runtime`: throttles queue `q` if it has run out.
    #[inline]
    pub(super) fn check_runtime(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        if self.limits.has_run_out(row(q)) {
            self.throttle(rqs, platform, q);
        }
    }

    /// `throttle_cfs_rq`.
    fn throttle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        let queue = &self.queues[q as usize];
        let (e, cpu, count) = (queue.entity, queue.cpu, queue.h_nr_running);
        self.leave(rqs, platform, e, count);
        self.limits.set_throttled(platform, row(q), rqs.clock(cpu));
    }

    /// `unthrottle_cfs_rq`. Its group comes back as a waking sleeper.
    fn unthrottle(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        let queue = &self.queues[q as usize];
        let (e, cpu, count) = (queue.entity, queue.cpu, queue.h_nr_running);
        rqs.update_rq_clock(platform, cpu);
        self.limits.clear_throttled(row(q), rqs.clock(cpu));
        if self.queues[q as usize].load == 0 {
            return;
        }
        self.join(rqs, platform, e, count, true);
        // A busy CPU is not asked: its tick will find out.
        if rqs.is_idle_thread(rqs.curr(cpu)) && self.queues[cpu.index()].nr_running > 0 {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// A period is over, or returned runtime is to be handed out.
    pub(super) fn bandwidth_timer(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        key: TimerKey,
    ) {
        if let Expiry::Distribute(group) = self.limits.timer(platform, key) {
            while let Some(q) = self.limits.next_to_release(group) {
                self.unthrottle(rqs, platform, q.index() as u32);
            }
        }
    }

    /// `throttled_hierarchy`: whether queue `q` or one above it is throttled.
    #[inline]
    pub(super) fn is_held_back_in(&self, q: u32) -> bool {
        if !self.limits.is_used() {
            return false;
        }
        let mut q = q;
        loop {
            if self.limits.is_throttled(row(q)) {
                return true;
            }
            match self.queues[q as usize].entity {
                NIL => return false,
                e => q = self.entities[e as usize].cfs_rq,
            }
        }
    }

    /// `throttled_lb_pair`: whether the group of queue `q` is held back there or on `other`. Its
    /// tasks are not balanced then.
    pub(super) fn is_throttled_pair(&self, q: u32, other: CpuId) -> bool {
        if self.is_held_back_in(q) {
            return true;
        }
        let mut group = self.queues[q as usize].group;
        loop {
            if let Some(there) = self.queue_if_any(group, other) {
                return self.is_held_back_in(there);
            }
            group = self.groups[group as usize].parent;
        }
    }

    /// `tg_set_cfs_bandwidth`.
    pub(super) fn write_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: u32,
        quota: &Quota,
    ) -> Result<(), String> {
        if self.version.bandwidth.is_none() {
            return Err(alloc::format!(
                "CFS of {} has no quotas: they came with 3.2 (cfs@3.2)",
                self.version.name
            ));
        }
        let Some(row) = self.groups.get(group as usize) else {
            return Err("no such group".into());
        };
        let queues = row.queues.iter().map(|&(_, q)| super::row(q));
        self.limits.set_quota(platform, GroupId(group), quota, queues)?;
        while let Some(q) = self.limits.first_throttled(GroupId(group)) {
            self.unthrottle(rqs, platform, q.index() as u32);
        }
        Ok(())
    }

    /// What a group has used and suffered.
    pub(super) fn read_stats(&self, group: u32) -> Result<GroupStats, String> {
        let Some(row) = self.groups.get(group as usize) else {
            return Err("no such group".into());
        };
        let used = |q: u32| self.queues[q as usize].exec_clock;
        let usage_ns = if group == ROOT {
            (0..self.queues_on.len() as u32).map(used).sum()
        } else {
            row.queues.iter().map(|&(_, q)| used(q)).sum()
        };
        Ok(GroupStats { usage_ns, ..self.limits.stats(GroupId(group)) })
    }

    /// Recounts what the queues count of those below them.
    pub(super) fn audit_limits(&self) -> Result<(), String> {
        self.limits.audit()?;
        let mut found = alloc::vec![0u32; self.queues.len()];
        for &e in self.entity_of.iter().filter(|&&e| e != NIL) {
            let mut e = e;
            if !self.entities[e as usize].on_rq {
                continue;
            }
            while e != NIL {
                let q = self.entities[e as usize].cfs_rq;
                found[q as usize] += 1;
                if self.limits.is_throttled(row(q)) {
                    break;
                }
                e = self.entities[e as usize].parent;
            }
        }
        match (0..found.len()).find(|&q| self.queues[q].h_nr_running != found[q]) {
            None => Ok(()),
            Some(q) => Err(alloc::format!(
                "CPU {}, group {}: {} tasks counted, {} found",
                self.queues[q].cpu.0,
                self.queues[q].group,
                self.queues[q].h_nr_running,
                found[q]
            )),
        }
    }
}
