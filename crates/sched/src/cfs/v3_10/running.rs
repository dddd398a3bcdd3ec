//! Pick, put, tick, preemption and yielding.

use super::super::entity::{Entity, EntityKind};
use super::super::features::Feature;
use super::super::ids::{CfsRqId, EntityId};
use super::super::preempt::PreemptVerdict;
use super::super::rules;
use super::Cfs310;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Policy, Question, Rule};

impl Cfs310 {
    /// `clear_buddies`: each kind upward as long as the levels name `e`'s ancestors.
    pub(super) fn drop_buddies(&mut self, e: EntityId) {
        for kind in 0..3 {
            let mut level = Some(e);
            while let Some(e) = level {
                let entity = &self.base.entities[e];
                let queue = &mut self.base.queues[entity.cfs_rq];
                let buddy = match kind {
                    0 => &mut queue.last,
                    1 => &mut queue.next,
                    _ => &mut queue.skip,
                };
                if *buddy != Some(e) {
                    break;
                }
                *buddy = None;
                level = entity.parent;
            }
        }
    }

    /// `put_prev_task_fair`, if the task of `pid` is still the current one of its queues.
    pub(super) fn put(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let Some(task) = self.entity_if_any(pid) else { return };
        if self.base.queues[self.queue_of(task)].curr != Some(task) {
            return;
        }
        let mut level = Some(task);
        while let Some(e) = level {
            let Entity { cfs_rq: q, on_rq, parent, .. } = self.base.entities[e];
            if on_rq {
                self.base.update_curr(rqs, platform, q);
            }
            self.check_runtime(rqs, platform, q);
            if self.base.entities[e].on_rq {
                platform.work.tree(self.base.queues[q].nr_running);
                self.base.timeline_insert(q, e);
                self.update_entity_load_avg(rqs, e, true);
            }
            self.base.queues[q].curr = None;
            level = parent;
        }
    }

    /// Puts the running task back and picks, as 3.10 always does.
    pub(super) fn pick(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let curr = rqs.curr(cpu);
        if !rqs.is_idle_thread(curr) && !rqs.is_migration_thread(curr) {
            self.put(rqs, platform, curr);
        }
        let root = CfsRqId::root(cpu);
        if self.base.queues[root].nr_running == 0 {
            return None;
        }
        let asked = platform.is_asked();
        let account = asked.then(|| self.base.account_of_pick(rqs, cpu));
        let (pid, rule) = self.pick_down(rqs, platform, root, cpu);
        match account {
            Some(account) => {
                platform.because(Question::Pick, cpu, rule, |evidence| *evidence = account);
            }
            None => platform.by_rule(Question::Pick, cpu, rule),
        }
        Some(pid)
    }

    /// From the root queue down to a task.
    fn pick_down(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        root: CfsRqId,
        cpu: CpuId,
    ) -> (Pid, Rule) {
        let (mut q, mut rule) = (root, rules::ONLY);
        let clock = rqs.clock(cpu);
        loop {
            if self.base.queues[q].nr_running > 1 {
                rule = rule.max(rules::LEFTMOST);
            }
            let (e, buddy) = self.base.pick_buddy_or_leftmost(q);
            rule = rule.max(buddy);
            self.drop_buddies(e);
            platform.work.tree(self.base.queues[q].nr_running);
            self.base.timeline_remove(q, e);
            self.base.queues[q].curr = Some(e);
            let entity = &mut self.base.entities[e];
            entity.begin_turn(clock);
            match entity.kind {
                EntityKind::Task(pid) => {
                    if rule == rules::LEFTMOST && pid == rqs.curr(cpu) {
                        rule = rules::CURRENT_STAYS;
                    }
                    return (pid, rule);
                }
                EntityKind::Group(my_q) => q = my_q,
            }
        }
    }

    /// `set_curr_task_fair`, unless the pick has done it.
    pub(super) fn set(&mut self, rqs: &Rqs, pid: Pid) {
        let task = self.base.entity_of(pid);
        if self.base.queues[self.queue_of(task)].curr == Some(task) {
            return;
        }
        let mut level = Some(task);
        while let Some(e) = level {
            self.base.set_next_entity(rqs, self.queue_of(e), e);
            level = self.parent_of(e);
        }
    }

