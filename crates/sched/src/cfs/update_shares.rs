//! Division of a group's shares over the CPUs.
//!
//! The weight of a group's entity on a CPU should be the fraction of the group's shares that
//! corresponds to the fraction of its load on that CPU. The kernel computes this from time to time
//! (`sched_shares_ratelimit`), from the momentary content of the queues. In between, the weights
//! are out of date.

use super::Cfs;
use super::ids::CfsRqId;
use super::load_weight::LoadWeight;
use super::task_group::SHARES;
use crate::classes::Rqs;
use crate::classes::weights::NICE_0_LOAD;
use schedlab_core::{CpuId, GroupId, Platform};

/// The load of a CPU without any tasks of a group, in this division.
const ABSENT_LOAD: u64 = NICE_0_LOAD as u64;

/// `sched_shares_window`, ns.
const SHARES_WINDOW_NS: u64 = 10_000_000;

impl Cfs {
    /// `update_shares`: divides the shares of all groups over the CPUs of a domain, unless that was
    /// done very recently.
    #[inline]
    pub(super) fn update_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: usize,
        cpu: CpuId,
    ) {
        if !self.groups.only_root() {
            self.update_shares_of_all(rqs, platform, level, cpu);
        }
    }

    fn update_shares_of_all(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: usize,
        cpu: CpuId,
    ) {
        if self.version.shares_follow_load {
            return;
        }
        let now_ns = platform.now_ns();
        let last_update = &mut self.balancing[level][cpu.index()].last_update_ns;
        if now_ns - *last_update < self.tunables.shares_ratelimit_ns {
            return;
        }
        *last_update = now_ns;
        self.groups.refresh_bottom_up();
        for place in 0..self.groups.bottom_up().len() {
            let group = self.groups.bottom_up()[place];
            self.tg_shares_up(rqs, platform, group, level, cpu);
        }
    }

    /// `tg_shares_up`: divides the shares of one group over a domain.
    fn tg_shares_up(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: GroupId,
        level: usize,
        cpu: CpuId,
    ) {
        let domain = rqs.domains.level(level);
        let row = &self.groups[group];
        let mut total = 0;
        let mut shares = 0;
        let mut absent = domain.span(cpu).cpus.len() as u64;
        for &(other, q) in &row.queues {
            if rqs.is_online(other) && domain.share(other, cpu) {
                let queue = &self.queues[q];
                total += if queue.load == 0 { ABSENT_LOAD } else { queue.load };
                shares += queue.shares;
                absent -= 1;
            }
        }
        total += absent * ABSENT_LOAD;
        if shares == 0 || shares > row.shares || rqs.domains.is_top(cpu, level) {
            shares = row.shares;
        }
        let part = |load: u64| (shares * load / total).clamp(*SHARES.start(), *SHARES.end());
        let thresh = self.tunables.shares_thresh;
        for place in 0..row.queues.len() {
            let (other, q) = self.groups[group].queues[place];
            if !rqs.is_online(other) || !rqs.domains.level(level).share(other, cpu) {
                continue;
            }
            let queue = &mut self.queues[q];
            let load = queue.load;
            let part = part(if load == 0 { ABSENT_LOAD } else { load });
            if let Some(e) = queue.entity
                && part.abs_diff(self.entities[e].load.weight) > thresh
            {
                queue.rq_weight = load;
                queue.shares = if load == 0 { 0 } else { part };
                let load = LoadWeight::computed(part, self.version.inverse);
                self.reweight_entity(rqs, platform, e, load);
            }
        }
        let part = part(ABSENT_LOAD);
        let weights = &mut self.groups[group].absent_weight;
        for (weight, &leaf_cpu) in weights.iter_mut().zip(&self.leaf_cpus) {
            if rqs.domains.level(level).share(leaf_cpu, cpu) && part.abs_diff(*weight) > thresh {
                *weight = part;
            }
        }
    }

    /// `update_cfs_shares` (3.2): the load of queue `q` has changed. The weight of its group's
    /// entity becomes the fraction of the shares that corresponds to this load's fraction of the
    /// group's total load, or the minimum, if there is no load. (No description of how 3.2 sums the
    /// group's load over the CPUs is available: the loads are used as they are.)
    pub(super) fn update_cfs_shares(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId) {
        let queue = &self.queues[q];
        let Some(e) = queue.entity else {
            return;
        };
        let row = &self.groups[queue.group];
        let total: u64 = row.queues.iter().map(|&(_, q)| self.queues[q].load).sum();
        let part = (row.shares * queue.load).checked_div(total).unwrap_or(0);
        let weight = part.clamp(*SHARES.start(), row.shares);
        let queue = &mut self.queues[q];
        (queue.rq_weight, queue.shares, queue.shares_at) = (queue.load, weight, queue.exec_clock);
        if self.entities[e].load.weight != weight {
            let load = LoadWeight::computed(weight, self.version.inverse);
            self.reweight_entity(rqs, platform, e, load);
        }
    }

    /// At the tick: does the same for a queue whose load has not changed, after its tasks have run
    /// for so long that the loads on other CPUs may have changed.
    pub(super) fn update_entity_shares_tick(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
    ) {
        let queue = &self.queues[q];
        if queue.exec_clock - queue.shares_at > SHARES_WINDOW_NS {
            self.update_cfs_shares(rqs, platform, q);
        }
    }

    /// `effective_load`: returns the change of the weight of `cpu` if `own` were added to the queue
    /// of `group` there, and `all` to the group as a whole. Signed.
    pub(super) fn effective_load(
        &self,
        group: GroupId,
        cpu: CpuId,
        own: i64,
        all: i64,
        asym: bool,
    ) -> i64 {
        let (mut own, mut all) = (own, all);
        if own == 0 && asym {
            return own;
        }
        let mut row = &self.groups[group];
        while let Some(parent) = row.parent {
            let queue = row.queue_on(cpu).map(|q| &self.queues[q]);
            let (load, rq_weight, part) = queue.map_or((0, 0, 0), |queue| {
                (queue.load as i64, queue.rq_weight as i64, queue.shares as i64)
            });
            let more = load - rq_weight;
            own += more;
            all += more;
            let shares = row.shares as i64;
            let a = shares * (rq_weight + own);
            let b = shares * rq_weight + part * all;
            own = part * (a - b);
            if b != 0 {
                own /= b;
            }
            all = 0;
            row = &self.groups[parent];
        }
        own
    }

    /// `update_h_load`: computes the weights of a CPU's queues as the CPU sees them, top down.
    pub(super) fn update_h_load(&mut self, cpu: CpuId) {
        self.queues[CfsRqId::root(cpu)].h_load = self.cpu_loads.weighted_load(cpu);
        // Groups are numbered in order of creation: parents before children.
        for place in (0..self.queues_on[cpu.index()].len()).rev() {
            let (group, q) = self.queues_on[cpu.index()][place];
            let parent = self.groups[group].parent.unwrap_or(GroupId::ROOT);
            let above = self.queue_if_any(parent, cpu).expect("a queue's parent has a queue");
            let above = &self.queues[above];
            let h_load = above.h_load * self.queues[q].shares / (above.load + 1);
            self.queues[q].h_load = h_load;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::Version;
    use schedlab_core::Topology;

    fn at(now_ns: u64) -> Platform {
        let mut platform = Platform::new(4, 1000);
        platform.set_now_ns(now_ns);
        platform
    }

    fn weight_of(cfs: &Cfs, q: CfsRqId) -> u64 {
        cfs.entities[cfs.queues[q].entity.expect("only root queues have no entity")].load.weight
    }

    #[test]
    fn shares_follow_the_load() {
        let domains = crate::cfs::domains(&Topology::flat(2));
        let mut rqs = Rqs::new(domains);
        let mut cfs = Cfs::new(Version::V2_6_32, &rqs, 1000);
        let group = cfs.sched_create_group(GroupId::ROOT, 1024).unwrap();
        let queues = [0, 1].map(|cpu| cfs.queue_of(group, CpuId(cpu)));
        let weights = |cfs: &Cfs| queues.map(|q| weight_of(cfs, q));
        assert_eq!(weights(&cfs), [1024, 1024]);
        for (q, load) in queues.into_iter().zip([1024, 3072]) {
            cfs.queues[q].load = load;
        }
        cfs.update_shares(&mut rqs, &mut at(10_000_000), 0, CpuId(0));
        assert_eq!(weights(&cfs), [256, 768]);
        for (q, load) in queues.into_iter().zip([2048, 0]) {
            cfs.queues[q].load = load;
        }
        cfs.update_shares(&mut rqs, &mut at(20_000_000), 0, CpuId(0));
        assert_eq!(weights(&cfs), [682, 341]);
        assert_eq!(queues.map(|q| cfs.queues[q].shares), [682, 0]);
    }

    #[test]
    fn a_queue_that_is_made_late_weighs_what_it_would_by_then() {
        let domains = crate::cfs::domains(&Topology::flat(4));
        let mut rqs = Rqs::new(domains);
        let mut build = |early: bool| {
            let mut cfs = Cfs::new(Version::V2_6_32, &rqs, 1000);
            let group = cfs.sched_create_group(GroupId::ROOT, 2048).unwrap();
            let q = cfs.queue_of(group, CpuId(0));
            if early {
                cfs.queue_of(group, CpuId(3));
            }
            for (step, load) in [5000, 4990, 1024, 88761].into_iter().enumerate() {
                cfs.queues[q].load = load;
                let now_ns = 10_000_000 * (step as u64 + 1);
                cfs.update_shares(&mut rqs, &mut at(now_ns), 0, CpuId(1));
            }
            let late = cfs.queue_of(group, CpuId(3));
            (weight_of(&cfs, q), weight_of(&cfs, late))
        };
        assert_eq!(build(true), build(false));
    }
}
