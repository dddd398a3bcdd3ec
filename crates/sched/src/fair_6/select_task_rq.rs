//! Which CPU a task goes to when it wakes (6.18).
//!
//! A wakeup first settles on a **target**: the CPU on which the task last ran, or the one on which
//! its waker runs. Then it searches for an idle CPU that shares the target's cache: the target
//! itself, the last CPU, the one used before that, and then some of the others in order from the
//! target on. The number of CPUs that it examines (`nr_idle_scan`) shrinks as the machine fills up,
//! because a search costs time and is useless when all CPUs are busy.
//!
//! Where cores have threads, a core that is idle altogether is better than an idle thread whose
//! sibling is busy. As long as such a core may exist, it is searched for, however long that takes.
//! A failed search clears the mark (`has_idle_cores`) until a core goes idle again. Without the
//! mark an idle thread of the last CPU's core is good enough.

use super::class::Fair;
use super::domains::round;
use super::ids::CfsRqId;
use super::lb_stats::is_idle_cpu;
use super::pick_rule::PickRule;
use super::rule_state::{FairTunables as _, FairVersion as _};
use super::rules;
use crate::classes::{Pid, Rqs};
use schedlab_core::{CpuId, Platform, Policy, Rule, Waker};

/// Time after which the count of a waker's wakees is halved, s.
const FLIPS_HALVED_AFTER_S: u64 = 1;

/// `SIS_PROP`: number of CPUs to examine of `cpus`, given the average idle time of the waker's CPU.
/// A look costs nothing here.
fn sis_prop(cpus: u64, avg_idle_ns: u64) -> u64 {
    (cpus * (avg_idle_ns / 512)).max(4)
}

/// The smallest domain of `this` with affine wakeups that contains `prev`, too.
fn affine_level(rqs: &Rqs, this: CpuId, prev: CpuId) -> Option<usize> {
    let suits = |&level: &usize| {
        let domain = rqs.domains.level(level);
        domain.params.wake_affine && domain.share(this, prev)
    };
    rqs.domains.of(this).find(suits)
}

impl<R: PickRule> Fair<R> {
    /// Whether nothing is queued there, or only `SCHED_IDLE` tasks, which `task` pushes aside.
    #[inline]
    fn is_free(&self, rqs: &Rqs, task: Pid, cpu: CpuId) -> bool {
        is_idle_cpu(rqs, cpu)
            || (self.version.searches_sched_idle()
                && self.is_sched_idle_rq(rqs, cpu)
                && self.pushes_idle_aside(rqs.thread(task).policy))
    }

    /// Whether a CPU with only `SCHED_IDLE` tasks counts as free for a task of this policy.
    #[inline]
    pub(super) fn pushes_idle_aside(&self, policy: Policy) -> bool {
        policy != Policy::Idle || self.version.idle_tasks_join_idle_tasks()
    }

    /// `select_task_rq_fair` at a wakeup.
    pub(super) fn select_task_rq(
        &mut self,
        rqs: &Rqs,
        platform: &mut Platform,
        task: Pid,
        waker: Waker,
    ) -> CpuId {
        let prev = rqs.cpu_of(task);
        let mut target = (prev, rules::PREV_CPU);
        if rqs.thread(task).nr_cpus_allowed == 1 {
            let only = rqs.settings[task.index()].allowed.first(self.cpus).unwrap_or(prev);
            return self.selects(rqs, platform, task, (only, rules::PINNED));
        }
        let this = waker.cpu();
        // The task that runs there acts as the waker, even if it is the idle task that a timer
        // interrupted.
        let by = match waker {
            Waker::Task { task, .. } => rqs.pid(task),
            Waker::Interrupt { cpu } | Waker::Process { cpu } => rqs.curr(cpu),
        };
        self.record_wakee(platform, by, task);
        let is_wide = self.is_wide(rqs, by, task, this);
        if this != prev
            && rqs.is_allowed(task, this)
            && !is_wide
            && let Some(level) = affine_level(rqs, this, prev)
        {
            target = self.wake_affine(rqs, platform, task, waker, prev, level);
        }
        let chosen = self.select_idle_sibling(rqs, task, prev, target, this);
        if self.version.scans_by_idle_time()
            && !is_wide
            && rqs.is_allowed(task, this)
            && let Some(e) = self.entity_of(by)
        {
            self.info[e].recent_used_cpu = this;
        }
        self.selects(rqs, platform, task, chosen)
    }

