//! Estimated utilisation of a task, updated when it goes to sleep. It consists of two numbers: the
//! utilisation of the last period of activity, and a moving average that follows an increase at
//! once and a decrease by a quarter of the difference. The larger one counts.

use super::LeastVruntime;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::EntityId;

/// Differences below this (1 % of a CPU) are ignored.
const MARGIN: u32 = 10;

impl Fair<LeastVruntime> {
    /// `util_est_update`, if the averages have been updated since the last time.
    pub(super) fn estimate_twice(&mut self, e: EntityId) {
        if !self.version.has_fast_estimates() {
            self.estimate_slowly(e);
            return;
        }
        let info = &mut self.info[e];
        let state = &mut self.rule.entities[e];
        // The lowest bit was the mark that the averages have not been updated.
        let mark = u32::from(self.version.marks_estimates_in_bit_0());
        let util = info.avg.util_avg as u32 | mark;
        let (old, ewma) = (state.util_enqueued, state.util_ewma);
        let mut new_ewma = ewma;
        if ewma < util {
            new_ewma = util;
        } else if ewma - util < MARGIN {
            if mark == 1 || old.abs_diff(util) < MARGIN {
                return;
            }
        } else if util > 1024 {
            return;
        } else {
            new_ewma = ((ewma << 2) - (ewma - util)) >> 2;
        }
        state.util_enqueued = util;
        state.util_ewma = new_ewma;
        info.util_est = util.max(new_ewma) | mark;
        info.avg_renewed = false;
    }

    /// The same up to 5.4: the average follows in both directions by a quarter, and after a small
    /// difference nothing is stored. The lowest bit of an estimate, by which those kernels note that
    /// averages have not been renewed since, counts as part of it.
    #[cold]
    fn estimate_slowly(&mut self, e: EntityId) {
        let info = &mut self.info[e];
        let state = &mut self.rule.entities[e];
        let util = info.avg.util_avg as u32 | 1;
        let ewma = state.util_ewma;
        if util.abs_diff(ewma) < MARGIN || info.avg.util_avg > 1024 {
            return;
        }
        let ewma = (4 * ewma + util - ewma) >> 2;
        state.util_enqueued = util;
        state.util_ewma = ewma;
        info.util_est = util.max(ewma) | 1;
        info.avg_renewed = false;
    }
}
