//! The fair class: its state, and what the hooks of the kernel's `fair_sched_class` do, level by
//! level of the groups.

use super::cfs_rq::{CfsRq, CfsRqId, CfsRqs};
use super::cfs_tasks::CfsTasks;
use super::cpu_capacity::CpuCapacity;
use super::domains::Near;
use super::entity::{Entity, EntityId, Info};
use super::flags::Attach;
use super::lb_cache::LbCache;
use super::lb_env::Balance;
use super::pick_rule::{FairTunables as _, FairVersion as _, PickRule};
use super::task_group::TaskGroup;
use super::timeline::{self, Order};
use crate::classes::bandwidth::Bandwidth;
use crate::classes::domains::Domains;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::index::{IndexVec, TypedIndex};
use schedlab_core::{Candidate, CpuId, GroupId, Platform};

/// The fair class on all CPUs.
#[derive(Debug)]
pub struct Fair<R: PickRule> {
    pub(super) version: R::Version,
    pub(super) tunables: R::Tunables,
    /// What the rules of picking keep.
    pub(super) rule: R,
    pub(super) order: Order,
    pub(super) tick_ns: u64,
    /// There has been a `SCHED_IDLE` task.
    pub(super) idle_seen: bool,
    pub(super) cpus: u32,
    /// How many of them are on line.
    pub(super) online: u32,
    /// Entities: what the tree looks at.
    pub(super) se: IndexVec<EntityId, Entity>,
    /// Entities: the rest.
    pub(super) info: IndexVec<EntityId, Info>,
    /// Entities that may be used again.
    pub(super) free: Vec<EntityId>,
    /// The CPUs' own queues by CPU, then groups' queues.
    pub(super) cfs_rqs: CfsRqs,
    /// Task groups, by [`GroupId`].
    pub(super) groups: Vec<TaskGroup>,
    /// By thread: its entity; none before it is born and after it is gone.
    pub(super) entity_of: Vec<Option<EntityId>>,
    /// By thread: what is looked at less often than its entity.
    pub(super) tasks: Vec<FairTask>,
    /// By CPU: what the class has run there in all, ns.
    pub(super) exec_clock: Vec<u64>,
    /// The groups' limits.
    pub(super) limits: Bandwidth<CfsRqId>,
    /// By CPU: its tasks, in the order in which balancing looks at them.
    pub(super) cfs_tasks: CfsTasks,
    /// What balancing keeps of each CPU.
    pub(super) balance: Balance,
    /// Who is near whom.
    pub(super) near: Near,
    /// The kernel was built with `CONFIG_FAIR_GROUP_SCHED`, as every distribution's is: a task's
    /// part of its CPU's load is rounded as if it were in a group. (Without it there are no
    /// groups.)
    pub(super) group_scheduling: bool,
    /// It was built with `CONFIG_NO_HZ_COMMON`: a task that wakes elsewhere has slept for as long
    /// as
    /// its old CPU idled.
    pub(super) no_hz: bool,
    /// What more urgent classes leave of the CPUs.
    pub(super) capacity: CpuCapacity,
    /// All CPUs together, as balancing sees them.
    pub(super) lb_cache: LbCache,
    /// Whom the present pick has met, if somebody asked for its grounds.
    pub(super) candidates_met: Vec<Candidate>,
}

/// What the class keeps of a task besides its entity.
#[derive(Clone, Copy, Debug)]
pub struct FairTask {
    /// Its group.
    pub group: GroupId,
    /// Whom it woke last, how often that changed lately, and when that was halved (jiffies).
    pub last_wakee: Option<Pid>,
    /// See `last_wakee`.
    pub wakee_flips: u32,
    /// See `last_wakee`.
    pub wakee_flip_decay_ts: u64,
    /// It has exited.
    pub dead: bool,
    /// Its parent has taken note.
    pub reaped: bool,
    /// It waits off its queue until its group has runtime again.
    pub in_limbo: bool,
    /// It did so before it was dequeued to be changed or moved.
    pub left_limbo: bool,
    /// In limbo: who went there before it.
    pub limbo_before: Option<Pid>,
    /// In limbo: who went there after it.
    pub limbo_after: Option<Pid>,
}

