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
//! | file | what |
//! |---|---|
//! | [`cfs_rq`] | V, and who is eligible |
//! | [`place`] | lag; where a task enters; what a new weight does |
//! | [`pick`] | charging, protection, whose turn it is, who interrupts whom |
//! | [`enqueue`] | coming and going; delayed dequeue |
//! | [`timeline`], [`entity`] | how the earliest eligible deadline is found; weights |
//! | [`task_group`] | task groups |
//! | [`load_avg`] | when load tracking ([`pelt`](crate::classes::pelt)) is brought up to date |
//! | [`domains`] | several CPUs: how the machine is divided, and who is near whom |
//! | [`select_task_rq`], [`find_idlest_cpu`] | where a task wakes, and where a child starts |
//! | [`load_balance`], [`find_busiest_group`], [`detach_tasks`] | who takes work from whom, when, how much, and which tasks |
//! | [`lb_cache`] | the same on a wide machine without looking at every CPU |
//! | [`class`] | the class itself, and what runs |
//! | [`kernel`] | the core around the classes: `schedule()`, wakeups, system calls |
//! | [`releases`], [`tunables`] | what the releases do differently; switches and tunables |
//! | [`audit`] | promises and checks |
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
pub mod cfs_rq;
pub mod class;
pub mod detach_tasks;
pub mod domains;
pub mod enqueue;
pub mod entity;
pub mod find_busiest_group;
pub mod find_idlest_cpu;
pub mod kernel;
pub mod lb_cache;
pub mod load_avg;
pub mod load_balance;
pub mod pick;
pub mod place;
pub mod releases;
pub mod select_task_rq;
pub mod task_group;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod timeline;
pub mod tunables;

pub use kernel::Eevdf;
pub use releases::Version;

use crate::classes::Rqs;
use crate::classes::deadline::Deadline;
use crate::classes::rt::{RealTime, RtRules};
use alloc::boxed::Box;
use class::Fair;
use schedlab_core::{BuildConfig, Capabilities, Entry, Origin, Policy, Release};

/// The default release. The others are described by what differs.
const DEFAULT: Release = Release {
    version: "6.18",
    also: &["6.18.15"],
    summary: "the running task is protected up to a point in virtual time",
    golden: &[("eevdf", "6.18.15"), ("deadline", "6.18.15")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: 4096,
    policies: &Policy::ALL,
    can: Capabilities {
        groups: true,
        quotas: true,
        idle_groups: true,
        nohz: true,
        ..Capabilities::BASIC
    },
    kernel: None,
    build: |config| Box::new(Eevdf::new(Version::V6_18, config)),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: "eevdf",
    title: "Earliest eligible virtual deadline first",
    summary: "of the tasks that are owed time, the one whose request is due first runs",
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "6.12",
            also: &["6.12.117"],
            summary: "delayed dequeue, custom slices",
            golden: &[("eevdf", "6.12.117")],
            build: |config| Box::new(Eevdf::new(Version::V6_12, config)),
            ..DEFAULT
        },
        Release {
            version: "6.6",
            also: &["6.6.93"],
            summary: "the first EEVDF: sorted by vruntime, lag kept over sleeps of any length",
            golden: &[("eevdf", "6.6.93")],
            build: |config| Box::new(Eevdf::new(Version::V6_6, config)),
            ..DEFAULT
        },
    ],
};

impl Eevdf {
    /// An idle machine.
    pub fn new(version: Version, config: &BuildConfig) -> Eevdf {
        let cpus = config.topology.cpus();
        let real_time = RtRules {
            throttling: !version.has_fair_server(),
            // RT_RUNTIME_SHARE is off since 5.10.
            runtime_share: false,
            push_pull: true,
        };
        let mut deadline = Deadline::new(cpus);
        if version.has_fair_server() {
            let fits = deadline.set_fair_server(50_000_000, 1_000_000_000);
            debug_assert!(fits.is_ok(), "5 % of an empty machine");
        }
        let domains = domains::build(&config.topology);
        let fair = Fair::new(version, &domains, config.hz);
        Eevdf {
            core: Rqs::new(domains),
            deadline,
            rt: RealTime::new(real_time, cpus, config.hz),
            fair,
        }
    }
}
