//! Construction of the class, and what runs: the class's part of a context switch and of a tick, on
//! every level of the groups.

use super::cfs_rq::CfsRq;
use super::cfs_tasks::CfsTasks;
use super::class::Fair;
use super::cpu_capacity::CpuCapacity;
use super::differences::Differences;
use super::domains::CacheSharing;
use super::entity::Entities;
use super::flags::Attach;
use super::ids::{CfsRqId, EntityId};
use super::lb_cache::LbCache;
use super::lb_env::Balance;
use super::pick_rule::PickRule;
use super::rule_state::{FairTunables as _, FairVersion as _};
use super::task_group::TaskGroup;
use super::timeline;
use crate::classes::bandwidth::Bandwidth;
use crate::classes::domains::Domains;
use crate::classes::{Pid, Preemption, Rqs};
use alloc::vec::Vec;
use schedlab_core::index::IndexVec;
use schedlab_core::{CpuId, GroupId, Platform};

impl<R: PickRule> Fair<R> {
    /// The class of an idle machine: no task is queued.
    pub fn new(version: R::Version, domains: &Domains, hz: u32) -> Fair<R> {
        let cpus = domains.cpus();
        let caches = CacheSharing::new(domains);
        let wide = version.divides_by_weight();
        let own = |cpu| {
            let mut queue = CfsRq::new(CpuId(cpu), GroupId::ROOT, None);
            queue.wide = wide;
            queue
        };
        let mut fair = Fair {
            version: Differences::of(version),
            tunables: R::Tunables::new(version, cpus),
            rule: R::default(),
            order: R::order(Differences::of(version)),
            tick_ns: 1_000_000_000 / u64::from(hz),
            idle_seen: false,
            cpus,
            online: cpus,
            se: Entities::default(),
            info: IndexVec::new(),
            free: Vec::new(),
            cfs_rqs: (0..cpus).map(own).collect(),
            groups: alloc::vec![TaskGroup::root(cpus)],
            entity_of: Vec::new(),
            tasks: Vec::new(),
            exec_clock: alloc::vec![0; cpus as usize],
            limits: Bandwidth::new(version.quotas(), cpus, hz),
            cfs_tasks: CfsTasks::new(cpus),
            balance: Balance::new(domains, &caches),
            caches,
            group_scheduling: true,
            no_hz: true,
            preemption: Preemption::Full,
            clock_ns: 0,
            jiffies: 1,
            capacity: CpuCapacity::new(domains),
            lb_cache: LbCache::new(
                domains,
                !version.balances_cores(),
                version.balances_delayed_tasks(),
            ),
            candidates_met: Vec::new(),
        };
        if version.threads_have_less_capacity() {
            fair.capacity.divide_cores();
        }
        if version.measures_urgent_time() {
            fair.capacity.measure_by_time();
        }
        if version.loads_of_several_ages() {
            fair.balance.aged_loads = alloc::vec![[0; 5]; cpus as usize];
        }
        (0..cpus).for_each(|_| R::queue_made(&mut fair));
        fair.restart_capacity(domains, 0, hz);
        fair
    }

    /// Renews what follows from the answers of the release, on an idle machine.
    pub(super) fn answers_changed(&mut self) {
        self.order = R::order(self.version);
        self.lb_cache.count_delayed(self.version.balances_delayed_tasks());
    }

    /// Puts `e` into the tree of queue `q` and into the sums.
    #[inline(always)]
    pub(super) fn tree_insert(&mut self, q: CfsRqId, e: EntityId) {
        let queue = &mut self.cfs_rqs[q];
        R::enters_tree(queue, &self.se[e]);
        timeline::insert(&mut queue.tree, &mut self.se, self.order, e);
    }

    /// Takes `e` out of the tree of queue `q` and out of the sums.
    #[inline]
    pub(super) fn tree_remove(&mut self, q: CfsRqId, e: EntityId) {
        let queue = &mut self.cfs_rqs[q];
        R::leaves_tree(queue, &self.se[e]);
        timeline::remove(&mut queue.tree, &mut self.se, self.order, e);
    }

