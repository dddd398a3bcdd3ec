//! The state that a set of picking rules adds to the fair class, and the types that come with it:
//! its releases and its tunables.
//!
//! [`Fair`](super::class::Fair) is generic over a [`RuleState`]. The decisions themselves are in
//! [`PickRule`](super::pick_rule::PickRule), which extends it.

use super::balance_tunables::BalanceTunables;
use super::differences::{Differences, QuestionDoc, Switchable, shared_questions};
use crate::classes::bandwidth::BandwidthVersion;
use alloc::vec::Vec;
use core::fmt::Debug;
use schedlab_core::Tunable;

/// State that the picking rules keep, with the types of their releases and tunables.
pub trait RuleState: Sized + Default + Debug {
    /// The releases.
    type Version: FairVersion + Switchable;
    /// The tunables.
    type Tunables: FairTunables<Version = Self::Version>;
}

// The questions of `FairVersion`. The defaults describe 6.18.
shared_questions! {
    /// Whether entities request slices of their own, and groups take the smallest slice of their
    /// members.
    fn custom_slices(self) -> bool {
        true
    }

    /// Whether fair servers, instead of real-time throttling, keep real-time tasks from starving
    /// the others.
    fn has_fair_server(self) -> bool {
        true
    }

    /// Whether balancing distinguishes cores with several threads from CPUs: an idle core is first
    /// to balance, a core with two tasks is relieved, and groups are compared by their cores.
    #[inline]
    fn balances_cores(self) -> bool {
        true
    }

    /// Whether fork and exec sum over all CPUs of a group, not only over those that the task may
    /// use.
    #[inline]
    fn forks_count_forbidden_cpus(self) -> bool {
        true
    }

    /// Whether every domain with as many CPUs as a last-level cache renews the number of CPUs that
    /// wakeups examine in that cache (up to 7.0), not only the cache's own domain.
    #[inline]
    fn knows_caches_by_size(self) -> bool {
        true
    }

    /// Whether a waiting task that has changed its group may preempt as if it woke (7.0 on).
    fn checks_moved_tasks(self) -> bool {
        false
    }

    /// Whether a CPU with `SCHED_IDLE` tasks only is free for tasks that are `SCHED_IDLE`
    /// themselves (up to 7.0).
    #[inline]
    fn idle_tasks_join_idle_tasks(self) -> bool {
        true
    }

    /// Whether a wakeup searches as up to 5.18: for an idle core; then among as many CPUs as the
    /// idle time of its own CPU pays for (`SIS_PROP`), from the target on; and last among the
    /// threads of the target's core. The CPU used before the previous one is forgotten only when it
    /// is chosen, and that of a waker becomes its own CPU.
    #[inline]
    fn scans_by_idle_time(self) -> bool {
        false
    }

    /// Whether balancing works as before 5.12. A CPU that idles for less than a migration costs
    /// does not balance as it goes idle, whatever balancing costs. Between nodes nothing is moved
    /// as long as the busiest node has at most two tasks.
    #[inline]
    fn balances_before_5_12(self) -> bool {
        false
    }

    /// Whether a CPU balances when it goes idle only if its idle periods are on average at least as
    /// long as a migration costs, whatever balancing costs (up to 5.15). The time of its next
    /// balancing then follows from a domain's interval after that domain was balanced, not before.
    #[inline]
    fn newidle_needs_idle_time(self) -> bool {
        false
    }

    /// Whether the sums of a queue follow from its averages whenever an average changes by anything
    /// but time (up to 5.16). Otherwise a sum changes like its average, and has a lower limit.
    #[inline]
    fn sums_follow_averages(self) -> bool {
        false
    }

    /// Whether the sums of a queue have their lower limit after every change, not only after
    /// subtractions, and are compared with all of it (7.0 on).
    #[inline]
    fn sums_never_below_averages(self) -> bool {
        false
    }

    /// Whether a new task joins its queue's averages before it is enqueued, and a task that
    /// balancing moves leaves them after it was dequeued (up to 5.19).
    #[inline]
    fn attaches_outside_queueing(self) -> bool {
        false
    }

    /// Whether sums of a queue never have a lower limit when something leaves (up to 5.12). See
    /// [`sums_follow_averages`](FairVersion::sums_follow_averages) for what came next.
    #[inline]
    fn sums_have_no_limits(self) -> bool {
        false
    }

    /// Whether load is evened out even if the own group is above the domain's average (up to 5.14).
    #[inline]
    fn takes_load_above_average(self) -> bool {
        false
    }

    /// Whether the averages of a task that wakes on another CPU have decayed during the time for
    /// which its old CPU was idle (since 6.0).
    #[inline]
    fn decays_on_idle_cpus(self) -> bool {
        true
    }

    /// Whether an excess of idle CPUs is halved before the test whether nodes may keep it, and a
    /// node may have tasks for a quarter of its CPUs (5.12 to 5.17).
    #[inline]
    fn nodes_keep_a_quarter(self) -> bool {
        false
    }

    /// Whether nodes keep an excess of at most two tasks only as long as the busiest one has tasks
    /// for less than a quarter of its CPUs, and the parent's node keeps a child as long as it has
    /// tasks for less than a quarter of the domain's (5.12).
    #[inline]
    fn nodes_keep_busiest_quarter(self) -> bool {
        false
    }

    /// Whether a task that is moved to even out utilisation never exceeds the amount to move,
    /// however many attempts have failed (up to 5.17).
    #[inline]
    fn never_moves_too_much_util(self) -> bool {
        false
    }

    /// Whether a task that becomes `SCHED_IDLE` keeps its load average (a mistake of 4.15 to 6.10,
    /// corrected in the stable series, too).
    #[inline]
    fn idle_policy_keeps_load(self) -> bool {
        false
    }

    /// Whether a running task that is picked again becomes the newest on its CPU's list of tasks,
    /// like one that begins to run.
    #[inline]
    fn picked_again_is_newest(self) -> bool {
        false
    }

    /// Whether balancing comes before the pick when the previous thread was of a class above the
    /// fair one. A delayed task then counts as one that can be picked, and nothing is pulled if the
    /// pick finds only such tasks.
    #[inline]
    fn balances_before_pick(self) -> bool {
        true
    }

    /// Whether the minima of a tree are updated as soon as the slice of a group in it changes, and
    /// a group whose dequeue is delayed takes over the smallest slice of the queue it is on.
    /// Otherwise the former happens with the next change there. And the slice of the latter is 0 if
    /// the last task of the group went to sleep, and beyond all bounds if a group below it left.
    #[inline]
    fn slices_follow_at_once(self) -> bool {
        true
    }

    /// Whether queues keep the load of what is *queued* on them (`runnable_load_avg`), and that is
    /// the load of a CPU, not the load average, which includes sleepers (4.2 to 5.6).
    #[inline]
    fn tracks_runnable_load(self) -> bool {
        false
    }

    /// Whether the load sums of entities include their weights, as queues' sums do (up to 4.14).
    #[inline]
    fn sums_carry_weights(self) -> bool {
        false
    }

    /// Whether the utilisation of tasks is estimated when they sleep (since 4.17).
    #[inline]
    fn estimates_util(self) -> bool {
        true
    }

    /// Whether balancing, forks and execs compare groups by their average loads (up to 5.4), not by
    /// types with a quantity to even out for each (since 5.5).
    #[inline]
    fn balances_by_load(self) -> bool {
        false
    }

    /// Whether a wakeup takes a CPU whose tasks are all `SCHED_IDLE` for a free one (since 5.4).
    #[inline]
    fn searches_sched_idle(self) -> bool {
        true
    }

    /// Whether a change of the nice value reschedules at once: if it is lowered always, if it is
    /// raised if the task runs (up to 5.4). Otherwise the task is compared with the running one.
    #[inline]
    fn renice_reschedules(self) -> bool {
        false
    }

    /// Whether balancing also looks for the busiest CPU when there is nothing to move (up to 4.18).
    fn searches_without_amount(self) -> bool {
        false
    }

    /// Whether a task is never cache hot for another thread of its core (since 4.20).
    #[inline]
    fn cools_between_threads(self) -> bool {
        true
    }

    /// Whether a push takes a cache-hot task only after failures (up to 5.12), and not whichever
    /// may run at its destination.
    fn push_respects_heat(self) -> bool {
        false
    }

    /// Whether failures lead to a push whatever was to be evened out, and count from
    /// `cache_nice_tries + 1` after it (up to 5.4), not only if tasks were.
    fn pushes_for_any_reason(self) -> bool {
        false
    }

    /// Whether busy CPUs wait a jiffy less, so that they do not balance in step with idle ones
    /// (since 5.10).
    #[inline]
    fn busy_cpus_are_out_of_step(self) -> bool {
        true
    }

    /// Whether a task of load 0 reduces the amount to move by nothing (up to 5.3), not by 1.
    #[inline]
    fn moves_weightless_tasks(self) -> bool {
        false
    }

    /// Whether a newly idle CPU that finds its domain balanced waits longer from then on, and takes
    /// back the mark of imbalance even if all tasks were pinned (up to 4.19; corrected in longterm
    /// releases).
    fn newly_idle_waits_longer(self) -> bool {
        false
    }

    /// Whether a waking task goes to its waker's CPU if that is idle, wherever it is, and if the
    /// loads are equal (4.13 to 4.15).
    #[inline]
    fn idle_wakers_attract(self) -> bool {
        false
    }

    /// Whether a wakeup tries the CPU that the task used before its last one (since 4.16).
    #[inline]
    fn tries_recent_cpu(self) -> bool {
        true
    }

    /// Whether a small weight, as of a group without load, is 0 when it is shifted back, and not at
    /// least 2 (up to 5.5; corrected in longterm releases).
    #[inline]
    fn weights_may_vanish(self) -> bool {
        false
    }

    /// Whether a running task that moves to another group is rescheduled (since 5.6, and in
    /// longterm 5.4).
    fn move_reschedules(self) -> bool {
        true
    }

    /// Whether a queue that is throttled or comes back renews the averages and weights of the
    /// groups above that stay queued, too (since 5.6).
    #[inline]
    fn throttling_refreshes(self) -> bool {
        true
    }

    /// Whether the averages of a task that balancing moves stay with its old queue until that is
    /// next updated, as with a sleeper that wakes elsewhere (up to 4.14).
    #[inline]
    fn movers_leave_like_sleepers(self) -> bool {
        false
    }

    /// Whether the update of all averages of a CPU publishes a queue's load only if the queue's own
    /// update changes it, not if the update of an entity on it, which came first, has changed it
    /// already (up to 5.12; shown by 4.14).
    #[inline]
    fn blocked_entities_are_quiet(self) -> bool {
        false
    }

    /// Whether CPUs keep loads of several ages, of which balancing takes the smaller or larger one
    /// (`LB_BIAS`, `cpu_load`: up to 5.2).
    fn loads_of_several_ages(self) -> bool {
        false
    }

    /// Whether the threads of a core have less capacity than a core without threads (up to 5.0).
    fn threads_have_less_capacity(self) -> bool {
        false
    }

    /// Whether the estimated utilisation of a task that executes another program counts on its CPU
    /// when the least loaded one is sought (4.17 to 4.19).
    fn execs_keep_estimates(self) -> bool {
        false
    }

    /// Whether the use of a CPU by more urgent tasks is measured by their time in about the last
    /// second (`rt_avg`, up to 4.18), not by load tracking.
    fn measures_urgent_time(self) -> bool {
        false
    }

    /// Whether balancing examines the tasks of a CPU from the head of its list, the ones last
    /// queued first (up to 4.15), and picks do not change the list.
    #[inline]
    fn moves_from_the_head(self) -> bool {
        false
    }

    /// Whether the busiest CPU, when utilisation is evened out, is found by running and waiting
    /// tasks, not only by running ones.
    #[inline]
    fn waiting_is_utilisation(self) -> bool {
        true
    }

    /// Whether a new task's utilisation is computed with its stored weight. It is then nearly
    /// always half of its queue's spare utilisation.
    #[inline]
    fn first_util_by_stored_weight(self) -> bool {
        false
    }

    /// Whether a sleeping task's utilisation is estimated after it has left its queue, not before.
    #[inline]
    fn estimates_after_dequeue(self) -> bool {
        false
    }

    /// Whether all tasks of a CPU are in one tree, and groups only give weights (7.3 on).
    #[inline]
    fn has_one_tree(self) -> bool {
        false
    }

    /// Whether quotas are tested as soon as time is charged, and not when a task is put or picked
    /// (7.2 on).
    #[inline]
    fn throttles_at_charge(self) -> bool {
        false
    }

    /// Whether virtual time is real time divided by the stored weight, and sums use stored weights
    /// (7.1 on). Otherwise it is multiplied by an inverse from a table, and weights are shifted
    /// back.
    #[inline]
    fn divides_by_weight(self) -> bool {
        false
    }

    /// Whether the tasks of a group without quota leave one by one as they are picked, and tasks
    /// that are not picked stay queued. Otherwise the whole queue leaves at once.
    #[inline]
    fn throttles_tasks(self) -> bool {
        false
    }

    /// Whether all runtime of a period is handed out before the first queue is put back: other CPUs
    /// put theirs back by an interrupt, the timer's own CPU at the end of its
    /// handler.
    #[inline]
    fn distributes_first(self) -> bool {
        true
    }

    /// Whether balancing and forks count delayed tasks like others. (The runnable average does not
    /// contain them.)
    #[inline]
    fn balances_delayed_tasks(self) -> bool {
        false
    }

    /// Whether balancing moves a task without asking whether its dequeue is delayed.
    #[inline]
    fn moves_delayed_tasks(self) -> bool {
        false
    }

    /// Whether delayed tasks count among those that keep a synchronous waker's CPU from being
    /// chosen at once.
    #[inline]
    fn delayed_tasks_hold_waker(self) -> bool {
        false
    }

    /// Whether balancing continues past its limit of tasks to examine until it has found one that
    /// may run on the destination.
    #[inline]
    fn looks_until_movable(self) -> bool {
        false
    }

    /// Whether the weight of a group's entity is recomputed even if its queue is empty. (Load is
    /// then tracked on machines of one CPU, too.)
    #[inline]
    fn weighs_empty_groups(self) -> bool {
        self.renews_empty_groups()
    }

    /// Whether the weight of a group's entity is recomputed at every occasion, even if its queue is
    /// empty or its weight unchanged, and a queue reports every sufficiently large change of its
    /// load to its group, not only once in a millisecond.
    #[inline]
    fn renews_empty_groups(self) -> bool {
        false
    }
}

