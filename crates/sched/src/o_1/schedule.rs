//! `schedule()`: switch away from the current task (`prev`), pick the next one.

use super::releases::Balancing;
use super::task::{Activated, Pid, State, Tasks};
use super::{O1, rules};
use crate::classes::load_balance_2_6_22;
use schedlab_core::{CpuId, Platform, Question, Rule};

impl O1 {
    /// Calls `schedule()` on `cpu` until it picks something other than the CPU's migration thread,
    /// which does its work in no time and sleeps again.
    pub(super) fn schedule_cpu(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        loop {
            let next = self.schedule_once(platform, cpu)?;
            if next != Tasks::migration_thread(cpu) {
                return Some(next);
            }
            self.run_migration_thread(platform, cpu);
            self.tasks[next].state = State::Interruptible;
        }
    }

    fn schedule_once(&mut self, platform: &mut Platform, cpu: CpuId) -> Option<Pid> {
        let now = platform.now_ns();
        platform.work.clock_reads += 1;
        let prev = self.rqs[cpu.index()].curr;
        let mut run_time = 0;
        if let Some(prev) = prev {
            run_time = self.params.run_time(&self.tasks[prev], now);
            if self.tasks[prev].state != State::Running {
                self.deactivate_task(prev);
                platform.work.dequeues += 1;
            }
        }
        let next = self.pick_next(platform, cpu, now);
        // This reschedule also serves a request that was made since it began (by a pull, while
        // `prev` was still current).
        platform.clear_resched(cpu);
        if let Some(prev) = prev {
            let prev = &mut self.tasks[prev];
            self.params.charge(prev, run_time);
            prev.timestamp = now;
            prev.last_ran = now;
        }
        if let Some(p) = next {
            self.tasks[p].last_ran = now;
            if next != prev {
                self.tasks[p].timestamp = now;
            }
        }
        let rq = &mut self.rqs[cpu.index()];
        rq.most_recent_timestamp = now;
        rq.curr = next;
        next
    }

    /// Returns the head of the best list of the active array; if that is empty, of the expired
    /// array; if that is also empty, of the tasks pulled from other CPUs; else the idle task.
    fn pick_next(&mut self, platform: &mut Platform, cpu: CpuId, now: u64) -> Option<Pid> {
        let mut special = Rule::NONE;
        if self.loads.nr_running(cpu) == 0 {
            self.idle_balance(platform, cpu);
            if self.loads.nr_running(cpu) == 0 {
                self.rqs[cpu.index()].expired_timestamp = 0;
                platform.by_rule(Question::Pick, cpu, rules::IDLE);
                return None;
            }
            special = rules::PULLED;
        }
        let rq = &mut self.rqs[cpu.index()];
        if rq.array(rq.active()).nr_active == 0 {
            rq.swap_arrays();
            platform.work.swaps += 1;
            special = rules::ARRAYS_SWAPPED;
        }
        let next = rq
            .array(rq.active())
            .first()
            .expect("after a swap the active array of a queue with runnable tasks is not empty");
        platform.work.bitmap(self.tasks[next].prio);
        let rule = if next == Tasks::migration_thread(cpu) {
            rules::MIGRATION_THREAD
        } else if special != Rule::NONE {
            special
        } else if self.tasks[next].next.is_some() {
            rules::LIST_HEAD
        } else {
            rules::HIGHEST_PRIORITY
        };
        let this = &*self;
        platform.because(Question::Pick, cpu, rule, move |evidence| {
            this.list_candidates(cpu, &mut evidence.candidates);
        });
        self.requeue_on_pick(platform, next, now);
        self.tasks[next].activated = Activated::No;
        Some(next)
    }

    /// Tries to pull tasks from the other queues, because that of `cpu` is empty.
    fn idle_balance(&mut self, platform: &mut Platform, cpu: CpuId) {
        match self.params.version.balancing {
            _ if self.cpus == 1 => {}
            Balancing::ByNumber => self.load_balance(platform, cpu, true),
            Balancing::ByWeight => {
                load_balance_2_6_22::newly_idle_balance(self, platform, cpu);
            }
        }
    }

    /// Requeues a picked task. The wait of a woken task counts as sleep, wholly or in part, so
    /// waiting may have improved its priority. The task runs now in any case, but from its new
    /// place in the lists: the next `schedule()` picks the task that is then the first.
    fn requeue_on_pick(&mut self, platform: &mut Platform, next: Pid, now: u64) {
        let task = &mut self.tasks[next];
        if !matches!(task.activated, Activated::Process | Activated::Interrupt) {
            return;
        }
        // Negative if a pull has shifted the timestamp beyond the present.
        let waited = (now.wrapping_sub(task.timestamp) as i64).max(0) as u64;
        let until = task.timestamp.wrapping_add(self.params.wait_that_counts(task, waited));
        let Some(array) = task.array else {
            unreachable!("the task that was picked is queued");
        };
        if self.params.version.requeues_every_pick {
            // This also applies to real-time tasks, and even if nothing changes: the task moves to
            // the tail.
            platform.work.requeue();
            self.dequeue_task(next);
            self.params.recalc_task_prio(&mut self.tasks[next], until);
            self.enqueue_task(next, array);
            return;
        }
        if task.is_rt() {
            return;
        }
        let queued_by = task.prio;
        self.params.recalc_task_prio(task, until);
        let prio = core::mem::replace(&mut task.prio, queued_by);
        if prio != queued_by {
            platform.work.requeue();
            self.dequeue_task(next);
            self.tasks[next].prio = prio;
            self.enqueue_task(next, array);
        }
    }
}
