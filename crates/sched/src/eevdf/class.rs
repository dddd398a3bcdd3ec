//! The fair class: what the hooks of the kernel's `fair_sched_class` do, level by level of the
//! groups.

use super::cfs_rq::Queue;
use super::domains::Near;
use super::entity::{Entity, Info, NONE};
use super::lb_cache::LbCache;
use super::load_avg::Attach;
use super::load_balance::Balance;
use super::releases::{Features, Version};
use super::task_group::Group;
use super::timeline::{self, Order};
use super::tunables::{BASE_SLICE_NS, scaling};
use crate::classes::bandwidth::{Bandwidth, BandwidthVersion};
use crate::classes::domains::Domains;
use crate::classes::rbtree::Nodes;
use crate::classes::{Pid, Rqs};
use alloc::vec::Vec;
use schedlab_core::{CpuId, Platform};

/// The fair class on all CPUs.
#[derive(Debug)]
pub struct Fair {
    pub(super) version: Version,
    pub(super) features: Features,
    pub(super) order: Order,
    /// The default request length, ns.
    pub(super) base_slice: u32,
    /// The same before scaling by the number of CPUs.
    pub(super) base_slice_unscaled: u32,
    pub(super) tick_ns: u64,
    /// The longest slice that anybody has asked for, ns.
    pub(super) longest_slice: u32,
    /// There has been a `SCHED_IDLE` task.
    pub(super) idle_seen: bool,
    pub(super) cpus: u32,
    /// How many of them are on line.
    pub(super) online: u32,
    /// The base slice was written by an administrator.
    pub(super) base_slice_by_hand: bool,
    /// Entities: what the tree looks at.
    pub(super) se: Vec<Entity>,
    /// Entities: the rest.
    pub(super) info: Vec<Info>,
    /// Entities: their places in the trees.
    pub(super) nodes: Nodes,
    /// Entities that may be used again.
    pub(super) free: Vec<u32>,
    /// The CPUs' own queues by CPU, then groups' queues.
    pub(super) queues: Vec<Queue>,
    /// Task groups; 0 is the root.
    pub(super) groups: Vec<Group>,
    /// By thread.
    pub(super) tasks: Vec<FairTask>,
    /// By CPU: what the class has run there in all, ns.
    pub(super) exec_clock: Vec<u64>,
    /// The groups' limits.
    pub(super) limits: Bandwidth,
    /// What balancing keeps of each CPU.
    pub(super) balance: Balance,
    /// Who is near whom.
    pub(super) near: Near,
    /// All CPUs together, as balancing sees them.
    pub(super) lb_cache: LbCache,
}

/// What the class keeps of a task besides its entity, in a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct FairTask {
    /// Its entity.
    pub se: u32,
    /// Its group.
    pub group: u32,
    /// Its neighbours on its CPU's list.
    pub newer: u32,
    /// Its neighbours on its CPU's list.
    pub older: u32,
    /// Estimated utilisation.
    pub util_est: u32,
    /// Its averages have been renewed since the estimate was.
    pub avg_renewed: bool,
    /// A CPU it has used lately.
    pub recent_used_cpu: u32,
    /// Whom it woke last, how often that changed lately, and when that was halved (jiffies).
    pub last_wakee: u32,
    /// See `last_wakee`.
    pub wakee_flips: u32,
    /// See `last_wakee`.
    pub wakee_flip_decay_ts: u64,
    /// It has exited.
    pub dead: bool,
    /// Its parent has taken note.
    pub reaped: bool,
}

impl Default for FairTask {
    fn default() -> FairTask {
        FairTask {
            se: NONE,
            group: 0,
            newer: NONE,
            older: NONE,
            util_est: 0,
            avg_renewed: false,
            recent_used_cpu: 0,
            last_wakee: NONE,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            dead: false,
            reaped: false,
        }
    }
}

