//! The releases, and in what they differ.

use super::OrderN;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Capabilities, Entry, Origin, Policy, Release};

const POLICIES: &[Policy] = &[Policy::Other, Policy::Fifo, Policy::RoundRobin];

/// HZ was fixed for each architecture: 100 on i386, 1024 on Alpha. The table of slices goes from
/// below 200 to above 1600.
const HZ_2_4: (u32, u32) = (100, 4096);

/// The default release. The others are described by what differs.
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
    build: |config| Box::new(OrderN::new(Version::V2_4_19, config)),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: "o_n",
    title: "The O(n) scheduler",
    summary: "one list for all CPUs; each pick walks it for the largest goodness: ticks left, nice, last CPU, same memory",
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "2.4.16",
            also: &[],
            summary: "as 2.4.19, but a hyper-threaded core whose two CPUs idle is not preferred",
            golden: &[],
            build: |config| Box::new(OrderN::new(Version::V2_4_16, config)),
            ..DEFAULT
        },
        Release {
            version: "2.4.22",
            also: &[
                "2.4.20", "2.4.21", "2.4.23", "2.4.24", "2.4.25", "2.4.26", "2.4.27", "2.4.28",
                "2.4.29", "2.4.30", "2.4.31", "2.4.32", "2.4.33", "2.4.34", "2.4.35", "2.4.36",
                "2.4.37",
            ],
            summary: "woken tasks enter the run queue at its tail; the tick leaves FIFO tasks alone",
            golden: &[("o_n", "2.4.22")],
            build: |config| Box::new(OrderN::new(Version::V2_4_22, config)),
            ..DEFAULT
        },
        Release {
            version: "2.2",
            also: &["2.2.1"],
            summary: "slices of 210 ms; a woken task is compared with the waker only; no affinity",
            can: Capabilities { affinity: false, ..Capabilities::BASIC },
            golden: &[],
            hz_range: (100, 100),
            build: |config| Box::new(OrderN::new(Version::V2_2, config)),
            ..DEFAULT
        },
    ],
};

/// The release, oldest first. What is particular about one is asked for by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// 2.2.1. (Later 2.2 releases went over to something close to 2.4's.)
    V2_2,
    /// 2.4.16.
    V2_4_16,
    /// 2.4.17 to 2.4.19.
    V2_4_19,
    /// 2.4.20 and after.
    V2_4_22,
}

impl Version {
    /// The ticks that a task gets in each epoch: the kernel's `NICE_TO_TICKS` (2.2: `priority`).
    ///
    /// About 60 ms at nice 0, whatever HZ is; in 2.2 200 ms.
    pub(super) const fn slice(self, hz: u32, nice: i32) -> i32 {
        let static_part = 20 - nice;
        if matches!(self, Version::V2_2) {
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

    /// Goodness of a task that has just yielded. With 0 it takes part in the end of an epoch, with
    /// -1 it does not.
    pub(super) const fn yielded_goodness(self) -> i32 {
        match self {
            Version::V2_2 => 0,
            _ => -1,
        }
    }

    /// The counter that a tick must leave for the running task to go on.
    pub(super) const fn least_counter(self) -> i32 {
        match self {
            // A task with 0 goes on, so that n ticks last n + 1.
            Version::V2_2 => 0,
            _ => 1,
        }
    }

    /// Whether the tick asks a FIFO task without ticks to reschedule (it is normally picked again).
    pub(super) const fn tick_asks_fifo(self) -> bool {
        !matches!(self, Version::V2_4_22)
    }

    /// Whether woken tasks enter the run queue at its head.
    pub(super) const fn enqueues_at_head(self) -> bool {
        !matches!(self, Version::V2_4_22)
    }

    /// Whether `sched_setscheduler` moves the task to the head of the run queue.
    pub(super) const fn setscheduler_moves_first(self) -> bool {
        !matches!(self, Version::V2_4_22)
    }

    /// Whether the walk is done again after an epoch. If not, the first task without ticks in the
    /// list runs.
    pub(super) const fn picks_again_after_epoch(self) -> bool {
        !matches!(self, Version::V2_2)
    }

    /// Whether an idle task goes on with the address space of the task before it, so that tasks of
    /// that address space have the bonus when they come back.
    pub(super) const fn has_lazy_mm(self) -> bool {
        !matches!(self, Version::V2_2)
    }

    /// Whether woken and preempted tasks are compared with what all CPUs run (2.4's
    /// `reschedule_idle`).
    pub(super) const fn looks_at_all_cpus(self) -> bool {
        !matches!(self, Version::V2_2)
    }

    /// Whether `sched_yield` does nothing when nobody waits.
    pub(super) const fn yield_counts_waiting(self) -> bool {
        !matches!(self, Version::V2_2)
    }

    /// The ticks of a parent at fork: what it keeps, and what the child gets.
    pub(super) const fn divide(self, counter: i32) -> (i32, i32) {
        match self {
            // An odd tick is lost.
            Version::V2_2 => (counter >> 1, counter >> 1),
            _ => (counter >> 1, (counter + 1) >> 1),
        }
    }

    /// Whether forking leaves the sum of ticks as it is: a parent without any must make way, and
    /// gets a dead child's back.
    pub(super) const fn keeps_the_sum(self) -> bool {
        !matches!(self, Version::V2_2)
    }

    /// Whether there is `cpus_allowed`.
    pub(super) const fn has_affinity(self) -> bool {
        !matches!(self, Version::V2_2)
    }

    /// Whether an idle CPU whose hyper-threaded sibling idles too is taken at once.
    pub(super) const fn knows_siblings(self) -> bool {
        matches!(self, Version::V2_4_19 | Version::V2_4_22)
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
        assert!(release("o_n@2.4.0").is_err(), "it was never read");
    }
}
