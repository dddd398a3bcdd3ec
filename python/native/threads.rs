//! The number of threads that do a piece of work.

use schedlab_lab::parallel;
use std::num::NonZeroUsize;

/// Returns the number of threads to use; `None` or `0`: one for each core.
pub fn threads(asked: Option<usize>) -> NonZeroUsize {
    asked.and_then(NonZeroUsize::new).unwrap_or_else(parallel::cores)
}
