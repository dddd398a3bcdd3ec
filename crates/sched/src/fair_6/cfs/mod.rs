//! CFS, the "completely fair scheduler", as it was at its end: Linux 6.1, and 5.10 as far as it is
//! described.
//!
//! # The algorithm
//!
//! Every entity has a **vruntime**: the time that it has run, divided by its weight. Whoever has
//! the least has been served worst, stands leftmost in the tree, and runs. As long as it runs its
//! vruntime grows, the others' do not, and so it moves to the right until somebody else is
//! leftmost.
//!
//! ```text
//!    tree, by vruntime         min_vruntime: the least of all, never going back
//!    A ... C ...... B ..       a newcomer starts one slice to the right of it,
//!    ^ next to run             a sleeper that wakes at most half a latency to the left
//! ```
//!
//! How long before it is checked who is leftmost? All that are runnable share a **period**: the
//! latency (6 ms, more on several CPUs), or a least granularity for each if they are many. An
//! entity's **slice** is the part of the period that its weight is of all. At a tick the running
//! one gives way when it has had its slice, or is a slice ahead of the leftmost.
//!
//! A task that wakes interrupts the running one if it is behind it by more than the **wakeup
//! granularity**. So that not every wakeup tears apart what belongs together, a queue may name
//! three *buddies*, which are heeded as long as it is not unfair by more than that granularity:
//! `next` (picked first), `last` (who was interrupted, and still has warm caches) and `skip` (who
//! has yielded).
//!
//! What differs from the CFS of 2.6.32 ([`crate::cfs`]): the period follows *all* tasks of the CPU
//! and every slice is at least the least granularity; a running task that is picked again goes on
//! in its slice; a waking task needs the full granularity, by its own weight; `next` is asked
//! before `last`; nobody keeps averages of how tasks wake each other. And all around it is what
//! EEVDF has too: load tracking, and the balancing that rests on it.
//!
//! # Where to read
//!
//! | file | what |
//! |---|---|
//! | [`slice`](mod@slice) | period, slice |
//! | [`place`] | where an entity enters, what becomes of vruntime on other CPUs and in other groups |
//! | [`update_curr`] | charging the running entity, `min_vruntime`, the tick |
//! | [`pick`], [`buddies`] | whose turn it is |
//! | [`preempt`] | who interrupts whom; yielding |
//! | [`reweight`] | another weight |
//! | [`util_est`] | what a task is going to use of a CPU |
//! | [`state`] | what is kept of queues and entities |
//! | [`releases`], [`tunables`] | what the releases do differently; switches and tunables |
//! | [`rules`], [`promises`] | the rules of decisions by number, and their grounds; promises |
//!
//! What every fair class of 5.x and 6.x does stands in [`fair_6`](super), and asks these files
//! through [`pick_rule`].
//!
//! # Cost
//!
//! Charge: O(depth of groups). Tick: O(depth^2), as a slice is found level by level. Enqueue,
//! dequeue: O(depth * log n). Pick: O(depth). Choice of CPU and balancing: as EEVDF.

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
    /// An idle machine.
    pub fn with_version(version: Version, config: &BuildConfig) -> Cfs6 {
        let domains = domains::build(&config.topology);
        let fair = Fair::new(version, &domains, config.hz);
        Core6::with_fair_class(fair, domains, config.hz)
    }
}
