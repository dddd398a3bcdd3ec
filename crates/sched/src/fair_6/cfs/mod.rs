//! CFS, the "completely fair scheduler", in its final form: Linux 6.1, and 5.10 as far as it is
//! described.
//!
//! # The algorithm
//!
//! Every entity has a **vruntime**: the time for which it has run, divided by its weight. The
//! entity with the smallest vruntime has received the least service. It is leftmost in the tree,
//! and runs. As it runs, its vruntime grows while the others' stay the same, so it moves to the
//! right until another entity is leftmost.
//!
//! ```text
//!    tree, by vruntime         min_vruntime: the smallest of all, never decreasing
//!    A ... C ...... B ..       a new task starts one slice to the right of it,
//!    ^ next to run             a sleeper that wakes at most half a latency to the left
//! ```
//!
//! How long does an entity run before the leftmost one is considered again? All runnable entities
//! share a **period**: the latency (6 ms, more on several CPUs) or, if there are many of them, one
//! minimum granularity for each. An entity's **slice** is its share of the period, in proportion to
//! its share of the total weight. At a tick, the running entity is preempted when it has used its
//! slice, or is a slice ahead of the leftmost one.
//!
//! A waking task preempts the running one if its vruntime is behind by more than the **wakeup
//! granularity**. To keep wakeups from disturbing tasks that cooperate, a queue may name three
//! *buddies*, which are honoured as long as that is not unfair by more than the wakeup granularity:
//! `next` (picked first), `last` (preempted, with its caches still warm) and `skip` (has yielded).
//!
//! The differences from the CFS of 2.6.32 ([`crate::cfs`]) are these. The period depends on *all*
//! tasks of the CPU, and every slice is at least the minimum granularity. A running task that is
//! picked again continues its slice. A waking task needs the full granularity, scaled by its own
//! weight. `next` is considered before `last`. No averages are kept of how tasks wake each other.
//! Everything around the rules of picking is shared with EEVDF: load tracking, and the balancing
//! that is based on it.
//!
//! # Where to read
//!
//! | file | subject |
//! |---|---|
//! | [`slice`](mod@slice) | period, slice |
//! | [`place`] | where an entity enters, and how vruntime is carried to other CPUs and groups |
//! | [`update_curr`] | charging the running entity, `min_vruntime`, the tick |
//! | [`pick`], [`buddies`] | which entity is picked |
//! | [`preempt`] | which task preempts which; yielding |
//! | [`reweight`] | changes of weight |
//! | [`util_est`] | estimated utilisation of sleeping tasks |
//! | [`state`] | state of queues and entities |
//! | [`releases`], [`tunables`] | differences between the releases; switches and tunables |
//! | [`rules`], [`promises`] | the decision rules by number, and their grounds; guarantees |
//!
//! [`fair_6`](super) contains what all fair classes of 5.x and 6.x share. It calls these files
//! through [`pick_rule`].
//!
//! # Cost
//!
//! Charge: O(depth of groups). Tick: O(depth^2), as a slice is computed level by level. Enqueue,
//! dequeue: O(depth * log n). Pick: O(depth). Choice of CPU and balancing: as in EEVDF.

pub mod buddies;
pub mod pick;
pub mod pick_rule;
pub mod place;
pub mod preempt;
pub mod promises;
pub mod releases;
pub mod reweight;
pub mod rules;
pub mod slice;
pub mod state;
#[cfg(test)]
mod tests;
pub mod tunables;
pub mod update_curr;
pub mod util_est;

pub use releases::Version;
pub use state::LeastVruntime;

use super::class::Fair;
use super::domains;
use crate::classes::core_6::Core6;
use schedlab_core::BuildConfig;

/// Linux 6.1 or 5.10.
pub type Cfs6 = Core6<Fair<LeastVruntime>>;

impl Cfs6 {
    /// The scheduler on an idle machine.
    pub fn with_version(version: Version, config: &BuildConfig) -> Cfs6 {
        let domains = match version {
            Version::V4_14 => domains::build_4_14(&config.topology),
            Version::V4_18 | Version::V4_19 | Version::V5_4 => domains::build_5_4(&config.topology),
            _ => domains::build(&config.topology),
        };
        let fair = Fair::new(version, &domains, config.hz);
        Core6::with_fair_class(fair, domains, config.hz)
    }
}
