//! The weight of the entity that represents a group on a CPU.
//!
//! The group as a whole has the weight `shares`. The entity on each CPU has a part of it: the ratio
//! of the group's load there to its load on all CPUs. With one CPU that is exactly `shares`.

use super::class::Fair;
use super::entity::unscaled;
use super::ids::{CfsRqId, EntityId};
use super::pick_rule::PickRule;
use super::rule_state::FairVersion as _;
use crate::classes::Rqs;
use schedlab_core::{GroupId, Platform};

/// The smallest weight of a group's entity, stored.
pub const LEAST_WEIGHT: u64 = 2;

impl<R: PickRule> Fair<R> {
    /// `calc_group_shares`: the group's shares, multiplied by the ratio of its load on this CPU to
    /// its load on all CPUs.
    fn calc_group_shares(&self, q: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[q];
        let group = &self.groups[queue.group.index()];
        let load = unscaled(queue.load).max(queue.avg.load_avg);
        // The loads that the other CPUs last published, and the present load of this one.
        let everywhere = (group.load_avg + load).saturating_sub(queue.published);
        let whole = self.version.has_one_tree().then(|| self.concurrent_shares(queue.group));
        let whole = u128::from(whole.unwrap_or(group.shares));
        let mut shares = whole * u128::from(load);
        if everywhere != 0 {
            shares /= u128::from(everywhere);
        }
        shares.clamp(u128::from(LEAST_WEIGHT), whole) as u64
    }

    /// `cgroup_mode` "concurrent" (7.3): the shares of `group`, as many times as it has runnable
    /// tasks on average, at least once and at most once for each CPU.
    fn concurrent_shares(&self, group: GroupId) -> u64 {
        let group = &self.groups[group.index()];
        let times = (group.runnable_avg >> 10).clamp(1, u64::from(self.online.max(1)));
        group.shares * times
    }

    /// `update_cfs_group`: gives the group entity `e` its present part of the group's shares. From
    /// 6.6 on a group whose queue has become empty keeps its old weight.
    #[inline(always)]
    pub(super) fn update_cfs_group(&mut self, rqs: &mut Rqs, platform: &mut Platform, e: EntityId) {
        if let Some(q) = self.info[e].my_q
            && (self.cfs_rqs[q].load != 0 || self.version.weighs_empty_groups())
        {
            self.update_group_weight(rqs, platform, e, q);
        }
    }

    /// [`update_cfs_group`](Fair::update_cfs_group) of a group with the queue `q`.
    #[inline(never)]
    fn update_group_weight(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        e: EntityId,
        q: CfsRqId,
    ) {
        let always = self.version.renews_empty_groups();
        if self.limits.is_used() && self.is_throttled_below(q) && !self.version.throttles_tasks() {
            return;
        }
        let shares = self.calc_group_shares(q);
        if always || shares != self.info[e].load {
            R::reweight(self, rqs, platform, e, shares, None);
        }
    }

    /// `update_tg_load_avg`: publishes the load of a queue, except the root group's, if it has
    /// changed by more than a 64th and was not published in the last millisecond.
    pub(super) fn update_tg_load_avg(&mut self, now_ns: u64, q: CfsRqId) {
        let queue = &mut self.cfs_rqs[q];
        if now_ns - queue.published_at < 1_000_000 && !self.version.renews_empty_groups() {
            return;
        }
        let (load, told) = (queue.avg.load_avg, queue.published);
        let mut publishes = load.abs_diff(told) > told / 64;
        let (runnable, told_runnable) = (queue.avg.runnable_avg, queue.published_runnable);
        if self.version.has_one_tree() {
            publishes |= runnable.abs_diff(told_runnable) > told_runnable / 64;
        }
        if publishes {
            let group = &mut self.groups[queue.group.index()];
            group.load_avg = group.load_avg + load - told;
            group.runnable_avg = group.runnable_avg + runnable - told_runnable;
            queue.published = load;
            queue.published_runnable = runnable;
            queue.published_at = now_ns;
        }
    }
}