    /// `task_tick_fair`.
    pub(super) fn tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let mut level = Some(self.base.entity_of(pid));
        while let Some(e) = level {
            let q = self.queue_of(e);
            self.base.update_curr(rqs, platform, q);
            self.update_entity_load_avg(rqs, e, true);
            self.update_blocked_load(rqs, q, true);
            self.update_shares(rqs, platform, q);
            if self.base.queues[q].nr_running > 1 {
                self.check_tick(rqs, platform, q, e);
            }
            level = self.parent_of(e);
        }
    }

    /// `check_preempt_tick`.
    fn check_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId, e: EntityId) {
        let cpu = self.base.queues[q].cpu;
        let ideal = self.base.sched_slice(e);
        let entity = &self.base.entities[e];
        let ran = entity.sum_exec - entity.prev_sum_exec;
        if ran > ideal {
            platform.because(Question::Preempt, cpu, rules::SLICE_OVER, |out| {
                self.base.account_of_tick(e, ideal, out);
            });
            rqs.resched_curr(platform, cpu);
            self.drop_buddies(e);
            return;
        }
        if ran < self.base.tunables.min_granularity_ns {
            return;
        }
        let Some(leftmost) = self.base.queues[q].timeline.leftmost_vruntime() else { return };
        let ahead = entity.vruntime.ahead_of(leftmost);
        if ahead >= 0 && ahead as u64 > ideal {
            platform.because(Question::Preempt, cpu, rules::FAR_AHEAD, |out| {
                self.base.account_of_tick(e, ideal, out);
            });
            rqs.resched_curr(platform, cpu);
        }
    }

    /// `check_preempt_wakeup`.
    pub(super) fn preempt_at_wakeup(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr_pid: Pid,
        pid: Pid,
        fork: bool,
    ) {
        let cpu = rqs.cpu_of(pid);
        let (preempts, rule) = self.wakeup_verdict(rqs, platform, curr_pid, pid, fork);
        if preempts {
            rqs.resched_curr(platform, cpu);
        }
        platform.because(Question::Preempt, cpu, rule, |out| {
            self.base.account_of_wakeup(rqs, cpu, pid, out);
        });
    }

    fn wakeup_verdict(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr_pid: Pid,
        pid: Pid,
        fork: bool,
    ) -> (bool, Rule) {
        if curr_pid == pid {
            return (false, rules::RUNS_ALREADY);
        }
        let (curr, woken) = (self.base.entity_of(curr_pid), self.base.entity_of(pid));
        if self.base.throttled_hierarchy_of(self.queue_of(woken)) {
            return (false, rules::THROTTLED_GROUP);
        }
        let q = self.queue_of(curr);
        let many = u64::from(self.base.queues[q].nr_running) >= self.base.tunables.nr_latency;
        let marked = self.base.tunables.has(Feature::NextBuddy) && many && !fork;
        if marked {
            self.base.set_next_buddy(woken);
        }
        if rqs.thread(curr_pid).need_resched {
            return (false, rules::RESCHED_PENDING);
        }
        let (running, policy) = (rqs.thread(curr_pid).policy, rqs.thread(pid).policy);
        let idle_yields = running == Policy::Idle && policy != Policy::Idle;
        if idle_yields {
            return (true, rules::IDLE_YIELDS);
        }
        match policy {
            Policy::Batch => return (false, rules::BATCH_WAITS),
            Policy::Idle => return (false, rules::IDLE_WAITS),
            _ => {}
        }
        if !self.base.tunables.has(Feature::WakeupPreemption) {
            return (false, rules::NO_WAKEUP_PREEMPT);
        }
        let (s, w) = self.base.find_matching_se(curr, woken);
        self.base.update_curr(rqs, platform, self.queue_of(s));
        let (entity, other) = (&self.base.entities[s], &self.base.entities[w]);
        match self.base.wakeup_preempt_entity(entity, other) {
            PreemptVerdict::Behind if fork => return (false, rules::START_DEBIT),
            PreemptVerdict::Behind => return (false, rules::NOT_BEHIND),
            PreemptVerdict::WithinGranularity => return (false, rules::WITHIN_GRANULARITY),
            PreemptVerdict::Preempt => {}
        }
        let is_last =
            entity.on_rq && entity.is_task() && many && self.base.tunables.has(Feature::LastBuddy);
        if !marked {
            self.base.set_next_buddy(w);
        }
        if is_last {
            self.base.set_last_buddy(s);
            return (true, rules::BEYOND_GRANULARITY_LAST);
        }
        (true, rules::BEYOND_GRANULARITY)
    }

    /// `yield_task_fair`.
    pub(super) fn let_pass(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if rqs.nr_running[rqs.cpu_of(pid).index()] == 1 {
            return;
        }
        let e = self.base.entity_of(pid);
        self.drop_buddies(e);
        if rqs.thread(pid).policy != Policy::Batch {
            self.base.update_curr(rqs, platform, self.queue_of(e));
        }
        self.base.set_skip_buddy(e);
    }

    /// `task_fork_fair`.
    pub(super) fn place_child(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let cpu = rqs.cpu_of(pid);
        rqs.update_rq_clock(platform, cpu);
        let e = self.base.entity_of(pid);
        let q = self.queue_of(e);
        self.base.update_curr(rqs, platform, q);
        let curr = self.base.queues[q].curr;
        if let Some(curr) = curr {
            self.base.entities[e].vruntime = self.base.entities[curr].vruntime;
        }
        self.base.place_newcomer(q, e);
        if self.base.tunables.child_runs_first
            && let Some(curr) = curr
            && self.base.entities[curr].vruntime.is_before(self.base.entities[e].vruntime)
        {
            let child = self.base.entities[e].vruntime;
            self.base.entities[e].vruntime =
                core::mem::replace(&mut self.base.entities[curr].vruntime, child);
            rqs.resched_curr(platform, cpu);
        }
        self.leave_time(q, e);
    }
}
