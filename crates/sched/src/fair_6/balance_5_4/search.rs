//! The search for an idle CPU at a wakeup before 5.5.

use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::lb_stats::is_idle_cpu;
use crate::fair_6::pick_rule::PickRule;
use crate::fair_6::rule_state::{FairTunables as _, FairVersion as _};
use crate::fair_6::rules;
use schedlab_core::{CpuId, Rule};

impl<R: PickRule> Fair<R> {
    /// An idle core near `target`; else an idle CPU among the next ones, from the target on and
    /// around, as many as the average idle time of the waker's CPU `this` pays for; else an idle
    /// thread of the target's core. CPUs with `SCHED_IDLE` tasks only are second best.
    #[cold]
    pub(in crate::fair_6) fn select_idle_of_5_4(
        &mut self,
        rqs: &Rqs,
        task: Pid,
        target: CpuId,
        this: CpuId,
    ) -> Option<(CpuId, Rule)> {
        let cpus = &rqs.domains.level(self.caches.llc_level(target)?).span(target).cpus;
        let allowed = &rqs.settings[task.index()].allowed;
        let (before, behind) = cpus.split_at(cpus.partition_point(|&cpu| cpu < target));
        let all_around = || behind.iter().chain(before).copied();
        let around = || all_around().filter(|&cpu| allowed.contains(cpu));
        let llc = self.caches.llc_id(target);
        if self.caches.has_smt() && self.caches.has_idle_cores[llc] {
            let idle = |cpu: &CpuId| is_idle_cpu(rqs, *cpu) && self.is_core_idle(rqs, *cpu);
            if let Some(cpu) = around().find(idle) {
                return Some((cpu, rules::IDLE_CORE));
            }
            self.caches.has_idle_cores[llc] = false;
        }
        let second_best = self.version.searches_sched_idle();
        let looks = match self.tunables.wakeups().sis_prop {
            true => cpus.len() as u64 * (self.balance.avg_idle_ns[this.index()] / 512),
            false => u64::MAX,
        };
        let mut left = looks.max(4);
        let mut sched_idle = None;
        let mut found = None;
        // Up to 4.19 forbidden CPUs count, too.
        for cpu in all_around().filter(|&cpu| allowed.contains(cpu) || !second_best) {
            left -= 1;
            if left == 0 {
                found = sched_idle;
                break;
            }
            if !allowed.contains(cpu) {
                continue;
            }
            if is_idle_cpu(rqs, cpu) {
                found = Some(cpu);
                break;
            }
            if second_best && sched_idle.is_none() && self.is_sched_idle_rq(rqs, cpu) {
                // (Forgotten if the search ends for want of CPUs.)
                sched_idle = Some(cpu);
            }
        }
        if let Some(cpu) = found {
            return Some((cpu, rules::IDLE_SIBLING));
        }
        let threads = self.caches.threads(&rqs.domains, target).iter().copied();
        let mut threads = threads.filter(|&cpu| allowed.contains(cpu));
        let idle = threads.clone().find(|&cpu| is_idle_cpu(rqs, cpu));
        let thread =
            idle.or_else(|| threads.find(|&cpu| second_best && self.is_sched_idle_rq(rqs, cpu)));
        thread.map(|cpu| (cpu, rules::IDLE_SMT))
    }
}
