//! The grounds of 2.6.23's decisions. (Its rules are among the
//! [rules of the class](crate::cfs::rules).)

use super::WaitRuntime;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{Candidate, Evidence, GroupId};

impl WaitRuntime {
    /// Adds the candidates from which the CPU would choose now: all queued tasks, the running one
    /// with its last key. The smallest `fair_key` is chosen, and the first to arrive among equals.
    pub(super) fn candidates_fair(&self, rqs: &Rqs, out: &mut Vec<Candidate>) {
        for (number, entity) in self.entities.iter().enumerate() {
            if !entity.on_rq {
                continue;
            }
            let pid = Pid(number as u32);
            let ahead = entity.fair_key.wrapping_sub(self.fair_clock) as i64;
            let candidate = Candidate {
                who: rqs.who(pid),
                within: GroupId::ROOT,
                rank: [ahead, entity.arrival as i64, 0, 0],
                terms: Vec::new(),
            };
            out.push(
                candidate
                    .with("fair_key", entity.fair_key as i64)
                    .with("wait_runtime_ns", entity.wait_runtime)
                    .with("weight", entity.load.weight as i64)
                    .with("nice", i64::from(rqs.settings[number].attr.nice)),
            );
        }
    }

    /// Records the grounds of a pick.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_pick(&self, rqs: &Rqs, out: &mut Evidence) {
        out.term("nr_running", self.nr_running as i64).term("fair_clock", self.fair_clock as i64);
        self.candidates_fair(rqs, &mut out.candidates);
    }

    /// Records the grounds on which `pid` preempts the running task, or does not.
    #[cold]
    #[inline(never)]
    pub(super) fn account_of_check(&self, pid: Pid, gran: u64, out: &mut Evidence) {
        if let Some(curr) = self.curr {
            out.term("curr_fair_key", self.entities[curr.index()].fair_key as i64)
                .term("fair_key", self.entities[pid.index()].fair_key as i64)
                .term("granularity_ns", gran as i64);
        }
    }
}
