//! EEVDF, "earliest eligible virtual deadline first": Linux 6.6 to 7.3, with their real-time and
//! deadline classes.
//!
//! # The algorithm
//!
//! In an ideal machine all runnable tasks would run all the time, each at a rate in proportion to
//! its weight. The queue's virtual time **V** advances as in that ideal. A task's **vruntime** is
//! the service that it really received, in the same unit (real time, divided by its weight). The
//! difference is its **lag**. A task with positive lag is owed time; one with negative lag has
//! received too much.
//!
//! ```text
//!    has received too much                     is owed time
//!    (vruntime > V: not eligible)     V        (vruntime <= V: eligible)
//! ```
//!
//! A task requests CPU time one **slice** (a few ms) at a time. A request is due at a virtual
//! **deadline**: the task's vruntime at the start of the request, plus the slice divided by the
//! weight. The name states the rule: of the **eligible** tasks, the one with the **earliest virtual
//! deadline** runs.
//! Eligibility keeps the CPU fairly divided. The deadline decides which task is first, so that a
//! short slice means *sooner*, not *more*.
//!
//! The running task is **protected** from preemption until its request is served (6.18: until the
//! shortest request of the others would be), so that not every wakeup causes a switch. Time is
//! charged at ticks and at events. When the request is found to be used up, the next one begins.
//! There is no bonus for sleepers: a task keeps its lag across a sleep, and nothing else.
//!
//! # Where to read
//!
//! The rules of picking, which are specific to EEVDF:
//!
//! | file | subject |
//! |---|---|
//! | [`cfs_rq`](super::cfs_rq) | V and eligibility |
//! | [`place`] | lag; where a task enters; changes of weight |
//! | [`update_curr`] | charging the running entity; requests that are served |
//! | [`pick`] | which entity is picked |
//! | [`preempt`], [`buddies`](super::buddies) | protection, wakeup preemption, next buddies |
//! | [`delayed_dequeue`] | sleepers that have received too much |
//! | [`preempt_in_one_tree`] | wakeup preemption in 7.3 |
//! | [`hrtick`] | ending turns between ticks (7.1) |
//! | [`bore`] | BORE, a patch: long bursts make a task lighter |
//! | [`releases`], [`tunables`] | differences between the releases; switches and tunables |
//! | [`rules`], [`promises`] | the decision rules by number, and their grounds; guarantees |
//! | [`timeline`](super::timeline), [`entity`](super::entity) | the tree and its search; weights |
//!
//! [`fair_6`](super) contains what all fair classes of 6.x share. It calls these files through
//! [`pick_rule`].
//!
//! The other classes are in [`classes`](crate::classes): [`deadline`](crate::classes::deadline) and
//! [`rt`](crate::classes::rt).
//!
//! # Cost
//!
//! Charge, tick: O(depth of groups). Enqueue, dequeue: O(depth * log n) for n entities on a queue.
//! Pick: O(depth * log n), and the same again for each delayed entity that is removed. Choice of
//! CPU: at most `nr_idle_scan` CPUs, or the CPUs of a cache while a core may be idle; all CPUs at a
//! fork. Balancing: O(CPUs of the domain), 32 tasks. On a machine that is one domain of single CPUs
//! both fork and balancing examine only the CPUs that have changed since last time, and O(CPUs /
//! 32) blocks ([`lb_cache`](super::lb_cache)).
//!
//! # Releases
//!
//! 6.6 has a tree by vruntime, has neither delayed dequeue nor custom slices, and its children
//! start with a full request. 6.8 orders the tree by deadline. 6.12 introduced delayed dequeue and
//! custom slices. 6.14 places an entity again when its weight changes. 6.18 protects up to a point
//! in virtual time, and 6.19 lets children preempt only with a shorter slice. 7.1 ends turns by a
//! timer. 7.3 has one tree for all tasks of a CPU. [`Version`] names each difference, from the
//! first release to the last.

pub mod bore;
pub mod delayed_dequeue;
mod earliest_deadline;
pub mod hrtick;
pub mod pick;
pub mod pick_rule;
pub mod place;
pub mod preempt;
pub mod preempt_in_one_tree;
pub mod promises;
pub mod releases;
pub mod rules;
#[cfg(test)]
pub(crate) mod tests;
pub mod tunables;
pub mod update_curr;

pub use earliest_deadline::EarliestDeadline;
pub use releases::{ENTRY, Version};

use super::class::Fair;
use super::domains;
use crate::classes::core_6::Core6;
use schedlab_core::BuildConfig;

/// Linux 6.6 to 7.3.
pub type Eevdf = Core6<Fair<EarliestDeadline>>;

impl Eevdf {
    /// The scheduler on an idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> Eevdf {
        let domains = domains::build(&config.topology);
        let fair = Fair::new(version, &domains, config.hz);
        Core6::with_fair_class(fair, domains, config.hz)
    }

    /// Turns the scheduler of an idle machine into one with BORE.
    fn patch_with_bore(&mut self, patch: bore::Patch, hz: u32) {
        self.fair.apply_bore(patch, hz);
    }
}
