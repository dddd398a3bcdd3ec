//! CFS's implementation of [`PickRule`]. Each method is implemented elsewhere.

use super::LeastVruntime;
use super::releases::{Features, Version};
use super::rules;
use super::state::{EntityState, QueueState};
use super::tunables::Tunables;
use crate::classes::{Pid, Rqs};
use crate::fair_6::cfs_rq::CfsRq;
use crate::fair_6::class::Fair;
use crate::fair_6::differences::Differences;
use crate::fair_6::entity::Entity;
use crate::fair_6::flags::{DequeueFlags, EnqueueFlags};
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::pick_rule::PickRule;
use crate::fair_6::rule_state::RuleState;
use crate::fair_6::timeline::Order;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    Candidate, CpuId, Evidence, Load, Platform, Promises, Rule, RuleDoc, SchedAttr,
};

impl Fair<LeastVruntime> {
    /// The feature switches.
    #[inline]
    pub(super) fn features(&self) -> &Features {
        &self.tunables.features
    }
}

impl RuleState for LeastVruntime {
    type Version = Version;
    type Tunables = Tunables;
}

impl PickRule for LeastVruntime {
    const RULES: &'static [RuleDoc] = rules::RULES;

    fn order(_: Differences<Version>) -> Order {
        Order { by_deadline: false, exact_slices: false, uniform_slices: true, max_slices: false }
    }

    fn set_tunable(fair: &mut Fair<Self>, name: &str, value: i64) {
        fair.tunables.write(name, value);
    }

    fn set_request(_: &mut Fair<Self>, _: EntityId, _: &SchedAttr) {}

    fn queue_made(fair: &mut Fair<Self>) {
        fair.rule.queues.push(QueueState::default());
    }

    fn entity_made(fair: &mut Fair<Self>, e: EntityId) {
        if fair.rule.entities.len() < fair.se.len() {
            fair.rule.entities.push(EntityState::default());
        } else {
            fair.rule.entities[e] = EntityState::default();
        }
    }

    fn estimate(fair: &mut Fair<Self>, e: EntityId) {
        fair.estimate_twice(e);
    }

    fn forked(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        fair.place_child(rqs, platform, task);
    }

    fn wakes_elsewhere(fair: &mut Fair<Self>, e: EntityId) {
        fair.wakes_elsewhere(e);
    }

    fn leaves_asleep(fair: &mut Fair<Self>, now_ns: u64, task: Pid) {
        fair.leaves_asleep(now_ns, task);
    }

    fn comes_asleep(fair: &mut Fair<Self>, task: Pid) {
        fair.comes_asleep(task);
    }

    fn idle_changed(fair: &mut Fair<Self>, e: EntityId) {
        if fair.se[e].on_rq {
            let q = fair.cfs_rq_of(e);
            let idle_nr = &mut fair.rule.queues[q].idle_nr;
            *idle_nr = if fair.info[e].idle { *idle_nr + 1 } else { *idle_nr - 1 };
        }
    }

    #[inline]
    fn enters_tree(_: &mut CfsRq, _: &Entity) {}

    #[inline]
    fn leaves_tree(_: &mut CfsRq, _: &Entity) {}

    #[inline]
    fn place_curr(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, why: EnqueueFlags) {
        fair.enters_running(q, e, why);
    }

    #[inline]
    fn place(
        fair: &mut Fair<Self>,
        now_ns: u64,
        q: CfsRqId,
        e: EntityId,
        why: EnqueueFlags,
        is_curr: bool,
    ) {
        fair.enters(now_ns, q, e, why, is_curr);
    }

    #[inline]
    fn delays(
        _: &mut Fair<Self>,
        _: &mut Platform,
        _: CfsRqId,
        _: EntityId,
        _: DequeueFlags,
    ) -> bool {
        false
    }

    #[inline]
    fn leaves(_: &mut Fair<Self>, _: CfsRqId, _: EntityId, _: DequeueFlags) {}

    #[inline]
    fn left(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, how: DequeueFlags) {
        fair.has_left(q, e, how);
    }

    fn requeue_delayed(_: &mut Fair<Self>, _: &mut Rqs, _: &mut Platform, _: EntityId) {}

    fn reweight(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        weight: u64,
        inverse: Option<u32>,
    ) {
        fair.exchange_weight(rqs, platform, e, weight, inverse);
    }

    #[inline]
    fn update_curr(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        fair.charge_curr(rqs, platform, q);
    }

    #[inline]
    fn starts(fair: &mut Fair<Self>, _: CfsRqId, e: EntityId, _: bool) {
        fair.rule.entities[e].ran_ns = 0;
    }

    #[inline]
    fn entity_tick(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
    ) {
        fair.check_preempt_tick(rqs, platform, q, e);
    }

    #[inline]
    fn clear_buddies(fair: &mut Fair<Self>, e: EntityId) {
        fair.clear_all_buddies(e);
    }

    fn member_sleeps(fair: &mut Fair<Self>, parent: EntityId) {
        let q = fair.info[parent].my_q;
        if !q.is_some_and(|q| fair.is_throttled_below(q)) {
            fair.set_next_buddy(Some(parent));
        }
    }

    #[inline]
    fn pick_next_entity(fair: &mut Fair<Self>, q: CfsRqId) -> Option<(EntityId, Rule)> {
        let picked = fair.pick_entity(q);
        if let Some((e, _)) = picked
            && fair.version.pick_clears_buddies()
        {
            fair.clear_all_buddies(e);
        }
        picked
    }

    fn throttled_in_pick(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        cpu: CpuId,
    ) {
        fair.put_in_pick(rqs, platform, cpu);
    }

    #[inline]
    fn take_put_in_pick(fair: &mut Fair<Self>, cpu: CpuId) -> bool {
        core::mem::take(&mut fair.rule.queues[CfsRqId::of_cpu(cpu)].put_in_pick)
    }

    #[inline]
    fn check_preempt_wakeup(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        fair.preempt_at_wakeup(rqs, platform, curr, task, fork);
    }

    fn yield_fair(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        fair.let_pass(rqs, platform, task);
    }

    #[inline]
    fn is_ineligible_beside_others(_: &Fair<Self>, _: Pid, _: CpuId) -> bool {
        false
    }

    #[inline]
    fn is_buddy(fair: &Fair<Self>, e: EntityId) -> bool {
        let q = fair.cfs_rq_of(e);
        fair.features().cache_hot_buddy
            && (fair.cfs_rqs[q].next == Some(e) || fair.rule.queues[q].last == Some(e))
    }

    fn promises(fair: &Fair<Self>, load: &Load) -> Promises {
        fair.fair_promises(load)
    }

    fn candidates_of(fair: &Fair<Self>, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>) {
        fair.candidates_on(rqs, q, out);
    }

    fn terms_of_pick(fair: &Fair<Self>, q: CfsRqId, evidence: &mut Evidence) {
        evidence.term("min_vruntime_ns", fair.rule.queues[q].min_vruntime.0 as i64);
    }

    fn audit_queue(fair: &Fair<Self>, q: CfsRqId) -> Result<(), String> {
        fair.audit_state(q)
    }
}
