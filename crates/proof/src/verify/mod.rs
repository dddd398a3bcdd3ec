//! Replays golden schedules: every slice must equal that of the real kernel.

mod collect;
mod compare;
mod conventions;
mod figures;
mod replay;

pub use collect::{CollectError, Collected, DISAGREEMENTS, collect};
pub use compare::{Agreement, Difference, FigureDifference, NamedSlice};
pub use replay::{GoldenError, Verdict, check_file, observe_file, verify_bytes, verify_file};

use std::collections::BTreeMap;

/// Results for the golden schedules of one scheduler and kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Number of files replayed.
    pub files: usize,
    /// Number of these files in which every slice agrees.
    pub agreeing: usize,
    /// CPU time over all files, and the part of it that agrees.
    pub agreement: Agreement,
}

/// Results for many golden schedules, by scheduler and kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Results by scheduler and kernel.
    pub tallies: BTreeMap<(String, String), Tally>,
    /// Number of files that could not be replayed.
    pub errors: usize,
}

impl Summary {
    /// Adds the result of a file.
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

    /// Returns the total over all schedulers.
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
