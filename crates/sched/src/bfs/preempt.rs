//! Who is interrupted for a task that becomes runnable, and which tasks stick to their CPU.

use super::queue::MAX_RT_PRIO;
use super::{Bfs, Version};
use crate::{CpuId, CpuSet, Platform, Policy, TaskId};

impl Bfs {
    /// `try_preempt`: an idle CPU for `task`; without one, the CPU whose running task is the least entitled, if that is less
    /// than `task` is. What is asked for is only a reschedule: it will take the earliest deadline there is, whosever that is.
    pub(super) fn try_preempt(&mut self, platform: &mut Platform, task: TaskId) {
        self.tasks[task].sticky = false;
        if self.resched_suitable_idle(platform, task) {
            return;
        }
        match self.version {
            Version::V0_316 => self.preempt_by_offset(platform, task),
            Version::V0_404 => self.preempt_latest(platform, task),
        }
    }

    /// Asks an idle CPU for a reschedule, if there is one for `task`: its last one if it can be. Only a reschedule takes a CPU
    /// out of the map, so several tasks that wake in one instant may all ask the same one.
    pub(super) fn resched_suitable_idle(&self, platform: &mut Platform, task: TaskId) -> bool {
        let row = &self.tasks[task];
        let idle = if self.idle_map.contains(row.cpu) && row.allowed.contains(row.cpu) {
            Some(row.cpu)
        } else {
            match self.version {
                // From its last CPU upwards, and round.
                Version::V0_316 => self
                    .idle_map
                    .first_from(row.cpu.0, &row.allowed)
                    .or_else(|| self.idle_map.first(&row.allowed)),
                Version::V0_404 => self.idle_map.first(&row.allowed),
            }
        };
        if let Some(cpu) = idle {
            platform.resched(cpu);
        }
        idle.is_some()
    }

    /// 0.404: the worst level, among equals the latest deadline, the lowest CPU among equals again.
    fn preempt_latest(&self, platform: &mut Platform, task: TaskId) {
        let row = &self.tasks[task];
        if row.policy == Policy::Idle {
            return;
        }
        let mut latest = None;
        for (number, running) in self.running.iter().enumerate() {
            let key = (running.rq_prio, running.rq_deadline);
            if latest.is_none_or(|(_, most)| key > most) && row.allowed.contains(CpuId(number as u32)) {
                latest = Some((CpuId(number as u32), key));
            }
        }
        // Of equal levels, also real-time ones, whose deadlines mean nothing, the earlier deadline wins.
        if let Some((cpu, key)) = latest
            && (row.prio, row.deadline) < key
        {
            platform.resched(cpu);
        }
    }

    /// 0.316: as above, but a running task's deadline counts as earlier by what it would cost `task` to come there, and its
    /// own last CPU wins ties.
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
            && (row.prio < prio || row.prio == prio && (row.policy != Policy::Other || row.deadline < offset))
        {
            platform.resched(cpu);
        }
    }

    /// 0.404: `task` is put away by `cpu` although it wants to run: it becomes the CPU's sticky task, whose deadline others see
    /// later by the longest distance. The one that was sticky so far, if it still waits, is anybody's now.
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

    /// Asks the lowest-numbered idle CPU that `task` may use. (Not the one that is putting it away: that one does not idle.)
    fn resched_closest_idle(&self, platform: &mut Platform, task: TaskId) {
        if let Some(cpu) = self.idle_map.first(&self.tasks[task].allowed) {
            platform.resched(cpu);
        }
    }

    /// The lowest CPU in `allowed`.
    pub(super) fn first_allowed(&self, allowed: &CpuSet) -> CpuId {
        allowed.first(self.cpus.len() as u32).unwrap_or(CpuId(0))
    }
}
