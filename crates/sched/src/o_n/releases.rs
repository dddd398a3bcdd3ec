//! The releases, and the differences between them.

use super::OrderN;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

const POLICIES: &[Policy] = &[Policy::Other, Policy::Fifo, Policy::RoundRobin];

/// HZ was fixed for each architecture: 100 on i386, 1024 on Alpha. The table of slices goes from
/// below 200 to above 1600.
const HZ_2_4: (u32, u32) = (100, 4096);

/// The default release. The others are described by their differences from it.
const DEFAULT: Release = Release {
    version: "2.4.19",
    also: &["2.4.17", "2.4.18"],
    summary: "woken tasks enter the run queue at its head",
    golden: &[("o_n", "2.4.19")],
    hz_default: 100,
    hz_range: HZ_2_4,
    cpus_max: CPUS_MAX,
    policies: POLICIES,
    can: Capabilities::BASIC,
    kernel: None,
    build: Build::Ordinary(|config| Box::new(OrderN::new(Version::V2_4_19, config))),
};

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("o_n"),
    title: Cow::Borrowed("The O(n) scheduler"),
    summary: Cow::Borrowed(
        "one list for all CPUs; each pick walks it for the largest goodness: ticks left, \
              nice, last CPU, same memory",
    ),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "2.4.16",
            also: &[],
            summary: "as 2.4.19, but a hyper-threaded core whose two CPUs are idle is not \
                preferred",
            golden: &[],
            build: Build::Ordinary(|config| Box::new(OrderN::new(Version::V2_4_16, config))),
            ..DEFAULT
        },
        Release {
            version: "2.4.22",
            also: &[
                "2.4.20", "2.4.21", "2.4.23", "2.4.24", "2.4.25", "2.4.26", "2.4.27", "2.4.28",
                "2.4.29", "2.4.30", "2.4.31", "2.4.32", "2.4.33", "2.4.34", "2.4.35", "2.4.36",
                "2.4.37",
            ],
            summary: "woken tasks enter the run queue at its tail; the tick leaves FIFO tasks \
                      alone",
            golden: &[("o_n", "2.4.22")],
            build: Build::Ordinary(|config| Box::new(OrderN::new(Version::V2_4_22, config))),
            ..DEFAULT
        },
        Release {
            version: "2.2",
            also: &["2.2.1"],
            summary: "slices of 210 ms; a woken task is compared with the waker only; no affinity",
            can: Capabilities { affinity: false, ..Capabilities::BASIC },
            golden: &[("o_n", "2.2.1")],
            hz_range: (100, 100),
            build: Build::Ordinary(|config| Box::new(OrderN::new(Version::V2_2, config))),
            ..DEFAULT
        },
    ],
};

/// A release: the differences, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The release.
    pub name: &'static str,
    /// Lengths of slices.
    pub slices: Slices,
    /// Goodness of a task that has just yielded. With 0 it counts when the end of an epoch is
    /// determined, with -1 it does not.
    pub yielded_goodness: i32,
    /// The counter that a tick must leave for the running task to continue. With 0, n ticks last n
    /// + 1.
    pub least_counter: i32,
    /// Whether the tick asks a FIFO task without ticks to reschedule (it is normally picked again).
    pub tick_asks_fifo: bool,
    /// Whether woken tasks enter the runqueue at its head, not at its tail.
    pub enqueues_at_head: bool,
    /// Whether `sched_setscheduler` moves the task to the head of the runqueue.
    pub setscheduler_moves_first: bool,
    /// Whether the walk is repeated after an epoch. If not, the first task without ticks in the
    /// list runs.
    pub picks_again_after_epoch: bool,
    /// Whether an idle task keeps the address space of the task before it, so that tasks with that
    /// address space have the bonus when they come back.
    pub has_lazy_mm: bool,
    /// Whether woken and preempted tasks are compared with the tasks that run on all CPUs (2.4's
    /// `reschedule_idle`), not only with the waking CPU's task.
    pub looks_at_all_cpus: bool,
    /// Whether `sched_yield` does nothing when no task waits.
    pub yield_counts_waiting: bool,
    /// Whether forking preserves the sum of ticks: the child gets an odd tick, a parent that is
    /// left with none must reschedule, and it gets a dead child's ticks back.
    pub keeps_the_sum: bool,
    /// Whether a forked child has its parent's `processor`. If not, on several CPUs it has none
    /// until it runs, and no CPU is its last one.
    pub children_have_a_cpu: bool,
    /// Whether the idle tasks, except that of CPU 0, get ticks in epochs. As their slice is 0, what
    /// they lack (they begin at -100) is halved until -1 is left.
    pub idle_tasks_have_epochs: bool,
    /// Whether a task that blocks in this instant still counts on its CPU when a task starts from
    /// outside the workload. (A convention of the golden schedules. The kernel has no such tasks.)
    pub counts_who_blocks: bool,
    /// Whether `cpus_allowed` exists.
    pub has_affinity: bool,
    /// Whether an idle CPU whose hyper-threaded sibling is also idle is taken at once.
    pub knows_siblings: bool,
}

