//! hrtick: a timer of high resolution that ends a turn where it should end, not at the next tick
//! (feature `HRTICK`, off by default in 2.6.28 to 2.6.32).

use super::features::Feature;
use super::{Cfs, reasons};
use crate::classes::{ClassId, Pid, Rqs};
use schedlab_core::{CpuId, Platform, Question, TimerKey, TimerPhase};

/// No timer for a task that is yet to be switched to is set shorter than this, ns.
const SHORTEST_NS: i64 = 10_000;

/// The timer of a CPU. (Key 0 is the real-time class's, and 0 and 1 modulo 4 are the groups'
/// quotas'.)
const fn timer_of(cpu: CpuId) -> TimerKey {
    TimerKey(2 + 4 * cpu.0)
}

impl Cfs {
    /// `hrtick_start_fair`: sets the timer to the end of the turn of `pid`.
    #[inline]
    pub(super) fn hrtick_start_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
        pid: Pid,
    ) {
        if self.tunables.has(Feature::HrTick) {
            self.hrtick_start(rqs, platform, cpu, pid);
        }
    }

    fn hrtick_start(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId, pid: Pid) {
        let e = self.entity_of(pid);
        if self.queues[self.entities[e].cfs_rq].nr_running < 2 {
            return;
        }
        let slice = self.sched_slice(e);
        let entity = &self.entities[e];
        let mut left = slice as i64 - (entity.sum_exec - entity.prev_sum_exec) as i64;
        let runs = rqs.curr(cpu) == pid;
        if left < 0 {
            if runs {
                rqs.resched_curr(platform, cpu);
            }
            return;
        }
        if !runs {
            left = left.max(SHORTEST_NS);
        }
        self.hrtick_active[cpu.index()] = true;
        platform.arm_timer(timer_of(cpu), TimerPhase::BeforeTicks, platform.now_ns() + left as u64);
    }

    /// `hrtick_update`: a task came or went, so that turns have another length. Only while each
    /// still changes them.
    #[inline]
    pub(super) fn hrtick_update(&mut self, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        if !self.tunables.has(Feature::HrTick) {
            return;
        }
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).class != ClassId::Fair {
            return;
        }
        let q = self.entities[self.entity_of(curr)].cfs_rq;
        if u64::from(self.queues[q].nr_running) < self.tunables.nr_latency {
            self.hrtick_start(rqs, platform, cpu, curr);
        }
    }

    /// `hrtick_clear`: in `schedule()`, the turn is over anyway.
    #[inline]
    pub(super) fn hrtick_clear(&mut self, platform: &mut Platform, cpu: CpuId) {
        if core::mem::take(&mut self.hrtick_active[cpu.index()]) {
            platform.cancel_timer(timer_of(cpu));
        }
    }

    /// `hrtick`: the turn is over.
    pub(super) fn hrtick(&mut self, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) {
        let cpu = CpuId(key.0 / 4);
        if !core::mem::take(&mut self.hrtick_active[cpu.index()]) {
            return;
        }
        rqs.act_on(cpu);
        rqs.update_rq_clock(platform, cpu);
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).class != ClassId::Fair {
            return;
        }
        let mut level = Some(self.entity_of(curr));
        while let Some(e) = level {
            self.update_curr(rqs, platform, self.entities[e].cfs_rq);
            level = self.entities[e].parent;
        }
        platform.by_rule(Question::Preempt, cpu, reasons::HRTICK_OVER);
        rqs.resched_curr(platform, cpu);
    }

    /// Whether the tick leaves the end of the turn to the timer.
    #[inline]
    pub(super) fn hrtick_replaces_tick(&self, cpu: CpuId) -> bool {
        self.hrtick_active[cpu.index()] && !self.tunables.has(Feature::DoubleTick)
    }
}
