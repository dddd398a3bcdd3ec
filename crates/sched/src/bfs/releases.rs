//! The releases, and the differences between them: the length of a slice, the effect of nice, and
//! the unit in which deadlines are counted.

use super::Bfs;
use crate::ck::ratios::prio_ratios;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Capabilities, Entry, Origin, Policy, Release};

const POLICIES: &[Policy] =
    &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin];

/// The default release. The others are described by their differences from it.
const DEFAULT: Release = Release {
    version: "0.404",
    also: &["2.6.38"],
    summary: "deadlines in nanoseconds, slices of 6 ms on any machine, sticky tasks (for 2.6.38)",
    golden: &[("bfs", "2.6.38 with BFS 0.404")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: CPUS_MAX,
    policies: POLICIES,
    can: Capabilities { nohz: true, ..Capabilities::BASIC },
    kernel: Some("2.6.38"),
    build: Build::Ordinary(|config| Box::new(Bfs::new(Version::V0_404, config))),
};

/// The scheduler's entry in the registry.
pub static ENTRY: Entry = Entry {
    name: Cow::Borrowed("bfs"),
    title: Cow::Borrowed("BFS"),
    summary: Cow::Borrowed(
        "one queue for all CPUs; the task with the earliest virtual deadline runs",
    ),
    origin: Origin::Linux,
    releases: &[
        DEFAULT,
        Release {
            version: "0.316",
            also: &["2.6.33"],
            kernel: Some("2.6.33"),
            summary: "deadlines in jiffies, slices that grow with the number of CPUs, cache \
                      distance (for 2.6.33)",
            golden: &[("bfs316", "2.6.33 with BFS 0.316")],
            build: Build::Ordinary(|config| Box::new(Bfs::new(Version::V0_316, config))),
            ..DEFAULT
        },
    ],
};

/// The clock on which deadlines are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Jiffies.
    Jiffies,
    /// Niffies: nanoseconds of BFS's own clock (`clock.rs`).
    Niffies,
}

/// The unit in which slices are counted, and to which a charge is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceUnit {
    /// Microseconds. A charge of no time is half a tick, one of more than a tick is a tick.
    Microsecond,
    /// 1024 ns, of which 1024 make a millisecond. A charge that is not possible according to the
    /// tick is 1 ns.
    Of1024Ns,
}

/// How a task is kept near the CPU on which it last ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affinity {
    /// Other CPUs see its deadline later by its `task_timeslice` for each step of cache distance.
    CacheDistance,
    /// The last task that a CPU switched away from while it was still runnable is sticky there:
    /// other CPUs see its deadline later by the longest distance.
    Sticky,
}

/// Effect of a fork on the slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkRule {
    /// Parent and child have half each. A child that ends before its slice was ever refilled
    /// returns the rest of it.
    HalveAndReturn,
    /// Parent and child have half each. If a slice is too short to halve (2 * `RESCHED_US`), the
    /// parent is left with nothing, and the child gets a full one.
    HalveOrRefill,
}

/// A release: the differences, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The release.
    pub name: &'static str,
    /// The clock of deadlines.
    pub clock: Clock,
    /// The unit of slices.
    pub unit: SliceUnit,
    /// Factors of the deadline distance, by nice from -20 to 19.
    pub prio_ratios: &'static [i64; 40],
    /// Whether `rr_interval` at boot is 6 ms * (1 + log2 of the number of CPUs), rounded down.
    /// Otherwise it is 6 ms.
    pub interval_grows_with_cpus: bool,
    /// A slice of less than this counts as used up, in units of the slice.
    pub least_slice: i32,
    /// Whether a `SCHED_BATCH` task that leaves a CPU always gets a new slice and deadline.
    pub batch_always_refills: bool,
    /// Affinity to the last CPU.
    pub affinity: Affinity,
    /// Whether a pick takes the first task in the queue whose deadline has passed, even if a later
    /// one's is earlier.
    pub takes_first_overdue: bool,
    /// Whether the search for an idle CPU goes upwards from the task's last CPU and around.
    /// Otherwise it starts at CPU 0.
    pub searches_from_last_cpu: bool,
    /// Slices at fork.
    pub fork: ForkRule,
    /// Whether the first charge after a switch counts from the time at which the task last left a
    /// CPU.
    pub charges_from_last_ran: bool,
    /// Whether a slice that began near a tick ends at the tick nearest to its end ("dither").
    pub dithers: bool,
}

/// 0.404: a slice of fewer units than this counts as used up.
pub(super) const RESCHED_US: i32 = 100;

impl Version {
    /// 0.316, April 2010, for 2.6.33: deadlines in jiffies. A queued task's deadline counts as
    /// later the farther away it last ran.
    pub const V0_316: Version = Version {
        name: "0.316",
        clock: Clock::Jiffies,
        unit: SliceUnit::Microsecond,
        prio_ratios: &prio_ratios(100),
        interval_grows_with_cpus: true,
        least_slice: 1,
        batch_always_refills: false,
        affinity: Affinity::CacheDistance,
        takes_first_overdue: true,
        searches_from_last_cpu: true,
        fork: ForkRule::HalveAndReturn,
        charges_from_last_ran: true,
        dithers: false,
    };