    /// `record_wakee`: records whether the waker wakes another task than last time.
    fn record_wakee(&mut self, platform: &Platform, waker: Pid, wakee: Pid) {
        let row = &mut self.tasks[waker.index()];
        if platform.jiffies()
            > row.wakee_flip_decay_ts + u64::from(platform.hz()) * FLIPS_HALVED_AFTER_S
        {
            row.wakee_flips >>= 1;
            row.wakee_flip_decay_ts = platform.jiffies();
        }
        if row.last_wakee != Some(wakee) {
            row.last_wakee = Some(wakee);
            row.wakee_flips += 1;
        }
    }

    /// `wake_wide`: whether `waker`, on `cpu`, wakes too many tasks for all of them to stay near
    /// it.
    fn is_wide(&self, rqs: &Rqs, waker: Pid, wakee: Pid, cpu: CpuId) -> bool {
        let flips = |pid: Pid| u64::from(self.tasks[pid.index()].wakee_flips);
        let (a, b) = (flips(waker), flips(wakee));
        let (more, less) = (a.max(b), a.min(b));
        let n = u64::from(self.caches.llc_size(&rqs.domains, cpu));
        less >= n && more >= less * n
    }

    /// `wake_affine`: the waker's CPU or the task's last one, which are in one domain of this
    /// level; and the rule that decided.
    fn wake_affine(
        &mut self,
        rqs: &Rqs,
        platform: &Platform,
        task: Pid,
        waker: Waker,
        prev: CpuId,
        level: usize,
    ) -> (CpuId, Rule) {
        let this = waker.cpu();
        let stays = (prev, rules::PREV_CPU);
        let features = self.tunables.wakeups();
        if features.wa_idle
            && let Some(chosen) = self.wake_affine_idle(rqs, waker, prev)
        {
            return chosen;
        }
        if !features.wa_weight {
            return stays;
        }
        let jiffies = platform.jiffies();
        let load = |fair: &Fair<R>, cpu: CpuId| fair.cpu_load(cpu) as i64;
        let mut this_load = load(self, this);
        if waker.is_sync() {
            let leaves = self.task_h_load(jiffies, rqs.curr(this)) as i64;
            if leaves > this_load {
                return (this, rules::WAKER_SYNC);
            }
            this_load -= leaves;
        }
        let pct = i64::from(rqs.domains.level(level).params.imbalance_pct);
        let moves = self.task_h_load(jiffies, task) as i64;
        let capacity = |cpu: CpuId| self.capacity.of(cpu) as i64;
        let this_load = (this_load + moves) * 100 * capacity(prev);
        let prev_load = (load(self, prev) - moves) * (100 + (pct - 100) / 2) * capacity(this)
            + i64::from(waker.is_sync() || self.version.idle_wakers_attract());
        if this_load < prev_load { (this, rules::WAKER_LOAD) } else { stays }
    }

    /// `wake_affine_idle`: the CPU, if an idle CPU settles the question, or a waker that leaves.
    fn wake_affine_idle(&self, rqs: &Rqs, waker: Waker, prev: CpuId) -> Option<(CpuId, Rule)> {
        let this = waker.cpu();
        let stays = (prev, rules::PREV_CPU);
        if self.version.idle_wakers_attract() {
            if is_idle_cpu(rqs, this) {
                return Some((this, rules::WAKER_IDLE));
            }
        } else if is_idle_cpu(rqs, this) && self.caches.share_cache(this, prev) {
            return Some(if is_idle_cpu(rqs, prev) { stays } else { (this, rules::WAKER_IDLE) });
        }
        let queue = &self.cfs_rqs[CfsRqId::of_cpu(this)];
        let delayed = match self.version.delayed_tasks_hold_waker() {
            true => 0,
            false => queue.h_nr_queued - queue.h_nr_runnable,
        };
        if waker.is_sync() && rqs.nr_running[this.index()] - delayed == 1 {
            return Some((this, rules::WAKER_SYNC));
        }
        // (Since 5.5.)
        (is_idle_cpu(rqs, prev) && !self.version.balances_by_load()).then_some(stays)
    }

