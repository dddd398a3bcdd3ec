//! Idle CPUs for tasks that need one, and preemption.

use super::{Muqss, rules};
use schedlab_core::{CpuId, Platform, Policy, Question, Rule, TaskId};

impl Muqss {
    /// Whether an idle CPU is among those that `task` may use.
    #[inline]
    pub(super) fn has_idle_candidates(&self, task: TaskId) -> bool {
        self.idle.first(&self.tasks[task].allowed).is_some()
    }

    /// `resched_best_idle`: asks the most suitable idle CPU that `task` may use to reschedule.
    /// Returns it; `None`: there is none, or a sibling thread does not allow it.
    pub(super) fn resched_best_idle(
        &self,
        platform: &mut Platform,
        task: TaskId,
        near: CpuId,
    ) -> Option<CpuId> {
        let (cpu, rule) = self.best_idle(task, near)?;
        if !self.smt_allows(task, cpu) {
            platform.by_rule(Question::Preempt, cpu, rules::SIBLING_FIRST);
            return None;
        }
        platform.by_rule(Question::Preempt, cpu, rule);
        platform.resched(cpu);
        Some(cpu)
    }

    /// `best_mask_cpu`: the most suitable idle CPU that `task` may use: `near`, else that of the
    /// best rank.
    fn best_idle(&self, task: TaskId, near: CpuId) -> Option<(CpuId, Rule)> {
        let allowed = &self.tasks[task].allowed;
        let mut next = self.idle.first(allowed);
        if next.is_some() && self.idle.contains(near) && allowed.contains(near) {
            return Some((near, rules::LAST_CPU_IDLE));
        }
        let mut best = (u32::MAX, None);
        while let Some(cpu) = next {
            let rank = self.idle_rank(self.tasks[task].cpu, cpu);
            // (Of equals the last, if its siblings are idle, too.)
            if rank < best.0 || rank == best.0 && self.idle.siblings_idle(&self.nearness, cpu) {
                best = (rank, Some((cpu, rules::BEST_IDLE)));
            }
            next = self.idle.first_from(cpu.0 + 1, allowed);
        }
        best.1
    }

    /// How unsuitable the idle CPU `to` is for a task that last ran on `from`.
    fn idle_rank(&self, from: CpuId, to: CpuId) -> u32 {
        let distance = match self.nearness.locality(from, to) {
            0 => 0,
            1 => 1,
            2 => 2,
            3 => 4,
            4 => 16,
            _ => 64,
        };
        distance + if self.idle.cache_idle(&self.nearness, to) { 0 } else { 8 }
    }

    /// `try_preempt`: asks an idle CPU to reschedule for `task`, or else the first CPU, in order of
    /// nearness to `cpu`, whose running task is less entitled.
    pub(super) fn try_preempt(&mut self, platform: &mut Platform, task: TaskId, cpu: CpuId) {
        let nr_running = self.cpus[cpu.index()].nr_running;
        let own = self.tasks[task].cpu;
        if self.resched_best_idle(platform, task, own).is_some() {
            return;
        }
        let row = &self.tasks[task];
        if row.policy == Policy::Idle {
            platform.by_rule(Question::Preempt, own, rules::IDLE_POLICY);
            return;
        }
        let mut asked = 0;
        let victim = self.nearness.cpu_order(cpu).find(|&other| {
            asked += 1;
            let busier = self.cpus[other.index()].nr_running > nr_running;
            row.allowed.contains(other)
                && (self.settings.interactive || other == cpu || busier)
                && self.smt_allows(task, other)
                && self.beats(task, other)
        });
        platform.work.queues += asked;
        let Some(victim) = victim else {
            self.explain_preempt(platform, task, cpu, rules::NOT_EARLIER);
            return;
        };
        self.explain_preempt(platform, task, victim, rules::LATER_DEADLINE);
        self.cpus[victim.index()].preempting = Some(task);
        platform.resched(victim);
    }

    /// `can_preempt`: whether `task` is more entitled than the running task of `cpu`.
    fn beats(&self, task: TaskId, cpu: CpuId) -> bool {
        let (row, running) = (&self.tasks[task], &self.running[cpu.index()]);
        row.prio < running.rq_prio
            || row.prio == running.rq_prio
                && row.policy != Policy::Batch
                && row.deadline < running.rq_deadline
    }

    /// Records the rule by which `task` preempts the running task of `cpu`, or does not, with the
    /// terms that were compared.
    #[inline]
    fn explain_preempt(&self, platform: &mut Platform, task: TaskId, cpu: CpuId, rule: Rule) {
        platform.because(Question::Preempt, cpu, rule, move |evidence| {
            let (row, running) = (&self.tasks[task], &self.running[cpu.index()]);
            evidence.term("prio", row.prio.into()).term("deadline", row.deadline as i64);
            evidence.term("rq_prio", running.rq_prio.into());
            evidence.term("rq_deadline", running.rq_deadline as i64);
        });
    }
}
