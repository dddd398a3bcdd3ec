//! Which tasks move when CPUs are balanced. ([`crate::classes::load_balance_2_6_22`] decides when,
//! from where and how much.)

use super::prio_array::{self, PrioArray};
use super::task::Pid;
use super::{MAX_PRIO, Staircase};
use crate::classes::load_balance_2_6_22::{Balanced, Domains, Moved, rules};
use schedlab_core::{CpuId, Platform, Question, Rule};

/// The level of the idle task, as if it had nice 0. (It is never compared for preemption, only in
/// `move_tasks`.)
const IDLE_TASK_PRIO: u8 = 120;

/// The state of one call of `move_tasks`: how much may still move, and what has been found.
struct Move {
    /// The rule by which tasks are moved.
    why: Rule,
    to: CpuId,
    from: CpuId,
    tasks_left: u32,
    /// Weight that may still move.
    rem: i64,
    pulled: u32,
    /// No examined task may run on `to`.
    pinned: bool,
    /// The best level on either side. A task that is too heavy may move all the same if it is
    /// better than all tasks of `to`.
    to_best: u8,
    from_best: u8,
    /// Whether one task of the source's best level stays there.
    best_stays: bool,
}

impl Staircase {
    /// Returns the best level of a CPU: of the active array, or an ordinary one of the expired
    /// array.
    fn best_prio(&self, cpu: CpuId) -> u8 {
        let rq = &self.cpus[cpu.index()];
        let active = rq.arrays[usize::from(rq.active)].best_from(0);
        let expired = rq.arrays[usize::from(rq.active ^ 1)].best_from(100);
        active.min(expired)
    }

    /// Implements `can_migrate_task`.
    fn can_migrate(&mut self, p: Pid, go: &mut Move) -> bool {
        let task = &self.tasks[p];
        if !task.allowed.contains(go.to) {
            return false;
        }
        go.pinned = false;
        let source = &self.cpus[go.from.index()];
        let age_ns = source.most_recent_timestamp as i64 - task.last_ran as i64;
        let cache_hot = age_ns < self.cache_hot_time_ns;
        source.curr != Some(p) && (self.domains.takes_cache_hot(go.to) || !cache_hot)
    }

    /// Examines one level of the source, the last task first. Returns whether enough has moved.
    fn move_from_level(
        &mut self,
        platform: &mut Platform,
        go: &mut Move,
        object: u8,
        level: u8,
    ) -> bool {
        let mut at = self.array(go.from, object).tail(level);
        while let Some(p) = at {
            at = prio_array::prev(&self.links, p);
            let weight = i64::from(self.tasks[p].load_weight);
            let mut skip = weight > go.rem;
            if skip && level < go.to_best {
                skip = !go.best_stays && level == go.from_best;
            }
            if skip || !self.can_migrate(p, go) {
                go.best_stays |= level == go.from_best;
                continue;
            }
            self.pull_task(platform, go.why, p, go.from, go.to);
            go.pulled += 1;
            go.rem -= weight;
            if go.pulled == go.tasks_left || go.rem <= 0 {
                return true;
            }
            go.to_best = go.to_best.min(level);
        }
        false
    }

    /// Examines one array object of the source, the best level first.
    fn move_from_array(
        &mut self,
        platform: &mut Platform,
        go: &mut Move,
        object: u8,
        first: u8,
    ) -> bool {
        let mut level = self.array(go.from, object).best_from(first);
        while level < MAX_PRIO {
            if self.move_from_level(platform, go, object, level) {
                return true;
            }
            level = self.array(go.from, object).best_from(level + 1);
        }
        object == 0
            && self.cpus[go.from.index()].nr_idleprio > 0
            && self.move_from_level(platform, go, object, MAX_PRIO)
    }

    /// Implements `pull_task`.
    fn pull_task(&mut self, platform: &mut Platform, why: Rule, p: Pid, from: CpuId, to: CpuId) {
        let this = &*self;
        platform.because(Question::Migrate, to, why, move |evidence| {
            this.pull_terms(p, from, to, evidence);
        });
        let weight = u64::from(self.tasks[p].load_weight);
        self.dequeue_task(from, p);
        self.domains.dec_nr_running(from, weight);
        self.set_task_cpu(platform, p, to);
        self.enqueue_task(to, p);
        self.domains.inc_nr_running(to, weight);
        self.resched_if_preempted(platform, p);
    }

    fn array(&self, cpu: CpuId, object: u8) -> &PrioArray {
        &self.cpus[cpu.index()].arrays[usize::from(object)]
    }

    /// The migration thread of `cpu` has the CPU: it pushes a task to the CPU that requested one,
    /// and sleeps again.
    pub(super) fn migration_thread_runs(&mut self, platform: &mut Platform, cpu: CpuId) {
        if let Some(to) = self.domains.take_push_cpu(cpu)
            && self.domains.load(cpu).nr_running() > 1
        {
            self.move_tasks(
                platform,
                rules::ACTIVE_BALANCE,
                to,
                cpu,
                1,
                self.rr_interval as u64 * 20 * u64::from(MAX_PRIO),
            );
        }
        let thread = self.migration_thread(cpu);
        self.tasks[thread].runnable = false;
        platform.resched(cpu);
    }
}

impl Balanced for Staircase {
    fn domains(&mut self) -> &mut Domains {
        &mut self.domains
    }

    fn move_tasks(
        &mut self,
        platform: &mut Platform,
        why: Rule,
        to: CpuId,
        from: CpuId,
        max_tasks: u32,
        max_load: u64,
    ) -> Moved {
        if max_tasks == 0 || max_load == 0 {
            return Moved { tasks: 0, all_pinned: false };
        }
        let source = &self.cpus[from.index()];
        let running_prio = source.curr.map_or(IDLE_TASK_PRIO, |curr| self.tasks[curr].prio);
        let from_best = self.best_prio(from);
        let mut go = Move {
            why,
            to,
            from,
            tasks_left: max_tasks,
            rem: max_load as i64,
            pulled: 0,
            pinned: true,
            to_best: self.best_prio(to),
            from_best,
            best_stays: from_best == running_prio,
        };
        let active = source.active;
        // First the tasks that wait for the next rotation, because they are the least likely to be
        // cache hot.
        let _ = self.move_from_array(platform, &mut go, active ^ 1, 100)
            || self.move_from_array(platform, &mut go, active, 0);
        Moved { tasks: go.pulled, all_pinned: go.pinned }
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].curr.is_none()
    }

    fn current_may_run_on(&self, busiest: CpuId, cpu: CpuId) -> bool {
        self.cpus[busiest.index()].curr.is_some_and(|curr| self.tasks[curr].allowed.contains(cpu))
    }

    fn wake_migration_thread(&mut self, platform: &mut Platform, cpu: CpuId) {
        let thread = self.migration_thread(cpu);
        self.tasks[thread].runnable = true;
        if !self.tasks[thread].queued {
            self.activate_task(cpu, thread);
            self.resched_if_preempted(platform, thread);
        }
    }
}
