//! Charging: the running entity pays for its time.

use super::Cfs;
use super::ids::CfsRqId;
use super::load_weight::calc_delta_fair;
use crate::classes::Rqs;
use schedlab_core::Platform;

impl Cfs {
    /// `update_curr`: charges the running entity of queue `q` for the time since it was last
    /// charged or picked. Its vruntime grows by that time, scaled by its weight, and `min_vruntime`
    /// follows. It affects one queue only. Callers that charge the whole hierarchy walk it.
    #[inline]
    pub(super) fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let queue = &mut self.queues[q];
        let Some(curr) = queue.curr else {
            return;
        };
        let cpu = queue.cpu;
        let clock = rqs.clock(cpu);
        let entity = &mut self.entities[curr];
        let delta = clock.wrapping_sub(entity.exec_start);
        if delta == 0 && !self.version.min_vruntime_on_charge_only {
            return;
        }
        queue.exec_clock += delta;
        entity.sum_exec += delta;
        entity.vruntime += calc_delta_fair(delta, entity.load);
        entity.exec_start = clock;
        queue.update_min_vruntime(Some(entity.vruntime));
        if !self.limits.account(platform, q, clock, delta) {
            rqs.resched_curr(platform, cpu);
        }
    }
}
