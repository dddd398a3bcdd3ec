//! The decision rules of O(n), by number, and the candidates of a CPU's pick.
//!
//! Candidates are measured from the tasks' own records, not from the copies in the runqueue that
//! the walk reads.

use super::task::{REALTIME_BASE, State, Task};
use super::{MM_BONUS, OrderN};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Policy, TaskId, define_rules};

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 LARGEST_GOODNESS Pick "largest_goodness":
            "The task with the largest goodness for the CPU runs, the first in the runqueue among \
             equals.";
        2 REAL_TIME Pick "real_time_goodness":
            "A FIFO or RR task, whose goodness is 1000 + rt_priority, precedes all others.";
        3 NEW_EPOCH Pick "new_epoch":
            "No task that could run has ticks left: all tasks get new ticks, and the walk is \
             repeated.";
        4 FIRST_OF_EPOCH Pick "first_of_epoch":
            "No task that could run has ticks left: all tasks get new ticks, and the first in \
             the runqueue runs without another walk (2.2).";
        5 ONLY_YIELDED Pick "only_yielded": "Every task that could run has just yielded.";
        6 IDLE Pick "idle": "No task is runnable that does not run on another CPU already.";
        7 LAST_CPU_IDLE Preempt "last_cpu_idle": "The CPU on which the task ran last is idle.";
        8 IDLE_CORE Preempt "idle_core":
            "The CPU is idle, and so is the other half of its hyper-threaded core.";
        9 IDLE_LONGEST Preempt "idle_longest": "Of the idle CPUs it has been idle longest.";
        10 MOST_INFERIOR Preempt "most_inferior":
            "No CPU is idle, and this one's current task is the most inferior to the task in \
             preemption_goodness.";
        11 NOT_BETTER Preempt "not_better":
            "The task is not better than the running task on any CPU: it waits in the runqueue.";
        12 SYNC_WAKEUP Preempt "sync_wakeup":
            "The waker is about to sleep, and its CPU will then walk the runqueue in any case.";
        13 MORE_TICKS Preempt "more_ticks":
            "The task's counter exceeds that of the waking CPU's running task by more than 3 \
             (2.2).";
        14 REAL_TIME_WAKEUP Preempt "real_time_wakeup":
            "A woken FIFO or RR task always asks for the waking CPU (2.2).";
        15 IDLE_ELSEWHERE Preempt "idle_elsewhere":
            "The task does not get the waking CPU, but another one is idle (2.2).";
        16 NOT_MORE_TICKS Preempt "not_more_ticks":
            "The task's counter does not exceed that of the waking CPU's running task by more \
             than 3, and no other CPU is idle (2.2).";
        17 STILL_CURRENT Preempt "still_current":
            "The task has not left its CPU since it blocked.";
        18 LAST_CPU SelectCpu "last_cpu":
            "There is one runqueue for all CPUs; the task's processor remains the one on which \
             it ran last.";
        19 PARENTS_CPU SelectCpu "parents_cpu": "A child's processor is its parent's.";
        20 EMPTIEST_CPU SelectCpu "emptiest_cpu":
            "A task without a parent starts on the allowed CPU with the fewest tasks.";
        21 PICKED_ELSEWHERE Migrate "picked_elsewhere":
            "A CPU other than its last one has picked the task from the one runqueue.";
        22 NO_LAST_CPU SelectCpu "no_last_cpu":
            "A child has no processor until a CPU picks it (2.2).";
    }
}

impl OrderN {
    /// Lists the tasks that `cpu` could run now, each ranked by goodness and then by place in the
    /// runqueue, as a walk would find them: after an epoch, if one would begin.
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let begins_epoch = self.version.picks_again_after_epoch
            && self.eligible(cpu).map(|(task, _)| self.goodness_of(task, cpu, false)).max()
                == Some(0);
        for (task, place) in self.eligible(cpu) {
            let p = &self.tasks[task];
            let goodness = i64::from(self.goodness_of(task, cpu, begins_epoch));
            let candidate = Candidate::task(task, [-goodness, place, 0, 0])
                .with("goodness", goodness)
                .with("counter", self.counter_of(p, begins_epoch).into())
                .with("nice", p.nice.into())
                .with("rt_priority", p.rt_priority.into())
                .with("processor", p.processor.0.into());
            out.push(candidate);
        }
    }

    /// Returns the runnable tasks that may run on `cpu` and do not run on another CPU, with their
    /// places in the runqueue.
    fn eligible(&self, cpu: CpuId) -> impl Iterator<Item = (TaskId, i64)> + '_ {
        let prev = self.cpus[cpu.index()].current;
        self.run_queue
            .iter()
            .zip(0..)
            .filter(move |&(task, _)| {
                self.tasks[task].state == State::Running && self.can_schedule(task, cpu)
            })
            .map(move |(task, place)| {
                // An RR task without ticks moves to the tail before the walk.
                let p = &self.tasks[task];
                let expired = p.policy == Policy::RoundRobin && p.counter == 0;
                let goes_last = Some(task) == prev && expired;
                (task, if goes_last { i64::MAX } else { place })
            })
    }

    fn counter_of(&self, p: &Task, in_next_epoch: bool) -> i32 {
        if in_next_epoch { (p.counter >> 1) + self.slice(p.nice.into()) } else { p.counter }
    }

    /// `goodness()` of `task` on `cpu`, now or with the ticks of the next epoch.
    fn goodness_of(&self, task: TaskId, cpu: CpuId, in_next_epoch: bool) -> i32 {
        let p = &self.tasks[task];
        if p.yielded {
            return self.version.yielded_goodness;
        }
        if p.policy.is_realtime() {
            return REALTIME_BASE + i32::from(p.rt_priority);
        }
        let counter = self.counter_of(p, in_next_epoch);
        if counter == 0 {
            return 0;
        }
        let same_cpu = if p.placed && p.processor == cpu { self.proc_change_penalty } else { 0 };
        let at_hand = self.mm_at_hand(cpu, self.cpus[cpu.index()].current);
        let loaded = self.is_loaded(p.mm, at_hand);
        let same_mm = if loaded { MM_BONUS } else { 0 };
        counter + 20 - i32::from(p.nice) + same_cpu + same_mm
    }
}
