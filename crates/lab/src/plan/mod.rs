//! A description of runs, as plain data: [`Plan`].
//!
//! A plan names or contains everything on which runs depend: machine, load, schedulers, groups,
//! timetable, tunables, limits and seeds. It is self-contained (it includes the texts of files),
//! and can be written as JSON and read back. Every front end fills in a plan:
//!
//! ```text
//! Plan  --prepare-->  Prepared  --run-->  Run
//! ```
//!
//! [`Plan::prepare`] finds every mistake before the first run. A [`Prepared`] plan makes
//! independent runs: a run that fails does not affect the others.
//!
//! `docs/plan.md` describes every field of the file.

mod columns;
mod load;
mod machine;
mod prepare;
mod repeat;
#[cfg(test)]
mod tests;

pub use load::{Benchmark, Load, Member, Mix, Setting, setting};
pub use machine::{MachineSource, MachineSpec};
pub use prepare::{Contender, Prepared};

use crate::error::Error;
pub use crate::settings::SetValues;
use schedlab_measure::Extent;
use schedlab_workload::Start;
use serde::{Deserialize, Serialize};

/// Version of the form that this program writes and reads.
pub const VERSION: u32 = 1;

/// Key that identifies a file as a plan; written first.
const MARK: &str = "schedlab_plan";

/// A description of runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`VERSION`].
    #[serde(rename = "schedlab_plan")]
    pub version: u32,
    /// The machine.
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine: MachineSpec,
    /// The load.
    pub load: Load,
    /// Schedulers: `cfs`, `cfs@2.6.24`, `cfs[sched_latency_ns=6000000]`, or `main`, `linux`,
    /// `textbook`, `all`. A scheduler that is named must be able to run the load. Schedulers of a
    /// list that cannot are left out.
    pub schedulers: Vec<String>,
    /// Names and values of settings, in order, for the schedulers that have them. Several values
    /// make a column each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, SetValues)>,
    /// Task groups and their tasks. For workloads only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub groups: Groups,
    /// Actions on the machine during the run. For workloads only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timetable: Timetable,
    /// Time at which each run stops at the latest, ns. `None`: as the load specifies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Seed. For a workload, simultaneous events happen in random order by this seed (`None`: in
    /// the golden order). For a benchmark, the first seed of everything random (`None`: 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Number of repetitions, each with the next seed. The first seed is 1 if there is none.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u64,
    /// Whether each task begins up to a tick later, by the seed. For workloads only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub late_starts: bool,
    /// How tasks begin: by being forked, or by waking. For workloads only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: Start,
    /// Recordings in addition to the figures.
    #[serde(default, skip_serializing_if = "is_default")]
    pub record: Record,
}

/// The text of a file, with its name for messages and reports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name of the file.
    pub file: String,
    /// Text of the file.
    pub text: String,
}

/// Task groups and their tasks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Groups {
    /// Files of groups and their settings, in one of the forms of `docs/groups.md`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Source>,
    /// Single settings, such as `/tg1:cpu.weight=200`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Rules of libcgroup that put the programs of users into groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgrules: Option<Source>,
    /// Whether each user has a group.
    #[serde(skip_serializing_if = "is_default")]
    pub user_groups: bool,
    /// Whether each session has a group (`sched_autogroup_enabled`).
    #[serde(skip_serializing_if = "is_default")]
    pub autogroup: bool,
    /// Files that assign tasks to users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_files: Vec<Source>,
    /// Users of some tasks, such as `make-*=bob/1001:students`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
}

/// Actions on the machine during the run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timetable {
    /// Files of actions, one a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Source>,
    /// Single actions, such as `2s renice video -5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
}

/// Recordings in addition to the figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Whether slices are recorded: the task that ran on each CPU, by time. For workloads only.
    #[serde(skip_serializing_if = "is_default")]
    pub slices: bool,
    /// Records only slices that end after this time, ns ...
    #[serde(skip_serializing_if = "is_default")]
    pub from_ns: u64,
    /// ... and begin before this time. `None`: to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
    /// Whether to keep rt-app's own log: a line for every round of a phase. For workloads only.
    #[serde(skip_serializing_if = "is_default")]
    pub rt_app_log: bool,
    /// Whether observers receive the grounds of every decision
    /// ([`Event::Decided`](schedlab_core::Event::Decided)).
    #[serde(skip_serializing_if = "is_default")]
    pub reasons: bool,
}

