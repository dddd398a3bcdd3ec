//! Balancing as it was before 5.5 replaced it: groups are compared by their **average load**.
//!
//! The load of a CPU is the weight of what is queued there, averaged over time
//! ([`runnable_load`](super::runnable_load)). The load of a group, divided by its capacity, is its
//! average load. A CPU pulls load from the group with the highest average if that is clearly above
//! its own group's, and takes as much as brings both to the average of the whole domain. As loads
//! come in tasks, that is often less than one task; then one task is moved if that evens out at
//! least as much as it disturbs.
//!
//! Besides, a group with more tasks than CPUs and no time to spare is *overloaded*, and a group
//! within which affinity has prevented balancing is *imbalanced*; they come first.
//!
//! The rest of balancing (when, by which CPU, which tasks, what after failures) is that of
//! [`load_balance`](super::load_balance), with the differences that
//! [`FairVersion`](super::rule_state::FairVersion) names.
//!
//! | file | subject |
//! |---|---|
//! | [`cpu_load`] | the load of a CPU, and its loads of several ages (up to 5.2) |
//! | [`groups`] | statistics of the groups, and the busiest one |
//! | [`imbalance`] | whether to pull, how much, and from which CPU |
//! | [`idlest`] | where forks and execs go |
//! | [`search`] | the search for an idle CPU at a wakeup |

pub mod cpu_load;
pub mod groups;
pub mod idlest;
pub mod imbalance;
pub mod search;
