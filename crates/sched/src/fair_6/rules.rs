//! The decision rules that all fair classes of 5.x and 6.x share, whatever their rules of picking,
//! and the grounds of decisions.

use super::class::Fair;
use super::ids::{CfsRqId, EntityId};
use super::lb_env::{CpuIdleType, LbEnv, MigrationType};
use super::pick_rule::PickRule;
use super::timeline;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, Platform, Question, Rule};

schedlab_core::define_rules! {
    /// The rules of the fair class, 120 to 199, except the rules of picking and preempting. A pick
    /// through several groups is named by the rule on the lowest level at which there was a choice.
    pub static RULES {
        120 ONLY_ENTITY Pick "only_entity":
            "The only queued entity runs.";
        138 RESCHED_PENDING Preempt "resched_pending":
            "The current task has already been asked to reschedule.";
        139 THROTTLED Preempt "throttled":
            "The woken task is in a group without quota, and waits.";
        150 PINNED SelectCpu "pinned":
            "The task may run on only one CPU.";
        151 PREV_CPU SelectCpu "previous_cpu":
            "The CPU on which the task last ran is free.";
        152 WAKER_IDLE SelectCpu "waker_cpu_idle":
            "wake_affine: the waker's CPU is idle and shares a cache with the previous one, \
             which is busy.";
        153 WAKER_SYNC SelectCpu "waker_cpu_sync":
            "wake_affine: the waker is about to sleep (WF_SYNC), so its CPU is chosen.";
        154 WAKER_LOAD SelectCpu "waker_cpu_load":
            "wake_affine: with the task, the load of the waker's CPU would be less than that of \
            the previous one.";
        155 RECENT_CPU SelectCpu "recent_used_cpu":
            "The CPU that the task used before its previous one is free.";
        156 IDLE_SMT SelectCpu "idle_smt_sibling":
            "A thread of the previous CPU's core is idle.";
        157 IDLE_CORE SelectCpu "idle_core":
            "The first core that is idle altogether is chosen, in order from the target on.";
        158 IDLE_SIBLING SelectCpu "idle_sibling":
            "The first free CPU that shares a cache with the target is chosen, in order from the \
            target on.";
        159 SCAN_LIMIT SelectCpu "scan_limit":
            "None of the nr_idle_scan CPUs examined is free: the target is chosen, though it is \
            busy.";
        160 FORK_IDLEST SelectCpu "fork_idlest":
            "The child starts on the idlest CPU of the idlest group, down the domains.";
        161 FORK_LOCAL SelectCpu "fork_local":
            "No group is idler than the parent's by a sufficient margin: the child starts on its \
            parent's CPU.";
        162 DELAYED SelectCpu "delayed_dequeue":
            "The task is woken before its delayed dequeue: it stays on its queue.";
        170 NEWIDLE_BALANCE Migrate "newidle_balance":
            "A CPU that is about to go idle pulls a task from the busiest CPU.";
        171 IDLE_BALANCE Migrate "periodic_idle_balance":
            "An idle CPU pulls a task from the busiest CPU, at its tick.";
        172 BUSY_BALANCE Migrate "periodic_busy_balance":
            "A busy CPU pulls a task from the busiest CPU, at its tick.";
        173 ACTIVE_BALANCE Migrate "active_balance":
            "Balancing has failed several times: the stopper thread pushes a running task to \
            another CPU.";
    }
}

impl<R: PickRule> Fair<R> {
    /// The present candidates of `cpu`. The members of each group follow the group.
    pub(super) fn all_candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        let mut queues = alloc::vec![CfsRqId::of_cpu(cpu)];
        while let Some(q) = queues.pop() {
            R::candidates_of(self, rqs, q, out);
            queues.extend(self.queued_on(q).into_iter().filter_map(|e| self.info[e].my_q));
        }
    }

    /// All entities queued on `q`, in the order of the tree, the current entity last.
    pub(super) fn queued_on(&self, q: CfsRqId) -> Vec<EntityId> {
        let queue = &self.cfs_rqs[q];
        timeline::iter(&self.se, &queue.tree).chain(queue.competing_curr(&self.se)).collect()
    }

    /// Records that the current pick examines queue `q`. It starts at the root group's queue.
    #[cold]
    #[inline(never)]
    pub(super) fn meet_candidates(&mut self, rqs: &Rqs, q: CfsRqId) {
        let mut met = core::mem::take(&mut self.candidates_met);
        if self.cfs_rqs[q].owner.is_none() {
            met.clear();
        }
        R::candidates_of(self, rqs, q, &mut met);
        self.candidates_met = met;
    }

    /// The grounds of a pick on `cpu`: the candidates that it met on its way down the groups.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_pick(&mut self, cpu: CpuId, evidence: &mut Evidence) {
        let q = CfsRqId::of_cpu(cpu);
        evidence.term("nr_queued", i64::from(self.cfs_rqs[q].nr_queued));
        R::terms_of_pick(self, q, evidence);
        evidence.candidates = core::mem::take(&mut self.candidates_met);
    }

    /// Records the rule by which `task`, last on `prev`, wakes on `chosen`.
    #[inline]
    pub(super) fn selects(
        &self,
        rqs: &Rqs,
        platform: &mut Platform,
        task: Pid,
        (chosen, rule): (CpuId, Rule),
    ) -> CpuId {
        platform.because(Question::SelectCpu, chosen, rule, |evidence| {
            self.account_of_selection(rqs, task, chosen, evidence);
        });
        chosen
    }

    #[cold]
    #[inline(never)]
    fn account_of_selection(&self, rqs: &Rqs, task: Pid, chosen: CpuId, evidence: &mut Evidence) {
        let prev = rqs.cpu_of(task);
        evidence
            .term("prev_cpu", i64::from(prev.0))
            .term("prev_nr_running", i64::from(rqs.nr_running[prev.index()]))
            .term("cpu", i64::from(chosen.0))
            .term("nr_running", i64::from(rqs.nr_running[chosen.index()]));
    }

    /// Records the rule by which the balancing CPU of `env` pulls from `source`.
    pub(super) fn pulls(&self, platform: &mut Platform, rqs: &Rqs, source: CpuId, env: &LbEnv) {
        let rule = match env.why {
            CpuIdleType::NewlyIdle => NEWIDLE_BALANCE,
            CpuIdleType::Idle => IDLE_BALANCE,
            CpuIdleType::NotIdle => BUSY_BALANCE,
        };
        platform.because(Question::Migrate, env.here, rule, |evidence| {
            account_of_pull(rqs, source, env, evidence);
        });
    }
}

#[cold]
#[inline(never)]
fn account_of_pull(rqs: &Rqs, source: CpuId, env: &LbEnv, evidence: &mut Evidence) {
    let imbalance = match env.kind {
        MigrationType::Load => "imbalance_load",
        MigrationType::Util => "imbalance_util",
        MigrationType::Task => "imbalance_tasks",
    };
    evidence
        .term("source_cpu", i64::from(source.0))
        .term("source_nr_running", i64::from(rqs.nr_running[source.index()]))
        .term("nr_running", i64::from(rqs.nr_running[env.here.index()]))
        .term(imbalance, env.imbalance);
}
