//! The files of the `cpu` controller: creating groups, writing shares and quotas, and moving tasks
//! between groups.

use super::Cfs;
use super::ids::CfsRqId;
use super::load_weight::LoadWeight;
use super::task_group::{SHARES, TaskGroup};
use crate::classes::bandwidth::Quota;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Errno, GroupId, GroupStats, Platform, Refused};

impl Cfs {
    /// Implements `sched_create_group`.
    pub(super) fn sched_create_group(
        &mut self,
        parent: GroupId,
        shares: u64,
    ) -> Result<GroupId, Refused> {
        if !self.version.groups {
            return Err(Errno::NotSupported.because(alloc::format!(
                "CFS of {} is built without task groups here",
                self.version.name
            )));
        }
        let Some(above) = self.groups.get(parent) else {
            return Err(Errno::NotFound.because("the parent group does not exist"));
        };
        let Some(depth) = above.depth.checked_add(1) else {
            return Err(Errno::Invalid.because("groups are nested too deeply"));
        };
        let shares = shares.clamp(*SHARES.start(), *SHARES.end());
        self.limits.group_made(parent);
        Ok(self.groups.push(TaskGroup {
            parent: Some(parent),
            shares,
            depth,
            queues: Vec::new(),
            absent_weight: alloc::vec![shares; self.leaf_cpus.len()],
        }))
    }

    /// `sched_group_set_shares`: the entity on every CPU receives the full shares until they are
    /// next divided.
    pub(super) fn sched_group_set_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        shares: u64,
    ) -> Result<(), Refused> {
        if group == GroupId::ROOT {
            return Err(Errno::Invalid.because("the root group has no shares"));
        }
        let Some(row) = self.groups.get_mut(group) else {
            return Err(Errno::NotFound.because("no such group"));
        };
        let shares = shares.clamp(*SHARES.start(), *SHARES.end());
        if row.shares == shares {
            return Ok(());
        }
        row.shares = shares;
        row.absent_weight.fill(shares);
        let load = LoadWeight::computed(shares, self.version.inverse);
        for place in 0..row.queues.len() {
            let q = self.groups[group].queues[place].1;
            if self.version.shares_follow_load {
                self.update_cfs_shares(rqs, platform, q);
                continue;
            }
            self.queues[q].shares = 0;
            if let Some(e) = self.queues[q].entity {
                self.reweight_entity(rqs, platform, e, load);
            }
        }
        Ok(())
    }

    /// `moved_group_fair`: moves a task, which is off its queue, to another group and places it
    /// there like a new task. A virtual time later than that of a new task is kept, although it
    /// comes from another group's clock. If the task is alone on the queue, it then advances that
    /// clock.
    pub(super) fn moved_group_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        pid: Pid,
        group: GroupId,
    ) -> Result<(), Refused> {
        if !self.groups.contains(group) {
            return Err(Errno::NotFound.because("no such group"));
        }
        let e = self.entity_of(pid);
        self.set_task_rq(e, group, rqs.cpu_of(pid));
        let q = self.entities[e].cfs_rq;
        self.update_curr(rqs, platform, q);
        let foreign = self.entities[e].vruntime;
        self.place_newcomer(q, e);
        self.keeps_foreign_time |= self.entities[e].vruntime == foreign;
        Ok(())
    }

    /// Implements `tg_set_cfs_bandwidth`.
    pub(super) fn tg_set_cfs_bandwidth(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        quota: &Quota,
    ) -> Result<(), Refused> {
        if self.version.bandwidth.is_none() {
            return Err(Errno::NotSupported.because(alloc::format!(
                "CFS of {} has no quotas: they came with 3.2 (cfs@3.2)",
                self.version.name
            )));
        }
        let Some(row) = self.groups.get(group) else {
            return Err(Errno::NotFound.because("no such group"));
        };
        let queues = row.queues.iter().map(|&(_, q)| q);
        self.limits.set_quota(platform, group, quota, queues)?;
        while let Some(q) = self.limits.first_throttled(group) {
            self.unthrottle_cfs_rq(rqs, platform, q);
        }
        Ok(())
    }

    /// `cpu.stat`: returns the CPU usage of a group, and the time for which it was throttled.
    pub(super) fn cpu_stat(&self, group: GroupId) -> Result<GroupStats, Refused> {
        let Some(row) = self.groups.get(group) else {
            return Err(Errno::NotFound.because("no such group"));
        };
        let used = |q: CfsRqId| self.queues[q].exec_clock;
        let usage_ns = if group == GroupId::ROOT {
            (0..self.queues_on.len() as u32).map(|cpu| used(CfsRqId::root(CpuId(cpu)))).sum()
        } else {
            row.queues.iter().map(|&(_, q)| used(q)).sum()
        };
        Ok(GroupStats { usage_ns, ..self.limits.stats(group) })
    }
}
