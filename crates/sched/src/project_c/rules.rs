//! The decision rules of the core, by number, and the candidates of a CPU's pick.

use super::ranking::{MIN_NORMAL_LEVEL, Ranking};
use super::{Node, ProjectC};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Platform, Question, Rule, Who, define_rules};

define_rules! {
    /// All rules.
    pub(super) static RULES {
        1 BEST_LEVEL Pick "best_level":
            "The first task of the best level in the CPU's queue runs.";
        2 REAL_TIME Pick "real_time":
            "The first task of the best level runs, and that is a level of real-time tasks.";
        3 IDLE Pick "idle":
            "The CPU's queue is empty, and there was nothing to take from other CPUs.";
        4 IDLE_CORE SelectCpu "idle_core":
            "The lowest CPU of an idle core, in the nearest level around the task's CPU that has \
             one.";
        5 IDLE_CPU SelectCpu "idle_cpu":
            "The lowest idle CPU in the nearest level around the task's CPU that has one.";
        6 PREEMPTIBLE SelectCpu "preemptible":
            "No CPU idles: the lowest CPU that the task would preempt according to the masks, in \
             the nearest level that has one.";
        7 NEAREST SelectCpu "nearest":
            "The task would preempt on no CPU that it may use: the lowest CPU in the nearest level \
             that has one.";
        8 FIRST Preempt "first":
            "The task, or another, is now the first in the CPU's queue and does not run yet.";
        9 NOT_FIRST Preempt "not_first": "The running task is still the first of its queue.";
        10 STILL_CURRENT Preempt "still_current":
            "The task was woken before its CPU had rescheduled: it never left the queue.";
        11 WOKEN_ELSEWHERE Migrate "woken_elsewhere":
            "The wakeup has chosen another CPU than the one on which the task ran last.";
        12 TAKEN Migrate "taken":
            "A CPU that is about to idle takes every second waiting task of another CPU.";
        13 PRIORITY_BALANCE Migrate "priority_balance":
            "No CPU has been idle and tasks have waited here for two slices: the task moves to a \
             CPU on which it would preempt.";
        14 SMT_BALANCE Migrate "smt_balance":
            "Both threads of the task's core are busy, and a whole core has become idle.";
        15 CPUS_ALLOWED Migrate "cpus_allowed":
            "The task may no longer use its CPU: it moves to the lowest CPU that it may use.";
    }
}

impl<R: Ranking> ProjectC<R> {
    /// Records why `cpu` picks `next`, the first of its queue.
    #[inline]
    pub(super) fn explain_pick(&self, platform: &mut Platform, cpu: CpuId) {
        let rule = match self.masks.level(cpu) {
            level if level < MIN_NORMAL_LEVEL => REAL_TIME,
            level if level < super::LEVELS => BEST_LEVEL,
            _ => IDLE,
        };
        platform.because(Question::Pick, cpu, rule, |evidence| {
            self.list_candidates(cpu, &mut evidence.candidates);
        });
    }

    /// Records by which rule `node` is put on `cpu`.
    #[inline]
    pub(super) fn explain_choice(
        &self,
        platform: &mut Platform,
        node: Node,
        cpu: CpuId,
        rule: Rule,
    ) {
        platform.because(Question::SelectCpu, cpu, rule, |evidence| {
            let from = self.entities[node].cpu;
            evidence
                .term("last_cpu", from.0.into())
                .term("level", self.level_on(node, from).into())
                .term("level_of_cpu", self.masks.level(cpu).into());
        });
    }

    /// Lists the queue of `cpu`, its running task included. The rank is the place in it.
    #[cold]
    #[inline(never)]
    pub(super) fn list_candidates(&self, cpu: CpuId, out: &mut Vec<Candidate>) {
        let here = &self.cpus[cpu.index()];
        let mut place = 0;
        here.queue.for_each(&self.entities, |node, level| {
            let entity = &self.entities[node];
            let who = match self.entities.task(node) {
                Some(task) => Who::Task(task),
                None => Who::Kernel("migration"),
            };
            let candidate = Candidate {
                who,
                within: schedlab_core::GroupId::ROOT,
                rank: [level.into(), place, 0, 0],
                terms: Vec::new(),
            };
            let candidate = candidate
                .with("level", level.into())
                .with("place", place)
                .with("nice", entity.nice.into())
                .with("time_slice_ns", entity.time_slice);
            out.push(R::explain(entity, here.time_edge, candidate));
            place += 1;
        });
    }
}
