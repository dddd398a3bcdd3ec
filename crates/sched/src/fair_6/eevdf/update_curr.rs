//! Charging: the running entity is charged in virtual time, and when its request has been served
//! the next one begins.

use super::EarliestDeadline;
use super::releases::Version;
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::CfsRqId;
use schedlab_core::Platform;

impl Fair<EarliestDeadline> {
    /// `update_curr`: charges the running entity for the time since it was last charged, and starts
    /// a new request when the current one has been served. The new request starts from the present
    /// vruntime: an overrun is not held against it.
    #[inline]
    pub(super) fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let Some(c) = self.cfs_rqs[q].curr else {
            return;
        };
        let now_ns = platform.now_ns();
        let delta_ns = now_ns + self.clock_ns - self.info[c].exec_start;
        if delta_ns != 0 {
            self.charge_curr(rqs, platform, q, delta_ns);
        }
    }

    /// [`update_curr`](Fair::update_curr), if time has passed.
    #[inline(never)]
    fn charge_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId, delta_ns: u64) {
        let queue = &mut self.cfs_rqs[q];
        let Some(c) = queue.curr else {
            return;
        };
        let now_ns = platform.now_ns();
        let info = &mut self.info[c];
        info.exec_start += delta_ns;
        if info.task.is_some() {
            self.exec_clock[queue.cpu.index()] += delta_ns;
        }
        let entity = &mut self.se[c];
        entity.vruntime = entity.vruntime.plus(entity.vt(delta_ns));
        queue.exec_clock += delta_ns;
        queue.follow(entity.vruntime);
        let used_up = !entity.vruntime.is_before(entity.deadline);
        if used_up {
            if !info.custom_slice {
                entity.slice = self.tunables.base_slice;
            }
            entity.deadline = entity.vruntime.plus(entity.vslice());
        }
        let (cpu, alone) = (queue.cpu, queue.nr_queued == 1);
        if self.limits.is_used() && !self.limits.account(platform, q, now_ns, delta_ns) {
            rqs.resched_curr(platform, cpu);
        }
        if alone {
            return;
        }
        let gives_way = used_up
            || match self.version {
                Version::V6_6 => false,
                // A task with a shorter slice has cancelled the protection.
                Version::V6_12 => {
                    !self.is_protected(c)
                        && !self.cfs_rqs[q].eligible(&self.se, self.se[c].vruntime)
                }
                Version::V6_18 | Version::V7_3 => !self.is_protected(c),
            };
        if gives_way {
            rqs.resched_curr(platform, cpu);
            self.clear_next_buddy(c);
        }
    }
}
