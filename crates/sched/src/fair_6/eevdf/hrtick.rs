//! HRTICK: a high-resolution timer that ends a turn when the request is served, not at the next
//! tick (feature `HRTICK`; on by default from 7.1 on, on x86 and other machines that set the timer
//! as they leave the kernel).
//!
//! The timer is set when a CPU switches to another fair task and more than one fair task is queued
//! there. It is set to the real time that is left until that task's deadline. It is also set when a
//! fair task is queued while a fair one runs without a timer. When it fires, the running task is
//! charged on every level as at a tick, and a reschedule is requested in any case.
//!
//! This has consequences that may be unexpected, and recorded schedules show them. A task that is
//! picked *again* gets no timer, because the CPU did not switch to it. Only the task's own deadline
//! counts, not the deadlines of its groups. And a timer that runs is not cancelled when the turn
//! ends early, only moved if the next task's end is more than 5 us away from it. So it may fire in
//! another task's turn. A CPU that goes idle cancels it.
//!
//! (The kernel also lengthens the time according to the interrupts that the CPU has recently
//! handled. That is left out: interrupts are no load here.)

use super::EarliestDeadline;
use super::rules;
use crate::classes::deadline::INACTIVE_TIMER;
use crate::classes::{ClassId, Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use schedlab_core::{CpuId, Platform, Question, TimerKey, TimerPhase};

/// The shortest time for which a timer is set, ns.
const SHORTEST_NS: u64 = 10_000;

/// A timer that is set is not moved by less than this, ns.
const SLACK_NS: u64 = 5_000;

/// The timer of a CPU. Keys are small numbers, because the machine reserves a place for each. This
/// one is the zero-lag timer of the CPU's idle thread ([`deadline`](crate::classes::deadline)),
/// which never has one.
fn timer_of(rqs: &Rqs, cpu: CpuId) -> TimerKey {
    TimerKey(INACTIVE_TIMER + 4 * rqs.idle_thread(cpu).0)
}

/// The CPU of a timer, if it is one of these timers.
pub(super) fn cpu_of_timer(rqs: &Rqs, key: TimerKey) -> Option<CpuId> {
    let pid = Pid(key.0 / 4);
    (key.0 % 4 == INACTIVE_TIMER && rqs.is_idle_thread(pid)).then(|| rqs.cpu_of(pid))
}

impl Fair<EarliestDeadline> {
    /// `hrtick_start_fair`, for `pid`, to which its CPU has just switched.
    #[inline]
    pub(super) fn hrtick_start_fair(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if self.features().hrtick {
            let overdue = self.hrtick_start(rqs, platform, pid);
            // The kernel does not yet regard it as the running one.
            let _ = overdue;
        }
    }

    /// Sets the timer of the CPU of `pid` to the end of its request. Returns whether that is past,
    /// so that no timer was set.
    #[inline(never)]
    fn hrtick_start(&mut self, rqs: &Rqs, platform: &mut Platform, pid: Pid) -> bool {
        let cpu = rqs.cpu_of(pid);
        if self.cfs_rqs[CfsRqId::of_cpu(cpu)].h_nr_queued <= 1 {
            return false;
        }
        let entity = &self.se[self.se_of(pid)];
        let left = entity.deadline.since(entity.vruntime);
        if left < 0 {
            return true;
        }
        let at_ns = platform.now_ns() + entity.real_time(left as u64).max(SHORTEST_NS);
        let set = self.rule.hrtick(cpu);
        if set.is_none_or(|set| set.abs_diff(at_ns) > SLACK_NS) {
            *set = Some(at_ns);
            platform.arm_timer(timer_of(rqs, cpu), TimerPhase::BeforeTicks, at_ns);
        }
        false
    }

    /// `hrtick_update`: a fair task was queued on `cpu`.
    #[inline]
    pub(super) fn hrtick_update(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.features().hrtick {
            let curr = rqs.curr(cpu);
            if rqs.thread(curr).class == ClassId::Fair
                && self.rule.hrtick(cpu).is_none()
                && self.hrtick_start(rqs, platform, curr)
            {
                rqs.resched_curr(platform, cpu);
            }
        }
    }

    /// `hrtick_clear`: `cpu` goes idle, and cancels its timer.
    #[inline]
    pub(super) fn hrtick_clear(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.features().hrtick && self.rule.hrtick(cpu).take().is_some() {
            platform.cancel_timer(timer_of(rqs, cpu));
        }
    }

    /// `hrtick`: the timer of `cpu` has fired.
    pub(super) fn hrtick_fires(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.rule.hrtick(cpu).take().is_none() {
            return;
        }
        rqs.act_on(cpu);
        rqs.update_rq_clock(platform, cpu);
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).class != ClassId::Fair {
            return;
        }
        self.tick(rqs, platform, curr);
        platform.by_rule(Question::Preempt, cpu, rules::HRTICK_OVER);
        rqs.resched_curr(platform, cpu);
    }
}

impl EarliestDeadline {
    /// The time for which the timer of `cpu` is set, ns.
    #[inline]
    fn hrtick(&mut self, cpu: CpuId) -> &mut Option<u64> {
        if self.hrtick_set.len() <= cpu.index() {
            self.hrtick_set.resize(cpu.index() + 1, None);
        }
        &mut self.hrtick_set[cpu.index()]
    }
}
