//! How the core of the kernel asks the fair class: the hooks of [`FairClass6`], each of which is
//! done elsewhere.

use super::class::Fair;
use super::domains;
use super::flags::DequeueFlags;
use crate::classes::bandwidth::{self, Quota};
use crate::classes::core_6::FairClass6;
use crate::classes::{Core, Dequeue, Enqueue, Pid};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::interface::Load;
use schedlab_core::{
    CpuId, CpuSet, GroupId, GroupStats, Platform, Promises, SchedAttr, TimerKey, Tunable, Waker,
};

impl FairClass6 for Fair {
    fn thread_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId) {
        self.task_born(pid, group, cpu);
    }

    fn set_load_weight(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        pid: Pid,
        attr: &SchedAttr,
    ) {
        self.set_task_weight(core, platform, pid, attr);
    }

    fn wake_up_new(&mut self, core: &Core, pid: Pid) {
        self.tasks[pid.index()].recent_used_cpu = core.cpu_of(pid);
        self.init_load_avg(pid);
    }

    fn task_dead(&mut self, pid: Pid) {
        self.tasks[pid.index()].dead = true;
    }

    #[inline]
    fn task_switched_away(&mut self, core: &Core, pid: Pid) {
        self.dead_task_left(core, pid);
    }

    fn reap(&mut self, pid: Pid) {
        self.release(pid);
    }

    #[inline]
    fn enqueue_task(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        _cpu: CpuId,
        pid: Pid,
        why: Enqueue,
    ) {
        self.enqueue(core, platform, pid, why == Enqueue::New);
    }

    #[inline]
    fn dequeue_task(
        &mut self,
        core: &mut Core,
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
        };
        self.dequeue(core, platform, pid, how)
    }

    fn put_prev_task(&mut self, core: &mut Core, platform: &mut Platform, _: CpuId, pid: Pid) {
        self.put_prev(core, platform, pid);
    }

    fn set_curr_task(&mut self, core: &mut Core, platform: &mut Platform, _: CpuId, pid: Pid) {
        self.set_next(core, platform, pid);
    }

    #[inline]
    fn switch(&mut self, core: &mut Core, platform: &mut Platform, prev: Pid, next: Pid) {
        self.switch_fair(core, platform, prev, next);
    }

    #[inline]
    fn pick_task(&mut self, core: &mut Core, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        self.pick_task_fair(core, platform, cpu)
    }

    #[inline]
    fn pick_or_pull(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        cpu: CpuId,
    ) -> Option<Pid> {
        self.pick_or_balance(core, platform, cpu)
    }

    #[inline]
    fn is_wanted(&self, cpu: CpuId) -> bool {
        self.is_queued_on(cpu)
    }

    #[inline]
    fn task_tick(&mut self, core: &mut Core, platform: &mut Platform, pid: Pid) {
        self.tick(core, platform, pid);
    }

    fn yield_task(&mut self, core: &mut Core, platform: &mut Platform, pid: Pid) {
        self.yield_fair(core, platform, pid);
    }

    #[inline]
    fn wakeup_preempt(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        curr: Pid,
        pid: Pid,
        fork: bool,
    ) {
        self.check_preempt_wakeup(core, platform, curr, pid, fork);
    }

    fn prio_changed(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        pid: Pid,
        old_nice: i32,
        nice: i32,
    ) {
        let cpu = core.cpu_of(pid);
        if self.has_several_queued(cpu) && core.curr(cpu) == pid && nice > old_nice {
            core.resched_curr(platform, cpu);
        }
    }

    fn asks_check(&self, core: &Core, pid: Pid) -> bool {
        let cpu = core.cpu_of(pid);
        self.has_several_queued(cpu) && core.curr(cpu) != pid
    }

    fn charge(&mut self, core: &mut Core, platform: &mut Platform, pid: Pid) {
        self.charge_task(core, platform, pid);
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
    fn wake_delayed(&mut self, core: &mut Core, platform: &mut Platform, pid: Pid) {
        self.wake_delayed_task(core, platform, pid);
    }

    fn finish_delayed(&mut self, core: &mut Core, platform: &mut Platform, pid: Pid) {
        self.finish_delayed_task(core, platform, pid);
    }

    fn emptiest_cpu(&self, core: &Core, allowed: &CpuSet) -> CpuId {
        self.emptiest_allowed_cpu(core, allowed)
    }

    fn select_at_fork(&mut self, core: &mut Core, allowed: &CpuSet, cpu: CpuId) -> CpuId {
        self.find_dst_cpu_at_fork(core, allowed, cpu)
    }

    #[inline]
    fn select_at_wakeup(
        &mut self,
        core: &Core,
        platform: &Platform,
        pid: Pid,
        waker: Waker,
    ) -> CpuId {
        self.select_task_rq(core, platform, pid, waker)
    }

    #[inline]
    fn set_task_cpu(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        pid: Pid,
        to: CpuId,
        waking: bool,
    ) {
        self.move_to_cpu(core, platform, pid, to, waking);
    }

    fn came_to_cpu(&mut self, pid: Pid, to: CpuId) {
        self.follow_to_cpu(pid, to);
    }

    fn detach_task(&mut self, core: &mut Core, platform: &mut Platform, pid: Pid, to: CpuId) {
        self.detach(core, platform, pid, to);
    }

    #[inline]
    fn add_nr_running(&mut self, core: &mut Core, cpu: CpuId, count: u32) {
        self.count_running(core, cpu, count);
    }

    #[inline]
    fn note_overload(&mut self, core: &Core, cpu: CpuId) {
        self.balance.overloaded |= core.nr_running[cpu.index()] >= 2;
    }

    fn cpu_idles(&mut self, core: &Core, platform: &Platform, cpu: CpuId) {
        self.cpu_goes_idle(core, platform, cpu);
    }

    #[inline]
    fn periodic_balance(&mut self, core: &mut Core, platform: &mut Platform, cpu: CpuId) {
        self.sched_balance_domains(core, platform, cpu);
    }

    fn active_load_balance(&mut self, core: &mut Core, platform: &mut Platform, cpu: CpuId) {
        self.push_running_task(core, platform, cpu);
    }

    fn domains_rebuilt(&mut self, core: &Core, platform: &Platform) {
        self.rebuild_domains(core, platform);
    }

    fn describe_domains(&self, core: &Core) -> String {
        domains::describe(&core.domains)
    }

    fn has_group(&self, group: GroupId) -> bool {
        group.index() < self.groups.len()
    }

    fn group_new(&mut self, parent: GroupId, shares: u64) -> GroupId {
        self.new_group(parent, shares)
    }

    fn group_set_shares(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) {
        self.set_shares(core, platform, group, shares);
    }

    fn is_idle_group(&self, group: GroupId) -> bool {
        self.groups[group.index()].idle
    }

    fn group_set_idle(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) {
        self.set_idle(core, platform, group, idle);
    }

    fn group_set_quota(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), String> {
        self.set_quota(core, platform, group, quota)
    }

    fn group_stats(&self, group: GroupId) -> GroupStats {
        self.stats_of_group(group)
    }

    fn move_group(&mut self, core: &Core, now_ns: u64, pid: Pid, group: GroupId) {
        self.change_group(core, now_ns, pid, group);
    }

    fn bandwidth_timer(&mut self, core: &mut Core, platform: &mut Platform, key: TimerKey) {
        self.distribute_runtime(core, platform, key);
    }

    fn throttled_hierarchy(&self, pid: Pid) -> bool {
        self.is_throttled_hierarchy(pid)
    }

    fn has_fair_server(&self) -> bool {
        self.version.has_fair_server()
    }

    fn tunables(&self) -> Vec<Tunable> {
        self.tunables.list(self.limits.slice_us())
    }

    fn set_tunable(&mut self, name: &str, value: i64) {
        if name == bandwidth::TUNABLE {
            self.limits.set_slice_us(value);
        } else {
            self.tunables.write(name, value, self.online);
            self.order.exact_slices = self.tunables.exact_min_slice;
        }
    }

    fn promises(&self, load: &Load) -> Promises {
        self.fair_promises(load)
    }

    fn audit(&self, core: &Core) -> Result<(), String> {
        self.recount(core)
    }
}
