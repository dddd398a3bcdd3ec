//! Charging: the running entity is charged in virtual time, and when its request has been served
//! the next one begins.

use super::EarliestDeadline;
use crate::classes::Rqs;
use crate::fair_6::class::Fair;
use crate::fair_6::ids::{CfsRqId, EntityId};
use crate::fair_6::rule_state::FairVersion as _;
use schedlab_core::Platform;

impl Fair<EarliestDeadline> {
    /// `update_curr`: charges the running entity for the time since it was last charged, and starts
    /// a new request when the current one has been served. The new request starts from the present
    /// vruntime: an overrun is not held against it.
    #[inline]
    pub(super) fn update_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        if self.version.has_one_tree() {
            return self.charge_all_levels(rqs, platform, q);
        }
        let Some(c) = self.cfs_rqs[q].curr else {
            return;
        };
        let now_ns = platform.now_ns();
        let delta_ns = now_ns + self.clock_ns - self.info[c].exec_start;
        if delta_ns != 0 {
            self.charge_curr(rqs, platform, q, delta_ns);
        }
    }

    /// 7.3: [`update_curr`](Fair::update_curr) on all levels of the CPU of queue `q`, and of the
    /// running task in virtual time.
    fn charge_all_levels(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let root = CfsRqId::of_cpu(self.cfs_rqs[q].cpu);
        let Some(task) = self.cfs_rqs[root].task else {
            return;
        };
        let delta_ns = platform.now_ns() + self.clock_ns - self.info[task].exec_start;
        if delta_ns == 0 {
            return;
        }
        let mut next = Some(task);
        while let Some(level) = next {
            self.charge_curr(rqs, platform, self.cfs_rq_of(level), delta_ns);
            next = self.parent_of(level);
        }
        self.charge_virtual_time(rqs, platform, root, task, delta_ns);
    }

    /// [`update_curr`](Fair::update_curr), if time has passed.
    #[inline(never)]
    fn charge_curr(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId, delta_ns: u64) {
        let queue = &mut self.cfs_rqs[q];
        let Some(c) = queue.curr else {
            return;
        };
        let info = &mut self.info[c];
        info.exec_start += delta_ns;
        if info.task.is_some() {
            self.exec_clock[queue.cpu.index()] += delta_ns;
        }
        queue.exec_clock += delta_ns;
        if !self.version.has_one_tree() {
            self.charge_virtual_time(rqs, platform, q, c, delta_ns);
        }
        if self.limits.is_used() {
            self.charge_runtime(rqs, platform, q, delta_ns);
        }
    }

    /// Charges `c`, which runs in the tree of queue `q`, for `delta_ns` of real time.
    // Forced: each release has one of the two callers.
    #[inline(always)]
    fn charge_virtual_time(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        c: EntityId,
        delta_ns: u64,
    ) {
        let (queue, entity) = (&mut self.cfs_rqs[q], &mut self.se[c]);
        entity.vruntime = entity.vruntime.plus(entity.vt(delta_ns));
        queue.follow(entity.vruntime);
        let used_up = !entity.vruntime.is_before(entity.deadline);
        if used_up {
            if !self.info[c].custom_slice {
                entity.slice = self.tunables.base_slice;
            }
            entity.deadline = entity.vruntime.plus(entity.vslice());
        }
        let (cpu, alone) = (queue.cpu, queue.nr_queued == 1);
        if self.tunables.bore.is_some()
            && let Some(task) = self.info[c].task
        {
            self.count_burst(rqs, platform, task, delta_ns);
        }
        if alone {
            return;
        }
        let gives_way = used_up
            || if self.version.protects_until() {
                !self.is_protected(c)
            } else {
                // A task with a shorter slice has cancelled the protection.
                self.version.custom_slices()
                    && !self.is_protected(c)
                    && !self.cfs_rqs[q].eligible(&self.se, self.se[c].vruntime)
            };
        if gives_way {
            self.resched_curr_lazy(rqs, platform, cpu);
            self.clear_next_buddy(c);
        }
    }
}
