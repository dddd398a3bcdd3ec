//! A replay with observers of the caller, which can end its runs: [`Prepared::run_observed`].

use super::{Prepared, ReplayReport, assess, ensemble};
use crate::error::Error;
use schedlab_core::Observer;
use std::num::NonZeroUsize;

impl Prepared {
    /// Like [`run`](Prepared::run), with an observer of the caller for each run. An observer that
    /// unwinds ends its run with an error, as does a scheduler that panics. After an error no other
    /// run begins. So a caller can stop a replay in the middle of a run, with observers that check
    /// a flag from time to time.
    ///
    /// # Errors
    /// A run broke down, or was ended.
    pub fn run_observed<O: Observer>(
        &self,
        threads: NonZeroUsize,
        observer: impl Fn() -> O + Sync,
    ) -> Result<ReplayReport, Error> {
        let runs = ensemble::run_all(self, threads, observer)?;
        Ok(assess::assess(self, &runs))
    }
}
