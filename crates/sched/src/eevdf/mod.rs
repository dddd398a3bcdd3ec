//! EEVDF, "earliest eligible virtual deadline first": Linux 6.6, 6.12 and 6.18, with their
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
//! | [`cfs_rq`] | V, and who is eligible |
//! | [`place`] | lag; where a task enters; what a new weight does |
//! | [`update_curr`] | charging the running entity; requests that are served |
//! | [`pick`] | whose turn it is |
//! | [`preempt`], [`buddies`] | protection, who interrupts whom, who is picked next |
//! | [`delayed_dequeue`] | sleepers that have had too much |
//! | [`timeline`], [`entity`] | how the earliest eligible deadline is found; weights |
//!
//! What any fair class of 6.x does:
//!
//! | file | what |
//! |---|---|
//! | [`enqueue`], [`class`] | coming and going, and what runs, on every level of the groups |
//! | [`task_group`], [`set_task_rq`], [`cpu_cgroup`] | task groups and their queues |
//! | [`update_shares`], [`throttle`] | what groups weigh, and what becomes of them without quota |
//! | [`load_avg`] | when load tracking ([`pelt`](crate::classes::pelt)) is brought up to date |
//! | [`domains`] | several CPUs: how the machine is divided, and who is near whom |
//! | [`select_task_rq`], [`find_idlest_cpu`] | where a task wakes, and where a child starts |
//! | [`load_balance`] | who takes work from whom, and when |
//! | [`find_busiest_group`], [`lb_stats`] | from which group, and how much of what |
//! | [`detach_tasks`], [`cfs_tasks`] | which tasks |
//! | [`lb_env`] | what balancing keeps |
//! | [`lb_cache`] | the same on a wide machine without looking at every CPU |
//! | [`hooks`] | how the core ([`core_6`](crate::classes::core_6)) asks the class |
//! | [`releases`], [`tunables`] | what the releases do differently; switches and tunables |
//! | [`rules`] | the rules of decisions by number, and their grounds |
//! | [`audit`] | promises and checks |
//!
//! The second half asks the first through few methods: `place_entity`, `entity_lag` and
//! `update_curr` when something comes or goes, `may_delay` and `requeue_delayed`,
//! `set_protection` when something runs, `check_preempt` and `is_ineligible_beside_others` when
//! something is moved. Another rule of picking under the same balancing answers these.
//!
//! State stands in files that do not know [`Fair`] ([`entity`], [`cfs_rq`], [`timeline`],
//! [`task_group`], [`cfs_tasks`], [`domains`], [`lb_env`], [`lb_stats`], [`lb_cache`],
//! [`tunables`]); rules are methods of `Fair`, and no file imports in a circle. Where rules call
//! each other in a circle the kernel does: the pick throttles a queue that has run out, which
//! dequeues its group, and picks anew; a dequeue charges, which may ask for a throttling.
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
//! both look at what has changed since last time, and O(CPUs / 32) ([`lb_cache`]).
//!
//! # Releases
//!
//! 6.6 has a tree by vruntime, knows no delayed dequeue and no custom slices, and its children
//! start with a full request. 6.12 brought those. 6.18 protects up to a point in virtual time, and
//! places anew what is reweighted. [`Version`] names each difference.

pub mod audit;
pub mod buddies;
pub mod cfs_rq;
pub mod cfs_tasks;
pub mod class;
pub mod cpu_cgroup;
pub mod delayed_dequeue;
pub mod detach_tasks;
pub mod domains;
pub mod enqueue;
pub mod entity;
pub mod find_busiest_group;
pub mod find_idlest_cpu;
pub mod flags;
pub mod hooks;
pub mod lb_cache;
pub mod lb_env;
pub mod lb_stats;
pub mod load_avg;
pub mod load_balance;
pub mod pick;
pub mod place;
pub mod preempt;
pub mod releases;
pub mod rules;
pub mod select_task_rq;
pub mod set_task_rq;
pub mod task_group;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod timeline;
pub mod tunables;
pub mod update_curr;
pub mod update_shares;

pub use releases::{ENTRY, Version};

use crate::classes::core_6::Core6;
use class::Fair;
use schedlab_core::BuildConfig;

/// Linux 6.6, 6.12 or 6.18.
pub type Eevdf = Core6<Fair>;

impl Eevdf {
    /// An idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> Eevdf {
        let domains = domains::build(&config.topology);
        let fair = Fair::new(version, &domains, config.hz);
        Core6::with_fair_class(fair, domains, config.hz)
    }
}
