//! Lookup of schedulers by name and release.
//!
//! Users write `cfs`, `cfs@2.6.24`, `o_n@2.4.20`: the name of a scheduler, and a release where
//! there is more than one.

use schedlab_core::{Entry, Release};

/// All schedulers: first Linux schedulers, in the order in which Linux had them, then textbook
/// schedulers.
pub static ALL: &[&Entry] = &[
    &crate::round_robin::ENTRY,
    &crate::o_n::ENTRY,
    &crate::o_1::ENTRY,
    &crate::staircase::RSDL,
    &crate::staircase::SD,
    &crate::cfs::ENTRY,
    &crate::cfs::INTERACTIVE,
    &crate::bfs::ENTRY,
    &crate::project_c::BMQ,
    &crate::project_c::PDS,
    &crate::muqss::ENTRY,
    &crate::eevdf::ENTRY,
    &crate::eevdf::bore::ENTRY,
    &crate::textbook::FCFS,
    &crate::textbook::SJF,
    &crate::textbook::SRTF,
    &crate::textbook::HRRN,
    &crate::textbook::PRIORITY,
    &crate::textbook::RR,
    &crate::textbook::MLQ,
    &crate::textbook::MLFQ,
];

/// Reason for which a name was not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupError {
    /// There is no scheduler of that name.
    Name,
    /// The scheduler exists, but not in that release.
    Release(&'static str),
}

/// Finds a scheduler and its release from a specification such as `cfs` or `cfs@2.6.24`.
///
/// # Errors
/// [`LookupError`] reports which half is unknown.
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
            .find(|release| release.is_called(version))
            .ok_or(LookupError::Release(&entry.name))?,
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
        let nohz = |spec| find(spec).expect("a registered release").1.can.nohz;
        for spec in ["round_robin", "o_n@2.4.19", "o_1@2.6.22", "rsdl", "sd", "cfs@2.6.23"] {
            assert!(!nohz(spec), "{spec}");
        }
        for spec in ["cfs@2.6.24", "cfs", "cfs_interactive", "bfs@0.316", "eevdf", "fcfs"] {
            assert!(nohz(spec), "{spec}");
        }
    }
}
