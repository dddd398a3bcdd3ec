//! Which CPU a task goes to when it wakes or is born (6.18).
//!
//! A wakeup first settles on a **target**: where the task last ran, or where its waker runs. Then it looks for somebody idle
//! nearby: the target itself, the last CPU, the one used before that, and then some of those that share the cache, in order
//! from the target on. How many it looks at (`nr_idle_scan`) shrinks as the machine fills up: when all are busy a search would
//! only cost.

use super::entity::NONE;
use super::fair::Fair;
use crate::classes::{Core, Pid};
use crate::{CpuId, CpuSet, Platform, Waker};

/// How much of a second the count of a waker's wakees is kept before it is halved, in seconds.
const FLIPS_HALVED_AFTER_S: u64 = 1;

impl Fair {
    /// Nothing is queued there, or `SCHED_IDLE` tasks only.
    #[inline]
    fn is_free(&self, core: &Core, cpu: CpuId) -> bool {
        self.is_idle_cpu(core, cpu) || self.is_sched_idle_rq(core, cpu)
    }

    /// `select_task_rq_fair` at a wakeup.
    pub(super) fn select_at_wakeup(
        &mut self,
        core: &Core,
        platform: &Platform,
        task: Pid,
        waker: Waker,
    ) -> CpuId {
        let prev = core.cpu_of(task);
        let mut target = prev;
        if let Waker::Task { task: by, .. } = waker {
            self.record_wakee(core, platform, core.pid(by), task);
        }
        if core.thread(task).nr_cpus_allowed == 1 {
            return prev;
        }
        let this = waker.cpu();
        if this != prev && core.is_allowed(task, this) && !self.is_wide(core, task, waker) {
            target = self.wake_affine(core, platform, task, waker, prev);
        }
        self.select_idle_sibling(core, task, prev, target)
    }

    /// `record_wakee`: notes whether the waker wakes another than last time.
    fn record_wakee(&mut self, _core: &Core, platform: &Platform, waker: Pid, wakee: Pid) {
        let row = &mut self.tasks[waker.index()];
        if platform.jiffies() > row.wakee_flip_decay_ts + u64::from(platform.hz()) * FLIPS_HALVED_AFTER_S {
            row.wakee_flips >>= 1;
            row.wakee_flip_decay_ts = platform.jiffies();
        }
        if row.last_wakee != wakee.0 {
            row.last_wakee = wakee.0;
            row.wakee_flips += 1;
        }
    }

    /// `wake_wide`: the waker wakes so many that they cannot all stay near it.
    fn is_wide(&self, core: &Core, task: Pid, waker: Waker) -> bool {
        let Waker::Task { task: by, .. } = waker else {
            return false;
        };
        let flips = |pid: Pid| u64::from(self.tasks[pid.index()].wakee_flips);
        let (a, b) = (flips(core.pid(by)), flips(task));
        let (more, less) = (a.max(b), a.min(b));
        let n = u64::from(self.online);
        less >= n && more >= less * n
    }

    /// `wake_affine`: the waker's CPU or the task's last one.
    fn wake_affine(
        &mut self,
        core: &Core,
        platform: &Platform,
        task: Pid,
        waker: Waker,
        prev: CpuId,
    ) -> CpuId {
        let this = waker.cpu();
        if self.is_idle_cpu(core, this) {
            return if self.is_idle_cpu(core, prev) { prev } else { this };
        }
        if waker.is_sync() && core.nr_running[this.index()] == 1 {
            return this;
        }
        if self.is_idle_cpu(core, prev) {
            return prev;
        }
        let jiffies = platform.jiffies();
        let load = |fair: &Fair, cpu: CpuId| fair.queues[cpu.index()].avg.load_avg as i64;
        let mut this_load = load(self, this);
        if waker.is_sync() {
            let leaves = self.task_h_load(jiffies, core.curr(this)) as i64;
            if leaves > this_load {
                return this;
            }
            this_load -= leaves;
        }
        let moves = self.task_h_load(jiffies, task) as i64;
        let this_load = (this_load + moves) * 100;
        let prev_load = (load(self, prev) - moves) * (100 + (117 - 100) / 2) + i64::from(waker.is_sync());
        if this_load < prev_load { this } else { prev }
    }

