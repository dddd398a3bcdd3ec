//! By which rules EEVDF and the fair class of 6.x decide, and on what grounds.
//!
//! The account of a pick looks at every entity of a queue by itself, and not through the search in
//! the tree that picks: eligible or not, then the deadline. Only what the keys leave open, the
//! order of equals, is the tree's.

use super::cfs_rq::{CfsRqId, Sums};
use super::class::Fair;
use super::entity::EntityId;
use super::lb_env::{CpuIdleType, LbEnv, MigrationType};
use super::releases::Version;
use super::timeline;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{Candidate, CpuId, Evidence, Platform, Question, Rule, Who};

schedlab_core::define_rules! {
    /// The rules of the fair class: 120 to 199. Of a pick through several groups that rule is
    /// named by which the lowest of them chose that had a choice.
    pub static RULES {
        120 ONLY_ENTITY Pick "only_entity":
            "The only entity that is queued runs.";
        121 NEXT_BUDDY Pick "next_buddy":
            "The next buddy runs, as it is eligible.";
        122 PROTECTED Pick "protected":
            "The current entity is eligible and protected (RUN_TO_PARITY): it runs on until its \
             request is served; from 6.18 on, until the shortest of the others' would be.";
        123 EARLIEST_ELIGIBLE Pick "earliest_eligible_deadline":
            "Of the entities that are eligible the one with the earliest virtual deadline runs.";
        124 LEFTMOST Pick "leftmost":
            "Nobody seems eligible: the leftmost entity of the tree runs.";
        130 IDLE_GIVES_WAY Preempt "idle_policy_gives_way":
            "The current entity is SCHED_IDLE and the woken one is not: it preempts.";
        131 CURR_NOT_ELIGIBLE Preempt "current_not_eligible":
            "The current entity has had too much and is no longer eligible: the woken one has the \
             earliest virtual deadline of those that are, and preempts.";
        132 PREEMPT_SHORT Preempt "preempt_short":
            "The slice of the woken entity is shorter, which ends the protection of the current \
             one: it preempts.";
        133 EARLIER_DEADLINE Preempt "earlier_deadline":
            "The woken entity is eligible, the current one is not protected, and of all that are \
             eligible the woken one has the earliest virtual deadline: it preempts.";
        134 CURR_PROTECTED Preempt "current_protected":
            "The current entity is eligible and protected: the woken one waits.";
        135 NOT_ELIGIBLE Preempt "not_eligible":
            "The woken entity is not eligible: it waits.";
        136 NOT_EARLIEST Preempt "not_earliest":
            "The woken entity is eligible, but another has an earlier virtual deadline: it waits.";
        137 NEVER_PREEMPTS Preempt "never_preempts":
            "The woken task is SCHED_BATCH or SCHED_IDLE, or the switch WAKEUP_PREEMPTION is off: \
             it never preempts.";
        138 RESCHED_PENDING Preempt "resched_pending":
            "The current task has been asked to reschedule already.";
        139 THROTTLED Preempt "throttled":
            "The woken task is in a group without quota: it waits.";
        150 PINNED SelectCpu "pinned":
            "The task may run on one CPU only.";
        151 PREV_CPU SelectCpu "previous_cpu":
            "The CPU on which the task last ran is free.";
        152 WAKER_IDLE SelectCpu "waker_cpu_idle":
            "wake_affine: the waker's CPU is idle and shares a cache with the previous one, \
             which is busy.";
        153 WAKER_SYNC SelectCpu "waker_cpu_sync":
            "wake_affine: the waker is about to sleep (WF_SYNC): its CPU.";
        154 WAKER_LOAD SelectCpu "waker_cpu_load":
            "wake_affine: with the task the load of the waker's CPU would be less than that of \
             the previous one.";
        155 RECENT_CPU SelectCpu "recent_used_cpu":
            "The CPU that the task used before its previous one is free.";
        156 IDLE_SMT SelectCpu "idle_smt_sibling":
            "A thread of the previous CPU's core is idle.";
        157 IDLE_CORE SelectCpu "idle_core":
            "The first core that idles altogether, in order from the target on.";
        158 IDLE_SIBLING SelectCpu "idle_sibling":
            "The first free CPU that shares a cache with the target, in order from it on.";
        159 SCAN_LIMIT SelectCpu "scan_limit":
            "No free CPU was found among the nr_idle_scan that were looked at: the target, \
             though it is busy.";
        160 FORK_IDLEST SelectCpu "fork_idlest":
            "The child starts on the idlest CPU of the idlest group, down the domains.";
        161 FORK_LOCAL SelectCpu "fork_local":
            "No group is idler than the parent's by enough: the child starts on its parent's CPU.";
        162 DELAYED SelectCpu "delayed_dequeue":
            "The task is woken before its delayed dequeue: it stays where it is queued.";
        170 NEWIDLE_BALANCE Migrate "newidle_balance":
            "A CPU about to idle pulls a task from the busiest one.";
        171 IDLE_BALANCE Migrate "periodic_idle_balance":
            "An idle CPU pulls a task from the busiest one, at its tick.";
        172 BUSY_BALANCE Migrate "periodic_busy_balance":
            "A busy CPU pulls a task from the busiest one, at its tick.";
        173 ACTIVE_BALANCE Migrate "active_balance":
            "Balancing has failed several times: the stopper pushes a running task over.";
    }
}

