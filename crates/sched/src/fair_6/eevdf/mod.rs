//! EEVDF, "earliest eligible virtual deadline first": Linux 6.6, 6.12, 6.18 and 7.3, with their
//! real-time and deadline classes.
//!
//! # The algorithm
//!
//! Ideally every runnable task would run all the time, each at the rate that its weight is of all
//! weights. The queue's virtual time **V** advances as in that ideal; a task's **vruntime** is what
//! it really got, in the same measure (real time, divided by its weight). The difference is its
//! **lag**: positive, it is owed time; negative, it has had too much.
//!
//! ```text
//!    has had too much                          is owed time
//!    (vruntime > V: not eligible)     V        (vruntime <= V: eligible)
//! ```
//!
//! Tasks ask for time in *requests* of a **slice** (some ms). A request is due at the task's
//! virtual **deadline**: the vruntime at which it began, plus the slice divided by the weight. The
//! rule is in the name: of those that are **eligible**, the one with the **earliest virtual
//! deadline** runs. Being eligible keeps the CPU fairly divided; the deadline decides who is first,
//! so that a short slice means *sooner*, not *more*.
//!
//! The running task is **protected** from being passed until its request is served (6.18: until the
//! shortest of the others' requests would be), so that not every wakeup switches. Time is charged
//! at ticks and at events; when the request is found to be used up, the next one begins. There is
//! no bonus for sleepers: a task keeps its lag over a sleep, and that is all.
//!
//! # Where to read
//!
//! The rules of picking, which are EEVDF's own:
//!
//! | file | what |
//! |---|---|
//! | [`cfs_rq`](super::cfs_rq) | V, and who is eligible |
//! | [`place`] | lag; where a task enters; what a new weight does |
//! | [`update_curr`] | charging the running entity; requests that are served |
//! | [`pick`] | whose turn it is |
//! | [`preempt`], [`buddies`](super::buddies) | protection, who interrupts whom, who is picked next |
//! | [`delayed_dequeue`] | sleepers that have had too much |
//! | [`hrtick`] | ending turns between ticks (7.3) |
//! | [`releases`], [`tunables`] | what the releases do differently; switches and tunables |
//! | [`rules`], [`promises`] | the rules of decisions by number, and their grounds; promises |
//! | [`timeline`](super::timeline), [`entity`](super::entity) | how the earliest eligible deadline is found; weights |
//!
//! What every fair class of 6.x does stands in [`fair_6`](super), and asks these files through
//! [`pick_rule`].
//!
//! The other classes stand in [`classes`](crate::classes): [`deadline`](crate::classes::deadline)
//! and [`rt`](crate::classes::rt).
//!
//! # Cost
//!
//! Charge, tick: O(depth of groups). Enqueue, dequeue: O(depth * log n), n entities on a queue.
//! Pick: O(depth * log n), each delayed entity that comes up costs another. Choice of CPU: at most
//! `nr_idle_scan` looks, or the CPUs of a cache while a core may be idle; all CPUs at a fork.
//! Balancing: O(CPUs of the domain), 32 tasks. On the machine that is one domain of single CPUs
//! both look at what has changed since last time, and O(CPUs / 32) ([`lb_cache`](super::lb_cache)).
//!
//! # Releases
//!
//! 6.6 has a tree by vruntime, knows no delayed dequeue and no custom slices, and its children
//! start with a full request. 6.12 brought those. 6.18 protects up to a point in virtual time, and
//! places anew what is reweighted. 7.3, derived from 6.18, ends turns by a timer. [`Version`] names
//! each difference.

pub mod delayed_dequeue;
pub mod hrtick;
pub mod pick;
pub mod pick_rule;
pub mod place;
pub mod preempt;
pub mod promises;
pub mod releases;
pub mod rules;
#[cfg(test)]
pub(crate) mod tests;
pub mod tunables;
pub mod update_curr;

pub use pick_rule::EarliestDeadline;
pub use releases::{ENTRY, Version};

use super::class::Fair;
use super::domains;
use crate::classes::core_6::Core6;
use schedlab_core::BuildConfig;

/// Linux 6.6, 6.12, 6.18 or 7.3.
pub type Eevdf = Core6<Fair<EarliestDeadline>>;

impl Eevdf {
    /// An idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> Eevdf {
        let domains = domains::build(&config.topology);
        let fair = Fair::new(version, &domains, config.hz);
        Core6::with_fair_class(fair, domains, config.hz)
    }
}
