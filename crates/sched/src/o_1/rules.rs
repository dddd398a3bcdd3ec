//! The decision rules of O(1), by number, and the candidates of a CPU's pick.
//!
//! 2.6.22 also has the rules of
//! [`load_balance_2_6_22`](crate::classes::load_balance_2_6_22::rules).

use super::O1;
use super::task::{Pid, State, Tasks};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, GroupId, Who, define_rules};

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 HIGHEST_PRIORITY Pick "highest_priority":
            "The only task at the best priority of the active array runs.";
        2 LIST_HEAD Pick "list_head":
            "Of several tasks at the best priority of the active array, the one at the head of \
             the list runs.";
        3 ARRAYS_SWAPPED Pick "arrays_swapped":
            "The active array is empty: active and expired are swapped, and the head of the best \
             list runs.";
        4 PULLED Pick "pulled":
            "The runqueue was empty, and balancing has pulled the task that runs.";
        5 MIGRATION_THREAD Pick "migration_thread":
            "The CPU's migration thread has been woken; it does its work in no time.";
        6 IDLE Pick "idle": "No task is runnable on this CPU, and none could be pulled.";
        7 HIGHER_PRIORITY Preempt "higher_priority":
            "The task has a better (smaller) prio than the current one.";
        8 CPU_IDLE Preempt "cpu_idle": "The CPU is idle.";
        9 NOT_HIGHER Preempt "not_higher":
            "The task's prio is not better than the current one's: it waits.";
        10 SYNC_WAKEUP Preempt "sync_wakeup":
            "The waker on this CPU has announced that it will sleep: it is not preempted.";
        11 STILL_QUEUED Preempt "still_queued":
            "The task was woken before its CPU had switched away from it: it never left the CPU.";
        12 NEW_TASK Preempt "new_task":
            "A task without a parent always makes its CPU reschedule.";
        13 CHILD_FIRST Preempt "child_first":
            "A forked child with its own memory is queued before its parent and runs first.";
        14 THREAD_WAITS Preempt "thread_waits":
            "A new thread shares its parent's memory: the parent continues to run.";
        15 PREV_CPU SelectCpu "prev_cpu": "The task wakes on the CPU where it slept.";
        16 SYNC_PULL SelectCpu "sync_pull":
            "A synchronous waker pulls the task to its own CPU (2.6.0).";
        17 LEAST_RUNNING SelectCpu "least_running":
            "A task without a parent starts on the allowed CPU with the fewest runnable tasks.";
        18 PARENTS_CPU SelectCpu "parents_cpu": "A child starts on its parent's CPU.";
        19 AFFINITY_FORCED SelectCpu "affinity_forced":
            "The child may not run on its parent's CPU: it starts on the lowest CPU that it may \
             use.";
        20 WAKES_ELSEWHERE Migrate "wakes_elsewhere":
            "The task wakes on a CPU other than the one where it slept.";
        21 CPUS_ALLOWED Migrate "cpus_allowed":
            "Affinity forbids the task its CPU: it moves to the lowest CPU that it may use.";
        22 IDLE_BALANCE Migrate "idle_balance":
            "An idle CPU, or one that is about to go idle, takes a task from the longest \
             runqueue (2.6.0).";
        23 BUSY_BALANCE Migrate "busy_balance":
            "A busy CPU takes tasks from a runqueue that is a quarter longer than its own (2.6.0).";
        24 IDLE_THREAD SelectCpu "idle_thread":
            "Exactly one task is on the chosen CPU, and another thread of its core is idle: the \
             task wakes there (2.6.22).";
        25 IDLEST_NODE SelectCpu "idlest_node":
            "Another node has less load: the child starts on its CPU with the least (2.6.22).";
        26 EXEC_IDLEST Migrate "exec_idlest":
            "The task has called execve(2), and another CPU or node has less load.";
    }
}

impl O1 {
    /// Lists the tasks on the runqueue of `cpu`, each ranked by array, priority and place in its
    /// list.
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let rq = &self.rqs[cpu.index()];
        // From the tasks' own records. Only the order within a list is taken from the list.
        for (p, task) in self.tasks.iter() {
            let Some(array) = task.array else { continue };
            if task.cpu != cpu || task.state != State::Running {
                continue;
            }
            let expired = i64::from(array != rq.active());
            let mut place = 0;
            let mut at = task.prev;
            while let Some(before) = at {
                place += 1;
                at = self.tasks[before].prev;
            }
            let candidate = Candidate {
                who: self.who(p, cpu),
                within: GroupId::ROOT,
                rank: [expired, task.prio.into(), place, 0],
                terms: Vec::new(),
            };
            let bonus = i64::from(task.static_prio) - i64::from(task.prio);
            out.push(
                candidate
                    .with("expired", expired)
                    .with("prio", task.prio.into())
                    .with("static_prio", task.static_prio.into())
                    .with("bonus", if task.is_rt() { 0 } else { bonus })
                    .with("sleep_avg_ns", task.sleep_avg as i64)
                    .with("time_slice", task.time_slice.into()),
            );
        }
    }

    fn who(&self, p: Pid, cpu: CpuId) -> Who {
        if p == Tasks::migration_thread(cpu) {
            Who::Kernel("migration")
        } else {
            Who::Task(self.tasks.task_id(p))
        }
    }

    /// Records the terms that `TASK_PREEMPTS_CURR` compares for `p` on its CPU.
    #[cold]
    #[inline(never)]
    pub(super) fn preempt_terms(&self, p: Pid, evidence: &mut Evidence) {
        let task = &self.tasks[p];
        evidence.term("prio", task.prio.into());
        evidence.term("curr_prio", self.curr_prio(task.cpu).into());
    }

    /// Records the terms known when `p` is about to be pulled from its CPU to `to`.
    #[cold]
    #[inline(never)]
    pub(super) fn pull_terms(&self, p: Pid, to: CpuId, evidence: &mut Evidence) {
        let task = &self.tasks[p];
        evidence.term("from_cpu", task.cpu.0.into());
        evidence.term("from_nr_running", self.loads.nr_running(task.cpu).into());
        evidence.term("to_nr_running", self.loads.nr_running(to).into());
        evidence.term("load_weight", task.load_weight.into());
    }
}
