//! The hooks of [`FairClass6`], through which the core of the kernel calls the fair class. Each is
//! implemented elsewhere.

use super::class::Fair;
use super::find_idlest_cpu::Execs;
use super::flags::{DequeueFlags, EnqueueFlags};
use super::pick_rule::PickRule;
use super::rule_state::{FairTunables as _, FairVersion as _};
use super::{domains, rules};
use crate::classes::bandwidth::{self, Quota};
use crate::classes::core_6::FairClass6;
use crate::classes::{ClassId, Dequeue, Enqueue, Pid, Preemption, Rqs};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    Candidate, CpuId, CpuSet, Difference, GroupId, GroupStats, Load, Platform, Promises, Question,
    Refused, RuleDoc, SchedAttr, TimerKey, Tunable, Waker,
};

impl<R: PickRule> FairClass6 for Fair<R> {
    fn thread_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId) {
        self.task_born(pid, group, cpu);
    }

    fn set_load_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        attr: &SchedAttr,
    ) {
        self.set_task_weight(rqs, platform, pid, attr);
    }

    fn task_fork(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        R::forked(self, rqs, platform, pid);
    }

    fn wake_up_new(&mut self, rqs: &Rqs, now_ns: u64, pid: Pid) {
        self.init_load_avg(pid);
        // A task of another class gets averages, but does not count in its CPU's load.
        if rqs.thread(pid).class == ClassId::Fair {
            self.attach_new(now_ns, pid);
        }
    }

    fn has_child(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        child: Pid,
        parent: Option<Pid>,
    ) {
        R::has_child(self, rqs, platform, child, parent);
    }

    fn task_dead(&mut self, pid: Pid) {
        self.tasks[pid.index()].dead = true;
        R::died(self, pid);
    }

    #[inline]
    fn task_switched_away(&mut self, rqs: &Rqs, pid: Pid) {
        self.dead_task_left(rqs, pid);
    }

    fn reap(&mut self, pid: Pid) {
        self.release(pid);
        R::reaped(self, pid);
    }

    fn waits_for_futex(&mut self, pid: Pid) {
        R::waits_for_futex(self, pid);
    }

    #[inline]
    fn enqueue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        _cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        let why = match why {
            Enqueue::New => EnqueueFlags::NEW,
            Enqueue::Wakeup => EnqueueFlags::WAKEUP,
            Enqueue::Migrated => EnqueueFlags::MIGRATE,
            Enqueue::Restored => EnqueueFlags::RESTORE,
        };
        self.enqueue(rqs, platform, pid, why);
    }

    #[inline]
    fn dequeue_task(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        _cpu: CpuId,
        pid: Pid,
        why: Dequeue,
    ) -> bool {
        let how = match why {
            Dequeue::Sleep => DequeueFlags::SLEEP,
            Dequeue::Special => DequeueFlags { special: true, ..DequeueFlags::SLEEP },
            Dequeue::Migrate => DequeueFlags::MIGRATE,
            Dequeue::Save => DequeueFlags::default(),
            Dequeue::Move => DequeueFlags { moves: true, ..DequeueFlags::default() },
        };
        self.dequeue(rqs, platform, pid, how)
    }

    fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, _: CpuId, pid: Pid) {
        self.put_prev(rqs, platform, pid);
    }

    fn set_curr_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, _: CpuId, pid: Pid) {
        self.set_next(rqs, platform, pid, false);
    }

    #[inline]
    fn set_picked_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, _: CpuId, pid: Pid) {
        self.set_next(rqs, platform, pid, true);
    }

    #[inline]
    fn switch(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid, next: Pid) {
        self.switch_fair(rqs, platform, prev, next);
    }

    #[inline]
    fn picked_again(&mut self, rqs: &Rqs, pid: Pid) {
        if self.version.picked_again_is_newest() {
            self.cfs_tasks_to_head(rqs, pid);
        }
    }

    #[inline]
    fn balances_before_pick(&self) -> bool {
        self.version.balances_before_pick()
    }

    #[inline]
    fn turn_begins(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        R::turn_begins(self, rqs, platform, pid);
    }

    fn pick_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) -> bool {
        R::timer(self, rqs, platform, key)
    }

    #[inline]
    fn pick_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        self.pick_task_fair(rqs, platform, cpu)
    }

    #[inline]
    fn pick_or_pull(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        self.pick_or_balance(rqs, platform, cpu)
    }

    #[inline]
    fn is_wanted(&self, cpu: CpuId) -> bool {
        self.is_queued_on(cpu)
    }

    #[inline]
    fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.tick(rqs, platform, pid);
    }

    fn yield_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if rqs.nr_running[rqs.cpu_of(pid).index()] > 1 || R::yields_alone(self) {
            R::yield_fair(self, rqs, platform, pid);
        }
    }

    #[inline]
    fn wakeup_preempt(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        pid: Pid,
        fork: bool,
    ) {
        R::check_preempt_wakeup(self, rqs, platform, curr, pid, fork);
    }

    fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        old_nice: i32,
        nice: i32,
    ) {
        let cpu = rqs.cpu_of(pid);
        if self.has_several_queued(cpu) && rqs.curr(cpu) == pid && nice > old_nice {
            rqs.resched_curr(platform, cpu);
        }
    }

    #[inline]
    fn tick_ends(&mut self, cpu: CpuId) {
        self.tick_ages_loads(cpu);
    }

    fn move_reschedules(&self) -> bool {
        self.version.move_reschedules()
    }

    fn renice_reschedules(&self) -> bool {
        self.version.renice_reschedules()
    }

    fn moves_to_lowest_cpu(&self) -> bool {
        self.version.balances_by_load()
    }

    fn switched_from(&mut self, rqs: &Rqs, platform: &Platform, pid: Pid) {
        if !rqs.thread(pid).on_rq {
            R::leaves_asleep(self, platform.now_ns(), pid);
        }
    }

    fn switched_to(&mut self, rqs: &Rqs, _: &Platform, pid: Pid) {
        if !rqs.thread(pid).on_rq {
            R::comes_asleep(self, pid);
        }
        R::joins_class(self, pid);
    }

    fn asks_check(&self, rqs: &Rqs, pid: Pid) -> bool {
        let cpu = rqs.cpu_of(pid);
        self.has_several_queued(cpu) && rqs.curr(cpu) != pid
    }

    fn charge(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.charge_task(rqs, platform, pid);
    }

    fn charge_reader(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let q = self.cfs_rq_of(self.se_of(pid));
        R::update_curr(self, rqs, platform, q);
    }

    #[inline]
    fn exec_clock(&self, cpu: CpuId) -> u64 {
        self.exec_clock[cpu.index()]
    }

    #[inline]
    fn is_delayed(&self, pid: Pid) -> bool {
        self.is_delayed_task(pid)
    }

    #[inline]
    fn wake_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        platform.by_rule(Question::SelectCpu, rqs.cpu_of(pid), rules::DELAYED);
        self.wake_delayed_task(rqs, platform, pid);
    }

    fn finish_delayed(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        self.finish_delayed_task(rqs, platform, pid);
    }

    fn emptiest_cpu(&self, rqs: &Rqs, allowed: &CpuSet) -> CpuId {
        self.emptiest_allowed_cpu(rqs, allowed)
    }

    fn select_at_fork(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        allowed: &CpuSet,
        cpu: CpuId,
    ) -> CpuId {
        let policy = rqs.thread(pid).policy;
        let (chosen, rule) = self.find_dst_cpu(rqs, allowed, cpu, policy, None);
        platform.by_rule(Question::SelectCpu, chosen, rule);
        chosen
    }

    fn select_at_exec(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) -> CpuId {
        let cpu = rqs.cpu_of(pid);
        // Its averages were last updated at a tick or a pick. Its queue's averages were updated
        // since then if other tasks were queued or dequeued.
        self.sync_load_avg(pid);
        let h_load = self.task_h_load(platform.jiffies(), pid);
        let allowed = rqs.settings[pid.index()].allowed.clone();
        let execs = Execs { task: pid, h_load };
        let policy = rqs.thread(pid).policy;
        let (chosen, rule) = self.find_dst_cpu(rqs, &allowed, cpu, policy, Some(execs));
        platform.by_rule(Question::SelectCpu, chosen, rule);
        chosen
    }

    fn inherit(&mut self, child: Pid, parent: Pid) {
        let of_parent = self.tasks[parent.index()];
        let row = &mut self.tasks[child.index()];
        row.last_wakee = of_parent.last_wakee;
        row.wakee_flips = of_parent.wakee_flips;
        row.wakee_flip_decay_ts = of_parent.wakee_flip_decay_ts;
        let (child, parent) = (self.se_of(child), self.se_of(parent));
        self.se.max_slices[child] = self.se.max_slices[parent];
    }

    #[inline]
    fn woken_on(&mut self, now_ns: u64, cpu: CpuId) {
        self.ends_idling(now_ns, cpu);
    }

    #[inline]
    fn select_at_wakeup(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        pid: Pid,
        waker: Waker,
    ) -> CpuId {
        self.select_task_rq(rqs, platform, pid, waker)
    }

    #[inline]
    fn set_task_cpu(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        waking: bool,
    ) {
        self.move_to_cpu(rqs, platform, pid, to, waking);
    }

    fn came_to_cpu(&mut self, pid: Pid, to: CpuId) {
        self.follow_to_cpu(pid, to);
    }

    fn detach_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid, to: CpuId) {
        self.detach(rqs, platform, pid, to);
    }

    #[inline]
    fn add_nr_running(&mut self, rqs: &mut Rqs, cpu: CpuId, count: u32) {
        self.count_running(rqs, cpu, count);
    }

    #[inline]
    fn note_overload(&mut self, rqs: &Rqs, cpu: CpuId) {
        self.balance.overloaded |= rqs.nr_running[cpu.index()] >= 2;
    }

    #[inline]
    fn class_switch(&mut self, now_ns: u64, cpu: CpuId, from: ClassId, to: ClassId) {
        Fair::class_switch(self, now_ns + self.clock_ns, cpu, from, to);
    }

    fn cpu_idles(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        R::idles(self, rqs, platform, cpu);
        self.cpu_goes_idle(rqs, cpu);
    }

    #[inline]
    fn is_balance_due(&self, platform: &Platform, cpu: CpuId) -> bool {
        self.is_balance_due(platform, cpu)
    }

    fn periodic_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.sched_balance_domains(rqs, platform, cpu);
    }

    fn active_load_balance(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        self.push_running_task(rqs, platform, cpu);
    }

    fn domains_rebuilt(&mut self, rqs: &Rqs, platform: &Platform) {
        self.rebuild_domains(rqs, platform);
    }

    fn describe_domains(&self, rqs: &Rqs) -> String {
        domains::describe(&rqs.domains)
    }

    fn has_group(&self, group: GroupId) -> bool {
        group.index() < self.groups.len()
    }

    fn group_new(&mut self, parent: GroupId, shares: u64) -> GroupId {
        self.new_group(parent, shares)
    }

    fn group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) {
        self.set_shares(rqs, platform, group, shares);
    }

    fn is_idle_group(&self, group: GroupId) -> bool {
        self.groups[group.index()].idle
    }

    fn group_set_idle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) {
        self.set_idle(rqs, platform, group, idle);
    }

    fn group_set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        self.set_quota(rqs, platform, group, quota)
    }

    fn group_stats(&self, group: GroupId) -> GroupStats {
        self.stats_of_group(group)
    }

    fn move_group(&mut self, rqs: &Rqs, now_ns: u64, pid: Pid, group: GroupId, asleep: bool) {
        let moves_place = asleep && rqs.thread(pid).class == ClassId::Fair;
        if moves_place {
            R::leaves_asleep(self, now_ns, pid);
        }
        self.change_group(rqs, now_ns, pid, group);
        if moves_place {
            R::comes_asleep(self, pid);
        }
    }

    fn checks_moved_tasks(&self) -> bool {
        self.version.checks_moved_tasks()
    }

    fn bandwidth_timer(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) {
        self.distribute_runtime(rqs, platform, key);
    }

    #[inline]
    fn must_leave(&self, pid: Pid) -> bool {
        Fair::must_leave(self, pid)
    }

    fn leaves_unasked(&self, pid: Pid) -> bool {
        Fair::leaves_unasked(self, pid)
    }

    fn throttle_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        Fair::throttle_task(self, rqs, platform, pid);
    }

    fn throttled_hierarchy(&self, pid: Pid) -> bool {
        self.is_throttled_task(pid)
    }

    fn has_fair_server(&self) -> bool {
        self.version.has_fair_server()
    }

    fn tunables(&self) -> Vec<Tunable> {
        let mut all = self.tunables.list(self.limits.slice_us());
        let switch = |name: &'static str, value, help| Tunable {
            name: name.into(),
            value: i64::from(value),
            range: (0, 1),
            help,
        };
        all.push(switch(
            "group_scheduling",
            self.group_scheduling,
            "the kernel was built with CONFIG_FAIR_GROUP_SCHED, as distribution kernels are",
        ));
        all.push(switch(
            "no_hz",
            self.no_hz,
            "the kernel was built with CONFIG_NO_HZ_COMMON, as distribution kernels are",
        ));
        let setting = |name: &'static str, value, range, help| Tunable {
            name: name.into(),
            value,
            range,
            help,
        };
        all.push(self.preemption.setting());
        all.push(setting(
            "clock_ns",
            self.clock_ns as i64,
            (0, i64::MAX / 2),
            "reading of the scheduler's clock at time 0, ns",
        ));
        all.push(setting("jiffies", self.jiffies, (i64::MIN, i64::MAX), "jiffies at time 0"));
        all
    }

    fn set_tunable(&mut self, name: &str, value: i64) {
        match name {
            bandwidth::TUNABLE => self.limits.set_slice_us(value),
            "group_scheduling" => self.group_scheduling = value != 0,
            "no_hz" => self.no_hz = value != 0,
            Preemption::SETTING => self.preemption = Preemption::from_number(value),
            "clock_ns" => self.set_clock(value as u64),
            "jiffies" => self.set_jiffies(value),
            _ => R::set_tunable(self, name, value),
        }
    }

    fn tunable_written(&mut self, rqs: &mut Rqs, platform: &mut Platform, name: &str) {
        R::tunable_written(self, rqs, platform, name);
    }

    fn differences(&self) -> Vec<Difference> {
        self.version.list()
    }

    fn switch_difference(&mut self, name: &str, is_on: bool) -> bool {
        // State that exists has the form that the answers so far have given it.
        if !self.se.is_empty() || self.groups.len() > 1 || !self.version.switch(name, is_on) {
            return false;
        }
        self.answers_changed();
        true
    }

    fn promises(&self, load: &Load) -> Promises {
        R::promises(self, load)
    }

    fn rules(&self) -> [&'static [RuleDoc]; 2] {
        [R::RULES, rules::RULES]
    }

    fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        self.all_candidates(rqs, cpu, out);
    }

    fn audit(&self, rqs: &Rqs) -> Result<(), String> {
        self.recount(rqs)
    }
}
