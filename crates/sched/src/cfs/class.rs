//! The hooks of the fair class, as the core of the kernel calls them.

use super::domain_levels::first_interval_ms;
use super::features::Feature;
use super::interactive::Interactive;
use super::releases::Buddies;
use super::{Cfs, cpu_power::CpuPower, rules};
use crate::classes::bandwidth::{self, Quota};
use crate::classes::load_balance_2_6_22::{self, Walk};
use crate::classes::rt::RealTime;
use crate::classes::weights::{NICE_0_LOAD, weight_of_nice};
use crate::classes::{Challenge, Class, Dequeue, Enqueue, FairClass, Pid, Rqs, Select};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::Load as Workload;
use schedlab_core::{
    Candidate, CpuId, GroupId, GroupStats, Parent, Platform, Policy, Promises, Question, Refused,
    RuleDoc, SchedAttr, TaskAttr, TimerKey, Tunable, TunableError,
};

impl Class for Cfs {
    #[inline]
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        self.enqueue_task_fair(rqs, platform, cpu, pid, why == Enqueue::Wakeup);
    }

    #[inline]
    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        _: Dequeue,
    ) -> bool {
        self.dequeue_task_fair(rqs, platform, cpu, pid);
        true
    }

    /// `yield_task_fair`: does almost nothing. Since 3.2 the task is skipped once. The task is
    /// charged and returns to the place that its virtual time gives it, so it may be picked again
    /// at once.
    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, _cpu: CpuId, pid: Pid) {
        let e = self.entity_of(pid);
        let q = self.entities[e].cfs_rq;
        if self.queues[q].nr_running == 1 {
            return;
        }
        self.clear_buddies(e);
        if self.version.buddies == Buddies::Preempting {
            if rqs.thread(pid).policy != Policy::Batch {
                self.update_curr(rqs, platform, q);
            }
            self.set_skip_buddy(e);
            return;
        }
        if !self.tunables.compat_yield && rqs.thread(pid).policy != Policy::Batch {
            self.update_curr(rqs, platform, q);
            return;
        }
        let Some(rightmost) = self.queues[q].timeline.rightmost_vruntime() else {
            return;
        };
        let entity = &mut self.entities[e];
        if !rightmost.is_before(entity.vruntime) {
            // The time since the last charge is added when it is put back.
            entity.vruntime = rightmost + 1;
        }
    }

    #[inline]
    fn check_preempt_curr(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        challenge: Challenge,
    ) {
        self.check_preempt_wakeup(rqs, platform, cpu, pid, challenge);
    }

    #[inline]
    fn pick_next_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        let picked = self.pick_next_task_fair(rqs, platform, cpu);
        if let Some(pid) = picked {
            self.hrtick_start_fair(rqs, platform, cpu, pid);
        }
        picked
    }

    #[inline]
    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        self.hrtick_clear(platform, cpu);
        self.put_prev_task_fair(rqs, platform, pid);
    }

    /// Implements `set_curr_task_fair`.
    fn set_curr_task(&mut self, rqs: &mut Rqs, _: &mut Platform, _cpu: CpuId, pid: Pid) {
        let mut level = Some(self.entity_of(pid));
        while let Some(e) = level {
            self.set_next_entity(rqs, self.entities[e].cfs_rq, e);
            level = self.entities[e].parent;
        }
    }

    #[inline]
    fn select_task_rq(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        select: Select,
    ) -> CpuId {
        match select {
            _ if self.early.is_some() => self.select_early(rqs, platform, pid, select),
            Select::Wakeup { sync } => self.select_for_wakeup(rqs, platform, pid, sync),
            Select::Fork => self.select_for_fork(rqs, platform, pid),
        }
    }

    /// `task_tick_fair`: charges every level, and checks the slice.
    #[inline]
    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        let by_timer = self.hrtick_replaces_tick(cpu);
        let mut level = Some(self.entity_of(pid));
        while let Some(e) = level {
            let q = self.entities[e].cfs_rq;
            self.update_curr(rqs, platform, q);
            if self.version.shares_follow_load {
                self.update_entity_shares_tick(rqs, platform, q);
            }
            let alone = self.queues[q].nr_running <= 1;
            if !by_timer && (!alone || !self.tunables.has(Feature::WakeupPreempt)) {
                self.check_preempt_tick(rqs, platform, q, e);
            }
            level = self.entities[e].parent;
        }
    }

    /// `task_new_fair`: starts a child at the vruntime of the running task, or a slice after
    /// `min_vruntime`, whichever is later.
    fn task_new(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        parent: Parent,
    ) {
        let e = self.entity_of(pid);
        let q = self.entities[e].cfs_rq;
        self.update_curr(rqs, platform, q);
        let curr = self.queues[q].curr;
        if let Some(curr) = curr {
            self.entities[e].vruntime = self.entities[curr].vruntime;
        }
        self.place_newcomer(q, e);
        let with_parent = match parent {
            Parent::External => true,
            Parent::Task { cpu: parent_cpu, .. } => parent_cpu == cpu,
        };
        if self.tunables.child_runs_first
            && with_parent
            && let Some(curr) = curr
        {
            let (child, running) = (self.entities[e].vruntime, self.entities[curr].vruntime);
            if running.is_before(child) {
                self.entities[e].vruntime = running;
                self.entities[curr].vruntime = child;
                platform.because(Question::Preempt, cpu, rules::CHILD_RUNS_FIRST, |out| {
                    self.account_of_wakeup(rqs, cpu, pid, out);
                });
                rqs.resched_curr(platform, cpu);
            }
        }
        self.enqueue_task_fair(rqs, platform, cpu, pid, false);
        if self.version.resched_after_fork {
            platform.because(Question::Preempt, cpu, rules::FORK_RESCHEDULES, |out| {
                self.account_of_wakeup(rqs, cpu, pid, out);
            });
            rqs.resched_curr(platform, cpu);
        }
    }

    fn switched_to(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        if rqs.curr(cpu) == pid {
            platform.by_rule(Question::Preempt, cpu, rules::CLASS_CHANGED);
            rqs.resched_curr(platform, cpu);
        } else {
            self.check_preempt_curr_of(rqs, platform, cpu, pid, Challenge::Other);
        }
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
        old_prio: i16,
    ) {
        if rqs.curr(cpu) != pid {
            self.check_preempt_curr_of(rqs, platform, cpu, pid, Challenge::Other);
        } else if rqs.thread(pid).prio > old_prio {
            platform.by_rule(Question::Preempt, cpu, rules::PRIORITY_LOWERED);
            rqs.resched_curr(platform, cpu);
        }
    }
}