    /// `select_idle_sibling`: `target`, which rule `by` chose, or a free CPU near it; and the rule
    /// that decided.
    fn select_idle_sibling(
        &mut self,
        rqs: &Rqs,
        task: Pid,
        prev: CpuId,
        (target, by): (CpuId, Rule),
        this: CpuId,
    ) -> (CpuId, Rule) {
        let suits = |fair: &Fair<R>, cpu: CpuId| {
            fair.caches.share_cache(cpu, target)
                && fair.is_free(rqs, task, cpu)
                && rqs.is_allowed(task, cpu)
        };
        // Affinity is not tested for these two: the core does so afterwards.
        if self.is_free(rqs, task, target) {
            return (target, by);
        }
        if prev != target && self.caches.share_cache(prev, target) && self.is_free(rqs, task, prev)
        {
            return (prev, rules::PREV_CPU);
        }
        let e = self.se_of(task);
        let recent = self.info[e].recent_used_cpu;
        let takes_recent = self.version.tries_recent_cpu()
            && recent != prev
            && recent != target
            && suits(self, recent);
        if takes_recent || !self.version.scans_by_idle_time() {
            self.info[e].recent_used_cpu = prev;
        }
        if takes_recent {
            return (recent, rules::RECENT_CPU);
        }
        if self.version.balances_by_load() {
            let found = self.select_idle_of_5_4(rqs, task, target, this);
            return found.unwrap_or((target, rules::SCAN_LIMIT));
        }
        if self.version.scans_by_idle_time() {
            let found = self.select_idle_of_5_10(rqs, task, target, this);
            return found.unwrap_or((target, rules::SCAN_LIMIT));
        }
        let has_idle_cores =
            self.caches.has_smt() && self.caches.has_idle_cores[self.caches.llc_id(target)];
        if !has_idle_cores && self.caches.share_cache(prev, target) {
            let threads = self.caches.threads(&rqs.domains, prev);
            if let Some(&thread) = threads.iter().find(|&&cpu| cpu != prev && suits(self, cpu)) {
                return (thread, rules::IDLE_SMT);
            }
        }
        let found = match has_idle_cores {
            true => self.scan_for_idle_core(rqs, task, target),
            false => {
                let found = self.scan_for_idle(rqs, task, target, this);
                found.map(|cpu| (cpu, rules::IDLE_SIBLING))
            }
        };
        found.unwrap_or((target, rules::SCAN_LIMIT))
    }

    /// `select_idle_cpu`: the first free CPU among the next `nr_idle_scan` allowed CPUs of the
    /// target's cache, from the target on and around.
    pub(super) fn scan_for_idle(
        &self,
        rqs: &Rqs,
        task: Pid,
        target: CpuId,
        this: CpuId,
    ) -> Option<CpuId> {
        let features = self.tunables.wakeups();
        let cpus = &rqs.domains.level(self.caches.llc_level(target)?).span(target).cpus;
        let looks = if features.sis_util {
            self.balance.nr_idle_scan[self.caches.llc_id(target)]
        } else if features.sis_prop {
            sis_prop(cpus.len() as u64, self.balance.avg_idle_ns[this.index()]) as u32
        } else {
            u32::MAX
        };
        if cpus.len() == self.cpus as usize
            && rqs.thread(task).nr_cpus_allowed == self.cpus
            && !self.idle_seen
        {
            // The same result without examining each CPU: only CPUs with nothing queued can be
            // free.
            let behind = rqs.vacant(target.0 + 1, self.cpus);
            let before = rqs.vacant(0, target.0 + 1);
            return behind
                .chain(before)
                .find(|&cpu| rqs.is_idle_thread(rqs.curr(cpu)))
                .filter(|cpu| (cpu.0 + self.cpus - target.0 - 1) % self.cpus < looks);
        }
        let allowed = &rqs.settings[task.index()].allowed;
        round(cpus, target, allowed).take(looks as usize).find(|&cpu| self.is_free(rqs, task, cpu))
    }

