//! Conventions of golden schedules that do not state them.
//!
//! A golden file can state the conventions of its workload in `machine.conventions`, and settings
//! in `tunables`. The first files were written before these fields existed. A table next to this
//! file supplies what they lack, by their `scheduler` and `kernel`. (One property differs between
//! files of the same kernel; there, a phrase in the `notes` selects the entry.)

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

/// Properties of the files that an entry matches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    scheduler: String,
    /// `None`: every kernel.
    kernel: Option<String>,
    /// Words in the notes. `None`: any notes.
    notes: Option<String>,
    #[serde(default)]
    conventions: Vec<String>,
    #[serde(default)]
    tunables: BTreeMap<String, i64>,
    /// Names among the files' tunables that the kernel does not have, and that had no effect.
    #[serde(default)]
    ignored: Vec<String>,
    /// A tunable for kernels that were built with group scheduling. Its value is in the file;
    /// otherwise it is on for machines of one CPU and where there are groups.
    group_scheduling: Option<String>,
}

/// Conventions and settings of a file.
#[derive(Default)]
pub struct Provenance {
    /// Conventions of its workload.
    pub conventions: Conventions,
    /// Settings in addition to the file's own tunables.
    pub tunables: Vec<(String, i64)>,
    /// The file's tunables that the kernel does not have.
    pub ignored: Vec<String>,
}

/// Conventions and settings of `file` that it does not state itself. Tunables that it names are
/// left out.
pub fn of(file: &GoldenFile) -> Provenance {
    let table: Table = serde_json::from_str(TABLE).expect("a test parses the table");
    let mut known = Provenance::default();
    for entry in table.entries.iter().filter(|entry| entry.matches(file)) {
        for name in &entry.conventions {
            known.conventions.set(name).expect("a test parses the table");
        }
        known.ignored.extend(entry.ignored.iter().cloned());
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
        let table: Table = serde_json::from_str(TABLE).expect("the table is valid");
        for entry in &table.entries {
            for name in &entry.conventions {
                assert_eq!(Conventions::default().set(name), Ok(()), "{name}");
            }
        }
    }
}
