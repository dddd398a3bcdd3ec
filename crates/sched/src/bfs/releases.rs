//! The releases, and what differs between them: the length of a slice, what nice is worth, and in
//! which unit deadlines are counted.

use super::Bfs;
use alloc::boxed::Box;
use schedlab_core::topology::CPUS_MAX;
use schedlab_core::{Build, Entry, Policy, Release};

const POLICIES: &[Policy] =
    &[Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::RoundRobin];

/// The default release. The others are described by what differs.
const DEFAULT: Release = Release {
    version: "0.404",
    also: &["2.6.38"],
    summary: "deadlines in nanoseconds, slices of 6 ms on any machine, sticky tasks (for 2.6.38)",
    golden: &[("bfs", "2.6.38 with BFS 0.404")],
    hz_default: 1000,
    hz_range: (100, 1000),
    cpus_max: CPUS_MAX,
    policies: POLICIES,
    groups: false,
    nohz: true,
    build: Build::Ordinary(|config| Box::new(Bfs::new(Version::V0_404, config))),
};

/// This scheduler in the registry.
pub static ENTRY: Entry = Entry {
    name: "bfs",
    title: "BFS",
    summary: "one queue for all CPUs; the task with the earliest virtual deadline runs",
    releases: &[
        DEFAULT,
        Release {
            version: "0.316",
            also: &["2.6.33"],
            summary: "deadlines in jiffies, slices that grow with the number of CPUs, cache distance (for 2.6.33)",
            golden: &[("bfs316", "2.6.33 with BFS 0.316")],
            build: Build::Ordinary(|config| Box::new(Bfs::new(Version::V0_316, config))),
            ..DEFAULT
        },
    ],
};

/// The release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// 0.316, April 2010, for 2.6.33: deadlines in jiffies, a task is worth less the farther it
    /// last ran.
    V0_316,
    /// 0.404, April 2011, for 2.6.38: deadlines in nanoseconds, the last task that a CPU dropped is
    /// sticky there.
    V0_404,
}

/// `prio_ratios`: by what a nice level multiplies the deadline distance, from -20 to 19; 10 % a
/// level, truncated.
const fn prio_ratios(first: i64) -> [i64; 40] {
    let mut ratios = [first; 40];
    let mut level = 1;
    while level < 40 {
        ratios[level] = ratios[level - 1] * 11 / 10;
        level += 1;
    }
    ratios
}

const RATIOS_0_316: [i64; 40] = prio_ratios(100);
const RATIOS_0_404: [i64; 40] = prio_ratios(128);

/// 0.404: fewer units than this are as good as none.
pub(super) const RESCHED_US: i32 = 100;

impl Version {
    /// `prio_ratios` at a nice value.
    pub(super) const fn ratio(self, nice: i32) -> i64 {
        let user_prio = (nice + 20) as usize;
        match self {
            Version::V0_316 => RATIOS_0_316[user_prio],
            Version::V0_404 => RATIOS_0_404[user_prio],
        }
    }

    /// `rr_interval` as the machine boots, ms.
    pub(super) const fn rr_interval_at_boot(self, cpus: u32) -> i64 {
        match self {
            Version::V0_316 => 6 * (1 + cpus.ilog2() as i64),
            Version::V0_404 => 6,
        }
    }

    /// A full slice. 0.316 counts microseconds. 0.404 counts units of 1024 ns, 1024 of which it
    /// takes for a millisecond.
    pub(super) const fn slice(self, rr_interval_ms: i64) -> i32 {
        match self {
            Version::V0_316 => (rr_interval_ms * 1000) as i32,
            Version::V0_404 => (rr_interval_ms << 10) as i32,
        }
    }

    /// How far ahead the deadline of a full slice lies. 0.316: jiffies, at least 1. 0.404: ns.
    pub(super) fn deadline_distance(self, nice: i32, rr_interval_ms: i64, hz: u32) -> i64 {
        let weighted = self.ratio(nice) * rr_interval_ms;
        match self {
            Version::V0_316 => (weighted * i64::from(hz) / 100_000).max(1),
            // A 128th of 2^20 ns, which pass for a millisecond.
            Version::V0_404 => weighted * ((1 << 20) / 128),
        }
    }

    /// 0.316 `task_timeslice`: what a step of cache distance costs a task; worked out in ms, used
    /// as jiffies.
    pub(super) const fn task_timeslice(self, nice: i32, rr_interval_ms: i64) -> i64 {
        rr_interval_ms * self.ratio(nice) / 100
    }

    /// `check`: whether a task that leaves a CPU has used its slice up, or counts as if it had.
    pub(super) fn needs_refill(self, time_slice: i32, policy: Policy) -> bool {
        match self {
            Version::V0_316 => time_slice <= 0,
            Version::V0_404 => time_slice < RESCHED_US || policy == Policy::Batch,
        }
    }

    /// Whether the kernel's 32-bit products hold the deadline distances that go with an
    /// `rr_interval`, ms.
    pub(super) fn holds(self, rr_interval_ms: i64, hz: u32) -> bool {
        let worst = match self {
            Version::V0_316 => self.ratio(19) * rr_interval_ms * i64::from(hz),
            Version::V0_404 => self.deadline_distance(19, rr_interval_ms, hz),
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
