//! The border between what every fair class of 5.x and 6.x does (groups, load tracking, choice of
//! CPU, balancing, quotas) and what makes a fair class the one it is: where an entity is placed,
//! who is next, and who interrupts whom.
//!
//! [`Fair`] is generic over a [`PickRule`], chosen when it is compiled, so that asking across the
//! border costs nothing. The shared half asks `R::...` at every place where the rules of picking
//! have a say; there are no others.

use super::cfs_rq::CfsRq;
use super::class::Fair;
use super::entity::Entity;
use super::flags::{DequeueFlags, EnqueueFlags};
use super::ids::{CfsRqId, EntityId};
use super::rule_state::RuleState;
use super::timeline::Order;
use crate::classes::{Pid, Rqs};
use alloc::string::String;
use alloc::vec::Vec;
use schedlab_core::{
    Candidate, CpuId, Evidence, Load, Platform, Promises, Rule, RuleDoc, SchedAttr, TimerKey,
};

/// The rules of picking, and what they keep.
pub trait PickRule: RuleState {
    /// The rules by which decisions are made that are not the shared half's.
    const RULES: &'static [RuleDoc];

    /// What the trees of waiting entities are ordered by.
    fn order(version: Self::Version) -> Order;

    /// Writes a tunable that is not the quotas'; name and range have been checked.
    fn set_tunable(fair: &mut Fair<Self>, name: &str, value: i64);

    /// A task's attributes have changed: its request, if it makes any.
    fn set_request(fair: &mut Fair<Self>, e: EntityId, attr: &SchedAttr);

    /// A queue has been made, the next in number.
    fn queue_made(fair: &mut Fair<Self>) {
        let _ = fair;
    }

    /// `e` is new.
    fn entity_made(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    /// `util_est_update`: the task of `e` sleeps; what it is going to use is estimated anew.
    fn estimate(fair: &mut Fair<Self>, e: EntityId) {
        fair.estimate_once(e);
    }

    // ---- coming into the world, going elsewhere ----

    /// `task_fork`: `task`, new and of whatever class, belongs on a queue of its parent's CPU.
    fn forked(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let _ = (fair, rqs, platform, task);
    }

    /// The task of `e` sleeps, and is about to be woken on another CPU.
    fn wakes_elsewhere(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    /// `task` sleeps, and leaves the class or its group.
    fn leaves_asleep(fair: &mut Fair<Self>, now_ns: u64, task: Pid) {
        let _ = (fair, now_ns, task);
    }

    /// `task` sleeps, and has come to the class or to another group.
    fn comes_asleep(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// The group of `e` counts as idle, or no longer does.
    fn idle_changed(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    // ---- what stands on a queue ----

    /// `entity` is about to enter the tree of `queue`.
    fn enters_tree(queue: &mut CfsRq, entity: &Entity);

    /// `entity` is about to leave the tree of `queue`.
    fn leaves_tree(queue: &mut CfsRq, entity: &Entity);

    /// `e`, which runs on `q` and has been off the queue, joins it again: before it is charged.
    fn place_curr(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, why: EnqueueFlags);

    /// `e` joins `q`, where everything has been charged and its weight is renewed. `is_curr`:
    /// [`place_curr`](PickRule::place_curr) has been called before.
    fn place(
        fair: &mut Fair<Self>,
        now_ns: u64,
        q: CfsRqId,
        e: EntityId,
        why: EnqueueFlags,
        is_curr: bool,
    );

    /// `e` is about to leave `q`. True: not yet, it stays queued though it sleeps.
    fn delays(
        fair: &mut Fair<Self>,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        how: DequeueFlags,
    ) -> bool;

    /// `e` leaves `q`; it is still counted there.
    fn leaves(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, how: DequeueFlags);

    /// `e` has left `q`.
    fn left(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, how: DequeueFlags);

    /// `e`, which sleeps and is queued still, is wanted again.
    fn requeue_delayed(fair: &mut Fair<Self>, platform: &mut Platform, e: EntityId);

    /// `reweight_entity`: `e` has the stored weight `weight` from now on. `inverse` comes from the
    /// table for tasks and is computed for groups.
    fn reweight(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        weight: u64,
        inverse: Option<u32>,
    );

    // ---- running ----

    /// `update_curr`: charges the running entity of `q` for the time since it was last charged.
    fn update_curr(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId);

    /// `e`, queued, begins to run on `q`.
    fn starts(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId);

    /// A CPU has switched to `task`, which did not run before.
    #[inline]
    fn turn_begins(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let _ = (fair, rqs, platform, task);
    }

    /// `cpu` is about to find out whose turn it is.
    #[inline]
    fn turn_ends(fair: &mut Fair<Self>, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        let _ = (fair, rqs, platform, cpu);
    }

    /// A fair task came to `cpu` or went.
    #[inline]
    fn others_changed(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let _ = (fair, rqs, platform, cpu);
    }

    /// A timer has fired. Whether it is one of these rules' own.
    fn timer(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) -> bool {
        let _ = (fair, rqs, platform, key);
        false
    }

    /// The tick found `e` running on `q`; it has been charged.
    fn entity_tick(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
    );

    /// `e` is nobody's buddy any more, and neither are those of its ancestors that became so with
    /// it.
    fn clear_buddies(fair: &mut Fair<Self>, e: EntityId);

    /// A group's task has gone to sleep: `parent` goes on, if it may, with another of its own.
    fn member_sleeps(fair: &mut Fair<Self>, parent: EntityId);

    /// Whose turn it is on queue `q`, and by which rule.
    fn pick_next_entity(fair: &mut Fair<Self>, q: CfsRqId) -> Option<(EntityId, Rule)>;

    /// A queue has been throttled in the pick of `cpu`, which begins anew.
    fn throttled_in_pick(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId);

    /// Whether the running task of `cpu` was put away in the pick that is over; asked once.
    #[inline]
    fn take_put_in_pick(fair: &mut Fair<Self>, cpu: CpuId) -> bool {
        let _ = (fair, cpu);
        false
    }

    /// `check_preempt_wakeup`: `task` has become runnable on a CPU where `curr` runs, both fair.
    fn check_preempt_wakeup(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        curr: Pid,
        task: Pid,
        fork: bool,
    );

    /// `yield_task_fair`: the running `task`, and not alone on its CPU, lets others pass.
    fn yield_fair(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid);

    // ---- balancing ----

    /// Whether `task` would be put behind those that run on `target`, and so is not moved there at
    /// first.
    fn is_ineligible_beside_others(fair: &Fair<Self>, task: Pid, target: CpuId) -> bool;

    /// Whether `e` is to run soon where it is.
    fn is_buddy(fair: &Fair<Self>, e: EntityId) -> bool;

    // ---- for those who ask ----

    /// What holds for tasks of the class, whatever they do.
    fn promises(fair: &Fair<Self>, load: &Load) -> Promises;

    /// The members of queue `q` as candidates.
    fn candidates_of(fair: &Fair<Self>, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>);

    /// What was compared in a pick on the CPU whose own queue is `q`, besides the candidates.
    fn terms_of_pick(fair: &Fair<Self>, q: CfsRqId, evidence: &mut Evidence);

    /// Checks what the rules keep of queue `q`, on which so many entities wait.
    ///
    /// # Errors
    /// What does not add up.
    fn audit_queue(fair: &Fair<Self>, q: CfsRqId) -> Result<(), String>;
}
