//! HRTICK: a high-resolution timer that ends a turn when the request is served, not at the next
//! tick (feature `HRTICK`; on by default from 7.2 on).
//!
//! The timer is set when a CPU switches to another fair task and more than one fair task is queued
//! there. It is set to the real time that is left until that task's deadline. It is set again when
//! a fair task is queued or dequeued while a fair one runs. `schedule()` cancels it. When it fires,
//! the running task is charged on every level, and a reschedule is requested in any case.
//!
//! This has two consequences that may be unexpected, and recorded schedules of 7.3 show both. A
//! task that is picked *again* has no timer, because the CPU did not switch to it. So its next turn
//! ends at the tick, and the turns after that have the length of a tick, too, until a task wakes.
//! And only the task's own deadline counts, not the deadlines of its groups.
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
    /// `hrtick_start_fair`: sets the timer of the CPU of `pid`, which runs or is about to run, to
    /// its deadline.
    #[inline]
    pub(super) fn hrtick_start_fair(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        if self.features().hrtick {
            self.hrtick_start(rqs, platform, pid);
        }
    }

    #[inline(never)]
    fn hrtick_start(&mut self, rqs: &mut Rqs, platform: &mut Platform, pid: Pid) {
        let cpu = rqs.cpu_of(pid);
        if self.cfs_rqs[CfsRqId::of_cpu(cpu)].h_nr_queued <= 1 {
            return;
        }
        let entity = &self.se[self.se_of(pid)];
        let left = entity.deadline.since(entity.vruntime);
        if left < 0 {
            if rqs.curr(cpu) == pid {
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        let left_ns = entity.real_time(left as u64).max(SHORTEST_NS);
        self.rule.set_hrtick(cpu, true);
        let key = timer_of(rqs, cpu);
        platform.arm_timer(key, TimerPhase::BeforeTicks, platform.now_ns() + left_ns);
    }

    /// `hrtick_update`: a fair task was queued on `cpu` or dequeued.
    #[inline]
    pub(super) fn hrtick_update(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.features().hrtick {
            let curr = rqs.curr(cpu);
            if rqs.thread(curr).class == ClassId::Fair {
                self.hrtick_start(rqs, platform, curr);
            }
        }
    }

    /// `hrtick_clear`: cancels the timer in `schedule()`, where the turn ends in any case.
    #[inline]
    pub(super) fn hrtick_clear(&mut self, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        if self.rule.set_hrtick(cpu, false) {
            platform.cancel_timer(timer_of(rqs, cpu));
        }
    }

    /// `hrtick`: the timer of `cpu` has fired.
    pub(super) fn hrtick_fires(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if !self.rule.set_hrtick(cpu, false) {
            return;
        }
        rqs.act_on(cpu);
        rqs.update_rq_clock(platform, cpu);
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).class != ClassId::Fair {
            return;
        }
        self.charge_task(rqs, platform, curr);
        platform.by_rule(Question::Preempt, cpu, rules::HRTICK_OVER);
        rqs.resched_curr(platform, cpu);
    }
}

impl EarliestDeadline {
    /// Records whether the timer of `cpu` is set. Returns whether it was set before.
    #[inline]
    fn set_hrtick(&mut self, cpu: CpuId, set: bool) -> bool {
        if self.hrtick_set.len() <= cpu.index() {
            if !set {
                return false;
            }
            self.hrtick_set.resize(cpu.index() + 1, false);
        }
        core::mem::replace(&mut self.hrtick_set[cpu.index()], set)
    }
}
