//! A timetable: what somebody does to the machine while the workload runs.
//!
//! It is read from a file beside the workload, an action a line, or given as options, an action
//! each:
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
//! * [`Timetable::parse`] and [`Timetable::parse_option`] read it;
//! * [`Timetable::check`] finds names that mean nothing, before the run;
//! * [`Timetable::run`] runs a machine by it.
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

/// Actions with their times, in the order in which they are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timetable {
    entries: Vec<Entry>,
}

/// An action with its times.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    when: When,
    change: Change,
    origin: Origin,
}

/// When something is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct When {
    from_ns: u64,
    /// Once again after so long, at least 1; none = once only.
    period_ns: Option<u64>,
    /// Not at this time or later.
    until_ns: u64,
}

/// What is done.
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

/// What `chrt` sets; the nice value stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NewPolicy {
    policy: Policy,
    rt_priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Which tasks are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Tasks {
    /// Those of which one of these is the thread's name, its key, or a pattern of either.
    Named(Vec<String>),
    /// All that are in a group or in groups below it; "" is the root.
    InGroup(String),
}

/// Where an entry stands, for messages.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Origin {
    file: String,
    /// The text of the line alone, and which line it is, from 1; 0 = it stands in no file.
    text: String,
    line: usize,
    /// The words that name something, as places in `text`.
    names: Vec<Span>,
}

impl Origin {
    /// Something is wrong with word `number` of those that name something.
    fn error(&self, number: usize, message: impl Into<String>) -> Diagnostic {
        let span = self.names.get(number).copied().unwrap_or_default();
        let padded = format!("{}{}", "\n".repeat(self.line.saturating_sub(1)), self.text);
        let shift = self.line.saturating_sub(1) as u32;
        let span = Span { start: span.start + shift, end: span.end + shift };
        Source { name: &self.file, text: &padded }.error(span, String::new(), message)
    }
}

impl Timetable {
    /// Everything is done so much later.
    pub fn put_off(&mut self, by_ns: u64) {
        for Entry { when, .. } in &mut self.entries {
            when.from_ns = when.from_ns.saturating_add(by_ns);
            when.until_ns = when.until_ns.saturating_add(by_ns);
        }
    }

    /// Puts in place of each name of tasks those that `names` gives for it.
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

    /// Whether nothing is ever done.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds what `other` says, behind.
    pub fn add(&mut self, other: Timetable) {
        self.entries.extend(other.entries);
    }

    /// The policies that it gives tasks.
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

    /// Whether it makes groups idle as a whole.
    pub fn sets_idle(&self) -> bool {
        self.writes().any(|write| matches!(write, Write::Idle(true)))
    }

    /// What it writes to groups' files.
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

    /// Whether it takes CPUs off line.
    pub fn takes_cpus_offline(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.change, Change::Offline(..)))
    }

    /// The tunables that it sets.
    pub fn tunables(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match &entry.change {
            Change::Tunable(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Without the settings of tunables that are not among `known`: what it comes to under a
    /// scheduler with those.
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
    /// Whether it may let a task go on that is stopped or frozen, or end it.
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
