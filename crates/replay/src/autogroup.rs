//! Autogroups of recorded tasks: their membership as side files have it, or a guess.

use schedlab_workload::groups::autogroup::path;
use std::collections::BTreeMap;

/// Priority of nice 0 on the kernel's scale.
const NICE_0: i32 = 120;

/// Membership of a thread in an autogroup, as a side file has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Membership {
    /// The default autogroup: the root group.
    Root,
    /// Autogroup with this number and nice value.
    Autogroup(u64, i32),
    /// Session. The number of the autogroup is unknown.
    Session(u64),
}

impl Membership {
    /// Returns the path of the group and its nice value. `None`: the root.
    pub(crate) fn group(self) -> Option<(String, i32)> {
        match self {
            Membership::Root | Membership::Session(0) => None,
            Membership::Autogroup(id, nice) => Some((path(id), nice)),
            Membership::Session(id) => Some((path(format_args!("s{id}")), 0)),
        }
    }
}

/// Guesses the sessions of a side file without them. Returns the group of each task of a trace.
/// `tasks`: process, parent of the process, and priority on the kernel's scale.
///
/// A process whose parent does not run during the recording may be a job of its own, started with
/// `setsid`, or share a session with jobs of the same shell. It is taken to be a job of its own if
/// it has one task in the trace, at nice 0. Such a task has the same weight in the root group, so
/// that the guess does not affect the replay of the recorded run. It affects only changes of nice
/// values. All other tasks stay in the root group.
pub(crate) fn guess(tasks: &[Option<(u32, u32, i32)>]) -> Vec<Option<String>> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for &(process, ..) in tasks.iter().flatten() {
        *counts.entry(process).or_default() += 1;
    }
    let group = |&(process, parent, prio): &(u32, u32, i32)| {
        let is_alone = counts.get(&process) == Some(&1);
        // Task 2 is the parent of the kernel's threads, which are in the root group like init.
        let is_job = parent != 0 && parent != 2 && !counts.contains_key(&parent);
        (is_alone && is_job && prio == NICE_0).then(|| path(format_args!("p{process}")))
    };
    tasks.iter().map(|task| task.as_ref().and_then(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_at_nice_0_is_taken_to_have_a_session() {
        let tasks = [
            Some((1, 0, 120)),
            Some((9, 2, 120)),
            // Two jobs of shell 20, which sleeps.
            Some((30, 20, 120)),
            Some((31, 20, 120)),
            // Another nice value, two threads, a parent that runs, a task that is not in the file.
            Some((32, 20, 130)),
            Some((33, 20, 120)),
            Some((33, 20, 120)),
            Some((34, 31, 120)),
            None,
        ];
        let found = guess(&tasks);
        let jobs: Vec<usize> = (0..tasks.len()).filter(|&at| found[at].is_some()).collect();
        assert_eq!(jobs, [2, 3]);
        assert_eq!(found[2].as_deref(), Some("/autogroup-p30"));
    }
}
