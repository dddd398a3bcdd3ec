//! An answer whose runs somebody observes, who may end them: [`Prepared::answer_observed`].

use super::{Answer, Prepared, answer, ensemble};
use crate::error::Error;
use schedlab_core::Observer;
use std::num::NonZeroUsize;

impl Prepared {
    /// The same as [`answer`](Prepared::answer), with an observer of the caller's for each run. An
    /// observer that unwinds ends its run, which is an error then, as is a scheduler that panics;
    /// after an error no other run is begun. So a caller whose observers look at a flag now and
    /// then can give the answer up in the midst of a run.
    ///
    /// # Errors
    /// A run that broke down, or was ended.
    pub fn answer_observed<O: Observer>(
        &self,
        threads: NonZeroUsize,
        observer: impl Fn() -> O + Sync,
    ) -> Result<Answer, Error> {
        let runs = ensemble::run_all(self, threads, observer)?;
        Ok(answer::make(self, &runs))
    }
}
