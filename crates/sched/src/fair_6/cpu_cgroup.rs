//! Settings and statistics of task groups: shares, `cpu.idle`, quotas.

use super::class::Fair;
use super::flags::Attach;
use super::ids::CfsRqId;
use super::pick_rule::PickRule;
use super::task_group::{TaskGroup, stored_shares};
use crate::classes::Rqs;
use crate::classes::bandwidth::Quota;
use crate::classes::weights::WEIGHT_IDLEPRIO;
use schedlab_core::{CpuId, GroupId, GroupStats, Platform, Refused};

impl<R: PickRule> Fair<R> {
    /// Creates a group below `parent`.
    pub(super) fn new_group(&mut self, parent: GroupId, shares: u64) -> GroupId {
        self.limits.group_made(parent);
        self.order.uniform_slices = false;
        let group = GroupId(self.groups.len() as u32);
        let next_older = self.groups[parent.index()].youngest.replace(group);
        let mut row = TaskGroup::new(self.cpus, Some(parent), shares);
        row.next_older = next_older;
        self.groups.push(row);
        self.attach_group(group);
        if shares != 1024 {
            self.mark_renewed(group);
        }
        group
    }

    /// Marks that the shares of `group` have been written, which updates the groups above, too.
    fn mark_renewed(&mut self, group: GroupId) {
        let mut above = Some(group);
        while let Some(group) = above {
            self.renew_first_load(group);
            above = self.groups[group.index()].parent;
        }
    }

    /// `sched_group_set_shares`: writes a group's shares. The entities of this group and of the
    /// groups above get their new weights at once.
    pub(super) fn set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) {
        let shares = stored_shares(shares);
        if core::mem::replace(&mut self.groups[group.index()].shares, shares) == shares {
            return;
        }
        self.mark_renewed(group);
        for cpu in (0..self.cpus).map(CpuId) {
            let q = self.groups[group.index()].cfs_rq_on(cpu);
            let mut next = q.and_then(|q| self.cfs_rqs[q].owner);
            while let Some(e) = next {
                self.update_load_avg(platform.now_ns(), e, Attach::No);
                self.update_cfs_group(rqs, platform, e);
                next = self.parent_of(e);
            }
        }
    }

    /// `sched_group_set_idle`: makes the group compete with its siblings as `SCHED_IDLE`, or no
    /// longer.
    pub(super) fn set_idle(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        idle: bool,
    ) {
        if core::mem::replace(&mut self.groups[group.index()].idle, idle) == idle {
            return;
        }
        for cpu in (0..self.cpus).map(CpuId) {
            if let Some(q) = self.groups[group.index()].cfs_rq_on(cpu)
                && let Some(owner) = self.cfs_rqs[q].owner
            {
                self.info[owner].idle = idle;
                R::idle_changed(self, owner);
                self.recount_idle(q, idle);
            }
        }
        let weight = if idle { u64::from(WEIGHT_IDLEPRIO) } else { 1024 };
        self.set_shares(rqs, platform, group, weight);
    }

    /// Recounts the tasks below queue `q` that are not idle by themselves: above it they count as
    /// idle, or no longer do. Stops at a level at which they counted as idle already.
    fn recount_idle(&mut self, q: CfsRqId, idle: bool) {
        let queue = &self.cfs_rqs[q];
        let others = queue.h_nr_queued - queue.h_nr_idle;
        let mut next = queue.owner;
        while let Some(e) = next
            && self.se[e].on_rq
        {
            let above = self.cfs_rq_of(e);
            let queue = &mut self.cfs_rqs[above];
            if idle {
                queue.h_nr_idle += others;
            } else {
                queue.h_nr_idle -= others;
            }
            if self.groups[queue.group.index()].idle || self.hides(above) {
                return;
            }
            next = self.parent_of(e);
        }
    }

    /// `tg_set_cfs_bandwidth`.
    pub(super) fn set_quota(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        self.limits.set_quota(platform, group, quota, self.groups[group.index()].cfs_rqs())?;
        for cpu in (0..self.cpus).map(CpuId) {
            if let Some(q) = self.groups[group.index()].cfs_rq_on(cpu)
                && self.limits.is_listed(q)
            {
                self.unthrottle(rqs, platform, q);
            }
        }
        Ok(())
    }

    /// Statistics of a group: time used and throttled.
    pub(super) fn stats_of_group(&self, group: GroupId) -> GroupStats {
        let queues = self.groups[group.index()].cfs_rqs();
        let usage_ns = queues.map(|q| self.cfs_rqs[q].exec_clock).sum();
        GroupStats { usage_ns, ..self.limits.stats(group) }
    }
}
