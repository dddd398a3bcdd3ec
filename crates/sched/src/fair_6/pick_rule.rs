//! The border between what every fair class of 5.x and 6.x does (groups, load tracking, choice of
//! CPU, balancing, quotas) and what distinguishes one fair class from another: where an entity is
//! placed, which entity is picked, and which task preempts which.
//!
//! [`Fair`] is generic over a [`PickRule`], which is chosen at compile time, so that a call across
//! the border costs nothing. The shared part calls `R::...` wherever the rules of picking have a
//! part in a decision, and nowhere else.

use super::cfs_rq::CfsRq;
use super::class::Fair;
use super::differences::Differences;
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

/// The rules of picking.
pub trait PickRule: RuleState {
    /// The decision rules that are not shared by all fair classes.
    const RULES: &'static [RuleDoc];

    /// The order of the trees of waiting entities.
    fn order(version: Differences<Self::Version>) -> Order;

    /// Writes a tunable, except the quota slice. Name and range have been checked.
    fn set_tunable(fair: &mut Fair<Self>, name: &str, value: i64);

    /// The tunable `name` has been written. Does what follows for the tasks.
    fn tunable_written(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, name: &str) {
        let _ = (fair, rqs, platform, name);
    }

    /// The nice value from which the weight of `task`, whose nice value is `nice`, is derived.
    #[inline]
    fn effective_nice(fair: &Fair<Self>, task: Pid, nice: i32) -> i32 {
        let _ = (fair, task);
        nice
    }

    /// A task's attributes have changed. Takes over its requested slice, if the rules have
    /// requests.
    fn set_request(fair: &mut Fair<Self>, e: EntityId, attr: &SchedAttr);

    /// A queue has been created, the next by number.
    fn queue_made(fair: &mut Fair<Self>) {
        let _ = fair;
    }

