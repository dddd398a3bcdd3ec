//! The rules by which the scheduler decides.

use schedlab::scheduler::define_rules;

define_rules! {
    /// Rules of its decisions.
    pub static RULES {
        1 FIRST Pick "first": "The task that has waited longest runs.";
        2 GO_ON Pick "go_on": "No task waits: the current task continues, if it is still runnable.";
    }
}
