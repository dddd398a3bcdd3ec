//! Every scheduler by name and release.
//!
//! Users write `cfs`, `cfs@2.6.24`, `o_n@2.4.20`: a scheduler, and a release where there is more
//! than one.

use crate::{Clairvoyant, Platform, Policy, Scheduler, Topology};
use alloc::boxed::Box;

/// What a scheduler is built for.
#[derive(Clone, Debug)]
pub struct BuildConfig {
    /// The machine's CPUs.
    pub topology: Topology,
    /// Ticks a second.
    pub hz: u32,
}

impl BuildConfig {
    /// A flat machine.
    pub fn flat(cpus: u32, hz: u32) -> BuildConfig {
        BuildConfig { topology: Topology::flat(cpus), hz }
    }

    /// The platform that goes with it.
    pub fn platform(&self) -> Platform {
        Platform::new(self.topology.cpus(), self.hz)
    }
}

/// One release of a scheduler.
#[derive(Debug)]
pub struct Release {
    /// What users write behind the `@`, e.g. `2.6.24`.
    pub version: &'static str,
    /// Other releases that decide alike and are accepted in its place.
    pub also: &'static [&'static str],
    /// What is particular about it, in a line.
    pub summary: &'static str,
    /// The names by which golden schedules know it: their `scheduler` and `kernel`. Empty where
    /// there are none.
    pub golden: &'static [(&'static str, &'static str)],
    /// Ticks a second of that time's usual build.
    pub hz_default: u32,
    /// Ticks a second that could be configured: smallest and largest.
    pub hz_range: (u32, u32),
    /// The largest machine it runs on, in CPUs.
    pub cpus_max: u32,
    /// The policies it knows.
    pub policies: &'static [Policy],
    /// Whether it has task groups.
    pub groups: bool,
    /// Whether an idle CPU goes without ticks (`CONFIG_NO_HZ`), in its usual build for x86-64: the
    /// mainline since 2.6.24, and what was made for it. (i386 had it since 2.6.21, which no release
    /// here is built for where it would matter.) The textbooks' schedulers do nothing at a tick.
    pub nohz: bool,
    /// Makes one.
    pub build: Build,
}

/// How a scheduler is made: one that sees what a kernel sees, or one that is told the future.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// Sees what a kernel's scheduler sees.
    Ordinary(fn(&BuildConfig) -> Box<dyn Scheduler>),
    /// Is told how long bursts will be.
    Clairvoyant(fn(&BuildConfig) -> Box<dyn Clairvoyant>),
}

/// A scheduler with its releases.
#[derive(Debug)]
pub struct Entry {
    /// What users write, e.g. `o_1`.
    pub name: &'static str,
    /// What it is called in full.
    pub title: &'static str,
    /// The algorithm in a line.
    pub summary: &'static str,
    /// Its releases; the first is the default.
    pub releases: &'static [Release],
}

/// All schedulers: first those of Linux, in the order in which it had them, then those of the
/// textbooks.
pub static ALL: &[&Entry] = &[
    &crate::round_robin::ENTRY,
    &crate::o_n::ENTRY,
    &crate::o_1::ENTRY,
    &crate::staircase::RSDL,
    &crate::staircase::SD,
    &crate::cfs::ENTRY,
    &crate::cfs::INTERACTIVE,
    &crate::bfs::ENTRY,
    &crate::eevdf::ENTRY,
    &crate::textbook::FCFS,
    &crate::textbook::SJF,
    &crate::textbook::SRTF,
    &crate::textbook::HRRN,
    &crate::textbook::PRIORITY,
    &crate::textbook::RR,
    &crate::textbook::MLQ,
    &crate::textbook::MLFQ,
];

/// Why a name did not lead to a scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupError {
    /// There is no scheduler of that name.
    Name,
    /// There is, but not of that release.
    Release(&'static str),
}

/// Finds `cfs` or `cfs@2.6.24`.
///
/// # Errors
/// [`LookupError`] says which half is unknown.
pub fn find(spec: &str) -> Result<(&'static Entry, &'static Release), LookupError> {
    let (name, version) = match spec.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (spec, None),
    };
    let entry = ALL.iter().find(|entry| entry.name == name).ok_or(LookupError::Name)?;
    let release = match version {
        None => &entry.releases[0],
        Some(version) => entry
            .releases
            .iter()
            .find(|release| release.version == version || release.also.contains(&version))
            .ok_or(LookupError::Release(entry.name))?,
    };
    Ok((entry, release))
}

/// Finds the scheduler that a golden schedule names by its `scheduler` and `kernel`.
pub fn find_golden(scheduler: &str, kernel: &str) -> Option<(&'static Entry, &'static Release)> {
    ALL.iter().find_map(|entry| {
        entry
            .releases
            .iter()
            .find(|release| release.golden.contains(&(scheduler, kernel)))
            .map(|release| (*entry, release))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cpus_go_without_ticks_since_2_6_24() {
        let nohz = |spec| find(spec).expect("it is there").1.nohz;
        for spec in ["round_robin", "o_n@2.4.19", "o_1@2.6.22", "rsdl", "sd", "cfs@2.6.23"] {
            assert!(!nohz(spec), "{spec}");
        }
        for spec in ["cfs@2.6.24", "cfs", "cfs_interactive", "bfs@0.316", "eevdf", "fcfs"] {
            assert!(nohz(spec), "{spec}");
        }
    }
}