/// How a candidate stands with a pick, the best first: the leading number of its rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Standing {
    NextBuddy,
    ProtectedCurr,
    Eligible,
    NotEligible,
}

impl Fair {
    /// Those among whom `cpu` would choose now, the members of each group after the group.
    pub(super) fn all_candidates(&self, rqs: &Rqs, cpu: CpuId, out: &mut Vec<Candidate>) {
        let mut queues = alloc::vec![CfsRqId::of_cpu(cpu)];
        while let Some(q) = queues.pop() {
            self.candidates_of(rqs, q, out);
            queues.extend(self.queued_on(q).into_iter().filter_map(|e| self.info[e].my_q));
        }
    }

    /// Everybody queued on `q`, in the order of the tree, the current entity last.
    fn queued_on(&self, q: CfsRqId) -> Vec<EntityId> {
        let queue = &self.cfs_rqs[q];
        timeline::iter(&self.se, &queue.tree).chain(queue.competing_curr(&self.se)).collect()
    }

    /// The members of queue `q` as candidates.
    #[cold]
    #[inline(never)]
    pub(super) fn candidates_of(&self, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>) {
        let sums = self.cfs_rqs[q].sums(&self.se);
        let members = self.queued_on(q);
        let first_of_equals = self.first_of_equals(q, &sums);
        for (place, &e) in members.iter().enumerate() {
            let standing = self.standing(q, e, &sums);
            let deadline = match standing {
                Standing::NotEligible => 0,
                // Virtual times wrap: compared by how far from V they are.
                _ => self.se[e].deadline.since(sums.avg_vruntime()),
            };
            let in_order = if first_of_equals == Some(e) { -1 } else { place as i64 };
            out.push(self.candidate(rqs, e, &sums, [standing as i64, deadline, in_order, 0]));
        }
    }

    fn standing(&self, q: CfsRqId, e: EntityId, sums: &Sums) -> Standing {
        let queue = &self.cfs_rqs[q];
        if !sums.eligible(self.se[e].vruntime) {
            Standing::NotEligible
        } else if queue.next == Some(e) && self.next_buddy_counts() {
            Standing::NextBuddy
        } else if queue.curr == Some(e) && self.protection_counts() && self.is_protected(e) {
            Standing::ProtectedCurr
        } else {
            Standing::Eligible
        }
    }

    /// 6.6: whom the shape of the tree puts first among equal deadlines. (From 6.12 on that is the
    /// order of the tree, in which the current entity is last.)
    fn first_of_equals(&self, q: CfsRqId, sums: &Sums) -> Option<EntityId> {
        if self.version.tree_by_deadline() {
            return None;
        }
        let queue = &self.cfs_rqs[q];
        let curr = queue.competing_curr(&self.se);
        let curr = curr.filter(|&curr| sums.eligible(self.se[curr].vruntime));
        let eligible = |vruntime| sums.eligible(vruntime);
        timeline::earliest_eligible_by_vruntime(&queue.tree, &self.se, curr, eligible)
    }

    fn candidate(&self, rqs: &Rqs, e: EntityId, sums: &Sums, rank: [i64; 4]) -> Candidate {
        let (entity, info) = (&self.se[e], &self.info[e]);
        let within = self.cfs_rqs[info.cfs_rq].group;
        let who = match (info.task, info.my_q) {
            (Some(task), _) => rqs.who(task),
            (None, Some(q)) => Who::Group(self.cfs_rqs[q].group),
            (None, None) => Who::Kernel("entity"),
        };
        let runs = self.cfs_rqs[info.cfs_rq].curr == Some(e);
        let mut candidate = Candidate { who, within, rank, terms: Vec::new() }
            .with("eligible", i64::from(sums.eligible(entity.vruntime)))
            .with("deadline_ns", entity.deadline.0 as i64)
            .with("vruntime_ns", entity.vruntime.0 as i64)
            .with("lag_ns", sums.avg_vruntime().since(entity.vruntime))
            .with("slice_ns", i64::from(entity.slice))
            .with("weight", i64::from(entity.weight));
        if runs && self.version.protects_until() {
            candidate = candidate.with("vprot_ns", entity.vprot().0 as i64);
        }
        if entity.sched_delayed {
            candidate = candidate.with("sched_delayed", 1);
        }
        candidate
    }

