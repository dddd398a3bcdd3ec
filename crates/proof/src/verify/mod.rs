//! Replays golden schedules: every slice must be as the real kernel had it.

mod collect;
mod compare;
mod conventions;
mod figures;
mod replay;

pub use collect::{CollectError, Collected, collect};
pub use compare::{Agreement, Difference, FigureDifference, NamedSlice};
pub use replay::{GoldenError, Verdict, check_file, observe_file, verify_bytes, verify_file};

use std::collections::BTreeMap;

/// What came of the golden schedules of one scheduler and kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Files replayed.
    pub files: usize,
    /// Those of them in which every slice agrees.
    pub agreeing: usize,
    /// CPU time over all files, and how much of it agrees.
    pub agreement: Agreement,
}

/// What came of many golden schedules, by scheduler and kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// For each scheduler and kernel what came of its files.
    pub tallies: BTreeMap<(String, String), Tally>,
    /// Files that could not be replayed.
    pub errors: usize,
}

impl Summary {
    /// Counts one more file.
    pub fn add(&mut self, result: &Result<Verdict, GoldenError>) {
        match result {
            Err(_) => self.errors += 1,
            Ok(verdict) => {
                let key = (verdict.scheduler.clone(), verdict.kernel.clone());
                let tally = self.tallies.entry(key).or_default();
                tally.files += 1;
                tally.agreeing += usize::from(verdict.agrees());
                tally.agreement += verdict.agreement;
            }
        }
    }

    /// All schedulers together.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.tallies.values() {
            total.files += tally.files;
            total.agreeing += tally.agreeing;
            total.agreement += tally.agreement;
        }
        total
    }
}
