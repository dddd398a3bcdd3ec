//! The releases, and what differs between them.

use super::O1;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

/// The default release. The others are described by what differs.
const DEFAULT: Release = Release {
    version: "2.6.0",
    also: &["2.6.0-test9"],
    summary: "slices of 10 to 200 ms, interactive credit, balancing by number of tasks",
    golden: &[("o_1", "2.6.0")],
    hz_default: 1000,
    hz_range: (100, 1024),
    cpus_max: CPUS_MAX,
    policies: &[Policy::Other, Policy::Fifo, Policy::RoundRobin],
    can: Capabilities::BASIC,
    kernel: None,
    build: Build::Ordinary(|config| Box::new(O1::new(Version::V2_6_0, config))),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("o_1"),
    title: Cow::Borrowed("O(1) scheduler"),
    summary: Cow::Borrowed("two arrays of 140 lists a CPU; who sleeps much gets a better priority"),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "2.6.22",
            also: &[],
            summary: "the last form: slices of 5 to 800 ms, no credit, balancing by weight, \
                      SCHED_BATCH",
            golden: &[("o_1_2622", "2.6.22")],
            policies: &[Policy::Other, Policy::Batch, Policy::Fifo, Policy::RoundRobin],
            build: Build::Ordinary(|config| Box::new(O1::new(Version::V2_6_22, config))),
            ..DEFAULT
        },
    ],
};

/// How long slices are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slices {
    /// 10 to 200 ms, evenly spread over the nice values.
    Linear,
    /// 5 to 100 ms above nice 0, four times the step, up to 800 ms, below.
    FourTimesBelowZero,
}

/// How the interactivity estimate moves (`estimator.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimator {
    /// Sleep earns a multiple; `interactive_credit` is a second, slow memory.
    InteractiveCredit,
    /// Running costs a fraction; no credit.
    DividedCost,
}

/// Which CPU a woken task is queued on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeCpu {
    /// Its last CPU, but a synchronous waker pulls it to its own.
    SyncPull,
    /// Its waker's CPU, if that does not upset the balance (`SD_WAKE_AFFINE`); else its last one.
    Affine,
}

/// How CPUs are balanced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Balancing {
    /// By number of tasks; the migration thread moves only what affinity forbids to stay.
    ByNumber,
    /// By weight, in scheduling domains, with active balancing. Every queue has a clock of its own,
    /// which stands still between its ticks and `schedule()` calls.
    ByWeight,
}

/// What a dead child's unused first slice is worth to its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitRule {
    /// All of it, up to the longest slice there is.
    UpToMaxTimeslice,
    /// All of it on the same CPU, up to a full slice of the child; else nothing.
    SameCpu,
}

/// A release: what differs between them, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The release.
    pub name: &'static str,
    /// Lengths of slices.
    pub slices: Slices,
    /// The interactivity estimator.
    pub estimator: Estimator,
    /// The threshold of interactivity, which rises with nice, is rounded toward zero; otherwise
    /// down.
    pub delta_rounds_toward_zero: bool,
    /// The CPU of a woken task.
    pub wake_cpu: WakeCpu,
    /// Balancing.
    pub balancing: Balancing,
    /// `SCHED_BATCH` tasks are never interactive, and enter the expired array when they wake.
    pub batch: bool,
    /// The estimate of real-time tasks is kept too, and a woken task always moves to the tail of
    /// its list when it is picked; otherwise only if its priority has changed.
    pub requeues_every_pick: bool,
    /// A new priority is computed when an interactive task's slice is split.
    pub split_renews_prio: bool,
    /// Interactive tasks also lose their privilege when a task of a better nice value waits in
    /// expired (`best_expired_prio`).
    pub better_expired_starves: bool,
    /// A thread's fork does not preempt it; otherwise every child runs before its parent.
    pub threads_run_on_after_fork: bool,
    /// A parent that gives away its last jiffy pays with a whole tick, balancing included;
    /// otherwise with the charge of a tick.
    pub last_jiffy_costs_a_tick: bool,
    /// A change of nice takes the bonus away until the next wakeup or end of slice.
    pub nice_drops_bonus: bool,
    /// A change of policy takes the bonus away until the next wakeup or end of slice.
    pub setscheduler_drops_bonus: bool,
    /// The child's first slice at exit.
    pub exit: ExitRule,
}

impl Version {
    /// 2.6.0 (December 2003), the first stable release that had it.
    pub const V2_6_0: Version = Version {
        name: "2.6.0",
        slices: Slices::Linear,
        estimator: Estimator::InteractiveCredit,
        delta_rounds_toward_zero: true,
        wake_cpu: WakeCpu::SyncPull,
        balancing: Balancing::ByNumber,
        batch: false,
        requeues_every_pick: true,
        split_renews_prio: true,
        better_expired_starves: false,
        threads_run_on_after_fork: false,
        last_jiffy_costs_a_tick: true,
        nice_drops_bonus: true,
        setscheduler_drops_bonus: true,
        exit: ExitRule::UpToMaxTimeslice,
    };

    /// 2.6.22 (July 2007), the last before CFS: scheduling domains, load weights, a simpler
    /// estimator.
    pub const V2_6_22: Version = Version {
        name: "2.6.22",
        slices: Slices::FourTimesBelowZero,
        estimator: Estimator::DividedCost,
        delta_rounds_toward_zero: false,
        wake_cpu: WakeCpu::Affine,
        balancing: Balancing::ByWeight,
        batch: true,
        requeues_every_pick: false,
        split_renews_prio: false,
        better_expired_starves: true,
        threads_run_on_after_fork: true,
        last_jiffy_costs_a_tick: false,
        nice_drops_bonus: false,
        setscheduler_drops_bonus: false,
        exit: ExitRule::SameCpu,
    };
}