impl FairClass for Cfs {
    fn chooses_cpu_at_first_wakeup(&self) -> bool {
        self.version.chooses_cpu_at_first_wakeup
    }

    fn thread_born(&mut self, rqs: &Rqs, pid: Pid, attr: &TaskAttr, parent: Parent) {
        if self.version.interactive {
            self.interactive.born(pid);
        }
        let group = if self.groups.contains(attr.group) { attr.group } else { GroupId::ROOT };
        let e = self.add_task(rqs, pid, &attr.sched, group);
        let q = self.entities[e].cfs_rq;
        let mut vruntime = self.queues[q].min_vruntime;
        if let Parent::Task { task, .. } = parent
            && let Some(parent) = self.entity_if_any(rqs.pid(task))
            && self.entities[parent].cfs_rq == q
        {
            vruntime = self.entities[parent].vruntime;
        }
        self.entities[e].vruntime = vruntime;
    }

    fn attr_changed(&mut self, rqs: &Rqs, pid: Pid, _old: &SchedAttr) {
        let mut attr = rqs.settings[pid.index()].attr;
        let e = self.entity_of(pid);
        if attr.policy == Policy::Idle
            && self.version.change_to_idle_keeps_weight
            && !self.entities[e].is_idle_policy
        {
            attr.policy = Policy::Other;
        }
        let load = self.load_of(pid, &attr);
        let entity = &mut self.entities[e];
        entity.load = load;
        entity.is_idle_policy = attr.policy == Policy::Idle;
        // 0 unless it was a real-time task.
        if !attr.policy.is_realtime() {
            entity.sum_exec += rqs.thread(pid).rt_sum_exec;
        }
    }