/// Lengths of slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slices {
    /// 20 - nice ticks, some 200 ms at nice 0 (2.2's `priority`).
    Priority,
    /// About 60 ms at nice 0, whatever HZ is (2.4's `NICE_TO_TICKS`).
    NiceToTicks,
}

impl Version {
    /// 2.4.17 to 2.4.19.
    pub const V2_4_19: Version = Version {
        name: "2.4.19",
        slices: Slices::NiceToTicks,
        yielded_goodness: -1,
        least_counter: 1,
        tick_asks_fifo: true,
        enqueues_at_head: true,
        setscheduler_moves_first: true,
        picks_again_after_epoch: true,
        has_lazy_mm: true,
        looks_at_all_cpus: true,
        yield_counts_waiting: true,
        keeps_the_sum: true,
        children_have_a_cpu: true,
        idle_tasks_have_epochs: false,
        counts_who_blocks: true,
        has_affinity: true,
        knows_siblings: true,
    };

    /// 2.4.16.
    pub const V2_4_16: Version =
        Version { name: "2.4.16", knows_siblings: false, ..Version::V2_4_19 };

    /// 2.4.20 and later.
    pub const V2_4_22: Version = Version {
        name: "2.4.22",
        tick_asks_fifo: false,
        enqueues_at_head: false,
        setscheduler_moves_first: false,
        ..Version::V2_4_19
    };

    /// 2.2.1. (Later 2.2 releases adopted something close to 2.4's rules.)
    pub const V2_2: Version = Version {
        name: "2.2",
        slices: Slices::Priority,
        yielded_goodness: 0,
        least_counter: 0,
        tick_asks_fifo: true,
        enqueues_at_head: true,
        setscheduler_moves_first: true,
        picks_again_after_epoch: false,
        has_lazy_mm: false,
        looks_at_all_cpus: false,
        yield_counts_waiting: false,
        keeps_the_sum: false,
        children_have_a_cpu: false,
        idle_tasks_have_epochs: true,
        counts_who_blocks: false,
        has_affinity: false,
        knows_siblings: false,
    };

    /// Returns the number of ticks that a task gets in each epoch.
    pub(super) const fn slice(&self, hz: u32, nice: i32) -> i32 {
        let static_part = 20 - nice;
        if matches!(self.slices, Slices::Priority) {
            return static_part;
        }
        1 + match hz {
            0..200 => static_part >> 2,
            200..400 => static_part >> 1,
            400..800 => static_part,
            800..1600 => static_part << 1,
            _ => static_part << 2,
        }
    }

    /// Division of the parent's ticks at a fork: the parent's part and the child's.
    pub(super) const fn divide(&self, counter: i32) -> (i32, i32) {
        let odd = if self.keeps_the_sum { counter & 1 } else { 0 };
        (counter >> 1, (counter >> 1) + odd)
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::find;

    #[test]
    fn releases_are_found_by_what_users_type() {
        let release = |spec| find(spec).map(|(_, release)| release.version);
        assert_eq!(release("o_n"), Ok("2.4.19"));
        assert_eq!(release("o_n@2.4.16"), Ok("2.4.16"));
        assert_eq!(release("o_n@2.4.18"), Ok("2.4.19"));
        assert_eq!(release("o_n@2.4.20"), Ok("2.4.22"));
        assert_eq!(release("o_n@2.4.37"), Ok("2.4.22"));
        assert_eq!(release("o_n@2.2.1"), Ok("2.2"));
        assert!(release("o_n@2.4.0").is_err(), "this release was not read");
    }
}
