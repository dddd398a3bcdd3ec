//! The decision rules of the staircase schedulers, by number, and the candidates of a CPU's pick.
//!
//! Balancing also has the rules of
//! [`load_balance_2_6_22`](crate::classes::load_balance_2_6_22::rules).

use super::task::Pid;
use super::{MAX_PRIO, Staircase, prio_array};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, GroupId, Who, define_rules};

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 REAL_TIME Pick "real_time":
            "The head of the best real-time level runs. The migration thread is also there.";
        2 BEST_SLOT Pick "best_slot":
            "The head of the best level of the active array that has a slot left runs.";
        3 MAJOR_ROTATION Pick "major_rotation":
            "All tasks of the CPU have used their slots: the arrays are swapped, a new rotation \
             begins, and the head of its best level runs.";
        4 IDLE_PRIORITY Pick "idle_priority":
            "Only SCHED_IDLEPRIO tasks are runnable: the first of their list runs.";
        5 PULLED Pick "pulled":
            "The runqueue was empty, and balancing has pulled the task that runs.";
        6 IDLE Pick "idle": "No task is runnable on this CPU, and none could be pulled.";
        7 MIGRATION_THREAD Pick "migration_thread":
            "The migration thread has had the CPU for no time; the CPU reschedules at once.";
        8 HIGHER_PRIORITY Preempt "higher_priority":
            "The task is in the active array at a better level than the current one.";
        9 CPU_IDLE Preempt "cpu_idle": "The CPU is idle.";
        10 NOT_HIGHER Preempt "not_higher":
            "The task's level is not better than the current one's: it waits.";
        11 EXPIRED Preempt "expired":
            "The task has used up its slots and waits in the expired array for the next rotation.";
        12 SYNC_WAKEUP Preempt "sync_wakeup":
            "The waker on this CPU is about to sleep, and leaves it in any case.";
        13 STILL_QUEUED Preempt "still_queued":
            "The task was woken before its CPU had switched away from it: it never left the CPU.";
        14 NEW_TASK Preempt "new_task":
            "A task without a parent always makes its CPU reschedule.";
        15 CHILD_ASKS Preempt "child_asks":
            "A child with its own memory makes its parent's CPU reschedule.";
        16 PREV_CPU SelectCpu "prev_cpu": "The task wakes on the CPU where it slept.";
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
    }
}

impl Staircase {
    /// Lists the runnable tasks of `cpu` in their present order: the active array before the
    /// expired one before idle priority, then by level and place in the list. (A task that has used
    /// up its slot steps down when it is picked.)
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let rq = &self.cpus[cpu.index()];
        for (p, task) in self.tasks.enumerate() {
            if !task.queued || !task.runnable || task.cpu != cpu {
                continue;
            }
            let who = self.task_id(p).map_or(Who::Kernel("migration"), Who::Task);
            let array =
                if task.prio == MAX_PRIO { 2 } else { i64::from(task.array != rq.active(cpu)) };
            let mut place = 0;
            let mut at = prio_array::prev(&self.links, p);
            while let Some(before) = at {
                place += 1;
                at = prio_array::prev(&self.links, before);
            }
            let candidate = Candidate {
                who,
                within: GroupId::ROOT,
                rank: [array, task.prio.into(), place, 0],
                terms: Vec::new(),
            };
            out.push(
                candidate
                    .with("expired", i64::from(array == 1))
                    .with("prio", task.prio.into())
                    .with("static_prio", task.static_prio.into())
                    .with("time_slice_us", task.time_slice.into())
                    .with("quota_us", task.quota.into()),
            );
        }
    }

    /// Records the terms that `TASK_PREEMPTS_CURR` compares for `p` on its CPU.
    #[cold]
    #[inline(never)]
    pub(super) fn preempt_terms(&self, p: Pid, evidence: &mut Evidence) {
        let task = &self.tasks[p];
        evidence.term("prio", task.prio.into());
        if let Some(curr) = self.cpus[task.cpu.index()].curr {
            evidence.term("curr_prio", self.tasks[curr].prio.into());
        }
    }

    /// Records the terms known when `p` is about to be pulled from `from` to `to`.
    #[cold]
    #[inline(never)]
    pub(super) fn pull_terms(&self, p: Pid, from: CpuId, to: CpuId, evidence: &mut Evidence) {
        evidence.term("from_cpu", from.0.into());
        evidence.term("from_nr_running", self.domains.load(from).nr_running().into());
        evidence.term("to_nr_running", self.domains.load(to).nr_running().into());
        evidence.term("load_weight", self.tasks[p].load_weight.into());
    }
}