impl Fair {
    /// Nobody is queued anywhere.
    pub fn new(version: Version, domains: &Domains, hz: u32) -> Fair {
        let cpus = domains.cpus();
        let near = Near::new(domains);
        Fair {
            version,
            features: Features::of(version),
            order: Order { by_deadline: version.tree_by_deadline(), exact_slices: false },
            base_slice: BASE_SLICE_NS * scaling(cpus),
            base_slice_unscaled: BASE_SLICE_NS,
            tick_ns: 1_000_000_000 / u64::from(hz),
            longest_slice: 0,
            idle_seen: false,
            cpus,
            online: cpus,
            base_slice_by_hand: false,
            se: Vec::new(),
            info: Vec::new(),
            nodes: Default::default(),
            free: Vec::new(),
            queues: (0..cpus).map(|cpu| Queue::new(CpuId(cpu), 0, NONE)).collect(),
            groups: alloc::vec![Group::root(cpus)],
            tasks: Vec::new(),
            exec_clock: alloc::vec![0; cpus as usize],
            limits: Bandwidth::new(BandwidthVersion::V5_14, cpus, hz),
            balance: Balance::new(domains, &near),
            near,
            lb_cache: LbCache::new(domains),
        }
    }

    /// A new thread, of whatever class.
    pub(super) fn thread_born(&mut self, pid: Pid, group: u32, cpu: CpuId) {
        if self.tasks.len() <= pid.index() {
            self.tasks.resize(pid.index() + 1, FairTask::default());
        }
        let se = self.new_entity(Entity::new(self.base_slice), Info::of_task(pid));
        self.tasks[pid.index()] = FairTask { se, recent_used_cpu: cpu.0, ..FairTask::default() };
        self.set_task_rq(pid, group, cpu);
    }

    /// `wake_up_new_task`, first half: the averages that it starts with.
    pub(super) fn wake_up_new(&mut self, rqs: &Rqs, pid: Pid) {
        self.tasks[pid.index()].recent_used_cpu = rqs.cpu_of(pid).0;
        if self.cpus > 1 {
            self.init_load_avg(self.se_of(pid));
        }
    }

    /// `sched_move_task`, middle part: `pid`, taken off its queue, belongs to `group`.
    pub(super) fn move_group(&mut self, rqs: &Rqs, now_ns: u64, pid: Pid, group: u32) {
        let e = self.se_of(pid);
        if self.cpus > 1 && self.info[e as usize].avg.last_update_time != 0 {
            self.update_load_avg(now_ns, e, Attach::Detach);
        }
        self.info[e as usize].avg.last_update_time = 0;
        self.set_task_rq(pid, group, rqs.cpu_of(pid));
        self.update_load_avg(now_ns, e, Attach::Attach);
    }

    pub(super) fn queue_of(&self, e: u32) -> u32 {
        self.info[e as usize].queue
    }

    pub(super) fn parent_of(&self, e: u32) -> u32 {
        self.info[e as usize].parent
    }

    pub(super) fn is_task(&self, e: u32) -> bool {
        self.info[e as usize].my_q == NONE
    }

    pub(super) fn se_of(&self, task: Pid) -> u32 {
        self.tasks[task.index()].se
    }

    // ---- the tree ----

    pub(super) fn tree_insert(&mut self, q: u32, e: u32) {
        let queue = &mut self.queues[q as usize];
        queue.count_in(&self.se[e as usize]);
        timeline::insert(&mut self.nodes, &mut queue.tree, &mut self.se, self.order, e);
    }

    pub(super) fn tree_remove(&mut self, q: u32, e: u32) {
        let queue = &mut self.queues[q as usize];
        queue.count_out(&self.se[e as usize]);
        timeline::remove(&mut self.nodes, &mut queue.tree, &mut self.se, self.order, e);
    }

    // ---- running ----

