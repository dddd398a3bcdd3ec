//! Timetables: changes made to the machine while the workload runs.
//!
//! A timetable is read either from a file next to the workload, with one action per line, or from
//! options, with one action each:
//!
//! ```text
//! # when                      what
//! at 1s                       group /build cpu.weight=300
//! at 2s                       offline cpu 4-11
//! at 2.5s                     renice video-0 -5
//! every 500ms from 1s         stop build
//! every 500ms from 1250ms     cont build
//! at 4s                       kill hog-*
//! ```
//!
//! * [`Timetable::parse`] and [`Timetable::parse_option`] read a timetable.
//! * [`Timetable::check`] finds unknown names before the run.
//! * [`Timetable::run`] runs a machine and carries out the timetable.
//!
//! `docs/timetable.md` describes the language.

mod check;
mod drive;
mod groups;
mod notes;
mod parse;

use crate::cgroups::write::Write;
use crate::diagnostic::{Diagnostic, Source, Span};
pub use crate::pattern::matches;
pub use check::Surroundings;
pub use drive::{Drive, Outcome, Refusal};
use schedlab_core::{CpuId, CpuSet, Policy};

/// Actions with their times, in the order written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timetable {
    entries: Vec<Entry>,
}

/// Action with its times.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    when: When,
    change: Change,
    origin: Origin,
}

/// Times of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct When {
    from_ns: u64,
    /// Period, at least 1. `None`: the action happens only once.
    period_ns: Option<u64>,
    /// The action does not happen at this time or later.
    until_ns: u64,
}

/// Action.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Change {
    Nice(Tasks, i32),
    Policy(Tasks, NewPolicy),
    Affinity(Tasks, CpuSet, Vec<CpuId>),
    Move(Tasks, String),
    Group(String, Vec<(&'static str, Write)>),
    Tunable(String, i64),
    Offline(Vec<CpuId>),
    Online(Vec<CpuId>),
    Stop(Tasks),
    Continue(Tasks),
    Kill(Tasks),
    Freeze(Tasks),
    Thaw(Tasks),
}

/// Policy that `chrt` sets. The nice value does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NewPolicy {
    policy: Policy,
    rt_priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Tasks of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Tasks {
    /// Tasks whose thread name or key is in the list or matches a pattern in it.
    Named(Vec<String>),
    /// All tasks in a group or its descendants; "" is the root.
    InGroup(String),
}

/// Position of an entry, for messages.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Origin {
    file: String,
    /// Text of the line.
    text: String,
    /// Number of the line, from 1. 0: the entry is not in a file.
    line: usize,
    /// Words that name an object, as positions in `text`.
    names: Vec<Span>,
}

impl Origin {
    /// Returns an error at word `number` in `names`.
    fn error(&self, number: usize, message: impl Into<String>) -> Diagnostic {
        let span = self.names.get(number).copied().unwrap_or_default();
        let padded = format!("{}{}", "\n".repeat(self.line.saturating_sub(1)), self.text);
        let shift = self.line.saturating_sub(1) as u32;
        let span = Span { start: span.start + shift, end: span.end + shift };
        Source { name: &self.file, text: &padded }.error(span, String::new(), message)
    }
}

impl Timetable {
    /// Delays all actions by `by_ns`.
    pub fn put_off(&mut self, by_ns: u64) {
        for Entry { when, .. } in &mut self.entries {
            when.from_ns = when.from_ns.saturating_add(by_ns);
            when.until_ns = when.until_ns.saturating_add(by_ns);
        }
    }

    /// Replaces each task name with the names that `names` returns for it.
    pub fn rename(&mut self, names: impl Fn(&str) -> Vec<String>) {
        for entry in &mut self.entries {
            if let Change::Nice(Tasks::Named(all), _)
            | Change::Policy(Tasks::Named(all), _)
            | Change::Affinity(Tasks::Named(all), ..)
            | Change::Move(Tasks::Named(all), _)
            | Change::Stop(Tasks::Named(all))
            | Change::Continue(Tasks::Named(all))
            | Change::Kill(Tasks::Named(all))
            | Change::Freeze(Tasks::Named(all))
            | Change::Thaw(Tasks::Named(all)) = &mut entry.change
            {
                *all = all.iter().flat_map(|name| names(name)).collect();
            }
        }
    }

    /// Whether it contains no action.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends the actions of `other`.
    pub fn add(&mut self, other: Timetable) {
        self.entries.extend(other.entries);
    }

    /// Returns the policies that it sets.
    pub fn policies(&self) -> Vec<Policy> {
        let mut all = Vec::new();
        for entry in &self.entries {
            if let Change::Policy(_, NewPolicy { policy, .. }) = entry.change
                && !all.contains(&policy)
            {
                all.push(policy);
            }
        }
        all
    }

    /// Whether it binds tasks to CPUs.
    pub fn sets_affinity(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.change, Change::Affinity(..)))
            || self.writes().any(|write| matches!(write, Write::Cpus(_)))
    }

    /// Whether it limits the CPU time of groups.
    pub fn sets_limits(&self) -> bool {
        self.writes().any(|write| {
            matches!(write, Write::Quota { quota_us: Some(_), .. } | Write::QuotaPercent(_))
        })
    }

    /// Whether it makes groups idle.
    pub fn sets_idle(&self) -> bool {
        self.writes().any(|write| matches!(write, Write::Idle(true)))
    }

    /// Returns its writes to files of groups.
    fn writes(&self) -> impl Iterator<Item = &Write> {
        let changes = self.entries.iter().map(|entry| &entry.change);
        changes
            .filter_map(|change| match change {
                Change::Group(_, writes) => Some(writes),
                _ => None,
            })
            .flatten()
            .map(|(_, write)| write)
    }

    /// Whether it takes CPUs offline.
    pub fn takes_cpus_offline(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.change, Change::Offline(..)))
    }

    /// Returns the tunables that it sets.
    pub fn tunables(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match &entry.change {
            Change::Tunable(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the timetable without settings of tunables that are not among `known`, for a
    /// scheduler with those tunables.
    #[must_use]
    pub fn for_scheduler(&self, known: &[&str]) -> Timetable {
        let has = |entry: &&Entry| match &entry.change {
            Change::Tunable(name, _) => known.contains(&name.as_str()),
            _ => true,
        };
        Timetable { entries: self.entries.iter().filter(has).cloned().collect() }
    }
}

impl Change {
    /// Whether it may release a task that is stopped or frozen, or end it.
    fn lets_go(&self) -> bool {
        match self {
            Change::Continue(_) | Change::Thaw(_) | Change::Kill(_) | Change::Move(..) => true,
            Change::Group(_, writes) => {
                writes.iter().any(|(_, write)| matches!(write, Write::Frozen(false)))
            }
            _ => false,
        }
    }
}
