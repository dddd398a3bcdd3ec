//! The releases, and the differences between them.

use super::O1;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

/// The default release. The others are described by their differences from it.
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

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("o_1"),
    title: Cow::Borrowed("O(1) scheduler"),
    summary: Cow::Borrowed(
        "two arrays of 140 lists per CPU; a task that often sleeps gets a better priority",
    ),
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

/// Lengths of slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slices {
    /// 10 to 200 ms, evenly spread over the nice values.
    Linear,
    /// 5 to 100 ms above nice 0. Below nice 0 it is four times the step, up to 800 ms.
    FourTimesBelowZero,
}

/// How the interactivity estimate moves (`estimator.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimator {
    /// Sleep earns a multiple; `interactive_credit` is a second, slow memory.
    InteractiveCredit,
    /// Running costs a fraction. There is no credit.
    DividedCost,
}

/// The CPU on which a woken task is queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeCpu {
    /// Its last CPU, unless a synchronous waker pulls it to its own.
    SyncPull,
    /// Its waker's CPU if that does not upset the balance (`SD_WAKE_AFFINE`), else its last one.
    Affine,
}

/// How CPUs are balanced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Balancing {
    /// By number of tasks. The migration thread only moves tasks that affinity does not allow to
    /// stay.
    ByNumber,
    /// By weight, in scheduling domains, with active balancing. Every queue has its own clock,
    /// which stands still between its ticks and `schedule()` calls.
    ByWeight,
}

/// The part of a dead child's unused first slice that its parent gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitRule {
    /// All of it, up to the longest possible slice.
    UpToMaxTimeslice,
    /// All of it if both are on the same CPU, up to a full slice of the child. Otherwise nothing.
    SameCpu,
}

/// A release: the differences, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The release.
    pub name: &'static str,
    /// Lengths of slices.
    pub slices: Slices,
    /// The interactivity estimator.
    pub estimator: Estimator,
    /// Whether the threshold of interactivity, which rises with nice, is rounded toward zero, not
    /// down.
    pub delta_rounds_toward_zero: bool,
    /// The CPU of a woken task.
    pub wake_cpu: WakeCpu,
    /// Balancing.
    pub balancing: Balancing,
    /// Whether `SCHED_BATCH` exists: such tasks are never interactive, and enter the expired array
    /// when they wake.
    pub batch: bool,
    /// Whether the estimate of real-time tasks is also kept, and a woken task always moves to the
    /// tail of its list when it is picked. Otherwise it moves only if its priority has changed.
    pub requeues_every_pick: bool,
    /// Whether a new priority is computed when an interactive task's slice is split.
    pub split_renews_prio: bool,
    /// Whether interactive tasks also lose their privilege when a task with a better nice value
    /// waits in expired (`best_expired_prio`).
    pub better_expired_starves: bool,
    /// Whether a task that creates a thread continues to run. Otherwise every child runs before its
    /// parent.
    pub threads_run_on_after_fork: bool,
    /// Whether a parent that gives away its last jiffy pays with a whole tick, balancing included.
    /// Otherwise it pays with the charge of a tick.
    pub last_jiffy_costs_a_tick: bool,
    /// Whether a change of nice removes the bonus until the next wakeup or end of slice.
    pub nice_drops_bonus: bool,
    /// Whether a change of policy removes the bonus until the next wakeup or end of slice.
    pub setscheduler_drops_bonus: bool,
    /// Use of a child's first slice at its exit.
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
