//! EEVDF's implementation of [`PickRule`]. Each method is implemented elsewhere.

use super::earliest_deadline::EarliestDeadline;
use super::releases::Version;
use super::{hrtick, rules};
use crate::classes::{ClassId, Pid, Rqs};
use crate::fair_6::cfs_rq::CfsRq;
use crate::fair_6::class::Fair;
use crate::fair_6::differences::Differences;
use crate::fair_6::entity::Entity;
use crate::fair_6::flags::{DequeueFlags, EnqueueFlags};
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::pick_rule::PickRule;
use crate::fair_6::rule_state::FairVersion as _;
use crate::fair_6::timeline::Order;
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    Candidate, CpuId, Evidence, Load, Platform, Promises, Rule, RuleDoc, SchedAttr, TimerKey,
};

impl PickRule for EarliestDeadline {
    const RULES: &'static [RuleDoc] = rules::RULES;

    fn order(version: Differences<Version>) -> Order {
        Order {
            by_deadline: version.tree_by_deadline(),
            exact_slices: version.minima_are_exact(),
            // Longest slices that are out of date differ even if no slice does.
            uniform_slices: !version.limits_lag_by_longest() || version.minima_are_exact(),
            max_slices: version.limits_lag_by_longest(),
        }
    }

    fn set_tunable(fair: &mut Fair<Self>, name: &str, value: i64) {
        fair.tunables.write(name, value, fair.online);
        fair.order.exact_slices = fair.tunables.exact_min_slice || fair.version.minima_are_exact();
        let keeps_slices = !matches!(name, "base_slice_ns" | "min_base_slice_ns");
        fair.order.uniform_slices &= keeps_slices || fair.se.is_empty();
    }

    fn tunable_written(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, name: &str) {
        fair.bore_tunable_written(rqs, platform, name);
    }

    #[inline]
    fn effective_nice(fair: &Fair<Self>, task: Pid, nice: i32) -> i32 {
        fair.effective_nice(task, nice)
    }

    #[inline]
    fn has_child(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        child: Pid,
        parent: Option<Pid>,
    ) {
        fair.burst_of_child(rqs, platform, child, parent);
    }

    fn died(fair: &mut Fair<Self>, task: Pid) {
        if fair.tunables.bore.is_some() {
            fair.rule.bursts.kin.die(task);
        }
    }

    fn reaped(fair: &mut Fair<Self>, task: Pid) {
        fair.rule.bursts.kin.reap(task);
    }

    fn joins_class(fair: &mut Fair<Self>, task: Pid) {
        fair.forget_burst(task);
    }

    #[inline]
    fn goes_to_sleep(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        fair.burst_ends_asleep(rqs, platform, task);
    }

    fn waits_for_futex(fair: &mut Fair<Self>, task: Pid) {
        fair.mark_futex_wait(task);
    }

    #[inline]
    fn picked(fair: &mut Fair<Self>, task: Pid) {
        fair.clear_futex_wait(task);
    }

    #[inline]
    fn yields_alone(fair: &Fair<Self>) -> bool {
        fair.tunables.bore.is_some()
    }

    fn set_request(fair: &mut Fair<Self>, e: EntityId, attr: &SchedAttr) {
        if fair.version.custom_slices() {
            fair.set_slice(e, attr);
        }
    }

    fn forked(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if fair.version.fork_charges_parent() && rqs.thread(task).class == ClassId::Fair {
            let q = fair.cfs_rq_of(fair.se_of(task));
            fair.update_curr(rqs, platform, q);
        }
    }

    #[inline]
    fn enters_tree(queue: &mut CfsRq, entity: &Entity) {
        queue.count_in(entity);
    }

    #[inline]
    fn leaves_tree(queue: &mut CfsRq, entity: &Entity) {
        queue.count_out(entity);
    }

    #[inline]
    fn place_curr(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, why: EnqueueFlags) {
        fair.place_entity(q, e, fair.may_request_half(why));
    }

    #[inline]
    fn place(
        fair: &mut Fair<Self>,
        _: u64,
        q: CfsRqId,
        e: EntityId,
        why: EnqueueFlags,
        is_curr: bool,
    ) {
        if !is_curr {
            fair.place_entity(q, e, fair.may_request_half(why));
        }
    }