    /// `select_idle_sibling`.
    fn select_idle_sibling(&mut self, core: &Core, task: Pid, prev: CpuId, target: CpuId) -> CpuId {
        if self.is_free(core, target) && core.is_allowed(task, target) {
            return target;
        }
        if prev != target && self.is_free(core, prev) && core.is_allowed(task, prev) {
            return prev;
        }
        let row = &mut self.tasks[task.index()];
        let recent = CpuId(core::mem::replace(&mut row.recent_used_cpu, prev.0));
        if recent != prev && recent != target && self.is_free(core, recent) && core.is_allowed(task, recent) {
            return recent;
        }
        self.scan_for_idle(core, task, target).unwrap_or(target)
    }

    /// `select_idle_cpu`: the first free one of the next `nr_idle_scan` allowed CPUs from `target` on, all round.
    pub(super) fn scan_for_idle(&self, core: &Core, task: Pid, target: CpuId) -> Option<CpuId> {
        let looks = self.balance.nr_idle_scan;
        if core.thread(task).nr_cpus_allowed == self.cpus && !self.idle_seen {
            // The same without looking at each: only CPUs with nothing queued can be free.
            let behind = core.vacant(target.0 + 1, self.cpus);
            let before = core.vacant(0, target.0 + 1);
            return behind
                .chain(before)
                .find(|&cpu| core.is_idle_thread(core.curr(cpu)))
                .filter(|cpu| (cpu.0 + self.cpus - target.0 - 1) % self.cpus < looks);
        }
        (1..=self.cpus)
            .map(|offset| CpuId((target.0 + offset) % self.cpus))
            .filter(|&cpu| core.is_allowed(task, cpu))
            .take(looks as usize)
            .find(|&cpu| self.is_free(core, cpu))
    }

    /// `sched_balance_find_dst_cpu`: where a child goes, its parent being on `this`. The parent's CPU if it is idle or nobody is
    /// less loaded by a margin; else an idle CPU, or the one with the least load.
    pub(super) fn select_at_fork(&self, core: &Core, allowed: &CpuSet, this: CpuId) -> CpuId {
        let cpus = || allowed.iter(self.cpus);
        if let Some(cpu) = cpus().find(|&cpu| self.is_sched_idle_rq(core, cpu)) {
            return cpu;
        }
        if allowed.contains(this) && self.is_idle_cpu(core, this) {
            return this;
        }
        if let Some(cpu) = cpus().find(|&cpu| self.is_idle_cpu(core, cpu)) {
            return cpu;
        }
        let load = |cpu: CpuId| self.queues[cpu.index()].avg.load_avg;
        let Some(least) = cpus().min_by_key(|&cpu| (load(cpu), cpu)) else {
            return this;
        };
        // Staying is preferred: within 17 % of a full CPU's load, or of the other's.
        let margin = 17 * 1024 / 100;
        if allowed.contains(this)
            && (load(least) + margin >= load(this) || 117 * load(least) >= 100 * load(this))
        {
            return this;
        }
        least
    }

    /// `set_task_cpu`: `task`, queued nowhere, belongs to `to` from now on. `waking`: it was asleep.
    pub(super) fn set_task_cpu(
        &mut self,
        core: &mut Core,
        platform: &mut Platform,
        task: Pid,
        to: CpuId,
        waking: bool,
    ) {
        if core.cpu_of(task) == to {
            return;
        }
        self.leave_cpu(core, platform.now_ns(), task, waking);
        core.set_cpu(platform, task, to);
        self.came_to_cpu(task, to);
    }

    /// `task` belongs to `to`: so does its place among the queues.
    pub(super) fn came_to_cpu(&mut self, task: Pid, to: CpuId) {
        if self.se_of(task) != NONE {
            self.set_task_rq(task, self.tasks[task.index()].group, to);
        }
    }
}
