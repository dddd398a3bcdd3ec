//! How a run ended.

use serde::{Deserialize, Serialize};

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// Reason.
    pub state: EndState,
    /// Time, ns; also the length of the run, which begins at 0.
    pub at_ns: u64,
}

/// Reason why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndState {
    /// The time limit was reached.
    TimeUp,
    /// All tasks had ended.
    AllEnded,
    /// All remaining tasks slept, and no event would ever wake them.
    Stuck,
    /// The run failed. (Only of a benchmark; there are no figures then.)
    Failed,
}
