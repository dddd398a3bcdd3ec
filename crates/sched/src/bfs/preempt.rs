//! Wakeup preemption (which CPU reschedules for a task that becomes runnable) and sticky tasks.

use super::grq::MAX_RT_PRIO;
use super::releases::Affinity;
use super::{Bfs, rules};
use schedlab_core::{CpuId, CpuSet, Platform, Policy, Question, Rule, TaskId};

impl Bfs {
    /// `try_preempt`: asks an idle CPU to reschedule for `task`. If there is none, asks the CPU
    /// whose running task is the least entitled, if it is less entitled than `task`. The reschedule
    /// then takes the task with the earliest deadline, which may be another one.
    pub(super) fn try_preempt(&mut self, platform: &mut Platform, task: TaskId) {
        self.tasks[task].sticky = false;
        if self.resched_suitable_idle(platform, task) {
            return;
        }
        platform.work.queues += self.running.len() as u64;
        match self.version.affinity {
            Affinity::CacheDistance => self.preempt_by_offset(platform, task),
            Affinity::Sticky => self.preempt_latest(platform, task),
        }
    }

    /// Asks an idle CPU to reschedule, if there is one for `task`: its last one if that is idle.
    /// Only a reschedule removes a CPU from the idle map, so several tasks that wake at the same
    /// instant may all ask the same one. Returns whether there was one.
    pub(super) fn resched_suitable_idle(&self, platform: &mut Platform, task: TaskId) -> bool {
        let row = &self.tasks[task];
        let from = if self.version.searches_from_last_cpu { row.cpu } else { CpuId(0) };
        let (idle, rule) = if self.idle_map.contains(row.cpu) && row.allowed.contains(row.cpu) {
            (Some(row.cpu), rules::LAST_CPU_IDLE)
        } else {
            (self.nearest_idle(row.cpu, from, &row.allowed), rules::NEAREST_IDLE)
        };
        if let Some(cpu) = idle {
            platform.by_rule(Question::Preempt, cpu, rule);
            platform.resched(cpu);
        }
        idle.is_some()
    }

    /// 0.404: preempts at the worst level; among equals at the latest deadline; among equals again
    /// on the lowest CPU.
    fn preempt_latest(&self, platform: &mut Platform, task: TaskId) {
        let row = &self.tasks[task];
        if row.policy == Policy::Idle {
            platform.by_rule(Question::Preempt, row.cpu, rules::IDLE_POLICY);
            return;
        }
        let mut latest = None;
        for (number, running) in self.running.iter().enumerate() {
            let key = (running.rq_prio, running.rq_deadline);
            if latest.is_none_or(|(_, most)| key > most)
                && row.allowed.contains(CpuId(number as u32))
            {
                latest = Some((CpuId(number as u32), key));
            }
        }
        // On equal levels the earlier deadline wins, even on real-time levels, where deadlines have
        // no meaning.
        if let Some((cpu, key)) = latest
            && (row.prio, row.deadline) < key
        {
            self.explain_preempt(platform, task, cpu, rules::LATEST_DEADLINE);
            platform.resched(cpu);
        } else {
            let cpu = latest.map_or(row.cpu, |(cpu, _)| cpu);
            self.explain_preempt(platform, task, cpu, rules::NOT_EARLIER);
        }
    }

    /// Records the rule by which `task` preempts the running task of `cpu`, or does not, with the
    /// terms that were compared.
    #[inline]
    fn explain_preempt(&self, platform: &mut Platform, task: TaskId, cpu: CpuId, rule: Rule) {
        platform.because(Question::Preempt, cpu, rule, move |evidence| {
            let (row, running) = (&self.tasks[task], &self.running[cpu.index()]);
            evidence.term("prio", row.prio.into()).term("deadline", row.deadline);
            evidence.term("rq_prio", running.rq_prio.into());
            evidence.term("rq_deadline", running.rq_deadline);
            if self.version.affinity == Affinity::CacheDistance {
                evidence.term("cache_distance_jiffies", self.cache_distance(task, cpu));
            }
        });
    }