    fn task_moved(&mut self, rqs: &Rqs, pid: Pid, from: CpuId) {
        if let Some(e) = self.entity_if_any(pid) {
            self.set_task_cpu(e, from, rqs.cpu_of(pid));
        }
    }

    fn select_for_exec(&mut self, rqs: &mut Rqs, _: &mut Platform, pid: Pid) -> CpuId {
        let cpu = rqs.cpu_of(pid);
        if self.early.is_some() {
            return self.idlest_early(rqs, pid, cpu, Walk::Exec);
        }
        self.idlest(rqs, pid, cpu, |params| params.balance_exec)
    }

    #[inline]
    fn schedule_entered(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid) {
        if self.version.interactive {
            self.interactive_judges(rqs, platform, prev);
        }
    }

    /// Implements the first half of `dequeue_task`.
    #[inline]
    fn task_sleeps(&mut self, rqs: &Rqs, pid: Pid) {
        let Some(e) = self.entity_if_any(pid) else { return };
        if self.version.interactive {
            self.interactive.sleeps(pid, rqs.clock(rqs.cpu_of(pid)));
        }
        let ran_ns = self.total_exec(rqs, pid, e);
        self.entities[e].averages.sleeps(ran_ns, self.tunables.wakeup_granularity_ns);
    }

    fn task_wakes_other(&mut self, rqs: &Rqs, waker: Pid) {
        if let Some(e) = self.entity_if_any(waker) {
            let ran_ns = self.total_exec(rqs, waker, e);
            self.entities[e].averages.wakes_other(ran_ns);
        }
    }

    /// Implements the common part of `put_prev_task`.
    #[inline]
    fn task_put(&mut self, rqs: &Rqs, pid: Pid) {
        let Some(e) = self.entity_if_any(pid) else { return };
        let thread = rqs.thread(pid);
        let entity = &mut self.entities[e];
        let ran_ns = entity.sum_exec + thread.rt_sum_exec - entity.prev_sum_exec;
        entity.averages.put(ran_ns, thread.runnable, self.tunables.migration_cost_ns);
    }

    #[inline]
    fn update_cpu_load(&mut self, rqs: &Rqs, cpu: CpuId) {
        if self.early.is_some() {
            return self.update_early_cpu_load(rqs, cpu);
        }
        self.cpu_loads.update(cpu);
    }