    /// 0.404, April 2011, for 2.6.38: deadlines in nanoseconds. The last runnable task that a CPU
    /// switched away from is sticky there.
    pub const V0_404: Version = Version {
        name: "0.404",
        clock: Clock::Niffies,
        unit: SliceUnit::Of1024Ns,
        prio_ratios: &prio_ratios(128),
        interval_grows_with_cpus: false,
        least_slice: RESCHED_US,
        batch_always_refills: true,
        affinity: Affinity::Sticky,
        takes_first_overdue: false,
        searches_from_last_cpu: false,
        fork: ForkRule::HalveOrRefill,
        charges_from_last_ran: false,
        dithers: true,
    };

    /// Returns `prio_ratios` at a nice value.
    pub(super) const fn ratio(&self, nice: i32) -> i64 {
        self.prio_ratios[(nice + 20) as usize]
    }

    /// Returns `rr_interval` at boot, ms.
    pub(super) const fn rr_interval_at_boot(&self, cpus: u32) -> i64 {
        if self.interval_grows_with_cpus { 6 * (1 + cpus.ilog2() as i64) } else { 6 }
    }

    /// Returns a full slice, in units of the slice.
    pub(super) const fn slice(&self, rr_interval_ms: i64) -> i32 {
        match self.unit {
            SliceUnit::Microsecond => (rr_interval_ms * 1000) as i32,
            SliceUnit::Of1024Ns => (rr_interval_ms << 10) as i32,
        }
    }

    /// Returns the distance of the deadline of a full slice: jiffies, at least 1; or ns of niffies.
    pub(super) fn deadline_distance(&self, nice: i32, rr_interval_ms: i64, hz: u32) -> i64 {
        let weighted = self.ratio(nice) * rr_interval_ms;
        match self.clock {
            Clock::Jiffies => (weighted * i64::from(hz) / 100_000).max(1),
            // A 128th of 2^20 ns, which stand for a millisecond.
            Clock::Niffies => weighted * ((1 << 20) / 128),
        }
    }

    /// 0.316 `task_timeslice`: returns the cost of a step of cache distance for a task; computed in
    /// ms, used as jiffies.
    pub(super) const fn task_timeslice(&self, nice: i32, rr_interval_ms: i64) -> i64 {
        rr_interval_ms * self.ratio(nice) / 100
    }

    /// Whether a task that leaves a CPU gets a new slice and deadline.
    pub(super) fn needs_refill(&self, time_slice: i32, policy: Policy) -> bool {
        time_slice < self.least_slice || self.batch_always_refills && policy == Policy::Batch
    }

    /// Whether the kernel's 32-bit products can hold the deadline distances for an `rr_interval`,
    /// ms.
    pub(super) fn holds(&self, rr_interval_ms: i64, hz: u32) -> bool {
        let worst = match self.clock {
            Clock::Jiffies => self.ratio(19) * rr_interval_ms * i64::from(hz),
            Clock::Niffies => self.deadline_distance(19, rr_interval_ms, hz),
        };
        worst <= i64::from(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_the_kernels() {
        let ratios = |version: Version, nices: &[i32]| {
            nices.iter().map(|&n| version.ratio(n)).collect::<alloc::vec::Vec<_>>()
        };
        assert_eq!(
            ratios(Version::V0_404, &[-20, -19, -10, -1, 0, 10, 19]),
            [128, 140, 324, 760, 836, 2161, 5089]
        );
        assert_eq!(
            ratios(Version::V0_316, &[-20, -19, -18, -10, -5, 0, 1, 5, 10, 19]),
            [100, 110, 121, 256, 409, 655, 720, 1053, 1694, 3987]
        );
    }

    #[test]
    fn deadline_distances() {
        let at = |version: Version, nice| version.deadline_distance(nice, 6, 1000);
        assert_eq!(
            [-20, 0, 19].map(|n| at(Version::V0_404, n)),
            [6_291_456, 41_091_072, 250_134_528]
        );
        assert_eq!(
            [-20, -10, 0, 5, 10, 19].map(|n| at(Version::V0_316, n)),
            [6, 15, 39, 63, 101, 239]
        );
        assert_eq!(Version::V0_316.deadline_distance(-20, 1, 100), 1, "at least 1");
    }

    #[test]
    fn intervals_and_slices() {
        assert_eq!([1, 2, 4, 8].map(|n| Version::V0_316.rr_interval_at_boot(n)), [6, 12, 18, 24]);
        assert_eq!([1, 2, 4, 8].map(|n| Version::V0_404.rr_interval_at_boot(n)), [6; 4]);
        assert_eq!(Version::V0_404.slice(6), 6144);
        assert_eq!(Version::V0_316.slice(6), 6000);
    }

    #[test]
    fn from_52_ms_on_the_longest_distance_leaves_32_bits() {
        assert!(Version::V0_404.holds(51, 1000));
        assert!(!Version::V0_404.holds(52, 1000));
    }
}