    /// 0.316: does the same as [`preempt_latest`](Bfs::preempt_latest), but a running task's
    /// deadline counts as earlier by the cache distance of `task` to that CPU, and its own last CPU
    /// wins ties.
    fn preempt_by_offset(&self, platform: &mut Platform, task: TaskId) {
        let row = &self.tasks[task];
        let mut latest: Option<(CpuId, (u8, i64))> = None;
        for (number, running) in self.running.iter().enumerate() {
            let cpu = CpuId(number as u32);
            if !row.allowed.contains(cpu) {
                continue;
            }
            let key = (running.rq_prio, running.rq_deadline - self.cache_distance(task, cpu));
            if latest.is_none_or(|(_, most)| key > most || key == most && cpu == row.cpu) {
                latest = Some((cpu, key));
            }
        }
        if let Some((cpu, (prio, offset))) = latest
            && (row.prio < prio
                || row.prio == prio && (row.policy != Policy::Other || row.deadline < offset))
        {
            self.explain_preempt(platform, task, cpu, rules::LATEST_DEADLINE);
            platform.resched(cpu);
        } else {
            let cpu = latest.map_or(row.cpu, |(cpu, _)| cpu);
            self.explain_preempt(platform, task, cpu, rules::NOT_EARLIER);
        }
    }

    /// 0.404: `cpu` switches away from `task` although it is runnable. The task becomes the CPU's
    /// sticky task, whose deadline other CPUs see later by the longest distance. The former sticky
    /// task, if it still waits, is no longer sticky.
    pub(super) fn swap_sticky(&mut self, platform: &mut Platform, cpu: CpuId, task: TaskId) {
        let former = self.cpus[cpu.index()].sticky_task;
        if former == Some(task) {
            self.tasks[task].sticky = true;
            return;
        }
        if let Some(former) = former
            && self.tasks[former].sticky
        {
            self.tasks[former].sticky = false;
            self.resched_closest_idle(platform, former);
        }
        if self.tasks[task].prio < MAX_RT_PRIO {
            self.resched_closest_idle(platform, task);
            self.cpus[cpu.index()].sticky_task = None;
        } else {
            self.tasks[task].sticky = true;
            self.cpus[cpu.index()].sticky_task = Some(task);
        }
    }

    /// Asks the nearest idle CPU that `task` may use to reschedule. (It is never the CPU that
    /// switches away from the task, which is not idle.)
    fn resched_closest_idle(&self, platform: &mut Platform, task: TaskId) {
        let row = &self.tasks[task];
        if let Some(cpu) = self.nearest_idle(row.cpu, CpuId(0), &row.allowed) {
            platform.by_rule(Question::Preempt, cpu, rules::NEAREST_IDLE);
            platform.resched(cpu);
        }
    }

    /// Returns the idle CPU in `allowed` that is nearest to `cpu`. Among equals the first, counting
    /// upwards from `from` and around.
    fn nearest_idle(&self, cpu: CpuId, from: CpuId, allowed: &CpuSet) -> Option<CpuId> {
        let round = || {
            let upwards = self.idle_map.first_from(from.0, allowed);
            upwards.or_else(|| self.idle_map.first(allowed))
        };
        if self.locality.is_flat() {
            return round();
        }
        let first = round()?;
        let mut nearest = (self.locality.rank(cpu, first, &self.idle_map), first);
        let mut at = first;
        loop {
            let upwards = self.idle_map.first_from(at.0 + 1, allowed);
            match upwards.or_else(|| self.idle_map.first(allowed)) {
                Some(next) if next != first => at = next,
                _ => return Some(nearest.1),
            }
            let rank = self.locality.rank(cpu, at, &self.idle_map);
            if rank < nearest.0 {
                nearest = (rank, at);
            }
        }
    }

    /// Returns the lowest CPU in `allowed`.
    pub(super) fn first_allowed(&self, allowed: &CpuSet) -> CpuId {
        allowed.first(self.cpus.len() as u32).unwrap_or(CpuId(0))
    }
}