/// Switches of the choice of CPU at wakeups, of the releases that have them.
#[derive(Clone, Copy, Debug)]
pub struct WakeupFeatures {
    /// `WA_IDLE`: an idle waker's CPU, or one that a synchronous waker leaves, attracts.
    pub wa_idle: bool,
    /// `WA_WEIGHT`: less load attracts.
    pub wa_weight: bool,
    /// `SIS_UTIL`: utilisation limits the search.
    pub sis_util: bool,
    /// `SIS_PROP`: idle time limits the search.
    pub sis_prop: bool,
}

impl Default for WakeupFeatures {
    /// As since 5.19.
    fn default() -> WakeupFeatures {
        WakeupFeatures { wa_idle: true, wa_weight: true, sis_util: true, sis_prop: false }
    }
}

/// Tunables, as the shared part of the class sees them.
pub trait FairTunables: Copy + Debug {
    /// The release.
    type Version: FairVersion;

    /// The boot values of the release on a machine with `cpus` CPUs.
    fn new(version: Self::Version, cpus: u32) -> Self;

    /// Request length of new entities, ns. `0` where there are no requests.
    fn base_slice(&self) -> u32;

    /// The tunables of balancing.
    fn balancing(&self) -> &BalanceTunables;

    /// `NI_RANDOM`: whether newly idle CPUs balance less often if that achieves little.
    fn ni_random(&self) -> bool;

    /// Switches of the choice of CPU at wakeups.
    #[inline]
    fn wakeups(&self) -> WakeupFeatures {
        WakeupFeatures::default()
    }

    /// `LB_BIAS`: whether balancing hesitates to move load between CPUs (up to 5.2).
    #[inline]
    fn lb_bias(&self) -> bool {
        true
    }

    /// `LB_MIN`: whether balancing leaves tasks of little load where they are (up to 5.4).
    #[inline]
    fn lb_min(&self) -> bool {
        false
    }

    /// Adapts to a change of the number of online CPUs.
    fn rescale(&mut self, online: u32);

    /// All tunables with their values. `quota_slice_us` is the value of the quota slice.
    fn list(&self, quota_slice_us: i64) -> Vec<Tunable>;
}
