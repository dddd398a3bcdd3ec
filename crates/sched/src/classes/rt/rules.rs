//! The decision rules of the real-time class and their grounds.

use super::prio_array::MAX_RT_PRIO;
use super::{RealTime, RtRq};
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, GroupId, Platform, Policy, Question, Rule};

schedlab_core::define_rules! {
    /// The rules of the real-time class: 40 to 79.
    pub static RULES {
        40 RT_HIGHEST Pick "rt_highest_priority":
            "The head of the list of the best queued real-time priority runs.";
        41 RT_THROTTLED Pick "rt_throttled":
            "The CPU's real-time tasks have used up the runtime of this period: the next class is \
             asked.";
        45 RT_HIGHER Preempt "rt_higher_priority":
            "The real-time task has a better priority than the current task and preempts it.";
        46 RT_EQUAL Preempt "rt_equal_priority":
            "The real-time task has the priority of the current one, and waits at the end of the \
             list.";
        47 RT_EQUAL_PINNED Preempt "rt_equal_pinned":
            "Of two real-time tasks of one priority the new one can run nowhere else and the \
             current one can: it preempts, and the current one is pushed away.";
        48 RT_LOWER Preempt "rt_lower_priority":
            "The current real-time task has the better priority and continues to run.";
        52 RT_TASK_CPU SelectCpu "rt_task_cpu":
            "The real-time task wakes on its CPU: no real-time task runs there, or it may run \
             nowhere else.";
        53 RT_LOWEST_CPU SelectCpu "rt_lower_priority_cpu":
            "A real-time task runs on its CPU: the task wakes on a near CPU of the lowest \
             priority level (find_lowest_rq).";
        54 RT_NO_LOWER_CPU SelectCpu "rt_no_lower_cpu":
            "A real-time task runs on its CPU, and no CPU runs anything less urgent than the \
             task: it stays.";
        55 RT_FORK SelectCpu "rt_fork":
            "A real-time child starts on the CPU of its parent.";
        60 RT_PUSH Migrate "rt_push":
            "An overloaded CPU pushes a waiting real-time task to a CPU that runs something less \
             urgent.";
        61 RT_PULL Migrate "rt_pull":
            "A CPU about to run something less urgent pulls a waiting real-time task from an \
             overloaded CPU.";
    }
}

impl RealTime {
    /// Adds the candidates from which `cpu` would choose now: all queued tasks, ranked by priority
    /// and then by place in the priority's list. While the CPU is throttled the migration thread is
    /// the only candidate.
    pub fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        let rq = &self.rqs[cpu.index()];
        let mover = mover(rqs, cpu);
        if let Some(pid) = mover {
            let candidate = self.candidate(rqs, pid, 0);
            out.push(Candidate { rank: [-1, 0, 0, 0], ..candidate });
        }
        if rq.throttled {
            return;
        }
        for list in 0..MAX_RT_PRIO {
            let mut next = rq.queue.head(list);
            let mut place = 0;
            while let Some(pid) = next {
                if mover != Some(pid) {
                    out.push(self.candidate(rqs, pid, place));
                }
                place += 1;
                next = rq.queue.next(&self.links, pid);
            }
        }
    }

    /// Returns the candidate for `pid`, which is at `place` of its list.
    fn candidate(&self, rqs: &Rqs, pid: Pid, place: i64) -> Candidate {
        let thread = rqs.thread(pid);
        let prio = i64::from(thread.prio);
        let candidate = Candidate {
            who: rqs.who(pid),
            within: GroupId::ROOT,
            rank: [prio, place, 0, 0],
            terms: Vec::new(),
        };
        let candidate = candidate.with("rt_priority", 99 - prio).with("place_in_list", place);
        if thread.policy == Policy::RoundRobin {
            let ticks = self.tasks[pid.index()].time_slice;
            return candidate.with("time_slice_ticks", i64::from(ticks));
        }
        candidate
    }

    /// Whether throttled real-time tasks wait on `cpu`.
    pub fn holds_back(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        rq.throttled && rq.rt_nr_running > 0
    }

    /// Records the grounds of a pick.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_pick(&self, rqs: &Rqs, cpu: CpuId, evidence: &mut Evidence) {
        let rq = &self.rqs[cpu.index()];
        evidence.term("rt_nr_running", i64::from(rq.rt_nr_running));
        if rq.throttled {
            account_of_runtime(rq, evidence);
        }
        self.candidates(rqs, cpu, &mut evidence.candidates);
    }
}

/// Returns the migration thread of `cpu`, if it has work: a task that may no longer run there. It
/// runs before all tasks, including tasks of its own priority, and even where real-time tasks are
/// throttled. Since 2.6.37 it is in a class of its own. In earlier kernels a task could stay on a
/// forbidden CPU until the period ended or a CPU hog of priority 99 slept. That is not modelled
/// here.
pub(super) fn mover(rqs: &Rqs, cpu: CpuId) -> Option<Pid> {
    let thread = rqs.migration_thread(cpu);
    let waits = !rqs.rqs[cpu.index()].migration_queue.is_empty() && rqs.thread(thread).on_rq;
    waits.then_some(thread)
}

/// Records the part of its runtime that a CPU has used. (Without a limit the runtime is -1.)
fn account_of_runtime(rq: &RtRq, evidence: &mut Evidence) {
    evidence.term("rt_time_ns", rq.rt_time as i64).term("rt_runtime_ns", rq.rt_runtime as i64);
}

/// Names the rule by which `pid` preempts the current thread of `cpu`, or does not.
#[inline]
pub(super) fn preempts(platform: &mut Platform, rqs: &Rqs, cpu: CpuId, pid: Pid, rule: Rule) {
    platform.because(Question::Preempt, cpu, rule, |evidence| priorities(rqs, cpu, pid, evidence));
}

/// Records the priorities of `pid` and of the current thread of `cpu`. The smaller, the better.
#[cold]
#[inline(never)]
pub(super) fn priorities(rqs: &Rqs, cpu: CpuId, pid: Pid, evidence: &mut Evidence) {
    let curr = rqs.curr(cpu);
    evidence
        .term("prio", i64::from(rqs.thread(pid).prio))
        .term("curr_prio", i64::from(rqs.thread(curr).prio));
}