    /// `set_next_entity`: `e` begins to run. `first`: it was picked, and is not a running task that
    /// is put back.
    fn set_next_entity(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        q: CfsRqId,
        e: EntityId,
        first: bool,
    ) {
        R::clear_buddies(self, e);
        if self.se[e].on_rq {
            platform.work.tree(self.cfs_rqs[q].nr_queued);
            self.tree_remove(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            R::starts(self, q, e, first);
        }
        self.info[e].exec_start = platform.now_ns() + self.clock_ns;
        self.cfs_rqs[q].curr = Some(e);
        self.check_runtime_of_next(rqs, platform, q);
    }

    /// `put_prev_entity`: `e` stops running.
    fn put_prev_entity(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: CfsRqId, e: EntityId) {
        let waits = self.se[e].on_rq;
        if waits {
            R::update_curr(self, rqs, platform, q);
        }
        self.check_runtime(rqs, platform, q);
        if waits {
            platform.work.tree(self.cfs_rqs[q].nr_queued);
            self.tree_insert(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::Quiet);
        }
        self.cfs_rqs[q].curr = None;
    }

    /// `put_prev_task_fair`: `task` stops running, on every level.
    pub(super) fn put_prev(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if R::take_put_in_pick(self, rqs.cpu_of(task)) {
            return;
        }
        if self.version.has_one_tree() {
            return self.put_in_one_tree(rqs, platform, task);
        }
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            self.put_prev_entity(rqs, platform, self.cfs_rq_of(e), e);
            next = self.parent_of(e);
        }
    }

    /// `set_next_task_fair`: `task` begins to run, on every level. `first`: it was picked.
    pub(super) fn set_next(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        first: bool,
    ) {
        if self.version.has_one_tree() {
            self.set_in_one_tree(rqs, platform, task, first);
            return self.cfs_tasks_to_head(rqs, task);
        }
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            self.set_next_entity(rqs, platform, self.cfs_rq_of(e), e, first);
            next = self.parent_of(e);
        }
        self.cfs_tasks_to_head(rqs, task);
    }

    /// Switches from one fair task to another. Only the levels on which the two differ are changed.
    /// An entity above both continues to run, protected as before.
    pub(super) fn switch_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        prev: Pid,
        next: Pid,
    ) {
        if R::take_put_in_pick(self, rqs.cpu_of(prev)) {
            self.set_next(rqs, platform, next, true);
            return;
        }
        if self.version.has_one_tree() {
            self.put_in_one_tree(rqs, platform, prev);
            return self.set_next(rqs, platform, next, true);
        }
        let above = |fair: &Fair<R>, e: EntityId| fair.parent_of(e).unwrap_or(e);
        let (mut p, mut n) = (self.se_of(prev), self.se_of(next));
        while self.cfs_rq_of(p) != self.cfs_rq_of(n) {
            let (p_depth, n_depth) = (self.info[p].depth, self.info[n].depth);
            if n_depth <= p_depth {
                self.put_prev_entity(rqs, platform, self.cfs_rq_of(p), p);
                p = above(self, p);
            }
            if n_depth >= p_depth {
                self.set_next_entity(rqs, platform, self.cfs_rq_of(n), n, true);
                n = above(self, n);
            }
        }
        self.put_prev_entity(rqs, platform, self.cfs_rq_of(p), p);
        self.set_next_entity(rqs, platform, self.cfs_rq_of(n), n, true);
        self.cfs_tasks_to_head(rqs, next);
    }

    /// `task_tick_fair`: charges on every level. Each level may request a reschedule.
    #[inline(always)]
    pub(super) fn tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            let q = self.cfs_rq_of(e);
            R::update_curr(self, rqs, platform, q);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            self.update_cfs_group(rqs, platform, e);
            R::entity_tick(self, rqs, platform, q, e);
            next = self.parent_of(e);
        }
        let e = self.se_of(task);
        // The share of a task that has just gone to sleep stays what it was when its lag was taken.
        if self.version.has_one_tree() && self.se[e].on_rq {
            R::renew_share(self, e);
        }
    }

    /// Charges the running `task` on every level.
    pub(super) fn charge_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            R::update_curr(self, rqs, platform, self.cfs_rq_of(e));
            next = self.parent_of(e);
        }
    }

    /// `task` was picked: it becomes the newest on the list of its CPU.
    pub(super) fn cfs_tasks_to_head(&mut self, rqs: &Rqs, task: Pid) {
        let cpu = rqs.cpu_of(task);
        if self.cpus > 1 && rqs.thread(task).on_rq && !self.version.moves_from_the_head() {
            self.cfs_tasks.to_head(cpu, self.se_of(task));
        }
    }
}
