//! How golden schedules were made that do not say so themselves.
//!
//! A golden file can say in `machine.conventions` by which conventions its workload was run, and in
//! `tunables` what was set. The first ones were written before there was a field for either; what
//! they leave out stands in the table beside this file, by the `scheduler` and `kernel` that they
//! name. (One property differs between files of the same kernel; there a mark in the `notes` picks
//! the entry.)

use schedlab_workload::{Conventions, GoldenFile};
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLE: &str = include_str!("conventions.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "format")]
    _format: String,
    entries: Vec<Entry>,
}

/// What holds of the files that it matches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    scheduler: String,
    /// None: every kernel's.
    kernel: Option<String>,
    /// Words in the notes; none: whatever they say.
    notes: Option<String>,
    #[serde(default)]
    conventions: Vec<String>,
    #[serde(default)]
    tunables: BTreeMap<String, i64>,
    /// A tunable for whether the kernel was built with group scheduling: as the file says, and
    /// otherwise on one CPU and where there are groups.
    group_scheduling: Option<String>,
}

/// How a file was made.
#[derive(Default)]
pub struct Known {
    /// How its workload was run.
    pub conventions: Conventions,
    /// What was set besides the file's own tunables.
    pub tunables: Vec<(String, i64)>,
}

/// How `file` was made, as far as it does not say so itself. What its `tunables` name is not in it.
pub fn of(file: &GoldenFile) -> Known {
    let table: Table = serde_json::from_str(TABLE).expect("a test reads the table");
    let mut known = Known::default();
    for entry in table.entries.iter().filter(|entry| entry.matches(file)) {
        for name in &entry.conventions {
            known.conventions.set(name).expect("a test reads the table");
        }
        let unsaid =
            |(name, _): &(&String, &i64)| file.tunables.iter().all(|(other, _)| other != *name);
        let more = entry.tunables.iter().filter(unsaid);
        known.tunables.extend(more.map(|(name, value)| (name.clone(), *value)));
        if let Some(name) = &entry.group_scheduling {
            let by_default = file.cpus == 1 || !file.groups.is_empty();
            let built = file.group_scheduling.unwrap_or(by_default);
            known.tunables.push((name.clone(), built.into()));
        }
    }
    known
}

impl Entry {
    fn matches(&self, file: &GoldenFile) -> bool {
        self.scheduler == file.scheduler
            && self.kernel.as_ref().is_none_or(|kernel| *kernel == file.kernel)
            && self.notes.as_ref().is_none_or(|words| file.notes.contains(words.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let table: Table = serde_json::from_str(TABLE).expect("it is in order");
        for entry in &table.entries {
            for name in &entry.conventions {
                assert_eq!(Conventions::default().set(name), Ok(()), "{name}");
            }
        }
    }
}