    /// `select_idle_cpu` while there may be an idle core: the first idle core, from the target on
    /// and around, else the first free CPU that was met. If there is none, or the machine is too
    /// busy for a search: as in [`Fair::scan_for_idle`].
    fn scan_for_idle_core(&mut self, rqs: &Rqs, task: Pid, target: CpuId) -> Option<(CpuId, Rule)> {
        let llc = self.caches.llc_id(target);
        if self.tunables.wakeups().sis_util && self.balance.nr_idle_scan[llc] == 0 {
            return None;
        }
        let cpus = &rqs.domains.level(self.caches.llc_level(target)?).span(target).cpus;
        let allowed = &rqs.settings[task.index()].allowed;
        let mut free = None;
        for cpu in round(cpus, target, allowed) {
            let threads = self.caches.threads(&rqs.domains, cpu);
            if is_idle_cpu(rqs, cpu) && self.is_core_idle(rqs, cpu) {
                return Some((cpu, rules::IDLE_CORE));
            }
            if free.is_none() {
                let own = [cpu];
                let threads = if threads.is_empty() { &own } else { threads };
                let mut may = threads.iter().copied().filter(|&thread| allowed.contains(thread));
                free = may.find(|&thread| self.is_free(rqs, task, thread));
            }
        }
        self.caches.has_idle_cores[llc] = false;
        free.map(|cpu| (cpu, rules::IDLE_SIBLING))
    }

    /// 5.10: an idle core near `target`; else a free CPU among the next ones, from the target on
    /// and around, as many as the average idle time of the waker's CPU `this` pays for; else a free
    /// thread of the target's core.
    fn select_idle_of_5_10(
        &mut self,
        rqs: &Rqs,
        task: Pid,
        target: CpuId,
        this: CpuId,
    ) -> Option<(CpuId, Rule)> {
        let cpus = &rqs.domains.level(self.caches.llc_level(target)?).span(target).cpus;
        let allowed = &rqs.settings[task.index()].allowed;
        let (before, behind) = cpus.split_at(cpus.partition_point(|&cpu| cpu < target));
        let around = || behind.iter().chain(before).copied().filter(|&cpu| allowed.contains(cpu));
        let llc = self.caches.llc_id(target);
        if self.caches.has_smt() && self.caches.has_idle_cores[llc] {
            let idle = |cpu: &CpuId| is_idle_cpu(rqs, *cpu) && self.is_core_idle(rqs, *cpu);
            if let Some(cpu) = around().find(idle) {
                return Some((cpu, rules::IDLE_CORE));
            }
            self.caches.has_idle_cores[llc] = false;
        }
        let looks = sis_prop(cpus.len() as u64, self.balance.avg_idle_ns[this.index()]);
        let free = |cpu: &CpuId| self.is_free(rqs, task, *cpu);
        if let Some(cpu) = around().take(looks as usize).find(free) {
            return Some((cpu, rules::IDLE_SIBLING));
        }
        let threads = self.caches.threads(&rqs.domains, target);
        let thread = threads.iter().copied().find(|cpu| allowed.contains(*cpu) && free(cpu));
        thread.map(|cpu| (cpu, rules::IDLE_SMT))
    }

    /// `set_task_cpu`: moves `task`, which is not queued, to CPU `to`. `waking`: it was asleep.
    pub(super) fn move_to_cpu(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        to: CpuId,
        waking: bool,
    ) {
        if rqs.cpu_of(task) == to {
            return;
        }
        self.leave_cpu(rqs, platform.now_ns(), task, waking);
        rqs.set_cpu(platform, task, to);
        self.follow_to_cpu(task, to);
    }

    /// Moves the entity of `task` to the queue of its group on CPU `to`.
    pub(super) fn follow_to_cpu(&mut self, task: Pid, to: CpuId) {
        if self.entity_of(task).is_some() {
            self.set_task_rq(task, self.group_of(task), to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sis_prop;

    #[test]
    fn idle_time_pays_for_looks_but_four_are_free() {
        assert_eq!(sis_prop(8, 2_000), 24);
        assert_eq!(sis_prop(8, 1_000), 8);
        assert_eq!(sis_prop(8, 511), 4);
    }
}