    /// The present pick looks at queue `q`; it starts at the CPU's own.
    #[cold]
    #[inline(never)]
    pub(super) fn meet_candidates(&mut self, rqs: &Rqs, q: CfsRqId) {
        let mut met = core::mem::take(&mut self.candidates_met);
        if self.cfs_rqs[q].owner.is_none() {
            met.clear();
        }
        self.candidates_of(rqs, q, &mut met);
        self.candidates_met = met;
    }

    /// The grounds of a pick on `cpu`: the candidates that it met on its way down the groups.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_pick(&mut self, cpu: CpuId, evidence: &mut Evidence) {
        let queue = &self.cfs_rqs[CfsRqId::of_cpu(cpu)];
        evidence
            .term("nr_queued", i64::from(queue.nr_queued))
            .term("avg_vruntime_ns", queue.avg_vruntime(&self.se).0 as i64);
        evidence.candidates = core::mem::take(&mut self.candidates_met);
    }

    /// Of a wakeup check that looked at the queue: by which rule `p` preempts `c`, the current
    /// entity, or does not; `picked` by `rule` is who would be picked.
    #[inline]
    pub(super) fn rule_of_preemption(
        &self,
        q: CfsRqId,
        [c, p]: [EntityId; 2],
        short: bool,
        picked_by: Rule,
        wins: bool,
    ) -> Rule {
        if !wins && picked_by == PROTECTED {
            return CURR_PROTECTED;
        }
        if wins && short {
            return PREEMPT_SHORT;
        }
        let asked = if wins { c } else { p };
        match (wins, self.cfs_rqs[q].eligible(&self.se, self.se[asked].vruntime)) {
            (true, true) => EARLIER_DEADLINE,
            (true, false) => CURR_NOT_ELIGIBLE,
            (false, true) => NOT_EARLIEST,
            (false, false) => NOT_ELIGIBLE,
        }
    }

    /// The grounds of a wakeup check of `p` against the current `c`.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_preemption(
        &self,
        q: CfsRqId,
        [c, p]: [EntityId; 2],
        evidence: &mut Evidence,
    ) {
        let sums = self.cfs_rqs[q].sums(&self.se);
        let [curr, woken] = [c, p].map(|e| &self.se[e]);
        evidence
            .term("avg_vruntime_ns", sums.avg_vruntime().0 as i64)
            .term("eligible", i64::from(sums.eligible(woken.vruntime)))
            .term("deadline_ns", woken.deadline.0 as i64)
            .term("vruntime_ns", woken.vruntime.0 as i64)
            .term("slice_ns", i64::from(woken.slice))
            .term("curr_eligible", i64::from(sums.eligible(curr.vruntime)))
            .term("curr_protected", i64::from(self.is_protected(c)))
            .term("curr_deadline_ns", curr.deadline.0 as i64)
            .term("curr_vruntime_ns", curr.vruntime.0 as i64)
            .term("curr_slice_ns", i64::from(curr.slice));
    }

    /// Names the rule by which `task`, last on `prev`, wakes on `chosen`.
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

    /// Names the rule by which the balancing CPU of `env` pulls from `source`.
    pub(super) fn pulls(platform: &mut Platform, rqs: &Rqs, source: CpuId, env: &LbEnv) {
        let rule = match env.why {
            CpuIdleType::NewlyIdle => NEWIDLE_BALANCE,
            CpuIdleType::Idle => IDLE_BALANCE,
            CpuIdleType::NotIdle => BUSY_BALANCE,
        };
        platform.because(Question::Migrate, env.here, rule, |evidence| {
            account_of_pull(rqs, source, env, evidence);
        });
    }

    /// Whether a next buddy is looked at.
    #[inline]
    pub(super) fn next_buddy_counts(&self) -> bool {
        let features = self.features();
        features.pick_buddy || (self.version == Version::V6_6 && features.next_buddy)
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
