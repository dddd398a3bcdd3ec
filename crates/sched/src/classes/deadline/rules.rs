//! The decision rules of the deadline class and their grounds.

use super::{Deadline, DlEntityId};
use crate::classes::{ClassId, Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, GroupId, Platform, Question, Rule, Who};

schedlab_core::define_rules! {
    /// The rules of the deadline class: 80 to 119.
    pub static RULES {
        80 DL_EARLIEST Pick "dl_earliest_deadline":
            "Of the deadline tasks that are not throttled the one with the earliest absolute \
             deadline runs (EDF).";
        85 DL_EARLIER Preempt "dl_earlier_deadline":
            "The absolute deadline of the task is earlier than that of the current one: it \
             preempts.";
        86 DL_NOT_EARLIER Preempt "dl_not_earlier":
            "The absolute deadline of the task is not earlier than that of the current one: it \
             waits.";
        87 DL_EQUAL_PINNED Preempt "dl_equal_pinned":
            "Of two tasks with one deadline the new one can run nowhere else and the current one \
             can: it preempts, and the current one is pushed away.";
        88 DL_NO_LONGER_FIRST Preempt "dl_changed":
            "The parameters of the current deadline task have changed: the CPU picks again.";
        92 DL_TASK_CPU SelectCpu "dl_task_cpu":
            "The deadline task wakes on its CPU: no deadline task runs there, the one that does \
             gives way, or it may run nowhere else.";
        93 DL_LATER_CPU SelectCpu "dl_later_cpu":
            "A deadline task that does not give way runs on its CPU: the task wakes on one \
             without deadline tasks, or on the one whose earliest deadline is latest \
             (find_later_rq).";
        94 DL_NO_LATER_CPU SelectCpu "dl_no_later_cpu":
            "A deadline task that does not give way runs on its CPU, and on no other CPU are \
             deadlines later: it stays.";
        95 DL_FORK SelectCpu "dl_fork":
            "A deadline child starts on the CPU of its parent.";
        100 DL_PUSH Migrate "dl_push":
            "An overloaded CPU pushes its earliest waiting deadline task to a CPU with later \
             deadlines.";
        101 DL_PULL Migrate "dl_pull":
            "A CPU whose deadline task has left pulls an earlier one from an overloaded CPU.";
    }
}

impl Deadline {
    /// Adds the candidates from which `cpu` would choose now: the tasks that are not throttled, and
    /// the fair server if it competes. They are ranked by deadline, and among equals by place in
    /// the tree, where later arrivals come later.
    pub fn candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        let now_ns = rqs.clock(cpu);
        let mut next = self.rqs[cpu.index()].tree.leftmost();
        let mut place = 0;
        while let Some(entity) = next {
            let pid = entity.pid();
            let server = &self.tasks[pid.index()].server;
            let candidate = Candidate {
                who: if rqs.is_idle_thread(pid) {
                    Who::Kernel("fair_server")
                } else {
                    rqs.who(pid)
                },
                within: GroupId::ROOT,
                // Deadlines wrap, so they are compared by their distance from now.
                rank: [server.deadline.wrapping_sub(now_ns) as i64, place, 0, 0],
                terms: Vec::new(),
            };
            out.push(
                candidate
                    .with("deadline_ns", server.deadline as i64)
                    .with("runtime_ns", server.runtime),
            );
            place += 1;
            next = self.nodes.next(entity);
        }
    }

    /// Whether the fair server of `cpu` competes and has the earliest deadline.
    pub fn fair_server_leads(&self, rqs: &Rqs, cpu: CpuId) -> bool {
        self.is_leftmost(cpu, rqs.idle_thread(cpu))
    }

    /// Adds the deadline and budget of the fair server of `cpu` to the evidence.
    pub fn account_of_fair_server(&self, rqs: &Rqs, cpu: CpuId, evidence: &mut Evidence) {
        let server = &self.tasks[rqs.idle_thread(cpu).index()].server;
        evidence
            .term("fair_server_deadline_ns", server.deadline as i64)
            .term("fair_server_runtime_ns", server.runtime);
    }

    /// Records the grounds of a pick.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_pick(&self, rqs: &Rqs, cpu: CpuId, evidence: &mut Evidence) {
        evidence.term("dl_nr_running", i64::from(self.rqs[cpu.index()].nr_running));
        self.candidates(rqs, cpu, &mut evidence.candidates);
    }

    /// Names the rule of a decision that compares `pid` with the earliest deadline of `cpu` or with
    /// its current task.
    #[inline]
    pub(super) fn because(
        &self,
        rqs: &Rqs,
        platform: &mut Platform,
        (question, rule): (Question, Rule),
        cpu: CpuId,
        pid: Pid,
    ) {
        platform.because(question, cpu, rule, |evidence| {
            self.account_of_deadlines(rqs, cpu, pid, evidence);
        });
    }

    /// Records the deadline of `pid`, that of the current task of `cpu`, and the earliest one
    /// there, where they exist.
    #[cold]
    #[inline(never)]
    fn account_of_deadlines(&self, rqs: &Rqs, cpu: CpuId, pid: Pid, evidence: &mut Evidence) {
        evidence.term("deadline_ns", self.deadline_of(pid) as i64);
        let curr = rqs.curr(cpu);
        if rqs.thread(curr).class == ClassId::Deadline {
            evidence.term("curr_deadline_ns", self.deadline_of(curr) as i64);
        }
        if let Some(first) = self.rqs[cpu.index()].tree.leftmost() {
            let earliest: DlEntityId = first;
            evidence.term("earliest_deadline_ns", self.deadline_of(earliest.pid()) as i64);
        }
    }
}
