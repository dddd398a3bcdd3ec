//! The weight follows the score.

use crate::classes::weights::{PRIO_TO_WEIGHT, PRIO_TO_WMULT};
use crate::classes::{ClassId, Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::eevdf::EarliestDeadline;
use crate::fair_6::entity::WEIGHT_SHIFT;
use schedlab_core::{Platform, Policy};

impl Fair<EarliestDeadline> {
    /// The nice value that counts for `task`: its own, raised by its score.
    #[inline]
    pub(in crate::fair_6::eevdf) fn effective_nice(&self, task: Pid, nice: i32) -> i32 {
        match &self.tunables.bore {
            None => nice,
            Some(bore) => (nice + bore.score(self.rule.bursts.of(task).penalty)).clamp(-20, 19),
        }
    }

    /// The effective priority of `task`, 0 to 39: its place in the table of weights.
    #[inline]
    pub(super) fn effective_prio(&self, rqs: &Rqs, task: Pid) -> usize {
        let nice = rqs.settings[task.index()].attr.nice;
        (self.effective_nice(task, nice) + 20) as usize
    }

    /// Gives `task` the weight of its effective priority. A queued task keeps its lag and its
    /// distance to the deadline in real time. A task that is not queued keeps them as numbers, and
    /// its load average stays.
    pub(super) fn set_bore_weight(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if rqs.thread(task).policy == Policy::Idle {
            return;
        }
        let e = self.se_of(task);
        let prio = self.effective_prio(rqs, task);
        let weight = u64::from(PRIO_TO_WEIGHT[prio]) << WEIGHT_SHIFT;
        let inverse = Some(PRIO_TO_WMULT[prio]);
        if !self.se[e].on_rq {
            self.se[e].set_weight(weight, inverse);
            self.info[e].load = weight;
            return;
        }
        self.rule.bursts.row(task).stop_update = true;
        self.reweight(rqs, platform, e, weight, inverse);
        self.rule.bursts.row(task).stop_update = false;
    }

    /// Gives the main threads of all processes, in the order of their births, the weights of their
    /// effective priorities, after the tunable `name` has been written.
    pub(in crate::fair_6::eevdf) fn bore_tunable_written(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        name: &str,
    ) {
        if !self.tunables.bore.is_some_and(|bore| bore.reweights(name)) {
            return;
        }
        for at in 0..self.rule.bursts.kin.births.len() {
            let task = self.rule.bursts.kin.births[at];
            if self.rule.bursts.kin.is_alive(task) && rqs.thread(task).class == ClassId::Fair {
                self.set_bore_weight(rqs, platform, task);
            }
        }
    }
}