    #[inline]
    fn trigger_load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        if self.early.is_some() {
            return self.rebalance_early(rqs, rt, platform, cpu);
        }
        self.rebalance_domains(rqs, rt, platform, cpu);
    }

    /// Builds the domains again. Releases that do so also scale the tunables again.
    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform) {
        if self.version.rescales {
            // A CPU that goes offline is still counted.
            let online = rqs.online_cpus();
            let counted = online + u32::from(online < self.online_before);
            self.tunables.rescale(&self.version, self.scaled_for, counted);
            (self.online_before, self.scaled_for) = (online, counted);
        }
        if let Some(early) = &mut self.early {
            early.set_online(platform.jiffies(), |cpu| rqs.is_online(cpu));
        }
        self.cpu_power = CpuPower::at_boot(&rqs.domains, |cpu| rqs.is_online(cpu));
        for (level, rows) in self.balancing.iter_mut().enumerate() {
            for row in rows {
                row.last_balance = platform.jiffies();
                row.interval_ms = first_interval_ms(rqs.domains.level(level).kind);
                row.nr_failed = 0;
            }
        }
        self.next_balance.fill(platform.jiffies());
    }

    fn idle_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        if self.early.is_some() {
            return self.idle_balance_early(rqs, rt, platform, cpu);
        }
        self.idle_balance_fair(rqs, platform, cpu);
    }

    fn active_load_balance(
        &mut self,
        rqs: &mut Rqs,
        rt: &mut RealTime,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        if self.early.is_some() {
            return self.active_balance_early(rqs, rt, platform, cpu);
        }
        self.move_one_task(rqs, platform, cpu);
    }

    fn selects_for_all(&self) -> bool {
        self.early.is_some()
    }

    fn group_new(&mut self, _: &Rqs, parent: GroupId, shares: u64) -> Result<GroupId, Refused> {
        self.sched_create_group(parent, shares)
    }

    fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), Refused> {
        self.sched_group_set_shares(rqs, platform, group, shares)
    }

    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        self.tg_set_cfs_bandwidth(rqs, platform, group, quota)
    }

    fn group_stats(&self, group: GroupId) -> Result<GroupStats, Refused> {
        self.cpu_stat(group)
    }

    fn throttled_hierarchy(&self, pid: Pid) -> bool {
        self.entity_if_any(pid)
            .is_some_and(|e| self.throttled_hierarchy_of(self.entities[e].cfs_rq))
    }

    fn set_group(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        group: GroupId,
    ) -> Result<(), Refused> {
        self.moved_group_fair(rqs, platform, pid, group)
    }

    fn timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) {
        if bandwidth::is_timer(key) {
            self.bandwidth_timer(rqs, platform, key);
        } else {
            self.hrtick(rqs, platform, key);
        }
    }

    fn tunables(&self, _: &Rqs) -> Vec<Tunable> {
        let slice = self.version.bandwidth.map(|_| Tunable {
            name: bandwidth::TUNABLE.into(),
            value: self.limits.slice_us(),
            range: (1, i64::from(i32::MAX)),
            help: "runtime that a CPU draws at a time from a limited group's account, us",
        });
        let rule = self.version.interactive.then(|| self.interactive.tunables());
        let others = slice.into_iter().chain(rule.into_iter().flatten());
        self.tunables.list(&self.version, others)
    }

    fn set_tunable(&mut self, rqs: &mut Rqs, name: &str, value: i64) -> Result<(), TunableError> {
        if name == bandwidth::TUNABLE {
            self.limits.set_slice_us(value);
        } else {
            let is_known = (self.version.interactive && self.interactive.set_tunable(name, value))
                || self.tunables.write(&self.version, name, value);
            if !is_known {
                return Err(TunableError::Refused(String::from("not a tunable of this class")));
            }
        }
        rqs.rt_avg_period_ns = self.tunables.time_avg_ms * 1_000_000 / 2;
        Ok(())
    }

    /// Returns the promises. Only a single CPU without groups has any. With several CPUs a CPU may
    /// idle while tasks wait (the balancer tolerates a quarter more load elsewhere, and delays its
    /// passes), and a group may have many members.
    ///
    /// A waiting task stands still in virtual time while every other task gains on it: no other
    /// task may run once it is past the waiting task by more than a wakeup's granularity or a tick.
    /// The task can be ahead of `min_vruntime` by its first debit or its last slice, and others can
    /// be behind by a sleeper's credit. (`SCHED_IDLE` tasks, whose weight is 3, have no promises.)
    fn promises(&self, rqs: &Rqs, load: &Workload) -> Promises {
        if rqs.cpus() > 1 || !self.groups.only_root() {
            return Promises::default();
        }
        let tunables = &self.tunables;
        let tasks = u64::from(load.tasks.max(1));
        let lightest = if self.version.interactive {
            Interactive::worst_nice(load.nice_max)
        } else {
            load.nice_max
        };
        let [light, heavy] = [lightest, load.nice_min].map(|nice| u64::from(weight_of_nice(nice)));
        let turn_ns = tunables.sched_period(tasks, self.version.period)
            + 2 * self.tick_ns
            + tunables.wakeup_granularity_ns;
        // The distance that a slice of the lightest task covers, and the time that the heaviest can
        // run in that virtual time.
        let ahead = 2 * turn_ns * u64::from(NICE_0_LOAD) / light + tunables.latency_ns;
        let each_ns = ahead.saturating_mul(heavy) / u64::from(NICE_0_LOAD) + 2 * turn_ns;
        Promises {
            idle_beside_waiting_ns: None,
            wait_ns: Some(tasks.saturating_mul(each_ns)),
            // CPU hogs whose nice values are raised at different times are no longer equal.
            hog_spread_ns: (!self.version.interactive).then_some(4 * turn_ns),
            ..Promises::default()
        }
    }

    fn rules(&self) -> &'static [RuleDoc] {
        rules::RULES
    }

    fn more_rules(&self) -> &'static [RuleDoc] {
        match self.early {
            None => &[],
            Some(_) => load_balance_2_6_22::rules::RULES,
        }
    }

    fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.candidates_fair(rqs, cpu, out);
    }

    fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        self.audit_books(rqs)
    }
}