    #[inline]
    fn delays(
        fair: &mut Fair<Self>,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        how: DequeueFlags,
    ) -> bool {
        let delays =
            fair.may_delay(e, how) && !fair.cfs_rqs[q].eligible(&fair.se, fair.se[e].vruntime);
        if delays {
            fair.delay_dequeue(platform, q, e);
        }
        delays
    }

    #[inline]
    fn leaves(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, how: DequeueFlags) {
        fair.keep_lag(q, e, how);
    }

    #[inline]
    fn left(_: &mut Fair<Self>, _: CfsRqId, _: EntityId, _: DequeueFlags) {}

    fn requeue_delayed(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, e: EntityId) {
        fair.requeue_delayed(rqs, platform, e);
    }

    fn reweight(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        weight: u64,
        inverse: Option<u32>,
    ) {
        fair.reweight(rqs, platform, e, weight, inverse);
    }

    fn renew_share(fair: &mut Fair<Self>, e: EntityId) {
        fair.renew_share(e);
    }

    #[inline]
    fn update_curr(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        fair.update_curr(rqs, platform, q);
    }

    #[inline]
    fn starts(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, first: bool) {
        if first || !fair.version.protects_only_the_picked() {
            fair.set_protection(q, e);
        }
    }

    #[inline]
    fn turn_begins(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        fair.hrtick_start_fair(rqs, platform, task);
    }

    #[inline]
    fn idles(fair: &mut Fair<Self>, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        fair.hrtick_clear(rqs, platform, cpu);
    }

    #[inline]
    fn joined(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        fair.hrtick_update(rqs, platform, cpu);
    }

    fn timer(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) -> bool {
        let cpu = hrtick::cpu_of_timer(rqs, key);
        if let Some(cpu) = cpu {
            fair.hrtick_fires(rqs, platform, cpu);
        }
        cpu.is_some()
    }

    #[inline]
    fn entity_tick(_: &mut Fair<Self>, _: &mut Rqs, _: &mut Platform, _: CfsRqId, _: EntityId) {}

    #[inline]
    fn clear_buddies(fair: &mut Fair<Self>, e: EntityId) {
        fair.clear_next_buddy(e);
    }

    fn member_sleeps(fair: &mut Fair<Self>, parent: EntityId) {
        let below = fair.info[parent].my_q;
        let whole_groups = !fair.version.throttles_tasks();
        if whole_groups && below.is_some_and(|q| fair.is_throttled_below(q)) {
            return;
        }
        fair.set_next_buddy(Some(parent));
    }

    #[inline]
    fn pick_next_entity(fair: &mut Fair<Self>, q: CfsRqId) -> Option<(EntityId, Rule)> {
        fair.buddy_or_eevdf(q, true)
    }

    fn throttled_in_pick(_: &mut Fair<Self>, _: &mut Rqs, _: &mut Platform, _: CpuId) {}

    #[inline]
    fn check_preempt_wakeup(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    ) {
        match fair.version.has_one_tree() {
            true => fair.check_preempt_in_one_tree(rqs, platform, curr, task, fork),
            false => fair.check_preempt_wakeup(rqs, platform, curr, task, fork),
        }
    }

    fn yield_fair(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        fair.yield_fair(rqs, platform, task);
    }

    #[inline]
    fn is_ineligible_beside_others(fair: &Fair<Self>, task: Pid, target: CpuId) -> bool {
        fair.is_ineligible_beside_others(task, target)
    }

    #[inline]
    fn is_buddy(fair: &Fair<Self>, e: EntityId) -> bool {
        fair.cfs_rqs[fair.tree_of(e)].next == Some(e)
    }

    fn promises(fair: &Fair<Self>, load: &Load) -> Promises {
        fair.fair_promises(load)
    }

    fn candidates_of(fair: &Fair<Self>, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>) {
        fair.candidates_on(rqs, q, out);
    }

    fn terms_of_pick(fair: &Fair<Self>, q: CfsRqId, evidence: &mut Evidence) {
        evidence.term("avg_vruntime_ns", fair.cfs_rqs[q].avg_vruntime(&fair.se).0 as i64);
    }

    fn audit_queue(fair: &Fair<Self>, q: CfsRqId) -> Result<(), String> {
        if !fair.rule.bursts.kin.is_sound() {
            return Err("the tree of processes is inconsistent".into());
        }
        fair.audit_eligible(q)
    }
}
