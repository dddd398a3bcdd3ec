//! How bursts grow with each charge, end, become history and are forgotten.

use super::burst::Burst;
use super::releases::Patch;
use super::settings::Settings;
use crate::classes::{Pid, Rqs};
use crate::fair_6::class::Fair;
use crate::fair_6::eevdf::EarliestDeadline;
use crate::fair_6::ids::CfsRqId;
use schedlab_core::{Platform, TaskAttr};

impl Fair<EarliestDeadline> {
    /// Turns the class of an idle machine into one with BORE.
    pub(in crate::fair_6::eevdf) fn apply_bore(&mut self, patch: Patch, hz: u32) {
        self.tunables.set_bore(Settings::new(patch, hz));
        self.rule.bursts.make_room(super::kin::ROOT);
    }

    /// Adds the `delta_ns` for which the running `task` has just been charged to its burst.
    #[inline(never)]
    pub(in crate::fair_6::eevdf) fn count_burst(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        delta_ns: u64,
    ) {
        let Some(bore) = self.tunables.bore else {
            return;
        };
        let row = self.rule.bursts.row(task);
        if row.stop_update {
            return;
        }
        row.time_ns += delta_ns;
        row.curr_penalty = bore.penalty(row.time_ns);
        if row.curr_penalty > row.prev_penalty {
            self.update_penalty(rqs, platform, task);
        }
    }

    /// `update_penalty`: the penalty in force follows the burst and the history of `task`. The
    /// weight follows, if the effective priority has changed.
    fn update_penalty(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let before = self.effective_prio(rqs, task);
        let row = self.rule.bursts.row(task);
        row.penalty = row.curr_penalty.max(row.prev_penalty);
        if rqs.settings[task.index()].address_space == TaskAttr::NO_ADDRESS_SPACE {
            // A kernel thread.
            row.penalty = 0;
        }
        if self.effective_prio(rqs, task) != before {
            self.set_bore_weight(rqs, platform, task);
        }
    }

    /// `restart`: the burst of `task` ends and becomes history.
    pub(super) fn end_burst(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let Some(bore) = self.tunables.bore else {
            return;
        };
        let row = self.rule.bursts.row(task);
        row.prev_penalty = bore.history(row.prev_penalty, row.curr_penalty);
        row.curr_penalty = 0;
        row.time_ns = 0;
        self.update_penalty(rqs, platform, task);
    }

    /// `task` goes to sleep, or leaves its queue as if it did: its burst ends, after it has been
    /// charged. In 6.5.9 a task in a group is not charged here, because the running entity of the
    /// CPU's queue is its group.
    #[inline]
    pub(in crate::fair_6::eevdf) fn burst_ends_asleep(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
    ) {
        let Some(bore) = self.tunables.bore else {
            return;
        };
        let e = self.se_of(task);
        let q = match bore.patch.charges_in_groups() {
            true => self.cfs_rq_of(e),
            false => CfsRqId::of_cpu(rqs.cpu_of(task)),
        };
        if self.cfs_rqs[q].curr == Some(e) {
            self.update_curr(rqs, platform, q);
        }
        self.end_burst(rqs, platform, task);
    }

    /// `task` has come from another class: all of it is forgotten. The weight stays.
    pub(in crate::fair_6::eevdf) fn forget_burst(&mut self, task: Pid) {
        if self.tunables.bore.is_some() {
            *self.rule.bursts.row(task) = Burst::default();
        }
    }

    /// The running `task` is about to sleep in a wait for a futex.
    pub(in crate::fair_6::eevdf) fn mark_futex_wait(&mut self, task: Pid) {
        if self.tunables.bore.is_some_and(|bore| bore.marks_futex_waits) {
            self.rule.bursts.row(task).futex_waiting = true;
        }
    }

    /// `task` has been picked: it no longer waits for a futex.
    #[inline]
    pub(in crate::fair_6::eevdf) fn clear_futex_wait(&mut self, task: Pid) {
        if self.tunables.bore.is_some() {
            self.rule.bursts.row(task).futex_waiting = false;
        }
    }
}
