//! State of EEVDF's rule of picking.

use super::bore::burst::Bursts;
use super::releases::{Features, Version};
use super::tunables::Tunables;
use crate::fair_6::class::Fair;
use crate::fair_6::rule_state::RuleState;
use alloc::vec::Vec;

/// The rule of EEVDF: the eligible entity with the earliest virtual deadline runs.
#[derive(Default, Debug)]
pub struct EarliestDeadline {
    /// The longest slice that any task has requested, ns.
    pub(super) longest_slice: u32,
    /// By CPU: the time for which its hrtick is set, ns. Shorter than the number of CPUs if the
    /// last ones never had a timer.
    pub(super) hrtick_set: Vec<Option<u64>>,
    /// The tasks' bursts. Empty without BORE.
    pub(super) bursts: Bursts,
}

impl Fair<EarliestDeadline> {
    /// The feature switches.
    #[inline]
    pub(super) fn features(&self) -> &Features {
        &self.tunables.features
    }
}

impl RuleState for EarliestDeadline {
    type Version = Version;
    type Tunables = Tunables;
}
