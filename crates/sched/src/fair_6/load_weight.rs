//! The weights of tasks.

use super::class::Fair;
use super::entity::WEIGHT_SHIFT;
use super::ids::EntityId;
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::weights::{WEIGHT_IDLEPRIO, WMULT_IDLEPRIO, weight_of_nice, wmult_of_nice};
use crate::classes::{Pid, Rqs};
use schedlab_core::{Platform, Policy, SchedAttr};

impl<R: PickRule> Fair<R> {
    /// `set_load_weight`: sets weight, idle policy and request of a task from its attributes. The
    /// task is on no queue.
    pub(super) fn set_task_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        attr: &SchedAttr,
    ) {
        let e = self.se_of(task);
        let idle = attr.policy == Policy::Idle;
        let (weight, inverse) = if idle {
            (WEIGHT_IDLEPRIO, WMULT_IDLEPRIO)
        } else {
            (weight_of_nice(attr.nice), wmult_of_nice(attr.nice))
        };
        self.info[e].idle = idle;
        self.idle_seen |= idle;
        let weight = u64::from(weight) << WEIGHT_SHIFT;
        if idle && self.version.idle_policy_keeps_load() {
            // Its averages keep the old weight.
            self.se[e].set_weight(weight, Some(inverse));
            self.info[e].load = weight;
        } else {
            R::reweight(self, rqs, platform, e, weight, Some(inverse));
        }
        R::set_request(self, e, attr);
    }

    /// Gives `e`, and its averages, the stored weight `weight`.
    pub(super) fn take_weight(&mut self, e: EntityId, weight: u64, inverse: Option<u32>) {
        self.reweight_load_avg(e, weight);
        self.se[e].set_weight(weight, inverse);
        self.info[e].load = weight;
    }
}
