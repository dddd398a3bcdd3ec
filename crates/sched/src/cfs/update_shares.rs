//! Dividing a group's shares over the CPUs.
//!
//! A group's entity on a CPU should weigh that part of the group's shares that its load there is of
//! its load everywhere. The kernel works this out now and then (`sched_shares_ratelimit`), from
//! whatever the queues hold at that moment; between two such moments the weights are out of date.

use super::Cfs;
use super::entity::Load;
use super::task_group::SHARES;
use crate::classes::Rqs;
use crate::classes::rbtree::NIL;
use crate::classes::weights::NICE_0_LOAD;
use schedlab_core::{CpuId, Platform};

/// What a CPU without any of a group's tasks counts as.
const ABSENT_LOAD: u64 = NICE_0_LOAD as u64;

impl Cfs {
    /// `update_shares`: divides the shares of all groups over the CPUs of a domain, unless that was
    /// done a moment ago.
    #[inline]
    pub(super) fn update_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        level: usize,
        cpu: CpuId,
    ) {
        if self.groups.len() > 1 {
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
        let now_ns = platform.now_ns();
        let last_update = &mut self.balancing[level][cpu.index()].last_update_ns;
        if now_ns - *last_update < self.tunables.shares_ratelimit_ns {
            return;
        }
        *last_update = now_ns;
        self.refresh_bottom_up();
        for place in 0..self.bottom_up.len() {
            let group = self.bottom_up[place];
            self.divide_shares(rqs, platform, group, level, cpu);
        }
    }

    /// `tg_shares_up`: divides the shares of one group over a domain.
    fn divide_shares(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        group: u32,
        level: usize,
        cpu: CpuId,
    ) {
        let domain = rqs.domains.level(level);
        let row = &self.groups[group as usize];
        let mut total = 0;
        let mut shares = 0;
        let mut absent = domain.span(cpu).cpus.len() as u64;
        for &(other, q) in &row.queues {
            if rqs.is_online(other) && domain.share(other, cpu) {
                let queue = &self.queues[q as usize];
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
            let (other, q) = self.groups[group as usize].queues[place];
            if !rqs.is_online(other) || !rqs.domains.level(level).share(other, cpu) {
                continue;
            }
            let queue = &mut self.queues[q as usize];
            let load = queue.load;
            let part = part(if load == 0 { ABSENT_LOAD } else { load });
            let e = queue.entity;
            if part.abs_diff(self.entities[e as usize].load.weight) > thresh {
                queue.rq_weight = load;
                queue.shares = if load == 0 { 0 } else { part };
                self.reweight_entity(rqs, platform, e, Load::computed(part, self.version.inverse));
            }
        }
        let part = part(ABSENT_LOAD);
        let weights = &mut self.groups[group as usize].absent_weight;
        for (weight, &leaf_cpu) in weights.iter_mut().zip(&self.leaf_cpus) {
            if rqs.domains.level(level).share(leaf_cpu, cpu) && part.abs_diff(*weight) > thresh {
                *weight = part;
            }
        }
    }

    /// `effective_load`: by how much the weight of `cpu` would change if `own` were added to the
    /// queue of `group` there, `all` to the group as a whole. Signed.
    pub(super) fn effective_load(
        &self,
        group: u32,
        cpu: CpuId,
        own: i64,
        all: i64,
        asym: bool,
    ) -> i64 {
        let (mut own, mut all) = (own, all);
        let mut group = group;
        if self.groups[group as usize].parent == NIL || (own == 0 && asym) {
            return own;
        }
        while self.groups[group as usize].parent != NIL {
            let row = &self.groups[group as usize];
            let queue = row.queue_on(cpu).map(|q| &self.queues[q as usize]);
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
            group = row.parent;
        }
        own
    }

    /// Works out what the queues of a CPU weigh in the eyes of that CPU, top down.
    pub(super) fn update_h_load(&mut self, cpu: CpuId) {
        self.queues[cpu.index()].h_load = self.weighted_load[cpu.index()];
        // Groups are numbered in the order of their making: parents before children.
        for place in (0..self.queues_on[cpu.index()].len()).rev() {
            let (group, q) = self.queues_on[cpu.index()][place];
            let parent = self.groups[group as usize].parent;
            let above = self.queue_if_any(parent, cpu).expect("a queue's parent is there");
            let above = &self.queues[above as usize];
            let h_load = above.h_load * self.queues[q as usize].shares / (above.load + 1);
            self.queues[q as usize].h_load = h_load;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfs::Version;
    use schedlab_core::{GroupId, Topology};

    fn at(now_ns: u64) -> Platform {
        let mut platform = Platform::new(4, 1000);
        platform.set_now_ns(now_ns);
        platform
    }

    #[test]
    fn shares_follow_the_load() {
        let domains = crate::cfs::domains(&Topology::flat(2));
        let mut rqs = Rqs::new(domains);
        let mut cfs = Cfs::new(Version::V2_6_32, &rqs, 1000);
        let group = cfs.make_group(GroupId::ROOT, 1024).unwrap().0;
        let queues = [0, 1].map(|cpu| cfs.queue_of(group, CpuId(cpu)));
        let weights = |cfs: &Cfs| {
            queues.map(|q| cfs.entities[cfs.queues[q as usize].entity as usize].load.weight)
        };
        assert_eq!(weights(&cfs), [1024, 1024]);
        for (q, load) in queues.into_iter().zip([1024, 3072]) {
            cfs.queues[q as usize].load = load;
        }
        cfs.update_shares(&mut rqs, &mut at(10_000_000), 0, CpuId(0));
        assert_eq!(weights(&cfs), [256, 768]);
        for (q, load) in queues.into_iter().zip([2048, 0]) {
            cfs.queues[q as usize].load = load;
        }
        cfs.update_shares(&mut rqs, &mut at(20_000_000), 0, CpuId(0));
        assert_eq!(weights(&cfs), [682, 341]);
        assert_eq!(queues.map(|q| cfs.queues[q as usize].shares), [682, 0]);
    }

    #[test]
    fn a_queue_that_is_made_late_weighs_what_it_would_by_then() {
        let domains = crate::cfs::domains(&Topology::flat(4));
        let mut rqs = Rqs::new(domains);
        let mut build = |early: bool| {
            let mut cfs = Cfs::new(Version::V2_6_32, &rqs, 1000);
            let group = cfs.make_group(GroupId::ROOT, 2048).unwrap().0;
            let q = cfs.queue_of(group, CpuId(0));
            if early {
                cfs.queue_of(group, CpuId(3));
            }
            for (step, load) in [5000, 4990, 1024, 88761].into_iter().enumerate() {
                cfs.queues[q as usize].load = load;
                let now_ns = 10_000_000 * (step as u64 + 1);
                cfs.update_shares(&mut rqs, &mut at(now_ns), 0, CpuId(1));
            }
            let late = cfs.queue_of(group, CpuId(3));
            let weight = |q: u32| cfs.entities[cfs.queues[q as usize].entity as usize].load.weight;
            (weight(q), weight(late))
        };
        assert_eq!(build(true), build(false));
    }
}