    /// The entity `e` has been created.
    fn entity_made(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    /// `util_est_update`: the task of `e` sleeps. Updates the estimate of its future utilisation.
    fn estimate(fair: &mut Fair<Self>, e: EntityId) {
        fair.estimate_once(e);
    }

    // ---- birth, death and migration ----

    /// `parent` (`None`: no task) has forked `child`, which has its attributes and is on no queue.
    #[inline]
    fn has_child(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        child: Pid,
        parent: Option<Pid>,
    ) {
        let _ = (fair, rqs, platform, child, parent);
    }

    /// `task`, of any class, has died.
    fn died(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// The dead `task` is no longer a zombie.
    fn reaped(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// `task` has come from another class, and is on its queue if it is runnable.
    fn joins_class(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// `task_fork`: `task`, which is new and of any class, belongs on a queue of its parent's CPU.
    fn forked(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let _ = (fair, rqs, platform, task);
    }

    /// The task of `e` sleeps, and is about to be woken on another CPU.
    fn wakes_elsewhere(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    /// `task` sleeps and leaves the class or its group.
    fn leaves_asleep(fair: &mut Fair<Self>, now_ns: u64, task: Pid) {
        let _ = (fair, now_ns, task);
    }

    /// `task` sleeps and has joined the class or another group.
    fn comes_asleep(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// The group of `e` has become idle, or is no longer idle.
    fn idle_changed(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    // ---- placement on a queue ----

    /// `entity` is about to enter the tree of `queue`.
    fn enters_tree(queue: &mut CfsRq, entity: &Entity);

    /// `entity` is about to leave the tree of `queue`.
    fn leaves_tree(queue: &mut CfsRq, entity: &Entity);

    /// `e`, which runs on `q` and has been off the queue, joins it again. Called before it is
    /// charged.
    fn place_curr(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, why: EnqueueFlags);

    /// `e` joins `q`. Everything on `q` has been charged, and the weight of `e` is current.
    /// `is_curr`: [`place_curr`](PickRule::place_curr) has been called before.
    fn place(
        fair: &mut Fair<Self>,
        now_ns: u64,
        q: CfsRqId,
        e: EntityId,
        why: EnqueueFlags,
        is_curr: bool,
    );

    /// `task` is about to leave its queues, to sleep or as if it slept.
    #[inline]
    fn goes_to_sleep(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let _ = (fair, rqs, platform, task);
    }

    /// The running `task` is about to sleep in a wait for a futex.
    fn waits_for_futex(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// `e` is about to leave `q`. Returns true if its dequeue is delayed: it stays queued although
    /// it sleeps.
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

    /// `e`, which sleeps but is still queued, is woken.
    fn requeue_delayed(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, e: EntityId);

    /// `reweight_entity`: gives `e` the stored weight `weight`. `inverse` comes from the table for
    /// tasks and is computed for groups.
    fn reweight(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        weight: u64,
        inverse: Option<u32>,
    );

    /// Where all tasks of a CPU are in one tree: renews the weight with which the task of `e`
    /// competes.
    fn renew_share(fair: &mut Fair<Self>, e: EntityId) {
        let _ = (fair, e);
    }

    // ---- running ----

    /// `update_curr`: charges the running entity of `q` for the time since it was last charged.
    fn update_curr(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId);

    /// `e`, which is queued, begins to run on `q`. `first`: it was picked, and is not a running
    /// task's entity that is put back after a change.
    fn starts(fair: &mut Fair<Self>, q: CfsRqId, e: EntityId, first: bool);

    /// A CPU has switched to `task`, which did not run before.
    #[inline]
    fn turn_begins(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let _ = (fair, rqs, platform, task);
    }

    /// `cpu` goes idle.
    #[inline]
    fn idles(fair: &mut Fair<Self>, rqs: &Rqs, platform: &mut Platform, cpu: CpuId) {
        let _ = (fair, rqs, platform, cpu);
    }

    /// A fair task has joined `cpu`.
    #[inline]
    fn joined(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId) {
        let _ = (fair, rqs, platform, cpu);
    }

    /// A timer has fired. Returns whether it belongs to these rules.
    fn timer(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, key: TimerKey) -> bool {
        let _ = (fair, rqs, platform, key);
        false
    }

    /// The tick found `e` running on `q`. It has been charged.
    fn entity_tick(
        fair: &mut Fair<Self>,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
    );

    /// `e` is no longer a buddy, and neither are its ancestors that became buddies with it.
    fn clear_buddies(fair: &mut Fair<Self>, e: EntityId);

    /// A task of a group has gone to sleep. `parent` continues, if possible, with another member.
    fn member_sleeps(fair: &mut Fair<Self>, parent: EntityId);

    /// The entity to pick from queue `q`, and the rule that picks it.
    fn pick_next_entity(fair: &mut Fair<Self>, q: CfsRqId) -> Option<(EntityId, Rule)>;

    /// `task` has been picked.
    #[inline]
    fn picked(fair: &mut Fair<Self>, task: Pid) {
        let _ = (fair, task);
    }

    /// A queue has been throttled during the pick of `cpu`, which starts over.
    fn throttled_in_pick(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, cpu: CpuId);

    /// Whether `put_prev` was called for the running task of `cpu` during the pick that has just
    /// ended. Clears the mark.
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

    /// Whether a yield has an effect on a task that is alone on its CPU.
    #[inline]
    fn yields_alone(fair: &Fair<Self>) -> bool {
        let _ = fair;
        false
    }

    /// `yield_task_fair`: the running `task` yields. It is not alone on its CPU, unless
    /// [`yields_alone`](PickRule::yields_alone).
    fn yield_fair(fair: &mut Fair<Self>, rqs: &mut Rqs, platform: &mut Platform, task: Pid);

    // ---- balancing ----

    /// Whether `task` would be placed behind the tasks that run on `target`, and is therefore not
    /// moved there at first.
    fn is_ineligible_beside_others(fair: &Fair<Self>, task: Pid, target: CpuId) -> bool;

    /// Whether `e` is expected to run soon on its present CPU.
    fn is_buddy(fair: &Fair<Self>, e: EntityId) -> bool;

    // ---- inspection ----

    /// Guarantees that hold for all tasks of the class.
    fn promises(fair: &Fair<Self>, load: &Load) -> Promises;

    /// The members of queue `q` as candidates.
    fn candidates_of(fair: &Fair<Self>, rqs: &Rqs, q: CfsRqId, out: &mut Vec<Candidate>);

    /// The terms compared in a pick on the CPU whose root queue is `q`, besides the candidates.
    fn terms_of_pick(fair: &Fair<Self>, q: CfsRqId, evidence: &mut Evidence);

    /// Checks the state that the rules keep of queue `q`.
    ///
    /// # Errors
    ///
    /// The inconsistency found.
    fn audit_queue(fair: &Fair<Self>, q: CfsRqId) -> Result<(), String>;
}
