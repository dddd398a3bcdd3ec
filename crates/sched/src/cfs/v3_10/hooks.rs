//! The hooks of [`FairClass6`], through which the core of the kernel calls the class.

use super::super::load_weight::LoadWeight;
use super::super::rules;
use super::super::tunables;
use super::Cfs310;
use super::load_avg::GroupAvg;
use crate::classes::bandwidth::{self, Expiry, Quota};
use crate::classes::core_6::FairClass6;
use crate::classes::weights::weight_of_nice;
use crate::classes::{ClassId, Dequeue, Enqueue, Pid, Preemption, Rqs};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::index::TypedIndex;
use schedlab_core::{
    Candidate, CpuId, CpuSet, GroupId, GroupStats, Load, Platform, Policy, Promises, Question,
    Refused, RuleDoc, SchedAttr, TimerKey, Tunable, Waker,
};

impl FairClass6 for Cfs310 {
    fn thread_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId) {
        let base = &mut self.base;
        if base.entity_of.len() <= pid.index() {
            base.entity_of.resize(pid.index() + 1, None);
        }
        let e = base.new_entity(pid, cpu);
        base.entity_of[pid.index()] = Some(e);
        // The kernel's clock may have been running for long.
        base.entities[e].exec_start = self.clock_ns.wrapping_neg();
        self.grow();
        self.set_task_rq(e, group, cpu);
    }

    fn set_load_weight(&mut self, _: &mut Rqs, _: &mut Platform, pid: Pid, attr: &SchedAttr) {
        let e = self.base.entity_of(pid);
        let entity = &mut self.base.entities[e];
        entity.load = LoadWeight::of_task(attr, false);
        entity.is_idle_policy = attr.policy == Policy::Idle;
    }

    fn task_fork(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if rqs.thread(pid).class == ClassId::Fair {
            self.place_child(rqs, platform, pid);
        }
    }

    fn wake_up_new(&mut self, _: &Rqs, _: u64, _: Pid) {}

    fn task_dead(&mut self, _: Pid) {}

    fn task_switched_away(&mut self, _: &Rqs, _: Pid) {}

    fn reap(&mut self, _: Pid) {}

    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        _: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        self.enqueue(rqs, platform, pid, why);
    }

    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        _: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool {
        self.dequeue(rqs, platform, pid, why);
        true
    }

    fn is_wanted(&self, cpu: CpuId) -> bool {
        self.base.queues[super::CfsRqId::root(cpu)].nr_running > 0
    }

    fn pick_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        self.pick(rqs, platform, cpu)
    }

    fn pick_or_pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        if rqs.nr_running[cpu.index()] == 0 {
            self.idle_balance(rqs, platform, cpu);
        }
        self.pick(rqs, platform, cpu)
    }

    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, _: CpuId, pid: Pid) {
        self.put(rqs, platform, pid);
    }

    fn set_curr_task(&mut self, rqs: &mut Rqs, _: &mut Platform, _: CpuId, pid: Pid) {
        self.set(rqs, pid);
    }

    fn switch(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid, _: Pid) {
        // The pick has put the one and set the other.
    }

    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.tick(rqs, platform, pid);
    }

    fn tick_begins(&mut self, cpu: CpuId) {
        self.base.cpu_loads.update(cpu);
    }

    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.let_pass(rqs, platform, pid);
    }

    fn wakeup_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        pid: Pid,
        fork: bool,
    ) {
        self.preempt_at_wakeup(rqs, platform, curr, pid, fork);
    }

    /// `set_user_nice` asks for a reschedule if the task became more urgent, or runs.
    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        old_nice: i32,
        nice: i32,
    ) {
        let cpu = rqs.cpu_of(pid);
        if nice < old_nice || (nice > old_nice && rqs.curr(cpu) == pid) {
            rqs.resched_curr(platform, cpu);
        }
    }

    fn switched_from(&mut self, rqs: &Rqs, _: &Platform, pid: Pid) {
        let e = self.base.entity_of(pid);
        let q = self.queue_of(e);
        if !rqs.thread(pid).on_rq {
            self.place_sleeper(q, e);
            self.leave_time(q, e);
        }
        if self.avgs[e.index()].decay_count != 0 {
            self.synchronize_decay(e);
            let contrib = self.avgs[e.index()].contrib;
            let row = self.row(q);
            row.blocked = row.blocked.saturating_sub(contrib);
        }
    }

    fn switched_to(&mut self, _: &Rqs, _: &Platform, _: Pid) {}

    fn asks_check(&self, _: &Rqs, _: Pid) -> bool {
        false
    }

    fn charge(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let mut level = Some(self.base.entity_of(pid));
        while let Some(e) = level {
            self.base.update_curr(rqs, platform, self.queue_of(e));
            level = self.parent_of(e);
        }
    }

    fn charges_readers(&self) -> bool {
        false
    }

    fn exec_clock(&self, cpu: CpuId) -> u64 {
        self.base.queues[super::CfsRqId::root(cpu)].exec_clock
    }

    fn emptiest_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId {
        let cpus = (0..rqs.cpus()).map(CpuId).filter(|&cpu| allowed.contains(cpu));
        cpus.min_by_key(|cpu| rqs.nr_running[cpu.index()]).unwrap_or(CpuId(0))
    }

    fn select_at_fork(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        _: Pid,
        allowed: &CpuSet,
        cpu: CpuId,
    ) -> CpuId {
        let mut chosen = if allowed.count(rqs.cpus()) == 1 {
            cpu
        } else {
            self.idlest(rqs, allowed, cpu, |params| params.balance_fork)
        };
        if !allowed.contains(chosen) {
            chosen = allowed.first(rqs.cpus()).unwrap_or(cpu);
        }
        let rule = if chosen == cpu { rules::FORK_HERE } else { rules::FORK_IDLEST };
        platform.because(Question::SelectCpu, chosen, rule, |out| {
            self.base.account_of_fork(cpu, chosen, out);
        });
        chosen
    }

    fn select_at_exec(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) -> CpuId {
        let cpu = rqs.cpu_of(pid);
        if rqs.thread(pid).nr_cpus_allowed == 1 {
            return cpu;
        }
        let allowed = rqs.settings[pid.index()].allowed.clone();
        let chosen = self.idlest(rqs, &allowed, cpu, |params| params.balance_exec);
        let rule = if chosen == cpu { rules::FORK_HERE } else { rules::FORK_IDLEST };
        platform.by_rule(Question::SelectCpu, chosen, rule);
        chosen
    }

    fn inherit(&mut self, _: Pid, _: Pid) {}

    fn affinity_takes_lowest(&self) -> bool {
        true
    }

    fn move_reschedules(&self) -> bool {
        false
    }

    fn affinity_requeues(&self) -> bool {
        false
    }

    fn wakeups_read_old_clock(&self) -> bool {
        false
    }

    fn woken_on(&mut self, now_ns: u64, cpu: CpuId) {
        let max = 2 * self.base.tunables.migration_cost_ns;
        let state = self.cpu_state(cpu);
        if let Some(since) = state.idle_stamp.take() {
            let idled = now_ns.wrapping_sub(since) as i64;
            if idled > max {
                state.avg_idle = max;
            } else {
                state.avg_idle += (idled - state.avg_idle) >> 3;
            }
        }
    }

    fn select_at_wakeup(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
        waker: Waker,
    ) -> CpuId {
        self.select_for_wakeup(rqs, platform, pid, waker.is_sync())
    }

    fn set_task_cpu(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        waking: bool,
    ) {
        let Some(e) = self.entity_if_any(pid) else { return };
        let q = self.queue_of(e);
        let fair = rqs.thread(pid).class == ClassId::Fair;
        if waking && fair {
            self.leave_time(q, e);
        }
        if rqs.cpu_of(pid) == to {
            return;
        }
        if fair {
            self.takes_load_along(e);
        }
        rqs.set_cpu(platform, pid, to);
        let group = self.base.queues[q].group;
        self.set_task_rq(e, group, to);
    }

    fn came_to_cpu(&mut self, pid: Pid, to: CpuId) {
        if let Some(e) = self.entity_if_any(pid) {
            let group = self.base.group_of(e);
            self.set_task_rq(e, group, to);
        }
    }

    fn detach_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid, to: CpuId) {
        self.move_queued(rqs, platform, pid, to);
    }

    fn add_nr_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32) {
        rqs.add_nr_running(cpu, count);
    }

    fn note_overload(&mut self, _: &Rqs, _: CpuId) {}

    fn cpu_idles(&mut self, _: &Rqs, _: &mut Platform, _: CpuId) {}

    fn class_switch(&mut self, _: u64, _: CpuId, _: ClassId, _: ClassId) {}

    fn is_balance_due(&self, platform: &Platform, cpu: CpuId) -> bool {
        platform.jiffies() >= self.base.next_balance[cpu.index()]
    }

    fn periodic_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.rebalance(rqs, platform, cpu);
    }

    fn active_load_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.push(rqs, platform, cpu);
    }

    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform) {
        self.power_at_boot(rqs);
        self.start_intervals(rqs);
        for row in self.base.balancing.iter_mut().flatten() {
            row.last_balance = platform.jiffies();
        }
        let online = rqs.online_cpus();
        let before = core::mem::replace(&mut self.base.online_before, online);
        self.base.tunables.rescale(&self.base.version, before, online);
    }

    fn describe_domains(&self, rqs: &Rqs) -> String {
        rqs.domains.describe()
    }

    fn has_group(&self, group: GroupId) -> bool {
        self.base.groups.contains(group)
    }

    fn group_new(&mut self, parent: GroupId, shares: u64) -> GroupId {
        let made = self.base.sched_create_group(parent, shares);
        self.group_avgs.push(GroupAvg::default());
        made.unwrap_or(GroupId::ROOT)
    }

    fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) {
        let shares = shares.clamp(2, 1 << 18);
        if core::mem::replace(&mut self.base.groups[group].shares, shares) == shares {
            return;
        }
        for place in 0..self.base.groups[group].queues.len() {
            let (_, q) = self.base.groups[group].queues[place];
            let mut level = Some(q);
            while let Some(q) = level {
                self.update_shares(rqs, platform, q);
                level = self.base.queues[q].entity.map(|e| self.base.entities[e].cfs_rq);
            }
        }
    }

    fn is_idle_group(&self, _: GroupId) -> bool {
        false
    }

    fn group_set_idle(&mut self, _: &mut Rqs, _: &mut Platform, _: GroupId, _: bool) {}

    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        let queues = self.base.groups[group].queues.iter().map(|&(_, q)| q);
        self.base.limits.set_quota(platform, group, quota, queues)?;
        while let Some(q) = self.base.limits.first_throttled(group) {
            self.unthrottle(rqs, platform, q);
        }
        Ok(())
    }

    fn group_stats(&self, group: GroupId) -> GroupStats {
        self.base.cpu_stat(group).unwrap_or_default()
    }

    fn move_group(&mut self, rqs: &Rqs, _: u64, pid: Pid, group: GroupId, asleep: bool) {
        let e = self.base.entity_of(pid);
        let moves_place = asleep && rqs.thread(pid).class == ClassId::Fair;
        if moves_place {
            self.leave_time(self.queue_of(e), e);
        }
        self.set_task_rq(e, group, rqs.cpu_of(pid));
        if moves_place {
            let q = self.queue_of(e);
            self.join_time(q, e);
            let contrib = self.avgs[e.index()].contrib;
            let row = self.row(q);
            row.blocked += contrib;
            let counter = row.decay_counter;
            self.avgs[e.index()].decay_count = counter;
        }
    }

    fn bandwidth_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) {
        if let Expiry::Distribute(group) = self.base.limits.timer(platform, key) {
            while let Some(q) = self.base.limits.next_to_release(group) {
                self.unthrottle(rqs, platform, q);
            }
        }
    }

    fn must_leave(&self, _: Pid) -> bool {
        false
    }

    fn throttle_task(&mut self, _: &mut Rqs, _: &mut Platform, _: Pid) {}

    fn throttled_hierarchy(&self, pid: Pid) -> bool {
        self.entity_if_any(pid).is_some_and(|e| self.base.throttled_hierarchy_of(self.queue_of(e)))
    }

    fn has_fair_server(&self) -> bool {
        false
    }

    fn tunables(&self) -> Vec<Tunable> {
        let setting = |name: &'static str, value, range, help| Tunable {
            name: name.into(),
            value,
            range,
            help,
        };
        let slice = setting(
            bandwidth::TUNABLE,
            self.base.limits.slice_us(),
            (1, i64::from(i32::MAX)),
            "runtime that a CPU draws at a time from a limited group's account, us",
        );
        let mut all = self.base.tunables.list(&self.base.version, core::iter::once(slice));
        let foreign = ["sched_compat_yield", "sched_shares_ratelimit", "sched_shares_thresh"];
        all.retain(|tunable| !foreign.contains(&&*tunable.name));
        for tunable in &mut all {
            if tunable.name == "sched_migration_cost" {
                tunable.name = "sched_migration_cost_ns".into();
            } else if tunable.name == "sched_time_avg" {
                tunable.name = "sched_time_avg_ms".into();
            }
        }
        let yes = (0, 1);
        all.push(setting(
            "group_scheduling",
            i64::from(self.group_scheduling),
            yes,
            "the kernel was built with CONFIG_FAIR_GROUP_SCHED, as distribution kernels are",
        ));
        all.push(self.preemption.setting());
        all.push(setting(
            "clock_ns",
            self.clock_ns as i64,
            (0, i64::MAX / 2),
            "reading of the scheduler's clock at time 0, ns",
        ));
        all.push(setting(
            "jiffies",
            self.jiffies,
            (i64::MIN / 2, i64::MAX / 2),
            "jiffies at time 0",
        ));
        all
    }

    fn set_tunable(&mut self, name: &str, value: i64) {
        let base = &mut self.base;
        let name = match name {
            bandwidth::TUNABLE => return base.limits.set_slice_us(value),
            "group_scheduling" => return self.group_scheduling = value != 0,
            Preemption::SETTING => return self.preemption = Preemption::from_number(value),
            "clock_ns" => return self.clock_ns = value as u64,
            "jiffies" => return self.jiffies = value,
            "sched_migration_cost_ns" => "sched_migration_cost",
            "sched_time_avg_ms" => "sched_time_avg",
            other => other,
        };
        base.tunables.write(&base.version, name, value);
        if name == "sched_wakeup_granularity_ns" {
            let values = &mut base.tunables;
            values.nr_latency = tunables::nr_latency(values.latency_ns, values.min_granularity_ns);
        }
    }

    fn promises(&self, load: &Load) -> Promises {
        if self.cpus.len() > 1 || !self.base.groups.only_root() {
            return Promises::default();
        }
        // As in the older releases: how far the lightest can be ahead, in the heaviest's time.
        let tunables = &self.base.tunables;
        let tasks = u64::from(load.tasks.max(1));
        let [light, heavy] =
            [load.nice_max, load.nice_min].map(|nice| u64::from(weight_of_nice(nice)));
        let turn_ns = tunables.sched_period(tasks, self.base.version.period)
            + 2 * self.base.tick_ns
            + tunables.wakeup_granularity_ns;
        let ahead = 2 * turn_ns * 1024 / light + tunables.latency_ns;
        let each_ns = ahead.saturating_mul(heavy) / 1024 + 2 * turn_ns;
        Promises {
            idle_beside_waiting_ns: None,
            wait_ns: Some(tasks.saturating_mul(each_ns)),
            hog_spread_ns: Some(4 * turn_ns),
            ..Promises::default()
        }
    }

    fn rules(&self) -> [&'static [RuleDoc]; 2] {
        [rules::RULES, &[]]
    }

    fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.base.candidates_fair(rqs, cpu, out);
    }

    fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        self.base.audit_books(rqs)
    }
}
