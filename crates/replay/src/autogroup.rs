//! Autogroups: the groups that the kernel makes by itself, one for each session (2.6.38 and later).
//!
//! A call of `setsid` creates an autogroup. Terminals, logins and daemons begin with such a call.
//! The fair tasks in the root of the CPU controller compete within their autogroup, and the
//! autogroups compete with each other by their own nice values. The nice value of a task is thus
//! without effect on the tasks of other sessions. Real-time tasks are not affected.

use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// First part of the paths of these groups.
pub const PREFIX: &str = "/autogroup-";

/// Maximum number of ancestors that are followed: processes in a hostile file may be in a circle.
const ANCESTORS_MAX: usize = 64;

/// Returns whether kernels of this release have autogroups. `None`: the text is not a release.
pub fn is_in(release: &str) -> Option<bool> {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let mut numbers = release[..end].split('.').map_while(|number| number.parse::<u32>().ok());
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some((major, minor, numbers.next().unwrap_or(0)) >= (2, 6, 38))
}

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
            Membership::Autogroup(id, nice) => Some((format!("{PREFIX}{id}"), nice)),
            Membership::Session(id) => Some((format!("{PREFIX}s{id}"), 0)),
        }
    }
}

/// Processes of a side file without sessions, from which sessions are guessed.
///
/// A task that the recording shows as forked is in the session of its parent. A process from before
/// the recording is taken to be in the session of its parent if the parent forks during the
/// recording, as `make` and servers with workers do, otherwise to begin its own, as the jobs of a
/// shell do that were started with `setsid`, and daemons.
#[derive(Debug)]
pub(crate) struct Guess {
    parents: BTreeMap<u32, u32>,
    forking: BTreeSet<u32>,
}

impl Guess {
    /// Prepares the guess. `processes`: process of each thread. `parents`: parent of each process.
    pub(crate) fn new(
        trace: &Trace,
        processes: &BTreeMap<u32, u32>,
        parents: BTreeMap<u32, u32>,
    ) -> Guess {
        let forking = trace.tasks.iter().filter_map(|task| {
            let parent = trace.tasks.get(task.forked_by?)?.pid;
            Some(processes.get(&parent).copied().unwrap_or(parent))
        });
        Guess { forking: forking.collect(), parents }
    }

    /// Returns the path of the group of a process. `None`: the root, as for the kernel's threads.
    pub(crate) fn group(&self, process: u32) -> Option<String> {
        // Threads of the kernel have no parent, or thread 2.
        let parent = |process: u32| self.parents.get(&process).copied().filter(|&it| it != 0);
        if parent(process)? == 2 {
            return None;
        }
        let mut leader = process;
        for _ in 0..ANCESTORS_MAX {
            match parent(leader) {
                Some(above) if above > 2 && self.forking.contains(&above) => leader = above,
                _ => break,
            }
        }
        Some(format!("{PREFIX}p{leader}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Task;

    #[test]
    fn kernels_since_2_6_38_have_autogroups() {
        for (release, is) in [
            ("2.6.37", Some(false)),
            ("2.6.38-8-generic", Some(true)),
            ("2.4.37", Some(false)),
            ("3.2.0", Some(true)),
            ("6.18", Some(true)),
            ("7", None),
            ("", None),
        ] {
            assert_eq!(is_in(release), is, "{release}");
        }
    }

    #[test]
    fn sessions_are_guessed_by_forks() {
        let of = |pid: u32, forked_by: Option<usize>| Task { pid, forked_by, ..Task::default() };
        // Thread 31 of make (30) forks 40 during the recording.
        let trace = Trace { tasks: vec![of(31, None), of(40, Some(0))], ..Trace::default() };
        let processes = BTreeMap::from([(30, 30), (31, 30)]);
        let parents = BTreeMap::from([
            (1, 0),
            (2, 0),
            (9, 2),
            (10, 1),
            (30, 10),
            (35, 30),
            (36, 35),
            (50, 10),
            // A circle of a hostile file.
            (60, 61),
            (61, 60),
        ]);
        let guess = Guess::new(&trace, &processes, parents);
        let group = |process| guess.group(process);
        assert_eq!((group(1), group(2), group(9), group(77)), (None, None, None, None));
        assert_eq!(
            (group(10), group(50)),
            (Some("/autogroup-p10".into()), Some("/autogroup-p50".into()))
        );
        assert_eq!(
            (group(30), group(35)),
            (Some("/autogroup-p30".into()), Some("/autogroup-p30".into()))
        );
        assert_eq!(group(36), Some("/autogroup-p36".into()), "its parent did not fork");
        assert!(group(60).is_some());
        let circle = Guess { forking: BTreeSet::from([60, 61]), ..guess };
        assert!(circle.group(60).is_some());
    }
}
