//! hrtick: a high-resolution timer that ends a slice exactly, not at the next tick (feature
//! `HRTICK`, off by default in 2.6.28 to 2.6.32).

use super::features::Feature;
use super::{Cfs, rules};
use crate::classes::{ClassId, Pid, Rqs};
use schedlab_core::{CpuId, Platform, Question, TimerKey, TimerPhase};

/// Minimum delay of the timer for a task that has yet to be switched to, ns.
const SHORTEST_NS: i64 = 10_000;

/// Returns the timer of a CPU. (Key 0 belongs to the real-time class, and 0 and 1 modulo 4 to the
/// groups' quotas.)
const fn timer_of(cpu: CpuId) -> TimerKey {
    TimerKey(2 + 4 * cpu.0)
}

impl Cfs {
    /// `hrtick_start_fair`: sets the timer to the end of the slice of `pid`.
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

    /// `hrtick_update`: restarts the timer when a task has been added or removed, which changes the
    /// slices. This happens only while each such event still changes them.
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

    /// `hrtick_clear`: stops the timer in `schedule()`, where the slice is over in any case.
    #[inline]
    pub(super) fn hrtick_clear(&mut self, platform: &mut Platform, cpu: CpuId) {
        if core::mem::take(&mut self.hrtick_active[cpu.index()]) {
            platform.cancel_timer(timer_of(cpu));
        }
    }

    /// `hrtick`: handles the end of the slice.
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
        platform.by_rule(Question::Preempt, cpu, rules::HRTICK_OVER);
        rqs.resched_curr(platform, cpu);
    }

    /// Whether the tick leaves the end of the slice to the timer.
    #[inline]
    pub(super) fn hrtick_replaces_tick(&self, cpu: CpuId) -> bool {
        self.hrtick_active[cpu.index()] && !self.tunables.has(Feature::DoubleTick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::{Version, core_2_6};
    use crate::classes::rt::RtVersion;
    use crate::classes::testing::{Bench, Life};
    use schedlab_core::BuildConfig;
    use schedlab_core::platform::TimerOrder;

    /// The timer is set to the rest of a slice, and to 10 us at least for a task that has yet to be
    /// switched to. A running task that has exceeded its slice is asked to reschedule.
    #[test]
    fn what_is_left_of_a_turn_counts_but_10_us_at_least_for_who_does_not_run_yet() {
        const CPU: CpuId = CpuId(0);
        let config = BuildConfig::flat(1, 1000);
        let mut m = Bench::new(core_2_6(Version::V2_6_32, RtVersion::V2_6_25, &config), 1, 1000);
        let tasks = [0; 2].map(|nice| m.nice(nice, Life::Hog));
        m.reschedule();
        let runs = m.current[0].unwrap();
        let waits = if runs == tasks[0] { tasks[1] } else { tasks[0] };
        for (task, left, armed, asks) in [
            (runs, 4_000, Some(4_000), false),
            (runs, 40_000, Some(40_000), false),
            (runs, -1, None, true),
            (waits, 4_000, Some(10_000), false),
            (waits, 40_000, Some(40_000), false),
            (waits, -1, None, false),
        ] {
            let (fair, rqs) = (&mut m.sched.fair, &mut m.sched.core);
            let e = fair.entity_of(rqs.pid(task));
            let slice = fair.sched_slice(e) as i64;
            fair.entities[e].prev_sum_exec = 0;
            fair.entities[e].sum_exec = (slice - left) as u64;
            m.platform.timer_orders.clear();
            m.platform.clear_resched(CPU);
            rqs.thread_mut(rqs.pid(runs)).need_resched = false;
            fair.hrtick_start(rqs, &mut m.platform, CPU, rqs.pid(task));
            let at = m.platform.timer_orders.iter().find_map(|order| match order {
                TimerOrder::Arm { at_ns, .. } => Some(*at_ns),
                TimerOrder::Cancel { .. } => None,
            });
            let now = m.platform.now_ns();
            assert_eq!(at, armed.map(|ahead: u64| now + ahead), "{left} ns left");
            assert_eq!(m.platform.resched_pending(CPU), asks, "{left} ns left");
        }
    }
}