impl Default for FairTask {
    fn default() -> FairTask {
        FairTask {
            group: GroupId::ROOT,
            last_wakee: None,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            dead: false,
            reaped: false,
            in_limbo: false,
            left_limbo: false,
            limbo_before: None,
            limbo_after: None,
        }
    }
}

impl<R: PickRule> Fair<R> {
    /// Nobody is queued anywhere.
    pub fn new(version: R::Version, domains: &Domains, hz: u32) -> Fair<R> {
        let cpus = domains.cpus();
        let near = Near::new(domains);
        let own = |cpu| CfsRq::new(CpuId(cpu), GroupId::ROOT, None);
        let mut fair = Fair {
            version,
            tunables: R::Tunables::new(version, cpus),
            rule: R::default(),
            order: R::order(version),
            tick_ns: 1_000_000_000 / u64::from(hz),
            idle_seen: false,
            cpus,
            online: cpus,
            se: IndexVec::new(),
            info: IndexVec::new(),
            free: Vec::new(),
            cfs_rqs: (0..cpus).map(own).collect(),
            groups: alloc::vec![TaskGroup::root(cpus)],
            entity_of: Vec::new(),
            tasks: Vec::new(),
            exec_clock: alloc::vec![0; cpus as usize],
            limits: Bandwidth::new(version.quotas(), cpus, hz),
            cfs_tasks: CfsTasks::new(cpus),
            balance: Balance::new(domains, &near),
            near,
            group_scheduling: true,
            no_hz: true,
            capacity: CpuCapacity::new(domains),
            lb_cache: LbCache::new(domains, !version.balances_cores()),
            candidates_met: Vec::new(),
        };
        (0..cpus).for_each(|_| R::queue_made(&mut fair));
        fair.restart_capacity(domains, 0, hz);
        fair
    }

    // ---- small questions ----

    /// The queue on which `e` stands or stood.
    #[inline]
    pub(super) fn cfs_rq_of(&self, e: EntityId) -> CfsRqId {
        self.info[e].cfs_rq
    }

    /// The group entity above `e`.
    #[inline]
    pub(super) fn parent_of(&self, e: EntityId) -> Option<EntityId> {
        self.info[e].parent
    }

    /// Whether `e` is a task's.
    #[inline]
    pub(super) fn is_task(&self, e: EntityId) -> bool {
        self.info[e].my_q.is_none()
    }

    /// The entity of `task`, if it is born and not yet gone.
    #[inline]
    pub(super) fn entity_of(&self, task: Pid) -> Option<EntityId> {
        self.entity_of.get(task.index()).copied().flatten()
    }

    /// The entity of `task`, which is born and not yet gone.
    #[inline]
    pub(super) fn se_of(&self, task: Pid) -> EntityId {
        self.entity_of[task.index()].expect("the task is born and not yet gone")
    }

    /// The group of `task`.
    #[inline]
    pub(super) fn group_of(&self, task: Pid) -> GroupId {
        self.tasks[task.index()].group
    }

    /// Whether fair tasks are queued on `cpu`, be they delayed.
    #[inline]
    pub(super) fn is_queued_on(&self, cpu: CpuId) -> bool {
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 0
    }

    /// Whether more than one entity is queued on the own queue of `cpu`.
    pub(super) fn has_several_queued(&self, cpu: CpuId) -> bool {
        self.cfs_rqs[CfsRqId::of_cpu(cpu)].nr_queued > 1
    }

    /// Whether the dequeue of `task` is delayed.
    #[inline]
    pub(super) fn is_delayed_task(&self, task: Pid) -> bool {
        self.entity_of(task).is_some_and(|e| self.se[e].sched_delayed)
    }

    /// Something of queue `q` has changed that balancing reads.
    #[inline]
    pub(super) fn invalidate(&mut self, q: CfsRqId) {
        // Of groups' queues it reads nothing.
        if q.index() < self.cpus as usize {
            self.lb_cache.invalidate(CpuId(q.index() as u32));
        }
    }

    // ---- the tree ----

    /// Puts `e` into the tree of queue `q` and into the sums.
    #[inline]
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

    // ---- running ----

