//! Whose turn it is: charging, protection, the pick, and who may interrupt whom.

use super::cfs_rq::is_eligible;
use super::class::Fair;
use super::enqueue::Dequeue;
use super::entity::{NONE, before, earlier};
use super::releases::Version;
use super::timeline;
use crate::classes::{ClassId, Pid, Rqs};
use schedlab_core::{CpuId, Platform, Policy};

impl Fair {
    /// `update_curr`: charges the running entity for the time since it was last charged, and renews
    /// its request when it has been served. The new request starts from the vruntime it has:
    /// overrun is not held against it.
    pub(super) fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32) {
        let c = self.queues[q as usize].curr;
        if c == NONE {
            return;
        }
        let now_ns = platform.now_ns();
        let info = &mut self.info[c as usize];
        let delta_ns = now_ns - info.exec_start;
        if delta_ns == 0 {
            return;
        }
        info.exec_start = now_ns;
        info.sum_exec_runtime += delta_ns;
        if info.task.is_some() {
            self.exec_clock[self.queues[q as usize].cpu.index()] += delta_ns;
        }
        let entity = &mut self.se[c as usize];
        entity.vruntime = entity.vruntime.wrapping_add(entity.vt(delta_ns));
        let queue = &mut self.queues[q as usize];
        queue.exec_clock += delta_ns;
        queue.follow(entity.vruntime);
        let used_up = !before(entity.vruntime, entity.deadline);
        if used_up {
            if !info.custom_slice {
                entity.slice = self.base_slice;
            }
            entity.deadline = entity.vruntime.wrapping_add(entity.vt(u64::from(entity.slice)));
        }
        let (cpu, alone) = (queue.cpu, queue.nr_queued == 1);
        if !self.limits.account(platform, q, now_ns, delta_ns) {
            rqs.resched_curr(platform, cpu);
        }
        if alone {
            return;
        }
        let give_way = used_up
            || match self.version {
                Version::V6_6 => false,
                // A shorter task has cancelled the protection.
                Version::V6_12 => {
                    !self.is_protected(c)
                        && !self.queues[q as usize].eligible(&self.se, self.se[c as usize].vruntime)
                }
                Version::V6_18 => !self.is_protected(c),
            };
        if give_way {
            rqs.resched_curr(platform, cpu);
            self.clear_buddies(c);
        }
    }

    /// Protects `e`, which is about to run, from being passed before its request is served (6.18:
    /// or before the shortest of the others' requests would be).
    pub(super) fn set_protection(&mut self, q: u32, e: u32) {
        let waiting = self.queues[q as usize].min_slice_waiting(&self.se);
        let entity = &mut self.se[e as usize];
        if !self.version.protects_until() {
            entity.vlag = entity.deadline as i64;
            return;
        }
        let others = if self.features.run_to_parity { waiting } else { self.base_slice_unscaled };
        let slice = others.min(entity.slice);
        let until = if slice == entity.slice {
            entity.deadline
        } else {
            super::entity::earlier(
                entity.deadline,
                entity.vruntime.wrapping_add(entity.vt(u64::from(slice))),
            )
        };
        entity.vlag = until as i64;
    }

    /// Whether the running `e` is protected.
    #[inline]
    pub(super) fn is_protected(&self, e: u32) -> bool {
        let entity = &self.se[e as usize];
        if self.version.protects_until() {
            before(entity.vruntime, entity.vlag as u64)
        } else {
            entity.vlag == entity.deadline as i64
        }
    }

    /// Ends the protection of the running `e`.
    pub(super) fn cancel_protection(&mut self, e: u32) {
        if self.is_protected(e) {
            let entity = &mut self.se[e as usize];
            entity.vlag = if self.version.protects_until() {
                entity.vruntime as i64
            } else {
                (entity.deadline as i64).wrapping_add(1)
            };
        }
    }

    /// 6.18 protects without `RUN_TO_PARITY` too, if for less.
    fn protection_counts(&self) -> bool {
        self.features.run_to_parity || self.version.protects_until()
    }

    /// Whose turn it is on queue `q` (without regard to nominations): the running entity while it
    /// is eligible and protected, else the earliest deadline among the eligible. `protect`: whether
    /// protection counts.
    pub(super) fn pick_eevdf(&self, q: u32, protect: bool) -> u32 {
        let queue = &self.queues[q as usize];
        let (sum, weight, v0) = queue.sums(&self.se);
        let eligible = |vruntime| is_eligible(sum, weight, v0, vruntime);
        let mut curr = queue.curr;
        if curr != NONE && !self.se[curr as usize].on_rq {
            curr = NONE;
        }
        if queue.nr_queued == 1 {
            return if curr != NONE { curr } else { queue.tree.leftmost() };
        }
        if curr != NONE && !eligible(self.se[curr as usize].vruntime) {
            curr = NONE;
        }
        if curr != NONE && protect && self.protection_counts() && self.is_protected(curr) {
            return curr;
        }
        let best = if self.version.tree_by_deadline() {
            let best = timeline::earliest_eligible(&self.nodes, &queue.tree, &self.se, eligible);
            let deadline = |e: u32| self.se[e as usize].deadline;
            if best == NONE || (curr != NONE && before(deadline(curr), deadline(best))) {
                curr
            } else {
                best
            }
        } else {
            timeline::earliest_eligible_by_vruntime(
                &self.nodes,
                &queue.tree,
                &self.se,
                curr,
                eligible,
            )
        };
        // The smallest vruntime is never above the average, so there is one, unless a product has
        // wrapped.
        if best == NONE { queue.tree.leftmost() } else { best }
    }

    /// The nominated one if it is eligible, else [`pick_eevdf`](Fair::pick_eevdf).
    fn pick_next_entity(&self, q: u32) -> u32 {
        let queue = &self.queues[q as usize];
        let nominated = queue.next;
        let asked =
            self.features.pick_buddy || (self.version == Version::V6_6 && self.features.next_buddy);
        if asked
            && nominated != NONE
            && queue.eligible(&self.se, self.se[nominated as usize].vruntime)
        {
            return nominated;
        }
        self.pick_eevdf(q, true)
    }

    /// `pick_task_fair`: whose turn it is on `cpu`. Delayed entities that come up are dequeued for
    /// good.
    pub(super) fn pick_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        'again: loop {
            let mut q = cpu.0;
            if self.queues[q as usize].nr_queued == 0 {
                return None;
            }
            loop {
                let queue = &self.queues[q as usize];
                if queue.curr != NONE && self.se[queue.curr as usize].on_rq {
                    self.update_curr(rqs, platform, q);
                }
                if self.limits.has_run_out(q) && self.throttle(rqs, platform, q) {
                    continue 'again;
                }
                let e = self.pick_next_entity(q);
                platform.work.tree(self.queues[q as usize].nr_queued);
                if self.se[e as usize].sched_delayed {
                    self.dequeue_entities(
                        rqs,
                        platform,
                        e,
                        Dequeue { sleep: true, finish: true, ..Dequeue::default() },
                    );
                    continue 'again;
                }
                match self.info[e as usize].my_q {
                    NONE => return self.info[e as usize].task,
                    below => q = below,
                }
            }
        }
    }

    /// Whose turn it is on `cpu`; if nobody is queued, takes somebody from elsewhere.
    pub(super) fn pick_or_pull(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        loop {
            if let Some(task) = self.pick_task(rqs, platform, cpu) {
                return Some(task);
            }
            if !self.newidle_balance(rqs, platform, cpu) {
                return None;
            }
        }
    }

    /// `check_preempt_wakeup_fair`: `task` has become runnable on a CPU where `curr` runs, both
    /// fair.
    pub(super) fn wakeup_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        let cpu = rqs.cpu_of(curr);
        if curr == task || rqs.resched_pending(cpu) || !self.features.wakeup_preemption {
            return;
        }
        if self.throttled_hierarchy(task) {
            return;
        }
        if self.features.next_buddy && !fork && !self.is_delayed(task) {
            self.set_next_buddy(self.se_of(task));
        }
        let (c, p) = self.find_matching(self.se_of(curr), self.se_of(task));
        let (c_idle, p_idle) = (self.info[c as usize].idle, self.info[p as usize].idle);
        if c_idle && !p_idle {
            if self.version > Version::V6_6 {
                self.cancel_protection(c);
            }
            rqs.resched_curr(platform, cpu);
            return;
        }
        if c_idle != p_idle || rqs.threads[task.index()].policy != Policy::Other {
            return;
        }
        let q = self.queue_of(c);
        self.update_curr(rqs, platform, q);
        let short =
            self.features.preempt_short && self.se[p as usize].slice < self.se[c as usize].slice;
        let wins = match self.version {
            Version::V6_6 => self.pick_eevdf(q, true) == p,
            Version::V6_12 => {
                let queue = &self.queues[q as usize];
                let [pe, ce] = [p, c].map(|e| &self.se[e as usize]);
                if short
                    && queue.eligible(&self.se, pe.vruntime)
                    && (before(pe.deadline, ce.deadline) || !queue.eligible(&self.se, ce.vruntime))
                {
                    self.cancel_protection(c);
                }
                self.pick_eevdf(q, true) == p
            }
            Version::V6_18 => {
                let wins = self.pick_eevdf(q, !short) == p;
                if short && wins {
                    self.cancel_protection(c);
                } else if short {
                    // Protected still, but no longer than the shortest request would take.
                    let shortest = self.queues[q as usize].min_slice(&self.se);
                    let curr = &mut self.se[c as usize];
                    let until = curr.vruntime.wrapping_add(curr.vt(u64::from(shortest)));
                    curr.vlag = earlier(curr.vlag as u64, until) as i64;
                }
                wins
            }
        };
        if wins {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// The ancestors of `a` and `b` (or they themselves) that stand on the same queue.
    fn find_matching(&self, a: u32, b: u32) -> (u32, u32) {
        let (mut a, mut b) = (a, b);
        let depth = |e: u32| self.info[e as usize].depth;
        while depth(a) > depth(b) {
            a = self.parent_of(a);
        }
        while depth(b) > depth(a) {
            b = self.parent_of(b);
        }
        while self.queue_of(a) != self.queue_of(b) {
            a = self.parent_of(a);
            b = self.parent_of(b);
        }
        (a, b)
    }

    /// [`wakeup_preempt`](Fair::wakeup_preempt) for a task that balancing has brought.
    pub(super) fn check_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        task: Pid,
        fork: bool,
    ) {
        let curr = rqs.curr(cpu);
        match rqs.thread(curr).class {
            ClassId::Idle => rqs.resched_curr(platform, cpu),
            ClassId::Fair => self.wakeup_preempt(rqs, platform, curr, task, fork),
            ClassId::Rt | ClassId::Deadline => {}
        }
    }

    /// `yield_task_fair`: the running `task` forfeits what is left of its request (6.6: only puts
    /// its deadline off).
    pub(super) fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if rqs.nr_running[rqs.cpu_of(task).index()] == 1 {
            return;
        }
        let e = self.se_of(task);
        let q = self.queue_of(e);
        self.clear_buddies(e);
        self.update_curr(rqs, platform, q);
        let entity = &self.se[e as usize];
        let request = entity.vt(u64::from(entity.slice));
        if !self.version.yield_forfeits() {
            self.se[e as usize].deadline = entity.deadline.wrapping_add(request);
        } else if self.queues[q as usize].eligible(&self.se, entity.vruntime) {
            let entity = &mut self.se[e as usize];
            entity.vruntime = entity.deadline;
            entity.deadline = entity.vruntime.wrapping_add(request);
            self.queues[q as usize].follow_curr(&self.se);
        }
    }

    /// Takes back the nomination of `e`, and those of its ancestors that were nominated with it.
    pub(super) fn clear_buddies(&mut self, e: u32) {
        let mut e = e;
        while e != NONE {
            let queue = &mut self.queues[self.info[e as usize].queue as usize];
            if queue.next != e {
                return;
            }
            queue.next = NONE;
            e = self.info[e as usize].parent;
        }
    }

    /// Nominates `e` and its ancestors, as far up as they are queued and not idle.
    pub(super) fn set_next_buddy(&mut self, e: u32) {
        let mut e = e;
        while e != NONE && self.se[e as usize].on_rq && !self.info[e as usize].idle {
            self.queues[self.info[e as usize].queue as usize].next = e;
            e = self.parent_of(e);
        }
    }
}