    /// `set_next_entity`: `e` runs.
    fn set_next_entity(&mut self, platform: &mut Platform, q: u32, e: u32) {
        self.clear_buddies(e);
        if self.se[e as usize].on_rq {
            platform.work.tree(self.queues[q as usize].nr_queued);
            self.tree_remove(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            self.set_protection(q, e);
        }
        self.info[e as usize].exec_start = platform.now_ns();
        self.queues[q as usize].curr = e;
    }

    /// `put_prev_entity`: `e` no longer runs.
    fn put_prev_entity(&mut self, rqs: &mut Rqs, platform: &mut Platform, q: u32, e: u32) {
        let waits = self.se[e as usize].on_rq;
        if waits {
            self.update_curr(rqs, platform, q);
        }
        self.check_runtime(rqs, platform, q);
        if waits {
            platform.work.tree(self.queues[q as usize].nr_queued);
            self.tree_insert(q, e);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
        }
        self.queues[q as usize].curr = NONE;
    }

    /// `put_prev_task_fair`: on every level.
    pub(super) fn put_prev_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            self.put_prev_entity(rqs, platform, self.queue_of(e), e);
            e = self.parent_of(e);
        }
    }

    /// `set_next_task_fair`: on every level.
    pub(super) fn set_next_task(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            self.set_next_entity(platform, self.queue_of(e), e);
            e = self.parent_of(e);
        }
        self.list_to_head(rqs, task);
    }

    /// From one fair task to another: only the levels that differ are put and set. What stands
    /// above both goes on running, protected as it was.
    pub(super) fn switch(&mut self, rqs: &mut Rqs, platform: &mut Platform, prev: Pid, next: Pid) {
        let (mut p, mut n) = (self.se_of(prev), self.se_of(next));
        while self.queue_of(p) != self.queue_of(n) {
            let (p_depth, n_depth) = (self.info[p as usize].depth, self.info[n as usize].depth);
            if n_depth <= p_depth {
                self.put_prev_entity(rqs, platform, self.queue_of(p), p);
                p = self.parent_of(p);
            }
            if n_depth >= p_depth {
                self.set_next_entity(platform, self.queue_of(n), n);
                n = self.parent_of(n);
            }
        }
        self.put_prev_entity(rqs, platform, self.queue_of(p), p);
        self.set_next_entity(platform, self.queue_of(n), n);
        self.list_to_head(rqs, next);
    }

    /// `task_tick_fair`: charges on every level; each may ask for a reschedule.
    pub(super) fn task_tick(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            let q = self.queue_of(e);
            self.update_curr(rqs, platform, q);
            self.update_load_avg(platform.now_ns(), e, Attach::No);
            self.update_group_weight(rqs, platform, e);
            e = self.parent_of(e);
        }
    }

    // ---- what the core asks ----

    /// `prio_changed_fair`: `task`, queued, has another nice value. A running one that became less
    /// urgent is rescheduled.
    pub(super) fn prio_changed(
        &mut self,
        rqs: &mut Rqs,
        platform: &mut Platform,
        task: Pid,
        old_nice: i32,
        nice: i32,
    ) {
        let cpu = rqs.cpu_of(task);
        if self.queues[cpu.index()].nr_queued > 1 && rqs.curr(cpu) == task && nice > old_nice {
            rqs.resched_curr(platform, cpu);
        }
    }

    /// Whether a queued task whose nice value has changed is to be checked as at a wakeup.
    pub(super) fn asks_check(&self, rqs: &Rqs, task: Pid) -> bool {
        let cpu = rqs.cpu_of(task);
        self.queues[cpu.index()].nr_queued > 1 && rqs.curr(cpu) != task
    }

    /// Whether fair tasks are queued on `cpu`, be they delayed.
    pub(super) fn is_wanted(&self, cpu: CpuId) -> bool {
        self.queues[cpu.index()].nr_queued > 0
    }

    /// What the fair class has run on `cpu` in all, ns.
    pub(super) fn exec_clock(&self, cpu: CpuId) -> u64 {
        self.exec_clock[cpu.index()]
    }

    /// Charges the running `task` on every level.
    pub(super) fn charge(&mut self, rqs: &mut Rqs, platform: &mut Platform, task: Pid) {
        let mut e = self.se_of(task);
        while e != NONE {
            self.update_curr(rqs, platform, self.queue_of(e));
            e = self.parent_of(e);
        }
    }

    /// Another class's task has come to `cpu`.
    pub(super) fn note_overload(&mut self, rqs: &Rqs, cpu: CpuId) {
        self.balance.overloaded |= rqs.nr_running[cpu.index()] >= 2;
    }

    /// `task` is dead.
    pub(super) fn task_dead(&mut self, task: Pid) {
        self.tasks[task.index()].dead = true;
    }

    /// `task_dead_fair`: a dead task has left its CPU; its averages leave its queue.
    pub(super) fn task_switched_away(&mut self, rqs: &Rqs, task: Pid) {
        if rqs.task(task).is_some() && self.tasks[task.index()].dead {
            self.remove_load_avg(self.se_of(task));
        }
    }

    /// Nothing of a dead task is needed any more, but its place on the queue while its dequeue is
    /// delayed.
    pub(super) fn reap(&mut self, task: Pid) {
        let Some(&FairTask { se: e, .. }) = self.tasks.get(task.index()) else {
            // It ended before it was born.
            return;
        };
        self.tasks[task.index()].reaped = true;
        if e != NONE && !self.se[e as usize].on_rq {
            self.tasks[task.index()].se = NONE;
            self.free.push(e);
        }
    }
}