    /// `set_next_entity`: `e` runs.
    fn set_next_entity(&mut self, platform: &mut Platform, q: CfsRqId, e: EntityId) {
        R::clear_buddies(self, e);
        if self.se[e].on_rq {
            platform.work.tree(self.cfs_rqs[q].nr_queued);
            self.tree_remove(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            R::starts(self, q, e);
        }
        self.info[e].exec_start = platform.now_ns();
        self.cfs_rqs[q].curr = Some(e);
    }

    /// `put_prev_entity`: `e` no longer runs.
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

    /// `put_prev_task_fair`: on every level.
    pub(super) fn put_prev(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        if R::take_put_in_pick(self, rqs.cpu_of(task)) {
            return;
        }
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            self.put_prev_entity(rqs, platform, self.cfs_rq_of(e), e);
            next = self.parent_of(e);
        }
    }

    /// `set_next_task_fair`: on every level.
    pub(super) fn set_next(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            self.set_next_entity(platform, self.cfs_rq_of(e), e);
            next = self.parent_of(e);
        }
        self.cfs_tasks_to_head(rqs, task);
    }

    /// From one fair task to another: only the levels that differ are put and set. What stands
    /// above both goes on running, protected as it was.
    pub(super) fn switch_fair(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        prev: Pid,
        next: Pid,
    ) {
        if R::take_put_in_pick(self, rqs.cpu_of(prev)) {
            self.set_next(rqs, platform, next);
            return;
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
                self.set_next_entity(platform, self.cfs_rq_of(n), n);
                n = above(self, n);
            }
        }
        self.put_prev_entity(rqs, platform, self.cfs_rq_of(p), p);
        self.set_next_entity(platform, self.cfs_rq_of(n), n);
        self.cfs_tasks_to_head(rqs, next);
    }

    /// `task_tick_fair`: charges on every level; each may ask for a reschedule.
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
    }

    /// Charges the running `task` on every level.
    pub(super) fn charge_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut next = Some(self.se_of(task));
        while let Some(e) = next {
            R::update_curr(self, rqs, platform, self.cfs_rq_of(e));
            next = self.parent_of(e);
        }
    }

    /// `task` runs: it is the newest of its CPU.
    fn cfs_tasks_to_head(&mut self, rqs: &Rqs, task: Pid) {
        let cpu = rqs.cpu_of(task);
        if self.cpus > 1 && rqs.thread(task).on_rq {
            self.cfs_tasks.to_head(cpu, self.se_of(task));
        }
    }

    // ---- birth and death ----

    /// A new thread, of whatever class.
    pub(super) fn task_born(&mut self, pid: Pid, group: GroupId, cpu: CpuId) {
        if self.tasks.len() <= pid.index() {
            self.tasks.resize(pid.index() + 1, FairTask::default());
            self.entity_of.resize(pid.index() + 1, None);
        }
        let e = self.new_task_entity(pid, group, cpu);
        self.info[e].recent_used_cpu = cpu;
        // Nothing has been estimated yet.
        self.info[e].avg_renewed = true;
        self.entity_of[pid.index()] = Some(e);
        self.tasks[pid.index()] = FairTask { group, ..FairTask::default() };
    }

    /// `task_dead_fair`: a dead task has left its CPU; its averages leave its queue.
    pub(super) fn dead_task_left(&mut self, rqs: &Rqs, task: Pid) {
        if rqs.task(task).is_some() && self.tasks[task.index()].dead {
            self.remove_load_avg(self.se_of(task));
        }
    }

    /// Nothing of a dead task is needed any more, but its place on the queue while its dequeue is
    /// delayed.
    pub(super) fn release(&mut self, task: Pid) {
        let Some(row) = self.tasks.get_mut(task.index()) else {
            // It ended before it was born.
            return;
        };
        row.reaped = true;
        if let Some(e) = self.entity_of[task.index()]
            && !self.se[e].on_rq
        {
            self.entity_of[task.index()] = None;
            self.free.push(e);
        }
    }

    /// `sched_move_task`, middle part: `task`, taken off its queue, belongs to `group`.
    pub(super) fn change_group(&mut self, rqs: &Rqs, now_ns: u64, task: Pid, group: GroupId) {
        let e = self.se_of(task);
        if self.tracks_load() && self.info[e].avg.last_update_time != 0 {
            self.update_load_avg(now_ns, e, Attach::Detach);
            self.propagate_upward(now_ns, e);
        }
        self.info[e].avg.last_update_time = 0;
        self.set_task_rq(task, group, rqs.cpu_of(task));
        self.update_load_avg(now_ns, e, Attach::Attach);
        self.propagate_upward(now_ns, e);
    }
}
