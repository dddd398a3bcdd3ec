//! What is to be run, as plain data: [`Plan`].
//!
//! A plan names or holds all that runs depend on: machine, load, schedulers, groups, timetable,
//! tunables, limits, seeds. It is self-contained (files stand in it with their texts) and can be
//! written as JSON and read back. Every front end fills a plan:
//!
//! ```text
//! Plan  --prepare-->  Prepared  --run-->  Run
//! ```
//!
//! [`Plan::prepare`] finds every mistake before the first run. A [`Prepared`] plan makes
//! independent runs: one that ends badly does not take the others along.
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

/// The version of the form that this program writes and reads.
pub const VERSION: u32 = 1;

/// The key by which a file is known to be a plan; written first.
const MARK: &str = "schedlab_plan";

/// What is to be run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`VERSION`].
    #[serde(rename = "schedlab_plan")]
    pub version: u32,
    /// What it runs on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub machine: MachineSpec,
    /// What runs.
    pub load: Load,
    /// Under what: `cfs`, `cfs@2.6.24`, `cfs[sched_latency_ns=6000000]`, or `main`, `linux`,
    /// `textbook`, `all`. A scheduler that is named must be able to run the load; of many those are
    /// left out that cannot.
    pub schedulers: Vec<String>,
    /// What to set in this order, where a scheduler has it: names and values. Several values make a
    /// column each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, SetValues)>,
    /// Task groups, and who is in them. A workload's only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub groups: Groups,
    /// What is done to the machine while it runs. A workload's only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timetable: Timetable,
    /// When each run is stopped at the latest, ns; none: when the load says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Of a workload: simultaneous events happen in random order by this seed; none: in the golden
    /// order. Of a benchmark: the first seed of all that is random in it; none: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How often everything is run, each time with the next seed; the first is 1 if there is none.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u64,
    /// Each task begins up to a tick later, by the seed. A workload's only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub late_starts: bool,
    /// How its tasks begin: by being forked, or by waking. A workload's only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: Start,
    /// What is recorded besides the figures.
    #[serde(default, skip_serializing_if = "is_default")]
    pub record: Record,
}

/// A file's text, with the name by which messages and reports call it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The file's name.
    pub file: String,
    /// What stands in it.
    pub text: String,
}

/// Task groups, and who is in them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Groups {
    /// Files of groups and their settings, in one of the forms of `docs/groups.md`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Source>,
    /// Single settings, as `/tg1:cpu.weight=200`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// libcgroup's rules: which users' programs are put in which groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgrules: Option<Source>,
    /// A group for each user.
    #[serde(skip_serializing_if = "is_default")]
    pub user_groups: bool,
    /// Files that say whose tasks are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_files: Vec<Source>,
    /// Whose some tasks are, as `make-*=bob/1001:students`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
}

/// What is done to the machine while it runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timetable {
    /// Files of actions, one a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Source>,
    /// Single actions, as `2s renice video -5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
}

/// What is recorded besides the figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Who ran where, from when to when. A workload's only.
    #[serde(skip_serializing_if = "is_default")]
    pub slices: bool,
    /// Only of what ends after this time, ns ...
    #[serde(skip_serializing_if = "is_default")]
    pub from_ns: u64,
    /// ... and begins before this; none: of all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
    /// rt-app's own log: a line for every round of a phase. A workload's only.
    #[serde(skip_serializing_if = "is_default")]
    pub rt_app_log: bool,
    /// Whether observers get the grounds of every decision
    /// ([`Event::Decided`](schedlab_core::Event::Decided)).
    #[serde(skip_serializing_if = "is_default")]
    pub reasons: bool,
}

/// So many slices are recorded at most, and as many spans, of all runs of a plan together ...
const SLICES_MAX: usize = 4_000_000;

/// ... but of each run so many: all together they take less than 1 GB.
const SLICES_OF_A_RUN: usize = 500_000;

/// So many lines of rt-app's log are kept at most, of all runs of a plan together: 400 MB.
const LOG_LINES_MAX: usize = 4_000_000;

impl Record {
    /// How many lines of rt-app's log are kept of a run, of a plan with so many schedulers.
    fn log_lines(&self, schedulers: usize) -> usize {
        if self.rt_app_log { (LOG_LINES_MAX / schedulers.max(1)).max(100_000) } else { 0 }
    }

    /// What of this a recorder is told, of a plan with so many schedulers.
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
    /// `load` on one machine of equal CPUs under `schedulers`, with nothing set.
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

    /// The plan as JSON. It can be read back with [`Plan::parse`], and is the same then.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("all of its keys are strings");
        text.push('\n');
        text
    }

    /// The seed of the first run; none: simultaneous events happen in the golden order.
    pub fn first_seed(&self) -> Option<u64> {
        let drawn = self.repeat > 1 || self.late_starts;
        self.seed.or_else(|| drawn.then_some(1))
    }

    /// Whether `text` is meant to be a plan: its first key is `schedlab_plan`, or it is JSON and
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

    /// Reads a plan. `name` is what messages call it.
    ///
    /// # Errors
    /// Where it is not as it should be; a plan of another version.
    pub fn parse(name: &str, text: &str) -> Result<Plan, Error> {
        /// Read first, so that a plan of another version is reported as one.
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

/// A message of the JSON reader in the words of JSON rather than in those of Rust.
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
    format!("{message}; docs/plan.md tells what a plan holds")
}