/// Maximum number of recorded slices, and of recorded spans, of all runs of a plan together ...
const SLICES_MAX: usize = 4_000_000;

/// ... but at least this number for each run. All together take less than 1 GB.
const SLICES_OF_A_RUN: usize = 500_000;

/// Maximum number of lines of rt-app's log, of all runs of a plan together: 400 MB.
const LOG_LINES_MAX: usize = 4_000_000;

impl Record {
    /// Returns the maximum number of lines of rt-app's log for a run, in a plan with `schedulers`
    /// schedulers.
    fn log_lines(&self, schedulers: usize) -> usize {
        if self.rt_app_log { (LOG_LINES_MAX / schedulers.max(1)).max(100_000) } else { 0 }
    }

    /// Returns the extent of a recorder, in a plan with `schedulers` schedulers. `None`: nothing is
    /// recorded.
    fn extent(&self, schedulers: usize) -> Option<Extent> {
        self.slices.then(|| Extent {
            from_ns: self.from_ns,
            until_ns: self.until_ns.unwrap_or(u64::MAX),
            most: (SLICES_MAX / schedulers.max(1)).max(SLICES_OF_A_RUN),
        })
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u64 {
    1
}

fn is_one(value: &u64) -> bool {
    *value == 1
}

impl Plan {
    /// Creates a plan of `load` on a machine of equal CPUs under `schedulers`, without settings.
    pub fn new(load: Load, schedulers: Vec<String>) -> Plan {
        Plan {
            version: VERSION,
            machine: MachineSpec::default(),
            load,
            schedulers,
            set: vec![],
            groups: Groups::default(),
            timetable: Timetable::default(),
            limit_ns: None,
            seed: None,
            repeat: 1,
            late_starts: false,
            start: Start::Fork,
            record: Record::default(),
        }
    }

    /// Returns the plan as JSON, which [`Plan::parse`] reads back unchanged.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("all keys are strings");
        text.push('\n');
        text
    }

    /// Returns the seed of the first run. `None`: simultaneous events happen in the golden order.
    pub fn first_seed(&self) -> Option<u64> {
        let drawn = self.repeat > 1 || self.late_starts;
        self.seed.or_else(|| drawn.then_some(1))
    }

    /// Whether `text` is intended as a plan: its first key is `schedlab_plan`, or it is JSON and
    /// has that key somewhere (a program that sorts keys writes it last).
    pub fn is_plan(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Head {
            schedlab_plan: Option<serde::de::IgnoredAny>,
        }
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let key = text.strip_prefix('{').map(str::trim_start);
        let key = key.and_then(|text| text.strip_prefix('"'));
        key.is_some_and(|text| text.starts_with(MARK))
            || text.contains(MARK)
                && serde_json::from_str::<Head>(text).is_ok_and(|head| head.schedlab_plan.is_some())
    }

    /// Parses a plan. Messages refer to it as `name`.
    ///
    /// # Errors
    /// The text is malformed (the message names the place), or is a plan of another version.
    pub fn parse(name: &str, text: &str) -> Result<Plan, Error> {
        /// Parsed first, so that a plan of another version is reported as such.
        #[derive(Deserialize)]
        struct Head {
            schedlab_plan: u32,
        }
        let text = text.trim_start_matches('\u{feff}');
        let wrong = |error: serde_json::Error| {
            let whole = error.to_string();
            let message = whole.rsplit_once(" at line ").map_or(&*whole, |(message, _)| message);
            let message = plain(message);
            Error::Plan(format!("{name}:{}:{}: {message}", error.line(), error.column()))
        };
        if let Ok(Head { schedlab_plan: version }) = serde_json::from_str(text)
            && version != VERSION
        {
            return Err(Error::Plan(format!(
                "{name}: this is a plan of version {version}; this program reads version {VERSION}"
            )));
        }
        serde_json::from_str(text).map_err(wrong)
    }
}

/// Replaces terms of Rust in a message of the JSON reader by terms of JSON.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number of at least 0"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
        ("expected a tuple of size 2", "expected a list of two: name and value"),
        ("expected struct Source", "expected a file: {\"file\": \"name\", \"text\": \"...\"}"),
        ("expected struct ", "expected an object: "),
    ];
    let found = WORDS.iter().find(|(theirs, _)| message.contains(theirs));
    let message = found.map_or(message.into(), |(theirs, ours)| message.replace(theirs, ours));
    format!("{message}; docs/plan.md describes plans")
}
