//! Advice about a recorded machine: the few settings of which a replay predicts that they help
//! ([`advise`]), and how well such a prediction agrees with what then really happened ([`check`]).
//!
//! The recorded work runs with one change at a time: another nice value, policy, slice or CPU of
//! the tasks of a name, another weight or limit of a group, another tunable, another release. The
//! best are tried with other values, and then together. What is left is judged by runs whose seeds
//! the search has not used, or by a second recording of the same work. Advice is a change whose
//! improvement of the aim exceeds the spread of these runs.
//!
//! * `aim`: aims; `figure`: figures; `change`: changes and their commands; `candidates`: changes
//!   that are tried; `work`: runs; `effect`: effects on figures; `search`: the search; `score`:
//!   predictions compared with what happened.

mod aim;
mod candidates;
mod change;
mod effect;
mod figure;
mod score;
mod search;
mod work;

pub use aim::{Aim, Bound, Condition, Measure, Measured};
pub use candidates::Kind;
pub use change::Change;
pub use effect::Effect;
pub use figure::Figure;
pub use score::{CheckSpec, Outcome, Score, Scored, check};
pub use search::{Advice, AdviseSpec, BUDGET_MIN, Suggestion, advise};
